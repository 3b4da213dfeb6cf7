package catalog

import (
	"slices"
	"strings"
)

// Privilege returns the one appliance privilege a tool needs, "" for the tool
// that asks no appliance. It is derived from the path every time and stored
// nowhere, so that a row and its privilege cannot disagree.
//
// A tool that reads its parent's endpoint keeps the privilege of its own path
// here; what it needs to be answered is in Privileges.
func Privilege(t *Tool) string {
	if t.Path == "" {
		return ""
	}
	return PrivilegeFor(t.Path, "GET")
}

// Privileges returns every privilege a call of the tool can need: its own, and
// that of the parent it reads.
func Privileges(t *Tool) []string {
	var out []string
	if t.Path != "" {
		out = append(out, PrivilegeFor(t.Path, "GET"))
	}
	if t.Reads != nil {
		out = append(out, PrivilegeFor(t.Reads.Path, "GET"))
	}
	return out
}

// NeededBy returns the privileges to grant for the tools, sorted, each once.
func NeededBy(tools []*Tool) []string {
	var all []string
	for _, t := range tools {
		if t.Path != "" {
			all = append(all, Privilege(t))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// PrivilegeFor returns the privilege that guards a method of an endpoint: the
// whole path with every / and _ as -, one leading - dropped, then - and the
// method in lower case. Dots and hyphens of the path stay. It returns "" for a
// path that does not begin with / or a method that is not letters alone:
// a privilege is never guessed.
func PrivilegeFor(path, method string) string {
	if !strings.HasPrefix(path, "/") || method == "" {
		return ""
	}
	for _, c := range []byte(method) {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return ""
		}
	}
	slug := strings.NewReplacer("/", "-", "_", "-").Replace(path)
	return strings.TrimPrefix(slug, "-") + "-" + strings.ToLower(method)
}

// ProfileExecutor names the write identity where privileges are printed. It is no
// profile of the server: its user is another one, and no tool reads with its key.
const ProfileExecutor = "executor"

// Guarded is one method of one endpoint, behind one privilege.
type Guarded struct{ Path, Method string }

// ExecutorEndpoints returns what the write identity may ask: one change, and the reads
// that prove what it did and that nothing else is under way.
func ExecutorEndpoints() []Guarded {
	return []Guarded{
		{"/api/v2/firewall/alias", "PATCH"},
		{"/api/v2/firewall/aliases", "GET"},
		{"/api/v2/status/system", "GET"},
		{"/api/v2/system/hasync", "GET"},
		{"/api/v2/firewall/apply", "GET"},
		{"/api/v2/diagnostics/config_history/revisions", "GET"},
		{PathRESTAPISettings, "GET"},
	}
}

// ExecutorPrivileges returns exactly what the write identity may be granted, sorted.
// More would be a ceiling that a stolen key could reach.
func ExecutorPrivileges() []string {
	needs := ExecutorEndpoints()
	out := make([]string, len(needs))
	for i, n := range needs {
		out[i] = PrivilegeFor(n.Path, n.Method)
	}
	slices.Sort(out)
	return out
}

package catalog

import "strings"

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

package catalog

import (
	"errors"
	"slices"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/nearest"
)

// maxEntry is the longest entry of a list that is looked at: no name of ours is
// half as long.
const maxEntry = 128

// SplitList splits a comma list as allow-lists and toolsets are written: blanks
// around an entry are dropped, and an empty text is an empty list, which is not
// the same as no list (nil).
func SplitList(s string) []string {
	if strings.TrimSpace(s) == "" {
		return []string{}
	}
	out := strings.Split(s, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// Select returns the rows that a server with these settings offers, in the
// order of the table.
//
// allow nil leaves the profile as it is, an empty list removes every tool, and
// otherwise only the named rows stay; it may also name the guidance tools and
// the write tool, which are no rows (see Permits). An empty list of toolsets
// means all. The error names every fault at once, one a line, each an
// *errs.Error of the class configuration; entries are named by position, never
// quoted, as a list can hold anything that was pasted into it.
func Select(profile string, allow, toolsets []string) ([]*Tool, error) {
	var faults []error
	if !slices.Contains(Profiles(), profile) {
		faults = append(faults, refuse("profile is none of "+strings.Join(Profiles(), ", ")))
	}
	faults = append(faults, checkList("allowed tools", "tool of this server", allow, KnownTools())...)
	faults = append(faults, checkList("toolsets", "toolset", toolsets, Toolsets())...)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	granted := Grants(profile)
	if len(toolsets) == 0 {
		toolsets = []string{SetAll}
	}
	return slices.DeleteFunc(Tools(), func(t *Tool) bool {
		return !slices.Contains(granted, t.Capability) || !Permits(allow, t.Name) || !inSets(t, toolsets)
	}), nil
}

// Permits reports whether an allow-list lets a tool through: a nil list does.
func Permits(allow []string, name string) bool {
	return allow == nil || slices.Contains(allow, name)
}

// KnownTools returns every name an allow-list may hold: the rows, the guidance
// tools and the write tool.
func KnownTools() []string {
	out := append(GuidanceTools(), WriteTool)
	for _, t := range Tools() {
		out = append(out, t.Name)
	}
	return out
}

func inSets(t *Tool, sets []string) bool {
	return t.Name == InfoTool || slices.ContainsFunc(sets, func(set string) bool {
		switch set {
		case SetAll:
			return t.Toolset != SetExtended
		case SetCore:
			return t.Core
		default:
			return t.Toolset == set
		}
	})
}

// checkList refuses what is not in the closed set known. Patterns get their own
// text: somebody who writes pfsense_get_* expects it to work.
func checkList(list, what string, entries, known []string) []error {
	var faults []error
	fault := func(i int, text string) {
		faults = append(faults, refuse(errs.Newf(errs.Invalid, "%s: entry %d %s", list, i+1, text).Msg))
	}
	for i, e := range entries {
		switch {
		case e == "":
			fault(i, "is empty")
		case strings.ContainsAny(e, "*?[]"):
			fault(i, "holds a pattern: names are matched exactly, none of * ? [ ] is allowed")
		case strings.ContainsFunc(e, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }):
			fault(i, "holds a control character")
		case len(e) > maxEntry:
			fault(i, "is too long to be a "+what)
		case !slices.Contains(known, e):
			fault(i, "is no "+what+"; nearest is "+Nearest(e, known))
		}
	}
	return faults
}

func refuse(msg string) error {
	return errs.New(errs.Invalid, msg).WithClass("configuration")
}

// Nearest returns the known name with the least edit distance to s, whatever the
// case, the first of equals; "" when there are none.
func Nearest(s string, known []string) string {
	name, _ := near(s, known)
	return name
}

func near(s string, known []string) (name string, edits int) {
	lower := make([]string, len(known))
	for i, k := range known {
		lower[i] = strings.ToLower(k)
	}
	best, edits := nearest.Of(strings.ToLower(s[:min(len(s), maxEntry)]), lower)
	if i := slices.Index(lower, best); i >= 0 {
		name = known[i]
	}
	return name, edits
}

// Meant returns the known name that a caller's s was meant to be, "" when none
// is near: a wrong guess costs a caller more than a list of the names. The case
// counts for nothing, and the beginning of a name stands for it.
func Meant(s string, known []string) string {
	best := ""
	for _, k := range known {
		switch {
		case strings.EqualFold(s, k):
			return k
		case len(s) > 2 && len(s) < len(k) && strings.EqualFold(s, k[:len(s)]) && (best == "" || len(k) < len(best)):
			best = k
		}
	}
	if best != "" {
		return best
	}
	best, edits := near(s, known)
	if edits > max(2, len(s)/4) || edits >= len(s) {
		return ""
	}
	return best
}

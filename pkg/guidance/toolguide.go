package guidance

import (
	"slices"

	"pfsensemcp/pkg/catalog"
)

// ProjectAuthored is where tool guidance comes from: us, not the vendor.
const ProjectAuthored = "PROJECT_AUTHORED"

// ToolGuide says how to read the answer of one READ tool. All of it is derived
// from the tool's row in the catalog.
type ToolGuide struct {
	Kind     string
	Text     string // at most 2,000 characters
	Related  []string
	Empty    bool     // an empty answer says something about the appliance
	Omitted  []string // the fields that are left out as secrets, nested ones with their path; sorted
	ToolName string
}

// kindTexts say what an answer of each kind is evidence of; the row adds what
// only its tool needs.
var kindTexts = map[string]string{
	catalog.Configuration:  "Stored configuration: what an administrator set, in force or not yet.",
	catalog.ApplyStatus:    "Apply status: whether stored changes were pushed to the running system, not what they are.",
	catalog.RuntimeStatus:  "Live status of the moment of the call; the next call may differ.",
	catalog.DerivedState:   "State that the appliance computed or observed now, not what anybody configured.",
	catalog.History:        "Past events as they were recorded; what was not recorded is not here.",
	catalog.CapabilityList: "What could be used or installed, not what is in use.",
	catalog.Identity:       "What a program or the appliance says it is.",
}

// Guide derives the guidance for a tool.
func Guide(t *catalog.Tool) ToolGuide {
	return ToolGuide{
		ToolName: t.Name,
		Kind:     t.Kind,
		Text:     kindTexts[t.Kind] + " " + t.Interpret,
		Related:  slices.Clone(t.Related),
		Empty:    emptyMeans(t),
		Omitted:  omitted(t.Model),
	}
}

// emptyMeans says whether emptiness is an answer. A list may truly be empty,
// whatever its kind; a status object or an identity without a value says only
// that nothing was read.
func emptyMeans(t *catalog.Tool) bool {
	switch {
	case t.List:
		return true
	case t.Kind == catalog.RuntimeStatus, t.Kind == catalog.CapabilityList, t.Kind == catalog.Identity:
		return false
	}
	return true
}

// omitted names the secret fields of a model and of the models nested in it.
func omitted(m *catalog.Model) []string {
	names := appendOmitted(nil, "", m)
	slices.Sort(names)
	return slices.Compact(names)
}

func appendOmitted(names []string, prefix string, m *catalog.Model) []string {
	for _, x := range m.Excluded {
		if x.Secret {
			names = append(names, prefix+x.Field)
		}
	}
	for _, f := range m.Fields {
		if f.Kind == catalog.Object {
			names = appendOmitted(names, prefix+f.Name+".", f.Model)
		}
	}
	return names
}

package catalog

import "slices"

// Write is one entry of the write table: a tool that asks people for a change,
// and the operation that executord must report for the tool to be offered. No
// entry has a path, a header or a body: mcpd does not know how a change is made.
type Write struct {
	Tool       string // its name; executord calls it the unit
	Capability string // the profile must grant it
	Toolset    string // and the toolsets must hold this one, or all
	Symbol     string // of the endpoint, as executord names it
	Method     string // the one HTTP method that executord may use there
	Schema     uint32 // version of the contract between the tool and executord
}

// Writes returns the write table. It has one entry.
func Writes() []Write {
	return []Write{{
		Tool: WriteTool, Capability: AliasWrite, Toolset: SetFirewall,
		Symbol: "FIREWALL_ALIAS_DESCRIPTION", Method: "PATCH", Schema: 1,
	}}
}

// SelectWrites returns the entries of the write table that profile, allow-list
// and toolsets leave, by the rules of Select. Allow-list and toolsets only
// remove: neither adds what the profile does not grant. What is returned may be
// offered when executord agrees, and not before.
func SelectWrites(profile string, allow, toolsets []string) []Write {
	granted := Grants(profile)
	if len(toolsets) == 0 {
		toolsets = []string{SetAll}
	}
	return slices.DeleteFunc(Writes(), func(w Write) bool {
		return !slices.Contains(granted, w.Capability) || !Permits(allow, w.Tool) ||
			!slices.Contains(toolsets, SetAll) && !slices.Contains(toolsets, w.Toolset)
	})
}

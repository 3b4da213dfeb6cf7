package catalog

import (
	"slices"
	"testing"
)

func TestTheWriteTableHasOneEntryAndNoRowOfItIsARead(t *testing.T) {
	all := Writes()
	if len(all) != 1 {
		t.Fatalf("%d entries", len(all))
	}
	w := all[0]
	if w != (Write{"set_firewall_alias_description_v1", "ALIAS_WRITE", "firewall", "FIREWALL_ALIAS_DESCRIPTION", "PATCH", 1}) {
		t.Errorf("%+v", w)
	}
	if _, ok := Lookup(w.Tool); ok {
		t.Error("the tool is a row of the READ table")
	}
	if !slices.Contains(WriteCapabilities(), w.Capability) || slices.Contains(ReadCapabilities(), w.Capability) {
		t.Errorf("%s is no write capability", w.Capability)
	}
	all[0].Method = "DELETE"
	if Writes()[0].Method != "PATCH" {
		t.Error("the table can be changed by a caller")
	}
}

func TestG1OnlyAProfileGrantsTheWriteToolAndListsOnlyRemoveIt(t *testing.T) {
	only := []string{WriteTool}
	for _, tt := range []struct {
		name     string
		profile  string
		allow    []string
		toolsets []string
		left     int
	}{
		{"the profile alone", ProfileWriteProtected, nil, nil, 1},
		{"named", ProfileWriteProtected, only, nil, 1},
		{"in its toolset", ProfileWriteProtected, nil, []string{SetFirewall}, 1},
		{"all", ProfileWriteProtected, nil, []string{SetDNS, SetAll}, 1},
		{"the default profile", ProfileAuditor, nil, nil, 0},
		{"an allow-list cannot add", ProfileAuditor, only, nil, 0},
		{"a toolset cannot add", ProfileAuditor, only, []string{SetAll, SetFirewall}, 0},
		{"engineer grants nothing", ProfileEngineer, only, nil, 0},
		{"no profile", "", only, nil, 0},
		{"not in the allow-list", ProfileWriteProtected, []string{InfoTool}, nil, 0},
		{"an empty allow-list", ProfileWriteProtected, []string{}, nil, 0},
		{"another toolset", ProfileWriteProtected, nil, []string{SetDNS}, 0},
		{"core has no write", ProfileWriteProtected, nil, []string{SetCore}, 0},
		{"extended has none either", ProfileWriteProtected, nil, []string{SetExtended}, 0},
	} {
		if got := SelectWrites(tt.profile, tt.allow, tt.toolsets); len(got) != tt.left {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

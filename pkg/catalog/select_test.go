package catalog

import (
	"slices"
	"strings"
	"testing"

	"pfsensemcp/pkg/errs"
)

func TestSelectNarrowsByProfileAllowListAndToolsets(t *testing.T) {
	two := []string{"pfsense_get_firewall_rules", "pfsense_get_system_version"}
	extended := len(extendedRows) + len(extendedLogRows)
	for _, c := range []struct {
		name            string
		profile         string
		allow, toolsets []string
		want            int
	}{
		{"all is the default", ProfileAuditor, nil, nil, 95},
		{"an empty list of toolsets is the default too", ProfileAuditor, nil, []string{}, 95},
		{"all by name", ProfileWriteProtected, nil, []string{SetAll}, 95},
		{"core", ProfileAuditor, nil, []string{SetCore}, 25},
		{"extended adds to all", ProfileAuditor, nil, []string{SetAll, SetExtended}, 95 + extended},
		{"extended alone has the local tool with it", ProfileAuditor, nil, []string{SetExtended}, 1 + extended},
		{"an area has the local tool with it", ProfileAuditor, nil, []string{SetRouting}, 7},
		{"a toolset twice counts once", ProfileAuditor, nil, []string{SetCore, SetCore}, 25},
		{"engineer has none", ProfileEngineer, nil, []string{SetAll, SetExtended}, 0},
		{"an empty allow-list removes all", ProfileAuditor, []string{}, nil, 0},
		{"an allow-list leaves what it names", ProfileAuditor, two, nil, 2},
		{"an allow-list grants nothing beyond the toolsets", ProfileAuditor, two, []string{SetSystem}, 1},
		{"an allow-list grants nothing beyond the profile", ProfileEngineer, two, nil, 0},
		{"an allow-list may name what is no row", ProfileAuditor, []string{WriteTool, GuidanceTool, APIGuidanceTool}, nil, 0},
		{"repeats merge", ProfileAuditor, append(two, two...), nil, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := Select(c.profile, c.allow, c.toolsets)
			if err != nil || len(rows) != c.want {
				t.Errorf("%d rows, error %v; want %d", len(rows), err, c.want)
			}
		})
	}
}

func TestSelectNamesEveryFaultAndQuotesNothing(t *testing.T) {
	const secret = "hunter2-hunter2"
	allow := []string{"", "pfsense_get_*", "pfsense_get_firewall_rule", "a\x1bb", secret, strings.Repeat("x", 500), "pfsense_get_users"}
	_, err := Select("root", allow, []string{"firewal", "all"})
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"profile is none of auditor, engineer, write_protected",
		"allowed tools: entry 1 is empty",
		"allowed tools: entry 2 holds a pattern: names are matched exactly, none of * ? [ ] is allowed",
		"allowed tools: entry 3 is no tool of this server; nearest is pfsense_get_firewall_rules",
		"allowed tools: entry 4 holds a control character",
		"allowed tools: entry 5 is no tool of this server; nearest is ",
		"allowed tools: entry 6 is too long to be a tool of this server",
		"toolsets: entry 1 is no toolset; nearest is firewall",
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d faults, want %d:\n%s", len(lines), len(want), err)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("fault %d is %q, want %q", i+1, lines[i], w)
		}
	}
	if strings.Contains(err.Error(), secret) {
		t.Error("an entry is quoted")
	}
	if e := errs.Public(err); e.Code != errs.Invalid || e.Class != "configuration" {
		t.Errorf("code %v, class %q", e.Code, e.Class)
	}
}

func TestSplitListTellsNoEntriesFromAnEmptyEntry(t *testing.T) {
	for in, want := range map[string][]string{
		"":            {},
		"  ":          {},
		"a":           {"a"},
		" a ,b ":      {"a", "b"},
		"a,,b":        {"a", "", "b"},
		"a,":          {"a", ""},
		"a\t,\tb\n,c": {"a", "b", "c"},
	} {
		got := SplitList(in)
		if got == nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestNearestIsTheFewestEditsAway(t *testing.T) {
	for in, want := range map[string]string{
		"firewal":  SetFirewall,
		"Firewall": SetFirewall,
		"dsn":      SetDNS,
		"routes":   SetRouting,
		"ROUTING":  SetRouting,
	} {
		if got := Nearest(in, Toolsets()); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Nearest("gateway", []string{"USER_READ", "ALIAS_READ", "GATEWAY_READ"}); got != "GATEWAY_READ" {
		t.Errorf("the case is counted: %q", got)
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("%q of nothing", got)
	}
}

func TestWhatWasMeantIsNearOrNotSaid(t *testing.T) {
	known := []string{"id", "type", "source", "source_port", "destination", "descr"}
	for in, want := range map[string]string{
		"DESCR":       "descr",
		"typ":         "type",
		"tpye":        "type",
		"dest":        "destination",
		"Source":      "source",
		"source_prot": "source_port",
		"name":        "",
		"interface":   "",
		"x":           "",
		"":            "",
	} {
		if got := Meant(in, known); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Meant("include", nil); got != "" {
		t.Errorf("%q of nothing", got)
	}
}

func TestGrantsAreThoseOfTheProfiles(t *testing.T) {
	if got := Grants(ProfileEngineer); got != nil {
		t.Errorf("engineer has %v", got)
	}
	if got := Grants("root"); got != nil {
		t.Errorf("an unknown profile has %v", got)
	}
	for profile, writes := range map[string]bool{ProfileAuditor: false, ProfileWriteProtected: true} {
		got := Grants(profile)
		if slices.Contains(got, AliasWrite) != writes || slices.Contains(got, FirewallWrite) || slices.Contains(got, ServiceWrite) {
			t.Errorf("%s: writes", profile)
		}
		for _, c := range ReadCapabilities() {
			if !slices.Contains(got, c) {
				t.Errorf("%s lacks %s", profile, c)
			}
		}
	}
}

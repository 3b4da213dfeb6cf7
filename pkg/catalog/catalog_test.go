package catalog

import (
	"slices"
	"testing"
)

func TestTheTableKeepsItsRules(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range faults(r.check, Tools()) {
				t.Error(f)
			}
		})
	}
}

// TestARuleFindsARowThatBreaksIt runs every rule over rows that break it: a
// check that cannot fail checks nothing.
func TestARuleFindsARowThatBreaksIt(t *testing.T) {
	field := func(f Field) func(*Tool) {
		return func(r *Tool) { r.Model.Fields = append(r.Model.Fields, f) }
	}
	cases := []struct {
		check checkFunc
		what  string
		harm  func(r *Tool)
	}{
		{uniqueNames, "a capital letter in the name", func(r *Tool) { r.Name = "pfsense_get_Rules" }},
		{uniqueNames, "the path of another tool", func(r *Tool) { r.Path = PathPackages }},
		{knownSets, "an unknown toolset", func(r *Tool) { r.Toolset = "misc" }},
		{knownSets, "a toolset that is a view", func(r *Tool) { r.Toolset = SetCore }},
		{knownSets, "a capability that is not in the list", func(r *Tool) { r.Capability = "FIREWALL_WRITE" }},
		{knownSets, "extended by toolset alone", func(r *Tool) { r.Toolset = SetExtended }},
		{knownSets, "an unknown result kind", func(r *Tool) { r.Kind = "live" }},
		{paths, "no path", func(r *Tool) { r.Path = "" }},
		{paths, "a path with a query", func(r *Tool) { r.Path += "?limit=1" }},
		{paths, "a path that climbs", func(r *Tool) { r.Path += "/../x" }},
		{paths, "a parent that is the row itself", func(r *Tool) { r.Reads = &Via{Path: r.Path, Field: "x"} }},
		{bounds, "a list without a bound", func(r *Tool) { r.MaxLimit = 0 }},
		{bounds, "an object that is a log", func(r *Tool) { r.List, r.MaxLimit, r.Log = false, 0, true }},
		{texts, "no interpretation", func(r *Tool) { r.Interpret = "" }},
		{texts, "a description of 251 characters", func(r *Tool) { r.Desc = string(slices.Repeat([]byte("x"), 250)) + "." }},
		{texts, "a line break", func(r *Tool) { r.Desc = "a\nb." }},
		{related, "a related tool that does not exist", func(r *Tool) { r.Related = []string{"pfsense_get_rules"} }},
		{related, "itself as related", func(r *Tool) { r.Related = []string{r.Name} }},
		{related, "a text that names a tool that does not exist", func(r *Tool) { r.Interpret = "See pfsense_get_rules." }},
		{fieldNames, "a field twice", field(Field{Name: "descr"})},
		{fieldNames, "two fields of one upstream name", field(Field{Name: "text", Up: "descr"})},
		{fieldNames, "a field both shown and excluded", func(r *Tool) { r.Model.Excluded = []Exclusion{{Field: "tag", Why: "test"}} }},
		{fieldNames, "an exclusion without a reason", func(r *Tool) { r.Model.Excluded = []Exclusion{{Field: "other"}} }},
		{objects, "an object without a model", field(Field{Name: "new", Kind: Object, List: true})},
		{objects, "a text with a model", field(Field{Name: "new", Model: serviceStatus})},
		{objects, "a gate on an object", field(Field{Name: "new", Kind: Object, List: true, Model: serviceStatus, Gate: Network})},
		{objects, "no model", func(r *Tool) { r.Model = nil }},
		{keys, "no key", func(r *Tool) { r.Model.Fields = r.Model.Fields[1:] }},
		{keys, "a gated key", field(Field{Name: "new", Mark: Key, Gate: Naming})},
		{marks, "an address that is not gated", field(Field{Name: "new", Mark: Address})},
		{marks, "a mark of text on a number", field(Field{Name: "new", Kind: Integer, Mark: FreeText})},
		{marks, "values on a number", field(Field{Name: "new", Kind: Integer, Values: []string{"1"}})},
		{marks, "a value twice", field(Field{Name: "new", Values: []string{"a", "a"}})},
		{marks, "an embedded secret in no free text", field(Field{Name: "new", Mark: MayEmbed})},
		{companions, "a time of the request without companion", field(Field{Name: "new", Kind: Integer, Mark: RequestTime})},
		{companions, "a companion that does not exist", field(Field{Name: "new", Kind: Integer, Mark: RequestTime, Companion: "gone"})},
		{versions, "a version that is none", func(r *Tool) { r.Since = "2.9" }},
		{versions, "a substitute without a version", func(r *Tool) { r.Instead = "pfsense_get_firewall_aliases" }},
		{versions, "a substitute that does not exist", func(r *Tool) { r.Since, r.Instead = "2.9.0", "pfsense_get_rules" }},
		{versions, "a caution without words", func(r *Tool) { r.Caution = &Caution{UpTo: "2.7.4"} }},
		{standIns, "a number that stands for a name", field(Field{Name: "new", Mark: OrID})},
		{logs, "a derived field outside a log", field(Field{Name: "new", Mark: Derived})},
		{modelNames, "another model of the same name", func(r *Tool) { r.Model.Name = "FirewallAlias" }},
		{evenGates, "a shown address of a name that is gated elsewhere", field(Field{Name: "ip_address"})},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			rows := Tools()
			i := slices.IndexFunc(rows, func(r *Tool) bool { return r.Name == "pfsense_get_firewall_rules" })
			row, model := *rows[i], *rows[i].Model
			model.Fields = slices.Clone(model.Fields)
			row.Model = &model
			rows[i] = &row
			c.harm(&row)
			if len(faults(c.check, rows)) == 0 {
				t.Error("the rule does not find it")
			}
		})
	}
}

// The 95 are the contract's. Extended may grow by a row: the names that are served
// stand in the contract of the surface.
func TestCoreHolds25ToolsAndAllHolds95(t *testing.T) {
	count := map[string]int{}
	for _, r := range Tools() {
		count[r.Toolset]++
		if r.Core {
			count[SetCore]++
		}
	}
	if n := count[SetCore]; n != 25 {
		t.Errorf("core has %d tools, want 25", n)
	}
	if n := len(Tools()) - count[SetExtended]; n != 95 {
		t.Errorf("%d tools outside extended, want 95", n)
	}
	if n := count[SetExtended]; n < 26 {
		t.Errorf("extended has %d tools, want the 26 decided ones at least", n)
	}
}

func TestTextsLeaveRoomForSchemas(t *testing.T) {
	// The served list of tools is held to 52,000 bytes and core to 14,000;
	// schemas and hints take about 400 bytes a tool.
	all, core := 0, 0
	for _, r := range Tools() {
		n := len(r.Name) + len(r.Title) + len(r.Desc)
		if r.Toolset != SetExtended {
			all += n
		}
		if r.Core {
			core += n
		}
	}
	if all > 14_500 || core > 4_200 {
		t.Errorf("names, titles and descriptions take %d bytes, those of core %d; at most 14,500 and 4,200", all, core)
	}
}

func TestTheOrderOfTheTableIsTheSameEveryTime(t *testing.T) {
	a, b := Tools(), Tools()
	if !slices.Equal(a, b) {
		t.Error("two calls differ")
	}
	a[0] = nil
	if Tools()[0] == nil {
		t.Error("the slice is shared")
	}
	for _, r := range b {
		if got, ok := Lookup(r.Name); !ok || got != r {
			t.Errorf("Lookup(%q) = %v, %v", r.Name, got, ok)
		}
	}
	if _, ok := Lookup("pfsense_get_nothing"); ok {
		t.Error("found a tool that does not exist")
	}
}

func TestEveryCapabilityOwnsItsTools(t *testing.T) {
	owned := map[string]int{}
	for _, r := range Tools() {
		owned[r.Capability]++
	}
	want := map[string]int{
		"FIREWALL_READ": 4, "FIREWALL_NAT_READ": 4, "GATEWAY_READ": 2,
		"SERVICES_DNS_RESOLVER_READ": 2, "SERVICES_NTP_READ": 2, ExtendedRead: len(extendedRows) + len(extendedLogRows),
	}
	for _, c := range append(ReadCapabilities(), ExtendedRead) {
		if owned[c] != max(1, want[c]) {
			t.Errorf("%s owns %d tools, want %d", c, owned[c], max(1, want[c]))
		}
		delete(owned, c)
	}
	for c := range owned {
		t.Errorf("%s owns tools and is in no list", c)
	}
	if n := len(ReadCapabilities()); n != 86 {
		t.Errorf("%d read capabilities, want 86", n)
	}
	if n := len(WriteCapabilities()); n != 3 {
		t.Errorf("%d write capabilities, want 3", n)
	}
}

func TestEndpointsAreThePathsAndTheParentsReadForThem(t *testing.T) {
	got := Endpoints()
	if n := 94 + len(extendedRows) + len(extendedLogRows); len(got) != n || !slices.IsSorted(got) {
		t.Errorf("%d endpoints, want %d sorted: 94 of the contract and the extended ones, parents among them", len(got), n)
	}
	for _, p := range []string{PathPackages, PathRESTAPISettings, "/api/v2/status/ipsec/sas", "/api/v2/status/openvpn/servers"} {
		if !slices.Contains(got, p) {
			t.Errorf("%s is missing", p)
		}
	}
}

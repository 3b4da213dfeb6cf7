package fieldcases

import (
	"slices"
	"strings"
	"testing"

	"pfsensemcp/test/fakepf"
)

// Observed 39: a row that goes between two pages shifts all later ones, and one
// is never shown.
func TestCase39ARowThatGoesBetweenTwoPagesHidesNoOther(t *testing.T) {
	for _, kind := range []fakepf.Kind{fakepf.DeleteRow, fakepf.InsertRow} {
		r := appliance(t, fakepf.Options{Aliases: 600})
		r.Fault(fakepf.Fault{Kind: kind, Row: 0, Path: "/api/v2/firewall/aliases", Nth: 2})
		a := r.call("firewall_aliases", `{"limit":500,"where":["name != null"],"fields":["name"]}`).good(t)
		total := r.Rows("FirewallAlias")
		if a.Matched == nil || *a.Matched != total || !strings.Contains(a.note("changed"), "read again") {
			t.Errorf("%s: matched %v of %d, notes %q", kind, a.Matched, total, a.Notes)
		}
		names := a.column("name")
		slices.Sort(names)
		if kind == fakepf.DeleteRow && len(slices.Compact(names)) != len(a.Rows) {
			t.Errorf("%s: a row stands twice", kind)
		}
	}
}

// N10: 5,000 rules in one request kill PHP; in pages they do not.
func TestObservedN10ALongListIsReadInPages(t *testing.T) {
	r := appliance(t, fakepf.Options{Rules: 5200})
	r.Fault(fakepf.Fault{Kind: fakepf.TooMany, Row: 251, Path: "/api/v2/firewall/rules", Count: -1})
	a := r.call("firewall_rules", `{"limit":10,"where":["descr startswith generated rule 51"]}`).good(t)
	if a.Scanned != r.Rows("FirewallRule") || a.Matched == nil || *a.Matched < 100 {
		t.Errorf("scanned %d of %d, matched %v, notes %q", a.Scanned, r.Rows("FirewallRule"), a.Matched, a.Notes)
	}
	for _, q := range r.RequestsTo("/api/v2/firewall/rules") {
		if q.Status != 200 {
			t.Errorf("%s was answered %d", q.Query, q.Status)
		}
	}
}

// N13: one malformed row makes the whole list a 500.
func TestObservedN13OneMalformedRowHidesOnlyItself(t *testing.T) {
	r := appliance(t, fakepf.Options{Rules: 400})
	total := r.Rows("FirewallRule")
	for _, row := range []int{0, 249, 250, 251, total - 1} {
		id := r.Fault(fakepf.Fault{Kind: fakepf.BadRow, Row: row, Path: "/api/v2/firewall/rules", Count: -1})
		a := r.call("firewall_rules", `{"limit":1,"where":["id >= 0"]}`).good(t)
		if a.Scanned != total-1 || a.Complete || !strings.Contains(a.note("rows the appliance cannot read"), ": "+itoa(row)) {
			t.Errorf("row %d: scanned %d of %d, complete %t, notes %q", row, a.Scanned, total, a.Complete, a.Notes)
		}
		r.RemoveFault(id)
	}
}

// N17: with the HATEOAS setting on every call is hundreds of times slower.
func TestObservedN17LinksAreDroppedAndTheSettingIsNamed(t *testing.T) {
	st := fakepf.DefaultSettings()
	st.HATEOAS = true
	r := appliance(t, fakepf.Options{Settings: &st})
	for _, tool := range []string{"firewall_aliases", "system_version"} {
		a := r.call(tool, `{}`).good(t)
		said := 0
		for _, n := range a.Notes {
			said += strings.Count(n, "HATEOAS")
		}
		if said != 1 || strings.Contains(a.raw, "_links") || strings.Contains(a.raw, "href") {
			t.Errorf("%s: said %d times: %.300s", tool, said, a.raw)
		}
	}
}

// N18: the same rule says LAN, lan or vtnet1, as a setting of the appliance wants.
func TestObservedN18TheWayInterfacesAreNamedIsAlwaysSaid(t *testing.T) {
	for as, want := range map[string]string{"id": "lan", "descr": "OFFICE", "if": ""} {
		st := fakepf.DefaultSettings()
		st.InterfacesAs = as
		r := appliance(t, fakepf.Options{Settings: &st})
		a := r.call("firewall_rules", `{}`).good(t)
		if a.note("interface_names: ") != "interface_names: "+as {
			t.Errorf("%s: notes %q", as, a.Notes)
		}
		if want != "" && !slices.Contains(a.column("interface"), "["+want+"]") {
			t.Errorf("%s: interfaces %q", as, a.column("interface"))
		}
	}
	r := appliance(t, fakepf.Options{})
	r.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 403, Path: "/api/v2/system/restapi/settings", Count: -1})
	if a := r.call("firewall_rules", `{}`).good(t); a.note("interface_names: unknown") == "" {
		t.Errorf("notes %q", a.Notes)
	}
}

package fieldcases

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/fakepf"
)

func where(terms ...string) string {
	b, _ := json.Marshal(map[string]any{"limit": 100, "where": terms})
	return string(b)
}

// PHP's loose comparison makes disabled=False return the disabled rules.
func TestCase4ABooleanIsComparedAsOneAndAnythingElseIsRefused(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	r.clear("FirewallRule")
	r.insert("FirewallRule", fields("descr", "off", "disabled", true), fields("descr", "on", "disabled", false))
	same(t, r.call("firewall_rules", where("disabled = false")).good(t).column("descr"), "on")
	same(t, r.call("firewall_rules", where("disabled = true")).good(t).column("descr"), "off")
	same(t, r.call("firewall_rules", where("disabled != true")).good(t).column("descr"), "on")

	// Every boolean of every list: no word that PHP would take for one passes, and
	// true, false and null part the rows without overlap.
	tried := 0
	tools(func(tool *catalog.Tool) {
		if !tool.List || tool.Log {
			return
		}
		all := r.run(tool, `{"limit":100}`).good(t)
		for _, f := range tool.Model.Fields {
			if f.Kind != catalog.Boolean || f.Gate != catalog.Shown || f.List {
				continue
			}
			tried++
			for _, word := range []string{"False", "TRUE", "0", "1", "no", "off", "stopped", "yes", `"true"`, ""} {
				r.run(tool, where(f.Name+" = "+word)).refused(t, "request_validation")
			}
			sum := 0
			for _, v := range []string{"true", "false", "null"} {
				a := r.run(tool, where(f.Name+" = "+v)).good(t)
				for _, row := range a.Rows {
					if got := fmt.Sprint(row[f.Name]); got != v && !(v == "null" && got == "<nil>") {
						t.Errorf("%s: %s = %s shows %s", tool.Name, f.Name, v, got)
					}
				}
				sum += *a.Matched
			}
			if len(all.Rows) == all.Scanned && sum != all.Scanned {
				t.Errorf("%s.%s: %d of %d rows are true, false or null", tool.Name, f.Name, sum, all.Scanned)
			}
		}
	})
	if tried < 50 {
		t.Errorf("only %d booleans were tried", tried)
	}
}

// PHP compares texts that look like numbers by value, and true, false and null
// as what they name.
func TestCase5ExactMeansByteEqual(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	r.clear("FirewallAlias")
	texts := []string{"1000", "1e3", "7", "007", "1.0", "1", "true", "false", "null", "0x10", "99999999999999999999", "9223372036854775807", ""}
	for i, s := range texts {
		r.insert("FirewallAlias", fields("name", fmt.Sprintf("a%d", i), "descr", s, "type", "host"))
	}
	r.insert("FirewallAlias", fields("name", "none", "descr", nil, "type", "host"))
	for i, s := range texts {
		if s == "null" { // decisions.md: only null and absent match = null
			same(t, r.call("firewall_aliases", where("descr = null")).good(t).column("name"), "none")
			same(t, r.call("firewall_aliases", where("descr contains null")).good(t).column("name"), fmt.Sprintf("a%d", i))
			continue
		}
		same(t, r.call("firewall_aliases", where("descr = "+s)).good(t).column("name"), fmt.Sprintf("a%d", i))
		a := r.call("firewall_aliases", where("descr != "+s)).good(t)
		if slices.Contains(a.column("name"), fmt.Sprintf("a%d", i)) || len(a.Rows) != len(texts)-1 {
			t.Errorf("descr != %q has %q", s, a.column("name"))
		}
	}
}

// Searching none listed the rows without a description.
func TestCase11NullMatchesNoTextSearch(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	r.clear("FirewallAlias")
	r.insert("FirewallAlias", fields("name", "wan", "descr", nil, "type", "host"), fields("name", "lan", "descr", "none", "type", "host"))
	for _, term := range []string{"descr contains none", "descr = none", "descr startswith no", "descr contains NONE"} {
		same(t, r.call("firewall_aliases", where(term)).good(t).column("name"), "lan")
	}
	for _, term := range []string{"descr contains None ", "descr contains null", "descr startswith nil", "descr = "} {
		same(t, r.call("firewall_aliases", where(term)).good(t).column("name"))
	}
	same(t, r.call("firewall_aliases", where("descr = null")).good(t).column("name"), "wan")
	same(t, r.call("firewall_aliases", where("descr != null")).good(t).column("name"), "lan")
	same(t, r.call("firewall_aliases", where("descr != other")).good(t).column("name"), "lan")
}

// N4: upstream, a filter or a sort on a hidden field reads it letter by letter.
func TestObservedN4NoHiddenFieldCanBeAskedFor(t *testing.T) {
	st := fakepf.DefaultSettings()
	st.ExposeSensitive = true
	r := appliance(t, fakepf.Options{Settings: &st})
	tried := 0
	tools(func(tool *catalog.Tool) {
		if !tool.List {
			return
		}
		ask := func(name string) {
			tried++
			r.run(tool, where(name+" startswith c")).refused(t, "request_validation")
			r.run(tool, `{"fields":["`+name+`"]}`).refused(t, "request_validation")
			r.run(tool, `{"sort_by":"`+name+`"}`).refused(t, "request_validation")
		}
		var walk func(m *catalog.Model, prefix string)
		walk = func(m *catalog.Model, prefix string) {
			for _, x := range m.Excluded {
				ask(prefix + x.Field)
			}
			for _, f := range m.Fields {
				switch {
				case f.Gate != catalog.Shown: // without the flag
					ask(prefix + f.Name)
				case f.Kind == catalog.Object:
					walk(f.Model, prefix+f.Name+".")
				}
			}
		}
		walk(tool.Model, "")
	})
	if n := len(r.Requests()); n != 0 || tried < 150 {
		t.Errorf("%d hidden fields were tried, %d requests were made", tried, n)
	}
}

package fieldcases

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool"
	"pfsensemcp/test/fakepf"
)

// A release sends null, or nothing, where the one before sent "" or []; a typed
// client then refused whole lists.
func TestCase16AbsentNullAndEmptyAreThreeThingsAndNoneBreaksAList(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	servers := r.call("dhcp_servers", `{"include_identifying_metadata":true}`).good(t)
	show := func(field, value string) any {
		t.Helper()
		f := fakepf.Fault{Kind: fakepf.Field, Path: "/api/v2/services/dhcp_servers", Field: field, Value: value}
		if value == "" {
			f.Kind = fakepf.DropField
		}
		r.Fault(f)
		a := r.call("dhcp_servers", `{"include_identifying_metadata":true}`).good(t)
		if len(a.Rows) != len(servers.Rows) {
			t.Fatalf("%s = %s: %d of %d rows are left", field, value, len(a.Rows), len(servers.Rows))
		}
		v, has := a.Rows[0][field]
		if !has {
			return "absent"
		}
		return fmt.Sprintf("%T %v", v, v)
	}
	for _, x := range []struct{ field, value, want string }{
		{"domain", `""`, "string "},
		{"domain", `null`, "<nil> <nil>"},
		{"domain", ``, "absent"},
		{"domain", `[]`, "<nil> <nil>"},
		{"dnsserver", `[]`, "[]interface {} []"},
		{"dnsserver", `null`, "<nil> <nil>"},
		{"dnsserver", ``, "absent"},
		{"dnsserver", `""`, "<nil> <nil>"},
		{"defaultleasetime", `7200`, "json.Number 7200"},
		{"defaultleasetime", `"7200"`, "<nil> <nil>"},
	} {
		if got := show(x.field, x.value); got != x.want {
			t.Errorf("%s = %s is shown as %v, want %s", x.field, x.value, got, x.want)
		}
	}
	// What does not fit is counted and named, and its value is not quoted.
	r.ClearFaults()
	r.Fault(fakepf.Fault{Kind: fakepf.Field, Path: "/api/v2/services/dhcp_servers", Field: "defaultleasetime", Value: `"quoted"`})
	a := r.call("dhcp_servers", `{}`).good(t)
	if n := a.note("unexpected type"); !strings.Contains(n, "defaultleasetime (1)") || strings.Contains(a.raw, "quoted") {
		t.Errorf("notes %q", a.Notes)
	}
	// Any null in any field of any row: the list stays.
	tools(func(tool *catalog.Tool) {
		if !tool.List || tool.Reads != nil || tool.Log {
			return
		}
		whole := r.run(tool, `{}`).good(t)
		if len(whole.Rows) == 0 {
			return
		}
		for _, f := range tool.Model.Fields {
			if f.Mark&catalog.Key != 0 {
				continue
			}
			r.Fault(fakepf.Fault{Kind: fakepf.Field, Path: tool.Path, Field: f.UpName(), Value: `null`})
			if a := r.run(tool, `{}`).good(t); len(a.Rows) != len(whole.Rows) {
				t.Errorf("%s: a null in %s leaves %d of %d rows", tool.Name, f.Name, len(a.Rows), len(whole.Rows))
			}
			r.ClearFaults()
		}
	})
}

// An empty element of the configuration reads as "" where a choice is meant. The
// case wants that shown as a default; architecture.md wins: absent, null and
// empty stay what they are, and "" is no value outside the known set.
func TestCase17AnEmptyChoiceIsShownAsItIsAndNotAsAStrangeValue(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	r.clear("FirewallRule")
	r.insert("FirewallRule", fields("descr", "x", "statetype", "", "protocol", "", "gateway", ""))
	a := r.call("firewall_rules", `{}`).good(t)
	if a.Rows[0]["statetype"] != "" || a.Rows[0]["protocol"] != "" {
		t.Errorf("%v", a.Rows[0])
	}
	if n := a.note("outside the set"); n != "" {
		t.Errorf("note %q", n)
	}
}

// A byte that is no UTF-8 makes PHP answer 200 with nothing.
func TestCase19AnEmptyBodyIsNeverAnEmptyList(t *testing.T) {
	r := appliance(t, fakepf.Options{Rules: 60})
	total := r.Rows("FirewallRule")
	r.Fault(fakepf.Fault{Kind: fakepf.BadRow, Row: 41, Value: "empty", Path: "/api/v2/firewall/rules", Count: -1})
	a := r.call("firewall_rules", `{"limit":500}`).good(t)
	if len(a.Rows) != total-1 || a.Complete || !strings.Contains(a.note("rows the appliance cannot read"), "41") {
		t.Errorf("%d of %d rows, complete %t, notes %q", len(a.Rows), total, a.Complete, a.Notes)
	}
	r.ClearFaults()
	for _, body := range []string{"", "\n", " "} {
		r.Fault(fakepf.Fault{Kind: fakepf.EmptyBody, Value: body, Count: -1})
		tools(func(tool *catalog.Tool) { r.run(tool, `{}`).refused(t, pfrest.ClassEncoding) })
		r.ClearFaults()
	}
}

// PHP's warnings in front of the JSON: nothing is searched for behind them.
func TestCase20ATextInFrontOfTheJSONIsRefusedAndNotQuoted(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	r.Fault(fakepf.Fault{Kind: fakepf.Warning, Count: -1})
	tools(func(tool *catalog.Tool) {
		a := r.run(tool, `{}`)
		a.refused(t, pfrest.ClassShape)
		if strings.Contains(a.raw, "util.inc") || strings.Contains(a.raw, "<") {
			t.Errorf("%s quotes the appliance: %s", tool.Name, a.raw)
		}
	})
}

// Ids are texts where the document says integer, and old tables have no name.
// The case wants every id as text; decisions.md keeps their real type.
func TestCase28IdsKeepTheirTypeAndATablesNameFallsBackToIt(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	text := map[string]bool{"interface_configs": true, "interface_available_interfaces": true, "dhcp_servers": true, "diagnostics_tables": true}
	tools(func(tool *catalog.Tool) {
		if !tool.List || tool.Log {
			return
		}
		for _, row := range r.run(tool, `{"limit":3}`).good(t).Rows {
			id, has := row["id"]
			if !has {
				continue
			}
			_, isText := id.(string)
			_, isNumber := id.(json.Number)
			if want := text[strings.TrimPrefix(tool.Name, "pfsense_get_")]; isText != want || isNumber == want {
				t.Errorf("%s: an id is %T %v", tool.Name, id, id)
			}
		}
	})
	r.clear("Table")
	r.insert("Table", fields("id", "bogons", "name", nil, "entries", []any{"0.0.0.0/8"}), fields("id", "sshguard", "name", "sshguard", "entries", []any{}))
	same(t, r.call("diagnostics_tables", `{}`).good(t).column("name"), "bogons", "sshguard")
	same(t, r.call("diagnostics_tables", where("name = bogons")).good(t).column("id"), "bogons")
}

// 200,000 states in one call, ids that are places, ports inside the address text.
// The case wants at most 50 rows; architecture.md has a limit of 100 unless given.
func TestCase29StatesAreBoundedHaveNoIdAndTheirEndsAreAddresses(t *testing.T) {
	r := appliance(t, fakepf.Options{States: 900})
	a := r.call("firewall_states", `{}`).good(t)
	if len(a.Rows) != 100 || a.Complete || a.note("more rows with offset 100") == "" {
		t.Errorf("%d rows, complete %t, notes %q", len(a.Rows), a.Complete, a.Notes)
	}
	for _, row := range a.Rows {
		if _, has := row["id"]; has {
			t.Fatal("a state shows an id")
		}
	}
	for _, q := range r.queries("/api/v2/firewall/states") {
		if q == "" {
			t.Error("the states were asked for whole")
		}
	}
	r.clear("FirewallState")
	for _, s := range []string{"2001:db8::1[443]", "192.168.1.1:4000", "192.168.1.117:4000", "10.0.0.5:51000", "2001:db8::17[443]", "192.168.1.1"} {
		r.insert("FirewallState", fields("interface", "igb0", "protocol", "tcp", "source", s, "destination", "10.0.0.5:443", "state", "ESTABLISHED:ESTABLISHED"))
	}
	open := func(term string) []string {
		return r.call("firewall_states", `{"include_identifying_metadata":true,"where":["`+term+`"]}`).good(t).column("source")
	}
	same(t, open("source = 192.168.1.1"), "192.168.1.1:4000", "192.168.1.1")
	same(t, open("source = 192.168.1.1:4000"), "192.168.1.1:4000")
	same(t, open("source = 2001:db8::1"), "2001:db8::1[443]")
	same(t, open("source = 2001:0db8:0::0001"), "2001:db8::1[443]")
	same(t, open("source = [2001:db8::1]:443"), "2001:db8::1[443]")
	same(t, open("source = 2001:db8::/64"), "2001:db8::1[443]", "2001:db8::17[443]")
	same(t, open("source = 192.168.1.0/28"), "192.168.1.1:4000", "192.168.1.1")
}

// Three averages, not one text.
func TestCase33TheLoadIsThreeNumbers(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	a := r.call("system_status", `{"include_identifying_metadata":true}`).good(t)
	list, ok := a.Object["cpu_load_avg"].([]any)
	if !ok || len(list) != 3 {
		t.Fatalf("%v", a.Object["cpu_load_avg"])
	}
	for _, v := range list {
		if _, ok := v.(json.Number); !ok {
			t.Errorf("%T %v", v, v)
		}
	}
}

// The appliance's document has bounds of 2^63, help in HTML and blank choices;
// one of them in one schema, and a client refuses every tool. Ours are written
// from the table; the documentation tool cleans what it quotes.
func TestCase34NoSchemaHasAQuirkOfTheDocument(t *testing.T) {
	var walk func(tool string, v any)
	walk = func(tool string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				if list, ok := e.([]any); ok && k == "enum" {
					for _, x := range list {
						if s, ok := x.(string); !ok || strings.Trim(s, "0123456789") == "" {
							t.Errorf("%s: a choice is %v", tool, x)
						}
					}
				}
				if s, ok := e.(string); ok && strings.ContainsAny(s, "<>") {
					t.Errorf("%s: markup in %q", tool, s)
				}
				walk(tool, e)
			}
		case []any:
			for _, e := range v {
				walk(tool, e)
			}
		case json.Number:
			if f, err := v.Float64(); err != nil || math.Abs(f) > 1<<53 {
				t.Errorf("%s: a bound of %s", tool, v)
			}
		}
	}
	for _, tool := range catalog.Tools() {
		for _, raw := range [][]byte{readtool.InputSchema(tool), readtool.OutputSchema(tool)} {
			d := json.NewDecoder(strings.NewReader(string(raw)))
			d.UseNumber()
			var v any
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
			walk(tool.Name, v)
		}
	}
}

// Secrets below the top level of a status answer, in a rejected value, and in
// settings that no deny list knew. The whole proof is the canary test.
func TestCase37WhatNoModelNamesDoesNotGetOutAtAnyDepth(t *testing.T) {
	st := fakepf.DefaultSettings()
	st.ExposeSensitive = true // N19: then pfREST shows them
	r := appliance(t, fakepf.Options{Settings: &st})
	envelope := func(data string) string {
		return `{"code":200,"status":"ok","response_id":"SUCCESS","message":"hunter2","data":` + data + `}`
	}
	for _, x := range []struct{ tool, args, path, body string }{
		{"status_wireguard_tunnels", `{"include_identifying_metadata":true}`, "/api/v2/status/wireguard/tunnels", envelope(`[{"id":0,"name":"tun_wg0","peers":[{"id":0,"parent_id":0,"public_key":"p","preshared_key":"hunter2","new":"hunter2"}]}]`)},
		{"acme_settings", `{}`, "/api/v2/services/acme/settings", envelope(`{"enable":true,"a_domainlist":[{"cf_token":"hunter2"}]}`)},
	} {
		r.Fault(fakepf.Fault{Kind: fakepf.WholeBody, Path: x.path, Value: x.body})
		if a := r.call(x.tool, x.args).good(t); strings.Contains(a.raw, "hunter2") || a.note("dropped") == "" {
			t.Errorf("%s: %s", x.tool, a.raw)
		}
	}
	for _, body := range []string{
		`{"code":400,"status":"bad request","response_id":"FIELD_INVALID","message":"Field password value hunter2","data":[]}`,
		`{"code":409,"status":"conflict","response_id":"MODEL_CANNOT_BE_DELETED_WHILE_REFERENCED","message":"hunter2","data":[{"psk":"hunter2"}]}`,
	} {
		r.Fault(fakepf.Fault{Kind: fakepf.WholeBody, Path: "/api/v2/users", Value: body})
		if a := r.call("users", `{}`); a.err == nil || strings.Contains(a.raw, "hunter2") {
			t.Errorf("%s", a.raw)
		}
	}
}

// One URL table made a strict client refuse every alias. Values outside the known
// set are passed on and noted; a URL's user and password are masked.
func TestCase41AValueThatTheDocumentDoesNotListIsShown(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	r.clear("FirewallAlias")
	for i, typ := range []string{"host", "urltable", "url", "urltable_ports", "url_ports", "geoip"} {
		r.insert("FirewallAlias", fields("name", fmt.Sprintf("a%d", i), "type", typ, "address", []any{"https://joe:hunter2@example.net/list"}, "descr", "feed"))
	}
	a := r.call("firewall_aliases", `{"include_identifying_metadata":true}`).good(t)
	same(t, a.column("type"), "host", "urltable", "url", "urltable_ports", "url_ports", "geoip")
	if n := a.note("outside the set"); !strings.Contains(n, "type (1)") {
		t.Errorf("notes %q", a.Notes)
	}
	if strings.Contains(a.raw, "hunter2") || !strings.Contains(a.raw, "example.net") {
		t.Errorf("%.400s", a.raw)
	}
	// Every closed set of every shown text field: a new value stays a value.
	tried := 0
	tools(func(tool *catalog.Tool) {
		for _, f := range tool.Model.Fields {
			if len(f.Values) == 0 || f.Gate != catalog.Shown || f.Mark&(catalog.Key|catalog.Derived) != 0 || tool.Reads != nil {
				continue
			}
			whole := r.run(tool, `{}`).good(t)
			if tool.List && len(whole.Rows) == 0 {
				continue
			}
			tried++
			v, want := `"new_value"`, any("new_value")
			if f.List {
				v, want = `["new_value"]`, []any{"new_value"}
			}
			r.Fault(fakepf.Fault{Kind: fakepf.Field, Path: tool.Path, Field: f.UpName(), Value: v})
			a := r.run(tool, `{}`).good(t)
			row := a.Object
			if tool.List {
				row = a.Rows[0]
			}
			if fmt.Sprint(row[f.Name]) != fmt.Sprint(want) || !strings.Contains(a.note("outside the set"), f.Name) {
				t.Errorf("%s.%s: %v, notes %q", tool.Name, f.Name, row[f.Name], a.Notes)
			}
			r.ClearFaults()
		}
	})
	if tried < 60 {
		t.Errorf("only %d closed sets were tried", tried)
	}
}

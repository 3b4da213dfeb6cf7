package surface

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/replay"
	"pfsensemcp/test/suite"
)

const flag = "include_identifying_metadata"

// takes says whether a tool has an argument.
func (x tool) takes(arg string) bool {
	var s struct{ Properties map[string]json.RawMessage }
	return json.Unmarshal(x.In, &s) == nil && s.Properties[arg] != nil
}

// calls returns the argument lists that a tool is tried with: none, and with
// every argument that widens its answer.
func (x tool) calls() []map[string]any {
	switch x.Name {
	case catalog.GuidanceTool:
		return []map[string]any{{"capability": "FIREWALL_READ"}}
	case catalog.APIGuidanceTool:
		return []map[string]any{{"query_mode": "tool", "tool_name": "pfsense_get_firewall_rules"}}
	}
	wide := map[string]any{}
	if x.takes("limit") {
		row, _ := catalog.Lookup(x.Name)
		wide["limit"] = row.MaxLimit
	}
	if x.takes(flag) {
		wide[flag] = true
	}
	if len(wide) == 0 {
		return []map[string]any{{}}
	}
	return []map[string]any{{}, wide}
}

// schemaOf prepares a served schema for validation.
func schemaOf(t *testing.T, raw json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// check returns what is wrong with an answer: it is an error, does not fit the
// tool's own output schema, or its text is not its structured content.
func check(out *jsonschema.Resolved, r rawmcp.ToolResult) string {
	if r.IsError {
		return r.Text()
	}
	if len(r.Content) != 1 || r.Content[0].Type != "text" || !bytes.Equal([]byte(r.Text()), r.Structured) {
		return "the text is not the structured content"
	}
	var v any
	if err := json.Unmarshal(r.Structured, &v); err != nil {
		return err.Error()
	}
	if err := out.Validate(v); err != nil {
		return err.Error()
	}
	return ""
}

// answers calls every served tool and checks every answer. It returns how many
// rows and objects were seen.
func answers(t *testing.T, c *rawmcp.Client) (rows int) {
	t.Helper()
	tools, _ := list(t, c)
	if more := len(catalog.Tools()) - 95; len(tools) != 97+more {
		t.Errorf("%d tools are served, want 95 READ, 2 guidance and %d extended", len(tools), more)
	}
	for _, x := range tools {
		in, out := schemaOf(t, x.In), schemaOf(t, x.Out)
		for _, args := range x.calls() {
			if err := in.Validate(args); err != nil {
				t.Errorf("%s: its own arguments %v: %v", x.Name, args, err)
			}
			r, err := c.Tool(x.Name, args)
			if err != nil {
				t.Errorf("%s %v: %v", x.Name, args, err)
				continue
			}
			if bad := check(out, r); bad != "" {
				t.Errorf("%s %v: %s", x.Name, args, bad)
			}
			var seen struct {
				Rows   []json.RawMessage
				Object json.RawMessage
			}
			if json.Unmarshal(r.Structured, &seen) == nil {
				if rows += len(seen.Rows); seen.Object != nil {
					rows++
				}
			}
		}
	}
	return rows
}

func TestEveryToolAnswersOnThePretendApplianceByItsOwnSchema(t *testing.T) {
	s, c := begin(t, suite.Options{Settings: extended})
	rows := answers(t, c)
	t.Logf("%d rows and objects in %d requests", rows, len(s.Appliance.Requests()))
	if rows < 300 {
		t.Errorf("only %d rows and objects were checked", rows)
	}
}

func TestEveryToolAnswersOnRecordedAnswersByItsOwnSchema(t *testing.T) {
	srv := httptest.NewUnstartedServer(replay.NewAppliance(t))
	srv.Config.ErrorLog = nil
	srv.StartTLS()
	t.Cleanup(srv.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	_, c := begin(t, suite.Options{Settings: extended, URL: srv.URL, CA: ca})
	rows := answers(t, c)
	t.Logf("%d rows and objects", rows)
	if rows < 1000 {
		t.Errorf("only %d rows and objects were checked", rows)
	}
}

// TestTheAnswerCheckCanFail: an answer against another tool's schema, an error,
// and a text that differs.
func TestTheAnswerCheckCanFail(t *testing.T) {
	_, c := begin(t, suite.Options{Appliance: fakepf.Options{States: 3}})
	tools, _ := list(t, c)
	var states, dns tool
	for _, x := range tools {
		switch x.Name {
		case "pfsense_get_firewall_states":
			states = x
		case "pfsense_get_system_dns":
			dns = x
		}
	}
	r, err := c.Tool(states.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := schemaOf(t, states.Out)
	if bad := check(out, r); bad != "" {
		t.Fatal(bad)
	}
	if check(schemaOf(t, dns.Out), r) == "" {
		t.Error("rows pass for an object")
	}
	changed := r
	changed.Structured = json.RawMessage(strings.Replace(string(r.Structured), `"scanned":3`, `"scanned":null`, 1))
	changed.Content = append(changed.Content[:0:0], r.Content...)
	changed.Content[0].Text = string(changed.Structured)
	if bad := check(out, changed); bad == "" || bad == "the text is not the structured content" {
		t.Errorf("a counter that is null passes: %q", bad)
	}
	changed.Content[0].Text += " "
	if check(out, changed) == "" {
		t.Error("another text passes")
	}
	failed, err := c.Tool(states.Name, map[string]any{"limit": 0})
	if err != nil || !failed.IsError || check(out, failed) == "" {
		t.Errorf("an error passes: %v", err)
	}
}

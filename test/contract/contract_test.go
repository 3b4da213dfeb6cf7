package contract

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

const file = "../testdata/mcp/contract.json"

var update = flag.Bool("update", false, "write the contract anew")

func TestMain(m *testing.M) {
	code := m.Run()
	suite.Cleanup()
	os.Exit(code)
}

// surface is the contract. What is a list there has one line an item, as it was
// served.
type surface struct {
	Versions     []string                   `json:"protocolVersions"`
	Capabilities json.RawMessage            `json:"capabilities"`
	Instructions json.RawMessage            `json:"instructions"`
	Toolsets     map[string][]string        `json:"toolsets"`
	Tools        []json.RawMessage          `json:"tools"`
	Resources    []json.RawMessage          `json:"resources"`
	Templates    []json.RawMessage          `json:"resourceTemplates"`
	Prompts      []json.RawMessage          `json:"prompts"`
	Plans        map[string]json.RawMessage `json:"plans"` // each prompt with arguments, as a model gets it
}

// arguments are those of the plans; everything else is derived.
var arguments = map[string]string{
	"address": "192.0.2.10", "days": "30", "tunnel": "branch", "tool": "pfsense_get_gateways",
	"capability": "GATEWAY_READ", "model": "FirewallRule", "topic": "WORKING_WITH_OBJECT_IDS",
}

// sets are what is served in each toolset alone, beside the whole.
var sets = []string{"core", "firewall", "interfaces", "routing", "dns", "dhcp", "vpn", "system", "services", "extended", "all"}

func call(t *testing.T, c *rawmcp.Client, method string, params any) map[string]json.RawMessage {
	t.Helper()
	r, err := c.Call(method, params)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return members(t, r.Result)
}

func members(t *testing.T, raw []byte) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func items(t *testing.T, raw []byte) []json.RawMessage {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatalf("%v: %.200s", err, raw)
	}
	return list
}

// served asks a suite for its surface in one era.
func served(t *testing.T, s *suite.Suite, modern bool) surface {
	t.Helper()
	c := s.Shim()
	var hello json.RawMessage
	var err error
	if modern {
		hello, err = c.Modern()
	} else {
		hello, err = c.Initialize(rawmcp.HandshakeVersions[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	m := members(t, hello)
	out := surface{Capabilities: m["capabilities"], Instructions: m["instructions"], Plans: map[string]json.RawMessage{}}
	if modern {
		if err := json.Unmarshal(m["supportedVersions"], &out.Versions); err != nil {
			t.Fatal(err)
		}
	}
	out.Tools = items(t, call(t, c, "tools/list", nil)["tools"])
	out.Resources = items(t, call(t, c, "resources/list", nil)["resources"])
	out.Templates = items(t, call(t, c, "resources/templates/list", nil)["resourceTemplates"])
	out.Prompts = items(t, call(t, c, "prompts/list", nil)["prompts"])
	for _, p := range out.Prompts {
		var prompt struct {
			Name      string
			Arguments []struct{ Name string }
		}
		if err := json.Unmarshal(p, &prompt); err != nil {
			t.Fatal(err)
		}
		args := map[string]string{}
		for _, a := range prompt.Arguments {
			args[a.Name] = arguments[a.Name]
		}
		out.Plans[prompt.Name] = call(t, c, "prompts/get", map[string]any{"name": prompt.Name, "arguments": args})["messages"]
	}
	return out
}

// render writes a surface with one line an item.
func render(t *testing.T, s surface) []byte {
	t.Helper()
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false) // what is served stays as it was written
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	top := members(t, raw.Bytes())
	var b bytes.Buffer
	b.WriteString("{\n")
	names := []string{"protocolVersions", "capabilities", "instructions", "toolsets", "tools", "resources", "resourceTemplates", "prompts", "plans"}
	for i, name := range names {
		b.WriteString("  \"" + name + "\": ")
		switch v := top[name]; {
		case v[0] == '[' && name != "protocolVersions":
			b.WriteString("[\n")
			for j, item := range items(t, v) {
				b.WriteString("    " + string(item) + comma(j, len(items(t, v))) + "\n")
			}
			b.WriteString("  ]")
		case name == "plans" || name == "toolsets":
			var m map[string]json.RawMessage
			if err := json.Unmarshal(v, &m); err != nil {
				t.Fatal(err)
			}
			keys := make([]string, 0, len(m))
			if name == "toolsets" {
				keys = append(keys, sets...)
			} else {
				for _, p := range s.Prompts {
					var prompt struct{ Name string }
					if err := json.Unmarshal(p, &prompt); err != nil {
						t.Fatal(err)
					}
					keys = append(keys, prompt.Name)
				}
			}
			b.WriteString("{\n")
			for j, k := range keys {
				b.WriteString("    \"" + k + "\": " + string(m[k]) + comma(j, len(keys)) + "\n")
			}
			b.WriteString("  }")
		default:
			b.Write(v)
		}
		b.WriteString(comma(i, len(names)) + "\n")
	}
	b.WriteString("}\n")
	return b.Bytes()
}

func comma(i, n int) string {
	if i < n-1 {
		return ","
	}
	return ""
}

// differences names the lines in which two contracts differ, shortened.
func differences(want, got []byte) []string {
	have := map[string]int{}
	for line := range strings.Lines(string(want)) {
		have[strings.TrimRight(line, ",\n")]++
	}
	var out []string
	for line := range strings.Lines(string(got)) {
		line = strings.TrimRight(line, ",\n")
		if have[line] == 0 {
			out = append(out, "served, not in the contract: "+short(line))
			continue
		}
		have[line]--
	}
	for line, n := range have {
		if n > 0 {
			out = append(out, "in the contract, not served: "+short(line))
		}
	}
	if len(out) == 0 && !bytes.Equal(want, got) {
		out = append(out, "the order of the lines")
	}
	return out
}

func short(s string) string {
	if s = strings.TrimSpace(s); len(s) > 160 {
		return s[:160] + "…"
	}
	return s
}

func TestTheServedSurfaceIsTheContract(t *testing.T) {
	whole := suite.New(t, suite.Options{Settings: "toolsets = [\"all\", \"extended\"]\n"})
	got := served(t, whole, true)
	old := served(t, whole, false)
	// A model must find the same server whatever its client speaks.
	old.Versions = got.Versions
	if d := differences(render(t, got), render(t, old)); len(d) > 0 {
		t.Errorf("the eras differ:\n%s", strings.Join(d, "\n"))
	}
	got.Toolsets = map[string][]string{}
	for _, set := range sets {
		s := suite.New(t, suite.Options{Settings: "toolsets = [\"" + set + "\"]\n", Only: []string{"mcpd"}})
		c := s.Shim()
		if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
			t.Fatal(err)
		}
		names, err := c.Tools()
		if err != nil {
			t.Fatal(err)
		}
		got.Toolsets[set] = names
	}
	text := render(t, got)
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := differences(want, text); len(d) > 0 {
		t.Errorf("the served surface is not the contract (make contract writes it anew, alone in its commit):\n%s", strings.Join(d, "\n"))
	}
}

func TestAChangedContractIsNoticed(t *testing.T) {
	want := []byte("{\n  \"tools\": [\n    {\"name\":\"a\",\"hint\":true},\n    {\"name\":\"b\"}\n  ]\n}\n")
	for what, got := range map[string]string{
		"a changed hint":   strings.Replace(string(want), "true", "false", 1),
		"a tool less":      strings.Replace(string(want), ",\n    {\"name\":\"b\"}", "", 1),
		"a tool more":      strings.Replace(string(want), "\"b\"}", "\"b\"},\n    {\"name\":\"c\"}", 1),
		"another order":    "{\n  \"tools\": [\n    {\"name\":\"b\"},\n    {\"name\":\"a\",\"hint\":true}\n  ]\n}\n",
		"a member's blank": strings.Replace(string(want), "\"name\":", "\"name\": ", 1),
	} {
		if len(differences(want, []byte(got))) == 0 {
			t.Errorf("%s is not noticed", what)
		}
	}
	if d := differences(want, want); len(d) > 0 {
		t.Errorf("%q", d)
	}
}

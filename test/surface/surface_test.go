package surface

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

func TestMain(m *testing.M) {
	code := m.Run()
	suite.Cleanup()
	os.Exit(code)
}

// The settings of the lists that are measured.
const (
	usual    = ""
	extended = "toolsets = [\"all\", \"extended\"]\n"
	coreBare = "toolsets = [\"core\"]\noutput_schemas = \"off\"\n"
)

// tool is one tool as it is served.
type tool struct {
	raw  json.RawMessage
	Name string
	Desc string          `json:"description"`
	In   json.RawMessage `json:"inputSchema"`
	Out  json.RawMessage `json:"outputSchema"`
	Note struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  *bool `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	} `json:"annotations"`
}

// begin starts a suite and a session with it.
func begin(t *testing.T, o suite.Options) (*suite.Suite, *rawmcp.Client) {
	t.Helper()
	s := suite.New(t, o)
	c := s.Shim()
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
	return s, c
}

// list asks for the tools and returns them with the bytes of the whole list.
func list(t *testing.T, c *rawmcp.Client) (tools []tool, whole json.RawMessage) {
	t.Helper()
	r, err := c.Call("tools/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	var parts struct{ Tools json.RawMessage }
	var each []json.RawMessage
	if err := json.Unmarshal(r.Result, &parts); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(parts.Tools, &each); err != nil {
		t.Fatal(err)
	}
	for _, raw := range each {
		x := tool{raw: raw}
		if err := json.Unmarshal(raw, &x); err != nil {
			t.Fatal(err)
		}
		tools = append(tools, x)
	}
	return tools, parts.Tools
}

func names(tools []tool) []string {
	var out []string
	for _, x := range tools {
		out = append(out, x.Name)
	}
	slices.Sort(out)
	return out
}

// contract returns the names of the contract's READ tools.
func contract(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "contract", "tools.json"))
	if err != nil {
		t.Skip("skipped: ../shared/contract/tools.json is not beside the repository")
	}
	var doc struct {
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range doc.Tools {
		out = append(out, x.Name)
	}
	return out
}

func rowsWhere(keep func(*catalog.Tool) bool) []string {
	var out []string
	for _, r := range catalog.Tools() {
		if keep(r) {
			out = append(out, r.Name)
		}
	}
	return out
}

var guidance = []string{catalog.APIGuidanceTool, catalog.GuidanceTool}

// TestTheListHasExactlyTheContractsNamesAndTheExtendedOnesWhenNamed: the 95 READ
// tools and the two guidance tools, and those of extended with all,extended.
func TestTheListHasExactlyTheContractsNamesAndTheExtendedOnesWhenNamed(t *testing.T) {
	read := rowsWhere(func(r *catalog.Tool) bool { return r.Toolset != catalog.SetExtended })
	more := rowsWhere(func(r *catalog.Tool) bool { return r.Toolset == catalog.SetExtended })
	if len(read) != 95 || len(more) < 26 {
		t.Fatalf("%d and %d rows", len(read), len(more))
	}
	for _, x := range []struct {
		settings string
		want     []string
	}{
		{usual, slices.Concat(read, guidance)},
		{extended, slices.Concat(read, guidance, more)},
	} {
		_, c := begin(t, suite.Options{Settings: x.settings})
		tools, _ := list(t, c)
		slices.Sort(x.want)
		if got := names(tools); !slices.Equal(got, x.want) {
			t.Errorf("%q serves %d tools, want %d: %q", x.settings, len(got), len(x.want), got)
		}
		if x.settings == usual {
			t.Run("as in the contract", func(t *testing.T) {
				want := slices.Concat(contract(t), guidance)
				slices.Sort(want)
				if got := names(tools); !slices.Equal(got, slices.Compact(want)) {
					t.Errorf("served %q\ncontract %q", got, want)
				}
			})
		}
	}
}

// TestInfoCountsTheExtendedToolsApart: the READ count stays the contract's.
func TestInfoCountsTheExtendedToolsApart(t *testing.T) {
	more := len(catalog.Tools()) - 95
	for settings, want := range map[string][4]int{
		usual:    {97, 95, 0, 2},
		extended: {97 + more, 95, more, 2},
		"toolsets = [\"extended\"]\nallowed_tools = [\"pfsense_mcp_info\", \"pfsense_get_status_logs_firewall\"]\n": {2, 1, 1, 0},
	} {
		_, c := begin(t, suite.Options{Settings: settings})
		r, err := c.Tool(catalog.InfoTool, nil)
		if err != nil || r.IsError {
			t.Fatalf("%v %s", err, r.Text())
		}
		var got struct {
			Object struct {
				All      int `json:"registered_tool_count"`
				Read     int `json:"registered_read_tool_count"`
				Extended int `json:"registered_extended_tool_count"`
				Guidance int `json:"registered_guidance_tool_count"`
			}
		}
		if err := json.Unmarshal(r.Structured, &got); err != nil {
			t.Fatal(err)
		}
		o := got.Object
		if have := [4]int{o.All, o.Read, o.Extended, o.Guidance}; have != want {
			t.Errorf("%q: %v, want %v", settings, have, want)
		}
		if names, _ := list(t, c); len(names) != o.All {
			t.Errorf("%q: %d tools are served, %d are counted", settings, len(names), o.All)
		}
	}
}

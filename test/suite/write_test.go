package suite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/execfront"
	"pfsensemcp/test/rawmcp"
)

// mayWrite returns how many tools a list has, and those that do not say that they
// only read.
func mayWrite(t *testing.T, result []byte) (all int, names []string) {
	t.Helper()
	var list struct {
		Tools []struct {
			Name        string
			Annotations struct {
				ReadOnly *bool `json:"readOnlyHint"`
			}
		}
	}
	if err := json.Unmarshal(result, &list); err != nil {
		t.Fatal(err)
	}
	for _, x := range list.Tools {
		if x.Annotations.ReadOnly == nil || !*x.Annotations.ReadOnly {
			names = append(names, x.Name)
		}
	}
	return len(list.Tools), names
}

// TestDefaultInstallListsZeroWriteTools asks the shipped daemons, in every protocol
// version: with the default settings, and with every setting of mcpd's that could
// be taken for one that adds the tool, while executord has no write configuration.
func TestDefaultInstallListsZeroWriteTools(t *testing.T) {
	for _, x := range []struct {
		settings string
		all      int
	}{
		{"", 97},
		{"toolsets = [\"all\", \"extended\"]\n", len(catalog.Tools()) + 2}, // and the two of guidance
		{"allowed_tools = [\"pfsense_mcp_info\", \"" + catalog.WriteTool + "\"]\n", 1},
		{"profile = \"write_protected\"\n", 97},
		{"profile = \"write_protected\"\nallowed_tools = [\"pfsense_mcp_info\", \"" + catalog.WriteTool + "\"]\ntoolsets = [\"all\", \"firewall\"]\n", 1},
	} {
		s := New(t, Options{Settings: x.settings})
		for _, v := range append([]string{rawmcp.ModernVersion}, rawmcp.HandshakeVersions...) {
			c := s.Shim()
			var err error
			if v == rawmcp.ModernVersion {
				_, err = c.Modern()
			} else {
				_, err = c.Initialize(v)
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.Call("tools/list", nil)
			if err != nil {
				t.Fatal(err)
			}
			all, out := mayWrite(t, r.Result)
			if all != x.all || len(out) != 0 {
				t.Errorf("%q, %s: %d tools, of which these may write: %v", x.settings, v, all, out)
			}
			if _, err := c.Tool(catalog.WriteTool, map[string]string{"alias_name": "web_servers", "description": "x"}); err == nil || !strings.HasPrefix(err.Error(), "-32602") {
				t.Errorf("%q, %s: the tool that is not listed answers: %v", x.settings, v, err)
			}
			info, err := c.Tool(catalog.InfoTool, nil)
			if err != nil || !strings.Contains(info.Text(), `"registered_write_tool_count":0`) || !strings.Contains(info.Text(), `"active_write_capabilities":[]`) ||
				!strings.Contains(info.Text(), `"sealed":true`) {
				t.Errorf("%q, %s: %v %s", x.settings, v, err, info.Text())
			}
		}
		for _, r := range s.Appliance.Requests() {
			if r.Method != "GET" {
				t.Errorf("%q: the appliance saw %s %s", x.settings, r.Method, r.Path)
			}
		}
	}
}

func TestTheCheckOfTheDefaultInstallCanFail(t *testing.T) {
	all, out := mayWrite(t, []byte(`{"tools":[{"name":"a","annotations":{"readOnlyHint":true}},{"name":"b","annotations":{"readOnlyHint":false}},{"name":"c","annotations":{}},{"name":"d"}]}`))
	if all != 4 || !slices.Equal(out, []string{"b", "c", "d"}) {
		t.Errorf("%d %v", all, out)
	}
}

// TestTheInboxIsReadInsideTheSandbox starts the shipped mcpd, behind all its walls
// where the test is root, with an inbox, and waits for the file in executord.
func TestTheInboxIsReadInsideTheSandbox(t *testing.T) {
	inbox := t.TempDir()
	for _, dir := range []string{inbox, filepath.Dir(inbox)} { // for mcpd's user
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(inbox, "wc-1.confirmation.json")
	if err := os.WriteFile(file, []byte(`{"signed":true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	front := &execfront.Front{}
	s := New(t, Options{Settings: "profile = \"write_protected\"\nrelay_inbox = \"" + inbox + "\"\n", Only: []string{"guidanced"}})
	front.Beside(t, s.Dir)
	s.Start("mcpd")
	s.Proc("mcpd").Until("the file in executord", func() bool { return len(front.Files()) > 0 })
	if f := front.Files()[0]; f.GetKind() != executorpb.SubmitArtifactRequest_KIND_CONFIRMATION || string(f.GetArtifact()) != `{"signed":true}` {
		t.Errorf("%v", f)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != `{"signed":true}` {
		t.Errorf("the person's file: %q %v", b, err)
	}
}

package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/guidance/v1"
	"pfsensemcp/test/rawmcp"
)

// newLogger returns the log as the daemon makes it.
func newLogger(b *buffer) *slog.Logger {
	l, err := logging.New(logging.Options{Daemon: "mcpd", Format: "journal", Stderr: b, Unknown: func(key string) { panic("unknown key " + key) }})
	if err != nil {
		panic(err)
	}
	return l.Logger
}

// jsonNames are the member names of a struct, in order.
func jsonNames(v any) (names []string) {
	for f := range reflect.TypeOf(v).Fields() {
		names = append(names, f.Tag.Get("json"))
	}
	return names
}

func fieldNames(m *catalog.Model) (names []string) {
	for _, f := range m.Fields {
		names = append(names, f.Name)
	}
	return names
}

func TestInfoHasExactlyTheFieldsOfItsModel(t *testing.T) {
	row, ok := catalog.Lookup(catalog.InfoTool)
	if !ok {
		t.Fatal("no row")
	}
	if diff := cmp.Diff(fieldNames(row.Model), jsonNames(serverInfo{})); diff != "" {
		t.Error(diff)
	}
	for _, f := range row.Model.Fields {
		if f.Name == "daemons" {
			if diff := cmp.Diff(fieldNames(f.Model), jsonNames(daemonInfo{})); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestInfoTellsTheSuitesRealState(t *testing.T) {
	dir, err := os.MkdirTemp("", "mcp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// guidanced runs, executord hangs, docfetchd is not there.
	serveGuidance(t, filepath.Join(dir, "guidance"))
	if err := os.Mkdir(filepath.Join(dir, "exec"), 0o700); err != nil {
		t.Fatal(err)
	}
	hung, err := net.Listen("unix", filepath.Join(dir, "exec", "exec.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer hung.Close()

	a := &appliance{}
	cfg, _ := config(t, a)
	if cfg.Suite, err = NewSuite(dir, rpc.NewNode(rpc.NodeConfig{Name: "mcpd", Version: "v9", BuildID: "sha256:00"})); err != nil {
		t.Fatal(err)
	}
	defer cfg.Suite.Close()
	cfg.Toolsets = []string{"core"}
	c := start(t, cfg).client(t, "")
	var res rawmcp.ToolResult
	var o serverInfo
	eventually(t, "guidanced answers in time", func() bool { // on a busy host it may not at first
		var got struct {
			Object serverInfo
			Notes  []string
		}
		res = ask(t, c, catalog.InfoTool, nil)
		if err := json.Unmarshal(res.Structured, &got); err != nil || len(got.Object.Daemons) < 2 {
			t.Fatalf("%s: %v", res.Structured, err)
		}
		o = got.Object
		return o.Daemons[1].Reachable
	})
	if n := len(a.requests()); n != 0 {
		t.Errorf("%d requests to the appliance", n)
	}
	if o.ServerVersion != "v9" || o.BuildID != "sha256:00" || o.Profile != "auditor" || o.Tools != 27 || o.ReadTools != 25 || o.ExtendedTools != 0 || o.GuidanceTools != 2 || o.WriteTools != 0 || len(o.Toolsets) != 1 {
		t.Errorf("%+v", o)
	}
	if len(o.Daemons) != 4 {
		t.Fatalf("%+v", o.Daemons)
	}
	for i, want := range []struct {
		name      string
		reachable bool
	}{{"mcpd", true}, {"guidanced", true}, {"docfetchd", false}, {"executord", false}} {
		d := o.Daemons[i]
		if d.Name != want.name || d.Reachable != want.reachable || (d.Version != nil) != want.reachable || d.Sealed != nil {
			t.Errorf("%+v", d)
		}
	}
	if strings.Contains(string(res.Structured), `"sandbox_enforced":null`) {
		t.Error("a list is null")
	}
	if res = ask(t, c, catalog.InfoTool, map[string]any{"x": 1}); !res.IsError {
		t.Error("an argument is taken")
	}
}

// serveGuidance runs a pretend guidanced.
func serveGuidance(t *testing.T, dir string) {
	t.Helper()
	l, err := rpc.Listen(filepath.Join(dir, "guidance.sock"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	node := rpc.NewNode(rpc.NodeConfig{Name: "guidanced", Version: "v8", StartedAt: time.Unix(1, 0)})
	node.SetServing(true)
	row := func(name string) rpc.Method {
		return rpc.Method{Full: "/guidance.v1.Guidance/" + name, Callers: rpc.Mcpd, MaxRequest: 4096, MaxDuration: time.Minute}
	}
	s, err := rpc.NewServer(rpc.Config{
		Name: "guidance", Node: node, Log: slog.New(slog.DiscardHandler),
		Methods: []rpc.Method{row("Lookup"), row("ToolGuidance")},
		Callers: map[rpc.Role][]uint32{rpc.Mcpd: {uint32(os.Geteuid())}},
	})
	if err != nil {
		t.Fatal(err)
	}
	guidancepb.RegisterGuidanceServer(s, guidanced{})
	done := make(chan error, 1)
	go func() { done <- s.Serve(t.Context(), l) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

type guidanced struct {
	guidancepb.UnsafeGuidanceServer
}

func (guidanced) Lookup(_ context.Context, r *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
	if r.GetCapability() != "FIREWALL_READ" || r.GetIdentity() != nil {
		return nil, errs.New(errs.NotFound, "no such capability").WithNext("nearest: FIREWALL_READ")
	}
	return &guidancepb.LookupResponse{
		RequestedCapability: r.GetCapability(), OverallState: "stale", Disclaimer: "d",
		Guidance: []*guidancepb.Item{{Capability: r.GetCapability(), SourceId: "s", Title: "t <&>"}},
	}, nil
}

func (guidanced) ToolGuidance(_ context.Context, r *guidancepb.ToolGuidanceRequest) (*guidancepb.ToolGuidanceResponse, error) {
	return &guidancepb.ToolGuidanceResponse{ToolName: r.GetToolName(), ResultKind: "configuration"}, nil
}

func TestGuidanceIsShownAsTheServiceGaveIt(t *testing.T) {
	dir, err := os.MkdirTemp("", "mcp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	serveGuidance(t, filepath.Join(dir, "guidance"))
	cfg, _ := config(t, &appliance{})
	if cfg.Suite, err = NewSuite(dir, rpc.NewNode(rpc.NodeConfig{Name: "mcpd"})); err != nil {
		t.Fatal(err)
	}
	defer cfg.Suite.Close()
	cfg.Extras = GuidanceTools(cfg.Suite, nil, nil)
	c := start(t, cfg).client(t, "")
	res := ask(t, c, catalog.GuidanceTool, map[string]any{"capability": "FIREWALL_READ"})
	want := `{"requested_capability":"FIREWALL_READ","overall_state":"stale","identity":{"edition":"","version":null,"source":"","resolved_at":null},` +
		`"guidance":[{"capability":"FIREWALL_READ","source_id":"s","title":"t <&>","canonical_url":"","content_excerpt":"","content_hash":"","pfsense_edition":"","trust_label":"",` +
		`"applicability":"","evidence_level":"","applicable_overlay_chain":[],"observed_edition_used":"","observed_version_used":null,"version_mismatch":false,"retrieval_mode":"","snapshot_version":""}],"disclaimer":"d"}`
	if res.IsError || string(res.Structured) != want || res.Text() != want {
		t.Errorf("%s", res.Text())
	}
	res = ask(t, c, catalog.GuidanceTool, map[string]any{"tool_name": "x"})
	contains(t, res.Text(), "no such capability", "nearest: FIREWALL_READ")
	res = ask(t, c, catalog.APIGuidanceTool, map[string]any{"query_mode": "tool", "tool_name": "pfsense_get_firewall_rules"})
	contains(t, string(res.Structured), `{"query_mode":"tool","guidance":{"query":{`, `"provenance":"PROJECT_AUTHORED","source":"pfsense-mcp","subject":"tool pfsense_get_firewall_rules"`, `"result kind: configuration"`)
}

func TestAGuidanceToolNamesTheServiceThatIsDown(t *testing.T) {
	cfg, _ := config(t, &appliance{})
	c := start(t, cfg).client(t, "")
	for _, tt := range []struct {
		tool string
		args any
		subs []string
	}{
		{catalog.GuidanceTool, map[string]any{"capability": "FIREWALL_READ"}, []string{"guidanced", "systemctl start"}},
		{catalog.GuidanceTool, map[string]any{}, []string{"exactly one", "example"}},
		{catalog.GuidanceTool, map[string]any{"capability": "A", "tool_name": "b"}, []string{"exactly one"}},
		{catalog.GuidanceTool, map[string]any{"version": "A"}, []string{"example"}},
		{catalog.GuidanceTool, map[string]any{"capability": strings.Repeat("A", 65)}, []string{"64 characters"}},
		{catalog.APIGuidanceTool, map[string]any{"query_mode": "topic", "topic": "ENDPOINT_TYPES"}, []string{"docfetchd", "systemctl start"}},
		{catalog.APIGuidanceTool, map[string]any{"query_mode": "topic", "tool_name": "x", "topic": "X"}, []string{"does not take tool_name"}},
		{catalog.APIGuidanceTool, map[string]any{"query_mode": "model"}, []string{"needs model_name", "example"}},
		{catalog.APIGuidanceTool, map[string]any{"query_mode": "model", "model_name": "x", "offset": 10001}, []string{"offset"}},
		{catalog.APIGuidanceTool, map[string]any{"query_mode": "topic", "topic": "x", "offset": 1}, []string{"offset"}},
		{catalog.APIGuidanceTool, map[string]any{"query_mode": "nothing"}, []string{"query_mode is"}},
	} {
		res := ask(t, c, tt.tool, tt.args)
		if !res.IsError {
			t.Errorf("%v: %s", tt.args, res.Text())
		}
		contains(t, res.Text(), tt.subs...)
	}
	// With more than one source a service that is down is a note of the answer.
	for _, tt := range []struct {
		args map[string]any
		subs []string
	}{
		{map[string]any{"query_mode": "tool", "tool_name": "pfsense_get_firewall_rules"}, []string{"guidanced is not reachable", "docfetchd is not reachable", "systemctl start pfsense-docfetchd"}},
		{map[string]any{"query_mode": "endpoint", "endpoint_path": "/api/v2/firewall/rules", "endpoint_method": "GET"}, []string{"docfetchd is not reachable", "systemctl start"}},
		{map[string]any{"query_mode": "model", "model_name": "FirewallRule", "offset": 25}, []string{"docfetchd is not reachable"}},
	} {
		res := ask(t, c, catalog.APIGuidanceTool, tt.args)
		if res.IsError {
			t.Errorf("%v: %s", tt.args, res.Text())
		}
		contains(t, res.Text(), tt.subs...)
	}
}

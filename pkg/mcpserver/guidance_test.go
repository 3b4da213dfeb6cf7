package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/guidance"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/rpc/rpctest"
	"pfsensemcp/proto/guidance/v1"
)

// box is an appliance that says what it is, or does not.
type box struct {
	appliance
	data  string
	err   error
	hangs bool
	asked int
	path  pfrest.Endpoint
}

func (b *box) Get(ctx context.Context, _ pfrest.Caller, e pfrest.Endpoint, _ pfrest.Page) (pfrest.Answer, error) {
	b.asked++
	b.path = e
	if b.hangs {
		<-ctx.Done()
		return pfrest.Answer{}, ctx.Err()
	}
	return pfrest.Answer{Data: jsontext.Value(b.data)}, b.err
}

// serveRegistry serves the bundled registry on a socket in dir, as guidanced.
func serveRegistry(t *testing.T, dir string) {
	t.Helper()
	registry, err := guidance.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	l, err := rpc.Listen(filepath.Join(dir, "guidance", "guidance.sock"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.Config{
		Name: "guidance", Node: rpctest.Node("guidanced"), Methods: guidance.Methods(),
		Callers: map[rpc.Role][]uint32{rpc.Mcpd: {uint32(os.Getuid())}}, Log: slog.New(slog.DiscardHandler), Strict: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	guidancepb.RegisterGuidanceServer(srv, guidance.NewService(registry))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// From the MCP client through mcpd to the registry and back: exactly the
// members of decisions.md, judged against what the appliance said.
func TestOfficialGuidanceEndToEnd(t *testing.T) {
	dir, err := os.MkdirTemp("", "mcp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	serveRegistry(t, dir)
	b := &box{data: `{"version":"2.8.1-RELEASE","base":"2.8.1"}`}
	cfg, _ := config(t, &appliance{})
	if cfg.Suite, err = NewSuite(dir, rpc.NewNode(rpc.NodeConfig{Name: "mcpd"})); err != nil {
		t.Fatal(err)
	}
	defer cfg.Suite.Close()
	cfg.Extras = GuidanceTools(cfg.Suite, nil, NewApplianceIdentity(b).Get)
	c := start(t, cfg).client(t, "")

	for _, args := range []map[string]any{{"capability": "FIREWALL_NAT_READ"}, {"tool_name": "pfsense_get_firewall_nat_port_forwards"}} {
		res := ask(t, c, catalog.GuidanceTool, args)
		if res.IsError {
			t.Fatal(res.Text())
		}
		var got struct {
			Capability string           `json:"requested_capability"`
			State      string           `json:"overall_state"`
			Identity   map[string]any   `json:"identity"`
			Guidance   []map[string]any `json:"guidance"`
			Disclaimer string           `json:"disclaimer"`
		}
		if err := json.Unmarshal(res.Structured, &got, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		if got.Capability != "FIREWALL_NAT_READ" || got.State != "version_unconfirmed" || len(got.Guidance) != 3 || got.Disclaimer != guidance.Disclaimer {
			t.Errorf("%s", res.Text())
		}
		resolved, ok := got.Identity["resolved_at"].(string)
		if _, err := time.Parse(time.RFC3339, resolved); !ok || err != nil || got.Identity["edition"] != "known_ce" || got.Identity["version"] != "2.8.1" || len(got.Identity) != 4 {
			t.Errorf("identity %v", got.Identity)
		}
		want := []string{
			"applicability", "applicable_overlay_chain", "canonical_url", "capability", "content_excerpt", "content_hash", "evidence_level",
			"observed_edition_used", "observed_version_used", "pfsense_edition", "retrieval_mode", "snapshot_version", "source_id", "title", "trust_label", "version_mismatch",
		}
		for _, g := range got.Guidance {
			var names []string
			for name := range g {
				names = append(names, name)
			}
			if slices.Sort(names); !slices.Equal(names, want) {
				t.Errorf("an item has %q", names)
			}
			if text, _ := g["content_excerpt"].(string); guidance.Digest(text) != g["content_hash"] {
				t.Errorf("%v: the text is not what was pinned", g["source_id"])
			}
		}
	}
	if b.asked != 1 {
		t.Errorf("%d requests for the identity", b.asked)
	}

	// The appliance is down: guidance goes on without it.
	cfg.Extras = GuidanceTools(cfg.Suite, nil, NewApplianceIdentity(&box{err: errors.New("down")}).Get)
	c = start(t, cfg).client(t, "")
	res := ask(t, c, catalog.GuidanceTool, map[string]any{"capability": "ALIAS_READ"})
	if res.IsError || !strings.Contains(res.Text(), `"identity":{"edition":"unknown","version":null,"source":"pfsense_get_system_version, field base","resolved_at":null}`) {
		t.Errorf("%s", res.Text())
	}
	schema := string(GuidanceTools(cfg.Suite, nil, nil)[0].Output)
	contains(t, schema, `"disclaimer":{"type":"string","const":"`+guidance.Disclaimer+`"}`)
	res = ask(t, c, catalog.GuidanceTool, map[string]any{"tool_name": "pfsense_get_firewal_rules"})
	if !res.IsError {
		t.Error("a misspelled tool was answered")
	}
	contains(t, res.Text(), "pfsense_get_firewall_rules")
}

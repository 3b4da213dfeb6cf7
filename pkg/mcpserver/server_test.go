package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/mcpserver/internal/session"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/test/rawmcp"
)

// versions are all protocol versions that the SDK knows.
func versions() []string { return append([]string{rawmcp.ModernVersion}, rawmcp.HandshakeVersions...) }

func TestEveryProtocolVersionHoldsTheSameConversation(t *testing.T) {
	if diff := cmp.Diff(versions(), mcp.SupportedProtocolVersions()); diff != "" {
		t.Fatalf("the SDK knows other versions than the tests: %s", diff)
	}
	a := &appliance{}
	cfg, _ := config(t, a)
	r := start(t, cfg)
	for _, v := range versions() {
		t.Run(v, func(t *testing.T) {
			c, err := rawmcp.Dial(r.socket)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var hello json.RawMessage
			if v == rawmcp.ModernVersion {
				hello, err = c.Modern()
			} else {
				hello, err = c.Initialize(v)
			}
			if err != nil {
				t.Fatal(err)
			}
			contains(t, string(hello), v, `"tools":{}`, "READ only")
			if strings.Contains(string(hello), "logging") || strings.Contains(string(hello), "listChanged") {
				t.Errorf("too much is promised: %s", hello)
			}
			names, err := c.Tools()
			if err != nil || len(names) != 97 || !slices.IsSorted(names) {
				t.Fatalf("%d tools, %v", len(names), err)
			}
			if n := len(a.requests()); n != 0 {
				t.Fatalf("the appliance was asked %d times before any tool", n)
			}
			res := ask(t, c, "pfsense_mcp_info", nil)
			if res.IsError || res.Text() != string(res.Structured) {
				t.Errorf("text and structured content differ: %s", res.Text())
			}
			res = ask(t, c, "pfsense_get_system_version", nil)
			if !res.IsError {
				t.Error("an absent appliance is no error")
			}
			contains(t, res.Text(), "there is no appliance", "next: plug it in", "error class: connection, request ")
			if _, err := c.Call("tools/nothing", nil); err == nil || !strings.HasPrefix(err.Error(), "-32601") {
				t.Errorf("unknown method: %v", err)
			}
			a.mu.Lock()
			a.asked = nil
			a.mu.Unlock()
		})
	}
}

func TestTheSDKsClientIsContentInBothEras(t *testing.T) {
	a := &appliance{answer: func(context.Context, pfrest.Endpoint, pfrest.Page) (string, error) {
		return `{"version":"2.8.1-RELEASE","base":"2.8.1","patch":"0","buildtime":"x"}`, nil
	}}
	cfg, _ := config(t, a)
	r := start(t, cfg)
	for _, v := range []string{"", "2025-11-25"} { // "": what the client picks by itself
		nc, err := net.Dial("unix", r.socket)
		if err != nil {
			t.Fatal(err)
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
		opts := &mcp.ClientSessionOptions{}
		if v != "" {
			opts.ProtocolVersion = v
		}
		cs, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: nc, Writer: nc}, opts)
		if err != nil {
			t.Fatalf("%q: %v", v, err)
		}
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 97 || list.NextCursor != "" {
			t.Fatalf("%q: %v", v, err)
		}
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "pfsense_get_system_version", Arguments: map[string]any{}})
		if err != nil || res.IsError {
			t.Fatalf("%q: %v %+v", v, err, res)
		}
		if got := res.StructuredContent.(map[string]any)["object"].(map[string]any)["version"]; got != "2.8.1-RELEASE" {
			t.Errorf("%q: %v", v, got)
		}
		_ = cs.Close()
	}
}

// The list is rendered by us, once. A client of the SDK that reads it and writes
// it again must have lost nothing, and the SDK must know every name in it.
func TestTheServedListIsOneThatTheSDKWouldServe(t *testing.T) {
	cfg, _ := config(t, &appliance{})
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var served mcp.ListToolsResult
	if err := json.Unmarshal([]byte("{"+string(s.list)+"}"), &served); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(served.Tools)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := json.Unmarshal(again, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte("{"+string(s.list)+"}"), &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b.(map[string]any)["tools"]); diff != "" {
		t.Error(diff)
	}
	// Through the SDK's own transport no call is ours, so this list is its own.
	ct, st := mcp.NewInMemoryTransports()
	if _, err := s.mcp.Connect(t.Context(), st, nil); err != nil {
		t.Fatal(err)
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "x", Version: "1"}, nil).Connect(t.Context(), ct, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	own, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := func(tools []*mcp.Tool) (out []string) {
		for _, tl := range tools {
			out = append(out, tl.Name)
		}
		return out
	}
	if diff := cmp.Diff(names(own.Tools), names(served.Tools)); diff != "" {
		t.Error(diff)
	}
}

func TestTheListIsOnePageOfSchemasThatClientsCanLiveWith(t *testing.T) {
	for _, schemas := range []bool{true, false} {
		cfg, _ := config(t, &appliance{})
		cfg.OutputSchemas, cfg.Toolsets = schemas, []string{"all", "extended"}
		r := start(t, cfg)
		c := r.client(t, "")
		reply, err := c.Call("tools/list", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{`"$ref"`, `"$defs"`, `"$id"`, `"icons"`, `"type":[`, `"nextCursor"`, `:true}},"type"`} {
			if strings.Contains(reply.Line, bad) {
				t.Errorf("%s is served", bad)
			}
		}
		var list struct{ Tools []mcp.Tool }
		if err := json.Unmarshal(reply.Result, &list); err != nil {
			t.Fatal(err)
		}
		for _, tl := range list.Tools {
			if strings.Trim(tl.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || len("mcp__pf__"+tl.Name) > 64 {
				t.Errorf("the name %s", tl.Name)
			}
			if n := len(tl.Description); n == 0 || n > 250 {
				t.Errorf("%s: a description of %d bytes", tl.Name, n)
			}
			if in, ok := tl.InputSchema.(map[string]any); !ok || in["type"] != "object" || in["anyOf"] != nil || in["oneOf"] != nil {
				t.Errorf("%s: the input schema", tl.Name)
			}
			out, ok := tl.OutputSchema.(map[string]any)
			if ok != schemas || ok && out["type"] != "object" {
				t.Errorf("%s: the output schema", tl.Name)
			}
		}
		if _, err := c.Call("tools/list", map[string]string{"cursor": "x"}); err == nil || !strings.HasPrefix(err.Error(), "-32602") {
			t.Errorf("a cursor: %v", err)
		}
	}
}

func TestAllFourHintsFollowFromTheRow(t *testing.T) {
	cfg, _ := config(t, &appliance{})
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.tools {
		row, isRow := catalog.Lookup(e.name)
		open := !isRow || row.Path != "" // documentation is somebody else's
		if h := e.hints; !h.ReadOnlyHint || h.DestructiveHint == nil || *h.DestructiveHint || !h.IdempotentHint || h.OpenWorldHint == nil || *h.OpenWorldHint != open {
			t.Errorf("%s: %+v", e.name, h)
		}
	}
}

func TestInstructionsSayTheModeFirstAndNameOnlyWhatIsThere(t *testing.T) {
	for _, tt := range []struct {
		name   string
		set    func(*Config)
		begins string
		tools  int // that are named
	}{
		{"all", func(*Config) {}, "READ only", 3},
		{"a write tool that is not offered", func(c *Config) { c.Profile = catalog.ProfileWriteProtected }, "READ only", 3},
		{"one area", func(c *Config) { c.Toolsets = []string{"dns"} }, "READ only", 1},
		{"one tool", func(c *Config) { c.Allow = []string{"pfsense_get_gateways"} }, "READ only", 0},
		{"none", func(c *Config) { c.Profile = "engineer" }, "This server offers no tool", 0},
	} {
		cfg, _ := config(t, &appliance{})
		tt.set(&cfg)
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		text := s.instructions()
		if len(text) >= 1800 || !strings.HasPrefix(text, tt.begins) {
			t.Errorf("%s: %d characters: %.40s", tt.name, len(text), text)
		}
		named := regexp.MustCompile(`pfsense_[a-z0-9_]+`).FindAllString(text, -1)
		if len(named) != tt.tools {
			t.Errorf("%s: names %v", tt.name, named)
		}
		for _, n := range named {
			if !s.has(n) {
				t.Errorf("%s: names %s, which is not registered", tt.name, n)
			}
		}
	}
}

// TestTheExampleOfTheInstructionsIsTaken: models copy it, and a field in it that
// is hidden would cost each of them an error and the idea to open the gate.
func TestTheExampleOfTheInstructionsIsTaken(t *testing.T) {
	cfg, _ := config(t, &appliance{answer: func(context.Context, pfrest.Endpoint, pfrest.Page) (string, error) { return "[]", nil }})
	s := start(t, cfg)
	example := regexp.MustCompile(`\{"where".*?\}`).FindString(s.instructions())
	if example == "" {
		t.Fatal("the instructions hold no example")
	}
	if r := ask(t, s.client(t, ""), "pfsense_get_firewall_rules", json.RawMessage(example)); r.IsError {
		t.Errorf("%s: %s", example, r.Text())
	}
}

func TestWhatIsNotRegisteredDoesNotExist(t *testing.T) {
	for _, tt := range []struct {
		name     string
		set      func(*Config)
		tools    []string
		gone     string
		goneText string
	}{
		{"engineer", func(c *Config) { c.Profile = "engineer" }, nil, "pfsense_mcp_info", "leave this tool out"},
		{"empty allow-list", func(c *Config) { c.Allow = []string{} }, nil, "pfsense_get_firewall_rules", "leave this tool out"},
		{
			"allow-list", func(c *Config) { c.Allow = []string{"pfsense_mcp_info", "pfsense_get_official_guidance"} },
			[]string{"pfsense_get_official_guidance", "pfsense_mcp_info"},
			"pfsense_get_firewall_rules", "leave this tool out",
		},
		{
			"unknown name", func(c *Config) { c.Allow = []string{"pfsense_get_firewall_rules"} },
			[]string{"pfsense_get_firewall_rules"},
			"pfsense_get_firewal_rule", "nearest is pfsense_get_firewall_rules",
		},
		{
			"a name in capitals", func(c *Config) { c.Allow = []string{"pfsense_get_firewall_rules"} },
			[]string{"pfsense_get_firewall_rules"},
			"PFSENSE_GET_FIREWALL_RULES", "nearest is pfsense_get_firewall_rules",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &appliance{}
			cfg, _ := config(t, a)
			tt.set(&cfg)
			for _, v := range []string{"", rawmcp.ModernVersion} {
				c := start(t, cfg).client(t, v)
				names, err := c.Tools()
				if err != nil || !slices.Equal(names, tt.tools) {
					t.Errorf("%v %v", names, err)
				}
				_, err = c.Tool(tt.gone, nil)
				if err == nil || !strings.HasPrefix(err.Error(), "-32602") || !strings.Contains(err.Error(), tt.goneText) {
					t.Errorf("%v", err)
				}
			}
			if len(a.requests()) != 0 {
				t.Error("the appliance was asked")
			}
		})
	}
	cfg, _ := config(t, &appliance{})
	cfg.Profile, cfg.Allow, cfg.Toolsets = "nobody", []string{"x*"}, []string{"y"}
	if _, err := New(cfg); err == nil || strings.Count(err.Error(), "\n") < 2 {
		t.Errorf("not all faults at once: %v", err)
	}
}

func TestReview27AnOperatorsSessionIsRefusedUnlessTheSiteSaysOtherwise(t *testing.T) {
	cfg, log := config(t, &appliance{})
	cfg.Operators = []uint32{uint32(os.Geteuid())}
	c, err := rawmcp.Dial(start(t, cfg).socket)
	if err != nil {
		t.Fatal(err)
	}
	line, err := c.Line()
	if err != nil {
		t.Fatal(err)
	}
	contains(t, line, `"id":null`, `"class":"operator"`, `"session":"refused"`, "operators_may_use_mcp")
	if _, err := c.Line(); err == nil {
		t.Error("the session goes on")
	}
	contains(t, log.String(), "session refused", fmt.Sprintf(`"caller_uid":%d`, os.Geteuid()))
	cfg.OperatorsMayUseMCP = true
	_ = start(t, cfg).client(t, "")
	s := &Server{}
	if s.admit(rpc.Peer{UID: 65534}) == nil || s.admit(rpc.Peer{UID: 1000}) != nil {
		t.Error("65534 is admitted, or 1000 is not")
	}
}

func TestTheAuditSaysWhoAskedWhatAndNothingElse(t *testing.T) {
	a := &appliance{answer: func(context.Context, pfrest.Endpoint, pfrest.Page) (string, error) {
		return `[{"id":0,"name":"canary","type":"host","address":["10.9.8.7"],"detail":[],"descr":"canary"}]`, nil
	}}
	cfg, log := config(t, a)
	c := start(t, cfg).client(t, "")
	if res := ask(t, c, "pfsense_get_firewall_aliases", map[string]any{"where": []string{"name = canary"}}); res.IsError {
		t.Fatal(res.Text())
	}
	var lines []string
	for l := range strings.Lines(log.String()) {
		if strings.Contains(l, `"audit":true`) {
			lines = append(lines, l)
		}
	}
	if len(lines) != 2 {
		t.Fatalf("%d audit lines: %q", len(lines), lines)
	}
	contains(t, lines[0], `"tool":"pfsense_get_firewall_aliases"`, `"outcome":"invoked"`, `"upstream_identity":"reader"`, fmt.Sprintf(`"caller_uid":%d`, os.Geteuid()), `"seq":1,`)
	contains(t, lines[1], `"outcome":"succeeded"`, `"rows":1,`, `"seq":2,`)
	id := func(l string) string {
		_, rest, _ := strings.Cut(l, `"request_id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	if id(lines[0]) != id(lines[1]) || len(id(lines[0])) != 16 {
		t.Errorf("two ids for one call: %q", lines)
	}
	if strings.Contains(log.String(), "canary") {
		t.Errorf("the log holds arguments or rows: %s", log)
	}
}

// calls makes a server of one tool that does what answer does, and a session
// over a pipe, inside a bubble.
func bubble(t *testing.T, log *buffer, answer Handler) (*rawmcp.Client, func()) {
	cfg, l := config(t, &appliance{})
	_ = l
	cfg.Log = newLogger(log)
	cfg.Extras = []Extra{{Name: "probe", Desc: "d", Class: Read, Input: []byte(`{"type":"object"}`), Answer: answer}}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	seat, err := s.pool.Admit(1)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.carry(ctx, ours, seat, rpc.Peer{UID: 1})
	}()
	c := rawmcp.New(theirs, theirs)
	if _, err := c.Initialize("2025-06-18"); err != nil {
		t.Fatal(err)
	}
	return c, func() { _ = c.Close(); cancel(); <-done; cfg.Suite.Close() }
}

func TestACallEndsAfter45Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &buffer{}
		c, stop := bubble(t, log, func(ctx context.Context, _ pfrest.Caller, _ []byte, _ func(int)) (Answer, error) {
			<-ctx.Done()
			return Answer{}, errs.Wrap(ctx.Err(), errs.Internal, "whatever")
		})
		defer stop()
		began := time.Now()
		res := ask(t, c, "probe", nil)
		if w := time.Since(began); w != 45*time.Second || !res.IsError {
			t.Errorf("after %v: %+v", w, res)
		}
		contains(t, res.Text(), "within 45 s", "error class: timeout")
		contains(t, log.String(), `"outcome":"failed"`, `"class":"timeout"`, `"code":"expired"`)
	})
}

func TestACancelledCallStopsAndIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan error, 1)
		log := &buffer{}
		c, stop := bubble(t, log, func(ctx context.Context, _ pfrest.Caller, _ []byte, _ func(int)) (Answer, error) {
			<-ctx.Done()
			stopped <- ctx.Err()
			return Answer{}, ctx.Err()
		})
		defer stop()
		_ = c.Send(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"probe"}}`)
		synctest.Wait()
		_ = c.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}`)
		synctest.Wait()
		if err := <-stopped; err == nil {
			t.Error("the call was not stopped")
		}
		if _, err := c.Call("ping", nil); err != nil { // the next line is this answer
			t.Error(err)
		}
		contains(t, log.String(), `"class":"cancelled"`)
	})
}

func TestTheEndOfASessionStopsItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		c, stop := bubble(t, &buffer{}, func(ctx context.Context, _ pfrest.Caller, _ []byte, _ func(int)) (Answer, error) {
			<-ctx.Done()
			close(stopped)
			return Answer{}, ctx.Err()
		})
		_ = c.Send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"probe"}}`)
		synctest.Wait()
		stop()
		<-stopped
	})
}

func TestProgressGoesToThoseWhoAskedForItUnderTheirToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := bubble(t, &buffer{}, func(_ context.Context, _ pfrest.Caller, _ []byte, progress func(int)) (Answer, error) {
			for i := range 10 {
				if progress != nil {
					progress(i * 250)
				}
				time.Sleep(progressEvery / 2)
			}
			return Answer{JSON: []byte(`{"n":9007199254740993}`)}, nil
		})
		defer stop()
		res := ask(t, c, "probe", nil)
		if len(c.Notes()) != 0 || string(res.Structured) != `{"n":9007199254740993}` {
			t.Errorf("%q %s", c.Notes(), res.Structured)
		}
		if _, err := c.Call("tools/call", json.RawMessage(`{"name":"probe","_meta":{"progressToken":"t\u006fken"}}`)); err != nil {
			t.Fatal(err)
		}
		notes := c.Notes()
		if len(notes) != 5 {
			t.Fatalf("%q", notes)
		}
		contains(t, notes[1], `"method":"notifications/progress"`, `"progressToken":"t`, `"progress":500`)
	})
}

func TestWhatNobodyExpectedIsOneFixedTextWithTheRequestID(t *testing.T) {
	for _, answer := range []Handler{
		func(context.Context, pfrest.Caller, []byte, func(int)) (Answer, error) {
			return Answer{}, fmt.Errorf("secret text")
		},
		func(context.Context, pfrest.Caller, []byte, func(int)) (Answer, error) { panic("secret text") },
	} {
		synctest.Test(t, func(t *testing.T) {
			log := &buffer{}
			c, stop := bubble(t, log, answer)
			defer stop()
			res := ask(t, c, "probe", nil)
			if !res.IsError || strings.Contains(res.Text()+log.String(), "secret") {
				t.Errorf("%s %s", res.Text(), log)
			}
			id := res.Text()[strings.LastIndex(res.Text(), " ")+1:]
			contains(t, res.Text(), "internal error")
			contains(t, log.String(), `"request_id":"`+id+`"`, `"level":"ERROR"`)
			if _, err := c.Call("ping", nil); err != nil {
				t.Errorf("the session is over: %v", err)
			}
		})
	}
}

func TestAStoppingServerLetsCallsEnd(t *testing.T) {
	began := make(chan struct{})
	release := make(chan struct{})
	cfg, _ := config(t, &appliance{})
	cfg.Extras = []Extra{{Name: "probe", Desc: "d", Input: []byte(`{"type":"object"}`), Answer: func(context.Context, pfrest.Caller, []byte, func(int)) (Answer, error) {
		close(began)
		<-release
		return Answer{JSON: []byte(`{}`)}, nil
	}}}
	r := start(t, cfg)
	c, idle := r.client(t, ""), r.client(t, "")
	done := make(chan rawmcp.ToolResult, 1)
	go func() {
		res, _ := c.Tool("probe", nil)
		done <- res
	}()
	<-began
	go r.stop()
	if _, err := idle.Line(); err == nil { // an idle session ends at once
		t.Error("an idle session goes on")
	}
	close(release)
	if res := <-done; string(res.Structured) != "{}" {
		t.Errorf("the call was lost: %+v", res)
	}
	r.stop()
}

func TestSixtyFourSessionsOfAUidAndNoMore(t *testing.T) {
	cfg, _ := config(t, &appliance{})
	r := start(t, cfg)
	for range session.MaxPerUID {
		_ = r.client(t, "")
	}
	c, err := rawmcp.Dial(r.socket)
	if err != nil {
		t.Fatal(err)
	}
	line, err := c.Line()
	if err != nil {
		t.Fatal(err)
	}
	contains(t, line, session.ClassSessions, `"session":"refused"`)
}

var _ Reader = (*readtool.Reader)(nil)

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/execfront"
	"pfsensemcp/test/rawmcp"
)

// wish is what the tests ask for.
var wish = map[string]string{"alias_name": "web_servers", "description": "DMZ web servers"}

// writing is a server of the profile write_protected beside a pretend executord.
type writing struct {
	*execfront.Front
	cfg    Config
	log    *buffer
	socket string // executord's
}

// newWriting starts the executord unless it shall be away.
func newWriting(t *testing.T, a *appliance, away bool) *writing {
	t.Helper()
	dir := shortDir(t)
	w := &writing{Front: &execfront.Front{}, socket: filepath.Join(dir, "exec", "exec.sock")}
	if err := os.Mkdir(filepath.Dir(w.socket), 0o700); err != nil {
		t.Fatal(err)
	}
	w.Report(execfront.Ready())
	w.cfg, w.log = configAt(t, a, dir)
	w.cfg.Profile = catalog.ProfileWriteProtected
	if !away {
		w.begin(t)
	}
	return w
}

func (w *writing) begin(t *testing.T) { w.Start(t, w.socket, uint32(os.Geteuid())) }

// lists says whether the tool is in the list that a session is served.
func lists(t *testing.T, c *rawmcp.Client) bool {
	t.Helper()
	names, err := c.Tools()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 || !slices.Contains(names, catalog.InfoTool) && !slices.Contains(names, catalog.WriteTool) {
		t.Fatalf("the list is %v", names)
	}
	return slices.Contains(names, catalog.WriteTool)
}

// state calls the tool; the whole answer must be one word, twice.
func state(t *testing.T, c *rawmcp.Client, args any) string {
	t.Helper()
	r := ask(t, c, catalog.WriteTool, args)
	var object map[string]string
	if err := json.Unmarshal(r.Structured, &object); err != nil || r.IsError || len(object) != 1 || len(r.Content) != 1 || r.Text() != string(r.Structured) {
		t.Fatalf("%+v", r)
	}
	return object["state"]
}

// notes counts the news of a changed list that came.
func notes(c *rawmcp.Client) (n int) {
	for _, l := range c.Notes() {
		if strings.Contains(l, "notifications/tools/list_changed") {
			n++
		}
	}
	return n
}

// eventually asks until it holds; every question reads the notifications that
// have come.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestG1TheToolIsAbsentUnlessAllThreeConditionsHold(t *testing.T) {
	other := execfront.Ready()
	other.EndpointSymbol = "FIREWALL_RULE"
	method := execfront.Ready()
	method.HttpMethod = "PUT"
	unit := execfront.Ready()
	unit.Unit = "set_firewall_rule_v1"
	for _, tt := range []struct {
		name   string
		set    func(*Config)
		report *executorpb.GetWriteStatusResponse
		away   bool
		listed bool
		gone   string // what a call is told
	}{
		{"A, B and C", func(*Config) {}, execfront.Ready(), false, true, ""},
		{"an allow-list that names it", func(c *Config) { c.Allow = []string{catalog.InfoTool, catalog.WriteTool} }, execfront.Ready(), false, true, ""},
		{"an allow-list of it alone", func(c *Config) { c.Allow = []string{catalog.WriteTool} }, execfront.Ready(), false, true, ""},
		{"its toolset", func(c *Config) { c.Toolsets = []string{"firewall"} }, execfront.Ready(), false, true, ""},
		{"no A: the default profile", func(c *Config) { c.Profile = "auditor" }, execfront.Ready(), false, false, "leave this tool out"},
		{"no A: an allow-list cannot add", func(c *Config) {
			c.Profile, c.Allow = "auditor", []string{catalog.InfoTool, catalog.WriteTool}
		}, execfront.Ready(), false, false, "leave this tool out"},
		{"not in the allow-list", func(c *Config) { c.Allow = []string{catalog.InfoTool} }, execfront.Ready(), false, false, "leave this tool out"},
		{"not in the toolset", func(c *Config) { c.Toolsets = []string{"dns"} }, execfront.Ready(), false, false, "leave this tool out"},
		{"no B: another endpoint", func(*Config) {}, other, false, false, "not offered now"},
		{"no B: another method", func(*Config) {}, method, false, false, "not offered now"},
		{"no B: another unit", func(*Config) {}, unit, false, false, "not offered now"},
		{"no C: write off", func(*Config) {}, nil, false, false, "not offered now"},
		{"no C: executord away", func(*Config) {}, nil, true, false, "not offered now"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWriting(t, &appliance{}, tt.away)
			w.Report(tt.report)
			w.Say(executorpb.WriteState_WRITE_STATE_REQUESTED)
			tt.set(&w.cfg)
			r := start(t, w.cfg)
			for _, v := range versions() {
				c := r.client(t, v)
				if got := lists(t, c); got != tt.listed {
					t.Errorf("%s: listed %t", v, got)
				}
				if tt.listed {
					if s := state(t, c, wish); s != "requested" {
						t.Errorf("%s: %s", v, s)
					}
					continue
				}
				_, err := c.Tool(catalog.WriteTool, wish)
				if err == nil || !strings.HasPrefix(err.Error(), "-32602") || !strings.Contains(err.Error(), tt.gone) {
					t.Errorf("%s: %v", v, err)
				}
			}
			if asked := len(w.Asked()); (asked > 0) != tt.listed {
				t.Errorf("executord was asked %d times", asked)
			}
			if w.cfg.Profile == "auditor" && w.Looks() != 0 {
				t.Error("a server that can have no write tool asked for one")
			}
		})
	}
}

func TestWithoutTheProfileNothingIsPromisedAndWithItAChangeIs(t *testing.T) {
	for _, v := range versions() {
		for profile, want := range map[string]bool{"auditor": false, "engineer": false, "write_protected": true} {
			w := newWriting(t, &appliance{}, false)
			w.cfg.Profile = profile
			c, err := rawmcp.Dial(start(t, w.cfg).socket)
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
			if got := strings.Contains(string(hello), `"listChanged":true`); got != want {
				t.Errorf("%s %s: %s", v, profile, hello)
			}
			if got := strings.Contains(string(hello), "READ, and one tool that asks people"); got != want {
				t.Errorf("%s %s: %s", v, profile, hello)
			}
		}
	}
}

func TestTheServedEntryIsTheContractsAndSmall(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	c := start(t, w.cfg).client(t, "")
	r, err := c.Call("tools/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(r.Result, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 98 {
		t.Fatalf("%d tools", len(list.Tools))
	}
	entry := string(list.Tools[97])
	contains(
		t, entry, `"name":"set_firewall_alias_description_v1"`,
		`"inputSchema":{"type":"object","properties":{"alias_name":{"type":"string"},"description":{"type":"string"}},"required":["alias_name","description"],"additionalProperties":false}`,
		`"enum":["requested","awaiting_confirmation","verified","reconciliation_required","refused","reverted"]`,
		`"destructiveHint":false`, `"idempotentHint":true`, `"openWorldHint":true`,
	)
	// A hint that is left out is false to the SDK, and to its reader "not read only".
	var hints struct {
		Annotations map[string]bool
	}
	if err := json.Unmarshal(list.Tools[97], &hints); err != nil || hints.Annotations["readOnlyHint"] || len(hints.Annotations) != 4 {
		t.Errorf("%v %v", hints, err)
	}
	if len(entry) > 1600 {
		t.Errorf("the entry has %d bytes", len(entry))
	}
}

// life is what executord would say of one wish at each stage of its life, and
// what the model is told.
var life = []struct {
	stage string
	says  executorpb.WriteState
	state string
}{
	{"opened", executorpb.WriteState_WRITE_STATE_REQUESTED, "requested"},
	{"previewed", executorpb.WriteState_WRITE_STATE_REQUESTED, "requested"},
	{"authorized", executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION, "awaiting_confirmation"},
	{"executing", executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION, "awaiting_confirmation"},
	{"verified", executorpb.WriteState_WRITE_STATE_VERIFIED, "verified"},
	{"gone again", executorpb.WriteState_WRITE_STATE_REVERTED, "reverted"},
	{"asked anew", executorpb.WriteState_WRITE_STATE_REQUESTED, "requested"},
	{"expired", executorpb.WriteState_WRITE_STATE_REFUSED, "refused"},
	{"of unknown outcome", executorpb.WriteState_WRITE_STATE_RECONCILIATION_REQUIRED, "reconciliation_required"},
	{"of a later executord", executorpb.WriteState(99), "refused"},
	{"of a broken one", executorpb.WriteState_WRITE_STATE_UNSPECIFIED, "refused"},
}

func TestG3APollSaysTheStageAndAsksForNothingElse(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	r := start(t, w.cfg)
	for _, v := range versions() {
		c := r.client(t, v)
		before := len(w.Asked())
		for _, st := range life {
			w.Say(st.says)
			if got := state(t, c, wish); got != st.state {
				t.Errorf("%s, %s: %s", v, st.stage, got)
			}
		}
		w.Report(nil) // quarantine
		if got := state(t, c, wish); got != "refused" {
			t.Errorf("%s, in quarantine: %s", v, got)
		}
		w.Report(execfront.Ready())
		asked := w.Asked()[before:]
		if len(asked) != len(life) {
			t.Errorf("%s: executord was asked %d times", v, len(asked))
		}
		for _, q := range asked {
			if q.GetAliasName() != wish["alias_name"] || q.GetDescription() != wish["description"] || q.GetCallerUid() != uint32(os.Geteuid()) {
				t.Errorf("%s: asked %v", v, q)
			}
		}
	}
}

func TestG8WhatIsAskedReachesExecutordAsItWasWritten(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	c := start(t, w.cfg).client(t, "")
	texts := []string{"a\u202eb", "\x01", strings.Repeat("x", 1025), "\U000e0041\u00ad", "e\u0301"}
	for _, text := range texts {
		if got := state(t, c, map[string]string{"alias_name": "web", "description": text}); got != "refused" {
			t.Errorf("%q: %s", text, got)
		}
	}
	for i, q := range w.Asked() {
		if q.GetDescription() != texts[i] {
			t.Errorf("%q became %q", texts[i], q.GetDescription())
		}
	}
	// What cannot be a text is not passed on, and is refused in the same words.
	if err := c.Send(`{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"` + catalog.WriteTool + `","arguments":{"alias_name":"web","description":"` + strings.Repeat("y", 5000) + `"}}}`); err != nil {
		t.Fatal(err)
	}
	line, err := c.Line()
	if err != nil || !strings.Contains(line, `"structuredContent":{"state":"refused"}`) {
		t.Errorf("%s %v", line, err)
	}
	if len(w.Asked()) != len(texts) {
		t.Errorf("executord was asked %d times", len(w.Asked()))
	}
}

func TestArgumentsOfAnotherTypeAreAProtocolErrorAndNothingIsAsked(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	r := start(t, w.cfg)
	for _, v := range versions() {
		c := r.client(t, v)
		for _, args := range []any{
			map[string]any{},
			map[string]any{"alias_name": "x"},
			map[string]any{"alias_name": "x", "description": 1},
			map[string]any{"alias_name": "x", "description": "y", "apply": true},
			map[string]any{"alias_name": nil, "description": "y"},
			[]string{"x", "y"},
			"x", json.RawMessage("null"),
		} {
			_, err := c.Call("tools/call", map[string]any{"name": catalog.WriteTool, "arguments": args})
			if err == nil || !strings.HasPrefix(err.Error(), "-32602") {
				t.Errorf("%s %v: %v", v, args, err)
			}
		}
		if _, err := c.Call("tools/call", map[string]any{"name": catalog.WriteTool}); err == nil || !strings.HasPrefix(err.Error(), "-32602") {
			t.Errorf("%s, no arguments: %v", v, err)
		}
	}
	if len(w.Asked()) != 0 {
		t.Errorf("executord was asked: %v", w.Asked())
	}
	contains(t, w.log.String(), `"outcome":"failed"`, `"class":"request_validation"`)
}

func TestTheAuditOfACallHasItsStateAndNoArgument(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	w.Say(executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION)
	c := start(t, w.cfg).client(t, "")
	state(t, c, map[string]string{"alias_name": "canary_alias", "description": "canary text"})
	var lines []string
	for l := range strings.Lines(w.log.String()) {
		if strings.Contains(l, `"audit":true`) {
			lines = append(lines, l)
		}
	}
	if len(lines) != 2 {
		t.Fatalf("%d audit lines: %q", len(lines), lines)
	}
	contains(t, lines[0], `"outcome":"invoked"`)
	contains(t, lines[1], `"tool":"set_firewall_alias_description_v1"`, `"outcome":"awaiting_confirmation"`, fmt.Sprintf(`"caller_uid":%d`, os.Geteuid()))
	if strings.Contains(w.log.String(), "canary") {
		t.Errorf("the log holds arguments: %s", w.log.String())
	}
}

func TestExecutordKilledAndBackInTheMiddleOfASession(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	w.Say(executorpb.WriteState_WRITE_STATE_REQUESTED)
	r := startBound(t, w.cfg, time.Minute, time.Second) // every call of a killed one waits so long
	for _, v := range []string{"", rawmcp.ModernVersion} {
		c, other := r.client(t, v), r.client(t, "")
		if !lists(t, c) {
			t.Fatalf("%s: not offered", v)
		}
		eventually(t, v+": it is asked", func() bool { return state(t, c, wish) == "requested" })
		n := notes(other)
		w.Stop()
		// Not listed any more, and callable all the same: what was seen is refused.
		if got := state(t, c, wish); got != "refused" {
			t.Errorf("%s: killed, and the tool says %s", v, got)
		}
		if lists(t, c) {
			t.Errorf("%s: still listed", v)
		}
		if got := state(t, c, wish); got != "refused" {
			t.Errorf("%s: killed, and the tool says %s", v, got)
		}
		eventually(t, v+": another session hears of it", func() bool { ask(t, other, catalog.InfoTool, nil); return notes(other) > n })
		// A session that begins now has no such tool.
		late := r.client(t, v)
		if _, err := late.Tool(catalog.WriteTool, wish); err == nil {
			t.Errorf("%s: a late session may call", v)
		}
		n = notes(other)
		w.begin(t)
		eventually(t, v+": it is back, and is asked", func() bool { return state(t, c, wish) == "requested" })
		if !lists(t, c) || !lists(t, late) {
			t.Errorf("%s: back, and not offered", v)
		}
		eventually(t, v+": the late session asks it", func() bool { return state(t, late, wish) == "requested" })
		eventually(t, v+": another session hears that it is back", func() bool { ask(t, other, catalog.InfoTool, nil); return notes(other) > n })
	}
}

func TestACallWaitsForAnExecutordThatStartsAgain(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	w.Say(executorpb.WriteState_WRITE_STATE_REQUESTED)
	c := start(t, w.cfg).client(t, "")
	if !lists(t, c) {
		t.Fatal("not offered")
	}
	w.Stop()
	got := make(chan string)
	go func() {
		r, err := c.Tool(catalog.WriteTool, wish)
		got <- fmt.Sprint(r.Text(), err)
	}()
	eventually(t, "the call begins", func() bool { return strings.Contains(w.log.String(), `"outcome":"invoked"`) })
	w.begin(t)
	if s := <-got; !strings.Contains(s, `{"state":"requested"}`) {
		t.Error(s)
	}
}

func TestAClientOfTheNewestEraHearsOfAChangeWhenItSubscribed(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	r := start(t, w.cfg)
	c, deaf := r.client(t, rawmcp.ModernVersion), r.client(t, rawmcp.ModernVersion)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + rawmcp.ModernVersion + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}`
	if err := c.Send(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`); err != nil {
		t.Fatal(err)
	}
	line, err := c.Line()
	if err != nil || !strings.Contains(line, "notifications/subscriptions/acknowledged") || !strings.Contains(line, `"toolsListChanged":true`) {
		t.Fatalf("%s %v", line, err)
	}
	w.Report(nil)
	if lists(t, deaf) {
		t.Error("listed")
	}
	line, err = c.Line()
	if err != nil || !strings.Contains(line, "notifications/tools/list_changed") {
		t.Fatalf("%s %v", line, err)
	}
	ask(t, deaf, catalog.InfoTool, nil)
	if n := notes(deaf); n != 0 {
		t.Errorf("%d notifications to one who did not subscribe", n)
	}
}

func TestAnExecutordThatHangsDelaysASessionLittleAndAReadNotAtAll(t *testing.T) {
	a := &appliance{answer: func(context.Context, pfrest.Endpoint, pfrest.Page) (string, error) {
		return `{"version":"2.8.1-RELEASE","base":"2.8.1","patch":"0","buildtime":"x"}`, nil
	}}
	w := newWriting(t, a, false)
	patient := startBound(t, w.cfg, 10*time.Second, 10*time.Second) // a read that looked would be seen here
	var sessions []*rawmcp.Client
	for _, v := range versions() {
		sessions = append(sessions, patient.client(t, v))
	}
	goOn := w.Hang()
	defer goOn()
	before := w.Looks()
	for i, c := range sessions {
		for range 20 {
			if res := ask(t, c, "pfsense_get_system_version", nil); res.IsError {
				t.Fatal(res.Text())
			}
		}
		if n := w.Looks() - before; n != 0 {
			t.Errorf("%s: executord was looked at %d times for reads", versions()[i], n)
		}
	}
	// How long a look takes at most is tested where it is bounded; here, that a
	// session waits for no more.
	r := startBound(t, w.cfg, 10*time.Millisecond, 10*time.Millisecond)
	for _, v := range versions() {
		if lists(t, r.client(t, v)) {
			t.Errorf("%s: listed", v)
		}
	}
}

// connect opens a session as another uid than this process has.
func connect(t *testing.T, s *Server, uid uint32) *rawmcp.Client {
	t.Helper()
	seat, err := s.pool.Admit(uid)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.carry(context.Background(), ours, seat, rpc.Peer{UID: uid})
	}()
	c := rawmcp.New(theirs, theirs)
	t.Cleanup(func() { _ = c.Close(); <-done })
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReview18EachSessionsUidGoesAlongAsMcpdsClaim(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	w.Answer(func(q *executorpb.RequestAliasDescriptionRequest) (executorpb.WriteState, error) {
		if q.GetCallerUid() == 1001 {
			return executorpb.WriteState_WRITE_STATE_REQUESTED, nil
		}
		return executorpb.WriteState_WRITE_STATE_REFUSED, nil // its quota is full
	})
	s, err := New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	bound(s, time.Minute, time.Minute)
	if !s.look(t.Context()) { // as Serve begins
		t.Fatal("not offered")
	}
	one, two := connect(t, s, 1001), connect(t, s, 1002)
	var both sync.WaitGroup
	for _, x := range []struct {
		c    *rawmcp.Client
		want string
	}{{one, "requested"}, {two, "refused"}} {
		both.Go(func() {
			for range 20 {
				if r, err := x.c.Tool(catalog.WriteTool, wish); err != nil || r.Text() != `{"state":"`+x.want+`"}` {
					t.Errorf("%v %+v", err, r)
				}
			}
		})
	}
	both.Wait()
	seen := map[uint32]int{}
	for _, q := range w.Asked() {
		seen[q.GetCallerUid()]++
	}
	if len(seen) != 2 || seen[1001] != 20 || seen[1002] != 20 {
		t.Errorf("claims %v", seen)
	}
}

func TestG7AFloodOfOneAccountLeavesReadsAndOthersAlone(t *testing.T) {
	a := &appliance{answer: func(context.Context, pfrest.Endpoint, pfrest.Page) (string, error) {
		return `{"version":"2.8.1-RELEASE","base":"2.8.1","patch":"0","buildtime":"x"}`, nil
	}}
	w := newWriting(t, a, false)
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	var mu sync.Mutex
	inside := 0
	w.Answer(func(q *executorpb.RequestAliasDescriptionRequest) (executorpb.WriteState, error) {
		if q.GetCallerUid() == 1001 {
			mu.Lock()
			inside++
			mu.Unlock()
			<-hold
		}
		return executorpb.WriteState_WRITE_STATE_VERIFIED, nil
	})
	s, err := New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	bound(s, time.Minute, time.Minute)
	if !s.look(t.Context()) { // as Serve begins
		t.Fatal("not offered")
	}
	other := connect(t, s, 1002)
	var flood []*rawmcp.Client
	for range 6 {
		c := connect(t, s, 1001)
		flood = append(flood, c)
		for i := range 8 {
			args, err := json.Marshal(wish)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"f%d","method":"tools/call","params":{"name":%q,"arguments":%s}}`, i, catalog.WriteTool, args)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(release) // before the sessions end, whatever failed
	eventually(t, "the flood is with executord", func() bool { mu.Lock(); defer mu.Unlock(); return inside == 4 })
	if got := state(t, other, wish); got != "verified" {
		t.Errorf("another account: %s", got)
	}
	if res := ask(t, other, "pfsense_get_system_version", nil); res.IsError {
		t.Error(res.Text())
	}
	mu.Lock()
	n := inside
	mu.Unlock()
	if n != 4 {
		t.Errorf("%d of one account are with executord at once", n)
	}
	release()
	for _, c := range flood {
		for range 8 {
			if line, err := c.Line(); err != nil || !strings.Contains(line, `{"state":"verified"}`) {
				t.Errorf("%s %v", line, err)
			}
		}
	}
}

func TestInfoCountsTheWriteToolWhenItIsOffered(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	c := start(t, w.cfg).client(t, "")
	get := func() (o serverInfo, sealed *bool) {
		t.Helper()
		var got struct{ Object serverInfo }
		if err := json.Unmarshal(ask(t, c, catalog.InfoTool, nil).Structured, &got); err != nil {
			t.Fatal(err)
		}
		for _, d := range got.Object.Daemons {
			if d.Name == "executord" {
				sealed = d.Sealed
			}
		}
		return got.Object, sealed
	}
	o, sealed := get()
	if o.Tools != 98 || o.ReadTools != 95 || o.GuidanceTools != 2 || o.WriteTools != 1 || o.WriteEndpoints != 1 ||
		!slices.Equal(o.WriteCapabilities, []string{catalog.AliasWrite}) || sealed == nil || *sealed {
		t.Errorf("%+v %v", o, sealed)
	}
	w.Report(nil)
	if lists(t, c) {
		t.Error("listed")
	}
	o, sealed = get()
	if o.Tools != 97 || o.WriteTools != 0 || o.WriteEndpoints != 0 || len(o.WriteCapabilities) != 0 || sealed == nil || !*sealed {
		t.Errorf("%+v %v", o, sealed)
	}
}

func TestReview28ResourcesAndCompletionsHaveTheToolWhenItIsOffered(t *testing.T) {
	w := newWriting(t, &appliance{}, false)
	c := start(t, w.cfg).client(t, "")
	prompts := promptNames(t, c)
	const uri = "pfsense://tools/" + catalog.WriteTool
	see := func() (listed, paged, suggested bool) {
		t.Helper()
		listed = strings.Contains(page(t, c, "pfsense://tools"), catalog.WriteTool)
		_, err := c.Call("resources/read", map[string]any{"uri": uri})
		suggested = slices.Contains(suggestions(t, c, "pfsense://tools/{tool}", "tool", "set_"), catalog.WriteTool)
		return listed, err == nil, suggested
	}
	if l, p, s := see(); !l || !p || !s {
		t.Errorf("offered: in the list %t, a page %t, suggested %t", l, p, s)
	}
	contains(t, page(t, c, uri), "off-host approval", `"alias_name"`)
	w.Report(nil)
	if lists(t, c) {
		t.Error("listed")
	}
	if l, p, s := see(); l || p || s {
		t.Errorf("not offered: in the list %t, a page %t, suggested %t", l, p, s)
	}
	if got := promptNames(t, c); !slices.Equal(got, prompts) {
		t.Errorf("prompts %v and %v", got, prompts)
	}
	for _, p := range catalog.Prompts() {
		for _, st := range p.Steps {
			if st.Tool == catalog.WriteTool {
				t.Errorf("the plan %s asks for a change", p.Name)
			}
		}
	}
}

package canary

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/programs"
	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

func TestMain(m *testing.M) {
	code := m.Run()
	suite.Cleanup()
	os.Exit(code)
}

// rig is a suite whose appliance plants tokens.
type rig struct {
	*suite.Suite
	*planter
	client *rawmcp.Client
	lines  []string // everything that came back
	calls  int
}

func start(t *testing.T) *rig {
	t.Helper()
	st := fakepf.DefaultSettings()
	st.ExposeSensitive = true
	p, err := newPlanter(fakepf.Start(t, fakepf.Options{Settings: &st, LogLines: 40}))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(p)
	srv.Config.ConnState = p.watch
	srv.StartTLS()
	t.Cleanup(srv.Close)
	r := &rig{planter: p, Suite: suite.New(t, suite.Options{
		URL: srv.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}),
		Env:      []string{"GODEBUG=asyncpreemptoff=1"},
		Settings: "toolsets = [\"all\", \"extended\"]\nlog_level = \"debug\"\n",
	})}
	r.client = r.Shim()
	r.ask(t, "initialize", map[string]any{"protocolVersion": rawmcp.HandshakeVersions[0], "capabilities": map[string]any{}, "clientInfo": map[string]string{"name": "x", "version": "1"}})
	if err := r.client.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		t.Fatal(err)
	}
	return r
}

// ask makes a call and keeps every byte of its answer.
func (r *rig) ask(t *testing.T, method string, params any) rawmcp.Reply {
	t.Helper()
	reply, err := r.client.Call(method, params)
	if reply.Line == "" && err != nil {
		t.Fatal(err)
	}
	r.calls++
	r.lines = append(r.lines, reply.Line)
	return reply
}

// every calls every tool with each of its flags: none, the one that opens the
// gates, its widest page, and fields and where on a field that it shows. It
// returns how many answered.
func (r *rig) every(t *testing.T, flags ...bool) (answered int) {
	t.Helper()
	for _, tool := range catalog.Tools() {
		for _, args := range argsOf(tool, flags) {
			reply := r.ask(t, "tools/call", map[string]any{"name": tool.Name, "arguments": args, "_meta": map[string]any{"progressToken": 7}})
			var res rawmcp.ToolResult
			if err := json.Unmarshal(reply.Result, &res); err != nil {
				t.Fatalf("%s %v: %s", tool.Name, args, reply.Line)
			}
			if !res.IsError {
				answered++
			}
		}
	}
	return answered
}

// argsOf returns the arguments a tool is called with.
func argsOf(tool *catalog.Tool, flags []bool) (out []map[string]any) {
	if tool.Path == "" {
		return []map[string]any{{}}
	}
	for _, open := range flags {
		if open && !catalog.HasGate(tool.Model) {
			continue
		}
		with := func(more map[string]any) {
			if open {
				more["include_identifying_metadata"] = true
			}
			out = append(out, more)
		}
		with(map[string]any{})
		if !tool.List {
			continue
		}
		with(map[string]any{"limit": tool.MaxLimit, "offset": 1})
		for _, f := range tool.Model.Fields {
			if f.Gate == catalog.Shown && f.Kind != catalog.Object {
				with(map[string]any{"limit": 3, "fields": []string{f.Name}, "where": []string{f.Name + " != null"}})
				break
			}
		}
	}
	return out
}

// leaks returns where tokens were found in what came back and in the logs of
// all daemons.
func (r *rig) leaks() []string {
	logs := map[string]string{}
	for _, name := range programs.Names() {
		logs[name] = r.Proc(name).Output()
	}
	return search(r.find, append(r.client.Notes(), r.lines...), logs)
}

// search looks for tokens in lines that a client got and in what daemons logged.
func search(find func(string) (string, bool), lines []string, logs map[string]string) (bad []string) {
	look := func(what, text string) {
		for _, tok := range slices.Compact(token.FindAllString(text, -1)) {
			place, _ := find(tok)
			bad = append(bad, fmt.Sprintf("%s holds what was put into %s: %s", what, place, around(text, tok)))
		}
	}
	for _, l := range lines {
		look("an answer", l)
	}
	for name, text := range logs {
		for l := range strings.Lines(text) {
			what := "the log of " + name
			if strings.Contains(l, `"audit":true`) {
				what = "an audit line of " + name
			}
			look(what, l)
		}
	}
	return bad
}

func around(s, what string) string {
	i := strings.Index(s, what)
	return s[max(0, i-60):min(len(s), i+40)]
}

// report fails the test for each leak, the first few in full.
func report(t *testing.T, bad []string) {
	t.Helper()
	for i, b := range bad {
		if i == 20 {
			t.Errorf("and %d more", len(bad)-i)
			return
		}
		t.Error(b)
	}
}

// TestNoSecretGetsOut plants, calls everything, and searches everything.
func TestNoSecretGetsOut(t *testing.T) {
	r := start(t)
	tools := len(catalog.Tools())
	for _, x := range []struct {
		name  string
		mode  mode
		flags []bool
	}{{"unmodelled", unmodelled, []bool{false, true}}, {"wrong types", wrongTypes, []bool{false, true}}, {"gated", gated, []bool{false}}} {
		r.turn(x.mode, 0)
		before := r.calls
		if n := r.every(t, x.flags...); n < r.calls-before-1 {
			t.Errorf("%s: only %d of %d calls were answered", x.name, n, r.calls-before)
		}
	}
	for i := range failures {
		r.turn(failing, i)
		if n := r.every(t, false); n > 1+tools/10 { // pfsense_mcp_info asks nobody
			t.Errorf("%s: %d calls were answered", failures[i].name, n)
		}
	}
	into := r.planted()
	everything := 0
	for _, n := range into {
		everything += n
	}
	t.Logf("%d calls of %d tools; %d texts planted in %d places", r.calls, tools, everything, len(into))
	for _, missing := range unplanted(into) {
		t.Errorf("nothing was planted in %s: the search proves nothing about it", missing)
	}
	report(t, r.leaks())
	t.Run("core image", func(t *testing.T) { r.searchImage(t) })
}

// unplanted returns the fields left out on purpose that no answer carried.
func unplanted(into map[string]int) (missing []string) {
	var models func(*catalog.Model)
	models = func(m *catalog.Model) {
		for _, x := range m.Excluded {
			if into[m.Name+"."+x.Field] == 0 {
				missing = append(missing, m.Name+"."+x.Field)
			}
		}
		for i := range m.Fields {
			if m.Fields[i].Kind == catalog.Object {
				models(m.Fields[i].Model)
			}
		}
	}
	for _, tool := range catalog.Tools() {
		models(tool.Model)
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// searchImage looks through what a core image of mcpd would hold now, after the
// calls. The kernel refuses to make one (no core limit, not dumpable), so the
// memory is read as root reads it. Every planted text went through that memory:
// none may still lie there. The exception is a connection that has ended, whose
// last answer crypto/tls and net/http keep until the memory is used again.
//
// mcpd runs here without the signals by which Go's runtime interrupts a thread
// (see start): such a signal stores the processor's registers, and with them the
// last block that AES decrypted, where no program can wipe them. In the field a
// core image may hold some hundred bytes of an answer for that reason.
func (r *rig) searchImage(t *testing.T) {
	pid := r.Proc("mcpd").PID()
	if limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid)); err != nil || !noCore.Match(limits) {
		t.Errorf("mcpd may leave a core image: %v", err)
	}
	c, err := look(pid, fakepf.ReadKey)
	if errors.Is(err, os.ErrPermission) {
		t.Skipf("skipped: mcpd is not dumpable, and reading its memory needs root with CAP_SYS_PTRACE: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !c.control {
		t.Fatal("not even the API key, which mcpd needs, was found: the search is blind")
	}
	ended := 0
	for tok, n := range c.tokens {
		what, gone := r.find(tok)
		if gone {
			ended++
			continue
		}
		t.Errorf("what was put into %s is in memory %d times", what, n)
	}
	t.Logf("%d MB of memory were searched; left are %d texts of connections that ended", c.bytes>>20, ended)
}

var noCore = regexp.MustCompile(`(?m)^Max core file size +0 +0 `)

// TestTheSearchCanFail plants in what is shown: answers and memory must hold it,
// logs and audit lines must not; and a log that did is found.
func TestTheSearchCanFail(t *testing.T) {
	r := start(t)
	r.turn(shown, 0)
	if r.every(t, false) == 0 {
		t.Fatal("nothing was answered")
	}
	bad := r.leaks()
	if len(bad) < 1000 {
		t.Errorf("only %d texts were found in answers that show them", len(bad))
	}
	for _, b := range bad {
		if !strings.HasPrefix(b, "an answer ") {
			t.Error(b)
		}
	}
	if c, err := look(r.Proc("mcpd").PID(), fakepf.ReadKey); err == nil && len(c.tokens) == 0 {
		t.Error("memory that showed hundreds of texts holds none: the search is blind")
	} else if err != nil && !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}

	find := func(string) (string, bool) { return "Thing.psk", false }
	got := search(find, []string{"fine", `{"a":"zqcanary00002aq"}`}, map[string]string{"mcpd": "{\"msg\":\"zqcanary00002bq\"}\n{\"audit\":true,\"tool\":\"zqcanary00002cq\"}\n"})
	for i, want := range []string{"an answer holds what was put into Thing.psk", "the log of mcpd holds", "an audit line of mcpd holds"} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("%q is not found: %q", want, got)
		}
	}
	if len(unplanted(map[string]int{})) < 20 {
		t.Error("fields that nothing was planted in are not missed")
	}
}

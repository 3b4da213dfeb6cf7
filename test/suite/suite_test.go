package suite

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/programs"
	"pfsensemcp/test/rawmcp"
)

// asHelper makes this binary a small program that another user runs: it tries
// to connect to the sockets of its arguments and says what it saw.
const asHelper = "SUITE_TRY_SOCKETS"

func TestMain(m *testing.M) {
	if os.Getenv(asHelper) != "" {
		for _, path := range os.Args[1:] {
			fmt.Println(filepath.Base(filepath.Dir(path)), trySocket(path))
		}
		return
	}
	code := m.Run()
	Cleanup()
	os.Exit(code)
}

// trySocket connects and waits for what the server does with a peer it does not
// admit: it closes before a byte is exchanged.
func trySocket(path string) string {
	c, err := net.Dial("unix", path)
	if err != nil {
		return "no-entry"
	}
	defer c.Close()
	if strings.HasSuffix(path, "/mcp.sock") {
		return "connected"
	}
	// A gRPC server that admits the peer sends its settings after the client's
	// preface; one that does not closes.
	_, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // either comes at once
	if n, err := c.Read(make([]byte, 64)); n == 0 || err != nil {
		return "closed"
	}
	return "served"
}

// begin is a session that has said hello.
func begin(t *testing.T, c *rawmcp.Client) {
	t.Helper()
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
}

// rowsOf calls a list tool and returns its rows.
func rowsOf(t *testing.T, c *rawmcp.Client, tool string, args any) []map[string]any {
	t.Helper()
	r, err := c.Tool(tool, args)
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError {
		t.Fatalf("%s: %s", tool, r.Text())
	}
	var list struct{ Rows []map[string]any }
	if err := json.Unmarshal(r.Structured, &list); err != nil {
		t.Fatal(err)
	}
	return list.Rows
}

func TestAClientReadsAFirewallThroughFourDaemons(t *testing.T) {
	s := New(t, Options{})
	c := s.Shim()
	begin(t, c)

	names, err := c.Tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range catalog.Tools() {
		if tool.Toolset != catalog.SetExtended && !slices.Contains(names, tool.Name) {
			t.Errorf("%s is not listed", tool.Name)
		}
	}
	if len(names) != 97 {
		t.Errorf("%d tools are listed, the contract has 95 READ and 2 guidance tools", len(names))
	}

	for _, tool := range catalog.Tools() {
		if tool.Toolset == catalog.SetExtended {
			continue
		}
		r, err := c.Tool(tool.Name, map[string]any{})
		if err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		if r.IsError {
			t.Errorf("%s: %s", tool.Name, r.Text())
		}
	}
	for _, r := range s.Appliance.Requests() {
		if r.Method != "GET" {
			t.Errorf("the appliance saw %s %s", r.Method, r.Path)
		}
		if r.Header["Content-Type"] != "" || r.Header["Authorization"] != "" {
			t.Errorf("%s carried a header it must not: %v", r.Path, r.Header)
		}
	}
	for _, d := range programs.Names() {
		if bad := s.Errors(d); len(bad) > 0 {
			t.Errorf("%s logged errors: %q", d, bad)
		}
	}
	if strings.Contains(s.Proc("mcpd").Output(), fakepf.ReadKey) {
		t.Error("mcpd logged its key")
	}
}

func TestReadsGoOnWhenTheOtherDaemonsAreKilled(t *testing.T) {
	s := New(t, Options{})
	c := s.Shim()
	begin(t, c)
	for _, name := range []string{"guidanced", "docfetchd", "executord"} {
		s.Kill(name)
	}
	for _, tool := range catalog.Tools() {
		if tool.Toolset == catalog.SetExtended {
			continue
		}
		if r, err := c.Tool(tool.Name, map[string]any{}); err != nil || r.IsError {
			t.Errorf("%s: %v %s", tool.Name, err, r.Text())
		}
	}
	r, err := c.Tool(catalog.GuidanceTool, map[string]any{"capability": "FIREWALL_READ"})
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsError || !strings.Contains(r.Text(), "guidanced") {
		t.Errorf("the guidance tool does not name the service that is missing: %s", r.Text())
	}
	// And they come back without anybody touching mcpd or the session.
	for _, name := range []string{"executord", "docfetchd", "guidanced"} {
		s.Start(name)
	}
	reachable := map[string]bool{}
	s.Proc("mcpd").Until("all daemons reachable again", func() bool {
		info, err := c.Tool(catalog.InfoTool, map[string]any{})
		if err != nil || info.IsError {
			t.Fatal(err, info.Text())
		}
		var suite struct {
			Object struct {
				Daemons []struct {
					Name      string
					Reachable bool
				}
			}
		}
		if err := json.Unmarshal(info.Structured, &suite); err != nil {
			t.Fatal(err)
		}
		clear(reachable)
		for _, d := range suite.Object.Daemons {
			reachable[d.Name] = d.Reachable
		}
		return len(reachable) == 4 && reachable["mcpd"] && reachable["guidanced"] && reachable["docfetchd"] && reachable["executord"]
	})
}

func TestASessionSurvivesARestartOfMcpd(t *testing.T) {
	s := New(t, Options{})
	c := s.Shim()
	begin(t, c)
	before := len(rowsOf(t, c, "pfsense_get_firewall_rules", map[string]any{}))
	s.Kill("mcpd")
	s.Start("mcpd")
	for deadline := time.Now().Add(rawmcp.Wait); ; {
		r, err := c.Tool("pfsense_get_firewall_rules", map[string]any{})
		if err == nil && !r.IsError {
			var list struct{ Rows []any }
			if err := json.Unmarshal(r.Structured, &list); err != nil || len(list.Rows) != before {
				t.Fatalf("%d rows before the restart, %d after (%v)", before, len(list.Rows), err)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no answer after the restart: %v %s", err, r.Text())
		}
	}
}

// That nothing waits for one that says nothing is fieldcases' to show (case 23).
func TestAnUnreachableApplianceFailsNothingButItsOwnCall(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "https://" + l.Addr().String()
	l.Close()
	s := New(t, Options{URL: url})
	c := s.Shim()
	begin(t, c)
	if _, err := c.Tools(); err != nil {
		t.Fatal(err)
	}
	r, err := c.Tool("pfsense_get_system_status", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsError || !strings.Contains(r.Text(), "class") {
		t.Errorf("an unreachable appliance is told as: %s", r.Text())
	}
}

func TestReview13G5EachUserReachesOnlyTheSocketsMeantForIt(t *testing.T) {
	if !Root() {
		t.Skip("skipped: only root can become the other users")
	}
	s := New(t, Options{})
	sockets := []string{"mcp", "mcpd-admin", "guidance", "docs", "docs-admin", "exec", "exec-admin"}
	// The matrix of the architecture. no-entry: the directory stops it. closed:
	// the server does, before a byte.
	for _, u := range []struct {
		name   string
		uid    uint32
		groups []uint32
		want   string
	}{
		{"an MCP user", programs.UIDClient, []uint32{programs.GIDClients}, "mcp connected"},
		{"an operator", programs.UIDOperator, []uint32{programs.GIDAdmin}, "mcpd-admin served,docs-admin served,exec-admin served"},
		{"mcpd", programs.UIDMcpd, []uint32{programs.GIDMcpd}, "guidance served,docs served,exec served,mcp connected,mcpd-admin closed"},
		{"guidanced", programs.UIDGuidanced, nil, "guidance closed"},
		{"docfetchd", programs.UIDDocfetchd, nil, "docs closed,docs-admin closed"},
		{"executord", programs.UIDExecutord, nil, "exec closed,exec-admin closed"},
		{"nobody", programs.UIDNobody, nil, ""},
		{
			"nobody in every group", programs.UIDNobody,
			[]uint32{programs.GIDClients, programs.GIDAdmin, programs.GIDMcpd},
			"mcp connected,mcpd-admin closed,guidance closed,docs closed,docs-admin closed,exec closed,exec-admin closed",
		},
	} {
		t.Run(u.name, func(t *testing.T) {
			var paths []string
			for _, name := range sockets {
				paths = append(paths, s.Socket(name))
			}
			p := daemontest.Start(t, daemontest.Options{
				Exe: s.helper(t), Args: paths, Env: []string{asHelper + "=1"},
				User: &syscall.Credential{Uid: u.uid, Gid: u.uid, Groups: u.groups},
			})
			if code := p.Wait(); code != 0 {
				t.Fatalf("exit code %d: %s", code, p.Output())
			}
			want := map[string]string{}
			for _, w := range strings.Split(u.want, ",") {
				if name, saw, ok := strings.Cut(w, " "); ok {
					want[name] = saw
				}
			}
			for line := range strings.Lines(p.Output()) {
				name, saw, _ := strings.Cut(strings.TrimSpace(line), " ")
				expected := want[name]
				if expected == "" {
					expected = "no-entry"
				}
				if saw != expected {
					t.Errorf("%s on %s: %s, expected %s", u.name, name, saw, expected)
				}
			}
		})
	}
}

// helper is this test binary where every user can run it.
func (s *Suite) helper(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(s.Bin, "suite-helper")
	if _, err := os.Stat(exe); err == nil {
		return exe
	}
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(exe, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func TestTheKernelHoldsEveryRunningDaemon(t *testing.T) {
	s := New(t, Options{})
	for _, name := range programs.Names() {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Proc(name).PID()))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"NoNewPrivs": "1", "Seccomp": "2"}
		if Root() {
			want["CapEff"], want["CapPrm"] = "0000000000000000", "0000000000000000"
		}
		for k, v := range want {
			if !strings.Contains(string(status), k+":\t"+v+"\n") {
				t.Errorf("%s: %s is not %s", name, k, v)
			}
		}
	}
}

func TestOneRequestIdJoinsTheHops(t *testing.T) {
	s := New(t, Options{})
	c := s.Shim()
	begin(t, c)
	if _, err := c.Tool(catalog.GuidanceTool, map[string]any{"capability": "FIREWALL_READ"}); err != nil {
		t.Fatal(err)
	}
	p := s.Proc("mcpd")
	var id string
	p.Until("an audit line", func() bool {
		for line := range strings.Lines(p.Output()) {
			_, rest, _ := strings.Cut(line, ">")
			var rec map[string]any
			if json.Unmarshal([]byte(rest), &rec) == nil && rec["audit"] == true && rec["tool"] == catalog.GuidanceTool {
				id = rec["request_id"].(string)
				return true
			}
		}
		return false
	})
	g := s.Proc("guidanced")
	g.Until("the same request id in guidanced's log", func() bool { return strings.Contains(g.Output(), id) })
}

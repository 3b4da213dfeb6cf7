package opctl

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/opctl/internal/suite"
	adminpb "pfsensemcp/proto/admin/v1"
	nodepb "pfsensemcp/proto/node/v1"
)

func run(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(context.Background(), Env{Out: &o, Err: &e, Version: "v0"}, args)
	return code, o.String(), e.String()
}

func TestHelpFitsAScreenAndEveryCommandHasAnExample(t *testing.T) {
	code, out, _ := run(t, "--help")
	if code != ExitOK || strings.Count(out, "\n") > 24 {
		t.Errorf("exit %d, %d lines", code, strings.Count(out, "\n"))
	}
	for line := range strings.Lines(out) {
		if len(line) > 80 { // the line end is one of them
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	for _, c := range commands() {
		if !strings.Contains(out, c.Name) {
			t.Errorf("help does not list %s", c.Name)
		}
		fits(t, c.Name)
		for _, s := range c.Sub {
			fits(t, c.Name, s.Name)
		}
	}
}

// fits checks the help of a command against a terminal of 24 lines and 80 columns; it
// is an answer, so that it can be piped into a pager.
func fits(t *testing.T, path ...string) {
	t.Helper()
	name := strings.Join(path, " ")
	code, out, errOut := run(t, append(path, "--help")...)
	if code != ExitOK || errOut != "" || strings.Count(out, "\n") > 24 || !strings.Contains(out, "example: mcpctl "+name) {
		t.Errorf("%s --help: exit %d\n%s%s", name, code, out, errOut)
	}
	for line := range strings.Lines(out) {
		if len(line) > 80 { // the line end is one of them
			t.Errorf("%s --help: %d columns: %s", name, len(line)-1, line)
		}
	}
}

func TestAWrongCommandLineExitsWith2AndSaysWhatToDo(t *testing.T) {
	for _, args := range [][]string{{}, {"nope"}, {"run", "--nope"}, {"status", "extra"}, {"privileges", "--profile"}, {"run", "--once"}} {
		code, out, errOut := run(t, args...)
		if code != ExitUsage {
			t.Errorf("%q exits with %d", args, code)
		}
		if !strings.Contains(out+errOut, "usage") && !strings.Contains(errOut, "--help") {
			t.Errorf("%q says nothing of use: %s", args, errOut)
		}
	}
}

func TestPrivilegesAreThoseOfTheTable(t *testing.T) {
	code, out, _ := run(t, "privileges")
	lines := strings.Fields(out)
	if code != ExitOK || len(lines) != 94 {
		t.Fatalf("exit %d, %d privileges; the contract has 94", code, len(lines))
	}
	for _, p := range lines {
		if !strings.HasPrefix(p, "api-v2-") || !strings.HasSuffix(p, "-get") {
			t.Errorf("%s is not a read privilege", p)
		}
	}
	if _, wp, _ := run(t, "privileges", "--profile", "write_protected"); wp != out {
		t.Error("write_protected needs other READ privileges than auditor")
	}
	if _, more, _ := run(t, "privileges", "--toolsets", "all,extended"); len(strings.Fields(more)) <= 94 {
		t.Error("the extended tools add no privilege")
	}
	if _, none, _ := run(t, "privileges", "--profile", "engineer"); none != "" {
		t.Errorf("engineer grants nothing, but needs %q", none)
	}
	// The write identity's seven, as the design lists them.
	_, write, _ := run(t, "privileges", "--profile", "executor")
	want := "api-v2-diagnostics-config-history-revisions-get\napi-v2-firewall-alias-patch\napi-v2-firewall-aliases-get\n" +
		"api-v2-firewall-apply-get\napi-v2-status-system-get\napi-v2-system-hasync-get\napi-v2-system-restapi-settings-get\n"
	if write != want {
		t.Errorf("the executor's user needs %q", write)
	}
	code, _, errOut := run(t, "privileges", "--profile", "root")
	if code != ExitFail || !strings.Contains(errOut, "auditor") {
		t.Errorf("exit %d: %s", code, errOut)
	}
}

func TestASuiteThatIsNotThereIsNamedWithTheNextStep(t *testing.T) {
	code, _, errOut := run(t, "status", "--dir", t.TempDir())
	if code != ExitFail || !strings.Contains(errOut, "mcpd") || !strings.Contains(errOut, "next:") {
		t.Errorf("exit %d: %s", code, errOut)
	}
}

func TestASilentSocketDoesNotHangStatus(t *testing.T) {
	dir, err := os.MkdirTemp("", "oc")
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		err = os.Mkdir(filepath.Join(dir, "mcpd-admin"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "mcpd-admin", "mcpd-admin.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	status := func(ctx context.Context, want string) {
		t.Helper()
		var e bytes.Buffer
		if code := Run(ctx, Env{Out: &e, Err: &e}, []string{"status", "--dir", dir}); code == ExitOK || !strings.Contains(e.String(), want) {
			t.Errorf("exit %d: %s", code, e.String())
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	status(ctx, "mcpd did not answer in time")
	// A person who has waited enough is not kept.
	ctx, leave := context.WithCancel(context.Background())
	go func() {
		defer leave()
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			_, _ = c.Read(make([]byte, 1)) // it speaks, and hears nothing
		}
	}()
	err = suite.Mcpd(ctx, dir, time.Hour, func(ctx context.Context, c adminpb.McpdClient) error {
		_, err := c.Suite(ctx, &adminpb.SuiteRequest{})
		return err
	})
	if !errors.Is(err, suite.ErrInterrupted) {
		t.Errorf("interrupted: %v", err)
	}
	status(ctx, "interrupted before mcpd had answered")
}

func TestOutsideTextIsEscapedOnTheTerminal(t *testing.T) {
	hostile := "\x1b]0;pwned\a\u202e" + strings.Repeat("x", 1000)
	rows := members(&adminpb.SuiteResponse{Members: []*adminpb.Member{
		{Name: hostile, Reachable: true, Status: &nodepb.StatusResponse{
			Version: hostile, Notices: []string{hostile}, Lab: true, TestBuild: true,
			Sandbox: &nodepb.Sandbox{Mode: hostile, Enforced: []string{hostile}, Missing: []string{hostile}},
		}},
		{Name: "guidanced", Problem: hostile, Next: hostile},
	}})
	var b bytes.Buffer
	printMembers(&b, rows, time.Unix(60, 0))
	if strings.ContainsAny(b.String(), "\x1b\a\u202e") || strings.Contains(b.String(), strings.Repeat("x", 300)) {
		t.Errorf("a daemon's text reached the terminal as it is: %q", b.String())
	}
	for _, want := range []string{"TEST BUILD", "LAB", "missing", "notice", "down", "next"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the view does not show %q:\n%s", want, b.String())
		}
	}
}

// suiteOf is a mcpd that says only how it is.
type suiteOf struct {
	adminpb.UnimplementedMcpdServer
}

func (suiteOf) Suite(context.Context, *adminpb.SuiteRequest) (*adminpb.SuiteResponse, error) {
	return &adminpb.SuiteResponse{Members: []*adminpb.Member{{Name: "mcpd", Reachable: true, Status: &nodepb.StatusResponse{Version: "v7"}}}}, nil
}

// What mcpctl run starts without --dir is what mcpctl status shows without it.
func TestStatusFindsTheSuiteOfTheUsersRuntimeDirectory(t *testing.T) {
	dir, err := os.MkdirTemp("", "oc")
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		err = os.MkdirAll(filepath.Join(dir, "pfsense-mcp", "mcpd-admin"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "pfsense-mcp", suite.McpdSocket))
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	adminpb.RegisterMcpdServer(srv, suiteOf{})
	go func() { _ = srv.Serve(l) }() // ends with Stop
	t.Cleanup(srv.Stop)

	for _, args := range [][]string{{"status"}, {"status", "--json"}} {
		var out, errOut bytes.Buffer
		code := Run(context.Background(), Env{Out: &out, Err: &errOut, RuntimeDir: dir}, args)
		if code != ExitOK || !strings.Contains(out.String(), "v7") || !strings.HasSuffix(out.String(), "\n") {
			t.Errorf("%q: exit %d, %q %s", args, code, out.String(), errOut.String())
		}
	}
	var errOut bytes.Buffer
	if code := Run(context.Background(), Env{Out: &errOut, Err: &errOut, RuntimeDir: t.TempDir()}, []string{"status"}); code != ExitFail || !strings.Contains(errOut.String(), suite.HostDir) {
		t.Errorf("without a suite there: exit %d: %s", code, errOut.String())
	}
}

package host

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install"
	"pfsensemcp/pkg/install/doctor"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/rpc/rpctest"
	adminpb "pfsensemcp/proto/admin/v1"
	nodepb "pfsensemcp/proto/node/v1"
)

// pretend is an mcpd on a real socket.
type pretend struct {
	adminpb.UnimplementedMcpdServer
	dir     string
	members []*adminpb.MemberMetrics
	suite   []*adminpb.Member
	reload  func() (*adminpb.ReloadResponse, error)
	problem string
	probed  []string
}

func (p *pretend) Suite(context.Context, *adminpb.SuiteRequest) (*adminpb.SuiteResponse, error) {
	return &adminpb.SuiteResponse{Members: p.suite}, nil
}

func (p *pretend) Metrics(context.Context, *adminpb.MetricsRequest) (*adminpb.MetricsResponse, error) {
	return &adminpb.MetricsResponse{Members: p.members}, nil
}

func (p *pretend) Reload(context.Context, *adminpb.ReloadRequest) (*adminpb.ReloadResponse, error) {
	return p.reload()
}

func (p *pretend) Probe(_ context.Context, r *adminpb.ProbeRequest) (*adminpb.ProbeResponse, error) {
	p.probed = append(p.probed, r.GetPrivilege())
	return &adminpb.ProbeResponse{Problem: p.problem}, nil
}

func serve(t *testing.T) *pretend {
	t.Helper()
	dir, err := os.MkdirTemp("", "xh") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &pretend{dir: dir}
	var rows []rpc.Method
	for _, m := range adminpb.Mcpd_ServiceDesc.Methods {
		rows = append(rows, rpc.Method{Full: "/admin.v1.Mcpd/" + m.MethodName, Callers: rpc.Operators, MaxRequest: 4096, MaxDuration: time.Minute})
	}
	for _, m := range adminpb.Mcpd_ServiceDesc.Streams {
		rows = append(rows, rpc.Method{Full: "/admin.v1.Mcpd/" + m.StreamName, Callers: rpc.Operators, MaxRequest: 4096, MaxDuration: time.Minute})
	}
	s, err := rpc.NewServer(rpc.Config{
		Name: "mcpd-admin", Node: rpctest.Node("mcpd"), Methods: rows, Log: rpctest.Log(t),
		Callers: map[rpc.Role][]uint32{rpc.Operators: {uint32(os.Geteuid())}},
	})
	if err != nil {
		t.Fatal(err)
	}
	adminpb.RegisterMcpdServer(grpc.ServiceRegistrar(s), p)
	l, err := rpc.Listen(filepath.Join(dir, "mcpd-admin", "mcpd-admin.sock"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return p
}

// mcpctl runs one command line without a terminal.
func mcpctl(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Run(t.Context(), cli.Env{Out: &o, Err: &e, Version: "v1"}, "mcpctl", Commands(), args)
	return code, o.String(), e.String()
}

func TestTheMetricsOfAllDaemonsAreOneText(t *testing.T) {
	p := serve(t)
	r := metrics.New()
	r.Gauge("goroutines", "x").Set(5)
	p.members = []*adminpb.MemberMetrics{{Name: "mcpd", Text: r.Text()}, {Name: "guidanced", Text: r.Text()}}
	code, out, errOut := mcpctl(t, "metrics", "--dir", p.dir)
	if code != cli.ExitOK || errOut != "" || strings.Count(out, "# TYPE goroutines gauge\n") != 1 ||
		!strings.Contains(out, "goroutines{daemon=\"mcpd\"} 5\ngoroutines{daemon=\"guidanced\"} 5\n# EOF\n") {
		t.Errorf("%d\n%s%s", code, out, errOut)
	}
	if _, out, _ = mcpctl(t, "metrics", "--dir", p.dir, "--daemon", "guidanced"); strings.Contains(out, "mcpd") || !strings.Contains(out, "guidanced") {
		t.Errorf("one alone:\n%s", out)
	}
	p.members = append(p.members, &adminpb.MemberMetrics{Name: "docfetchd", Problem: "down\x1b[2J"}, &adminpb.MemberMetrics{Name: "executord", Text: "evil\x1b[2J"})
	code, out, errOut = mcpctl(t, "metrics", "--dir", p.dir)
	if code != cli.ExitFail || strings.ContainsRune(out+errOut, '\x1b') || !strings.Contains(errOut, "docfetchd: down") || !strings.Contains(errOut, "executord: it is no metrics text") || !strings.Contains(out, "mcpd") {
		t.Errorf("%d\n%s%s", code, out, errOut)
	}
	if code, _, _ = mcpctl(t, "metrics", "--daemon", "sshd"); code != cli.ExitUsage {
		t.Errorf("a daemon that is none: %d", code)
	}
}

func TestAKeyIsReadAgainAndABadOneIsRefused(t *testing.T) {
	p := serve(t)
	p.reload = func() (*adminpb.ReloadResponse, error) { return &adminpb.ReloadResponse{KeyChanged: true}, nil }
	if code, out, _ := mcpctl(t, "rotate-key", "--reload", "--dir", p.dir); code != cli.ExitOK || !strings.Contains(out, "new key is in use") {
		t.Errorf("%d %s", code, out)
	}
	p.reload = func() (*adminpb.ReloadResponse, error) { return &adminpb.ReloadResponse{}, nil }
	if code, out, _ := mcpctl(t, "rotate-key", "--reload", "--dir", p.dir); code != cli.ExitOK || !strings.Contains(out, "in use already") {
		t.Errorf("%d %s", code, out)
	}
	p.reload = func() (*adminpb.ReloadResponse, error) {
		return nil, errs.New(errs.Invalid, "api_key_file: the first line is empty").WithNext("write the key")
	}
	if code, out, errOut := mcpctl(t, "rotate-key", "--reload", "--dir", p.dir); code != cli.ExitFail || out != "" || !strings.Contains(errOut, "the old key stays: api_key_file") || !strings.Contains(errOut, "next: write the key") {
		t.Errorf("%d %s%s", code, out, errOut)
	}
	for _, args := range [][]string{{"rotate-key"}, {"rotate-key", "--reload", "--key-file", "x"}, {"rotate-key", "--reload", "--write"}} {
		if code, _, _ := mcpctl(t, args...); code != cli.ExitUsage {
			t.Errorf("%v: %d", args, code)
		}
	}
}

func TestANewKeyIsTriedOnceAndOnlyARefusalCounts(t *testing.T) {
	p := serve(t)
	up := func(name string) *adminpb.Member {
		return &adminpb.Member{Name: name, Reachable: true, Status: &nodepb.StatusResponse{}}
	}
	p.suite = []*adminpb.Member{up("mcpd"), up("executord")}
	for problem, refused := range map[string]bool{"": false, "timeout": false, "authorization": false, "authentication": true} {
		p.problem, p.probed = problem, nil
		if err := works(t.Context(), p.dir, "mcpd"); (err != nil) != refused || len(p.probed) != 1 {
			t.Errorf("%q: %v, %d probes", problem, err, len(p.probed))
		}
	}
	p.probed = nil
	if err := works(t.Context(), p.dir, "executord"); err != nil || len(p.probed) != 0 {
		t.Errorf("%v, %v", err, p.probed)
	}
	p.suite = nil
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := works(ctx, p.dir, "executord"); err == nil {
		t.Errorf("a daemon that stays away: %v", err)
	}
}

func TestDoctorEndsWithTheCodeOfItsReport(t *testing.T) {
	p := serve(t) // answers almost nothing, and there is no executord
	code, out, _ := mcpctl(t, "doctor", "--dir", p.dir, "--no-probes")
	if code != doctor.ExitFail || !strings.Contains(out, "executor.reachable") || !strings.Contains(out, "next: ") || !strings.Contains(out, " fail, ") {
		t.Errorf("%d\n%s", code, out)
	}
	code, out, _ = mcpctl(t, "doctor", "write", "--json", "--dir", p.dir)
	if code != doctor.ExitFail || !strings.HasPrefix(out, `{"checks":[{`) || strings.Contains(out, `"suite"`) || strings.Count(out, "\n") != 1 {
		t.Errorf("%d\n%s", code, out)
	}
	if code, _, errOut := mcpctl(t, "doctor", "all"); code != cli.ExitUsage || !strings.Contains(errOut, "suite and write") {
		t.Errorf("%d %s", code, errOut)
	}
}

func TestLogsAreShownByRequestAndFiltered(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(daemon, text string) {
		if err := os.WriteFile(filepath.Join(dir, "log", daemon+".log"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("mcpd", `{"time":"2026-11-30T12:00:01Z","level":"INFO","msg":"call","request_id":"aa"}`+"\n"+`{"time":"2026-11-30T12:00:02Z","level":"INFO","msg":"other","tool":"x"}`+"\n")
	put("guidanced", `{"time":"2026-11-30T12:00:03Z","level":"WARN","msg":"lookup","request_id":"aa"}`+"\n")
	code, out, _ := mcpctl(t, "logs", "--dir", dir)
	const want = "2026-11-30T12:00:01.000Z mcpd      INFO  call request_id=aa\n  2026-11-30T12:00:03.000Z guidanced WARN  lookup request_id=aa\n2026-11-30T12:00:02.000Z mcpd      INFO  other tool=x\n"
	if code != cli.ExitOK || out != want {
		t.Errorf("%d\n%s", code, out)
	}
	if _, out, _ = mcpctl(t, "logs", "--dir", dir, "--request", "aa", "--daemon", "guidanced", "--json"); out != `{"time":"2026-11-30T12:00:03Z","daemon":"guidanced","level":"WARN","msg":"lookup","request_id":"aa"}`+"\n" {
		t.Errorf("%s", out)
	}
	if _, out, _ = mcpctl(t, "logs", "--dir", dir, "-n", "1"); strings.Count(out, "\n") != 1 {
		t.Errorf("%s", out)
	}
	for _, args := range [][]string{{"logs", "-n", "0"}, {"logs", "-n", "10001"}, {"logs", "--since", "-1s"}, {"logs", "--daemon", "sshd"}, {"logs", "x"}} {
		if code, _, _ := mcpctl(t, args...); code != cli.ExitUsage {
			t.Errorf("%v: %d", args, code)
		}
	}
}

func TestWithoutATerminalNothingIsAskedAndTheFlagIsNamed(t *testing.T) {
	if code, out, errOut := mcpctl(t, "setup", "--dry-run", "--url", "fw"); code != cli.ExitFail || out != "" || !strings.Contains(errOut, "https://host") {
		t.Errorf("%d %s%s", code, out, errOut)
	}
	if code, _, errOut := mcpctl(t, "setup", "--dry-run", "--url", "https://192.0.2.1"); code != cli.ExitFail || !strings.Contains(errOut, "--identity") {
		t.Errorf("%d %s", code, errOut)
	}
}

func TestEveryActionHasAWord(t *testing.T) {
	for _, a := range []install.Action{install.Write, install.Replace, install.Same, install.Mend, install.Left, install.Kept} {
		if words[a] == "" {
			t.Errorf("%s", a)
		}
	}
}

func TestAFlagThatIsGivenAgainAddsAName(t *testing.T) {
	o, a := &install.Options{}, &acts{}
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	setupFlags(fs, o, a)
	if err := fs.Parse([]string{"--operator", "ann", "--operator", "bob"}); err != nil || !slices.Equal(o.Operators, []string{"ann", "bob"}) {
		t.Errorf("%v %v", o.Operators, err)
	}
}

func TestSetupOfAWriterEndsWithWhatOffersTheTool(t *testing.T) {
	for profile, says := range map[string]bool{"": true, catalog.ProfileAuditor: true, catalog.ProfileWriteProtected: false} {
		var b strings.Builder
		showGrants(cli.Env{Out: &b}, &install.Plan{Options: install.Options{Identity: "r", Account: "w", Write: true, Profile: profile}})
		if got := strings.Contains(b.String(), "10. last, so that clients are offered the tool: mcpctl setup --write --profile write_protected"); got != says {
			t.Errorf("profile %q:\n%s", profile, b.String())
		}
	}
}

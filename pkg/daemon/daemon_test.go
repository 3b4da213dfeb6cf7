package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/sandbox"
	guidancepb "pfsensemcp/proto/guidance/v1"
	"pfsensemcp/test/daemontest"
)

// A daemon applies a sandbox to its process, so each test runs this binary again
// as a small daemon, in one of several moods.
func TestMain(m *testing.M) {
	if mood := os.Getenv("DAEMON_TEST_MOOD"); mood != "" {
		_ = os.Unsetenv("DAEMON_TEST_MOOD")
		os.Exit(Main(specimen(mood)))
	}
	os.Exit(m.Run())
}

type settings struct {
	Common
	Key string `toml:"key_file" check:"path" help:"A key."`
}

func specimen(mood string) Spec {
	s := &settings{}
	spec := Spec{
		Name: "specimen", About: "A daemon for the tests of the shell.",
		Settings: s, StopIn: time.Minute, Grace: time.Minute,
		Sockets: []Socket{
			{Name: "guidance", Group: GroupMcpd, For: "mcpd"},
			{Name: "raw", Group: GroupClients, For: "whoever the directory lets in", Raw: true},
		},
		Memory:  Memory{GCPercent: 50, LimitBytes: 64 << 20},
		Profile: func(*Process) (sandbox.Profile, error) { return sandbox.Guidanced(), nil },
		Secrets: func(p *Process) error {
			if mood == "no secret" {
				return errs.New(errs.Invalid, "the key is not readable").WithNext("chmod it")
			}
			p.Redact([]byte("the-secret-key"))
			p.Log.Info("read the-secret-key")
			return nil
		},
	}
	if mood == "task hangs" {
		spec.StopIn = time.Second
	}
	spec.Build = func(p *Process) (Running, error) {
		r := Running{
			GRPC: map[string]Service{"guidance": {
				Methods: []rpc.Method{
					{Full: guidancepb.Guidance_Lookup_FullMethodName, Callers: rpc.Mcpd, MaxRequest: 4096, MaxDuration: time.Minute},
					{Full: guidancepb.Guidance_ToolGuidance_FullMethodName, Callers: rpc.Mcpd, MaxRequest: 4096, MaxDuration: time.Minute},
				},
				Register: func(g grpc.ServiceRegistrar) { guidancepb.RegisterGuidanceServer(g, prober{}) },
			}},
			Tasks: []Task{{Name: "raw", Run: greet(p.Listeners["raw"])}},
		}
		switch mood {
		case "takes long":
			for i := range 3 {
				if err := p.Progress(fmt.Sprintf("step %d of 3", i+1)); err != nil {
					return r, err
				}
			}
		case "never ends":
			for {
				if err := p.Progress("step 1 of 1"); err != nil {
					return r, err
				}
				time.Sleep(time.Millisecond)
			}
		case "build fails":
			return r, errors.New("an uncoded cause")
		case "task fails":
			r.Tasks = append(r.Tasks, Task{Name: "bad", Run: func(context.Context) error {
				return errs.New(errs.Unavailable, "the thing is gone").WithClass("connection")
			}})
		case "task panics":
			r.Tasks = append(r.Tasks, Task{Name: "bad", Run: func(context.Context) error {
				panic("text of an outsider")
			}})
		case "task hangs":
			r.Tasks = append(r.Tasks, Task{Name: "stuck", Run: func(context.Context) error { select {} }})
		case "task done":
			r.Tasks = append(r.Tasks, Task{Name: "short", Run: func(context.Context) error { return nil }})
		case "talks":
			r.Tasks = append(r.Tasks, Task{Name: "talk", Run: func(ctx context.Context) error {
				for i := range 200 {
					p.Log.LogAttrs(ctx, slog.LevelInfo, "a line that fills the log", slog.Int("count", i))
				}
				return nil
			}})
		case "reloads":
			n := 0
			r.Reload = func(context.Context) error {
				if n++; n == 2 {
					return errs.New(errs.Invalid, "the new key is bad")
				}
				return nil
			}
		case "not alive":
			r.Alive = func() error { return errs.New(errs.Expired, "the writer is late") }
		}
		return r, nil
	}
	return spec
}

// prober answers what the process can still do.
type prober struct {
	guidancepb.UnimplementedGuidanceServer
}

func (prober) Lookup(_ context.Context, r *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
	var err error
	switch r.GetCapability() {
	case "tcp":
		_, err = net.Dial("tcp", "127.0.0.1:9")
	case "unix":
		_, err = net.Dial("unix", "/run/x")
	case "file":
		_, err = os.ReadFile("/etc/passwd")
	case "panic":
		panic("text of an outsider")
	}
	var no syscall.Errno
	errors.As(err, &no)
	return &guidancepb.LookupResponse{OverallState: no.Error()}, nil
}

// greet serves the raw socket.
func greet(l net.Listener) func(context.Context) error {
	return func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { _ = l.Close() })
		defer stop()
		for {
			c, err := l.Accept()
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintln(c, "hello")
			_ = c.Close()
		}
	}
}

// site is a directory with a settings file for the specimen.
type site struct {
	dir, config string
}

func newSite(t *testing.T, more ...string) site {
	t.Helper()
	d := daemontest.Dir(t)
	s := site{dir: d, config: filepath.Join(d, "specimen.toml")}
	text := fmt.Sprintf("sandbox = \"available\"\nsocket_dir = %q\nmcpd_user = \"%d\"\n%s\n", d, os.Getuid(), strings.Join(more, "\n"))
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// require turns the site's settings to sandbox = "require".
func (s site) require(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile(s.config)
	if err == nil {
		err = os.WriteFile(s.config, []byte(strings.ReplaceAll(string(b), `"available"`, `"require"`)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s site) socket(name string) string { return daemontest.Socket(s.dir, name) }

func (s site) start(t *testing.T, mood string, o daemontest.Options) *daemontest.Proc {
	t.Helper()
	o.Args = append([]string{"--config", s.config}, o.Args...)
	o.Env = append(o.Env, "DAEMON_TEST_MOOD="+mood)
	return daemontest.Start(t, o)
}

func mentions(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, text)
		}
	}
}

func TestItServesBehindItsSandboxAndEndsCleanly(t *testing.T) {
	s := newSite(t)
	p := s.start(t, "well", daemontest.Options{})
	conn := p.Serving(s.socket("guidance"))
	st := p.Node(conn)
	if st.GetName() != "specimen" || st.GetSandbox().GetMode() != "available" || !strings.HasPrefix(st.GetBuildId(), "sha256:") {
		t.Errorf("status %v", st)
	}
	for _, wall := range []string{sandbox.NoNewPrivs, sandbox.Undumpable, sandbox.NoCoreDump, sandbox.Seccomp, sandbox.LandlockFiles} {
		if !slices.Contains(st.GetSandbox().GetEnforced(), wall) {
			t.Errorf("%s is not enforced: %v", wall, st.GetSandbox())
		}
	}
	for what, want := range map[string]syscall.Errno{"tcp": syscall.EAFNOSUPPORT, "unix": syscall.EAFNOSUPPORT, "file": syscall.EACCES} {
		ctx, cancel := context.WithTimeout(t.Context(), daemontest.Patience)
		got, err := guidancepb.NewGuidanceClient(conn).Lookup(ctx, &guidancepb.LookupRequest{Capability: what})
		cancel()
		if err != nil || got.GetOverallState() != want.Error() {
			t.Errorf("the running daemon, asked to try %s: %q, %v", what, got.GetOverallState(), err)
		}
	}
	if c, err := net.Dial("unix", s.socket("raw")); err != nil {
		t.Error(err)
	} else {
		b := make([]byte, 6)
		if _, err := c.Read(b); err != nil || string(b) != "hello\n" {
			t.Errorf("raw socket: %q, %v", b, err)
		}
		_ = c.Close()
	}
	p.Stop()
	for _, name := range []string{"guidance", "raw"} {
		if _, err := os.Lstat(s.socket(name)); err == nil {
			t.Errorf("socket %s was left behind", name)
		}
	}
	mentions(t, p.Output(), `"serving"`, "guidance raw", `"ended"`)
	if strings.Contains(p.Output(), "the-secret-key") {
		t.Errorf("the secret is in the log:\n%s", p.Output())
	}
}

func TestUnderItsOwnUserItHasAllThatRequireAsksFor(t *testing.T) {
	s := newSite(t)
	exe, user := daemontest.Unprivileged(t, s.dir, s.config)
	s.require(t)
	p := s.start(t, "well", daemontest.Options{Exe: exe, User: user})
	st := p.Node(p.Serving(s.socket("guidance")))
	for _, wall := range []string{sandbox.NoNewPrivs, sandbox.Undumpable, sandbox.NoCoreDump, sandbox.NoCapabilities, sandbox.Seccomp, sandbox.LandlockFiles} {
		if !slices.Contains(st.GetSandbox().GetEnforced(), wall) {
			t.Errorf("%s is not enforced: %v", wall, st.GetSandbox())
		}
	}
	if user != nil {
		// As root it refuses, and says why.
		p.Stop()
		s = newSite(t)
		s.require(t)
		p = s.start(t, "well", daemontest.Options{})
		if code := p.Wait(); code != ExitStart {
			t.Errorf("as root in mode require: exit code %d", code)
		}
		mentions(t, p.Output(), sandbox.NoCapabilities)
		return
	}
	p.Stop()
}

func TestItSpeaksToSystemd(t *testing.T) {
	s := newSite(t)
	n := daemontest.NewNotify(t, s.dir)
	in := []daemontest.Inherited{
		{Name: "raw", File: daemontest.Bind(t, s.socket("raw"), 0o700, 0o600)},
		{Name: "guidance", File: daemontest.Bind(t, s.socket("guidance"), 0o700, 0o600)},
	}
	p := s.start(t, "well", daemontest.Options{Inherit: in, Env: []string{"NOTIFY_SOCKET=" + n.Path, "WATCHDOG_USEC=40000"}})
	p.Serving(s.socket("guidance"))
	p.Until("READY", func() bool { return n.Count("READY=1\nSTATUS=serving guidance, raw") == 1 })
	p.Until("three watchdog calls from inside the sandbox", func() bool { return n.Count("WATCHDOG=1") >= 3 })
	p.Stop()
	if n.Count("STOPPING=1") != 1 {
		t.Error("STOPPING was not sent")
	}
	if _, err := os.Lstat(s.socket("guidance")); err != nil {
		t.Errorf("a socket of systemd was removed: %v", err)
	}
}

func TestAStartThatTakesLongIsGivenTimeForEachStep(t *testing.T) {
	s := newSite(t)
	n := daemontest.NewNotify(t, s.dir)
	p := s.start(t, "takes long", daemontest.Options{Env: []string{"NOTIFY_SOCKET=" + n.Path}})
	p.Serving(s.socket("guidance"))
	// The words that follow within a second are not passed on.
	p.Until("the first step, then READY", func() bool {
		return n.Count("EXTEND_TIMEOUT_USEC=30000000\nSTATUS=step 1 of 3") == 1 && n.Count("READY=1\nSTATUS=serving") == 1
	})
	p.Stop()
}

func TestAStartThatTakesLongEndsWhenItIsAskedTo(t *testing.T) {
	s := newSite(t)
	n := daemontest.NewNotify(t, s.dir)
	p := s.start(t, "never ends", daemontest.Options{Env: []string{"NOTIFY_SOCKET=" + n.Path}})
	p.Until("the first step", func() bool { return n.Count("EXTEND_TIMEOUT_USEC=") > 0 })
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != ExitOK {
		t.Errorf("exit code %d, want %d", code, ExitOK)
	}
	mentions(t, p.Output(), "ended before it served")
	if n.Count("READY=1") != 0 || strings.Contains(p.Output(), "not started") {
		t.Errorf("it said that it was ready, or that it failed:\n%s", p.Output())
	}
	if _, err := os.Lstat(s.socket("guidance")); err == nil {
		t.Error("a socket was left behind")
	}
}

func TestADaemonThatSaysItIsNotAliveIsNotKeptAlive(t *testing.T) {
	s := newSite(t)
	n := daemontest.NewNotify(t, s.dir)
	p := s.start(t, "not alive", daemontest.Options{Env: []string{"NOTIFY_SOCKET=" + n.Path, "WATCHDOG_USEC=20000"}})
	p.Until("the complaint", func() bool { return strings.Contains(p.Output(), "the writer is late") })
	if n.Count("WATCHDOG=1") != 0 {
		t.Error("the watchdog was fed")
	}
	p.Stop()
}

func TestInheritedSocketsMustBeExactlyItsOwnAndSafe(t *testing.T) {
	s := newSite(t)
	bind := func(name string, dir, mode os.FileMode) daemontest.Inherited {
		return daemontest.Inherited{Name: name, File: daemontest.Bind(t, filepath.Join(daemontest.Dir(t), "d", name+".sock"), dir, mode)}
	}
	raw := bind("raw", 0o700, 0o600)
	for _, row := range []struct {
		in   []daemontest.Inherited
		want string
	}{
		{[]daemontest.Inherited{raw}, "none called guidance"},
		{[]daemontest.Inherited{raw, bind("guidance", 0o700, 0o600), bind("exec", 0o700, 0o600)}, "a socket called exec, which specimen does not have"},
		{[]daemontest.Inherited{raw, bind("guidance", 0o700, 0o666)}, "guidance.sock"},
		{[]daemontest.Inherited{raw, bind("guidance", 0o755, 0o600)}, "has mode 0755"},
	} {
		p := s.start(t, "well", daemontest.Options{Inherit: row.in})
		if code := p.Wait(); code != ExitStart {
			t.Errorf("exit code %d, want %d", code, ExitStart)
		}
		mentions(t, p.Output(), row.want, "not started")
	}
}

func TestAKilledDaemonStartsAgainAndALivingOneIsNotReplaced(t *testing.T) {
	s := newSite(t)
	p := s.start(t, "well", daemontest.Options{})
	p.Serving(s.socket("guidance"))
	second := s.start(t, "well", daemontest.Options{})
	if code := second.Wait(); code != ExitStart {
		t.Errorf("a second copy ended with %d", code)
	}
	mentions(t, second.Output(), "another process already serves")
	p.Signal(syscall.SIGKILL)
	p.Wait()
	if _, err := os.Lstat(s.socket("guidance")); err != nil {
		t.Fatalf("kill -9 left no socket, so this test shows nothing: %v", err)
	}
	p = s.start(t, "well", daemontest.Options{})
	p.Serving(s.socket("guidance"))
	p.Stop()
}

func TestAFailedTaskEndsTheDaemonWithItsCause(t *testing.T) {
	for mood, want := range map[string][]string{
		"task fails":  {`"task failed"`, `"bad"`, "the thing is gone", "connection", "ended by a failure"},
		"task panics": {`"panic"`, "task bad panicked", "specimen.func", "ended by a failure"},
	} {
		t.Run(mood, func(t *testing.T) {
			p := newSite(t).start(t, mood, daemontest.Options{})
			if code := p.Wait(); code != ExitFailed {
				t.Errorf("exit code %d, want %d", code, ExitFailed)
			}
			mentions(t, p.Output(), want...)
			if strings.Contains(p.Output(), "text of an outsider") {
				t.Error("the value of a panic is in the log")
			}
		})
	}
}

func TestATaskThatIsDoneEndsNothing(t *testing.T) {
	s := newSite(t)
	p := s.start(t, "task done", daemontest.Options{})
	p.Serving(s.socket("guidance"))
	p.Stop()
}

func TestATaskThatDoesNotEndIsNamedAndNotWaitedForForEver(t *testing.T) {
	s := newSite(t)
	p := s.start(t, "task hangs", daemontest.Options{})
	p.Serving(s.socket("guidance"))
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != ExitFailed {
		t.Errorf("exit code %d, want %d", code, ExitFailed)
	}
	mentions(t, p.Output(), "tasks did not end in time", "stuck")
}

func TestWhatKeepsItFromStartingIsToldAndNothingIsServed(t *testing.T) {
	for mood, want := range map[string][]string{
		"no secret":   {"the key is not readable", "chmod it"},
		"build fails": {"internal error"},
	} {
		t.Run(mood, func(t *testing.T) {
			s := newSite(t)
			logs := daemontest.Dir(t)
			p := s.start(t, mood, daemontest.Options{Args: []string{"--log-file", filepath.Join(logs, "specimen.log")}})
			if code := p.Wait(); code != ExitStart {
				t.Errorf("exit code %d, want %d", code, ExitStart)
			}
			mentions(t, p.Output(), want...) // on standard error although the log is a file
			b, err := os.ReadFile(filepath.Join(logs, "specimen.log"))
			if err != nil {
				t.Fatal(err)
			}
			mentions(t, string(b), append(want, "not started")...)
			if _, err := os.Lstat(s.socket("guidance")); err == nil {
				t.Error("a socket was left behind")
			}
			if strings.Contains(p.Output(), "uncoded cause") {
				t.Error("the text of an uncoded error is shown")
			}
		})
	}
}

func TestReloadKeepsTheOldStateWhenTheNewOneIsRefused(t *testing.T) {
	s := newSite(t)
	p := s.start(t, "reloads", daemontest.Options{})
	p.Serving(s.socket("guidance"))
	p.Signal(syscall.SIGHUP)
	p.Until("the reload", func() bool { return strings.Contains(p.Output(), `"reloaded"`) })
	p.Signal(syscall.SIGHUP)
	p.Until("the refusal", func() bool { return strings.Contains(p.Output(), "the new key is bad") })
	p.Serving(s.socket("guidance"))
	p.Stop()
}

func TestTheLogRotatesInsideTheSandbox(t *testing.T) {
	s := newSite(t, "log_max_bytes = 2048", "log_backup_count = 2")
	logs := daemontest.Dir(t)
	p := s.start(t, "talks", daemontest.Options{Args: []string{"--log-file", filepath.Join(logs, "specimen.log")}})
	p.Serving(s.socket("guidance"))
	p.Until("two rotated files", func() bool {
		_, err := os.Stat(filepath.Join(logs, "specimen.log.2"))
		return err == nil
	})
	p.Stop()
	if _, err := os.Stat(filepath.Join(logs, "specimen.log.3")); err == nil {
		t.Error("more files are kept than asked for")
	}
	if fi, err := os.Stat(filepath.Join(logs, "specimen.log")); err != nil || fi.Size() > 2048 || fi.Mode().Perm() != 0o600 {
		t.Errorf("the log: %v, %v", fi, err)
	}
}

func TestAPanicInACallEndsNeitherTheDaemonNorTellsItsText(t *testing.T) {
	s := newSite(t)
	p := s.start(t, "well", daemontest.Options{})
	conn := p.Serving(s.socket("guidance"))
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Patience)
	defer cancel()
	_, err := guidancepb.NewGuidanceClient(conn).Lookup(ctx, &guidancepb.LookupRequest{Capability: "panic"})
	if err == nil || strings.Contains(err.Error(), "outsider") {
		t.Errorf("got %v", err)
	}
	p.Serving(s.socket("guidance"))
	p.Stop()
	if strings.Contains(p.Output(), "text of an outsider") {
		t.Error("the value of a panic is in the log")
	}
}

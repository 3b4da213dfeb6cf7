package rpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/rpc/rpctest"
	"pfsensemcp/proto/docs/v1"
	"pfsensemcp/proto/guidance/v1"
)

// TestMain lets the test's own binary play another user's process: with
// RPC_TEST_DIAL it makes one call on that socket and prints how it went.
func TestMain(m *testing.M) {
	if path := os.Getenv("RPC_TEST_DIAL"); path != "" {
		cc, err := rpc.Dial(path, "guidanced")
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			err = lookup(ctx, cc)
		}
		if err != nil {
			_, _ = io.WriteString(os.Stdout, errs.CodeOf(err).String()+": "+err.Error())
			os.Exit(0)
		}
		_, _ = io.WriteString(os.Stdout, "ok")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func shortDir(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("/tmp", "rpc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(d) })
	return d
}

// start serves s on the socket until stop, which returns what Serve did.
func start(t *testing.T, s *service, path string, cfg rpc.Config) (stop func() error) {
	t.Helper()
	srv, err := rpc.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	guidancepb.RegisterGuidanceServer(srv, s)
	docspb.RegisterDocsAdminServer(srv, s)
	l, err := rpc.Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	ended := false
	stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("server: %v", err)
		}
	})
	return stop
}

func dial(t *testing.T, path string, o ...rpc.Option) *grpc.ClientConn {
	t.Helper()
	cc, err := rpc.Dial(path, "guidanced", o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

func mine(log *lines) rpc.Config {
	cfg := config(log)
	me := uint32(os.Geteuid())
	cfg.Callers = map[rpc.Role][]uint32{rpc.Mcpd: {me}, rpc.Operators: {me}}
	return cfg
}

func TestTheKernelSaysWhoCalls(t *testing.T) {
	var seen rpc.Peer
	s := ok()
	s.lookup = func(ctx context.Context, _ *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
		seen, _ = rpc.PeerFrom(ctx)
		return &guidancepb.LookupResponse{}, nil
	}
	path := filepath.Join(shortDir(t), "d", "s.sock")
	start(t, s, path, mine(&lines{}))
	if err := lookup(soon(t), dial(t, path)); err != nil {
		t.Fatal(err)
	}
	if want := (rpc.Peer{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), PID: int32(os.Getpid())}); seen != want {
		t.Errorf("peer is %+v, want %+v", seen, want)
	}
}

func TestAnotherUserIsStoppedByTheDirectoryAndBehindItByItsUID(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it calls as other users")
	}
	dir := shortDir(t)
	open(t, dir)
	path := filepath.Join(dir, "d", "s.sock")
	log := &lines{}
	cfg := config(log)
	cfg.Callers = map[rpc.Role][]uint32{rpc.Mcpd: {65501}, rpc.Operators: {65502}}
	start(t, ok(), path, cfg)
	bin := copyOfMyself(t, dir)

	if got := callAs(t, bin, path, 65501); got != "denied: this user may not use the socket of guidanced" {
		t.Errorf("past the directory: %q", got)
	}
	// What if the directory's wall is gone? The server's own stands.
	open(t, filepath.Join(dir, "d"))
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]string{
		65501: "ok",
		65502: "denied: this user may not call this method",
		65503: "unavailable: guidanced closed the connection without a word",
		65534: "unavailable: guidanced closed the connection without a word",
	} {
		if got := callAs(t, bin, path, uid); got != want {
			t.Errorf("uid %d: %q, want %q", uid, got, want)
		}
	}
	if !strings.Contains(log.String(), `"msg":"connection refused"`) || !strings.Contains(log.String(), `"caller_uid":655`) {
		t.Errorf("no line says who was refused: %s", log)
	}
}

func open(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// copyOfMyself puts the test's binary where any user may run it.
func copyOfMyself(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "caller")
	if err := os.WriteFile(bin, code, 0o755); err != nil {
		t.Fatal(err)
	}
	return bin
}

func callAs(t *testing.T, bin, path string, uid uint32) string {
	t.Helper()
	cmd := exec.CommandContext(soon(t), bin)
	cmd.Env = []string{"RPC_TEST_DIAL=" + path}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("uid %d: %v", uid, err)
	}
	return string(out)
}

func TestARefusedConnectionIsClosedBeforeAByteIsRead(t *testing.T) {
	path := filepath.Join(shortDir(t), "d", "s.sock")
	cfg := config(&lines{}) // its uids are not ours
	start(t, ok(), path, cfg)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	// A server that read would first answer with its settings.
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestOneUIDHasABoundedNumberOfConnections(t *testing.T) {
	path := filepath.Join(shortDir(t), "d", "s.sock")
	start(t, ok(), path, mine(&lines{}))
	var held []net.Conn
	hear := func() error {
		c, err := net.Dial("unix", path)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		held = append(held, c)
		// The server speaks first once it has the client's preface.
		if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
			return err
		}
		_, err = c.Read(make([]byte, 1))
		return err
	}
	for i := range 32 {
		if err := hear(); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	if err := hear(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the 33rd is not refused: %v", err)
	}
	held[0].Close()
	deadline := time.Now().Add(time.Minute)
	for hear() != nil { // the server notices the close in its own time
		if time.Now().After(deadline) {
			t.Fatal("a closed connection still counts")
		}
	}
}

func TestADaemonThatIsNotThereIsNamedWithWhatToDo(t *testing.T) {
	path := filepath.Join(shortDir(t), "d", "s.sock")
	cc := dial(t, path)
	err := lookup(soon(t), cc)
	wantCode(t, err, errs.Unavailable, "guidanced is not reachable")
	if e := errs.Public(err); e.Next != "systemctl start pfsense-guidanced, or see mcpctl status" || e.Class != "service" {
		t.Errorf("%+v", e)
	}
	err = lookup(soon(t), dial(t, path, rpc.Next("do that")))
	if e := errs.Public(err); e.Next != "do that" {
		t.Errorf("%+v", e)
	}
	err = contract(soon(t), cc)
	wantCode(t, err, errs.Unavailable, "guidanced is not reachable")
}

// mcpctl status prints this next step: it must not send its reader back to
// mcpctl status.
func TestADaemonThatSaysNothingIsNamedWithWhatToDo(t *testing.T) {
	path := filepath.Join(shortDir(t), "d", "s.sock")
	s := ok()
	let := make(chan struct{})
	s.lookup = func(context.Context, *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
		<-let
		return &guidancepb.LookupResponse{}, nil
	}
	stop := start(t, s, path, mine(&lines{}))
	defer stop()
	defer close(let)
	cc := dial(t, path)
	if err := contract(soon(t), cc); err != nil { // the connection stands
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := lookup(ctx, cc)
	wantCode(t, err, errs.Expired, "guidanced did not answer in time")
	if e := errs.Public(err); e.Class != "service" || strings.Contains(e.Next, "mcpctl status") || !strings.Contains(e.Next, "pfsense-guidanced") {
		t.Errorf("%+v", e)
	}
}

func TestADaemonThatComesBackIsFoundAgain(t *testing.T) {
	path := filepath.Join(shortDir(t), "d", "s.sock")
	cc := dial(t, path)
	wantCode(t, lookup(soon(t), cc), errs.Unavailable, "guidanced")
	for _, what := range []string{"first there", "started again"} {
		stop := start(t, ok(), path, mine(&lines{}))
		ctx := soon(t)
		for lookup(ctx, cc) != nil {
			if ctx.Err() != nil {
				t.Fatalf("it is %s, and is not found", what)
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAServerThatStopsLetsCallsEndWithinTheGrace(t *testing.T) {
	started, end := make(chan bool), make(chan bool)
	s := ok()
	s.tool = func(ctx context.Context, _ *guidancepb.ToolGuidanceRequest) (*guidancepb.ToolGuidanceResponse, error) {
		started <- true
		select {
		case <-end:
			return &guidancepb.ToolGuidanceResponse{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for name, patient := range map[string]bool{"one that ends": true, "one that does not": false} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(shortDir(t), "d", "s.sock")
			cfg := mine(&lines{})
			cfg.Grace = time.Minute
			if !patient {
				cfg.Grace = 10 * time.Millisecond
			}
			stop := start(t, s, path, cfg)
			client := guidancepb.NewGuidanceClient(dial(t, path))
			result := make(chan error, 1)
			ctx := soon(t)
			go func() {
				_, err := client.ToolGuidance(ctx, &guidancepb.ToolGuidanceRequest{})
				result <- err
			}()
			<-started
			if patient {
				go func() { end <- true }()
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if err := <-result; (err == nil) != patient {
				t.Errorf("the call ended with %v", err)
			}
		})
	}
}

func TestAServerWhoseTableDoesNotFitDoesNotStart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rpc.Config)
		text   string
	}{
		"a method without a row": {func(c *rpc.Config) { c.Methods = c.Methods[1:] }, "Lookup has no row"},
		"a row without a method": {func(c *rpc.Config) {
			c.Methods = append(c.Methods, rpc.Method{Full: "/guidance.v1.Guidance/Gone", Callers: rpc.Mcpd, MaxDuration: 1})
		}, "Gone has no method"},
		"two rows":  {func(c *rpc.Config) { c.Methods = append(c.Methods, c.Methods[0]) }, "two rows"},
		"no caller": {func(c *rpc.Config) { c.Methods[2].Callers = 0 }, "called by nobody"},
		"too large": {func(c *rpc.Config) { c.Methods[2].MaxRequest = rpc.MaxMessage + 1 }, "MaxRequest"},
		"endless":   {func(c *rpc.Config) { c.Methods[2].MaxDuration = 0 }, "MaxDuration"},
		"no name":   {func(c *rpc.Config) { c.Methods[2].Full = "Contract" }, "is not /service/method"},
		"node's rows": {func(c *rpc.Config) {
			c.Methods = append(c.Methods, rpc.Method{Full: "/node.v1.Node/Status", Callers: rpc.Mcpd, MaxDuration: 1})
		}, "has no method"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(&lines{})
			c.change(&cfg)
			srv, err := rpc.NewServer(cfg)
			if err != nil {
				t.Fatal(err)
			}
			guidancepb.RegisterGuidanceServer(srv, ok())
			docspb.RegisterDocsAdminServer(srv, ok())
			l, err := rpc.Listen(filepath.Join(shortDir(t), "s.sock"), 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := srv.Serve(soon(t), l); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestAServerIsNotMadeForImpossibleCallers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rpc.Config)
		text   string
	}{
		"the overflow uid": {func(c *rpc.Config) { c.Callers[rpc.Mcpd] = []uint32{65534} }, "65534 can never"},
		"no uid":           {func(c *rpc.Config) { c.Callers[rpc.Mcpd] = []uint32{^uint32(0)} }, "can never"},
		"a role of nobody": {func(c *rpc.Config) { delete(c.Callers, rpc.Operators) }, "has no uid"},
		"no log":           {func(c *rpc.Config) { c.Log = nil }, "required"},
	} {
		cfg := config(&lines{})
		c.change(&cfg)
		if _, err := rpc.NewServer(cfg); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := rpc.CheckTable(nil); err != nil {
		t.Errorf("nothing fits nothing: %v", err)
	}
}

func TestAFailingListenerEndsTheServer(t *testing.T) {
	srv, err := rpc.NewServer(rpc.Config{Name: "x", Node: rpctest.Node("x"), Log: rpctest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := rpc.Listen(filepath.Join(shortDir(t), "s.sock"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := srv.Serve(t.Context(), l); err == nil {
		t.Error("it ended well")
	}
}

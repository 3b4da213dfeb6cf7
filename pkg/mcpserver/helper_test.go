package mcpserver

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/mcpserver/internal/change"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/test/rawmcp"
)

// appliance is a pretend client of the appliance: no network, answers by path.
type appliance struct {
	mu     sync.Mutex
	asked  []string
	answer func(ctx context.Context, e pfrest.Endpoint, p pfrest.Page) (string, error)
}

func (a *appliance) Get(ctx context.Context, _ pfrest.Caller, e pfrest.Endpoint, p pfrest.Page) (pfrest.Answer, error) {
	a.mu.Lock()
	a.asked = append(a.asked, string(e))
	f := a.answer
	a.mu.Unlock()
	if f == nil {
		return pfrest.Answer{}, errs.New(errs.Unavailable, "there is no appliance").WithClass(pfrest.ClassConnection).WithNext("plug it in")
	}
	s, err := f(ctx, e, p)
	return pfrest.Answer{Data: jsontext.Value(s), Bytes: len(s)}, err
}

func (a *appliance) Walk(ctx context.Context, c pfrest.Caller, e pfrest.Endpoint, o pfrest.WalkOptions, each func(jsontext.Value, int) bool) (pfrest.Walked, error) {
	w := pfrest.Walked{Complete: true}
	ans, err := a.Get(ctx, c, e, pfrest.Page{Limit: o.PageSize})
	if err != nil {
		return w, err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(ans.Data))
	if _, err := dec.ReadToken(); err != nil {
		return w, err
	}
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return w, err
		}
		w.Rows++
		if o.Progress != nil {
			o.Progress(w.Rows)
		}
		if !each(v, w.Rows-1) {
			w.Complete = false
			break
		}
	}
	return w, nil
}

func (*appliance) State() pfrest.State {
	return pfrest.State{KeyRefused: true, Paths: []pfrest.PathState{{Endpoint: "/api/v2/x", Open: true}, {Endpoint: "/api/v2/y"}}}
}
func (*appliance) ResetBreakers() {}

func (a *appliance) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.asked...)
}

// buffer is a log that tests can read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) { b.mu.Lock(); defer b.mu.Unlock(); return b.b.Write(p) }

func (b *buffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.b.String() }

// config returns a server's parts around a pretend appliance; no other daemon
// runs.
func config(t *testing.T, a *appliance) (Config, *buffer) {
	t.Helper()
	return configAt(t, a, shortDir(t))
}

// shortDir is a directory that leaves room for a socket's path; t.TempDir can be
// too long.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// configAt is config beside the daemons whose sockets are below dir.
func configAt(t *testing.T, a *appliance, dir string) (Config, *buffer) {
	t.Helper()
	log := &buffer{}
	logger := newLogger(log)
	suite, err := NewSuite(dir, rpc.NewNode(rpc.NodeConfig{Name: "mcpd", Version: "v9", BuildID: "sha256:00", StartedAt: time.Unix(1, 0)}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(suite.Close)
	reader, err := readtool.New(readtool.Config{Client: a})
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Version: "v9", Profile: "auditor", Identity: "reader", Reader: reader, OutputSchemas: true,
		Extras: GuidanceTools(suite, nil, nil), Suite: suite, Log: logger,
	}, log
}

// running is a server that runs on a socket.
type running struct {
	*Server
	socket string
	stop   func() // and wait
}

// bound sets the times that a look and the look of a call may take; the rest is bounded
// by what no host exceeds.
func bound(s *Server, look, again time.Duration) {
	if s.write != nil {
		s.write.tool.Bounds = change.Bounds{Look: look, Again: again, Ask: 5 * time.Minute, Call: 10 * time.Minute}
	}
}

// start runs a server that waits for its executord as long as a busy host may need.
func start(t *testing.T, cfg Config) *running {
	t.Helper()
	return startBound(t, cfg, time.Minute, time.Minute)
}

// startBound is start with the times that a look and the look of a call may take.
func startBound(t *testing.T, cfg Config, look, again time.Duration) *running {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	bound(s, look, again)
	dir, err := os.MkdirTemp("", "mcp") // t.TempDir can be longer than a socket's path
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	t.Cleanup(stop)
	return &running{s, socket, stop}
}

// client returns a session in the protocol version, "" for the newest one with
// a handshake.
func (r *running) client(t *testing.T, version string) *rawmcp.Client {
	t.Helper()
	c, err := rawmcp.Dial(r.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if version == rawmcp.ModernVersion {
		if _, err := c.Modern(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	if version == "" {
		version = rawmcp.HandshakeVersions[0]
	}
	if _, err := c.Initialize(version); err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t *testing.T, c *rawmcp.Client, name string, args any) rawmcp.ToolResult {
	t.Helper()
	r, err := c.Tool(name, args)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func contains(t *testing.T, s string, subs ...string) {
	t.Helper()
	for _, sub := range subs {
		if !strings.Contains(s, sub) {
			t.Errorf("%q is not in %s", sub, s)
		}
	}
}

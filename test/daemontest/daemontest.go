// Package daemontest runs a daemon as a process of its own for tests: under
// systemd's variables or without them, waited for by health, ended by signals.
package daemontest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"pfsensemcp/pkg/rpc"
	nodepb "pfsensemcp/proto/node/v1"
)

// Patience bounds every wait, so that what hangs ends with a word of why. A healthy
// daemon needs some thousandths of it; a busy host may need all that it leaves.
const Patience = 2 * time.Minute

// Options says how to start the process.
type Options struct {
	Exe     string   // "" is this test binary
	Args    []string // command line
	Env     []string // added to an environment that has PATH and HOME alone
	Inherit []Inherited
	User    *syscall.Credential
}

// Inherited is a socket to hand over as systemd does.
type Inherited struct {
	Name string
	File *os.File
}

// Proc is a running process.
type Proc struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

// Write collects what the process prints.
func (p *Proc) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// Output returns what the process has printed so far, both streams.
func (p *Proc) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// Start starts the process; the test's end kills it if it still runs.
func Start(t *testing.T, o Options) *Proc {
	t.Helper()
	if o.Exe == "" {
		o.Exe = os.Args[0]
	}
	p := &Proc{t: t, done: make(chan struct{})}
	p.cmd = exec.Command(o.Exe, o.Args...)
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GOCOVERDIR=" + os.TempDir()}, o.Env...)
	p.cmd.Dir = "/"
	if len(o.Inherit) > 0 {
		// LISTEN_PID must be the daemon's own, which only exec keeps.
		p.cmd = exec.Command("/bin/sh", append([]string{"-c", `LISTEN_PID=$$ exec "$@"`, "sh", o.Exe}, o.Args...)...)
		var names []string
		for _, s := range o.Inherit {
			p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, s.File)
			names = append(names, s.Name)
		}
		p.cmd.Env = append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
			"LISTEN_FDS=" + strconv.Itoa(len(names)), "LISTEN_FDNAMES=" + strings.Join(names, ":"),
		}, o.Env...)
	}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: o.User}
	p.cmd.WaitDelay = Patience // for a process of its own that outlives it and keeps the output open
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is asked for below
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Signal(syscall.SIGKILL)
		<-p.done
	})
	return p
}

// PID returns the process id.
func (p *Proc) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal; a process that has ended takes none.
func (p *Proc) Signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// Wait waits for the end and returns the exit code, -1 for a signal.
func (p *Proc) Wait() int {
	p.t.Helper()
	return p.WaitFor(Patience)
}

// WaitFor is Wait for a program that takes its time.
func (p *Proc) WaitFor(patience time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("the process did not end; it said:\n%s", p.Output())
		return -1
	}
}

// Stop ends the process by SIGTERM and fails unless it ends with code 0.
func (p *Proc) Stop() {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != 0 {
		p.t.Errorf("exit code %d after SIGTERM; it said:\n%s", code, p.Output())
	}
}

// Ended reports whether the process has ended.
func (p *Proc) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Until polls f until it holds.
func (p *Proc) Until(what string, f func() bool) {
	p.t.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if f() {
			return
		}
		if p.Ended() && !f() {
			break
		}
	}
	p.t.Fatalf("%s: not seen; the process said:\n%s", what, p.Output())
}

// Serving waits until the gRPC socket answers SERVING and returns a connection.
func (p *Proc) Serving(path string) *grpc.ClientConn {
	p.t.Helper()
	conn, err := rpc.Dial(path, "the daemon")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	p.Until(path+" serving", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		r, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		return err == nil && r.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING
	})
	return conn
}

// Node asks the daemon for its status.
func (p *Proc) Node(conn *grpc.ClientConn) *nodepb.StatusResponse {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	st, err := nodepb.NewNodeClient(conn).Status(ctx, &nodepb.StatusRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	return st
}

// Dir returns a short directory of the caller alone: a socket's path has at most
// 100 bytes.
func Dir(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("", "dt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(d) })
	return d
}

// Unprivileged returns how to start this test binary without capabilities: as it
// is, or for root a copy of it and a uid that nobody has, to which the files are
// given.
func Unprivileged(t *testing.T, files ...string) (exe string, user *syscall.Credential) {
	t.Helper()
	if os.Geteuid() != 0 {
		return "", nil
	}
	const uid = 61002
	d := Dir(t)
	exe = filepath.Join(d, "daemon")
	b, err := os.ReadFile(os.Args[0])
	err = errors.Join(err, os.WriteFile(exe, b, 0o755), os.Chmod(d, 0o755))
	for _, f := range files {
		err = errors.Join(err, os.Chown(f, uid, uid))
	}
	if err != nil {
		t.Fatal(err)
	}
	return exe, &syscall.Credential{Uid: uid, Gid: uid}
}

// Socket returns the path of a socket below a socket directory.
func Socket(dir, name string) string { return filepath.Join(dir, name, name+".sock") }

// Bind makes a socket as a socket unit would, in a directory of mode dirMode.
func Bind(t *testing.T, path string, dirMode, mode os.FileMode) *os.File {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	err = errors.Join(err, os.Chmod(filepath.Dir(path), dirMode))
	l, err2 := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Notify is a notify socket that keeps what it is told.
type Notify struct {
	Path   string
	t      *testing.T
	counts sync.Mutex // held while Count waits for its mark
	marks  chan struct{}
	mu     sync.Mutex
	said   []string
}

// mark is what Count sends to itself; no daemon says it.
const mark = "MARK"

// NewNotify binds a notify socket in dir.
func NewNotify(t *testing.T, dir string) *Notify {
	t.Helper()
	n := &Notify{Path: filepath.Join(dir, "notify"), t: t, marks: make(chan struct{}, 1)}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: n.Path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		b := make([]byte, 4096)
		for {
			k, err := c.Read(b)
			if err != nil {
				return
			}
			if string(b[:k]) == mark {
				n.marks <- struct{}{}
				continue
			}
			n.mu.Lock()
			n.said = append(n.said, string(b[:k]))
			n.mu.Unlock()
		}
	}()
	return n
}

// Count returns how many notifications began with prefix. It knows of all that were
// sent before it was called, those of a daemon that has ended too: it is told last
// that the socket has been read so far.
func (n *Notify) Count(prefix string) int {
	n.t.Helper()
	n.counts.Lock()
	defer n.counts.Unlock()
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.Path, Net: "unixgram"})
	if err != nil {
		n.t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(mark)); err != nil {
		n.t.Fatal(err)
	}
	<-n.marks
	n.mu.Lock()
	defer n.mu.Unlock()
	k := 0
	for _, s := range n.said {
		if strings.HasPrefix(s, prefix) {
			k++
		}
	}
	return k
}

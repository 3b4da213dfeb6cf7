// Package process owns programs that run under the supervisor: each in a group of its
// own, none outliving it, started again when it ends.
//
// Only packages of supervise import it. It must never leave a descriptor of the
// caller's open in a program, nor look a program up by a search path.
//
// The attack it stops: a program of another owner that is found first, or one that
// lives on with a socket or a lock of a suite that has ended.
package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/textsafe"
)

// stopGrace is how long a process may take to end after SIGTERM before it is
// killed. The daemons end within a bound of their own, 4 s; the rest is for a busy
// host.
const stopGrace = 10 * time.Second

// maxBackoff bounds the wait before a daemon that ended is started again.
const maxBackoff = 30 * time.Second

// steadyAfter is how long a program must have run for its end to count as the first
// one: what cannot start ends sooner.
const steadyAfter = 10 * time.Second

// nextWait is the wait before a program that ran for a time is started again; last is
// the wait before that run, 0 when there was none.
func nextWait(last, ran time.Duration) time.Duration {
	if last == 0 || ran >= steadyAfter {
		return time.Second
	}
	return min(2*last, maxBackoff)
}

// Process is one program the supervisor keeps running.
type Process struct {
	Name string
	Path string
	Args []string
	Env  []string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	err  error         // how it ended
}

// Start runs the program once. Its standard error goes to the log file that it
// opens itself; what it says before that is kept for the error message.
func (p *Process) Start(stdout io.Writer, stderr *Tail) error {
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Env = p.Env
	cmd.Stdout, cmd.Stderr = stdout, stderr
	// A group of its own: Ctrl-C at the terminal reaches the supervisor alone,
	// which then ends its processes in order. Pdeathsig: nothing outlives a
	// supervisor that was killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	done := make(chan struct{})
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when the *thread* that forked ends, so
		// that thread stays with the process until it is reaped.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.mu.Lock()
			p.cmd, p.done, p.err = cmd, done, nil
			p.mu.Unlock()
		}
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(done)
	}()
	if err := <-started; err != nil {
		return errs.Wrap(err, errs.Unavailable, "the program "+p.Path+" cannot be started").
			WithNext("run make build, and keep the programs in one directory")
	}
	return nil
}

// KeepDescriptors marks every open descriptor beyond the standard three to be
// closed when a program is started. Ours are marked already; what the caller's
// shell left open is not, and a daemon that may open no network and no file must
// not be born with one.
func KeepDescriptors() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "the open descriptors cannot be listed").WithNext("mount /proc")
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd) // the one of the listing is gone, which does no harm
		}
	}
	return nil
}

// Ended returns a channel that is closed when the running program has ended.
func (p *Process) Ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// PID returns the process id of the running program, 0 before the first start.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// How says how the program ended.
func (p *Process) How() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ee *exec.ExitError
	switch {
	case p.err == nil:
		return "exit status 0"
	case errors.As(p.err, &ee):
		return ee.ProcessState.String()
	}
	return "it could not be waited for"
}

// Stop ends the program: SIGTERM, then SIGKILL after the grace.
func (p *Process) Stop() {
	p.mu.Lock()
	cmd, done := p.cmd, p.done
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended: then there is nothing to end
	t := time.NewTimer(stopGrace)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		_ = cmd.Process.Kill() // the same
		<-done
	}
}

// Keep starts the program again whenever it ends, as systemd would, until ctx
// is done. Each start in a row waits twice as long; after a run that went well the
// row begins anew.
func (p *Process) Keep(ctx context.Context, say func(string), stderr *Tail) {
	var wait time.Duration
	for {
		begun := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-p.Ended():
		}
		if ctx.Err() != nil { // its end was asked for
			return
		}
		wait = nextWait(wait, time.Since(begun))
		say(p.Name + " ended (" + p.How() + "); starting it again in " + wait.String())
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		if ctx.Err() != nil {
			return
		}
		if err := p.Start(nil, stderr); err != nil {
			// The program is being built anew, or the machine has no room for a
			// process: it will have.
			say(err.Error())
		}
	}
}

// Tail keeps the last lines a program wrote to standard error, for the message
// when it does not start.
type Tail struct {
	mu  sync.Mutex
	buf []byte
}

// tailBytes bounds what is kept of a program's standard error.
const tailBytes = 4 << 10

// Write keeps the end of p.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}

// ReadyLine waits for a line `ready key=value …` of a program and returns its
// values.
type ReadyLine struct {
	w    *io.PipeWriter
	Line chan map[string]string
}

// NewReadyLine returns a writer to give to the program as standard output.
func NewReadyLine() *ReadyLine {
	r, w := io.Pipe()
	rl := &ReadyLine{w: w, Line: make(chan map[string]string, 1)}
	go func() {
		sc := bufio.NewScanner(r)
		for sc.Scan() {
			words := strings.Fields(sc.Text())
			if len(words) == 0 || words[0] != "ready" {
				continue
			}
			values := map[string]string{}
			for _, w := range words[1:] {
				if k, v, ok := strings.Cut(w, "="); ok {
					values[k] = v
				}
			}
			select {
			case rl.Line <- values:
			default: // only the first one counts
			}
		}
		_, _ = io.Copy(io.Discard, r) // an over-long line must not block the program
	}()
	return rl
}

// Write passes the program's output on.
func (r *ReadyLine) Write(p []byte) (int, error) { return r.w.Write(p) }

// Find returns the path of one of our programs: beside this one, never
// by a search path that somebody else may control.
func Find(dir, name string) (string, error) {
	p := filepath.Join(dir, name)
	fi, err := os.Stat(p)
	if err != nil || fi.IsDir() || fi.Mode()&0o111 == 0 {
		return "", errs.New(errs.NotFound, "the program "+name+" is not in "+dir).
			WithNext("run make build")
	}
	return p, nil
}

// NotStarted is the error for a program that ended before it was ready. say gets the
// program's own message to a person, a line each; it holds no secret.
func NotStarted(p *Process, stderr *Tail, say func(string)) error {
	for line := range strings.Lines(stderr.String()) {
		say(textsafe.Clean(strings.TrimSuffix(line, "\n"), tailBytes))
	}
	next := "correct what it names and try again"
	if p.Name == "mcpd" {
		// Its settings file is ours and goes with the run: nobody should edit it.
		next = "mcpctl run takes mcpd's settings from PFSENSE_* variables: correct what it names and try again; without an appliance, mcpctl run --demo"
	}
	return errs.New(errs.Unavailable, p.Name+" did not start ("+p.How()+")").WithNext(next)
}

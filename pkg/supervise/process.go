package supervise

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
)

// stopGrace is how long a process may take to end after SIGTERM before it is
// killed. The daemons end within their own 2 s bound.
const stopGrace = 5 * time.Second

// maxBackoff bounds the wait before a daemon that ended is started again.
const maxBackoff = 30 * time.Second

// process is one program the supervisor keeps running.
type process struct {
	name string
	path string
	args []string
	env  []string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	err  error         // how it ended
}

// start runs the program once. Its standard error goes to the log file that it
// opens itself; what it says before that is kept for the error message.
func (p *process) start(stdout io.Writer, stderr *tail) error {
	cmd := exec.Command(p.path, p.args...)
	cmd.Env = p.env
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
		return errs.Wrap(err, errs.Unavailable, "the program "+p.path+" cannot be started").
			WithNext("run make build, and keep the programs in one directory")
	}
	return nil
}

// keepDescriptors marks every open descriptor beyond the standard three to be
// closed when a program is started. Ours are marked already; what the caller's
// shell left open is not, and a daemon that may open no network and no file must
// not be born with one.
func keepDescriptors() error {
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

// ended returns a channel that is closed when the running program has ended.
func (p *process) ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// pid returns the process id of the running program, 0 before the first start.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// how says how the program ended.
func (p *process) how() string {
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

// stop ends the program: SIGTERM, then SIGKILL after the grace.
func (p *process) stop() {
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

// keep starts the program again whenever it ends, as systemd would, until ctx
// is done. Each start in a row waits twice as long.
func (p *process) keep(ctx context.Context, say func(string), stderr *tail) {
	wait := time.Second
	for {
		begun := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-p.ended():
		}
		if time.Since(begun) > maxBackoff {
			wait = time.Second
		}
		say(p.name + " ended (" + p.how() + "); starting it again in " + wait.String())
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		wait = min(2*wait, maxBackoff)
		if ctx.Err() != nil {
			return
		}
		if err := p.start(nil, stderr); err != nil {
			// The program is being built anew, or the machine has no room for a
			// process: it will have.
			say(err.Error())
		}
	}
}

// tail keeps the last lines a program wrote to standard error, for the message
// when it does not start.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// tailBytes bounds what is kept of a program's standard error.
const tailBytes = 4 << 10

// Write keeps the end of p.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}

// readyLine waits for a line `ready key=value …` of a program and returns its
// values.
type readyLine struct {
	w    *io.PipeWriter
	line chan map[string]string
}

// newReadyLine returns a writer to give to the program as standard output.
func newReadyLine() *readyLine {
	r, w := io.Pipe()
	rl := &readyLine{w: w, line: make(chan map[string]string, 1)}
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
			case rl.line <- values:
			default: // only the first one counts
			}
		}
		_, _ = io.Copy(io.Discard, r) // an over-long line must not block the program
	}()
	return rl
}

// Write passes the program's output on.
func (r *readyLine) Write(p []byte) (int, error) { return r.w.Write(p) }

// findProgram returns the path of one of our programs: beside this one, never
// by a search path that somebody else may control.
func findProgram(dir, name string) (string, error) {
	p := filepath.Join(dir, name)
	fi, err := os.Stat(p)
	if err != nil || fi.IsDir() || fi.Mode()&0o111 == 0 {
		return "", errs.New(errs.NotFound, "the program "+name+" is not in "+dir).
			WithNext("run make build")
	}
	return p, nil
}

// since formats how long something took, for progress lines.
func since(t time.Time) string {
	return strconv.FormatFloat(time.Since(t).Seconds(), 'f', 2, 64) + " s"
}

package systemd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Bounds of every wait: a machine with nothing else to do needs a fiftieth of them.
const (
	bootWait = 3 * time.Minute
	cmdWait  = 2 * time.Minute
)

// container is a booted system.
type container struct {
	t      *testing.T
	leader int                                                                     // its PID 1, as this machine numbers it
	remote func(stdin string, within time.Duration, args []string) (string, error) // of a virtual machine: runs a command in it
	slow   time.Duration                                                           // how much longer everything may take
}

// lines collects what the boot says.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.b.String()
	return s[max(0, len(s)-3000):]
}

// start boots a container, or skips saying what this machine lacks.
func start(t *testing.T) *container {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this machine cannot boot a container for this user: it takes root")
	}
	for _, p := range []string{"systemd-nspawn", "nsenter", "unshare", "setpriv", "systemd-sysusers", "dpkg"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("this machine cannot boot a container: %s is missing (Debian: systemd-container, util-linux)", p)
		}
	}
	probe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := programsBuilt(t)
	packages, err := packed()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "systemd-boot")
	if err != nil {
		t.Fatal(err)
	}
	name := "pfsense-mcp-test-" + strconv.Itoa(os.Getpid())

	// The container must end with this process, however that ends: unshare dies
	// with the thread that started it, and its PID namespace with unshare.
	runtime.LockOSThread()
	out := &lines{}
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc",
		"./boot.sh", "up", dir, programs, packages, probe, name)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	cmd.WaitDelay = cmdWait
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the exit code is asked for below
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // gone already: fine
		<-ended
		ctx, cancel := context.WithTimeout(context.Background(), cmdWait)
		defer cancel()
		if b, err := exec.CommandContext(ctx, "unshare", "--mount", "--propagation", "private", "./boot.sh", "clean", name).CombinedOutput(); err != nil {
			t.Errorf("the control groups stay: %v\n%s", err, b)
		}
		if err := os.Remove(dir); err != nil {
			t.Errorf("the mount point stays: %v", err)
		}
	})

	c := &container{t: t}
	deadline := time.Now().Add(bootWait)
	for state := ""; ; time.Sleep(50 * time.Millisecond) {
		select {
		case <-ended:
			if cmd.ProcessState.ExitCode() == 77 {
				t.Skip("this machine " + strings.TrimSpace(out.tail()))
			}
			t.Fatalf("the container ended: %v\n%s", cmd.ProcessState, out.tail())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("no system within %v; state %q\n%s", bootWait, state, out.tail())
		}
		if c.leader == 0 {
			c.leader = leader(cmd.Process.Pid)
			continue
		}
		b, _ := c.try(cmdWait, "systemctl", "is-system-running") // the word is the answer
		if state = strings.TrimSpace(b); state == "running" {
			return c
		}
		if state == "degraded" {
			b, _ := c.try(cmdWait, "systemctl", "--failed", "--no-pager")
			t.Fatalf("the container's own units fail:\n%s", b)
		}
	}
}

// leader finds the container's PID 1 among the descendants of a process.
func leader(root int) int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	parent := map[int]int{}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		if err != nil {
			continue // it has ended
		}
		s := fields(string(b))
		parent[pid], _ = strconv.Atoi(s["PPid"])
		if in := strings.Fields(s["NSpid"]); s["Name"] == "systemd" && len(in) > 1 && in[len(in)-1] == "1" {
			found = append(found, pid)
		}
	}
	for _, pid := range found {
		for p := pid; p > 1; p = parent[p] {
			if p == root {
				return pid
			}
		}
	}
	return 0
}

// fields reads the lines "Key: value" of a file of /proc.
func fields(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			out[k] = strings.TrimSpace(v)
		}
	}
	return out
}

// enter is the command line that runs args in the container.
func (c *container) enter(args ...string) []string {
	return append([]string{"nsenter", "--target", strconv.Itoa(c.leader), "--all", "--wd", "--"}, args...)
}

// as makes a command line run as a user with that user's groups.
func as(user string, args ...string) []string {
	return append([]string{"setpriv", "--reuid=" + user, "--regid=" + group(user), "--init-groups", "--"}, args...)
}

func group(user string) string {
	if user == "nobody" {
		return "nogroup"
	}
	return user
}

// clean is the environment of commands in the system.
var clean = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0"}

// try runs a command in the container and returns both streams.
func (c *container) try(within time.Duration, args ...string) (string, error) {
	return c.feed("", within, args...)
}

func (c *container) feed(stdin string, within time.Duration, args ...string) (string, error) {
	within *= max(1, c.slow)
	if c.remote != nil {
		return c.remote(stdin, within, args)
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	line := c.enter(args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = clean
	cmd.WaitDelay = within // for what it leaves running with its output
	b, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.Join(err, fmt.Errorf("not within %v", within))
	}
	return string(b), err
}

// run is try for what must work.
func (c *container) run(args ...string) string {
	c.t.Helper()
	out, err := c.try(cmdWait, args...)
	if err != nil {
		c.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(out)
}

// write makes a file in the container, and its directory.
func (c *container) write(path, mode, text string) {
	c.t.Helper()
	if out, err := c.feed(text, cmdWait, "sh", "-c", `mkdir -p "${1%/*}" && cat >"$1" && chmod "$2" "$1"`, "sh", path, mode); err != nil {
		c.t.Fatalf("writing %s: %v\n%s", path, err, out)
	}
}

// show returns one property of a unit.
func (c *container) show(unit, property string) string {
	c.t.Helper()
	return c.run("systemctl", "show", "--value", "--property="+property, unit)
}

// until waits for a condition.
func (c *container) until(what string, within time.Duration, ok func() bool) {
	c.t.Helper()
	within *= max(1, c.slow)
	for deadline := time.Now().Add(within); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// in is the container for a subtest.
func (c *container) in(t *testing.T) *container {
	sub := *c
	sub.t = t
	return &sub
}

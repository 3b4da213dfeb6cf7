package rig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Proc is one process.
type Proc struct {
	Name string
	argv []string
	env  []string
	user *syscall.Credential
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// run starts a process; what it prints goes to a file, as cheap as the journal's
// socket.
func (r *Rig) run(p *Proc) error {
	p.log = filepath.Join(r.Dir, fmt.Sprintf("%s.%d.log", p.Name, len(r.procs)))
	out, err := os.Create(p.log)
	if err != nil {
		return err
	}
	defer out.Close()
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=/"}, p.env...)
	p.cmd.Dir = "/"
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user, Pdeathsig: syscall.SIGKILL}
	p.done = make(chan struct{})
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended shows in what it was needed for
		close(p.done)
	}()
	r.procs = append(r.procs, p)
	return nil
}

// end asks the process to end, and makes it.
func (p *Proc) end() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // one that has ended takes none
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

func (p *Proc) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// said returns the end of what the process printed.
func (p *Proc) said() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4096):])
}

// PID returns the process id.
func (p *Proc) PID() int { return p.cmd.Process.Pid }

// RSS returns the bytes of memory that a process has now.
func RSS(pid int) (int64, error) { return status(pid, "VmRSS:") }

// Peak returns the most memory, in bytes, that a process had since ResetPeak.
func Peak(pid int) (int64, error) { return status(pid, "VmHWM:") }

// ResetPeak makes Peak begin anew. It needs to be root or the owner of a process
// that may be looked at.
func ResetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// PeakOf returns the most memory, in bytes, that a process had while f ran. Whoever
// may not reset the kernel's own peak gets the most of samples, one a millisecond.
func PeakOf(pid int, f func() error) (int64, error) {
	if ResetPeak(pid) == nil {
		if err := f(); err != nil {
			return 0, err
		}
		return Peak(pid)
	}
	most, stop, done := int64(0), make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			n, err := RSS(pid)
			if err != nil {
				done <- err
				return
			}
			most = max(most, n)
			select {
			case <-stop:
				done <- nil
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	err := f()
	close(stop)
	return most, errors.Join(err, <-done)
}

func status(pid int, name string) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("no " + name)
}

// tick is what /proc counts CPU time in: 100 a second on every Linux that Go
// runs on.
const tick = 10 * time.Millisecond

// CPU returns the CPU time that a process has used, to a hundredth of a second.
func CPU(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the program may hold blanks; it ends at the last bracket.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0, errors.New("an unknown form of /proc/PID/stat")
	}
	user, err := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * tick, errors.Join(err, err2)
}

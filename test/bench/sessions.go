package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pfsensemcp/test/bench/rig"
)

// perUser is how many sessions one account may have, and what one helper opens.
const perUser = 64

// crowd is sessions that other processes hold: mcpd takes 64 of an account, so
// each helper runs as another user. Without root there is one account, and 64
// sessions are all there can be.
type crowd struct {
	socket  string
	helpers []*helper
	n       int
}

type helper struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	n   int
}

// most is how many sessions there can be.
func most() int {
	if rig.Root() {
		return 256
	}
	return perUser
}

// grow opens sessions until there are n.
func (w *crowd) grow(n int) error {
	for w.n < n {
		var h *helper
		if len(w.helpers) > 0 {
			h = w.helpers[len(w.helpers)-1]
		}
		if h == nil || h.n == perUser {
			var err error
			if h, err = w.start(); err != nil {
				return err
			}
		}
		k := min(n-w.n, perUser-h.n)
		if err := h.order(fmt.Sprintf("open %d", k)); err != nil {
			return err
		}
		h.n += k
		w.n += k
	}
	return nil
}

// start starts a helper as a user of its own. It is this program, copied to
// where other users may run it.
func (w *crowd) start() (*helper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &helper{cmd: exec.Command("/proc/self/fd/3", "-helper", "sessions", w.socket)}
	prog, err := os.Open(self)
	if err != nil {
		return nil, err
	}
	defer prog.Close()
	h.cmd.ExtraFiles = []*os.File{prog} // the directory of `go run` is the caller's alone
	h.cmd.Env, h.cmd.Dir, h.cmd.Stderr = []string{}, "/", os.Stderr
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: rig.Client(len(w.helpers)), Pdeathsig: syscall.SIGKILL}
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.out = bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	w.helpers = append(w.helpers, h)
	return h, nil
}

// order sends one line and waits for the helper's word.
func (h *helper) order(line string) error {
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		return err
	}
	said, err := h.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("a helper ended: %w", err)
	}
	if said != "done\n" {
		return errors.New("a helper failed: " + strings.TrimSpace(said))
	}
	return nil
}

// call makes every session call a tool k times, all at once.
func (w *crowd) call(tool string, k int) error {
	faults := make(chan error, len(w.helpers))
	for _, h := range w.helpers {
		go func() { faults <- h.order(fmt.Sprintf("call %s %d", tool, k)) }()
	}
	var err error
	for range w.helpers {
		err = errors.Join(err, <-faults)
	}
	return err
}

func (w *crowd) close() {
	for _, h := range w.helpers {
		_ = h.in.Close()
		_ = h.cmd.Wait() // it ends with its input
	}
}

// help is this program as a helper: it obeys the lines on its input.
func help(what string, args []string, in io.Reader, out io.Writer) error {
	switch {
	case what == "sessions" && len(args) == 1:
		return holdSessions(args[0], in, out)
	case what == "index" && len(args) == 1:
		return indexOnce(args[0], out)
	}
	return errors.New("there is no such helper")
}

// holdSessions opens sessions and calls tools on all of them, as it is told.
func holdSessions(socket string, in io.Reader, out io.Writer) error {
	var open []*lines
	orders := bufio.NewScanner(in)
	for orders.Scan() {
		words := strings.Fields(orders.Text())
		n, err := strconv.Atoi(words[len(words)-1])
		switch {
		case err != nil:
		case words[0] == "open":
			for range n {
				var c *lines
				if c, err = dial(socket); err != nil {
					break
				}
				open = append(open, c)
			}
		case words[0] == "call":
			_, _, err = each(len(open), n, func(i int) error { _, err := open[i].call(words[1], "{}"); return err })
		}
		said := "done"
		if err != nil {
			said = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		if _, err := fmt.Fprintln(out, said); err != nil {
			return err
		}
	}
	return orders.Err()
}

// each runs f k times on each of n workers.
func each(n, k int, f func(i int) error) (time.Duration, int, error) {
	faults := make(chan error, n)
	begun := time.Now()
	for i := range n {
		go func() {
			var err error
			for range k {
				if err = f(i); err != nil {
					break
				}
			}
			faults <- err
		}()
	}
	var err error
	for range n {
		err = errors.Join(err, <-faults)
	}
	return time.Since(begun), n * k, err
}

// sessions is mcpd's memory for each further session that does nothing.
func (b *bench) sessions() error {
	r, p, err := b.begin(0, "")
	if err != nil {
		return err
	}
	defer r.Close()
	w := &crowd{socket: r.Socket("mcp")}
	defer w.close()
	const first = 8 // what the first ones bring into memory, all others share
	n := min(200, most()-first)
	if err := w.grow(first); err != nil {
		return err
	}
	time.Sleep(settle)
	before, err := rig.RSS(p.PID())
	if err != nil {
		return err
	}
	if err := w.grow(first + n); err != nil {
		return err
	}
	time.Sleep(settle)
	after, err := rig.RSS(p.PID())
	if err != nil {
		return err
	}
	b.take("session_kib", float64(after-before)/1024/float64(n), fmt.Sprintf("VmRSS of mcpd, %d sessions of %d users on top of %d", n, len(w.helpers), first))
	return nil
}

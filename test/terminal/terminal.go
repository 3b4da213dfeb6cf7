// Package terminal is a pseudo-terminal for tests of programs that ask people: one side
// is the program's, the other has a screen that can be read and a keyboard.
package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is one pseudo-terminal. It ends with the test.
type Terminal struct {
	Slave *os.File      // the program's side
	More  chan struct{} // has a value when something came onto the screen

	master *os.File
	mu     sync.Mutex
	shown  bytes.Buffer
}

// New opens a terminal. Where there are none the test is skipped.
func New(t testing.TB) *Terminal {
	t.Helper()
	// Not through the runtime's poller: a read must end when the other side closes.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &Terminal{Slave: slave, More: make(chan struct{}, 1), master: os.NewFile(uintptr(fd), "ptmx")}
	go x.collect()
	t.Cleanup(func() { _ = slave.Close(); _ = x.master.Close() }) // nothing rests on how they end
	return x
}

func (x *Terminal) collect() {
	b := make([]byte, 4096)
	for {
		n, err := x.master.Read(b)
		x.mu.Lock()
		x.shown.Write(b[:n])
		x.mu.Unlock()
		select {
		case x.More <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// Text returns what stands on the screen so far.
func (x *Terminal) Text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.ReplaceAll(x.shown.String(), "\r\n", "\n")
}

// Whole returns what stands on the screen once all that was written to it so far is
// there: a last word of the program's side says that it is.
func (x *Terminal) Whole() (string, error) {
	const last = "\x00the last word\x00"
	if _, err := x.Slave.WriteString(last); err != nil {
		return x.Text(), err
	}
	limit := time.After(2 * time.Minute)
	for {
		x.mu.Lock()
		before, after, found := bytes.Cut(bytes.Clone(x.shown.Bytes()), []byte(last))
		if found {
			x.shown.Reset()
			x.shown.Write(append(before, after...))
		}
		x.mu.Unlock()
		if found {
			return x.Text(), nil
		}
		select {
		case <-x.More:
		case <-limit:
			return x.Text(), errors.New("the screen does not show what was written last")
		}
	}
}

// Type types on the keyboard.
func (x *Terminal) Type(s string) error {
	_, err := x.master.WriteString(s)
	return err
}

// Package swtpm gives tests a TPM: a real swtpm process over a Unix socket that
// can be killed, frozen, restarted and set back to an older state, and a proxy
// that stands between a program and it. For tests and their programs alone.
package swtpm

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"pfsensemcp/test/trial"
)

// patience bounds every wait for the process, which needs some thousandths of it.
const patience = time.Minute

// TPM is one emulated TPM. It ends with the test.
type TPM struct {
	tb    trial.T
	dir   string
	state string
	sock  string

	mu  sync.Mutex // hooks of a proxy run beside the test
	cmd *exec.Cmd
}

// New starts a blank TPM. Without swtpm the test is skipped; where CI=true it
// fails, because then it should be there (deploy/ensure-swtpm.sh).
func New(tb trial.T) *TPM {
	tb.Helper()
	if _, err := exec.LookPath("swtpm"); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatal("swtpm is missing: deploy/ensure-swtpm.sh installs it")
		}
		tb.Skip("swtpm is missing: deploy/ensure-swtpm.sh installs it")
	}
	// Not tb.TempDir: its path may be too long for a socket.
	dir, err := os.MkdirTemp("", "swtpm")
	if err != nil {
		tb.Fatal(err)
	}
	t := &TPM{tb: tb, dir: dir, state: filepath.Join(dir, "state"), sock: filepath.Join(dir, "tpm")}
	tb.Cleanup(func() {
		t.Kill()
		_ = os.RemoveAll(dir)
	})
	if err := os.Mkdir(t.state, 0o700); err != nil {
		tb.Fatal(err)
	}
	t.Start()
	return t
}

// Socket returns the path of the TPM's socket, Address what executord calls it.
func (t *TPM) Socket() string { return t.sock }

// Address returns unix: and the path of the socket.
func (t *TPM) Address() string { return "unix:" + t.sock }

// Start starts the process on the state that is there: a cold start, as after a
// loss of power.
func (t *TPM) Start() {
	t.tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = os.Remove(t.sock)
	t.cmd = exec.Command("swtpm", "socket", "--tpm2", "--tpmstate", "dir="+t.state,
		"--server", "type=unixio,path="+t.sock, "--ctrl", "type=unixio,path="+t.sock+".ctrl", "--flags", "not-need-init,startup-clear")
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := t.cmd.Start(); err != nil {
		t.tb.Fatal(err)
	}
	for end := time.Now().Add(patience); ; {
		c, err := net.Dial("unix", t.sock)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			t.tb.Fatalf("swtpm does not come up: %v", err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Stop ends the process in order: TPM2_Shutdown, as a host that is shut down
// sends it, then SIGTERM.
func (t *TPM) Stop() {
	t.tb.Helper()
	c := t.Dial()
	_, err := c.Send([]byte{0x80, 0x01, 0, 0, 0, 12, 0, 0, 0x01, 0x45, 0, 0})
	_ = c.Close() // answered, or not
	if err != nil {
		t.tb.Fatal(err)
	}
	t.end(syscall.SIGTERM)
}

// Kill ends the process at once, without a TPM2_Shutdown: a loss of power. After
// the use of a secret that is protected against guessing the TPM counts it as a
// wrong try, and locks after three.
func (t *TPM) Kill() { t.end(syscall.SIGKILL) }

func (t *TPM) end(s syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cmd == nil {
		return
	}
	_ = t.cmd.Process.Signal(s)
	_ = t.cmd.Wait()
	t.cmd = nil
}

// Freeze stops the process, Thaw lets it go on.
func (t *TPM) Freeze() { t.signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (t *TPM) Thaw() { t.signal(syscall.SIGCONT) }

func (t *TPM) signal(s syscall.Signal) {
	t.tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.cmd.Process.Signal(s); err != nil {
		t.tb.Fatal(err)
	}
}

// Save copies the state as a disk image would hold it; the returned function puts
// it back and starts the TPM on it.
func (t *TPM) Save() (restore func()) {
	t.tb.Helper()
	kept := map[string][]byte{}
	files, err := os.ReadDir(t.state)
	if err != nil {
		t.tb.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(t.state, f.Name()))
		if err != nil {
			t.tb.Fatal(err)
		}
		kept[f.Name()] = b
	}
	return func() {
		t.tb.Helper()
		t.Kill()
		if err := os.RemoveAll(t.state); err != nil {
			t.tb.Fatal(err)
		}
		if err := os.Mkdir(t.state, 0o700); err != nil {
			t.tb.Fatal(err)
		}
		for name, b := range kept {
			if err := os.WriteFile(filepath.Join(t.state, name), b, 0o600); err != nil {
				t.tb.Fatal(err)
			}
		}
		t.Start()
	}
}

// Transport is a connection for go-tpm's commands: it implements transport.TPM.
// The TPM serves one connection at a time, so close it.
type Transport struct{ net.Conn }

// Dial opens one.
func (t *TPM) Dial() Transport {
	t.tb.Helper()
	var d net.Dialer
	c, err := d.DialContext(context.Background(), "unix", t.sock)
	if err != nil {
		t.tb.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.tb.Fatal(err)
	}
	return Transport{c}
}

// Send gives a command to the TPM and returns the answer.
func (c Transport) Send(command []byte) ([]byte, error) {
	if _, err := c.Write(command); err != nil {
		return nil, err
	}
	return message(c)
}

// message reads one command or answer: both say their length in bytes 2 to 5.
func message(r io.Reader) ([]byte, error) {
	head := make([]byte, 10)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	size := int(head[2])<<24 | int(head[3])<<16 | int(head[4])<<8 | int(head[5])
	if size < len(head) || size > 4096 {
		return nil, io.ErrUnexpectedEOF
	}
	out := make([]byte, size)
	copy(out, head)
	_, err := io.ReadFull(r, out[len(head):])
	return out, err
}

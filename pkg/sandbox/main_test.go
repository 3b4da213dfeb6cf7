package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A sandbox cannot be undone, so every test starts this binary again, as a
// process that tries each attack, applies a profile, tries each again, and
// tells what happened.

// job is what the child is asked to do.
type job struct {
	Profile Profile
	Mode    Mode
	NoEarly bool

	Port      int    // a TCP listener of the parent
	OtherPort int    // another one
	DNS       string // a name server of the parent
	Unix      string // a Unix listener of the parent
	Abstract  string // an abstract one
	Serve     string // the child listens here before Apply, and must go on accepting
	Secret    string // a file outside the profile
	Inside    string // a file inside the profile, "" for none
	Dir       string // a directory to write in, "" for none
}

// answer is what the child tells: for each attack the errno or text it met.
type answer struct {
	Before, After map[string]string
	Works         map[string]string // what must still work
	Report        Report
	Err           string
}

const works = "works"

func TestMain(m *testing.M) {
	if os.Getenv("SANDBOX_TEST_CHILD") != "" {
		child()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child() {
	var j job
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &j)
	}
	if err != nil {
		panic(err)
	}
	a := answer{Before: map[string]string{}, After: map[string]string{}, Works: map[string]string{}}
	var l net.Listener
	if j.Serve != "" {
		if l, err = net.Listen("unix", j.Serve); err != nil {
			panic(err)
		}
	}
	for name, f := range attacks(j) {
		a.Before[name] = outcome(f())
	}
	if !j.NoEarly {
		err = Early()
	}
	if err == nil {
		a.Report, err = Apply(j.Profile, j.Mode)
	}
	if err != nil {
		a.Err = err.Error()
	} else {
		for name, f := range attacks(j) {
			a.After[name] = outcome(f())
		}
		for name, f := range duties(j, l) {
			a.Works[name] = outcome(f())
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, in) // stay, so that the parent can look at the threads
}

// outcome makes a result comparable: the errno's name where there is one.
func outcome(err error) string {
	if err == nil {
		return works
	}
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		switch no {
		case syscall.EPERM:
			return "EPERM"
		case syscall.EACCES:
			return "EACCES"
		case syscall.EAFNOSUPPORT:
			return "EAFNOSUPPORT"
		case syscall.ENOSYS:
			return "ENOSYS"
		}
		return "errno " + strconv.Itoa(int(no)) + " " + no.Error()
	}
	return err.Error()
}

// bench is one place to run children from: listeners, files and a copy of this
// binary that another user may start.
type bench struct {
	job
	exe  string
	cred *syscall.Credential
}

// newBench prepares a bench. As root, asUser runs the child under a uid that
// nobody has: the walls must not depend on root, and Require needs a process
// without capabilities.
func newBench(t *testing.T, asUser bool) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	b := &bench{exe: os.Args[0]}
	if asUser && os.Getuid() == 0 {
		b.cred = &syscall.Credential{Uid: 61001, Gid: 61001}
		b.exe = filepath.Join(dir, "child")
		copyFile(t, os.Args[0], b.exe, 0o755)
	}
	b.Secret = filepath.Join(dir, "outside")
	b.Inside = filepath.Join(dir, "in", "inside")
	b.Dir = filepath.Join(dir, "logs")
	b.Serve = filepath.Join(dir, "own", "serve.sock")
	for _, d := range []string{"in", "logs", "own", "peer"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{b.Secret, b.Inside} {
		if err := os.WriteFile(f, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(f, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b.Unix = filepath.Join(dir, "peer", "peer.sock")
	b.Abstract = "@pfsensemcp-sandbox-" + filepath.Base(dir)
	for _, name := range []string{b.Unix, b.Abstract} {
		accept(t, "unix", name)
	}
	if err := os.Chmod(b.Unix, 0o777); err != nil {
		t.Fatal(err)
	}
	b.Port = accept(t, "tcp4", "127.0.0.1:0").(*net.TCPAddr).Port
	b.OtherPort = accept(t, "tcp4", "127.0.0.1:0").(*net.TCPAddr).Port
	b.DNS = nameServer(t)
	return b
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// accept listens, takes every connection and says one byte on it.
func accept(t *testing.T, network, addr string) net.Addr {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte{'!'})
			_ = c.Close()
		}
	}()
	return l.Addr()
}

// nameServer answers every question with the name error; an answer is all that
// the test needs.
func nameServer(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		b := make([]byte, 512)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			if n < 12 {
				continue
			}
			b[2], b[3] = b[2]|0x80, 3 // an answer: NXDOMAIN
			b[6], b[7], b[8], b[9] = 0, 0, 0, 0
			b[10], b[11] = 0, 0 // no additional records: drop the EDNS one
			end := 12
			for end < n && b[end] != 0 {
				end += int(b[end]) + 1
			}
			_, _ = c.WriteTo(b[:min(end+5, n)], from)
		}
	}()
	return c.LocalAddr().String()
}

// run starts the child and returns what it told; look is called while it still
// lives.
func (b *bench) run(t *testing.T, p Profile, mode Mode, look func(pid int)) answer {
	t.Helper()
	b.Profile, b.Mode = p, mode
	cmd := exec.Command(b.exe)
	cmd.Env = []string{"SANDBOX_TEST_CHILD=1", "PATH=" + os.Getenv("PATH")}
	cmd.Dir = "/"
	if b.cred != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: b.cred}
	}
	var errOut strings.Builder
	cmd.Stderr = &errOut
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the child ended with %v\n%s", err, errOut.String())
		}
		_ = os.Remove(b.Serve)
	}()
	line, err := json.Marshal(b.job)
	if err == nil {
		_, err = in.Write(append(line, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.NewDecoder(out).Decode(&a); err != nil {
		t.Fatalf("the child did not answer: %v\n%s", err, errOut.String())
	}
	if look != nil {
		look(cmd.Process.Pid)
	}
	return a
}

package badinput

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfsensemcp/pkg/rpc"
	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/programs"
	"pfsensemcp/test/swtpm"
	"pfsensemcp/test/writepath"
)

// canary stands wherever an outsider could put a text. No message may hold it.
const canary = "canary-of-an-outsider-7f3a"

var demo string // the test build of executord

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "badinput")
	if err == nil {
		err = os.Chmod(dir, 0o755) // every user of a test must be able to run them
	}
	if err == nil {
		demo, err = writepath.Program(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	if shippedBuilt {
		if dir, err := shipped(); err == nil {
			_ = os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}

func root() bool { return os.Geteuid() == 0 }

func needsRoot(t *testing.T) {
	t.Helper()
	if !root() {
		t.Skip("this needs root, who alone can give files to other users")
	}
}

// site is a write path that nothing is wrong with yet, and the process that is
// started on it.
type site struct {
	*writepath.Rig
	t    *testing.T
	tpm  *swtpm.TPM
	text string   // the settings as they are written at the start
	argv []string // what comes before the program
	proc *daemontest.Proc
}

// newSite lays one out; under root it belongs to executord's user.
func newSite(t *testing.T) *site {
	t.Helper()
	tpm := swtpm.New(t)
	s := &site{Rig: writepath.New(t, demo, tpm.Address(), fakepf.Options{}), t: t, tpm: tpm}
	s.text = s.Settings("")
	s.own()
	return s
}

// own gives everything below the directory to executord's user, and lets that user
// reach the TPM.
func (s *site) own() {
	s.t.Helper()
	if !root() {
		return
	}
	err := errors.Join(
		filepath.WalkDir(s.Dir, func(p string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(p, programs.UIDExecutord, programs.UIDExecutord))
		}),
		os.Chmod(filepath.Dir(s.tpm.Socket()), 0o711), os.Chmod(s.tpm.Socket(), 0o777),
	)
	s.ok(err)
}

func (s *site) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) path(name string) string { return filepath.Join(s.Dir, name) }

// set changes the settings; what is changed must be there.
func (s *site) set(old, to string) {
	s.t.Helper()
	if !strings.Contains(s.text, old) {
		s.t.Fatalf("the settings do not hold %q", old)
	}
	s.text = strings.Replace(s.text, old, to, 1)
}

// put writes a file of executord's user.
func (s *site) put(name string, b []byte) {
	s.t.Helper()
	p := s.path(name)
	_ = os.Remove(p) // there or not
	s.ok(os.WriteFile(p, b, 0o600))
	s.mine(p)
}

// mine gives a file to executord's user.
func (s *site) mine(p string) {
	s.t.Helper()
	if root() {
		s.ok(os.Lchown(p, programs.UIDExecutord, programs.UIDExecutord))
	}
}

func (s *site) read(name string) []byte {
	s.t.Helper()
	b, err := os.ReadFile(s.path(name))
	s.ok(err)
	return b
}

// start starts executord on the site.
func (s *site) start(args ...string) *daemontest.Proc {
	s.t.Helper()
	s.put("executord.toml", []byte(s.text))
	o := daemontest.Options{Exe: demo, Args: append([]string{"--config", s.path("executord.toml")}, args...)}
	if len(s.argv) > 0 { // what starts it needs root, and gives it up
		o.Exe, o.Args = s.argv[0], append(append(append([]string{}, s.argv[1:]...), demo), o.Args...)
	} else if root() {
		o.User = &syscall.Credential{Uid: programs.UIDExecutord, Gid: programs.UIDExecutord}
	}
	s.proc = daemontest.Start(s.t, o)
	return s.proc
}

// serve starts executord and waits until it serves; the calls of the rig go to it.
func (s *site) serve() {
	s.t.Helper()
	p := s.start()
	p.Until("executord serving", func() bool { return strings.Contains(p.Output(), `"msg":"serving"`) })
	front, err1 := rpc.Dial(daemontest.Socket(s.Dir, "exec"), "executord")
	admin, err2 := rpc.Dial(daemontest.Socket(s.Dir, "exec-admin"), "executord")
	s.ok(errors.Join(err1, err2))
	s.t.Cleanup(func() { _, _ = front.Close(), admin.Close() })
	s.Front, s.Admin = executorpb.NewFrontClient(front), executorpb.NewAdminClient(admin)
}

// founded is a site whose store is founded; its process has ended.
func founded(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.serve()
	s.ok(s.Provision())
	s.proc.Stop()
	return s
}

// secrets are the parts of every key of the site that no output may hold.
func (s *site) secrets() []string {
	out := []string{fakepf.WriteKey}
	for _, name := range []string{"root", "attestation", "auth"} {
		b, err := os.ReadFile(s.path("keys/" + name))
		if err != nil {
			continue // a row took it away
		}
		out = append(out, hexes.FindAllString(string(b), -1)...)
	}
	return out
}

var hexes = regexp.MustCompile(`[0-9a-f]{64}`)

// files is everything below a directory: kind, mode, owner and content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(p)
		if err != nil {
			return err
		}
		what := fmt.Sprint(st.Mode(), " ", st.Sys().(*syscall.Stat_t).Uid)
		switch {
		case st.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(b)
			what += " " + hex.EncodeToString(sum[:])
		case st.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			what += " " + to
		}
		rel, err := filepath.Rel(dir, p)
		out[rel] = what
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// unchanged fails the test for whatever appeared, went or changed below the site but
// what a start may make there: the settings of the test, the sockets' own directories
// and the store's lock.
func unchanged(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, was := range before {
		if now, ok := after[name]; name != "." && name != "store" && name != "executord.toml" && now != was {
			t.Errorf("%s was changed (still there: %v)", name, ok)
		}
	}
	for name, what := range after {
		if _, ok := before[name]; !ok && !mayAppear[name] {
			t.Errorf("%s was left behind: %s", name, what)
		}
	}
}

var mayAppear = map[string]bool{"executord.toml": true, "exec": true, "exec-admin": true, "store/store.lock": true}

// row is what a program must do about something that is wrong.
type row struct {
	what string
	exit int
	says []string // each is in the output
	next []string // at least one is: the next step
}

// hold holds the end of a process against a row.
func (w row) hold(t *testing.T, code int, out string, secrets []string) {
	t.Helper()
	if code != w.exit {
		t.Errorf("exit code %d, want %d", code, w.exit)
	}
	for _, want := range w.says {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	step := len(w.next) == 0
	for _, want := range w.next {
		step = step || strings.Contains(out, want)
	}
	if !step {
		t.Errorf("no next step, such as %q", w.next)
	}
	silent(t, out, secrets)
	if strings.Contains(out, "goroutine ") || strings.Contains(out, "panic") {
		t.Error("it ended in a panic")
	}
	if t.Failed() {
		t.Logf("it said:\n%s", out)
	}
}

// silent fails when an output holds a secret or the canary.
func silent(t *testing.T, out string, secrets []string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(out, secret) {
			t.Error("a secret is in the output")
		}
	}
	if strings.Contains(out, canary) {
		t.Error("a text of an outsider is in the output")
	}
}

// soon is how long a test waits for something that should take no time.
const soon = time.Minute

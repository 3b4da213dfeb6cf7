package vault

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/canon"
)

// cheap is the cost of keys in tests.
func cheap() Cost { return Cost{1, 8 << 10, 1} }

func dir(t testing.TB) *Dir {
	t.Helper()
	d, err := Make(filepath.Join(t.TempDir(), "mcpsign"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t testing.TB, path string, b []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// refused holds an error to be a refusal with a next step that quotes no key.
func refused(t testing.TB, name string, err error) {
	t.Helper()
	r, ok := errors.AsType[*Error](err)
	if !ok || r.Next == "" || strings.Contains(r.Msg+r.Next, "zqx") {
		t.Errorf("%s: %v", name, err)
	}
}

func TestK5AKeyFileThatIsNotTheOwnersAloneIsRefused(t *testing.T) {
	seed := bytes.Repeat([]byte{7}, 32)
	d := dir(t)
	path := d.KeyPath(authority.Confirmation)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	write(t, elsewhere, seed, 0o600)
	for name, put := range map[string]func(){
		"missing":        func() {},
		"group-readable": func() { write(t, path, seed, 0o640) },
		"world-readable": func() { write(t, path, seed, 0o604) },
		"writable":       func() { write(t, path, seed, 0o620) },
		"a link":         func() { check(t, os.Symlink(elsewhere, path)) },
		"a hard link":    func() { check(t, os.Link(elsewhere, path)) },
		"a pipe":         func() { check(t, syscall.Mkfifo(path, 0o600)) },
		"a directory":    func() { check(t, os.Mkdir(path, 0o700)) },
		"oversize":       func() { write(t, path, bytes.Repeat([]byte("zqx"), 2000), 0o600) },
		"empty":          func() { write(t, path, nil, 0o600) },
		"31 bytes":       func() { write(t, path, seed[:31], 0o600) },
		"trailing byte":  func() { write(t, path, append(bytes.Clone(seed), '\n'), 0o600) },
		"text":           func() { write(t, path, []byte("zqxzqx"), 0o600) },
	} {
		put()
		_, err := d.Load(authority.Confirmation)
		refused(t, name, err)
		check(t, os.RemoveAll(path))
	}
	write(t, path, seed, 0o600)
	k, err := d.Load(authority.Confirmation)
	if err != nil || k.Protected() || !k.Public.Equal(ed25519.NewKeyFromSeed(seed).Public()) {
		t.Fatalf("%v", err)
	}
	key, err := k.Open(nil)
	if err != nil || !bytes.Equal(key.Seed(), seed) {
		t.Errorf("%v", err)
	}
	if os.Geteuid() == 0 {
		check(t, os.Chown(path, 65534, 65534))
		_, err := d.Load(authority.Confirmation)
		refused(t, "another user's", err)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryThatOthersReachIsRefused(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "mcpsign")
	_, err := Open(path)
	refused(t, "missing", err)
	check(t, os.Mkdir(path, 0o700))
	check(t, os.Chmod(path, 0o750))
	_, err = Open(path)
	refused(t, "group", err)
	_, err = Make(path)
	refused(t, "group, made", err)
	check(t, os.Chmod(path, 0o700))
	check(t, os.Symlink(path, filepath.Join(base, "link")))
	_, err = Open(filepath.Join(base, "link"))
	refused(t, "link", err)
	write(t, filepath.Join(base, "file"), nil, 0o600)
	_, err = Open(filepath.Join(base, "file"))
	refused(t, "file", err)
	_, err = Open(path)
	check(t, err)
}

func TestAProtectedKeyOpensWithItsPassphraseAlone(t *testing.T) {
	d, seed := dir(t), bytes.Repeat([]byte{9}, 32)
	pass := []byte("several good words")
	check(t, d.Store(authority.Reconciliation, seed, pass, cheap()))
	refused(t, "a second one", d.Store(authority.Reconciliation, seed, pass, cheap()))
	b, err := os.ReadFile(d.KeyPath(authority.Reconciliation))
	check(t, err)
	if bytes.Contains(b, seed) || bytes.Contains(b, pass) || !bytes.Contains(b, []byte(`"kdf":"argon2id-v19"`)) {
		t.Errorf("%s", b)
	}
	k, err := d.Load(authority.Reconciliation)
	check(t, err)
	if key, err := k.Open(pass); err != nil || !bytes.Equal(key.Seed(), seed) || !k.Protected() {
		t.Errorf("%v", err)
	}
	for _, wrong := range []string{"", "several good word", "Several good words", "several good words "} {
		_, err := k.Open([]byte(wrong))
		refused(t, wrong, err)
	}
	// Nothing of the container can be changed: not the owner, not the cost.
	for i := range b {
		for _, flip := range []byte{1, 16}[i%2 : i%2+1] {
			bad := bytes.Clone(b)
			bad[i] ^= flip
			k, ok := parse(bad)
			if !ok {
				continue
			}
			if k.cost.MemoryKiB > 64<<10 || k.cost.Passes > 3 {
				continue // it would only take long
			}
			if _, err := k.Open(pass); err == nil {
				t.Errorf("byte %d does not matter", i)
			}
		}
	}
	write(t, d.KeyPath(authority.Confirmation), b, 0o600)
	_, err = d.Load(authority.Confirmation)
	refused(t, "another owner's container", err)
}

func TestAContainerCannotExhaustTheMachine(t *testing.T) {
	seed := bytes.Repeat([]byte{9}, 32)
	b, err := seal(authority.Authorization, seed, []byte("x"), cheap())
	check(t, err)
	for _, change := range [][2]string{
		{`"memory_kib":8192`, `"memory_kib":1048577`},
		{`"memory_kib":8192`, `"memory_kib":0`},
		{`"memory_kib":8192`, `"memory_kib":-1`},
		{`"passes":1`, `"passes":11`},
		{`"passes":1`, `"passes":0`},
		{`"threads":1`, `"threads":257`},
		{`"threads":1`, `"threads":0`},
		{`"kdf":"argon2id-v19"`, `"kdf":"none"`},
		{`"owner":"authorization"`, `"owner":"executor"`},
		{`"schema_version":1`, `"schema_version":2`},
		{`{"kdf"`, `{"extra":1,"kdf"`},
		{`,"threads":1`, ``},
	} {
		if bad := strings.Replace(string(b), change[0], change[1], 1); bad == string(b) {
			t.Errorf("no %s in %s", change[0], b)
		} else if _, ok := parse([]byte(bad)); ok {
			t.Errorf("%s is accepted", change[1])
		}
	}
	if c := DefaultCost(); !c.known() || c.MemoryKiB < 64<<10 {
		t.Errorf("the default cost: %+v", c)
	}
}

func TestHeldFindsKeysByContent(t *testing.T) {
	d := dir(t)
	seed := func(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }
	write(t, d.KeyPath(authority.Authorization), seed(1), 0o600)
	write(t, d.Path("old"), seed(2), 0o600)
	b, err := seal(authority.Confirmation, seed(3), []byte("x"), cheap())
	check(t, err)
	write(t, d.Path("carried.bin"), b, 0o600)
	write(t, d.Path("pins.json"), []byte("{}"), 0o600)
	write(t, d.Path("large"), bytes.Repeat([]byte("x"), 5000), 0o600)
	check(t, os.Mkdir(d.Path("folder"), 0o700))
	held, err := d.Held()
	check(t, err)
	if len(held) != 3 || held["authorization.key"].Owner != authority.Authorization || held["old"].Owner != "" || held["carried.bin"].Owner != authority.Confirmation {
		t.Errorf("%+v", held)
	}
	// A file that is named as a key and cannot be judged stops everything.
	write(t, d.KeyPath(authority.Reconciliation), seed(4), 0o640)
	_, err = d.Held()
	refused(t, "an open key file", err)
	write(t, d.KeyPath(authority.Reconciliation), []byte("x"), 0o600)
	_, err = d.Held()
	refused(t, "no key file", err)
}

func entry(subject string) Entry {
	return Entry{At: time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC), Kind: "confirmation", Subject: subject, ID: "n", Input: "i", Output: "o"}
}

func TestTheLogRemembersAcrossRuns(t *testing.T) {
	d := dir(t)
	l, err := d.OpenLog()
	check(t, err)
	if _, ok := l.Signed("confirmation", "a"); ok {
		t.Error("an empty log remembers")
	}
	check(t, l.Add(entry("a")))
	_, err = d.OpenLog()
	refused(t, "a second process", err)
	l.Close()
	l, err = d.OpenLog()
	check(t, err)
	defer l.Close()
	at, ok := l.Signed("confirmation", "a")
	if _, other := l.Signed("rollback", "a"); !ok || other || !at.Equal(entry("a").At) {
		t.Error("the log does not remember, or too much")
	}
	check(t, l.Add(entry("b")))
	b, err := os.ReadFile(d.Path(logName))
	if err != nil || strings.Count(string(b), "\n") != 2 {
		t.Errorf("%q, %v", b, err)
	}
}

func TestALogThatWasCutIsMendedAndOneThatWasChangedIsRefused(t *testing.T) {
	d := dir(t)
	l, err := d.OpenLog()
	check(t, err)
	check(t, l.Add(entry("a")))
	check(t, l.Add(entry("b")))
	l.Close()
	whole, err := os.ReadFile(d.Path(logName))
	check(t, err)
	first := bytes.IndexByte(whole, '\n') + 1
	for n := first; n < len(whole); n++ { // the machine stopped while the second line was written
		write(t, d.Path(logName), whole[:n], 0o600)
		l, err := d.OpenLog()
		check(t, err)
		if _, ok := l.Signed("confirmation", "a"); !ok {
			t.Errorf("cut at %d: the first entry is lost", n)
		}
		if _, ok := l.Signed("confirmation", "b"); ok {
			t.Errorf("cut at %d: half a line counts", n)
		}
		check(t, l.Add(entry("c")))
		l.Close()
		if l, err = d.OpenLog(); err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		l.Close()
	}
	for name, b := range map[string][]byte{
		"a foreign line": append(bytes.Clone(whole), "zqx\n"...), "an empty line": append(bytes.Clone(whole), '\n'), "a changed line": bytes.Replace(whole, []byte(`"at"`), []byte(`"ta"`), 1),
		"another form": bytes.Replace(whole, []byte(`,`), []byte(`, `), 1), "no time": bytes.Replace(whole, []byte("2026-"), []byte("x026-"), 1),
	} {
		write(t, d.Path(logName), b, 0o600)
		_, err := d.OpenLog()
		refused(t, name, err)
	}
	write(t, d.Path(logName), whole, 0o644)
	_, err = d.OpenLog()
	refused(t, "open to others", err)
	check(t, os.Remove(d.Path(logName)))
	check(t, os.Symlink("/dev/null", d.Path(logName)))
	_, err = d.OpenLog()
	refused(t, "a link", err)
}

func TestAResultIsNewWholeAndTheOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	check(t, Absent(path))
	f, err := New(path)
	check(t, err)
	check(t, Fill(f, []byte("text")))
	b, err := Read(path, 4)
	if err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
	_, err = Read(path, 3)
	refused(t, "a bound", err)
	refused(t, "there is one", Absent(path))
	_, err = New(path)
	refused(t, "there is one", err)
	link := path + "2"
	check(t, os.Symlink(path+"3", link))
	refused(t, "a dangling link", Absent(link))
	_, err = New(link)
	refused(t, "a dangling link", err)
	if full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		refused(t, "a full disk", Fill(full, []byte("x")))
	}
	if got := shown("a\x1bb"); got != `"a\x1bb"` {
		t.Errorf("a path that a terminal obeys: %q", got)
	}
}

func FuzzParse(f *testing.F) {
	b, err := seal(authority.Authorization, bytes.Repeat([]byte{9}, 32), []byte("x"), cheap())
	check(f, err)
	f.Add(b)
	f.Add(bytes.Repeat([]byte{1}, 32))
	f.Fuzz(func(t *testing.T, in []byte) {
		k, ok := parse(in)
		if !ok {
			return
		}
		if len(k.Public) != ed25519.PublicKeySize || k.Protected() && !k.cost.known() {
			t.Fatalf("%q: %+v", in, k)
		}
		if !k.Protected() {
			if _, err := k.Open(nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzLog(f *testing.F) {
	line, err := entry("a").line()
	check(f, err)
	f.Add(line)
	f.Add(append(line, line[:10]...))
	d := dir(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		write(t, d.Path(logName), in, 0o600)
		l, err := d.OpenLog()
		if err != nil {
			return
		}
		check(t, l.Add(entry("z")))
		l.Close()
		l, err = d.OpenLog()
		check(t, err)
		if _, ok := l.Signed("confirmation", "z"); !ok {
			t.Fatalf("%q: what was added is lost", in)
		}
		l.Close()
	})
}

func TestNewSeedsDiffer(t *testing.T) {
	if bytes.Equal(NewSeed(), NewSeed()) || canon.Hash(NewSeed()) == canon.Hash(make([]byte, 32)) {
		t.Error("the seeds")
	}
}

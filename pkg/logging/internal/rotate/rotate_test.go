package rotate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// lines returns all lines of the log file and its backups, oldest first.
func lines(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	for i := 9; i >= 0; i-- {
		p := path
		if i > 0 {
			p = fmt.Sprintf("%s.%d", path, i)
		}
		if b, err := os.ReadFile(p); err == nil {
			out = append(out, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")...)
		}
	}
	return out
}

func openLog(t *testing.T, path string, backups int) *File {
	t.Helper()
	l, err := Open(path, 1024, backups)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// event writes the i-th line, which is padded so that a file holds a few.
func event(t *testing.T, l *File, i int) {
	t.Helper()
	if err := l.Write(fmt.Appendf(nil, "%s event %d\n", strings.Repeat("x", 90), i)); err != nil {
		t.Error(err)
	}
}

// inOrder checks that the lines are the events first..last, none lost or torn.
func inOrder(t *testing.T, got []string, first, last int) {
	t.Helper()
	var want []string
	for i := first; i <= last; i++ {
		want = append(want, fmt.Sprintf(" event %d", i))
	}
	if !slices.EqualFunc(got, want, strings.HasSuffix) {
		t.Fatalf("want %d..%d, got %q", first, last, got)
	}
}

func TestTheFileIsForItsOwnerAloneAndRotates(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "log", "d.log")
	l := openLog(t, path, 9)
	for i := range 40 {
		event(t, l, i)
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) < 3 {
		t.Fatalf("%v %v", names, err)
	}
	for _, n := range names {
		st, err := n.Info()
		if err != nil || st.Mode() != 0o600 || st.Size() > 1024 {
			t.Errorf("%s: %v %d", n.Name(), st.Mode(), st.Size())
		}
	}
	if st, err := os.Stat(filepath.Dir(path)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("directory %v", st.Mode())
	}
	inOrder(t, lines(t, path), 0, 39)
}

func TestOnlySoManyBackupsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "d.log")
	l := openLog(t, path, 2)
	for i := range 100 {
		event(t, l, i)
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 3 {
		t.Errorf("%v", names)
	}
	got := lines(t, path)
	inOrder(t, got, 100-len(got), 99)
}

func TestARestartGoesOnWhereTheLogEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "d.log")
	for i := range 3 {
		l := openLog(t, path, 5)
		event(t, l, i)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l.Write([]byte("after close\n")) == nil {
			t.Error("a line after Close is taken")
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	inOrder(t, lines(t, path), 0, 2)
	// A process that was killed leaves half a line: the next one is whole.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"half`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	event(t, openLog(t, path, 5), 3)
	got := lines(t, path)
	if len(got) != 5 || got[3] != `{"half` || !strings.HasSuffix(got[4], " event 3") {
		t.Errorf("%q", got)
	}
}

func TestARotationThatFailsLosesNoLine(t *testing.T) {
	for name, block := range map[string]string{"the next backup is a directory": "d.log.1", "an older backup cannot be moved": "d.log.2"} {
		path := filepath.Join(t.TempDir(), "log", "d.log")
		l := openLog(t, path, 9)
		// A directory that is not empty cannot be replaced by a rename.
		wall := filepath.Join(filepath.Dir(path), block)
		if err := os.MkdirAll(filepath.Join(wall, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		l.backups = 2 // so that .2 is the last one and must be replaced
		if block == "d.log.1" {
			l.backups = 1
		}
		if block == "d.log.2" {
			if err := os.WriteFile(path+".1", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 30 {
			event(t, l, i)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		inOrder(t, strings.Split(strings.TrimSpace(string(b)), "\n"), 0, 29)
		// Once the obstacle is gone the log rotates again, and keeps everything.
		l.backups = 9
		if err := os.RemoveAll(wall); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(path + ".1")
		for i := range 10 {
			event(t, l, 30+i)
		}
		if st, err := os.Stat(path); err != nil || st.Size() > 1024 {
			t.Errorf("%s: not rotated: %v", name, err)
		}
		inOrder(t, lines(t, path), 0, 39)
	}
}

func TestANewFileThatCannotBeOpenedLeavesTheOldOneInUse(t *testing.T) {
	// In a process of its own: the limit would hit what the go tool logs of this one.
	const alone = "ROTATE_TEST_ALONE"
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "log", "d.log")
	l := openLog(t, path, 9)
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		event(t, l, i)
	}
	low := lim
	low.Cur = 3 // every descriptor above is taken: no new file opens
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	for i := range 15 {
		event(t, l, 5+i)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inOrder(t, strings.Split(strings.TrimSpace(string(b)), "\n"), 0, 19)
	for i := range 10 {
		event(t, l, 20+i)
	}
	inOrder(t, lines(t, path), 0, 29)
	if _, err := os.Stat(path + ".1"); err != nil {
		t.Error("the log does not rotate again")
	}
}

func TestAFullDiskDropsLinesAndLeavesNoHalfLine(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	path := filepath.Join(t.TempDir(), "log", "d.log")
	l := openLog(t, path, 5)
	event(t, l, 0)
	good := l.f
	l.f = full
	for range 2 {
		if err := l.Write([]byte("lost\n")); !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
	}
	l.f = good
	_ = full.Close()
	event(t, l, 1)
	inOrder(t, lines(t, path), 0, 1)
}

func TestHalfALineThatTheDiskTookIsTakenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "d.log")
	l := openLog(t, path, 5)
	event(t, l, 0)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	// A limit on the size of files takes a part of a line, as a disk that fills
	// up does. The signal that comes with it must not end the test.
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	low := old
	low.Cur = uint64(l.size) + 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low); err != nil {
		t.Fatal(err)
	}
	err := l.Write([]byte(strings.Repeat("lost", 20) + "\n"))
	if err2 := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err2 != nil {
		t.Fatal(err2)
	}
	if err == nil {
		t.Fatal("the limit has no effect")
	}
	event(t, l, 1)
	inOrder(t, lines(t, path), 0, 1)
}

func TestAPlaceThatOthersCanTouchIsRefused(t *testing.T) {
	d := t.TempDir()
	mk := func(name string, mode os.FileMode) string {
		p := filepath.Join(d, name)
		if err := os.Mkdir(p, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	good := mk("good", 0o700)
	for _, err := range []error{
		os.Symlink(good, filepath.Join(d, "dirlink")),
		os.Symlink("real.log", filepath.Join(good, "link.log")),
		os.WriteFile(filepath.Join(good, "real.log"), nil, 0o600),
		os.WriteFile(filepath.Join(good, "two.log"), nil, 0o600),
		os.Link(filepath.Join(good, "two.log"), filepath.Join(good, "three.log")),
		syscall.Mkfifo(filepath.Join(good, "fifo.log"), 0o600),
		os.Mkdir(filepath.Join(good, "dir.log"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{
		filepath.Join(mk("open", 0o755), "a.log"), filepath.Join(mk("group", 0o770), "a.log"), filepath.Join(d, "dirlink", "a.log"),
		filepath.Join(good, "link.log"), filepath.Join(good, "two.log"), filepath.Join(good, "fifo.log"), filepath.Join(good, "dir.log"),
		filepath.Join(d, "none", "none", "a.log"), "a.log", good + "/../good/a.log", "/",
	} {
		if l, err := Open(p, 0, 0); err == nil {
			t.Errorf("%s was taken", p)
			_ = l.Close()
		}
	}
	for _, o := range [][2]int{{1023, 5}, {100_000_001, 5}, {1024, 101}, {1024, -1}} {
		if _, err := Open(filepath.Join(good, "a.log"), int64(o[0]), o[1]); err == nil {
			t.Errorf("%v was taken", o)
		}
	}
	// Two processes never share a file; a looser mode is tightened.
	loose := filepath.Join(good, "loose.log")
	if err := os.WriteFile(loose, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	openLog(t, loose, 5)
	if st, err := os.Stat(loose); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v", st.Mode())
	}
	if _, err := Open(loose, 0, 0); err == nil {
		t.Error("a log file was opened twice")
	}
}

func TestARemovedOrMovedFileIsMadeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "d.log")
	l := openLog(t, path, 3)
	event(t, l, 0)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	event(t, l, 1)
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	event(t, l, 2)
	for file, i := range map[string]int{path + ".moved": 1, path: 2} {
		b, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(string(b), fmt.Sprintf("event %d\n", i)) || strings.Count(string(b), "\n") != 1 {
			t.Errorf("%s holds %q, %v", filepath.Base(file), b, err)
		}
	}
	// What is not ours to write in is not taken, and the line is kept.
	if err := os.Rename(path, path+".kept"); err != nil {
		t.Fatal(err)
	}
	trap := filepath.Join(t.TempDir(), "trap")
	if err := errors.Join(os.WriteFile(trap, nil, 0o600), os.Symlink(trap, path)); err != nil {
		t.Fatal(err)
	}
	event(t, l, 3)
	if b, _ := os.ReadFile(trap); len(b) > 0 {
		t.Error("a line went through a link")
	}
	if b, _ := os.ReadFile(path + ".kept"); strings.Count(string(b), "\n") != 2 {
		t.Errorf("the line is lost: %q", b)
	}
}

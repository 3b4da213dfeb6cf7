package secretfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

func TestAWrittenKeyIsOwnerOnlyAndReadsBack(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	for _, o := range []Options{{}, {Whole: true}} {
		p := filepath.Join(t.TempDir(), "key")
		if err := Write(p, New([]byte(key)), o); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(p)
		if err != nil || st.Mode() != 0o600 {
			t.Fatalf("%v %v", st.Mode(), err)
		}
		if s, err := Read(p, o); err != nil || string(s.Bytes()) != key {
			t.Fatal(err)
		}
	}
}

func TestAKeyIsNeverWrittenOverAFileNorThroughALink(t *testing.T) {
	d := t.TempDir()
	there := put(t, d, "there", "old\n", 0o600)
	if err := os.Symlink(filepath.Join(d, "target"), filepath.Join(d, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(d, filepath.Join(d, "dir")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{there, filepath.Join(d, "link"), filepath.Join(d, "dir", "key"), filepath.Join(d, "none", "key"), "key"} {
		err := Write(p, New([]byte(key)), Options{})
		if err == nil || errs.CodeOf(err) == errs.Internal || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if b, err := os.ReadFile(there); err != nil || string(b) != "old\n" {
		t.Errorf("the old key is %q", b)
	}
	if names, err := os.ReadDir(d); err != nil || len(names) != 3 {
		t.Errorf("left behind: %v", names)
	}
}

func TestAKeyThatWouldNotReadBackIsNotLeftBehind(t *testing.T) {
	d := t.TempDir()
	for _, bad := range []string{"", "a b", "line\nline", "tab\t", strings.Repeat("k", maxKey+1)} {
		if err := Write(filepath.Join(d, "key"), New([]byte(bad)), Options{}); err == nil {
			t.Errorf("%.10q was written", bad)
		}
	}
	if names, err := os.ReadDir(d); err != nil || len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestAnotherFileUnderTheSameNameIsNotRemoved(t *testing.T) {
	d := t.TempDir()
	put(t, d, "key", "somebody else's\n", 0o600)
	dir, err := openat(unix.AT_FDCWD, d, unix.O_DIRECTORY)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	(&file{}).unmake(dir, "key", unix.Stat_t{Dev: 1, Ino: 1})
	if _, err := os.Stat(filepath.Join(d, "key")); err != nil {
		t.Fatal(err)
	}
}

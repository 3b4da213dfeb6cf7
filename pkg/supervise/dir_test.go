package supervise

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pfsensemcp/pkg/errs"
)

// short is a temporary directory with room for the sockets' names.
func short(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("", "sv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(d) })
	return d
}

func TestAFreshDirectoryIsPrivateAndGoesAway(t *testing.T) {
	l, err := prepare("", short(t), true)
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(l.root)
	if err != nil || fi.Mode().Perm() != 0o700 {
		t.Fatalf("mode %v, %v", fi.Mode(), err)
	}
	if err := l.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.root); !os.IsNotExist(err) {
		t.Fatal("the directory is still there")
	}
}

func TestADirectoryThatWasThereStays(t *testing.T) {
	dir := short(t)
	l, err := prepare(dir, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "log")); err != nil {
		t.Fatal("the logs are gone:", err)
	}
}

func TestADirectoryThatOthersReachIsRefused(t *testing.T) {
	base := short(t)
	open := filepath.Join(base, "open")
	link := filepath.Join(base, "link")
	file := filepath.Join(base, "file")
	real := filepath.Join(base, "real")
	foreign := filepath.Join(base, "foreign")
	for _, d := range []string{open, real, foreign} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(open, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		open: "750", link: "symlink", file: "not a directory",
		"relative": "absolute", base + "/" + strings.Repeat("x", 100): "bytes",
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(foreign, 61099, 61099); err != nil {
			t.Fatal(err)
		}
		cases[foreign] = "somebody else"
	}
	for dir, naming := range cases {
		_, err := prepare(dir, "", false)
		if err == nil || !strings.Contains(err.Error(), naming) {
			t.Errorf("%s: %v, expected a refusal that names %q", dir, err, naming)
		}
		if err != nil && errs.Public(err).Next == "" && naming != "absolute" {
			t.Errorf("%s: no next step", dir)
		}
	}
	// A subdirectory that somebody put there is as bad as the directory.
	if err := os.Symlink(base, filepath.Join(real, "log")); err != nil {
		t.Fatal(err)
	}
	if _, err := prepare(real, "", false); err == nil {
		t.Error("a log directory that is a symlink was taken")
	}
}

func TestTwoSuitesDoNotShareADirectory(t *testing.T) {
	l, err := prepare("", short(t), true)
	if err != nil {
		t.Fatal(err)
	}
	first, err := l.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.lock(); errs.CodeOf(err) != errs.Conflict {
		t.Fatalf("a second suite took the directory: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := l.lock()
	if err != nil {
		t.Fatal("the lock outlived its holder:", err)
	}
	again.Close()
}

func TestASettingsFileIsNewAndPrivateEachTime(t *testing.T) {
	l, err := prepare("", short(t), true)
	if err != nil {
		t.Fatal(err)
	}
	trap := filepath.Join(t.TempDir(), "trap")
	if err := os.WriteFile(trap, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(trap, filepath.Join(l.root, "etc", "mcpd.toml")); err != nil {
		t.Fatal(err)
	}
	p, err := l.write("etc/mcpd.toml", []byte("a = 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(trap); string(got) != "kept" {
		t.Error("the file behind a symlink was written")
	}
	if fi, err := os.Lstat(p); err != nil || fi.Mode() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}

// In a container a uid often has no name, and nothing here needs one.
func TestTheCallerIsNamedByNumber(t *testing.T) {
	s := &suite{layout: layout{root: "/x"}}
	me := strconv.Quote(strconv.Itoa(os.Geteuid()))
	for _, d := range daemons {
		got := s.settings(d)
		if !strings.Contains(got, "operators = ["+me+"]") || d.name != "mcpd" && !strings.Contains(got, "mcpd_user = "+me) {
			t.Errorf("%s: %s", d.name, got)
		}
	}
}

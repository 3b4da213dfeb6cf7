package carry

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pfsensemcp/pkg/errs"
)

func put(t *testing.T, dir, name string, mode fs.FileMode, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileOfTheCallersOwnIsReadAsItIs(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []fs.FileMode{0o600, 0o400, 0o644} {
		text := "{\"a\":1}\x00\xff\r\n " + mode.String()
		if b, err := Read(put(t, dir, mode.String(), mode, text), 64); err != nil || string(b) != text {
			t.Errorf("%v: %q %v", mode, b, err)
		}
	}
	if b, err := Read(put(t, dir, "full", 0o600, strings.Repeat("x", 64)), 64); err != nil || len(b) != 64 {
		t.Errorf("at the bound: %d %v", len(b), err)
	}
}

func TestK5BadFilesAreRefusedAndSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	good := put(t, dir, "good", 0o600, "x")
	link, fifo, hard := filepath.Join(dir, "link"), filepath.Join(dir, "fifo"), filepath.Join(dir, "hard")
	twice := put(t, dir, "twice", 0o600, "x")
	if err := errors.Join(os.Symlink(good, link), syscall.Mkfifo(fifo, 0o600), os.Link(twice, hard)); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		link: "symbolic link", fifo: "not a regular file", hard: "more than one name", dir: "not a regular file", "/dev/zero": "not a regular file",
		filepath.Join(dir, "none"):                           "does not exist",
		put(t, dir, "group", 0o620, "x"):                     "may be changed by other users",
		put(t, dir, "other", 0o602, "x"):                     "may be changed by other users",
		put(t, dir, "large", 0o600, strings.Repeat("x", 65)): "larger than 64 bytes",
		put(t, dir, "empty", 0o600, ""):                      "is empty",
	}
	if os.Geteuid() == 0 {
		foreign := put(t, dir, "foreign", 0o600, "x")
		if err := os.Chown(foreign, 12345, 0); err != nil {
			t.Fatal(err)
		}
		cases[foreign] = "belongs to another user"
	}
	for path, want := range cases {
		_, err := Read(path, 64) // at once: one that waited for a writer would wait for ever
		e, ok := errors.AsType[*errs.Error](err)
		if !ok || e.Code != errs.Invalid || !strings.Contains(e.Msg, want) || e.Next == "" {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// names lists a directory.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// output begins a file and writes a text.
func output(t *testing.T, path, text string) *Output {
	t.Helper()
	o, err := New(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAFileHasItsNameOnlyWhenItIsWhole(t *testing.T) {
	for name, link := range map[string]func(string, string) error{
		"with second names":    os.Link,
		"without second names": func(string, string) error { return &os.LinkError{Op: "link", Err: syscall.EPERM} },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out.json")
		o := output(t, path, "whole")
		o.link = link
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the name is there before the file is whole", name)
		}
		if err := o.Keep(); err != nil {
			t.Fatal(name, err)
		}
		o.Drop()
		b, err := os.ReadFile(path)
		info, serr := os.Stat(path)
		if err != nil || serr != nil || string(b) != "whole" || info.Mode() != 0o600 || len(names(t, dir)) != 1 {
			t.Errorf("%s: %q %v %v, files %v", name, b, info.Mode(), err, names(t, dir))
		}
		if again, err := Read(path, 64); err != nil || string(again) != "whole" {
			t.Errorf("%s: what was kept is not read: %v", name, err)
		}
	}
}

func TestADroppedFileLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	o := output(t, filepath.Join(dir, "out.json"), "half")
	o.Drop()
	o.Drop()
	if n := names(t, dir); len(n) != 0 {
		t.Errorf("left: %v", n)
	}
	// A file of somebody else under the name beside it stays.
	o = output(t, filepath.Join(dir, "out.json"), "half")
	if err := errors.Join(os.Remove(o.part), os.WriteFile(o.part, []byte("theirs"), 0o600)); err != nil {
		t.Fatal(err)
	}
	o.Drop()
	if n := names(t, dir); len(n) != 1 {
		t.Errorf("a file that was not made here was removed: %v", n)
	}
}

func TestNothingIsEverOverwritten(t *testing.T) {
	dir := t.TempDir()
	target := put(t, dir, "target", 0o600, "theirs")
	link := filepath.Join(dir, "link")
	dangling := filepath.Join(dir, "dangling")
	if err := errors.Join(os.Symlink(target, link), os.Symlink(filepath.Join(dir, "nowhere"), dangling)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{target, link, dangling, dir, filepath.Join(dir, "no", "dir"), "", "-", dir + "/", filepath.Join(dir, "-x")} {
		if o, err := New(path); errs.CodeOf(err) != errs.Invalid || err == nil {
			t.Errorf("%q: %v", path, err)
			o.Drop()
		}
	}
	// One that appears while the bytes are still coming.
	for name, l := range map[string]func(string, string) error{"link": os.Link, "rename": func(string, string) error { return syscall.ENOTSUP }} {
		path := filepath.Join(dir, name)
		o := output(t, path+".out", "ours")
		o.link = l
		put(t, dir, name+".out", 0o600, "theirs")
		if err := o.Keep(); err == nil || !strings.Contains(err.Error(), "overwritten") {
			t.Errorf("%s: %v", name, err)
		}
		if b, _ := os.ReadFile(path + ".out"); string(b) != "theirs" {
			t.Errorf("%s: overwritten with %q", name, b)
		}
	}
	if b, _ := os.ReadFile(target); string(b) != "theirs" {
		t.Error("the target of a link was written")
	}
	for _, n := range names(t, dir) {
		if strings.HasSuffix(n, ".part") {
			t.Errorf("left %s", n)
		}
	}
}

func TestAFullDiskIsSaidAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	o := output(t, filepath.Join(dir, "out"), "x")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	whole := o.f
	o.f = full
	if _, err := o.Write([]byte("y")); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("%v", err)
	}
	o.f = whole
	_ = full.Close()
	o.Drop()
	if n := names(t, dir); len(n) != 0 {
		t.Errorf("left: %v", n)
	}
}

package sock

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// short returns a short private directory: t.TempDir is too long for a socket.
func short(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("/tmp", "sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(d) })
	return d
}

func listen(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	l, err := Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestListenMakesADirectoryAndASocketForOwnerAndGroup(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	base := short(t)
	path := filepath.Join(base, "run", "guidance", "guidance.sock")
	l := listen(t, path)
	for p, want := range map[string]os.FileMode{
		filepath.Join(base, "run"): os.ModeDir | 0o700,
		filepath.Dir(path):         os.ModeDir | 0o750,
		path:                       os.ModeSocket | 0o660,
	} {
		fi, err := os.Lstat(p)
		if err != nil || fi.Mode() != want {
			t.Errorf("%s: %v %v, want %v", p, fi.Mode(), err, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the socket is still there after Close")
	}
}

func TestASocketIsBornClosedToEverybodyElse(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	path := filepath.Join(short(t), "s.sock")
	lc := net.ListenConfig{Control: closedAtBirth}
	l, err := lc.Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if m := fi.Mode().Perm(); m != 0o600 {
		t.Errorf("before its mode is set it has %o", m)
	}
}

func TestADeadSocketIsReplacedAndALivingOneIsNot(t *testing.T) {
	path := filepath.Join(short(t), "d", "s.sock")
	l := listen(t, path)
	l.SetUnlinkOnClose(false)
	_, err := Listen(path, 0o660)
	if errs.CodeOf(err) != errs.Conflict || !strings.Contains(err.Error(), "already serves "+path) {
		t.Errorf("a living socket: %v", err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Errorf("the living one was harmed: %v", err)
	} else {
		c.Close()
	}
	l.Close()
	listen(t, path)
}

func TestTheRightStateOfThePathIsDemanded(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string) (path string)
		code    errs.Code
		text    string
	}{
		"relative":  {func(*testing.T, string) string { return "d/s.sock" }, errs.Invalid, "absolute"},
		"not plain": {func(_ *testing.T, dir string) string { return dir + "/../x/s.sock" }, errs.Invalid, "absolute"},
		"long": {func(_ *testing.T, dir string) string {
			return filepath.Join(dir, strings.Repeat("x", 100))
		}, errs.Invalid, "at most 100"},
		"directory is a link": {func(t *testing.T, dir string) string {
			must(t, os.Mkdir(dir+"/real", 0o700))
			must(t, os.Symlink("real", dir+"/d"))
			return dir + "/d/s.sock"
		}, errs.Denied, "is a link"},
		"directory open to others": {func(t *testing.T, dir string) string {
			must(t, os.Mkdir(dir+"/d", 0o700))
			must(t, os.Chmod(dir+"/d", 0o755))
			return dir + "/d/s.sock"
		}, errs.Denied, "open to others"},
		"directory above writable by others": {func(t *testing.T, dir string) string {
			must(t, os.Mkdir(dir+"/up", 0o700))
			must(t, os.Chmod(dir+"/up", 0o777))
			must(t, os.Mkdir(dir+"/up/d", 0o700))
			return dir + "/up/d/s.sock"
		}, errs.Denied, "writable by others"},
		"a file is there": {func(t *testing.T, dir string) string {
			must(t, os.Mkdir(dir+"/d", 0o700))
			must(t, os.WriteFile(dir+"/d/s.sock", []byte("precious"), 0o600))
			return dir + "/d/s.sock"
		}, errs.Conflict, "not a socket of this user"},
		"a link to a dead socket is there": {func(t *testing.T, dir string) string {
			l := listen(t, dir+"/e/dead.sock")
			l.SetUnlinkOnClose(false)
			l.Close()
			must(t, os.Mkdir(dir+"/d", 0o700))
			must(t, os.Symlink(dir+"/e/dead.sock", dir+"/d/s.sock"))
			return dir + "/d/s.sock"
		}, errs.Conflict, "not a socket of this user"},
		"no directory two above": {func(_ *testing.T, dir string) string {
			return dir + "/a/b/c/s.sock"
		}, errs.Unavailable, "cannot be made"},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.prepare(t, short(t))
			before, _ := os.Lstat(path)
			_, err := Listen(path, 0o660)
			if errs.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error is %v %v", errs.CodeOf(err), err)
			}
			if after, _ := os.Lstat(path); before != nil && (after == nil || !os.SameFile(before, after)) {
				t.Error("what stood there was touched")
			}
		})
	}
}

func TestASocketOfAnotherUserIsNotRemoved(t *testing.T) {
	needRoot(t)
	path := filepath.Join(short(t), "d", "s.sock")
	l := listen(t, path)
	l.SetUnlinkOnClose(false)
	l.Close()
	must(t, os.Chown(path, 65501, 65501))
	if _, err := Listen(path, 0o660); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("error is %v", err)
	}
	must(t, os.Chown(filepath.Dir(path), 65501, 65501))
	if _, err := Listen(path, 0o660); errs.CodeOf(err) != errs.Denied {
		t.Errorf("another user's directory: %v", err)
	}
}

func TestAnInheritedSocketMustStandWhereItIsSafe(t *testing.T) {
	me := Owner{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  Owner
		text  string // "" for accepted
	}{
		"as it should be":           {func(*testing.T, string) {}, me, ""},
		"tighter than it should be": {func(t *testing.T, p string) { must(t, os.Chmod(p, 0o600)); must(t, os.Chmod(filepath.Dir(p), 0o700)) }, me, ""},
		"systemd's default modes": {
			func(t *testing.T, p string) { must(t, os.Chmod(p, 0o666)); must(t, os.Chmod(filepath.Dir(p), 0o755)) }, me,
			"has mode 0666, at most 0660",
		},
		"directory alone too open": {func(t *testing.T, p string) { must(t, os.Chmod(filepath.Dir(p), 0o755)) }, me, "has mode 0755, at most 0750"},
		"another owner":            {func(*testing.T, string) {}, Owner{UID: me.UID + 1, GID: me.GID}, "belongs to"},
		"another group":            {func(*testing.T, string) {}, Owner{UID: me.UID, GID: me.GID + 1}, "belongs to"},
		"open directory above":     {func(t *testing.T, p string) { must(t, os.Chmod(filepath.Dir(filepath.Dir(p)), 0o777)) }, me, "writable by others"},
		"no socket any more": {func(t *testing.T, p string) {
			must(t, os.Remove(p))
			must(t, os.WriteFile(p, nil, 0o600))
		}, me, "another kind"},
		"gone": {func(t *testing.T, p string) { must(t, os.Remove(p)) }, me, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(short(t), "run", "exec", "exec.sock")
			must(t, os.Mkdir(filepath.Dir(filepath.Dir(path)), 0o755))
			l := listen(t, path)
			l.SetUnlinkOnClose(false)
			c.spoil(t, path)
			err := Check(l, c.want)
			if (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestADirectoryThatKeepsTheServerOutMustItselfBeSafe(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("looking as another user takes root")
	}
	for _, c := range []struct {
		dir  os.FileMode
		gid  uint32
		text string
	}{
		{0o750, 65502, ""},
		{0o700, 65502, ""},
		{0o750, 65503, "belongs to"},
		{0o770, 65502, "has mode 0770"},
		{0o752, 65502, "has mode 0752"},
	} {
		top := short(t)
		must(t, os.Chmod(top, 0o755))
		path := filepath.Join(top, "exec", "exec.sock")
		l := listen(t, path)
		must(t, os.Chown(filepath.Dir(path), 0, 65502))
		must(t, os.Chmod(filepath.Dir(path), c.dir))
		result := make(chan error)
		go func() {
			// This thread alone looks at files as somebody else; it ends with
			// the goroutine, since it is never unlocked.
			runtime.LockOSThread()
			if err := unix.Setfsuid(65501); err != nil {
				result <- err
				return
			}
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrPermission) {
				result <- fmt.Errorf("the directory keeps nobody out: %v", err)
				return
			}
			result <- Check(l, Owner{GID: c.gid})
		}()
		err := <-result
		if (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%04o, group %d: %v", c.dir, c.gid, err)
		}
	}
}

func TestAllFaultsOfASocketComeAtOnce(t *testing.T) {
	path := filepath.Join(short(t), "d", "s.sock")
	l := listen(t, path)
	must(t, os.Chmod(path, 0o666))
	must(t, os.Chmod(filepath.Dir(path), 0o755))
	err := Check(l, Owner{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())})
	if err == nil || !strings.Contains(err.Error(), "0666") || !strings.Contains(err.Error(), "0755") {
		t.Errorf("error is %v", err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer tcp.Close()
	if errs.CodeOf(Check(tcp, Owner{})) != errs.Invalid {
		t.Error("an internet socket is accepted")
	}
}

func TestUsersAreResolvedAndTheImpossibleOnesRefused(t *testing.T) {
	uids, err := UIDs("root", "1000", "0")
	if err != nil || fmt.Sprint(uids) != "[0 1000 0]" {
		t.Errorf("%v %v", uids, err)
	}
	_, err = UIDs("root", "no-such-user-here", "nobody", "65534", "4294967295", "-1", "")
	for _, bad := range []string{"no-such-user-here", "nobody", "65534", "4294967295", "-1", `""`} {
		if err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s is not in %v", bad, err)
		}
	}
	if gid, err := GID("root"); gid != 0 || err != nil {
		t.Errorf("%d %v", gid, err)
	}
	if _, err := GID("no-such-group-here"); errs.CodeOf(err) != errs.Invalid {
		t.Errorf("%v", err)
	}
}

func TestThePeerIsTheProcessThatConnected(t *testing.T) {
	path := filepath.Join(short(t), "d", "s.sock")
	l := listen(t, path)
	c, err := net.Dial("unix", path)
	must(t, err)
	defer c.Close()
	s, err := l.AcceptUnix()
	must(t, err)
	defer s.Close()
	p, err := PeerOf(s)
	if err != nil || p != (Peer{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), PID: int32(os.Getpid())}) {
		t.Errorf("%+v %v", p, err)
	}
	s.Close()
	if _, err := PeerOf(s); err == nil {
		t.Error("a closed connection has a peer")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func needRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: files of other users")
	}
}

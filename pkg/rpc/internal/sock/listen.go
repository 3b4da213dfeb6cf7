package sock

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// maxPath bounds a socket's path, in bytes. The kernel stops at 107.
const maxPath = 100

// CheckPath refuses what cannot be, or should not be, a socket's path.
func CheckPath(path string) error {
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return errs.New(errs.Invalid, "a socket's path is not absolute and plain")
	case len(path) > maxPath:
		return errs.Newf(errs.Invalid, "a socket's path has %d bytes, at most %d are allowed", len(path), maxPath).
			WithNext("choose a shorter directory for the sockets")
	}
	return nil
}

// Listen opens the socket at path for a daemon that was not given one by
// systemd. mode is the socket's: 0600 or 0660, and its directory is held to
// 0700 or 0750 accordingly. The directory, and one above it, are made when they
// are missing; one that belongs to somebody else, is a symbolic link or is open
// to others is refused. A socket that a dead process of this user left is
// replaced; a living one is not, and the error says so. The caller closes the
// listener, which removes the socket.
func Listen(path string, mode fs.FileMode) (*net.UnixListener, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	if mode != 0o600 && mode != 0o660 {
		return nil, errs.New(errs.Internal, "a socket's mode is neither 0600 nor 0660")
	}
	dir := filepath.Dir(path)
	unlock, err := ownDir(dir, dirMode(mode))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeStale(path); err != nil {
		return nil, err
	}
	return bind(path, mode)
}

// dirMode is the mode of the directory of a socket with that mode: who may use
// the socket may pass the directory, and nobody else.
func dirMode(socket fs.FileMode) fs.FileMode {
	if socket&0o060 != 0 {
		return 0o750
	}
	return 0o700
}

// ownDir makes sure that dir is ours alone and locks it until unlock, so that
// of two daemons starting at once one sees the other's socket.
func ownDir(dir string, mode fs.FileMode) (unlock func(), err error) {
	for _, d := range []struct {
		path string
		mode fs.FileMode
	}{{filepath.Dir(dir), 0o700}, {dir, mode}} {
		err := os.Mkdir(d.path, d.mode)
		if err == nil {
			err = os.Chmod(d.path, d.mode) // whatever the umask
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, errs.Wrap(err, errs.Unavailable, "the directory of a socket cannot be made: "+d.path).
				WithNext("make the directory above it, owned by the user of the daemon")
		}
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	foreign := errs.Newf(errs.Denied, "the directory of a socket belongs to another user or is open to others: %s", dir).
		WithNext("chown it to the user of the daemon and set its mode to at most " + octal(mode))
	if err == unix.EACCES {
		return nil, foreign
	}
	if err != nil {
		return nil, errs.Wrap(err, errs.Denied, "the directory of a socket is a link or cannot be opened: "+dir).
			WithNext("look what stands there, and remove it by hand: ls -ld " + dir)
	}
	f := os.NewFile(uintptr(fd), dir)
	unlock = func() { _ = f.Close() } // gives the lock back; nothing was written
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unlock()
		return nil, errs.Wrap(err, errs.Internal, "the directory of a socket cannot be read: "+dir)
	}
	if st.Uid != uint32(os.Geteuid()) || fs.FileMode(st.Mode)&0o777&^mode != 0 {
		unlock()
		return nil, foreign
	}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		if err := checkParent(up, Owner{UID: st.Uid}); err != nil {
			unlock()
			return nil, errs.Newf(errs.Denied, "a socket would not be safe in %s: %v", dir, err).
				WithNext("choose another directory for the sockets")
		}
		if up == "/" {
			break
		}
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		unlock()
		return nil, errs.Wrap(err, errs.Conflict, "another process is opening a socket in "+dir)
	}
	return unlock, nil
}

// removeStale removes the socket at path if it is ours and nobody answers.
func removeStale(path string) error {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return errs.Wrap(err, errs.Internal, "what stands at a socket's path cannot be read: "+path)
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK || st.Uid != uint32(os.Geteuid()):
		return errs.New(errs.Conflict, "something that is not a socket of this user stands at "+path).
			WithNext("look what it is and remove it by hand")
	}
	// A socket whose process is gone refuses at once. Anything else, a full
	// queue or a stopped process too, is a living one; none of them makes connect
	// wait, so that no time limit can be taken for an answer.
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close() // it only asked whether somebody is there
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return errs.New(errs.Conflict, "another process already serves "+path).
			WithNext("end it first, or choose another directory for the sockets")
	}
	if err := unix.Unlink(path); err != nil {
		return errs.Wrap(err, errs.Internal, "a stale socket cannot be removed: "+path)
	}
	return nil
}

// bind listens at path. The socket is born closed to everybody but its owner
// and opened by the last step: the mode of the descriptor before bind becomes
// the mode of the file, less the umask.
func bind(path string, mode fs.FileMode) (*net.UnixListener, error) {
	lc := net.ListenConfig{Control: closedAtBirth}
	l, err := lc.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "a socket cannot be opened: "+path)
	}
	if err := os.Chmod(path, mode); err != nil {
		_ = l.Close() // the mode's error is the one to tell
		return nil, errs.Wrap(err, errs.Internal, "the mode of a socket cannot be set: "+path)
	}
	return l.(*net.UnixListener), nil
}

// closedAtBirth sets the mode of a socket before it has a file.
func closedAtBirth(_, _ string, raw syscall.RawConn) error {
	var got error
	err := raw.Control(func(fd uintptr) { got = unix.Fchmod(int(fd), 0o600) })
	return errors.Join(err, got)
}

package supervise

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// maxDir keeps every socket path below the 100 bytes that the daemons accept:
// the longest name in the layout is "/mcpd-admin/mcpd-admin.sock".
const maxDir = 100 - len("/mcpd-admin/mcpd-admin.sock")

// subdirs are the directories that exist before the first daemon starts. Each
// daemon makes its own socket directories.
var subdirs = []string{"etc", "log", "state"}

// layout is the directory of one running suite.
type layout struct {
	root  string
	fresh bool // made by this run and removed with it
}

// socket returns the path of a socket of the architecture's layout.
func (l layout) socket(name string) string {
	return filepath.Join(l.root, name, name+".sock")
}

// prepare returns the directory to run in. An empty dir means the user's
// runtime directory, and with fresh (or without a runtime directory) a new
// private one. A directory that exists must be the caller's, mode 0700, no
// symlink: anything else could be somebody else's trap.
func prepare(dir, runtimeDir string, fresh bool) (layout, error) {
	l := layout{root: dir}
	switch {
	case dir != "":
		if !filepath.IsAbs(dir) {
			return l, errs.New(errs.Invalid, "--dir must be an absolute path")
		}
	case fresh || runtimeDir == "":
		parent := runtimeDir
		if parent == "" {
			parent = os.TempDir()
		}
		l.root = filepath.Join(parent, "pfsense-mcp-"+rand.Text()[:8])
		l.fresh = true
	default:
		l.root = filepath.Join(runtimeDir, "pfsense-mcp")
	}
	if len(l.root) > maxDir {
		return l, errs.Newf(errs.Invalid, "the directory's path has %d bytes, at most %d leave room for the sockets", len(l.root), maxDir).
			WithNext("name a shorter one with --dir")
	}
	// A fresh directory must not exist: Mkdir, unlike MkdirAll, says so.
	if err := os.Mkdir(l.root, 0o700); err != nil && (l.fresh || !errors.Is(err, fs.ErrExist)) {
		return l, errs.Wrap(err, errs.Unavailable, "the directory "+l.root+" cannot be made").
			WithNext("check its parent's owner and free space, or name another with --dir")
	}
	if err := checkPrivate(l.root); err != nil {
		return l, err
	}
	for _, d := range subdirs {
		p := filepath.Join(l.root, d)
		if err := os.Mkdir(p, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return l, errs.Wrap(err, errs.Unavailable, "the directory "+p+" cannot be made")
		}
		if err := checkPrivate(p); err != nil {
			return l, err
		}
	}
	return l, nil
}

// checkPrivate refuses a directory that is a symlink, not ours, or open to
// others.
func checkPrivate(path string) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "the directory "+path+" cannot be read")
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case !fi.IsDir():
		return errs.New(errs.Denied, path+" is not a directory (a symlink is not followed)").
			WithNext("name another directory with --dir")
	case !ok || int(st.Uid) != os.Geteuid():
		return errs.New(errs.Denied, "the directory "+path+" belongs to somebody else").
			WithNext("name a directory of your own with --dir")
	case fi.Mode().Perm() != 0o700:
		return errs.New(errs.Denied, "the directory "+path+" has mode "+strconv.FormatUint(uint64(fi.Mode().Perm()), 8)+", it must be 700").
			WithNext("chmod 700 " + path)
	}
	return nil
}

// lock makes sure that one suite runs in the directory. The lock goes with the
// process, so a killed supervisor leaves none behind.
func (l layout) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(l.root, "lock"), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "the lock file in "+l.root+" cannot be opened")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(errs.Wrap(err, errs.Conflict, "a suite is already running in "+l.root).
			WithNext("stop it, or name another directory with --dir"), f.Close())
	}
	return f, nil
}

// write puts a file below the directory, for the caller alone.
func (l layout) write(name string, data []byte) (string, error) {
	p := filepath.Join(l.root, name)
	if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", errs.Wrap(err, errs.Unavailable, "the file "+p+" cannot be replaced")
	}
	f, err := os.OpenFile(p, os.O_CREATE|os.O_EXCL|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", errs.Wrap(err, errs.Unavailable, "the file "+p+" cannot be made")
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errs.Wrap(err, errs.Unavailable, "the file "+p+" cannot be written").
			WithNext("check the free space of its file system")
	}
	return p, nil
}

// remove deletes a directory that this run made. One that existed before stays,
// with its logs.
func (l layout) remove() error {
	if !l.fresh {
		return nil
	}
	return os.RemoveAll(l.root)
}

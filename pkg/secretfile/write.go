package secretfile

import (
	"crypto/subtle"
	"path/filepath"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// Write puts a new key into a new file at path, mode 0600, and reads it back
// through Read. The file must not exist: a key is never overwritten in place,
// because a crash would leave half of one. When Write fails the file it made is
// removed, unless another one has taken its name meanwhile.
func Write(path string, key Secret, o Options) error {
	return write(path, key, o, unix.Geteuid())
}

func write(path string, key Secret, o Options, euid int) (err error) {
	f := &file{path: path, setting: o.Setting, euid: euid}
	const place = "check the directory of PATH and its file system"
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return f.refuse(errs.Invalid, nil, "the path must be absolute and without . or ..", "write the full path of the key file")
	}
	text := append([]byte(nil), key.Bytes()...)
	if !o.Whole {
		text = append(text, '\n')
	}
	defer clear(text)
	// The directory is held open: every later step is about the directory that
	// was looked at, whatever happens to its name.
	dir, err := openat(unix.AT_FDCWD, filepath.Dir(path), unix.O_DIRECTORY)
	if err != nil {
		return f.refuse(errs.Unavailable, err, "the directory cannot be opened, or is a symbolic link", place)
	}
	defer func() { _ = unix.Close(dir) }() // synced before; nothing is lost
	name := filepath.Base(path)
	fd, err := create(dir, name)
	switch {
	case err == unix.EEXIST:
		return f.refuse(errs.Conflict, err, "the file exists", "remove PATH or choose another path")
	case err != nil:
		return f.refuse(errs.Unavailable, err, "the file cannot be created", place)
	}
	var made unix.Stat_t
	defer func() {
		if err != nil {
			f.unmake(dir, name, made)
		}
	}()
	err = fill(fd, text, &made)
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err != nil {
		return f.refuse(errs.Unavailable, err, "the file cannot be written", place)
	}
	back, err := read(path, o, euid)
	if err != nil {
		return err
	}
	defer back.Zero()
	if subtle.ConstantTimeCompare(back.Bytes(), key.Bytes()) != 1 {
		return f.refuse(errs.Invalid, nil, "the file does not hold the key that was written", place)
	}
	// Without this a power failure can lose the name of the synced file.
	if err := unix.Fsync(dir); err != nil {
		return f.refuse(errs.Unavailable, err, "the directory cannot be synced", place)
	}
	return nil
}

// create makes the file, exclusively and relative to the open directory.
func create(dir int, name string) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// fill sets the mode whatever the umask is, notes which file it is, and writes
// and syncs the text.
func fill(fd int, text []byte, made *unix.Stat_t) error {
	if err := unix.Fstat(fd, made); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, 0o600); err != nil {
		return err
	}
	for len(text) > 0 {
		n, err := unix.Write(fd, text)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		}
		text = text[n:]
	}
	return unix.Fsync(fd)
}

// unmake removes the file that was made, if its name still means that file.
func (f *file) unmake(dir int, name string, made unix.Stat_t) {
	var now unix.Stat_t
	if made.Ino == 0 || unix.Fstatat(dir, name, &now, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	if now.Dev == made.Dev && now.Ino == made.Ino {
		_ = unix.Unlinkat(dir, name, 0) // the failure that led here is reported
	}
}

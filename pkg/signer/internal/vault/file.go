package vault

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// shown returns a path as a message may hold it: on one line, nothing invisible.
func shown(path string) string {
	if q := strconv.QuoteToASCII(path); q != `"`+path+`"` {
		return q
	}
	return path
}

// Read reads a regular file of the caller's own that nobody else may touch, of at
// most most bytes. All checks are on the open file.
func Read(path string, most int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return nil, Refuse(shown(path)+" is a symbolic link", "name the file itself")
	case errors.Is(err, fs.ErrNotExist):
		return nil, Refuse(shown(path)+" does not exist", "check the name")
	case err != nil:
		return nil, Refuse(shown(path)+" cannot be opened", "check that it exists and that this user may read it")
	}
	defer func() { _ = f.Close() }() // nothing was written
	return readOpen(f, path, most)
}

// readOpen checks and reads an open file.
func readOpen(f *os.File, path string, most int) ([]byte, error) {
	if err := own(f, path); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return nil, Refuse(shown(path)+" cannot be read", "check its file system")
	case len(b) > most:
		return nil, Refuse(shown(path)+" is larger than "+strconv.Itoa(most)+" bytes", "it is not the file it should be")
	}
	return b, nil
}

// own holds an open file to be regular, the caller's, with one name, and closed to
// everybody else.
func own(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return Refuse(shown(path)+" cannot be inspected", "check its file system")
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !info.Mode().IsRegular():
		return Refuse(shown(path)+" is not a regular file", "name a regular file")
	case int(st.Uid) != os.Geteuid():
		return Refuse(shown(path)+" belongs to another user", "copy it into a file of your own")
	case info.Mode().Perm()&0o077 != 0:
		return Refuse(shown(path)+" is open to other users", "chmod 600 "+shown(path))
	case st.Nlink != 1:
		return Refuse(shown(path)+" has more than one name", "copy it into a file of its own")
	}
	return nil
}

// Absent says whether nothing stands at path, so that the person learns it before
// the review and not after.
func Absent(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return Refuse(shown(path)+" exists already, or its directory cannot be read", "choose another name: nothing is ever overwritten")
	}
	return nil
}

// New makes a file of the caller's own at path, which must not exist.
func New(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, Refuse(shown(path)+" cannot be made", "choose a name that does not exist, in a directory that this user may write")
	}
	return f, nil
}

// Fill writes b into a new file and makes file and name durable.
func Fill(f *os.File, b []byte) error {
	_, err := f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = syncDir(filepath.Dir(f.Name()))
	}
	if err != nil {
		return Refuse(shown(f.Name())+" could not be written whole", "do not use it; check its file system")
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // synced
	// Some file systems of removable media cannot sync a directory, and say so.
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// Dir is the signer's directory.
type Dir struct{ path string }

// Open opens the signer's directory: no link, the caller's own, closed to others.
func Open(path string) (*Dir, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Refuse("the signer's directory "+shown(path)+" does not exist", "make a key first: mcpsign keygen")
	}
	if err != nil {
		return nil, Refuse("the signer's directory "+shown(path)+" cannot be inspected", "check it: ls -ld "+shown(path))
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !info.IsDir():
		return nil, Refuse(shown(path)+" is not a directory", "move it away, then mcpsign keygen")
	case int(st.Uid) != os.Geteuid():
		return nil, Refuse(shown(path)+" belongs to another user", "run mcpsign as the owner of the key")
	case info.Mode().Perm()&0o077 != 0:
		return nil, Refuse(shown(path)+" is open to other users", "chmod 700 "+shown(path)+"; if others could read the key, replace it")
	}
	return &Dir{path}, nil
}

// Make is Open for a directory that may not exist yet.
func Make(path string) (*Dir, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, Refuse("the directory of "+shown(path)+" cannot be made", "make it by hand")
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, Refuse(shown(path)+" cannot be made", "make it by hand: mkdir -m 700 "+shown(path))
	}
	return Open(path)
}

// Path returns the path of a file in the directory.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

// Names returns the names of all files in the directory.
func (d *Dir) Names() ([]string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, Refuse(shown(d.path)+" cannot be listed", "check it: ls -l "+shown(d.path))
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

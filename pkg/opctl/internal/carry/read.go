package carry

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// class is the error class of every refusal here.
const class = "file"

// refuse makes a refusal. A path is the caller's own word; whoever shows an error
// makes it safe.
func refuse(err error, msg, next string) *errs.Error {
	return errs.Wrap(err, errs.Invalid, msg).WithClass(class).WithNext(next)
}

// Read returns the bytes of a regular file of at most most bytes that belongs to the
// caller or to root, has one name, and that nobody else may change. All checks are
// on the open file.
func Read(path string, most int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return nil, refuse(err, "the file "+path+" is a symbolic link", "name the file itself")
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(err, "the file "+path+" does not exist", "check the name, and that the medium is mounted")
	case err != nil:
		return nil, refuse(err, "the file "+path+" cannot be opened", "check that this user may read it: ls -l "+path)
	}
	defer func() { _ = f.Close() }() // nothing was written
	if err := trusted(f, path, most); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return nil, refuse(err, "the file "+path+" cannot be read", "check its file system")
	case len(b) > most:
		return nil, large(path, most)
	case len(b) == 0:
		return nil, refuse(nil, "the file "+path+" is empty", "carry it again")
	}
	return b, nil
}

func large(path string, most int) error {
	return refuse(nil, "the file "+path+" is larger than "+strconv.Itoa(most)+" bytes", "it is not the file it should be: name another one")
}

// trusted holds an open file to be what an operator may hand in.
func trusted(f *os.File, path string, most int) error {
	info, err := f.Stat()
	if err != nil {
		return refuse(err, "the file "+path+" cannot be inspected", "check its file system")
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	own := "copy it into a file of your own: install -m 600 " + path + " NEW"
	switch {
	case !ok || !info.Mode().IsRegular():
		return refuse(nil, "the file "+path+" is not a regular file", "name a regular file")
	case int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return refuse(nil, "the file "+path+" belongs to another user", own)
	case info.Mode().Perm()&0o022 != 0:
		return refuse(nil, "the file "+path+" may be changed by other users", own)
	case st.Nlink != 1:
		return refuse(nil, "the file "+path+" has more than one name", own)
	case info.Size() > int64(most):
		return large(path, most)
	}
	return nil
}

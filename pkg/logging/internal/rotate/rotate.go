// Package rotate owns the log file: one file that only its owner can read, in a
// directory of its own, rotated by size. Only logging may import it; it imports
// none of ours but errs. It writes what it is given, line by line.
//
// What it must never do: follow a link, write into a file or directory that
// somebody else can touch, lose a line because a rotation failed, or leave half a
// line in front of the next one.
//
// The attacks it stops: a link in the log's place that makes the daemon append to
// another file of its own, and a log that other users of the machine read.
package rotate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"pfsensemcp/pkg/errs"
)

const (
	defaultBytes   = 5_000_000
	defaultBackups = 5
	dirMode        = 0o700
	fileMode       = 0o600
)

// File is an open log file. Its caller holds a lock around every call.
type File struct {
	root    *os.Root // the directory, held open: a rename of it moves the log along
	name    string
	max     int64
	backups int

	f     *os.File // nil after close
	size  int64
	retry int64 // size at which a rotation that failed is tried again
	torn  bool  // the file ends in half a line
}

// refuse is the error of a log file that is not to be used.
func refuse(cause error, path, rule, next string) error {
	return errs.Wrap(cause, errs.Invalid, "log file: "+rule).WithClass("configuration").WithNext(next + ": " + strconv.QuoteToASCII(path))
}

// Open opens or makes the file at path and, when it is missing, its directory. It
// is rotated at maxBytes (1024 to 100000000, 0 is 5000000) and backups of it are
// kept (1 to 100, 0 is 5). Errors are of class configuration.
func Open(path string, maxBytes int64, backups int) (*File, error) {
	if maxBytes == 0 {
		maxBytes = defaultBytes
	}
	if backups == 0 {
		backups = defaultBackups
	}
	switch {
	case maxBytes < 1024 || maxBytes > 100_000_000:
		return nil, refuse(nil, path, "the size to rotate at must be 1024 to 100000000", "correct the setting for")
	case backups < 1 || backups > 100:
		return nil, refuse(nil, path, "the number of backups must be 1 to 100", "correct the setting for")
	case !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/":
		return nil, refuse(nil, path, "the path must be absolute and without . or ..", "write the full path instead of")
	}
	root, err := openDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	l := &File{root: root, name: filepath.Base(path), max: maxBytes, backups: backups}
	if l.f, err = l.open(0); err != nil {
		_ = root.Close() // the log is not used
		return nil, refuse(err, path, "it cannot be opened as an owner-only regular file of one process", "check owner, mode, links and whether another process logs to")
	}
	l.measure()
	return l, nil
}

// openDir opens the log directory, which must be ours alone: in a directory that
// others may write in, a file can be swapped between any two looks at it.
func openDir(dir string) (*os.Root, error) {
	const next = "give the log a directory of its own, mode 700"
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, refuse(err, dir, "its directory cannot be made", "make the directory, mode 700")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, refuse(err, dir, "its directory cannot be opened", next)
	}
	there, err1 := os.Lstat(dir)
	opened, err2 := root.Stat(".")
	rule := ""
	switch {
	case err1 != nil || err2 != nil:
		rule = "its directory cannot be inspected"
	case !os.SameFile(there, opened):
		rule = "its directory is a symbolic link"
	case !ours(opened):
		rule = "its directory belongs to another user"
	case opened.Mode().Perm()&0o077 != 0:
		rule = "its directory is open to other users"
	default:
		return root, nil
	}
	_ = root.Close() // the log is not used
	return nil, refuse(errors.Join(err1, err2), dir, rule, next)
}

// ours says whether a file belongs to the user of this process.
func ours(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

// open opens the log file for appending, without following a link, and locks it:
// two processes that rotate one file would lose each other's lines.
func (l *File) open(flags int) (*os.File, error) {
	// os.Root would follow a link that stays inside the directory.
	if st, err := l.root.Lstat(l.name); err == nil && !st.Mode().IsRegular() {
		return nil, errs.New(errs.Invalid, "not a regular file")
	}
	f, err := l.root.OpenFile(l.name, flags|os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, fileMode)
	if err != nil {
		return nil, err
	}
	if err := l.vet(f); err != nil {
		_ = f.Close() // nothing was written to it
		return nil, err
	}
	return f, nil
}

// vet holds the open file to its rules and gives it its mode.
func (l *File) vet(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.Mode().IsRegular() || !ours(st) || sys.Nlink != 1 {
		return errs.New(errs.Invalid, "not a regular file of ours with one name")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	return f.Chmod(fileMode)
}

// measure notes the size of the file, and whether it ends in half a line: a
// process that was killed leaves one.
func (l *File) measure() {
	l.size, l.torn, l.retry = 0, false, l.max
	st, err := l.f.Stat()
	if err != nil || st.Size() == 0 {
		return
	}
	l.size = st.Size()
	last := make([]byte, 1)
	if _, err := l.f.ReadAt(last, l.size-1); err != nil || last[0] != '\n' {
		l.torn = true
	}
}

// Write appends a line, line end included. Whatever fails leaves the file in use and the next line
// a line of its own.
func (l *File) Write(line []byte) error {
	if l.f == nil {
		return os.ErrClosed
	}
	l.follow()
	if l.size > 0 && l.size+int64(len(line)) > l.max && l.size+int64(len(line)) > l.retry {
		l.rotate()
	}
	if l.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.f.Write(line)
	if err == nil {
		l.size += int64(n)
		l.torn = false
		return nil
	}
	if n > 0 && l.f.Truncate(l.size) != nil {
		l.size += int64(n)
		l.torn = true
	}
	return err
}

// follow opens the file anew when its name leads elsewhere: somebody removed or
// moved it, and lines written into a file without a name reach nobody. While that
// fails the old one stays in use. The look costs a microsecond a line.
func (l *File) follow() {
	there, err := l.root.Lstat(l.name)
	if err == nil {
		if open, err := l.f.Stat(); err != nil || os.SameFile(there, open) {
			return
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return
	}
	f, err := l.open(0)
	if err != nil {
		return
	}
	_ = l.f.Close() // every line in it was written
	l.f = f
	l.measure()
}

// rotate moves the file to .1, .1 to .2 and so on, and opens a new one. The old
// one stays in use until the new one is open: when anything fails no line is
// lost, the file grows, and the next try comes a tenth of its bound later.
func (l *File) rotate() {
	l.retry = l.size + l.max/10
	// Up to the first free number only: a try that failed half way has left one,
	// and shifting beyond it would throw good files away.
	free := 1
	for free < l.backups {
		if _, err := l.root.Lstat(l.backup(free)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		free++
	}
	for i := free; i > 1; i-- {
		if l.root.Rename(l.backup(i-1), l.backup(i)) != nil {
			return
		}
	}
	if l.root.Rename(l.name, l.backup(1)) != nil {
		return
	}
	f, err := l.open(os.O_EXCL)
	if err != nil {
		// Back to its name, so that the next try does not shift again and an
		// operator finds it.
		_ = l.root.Rename(l.backup(1), l.name)
		return
	}
	_ = l.f.Close() // every line in it was written
	l.f = f
	l.measure()
}

// backup returns the name of the i-th rotated file.
func (l *File) backup(i int) string { return l.name + "." + strconv.Itoa(i) }

// Close closes file and directory; lines written later are refused.
func (l *File) Close() error {
	if l.f == nil {
		return nil
	}
	err := errors.Join(l.f.Close(), l.root.Close())
	l.f = nil
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "the log file could not be closed")
	}
	return nil
}

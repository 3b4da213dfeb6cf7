package secretfile

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

const (
	// maxFile bounds the file: a key is one line, and a large file in its place
	// is another file.
	maxFile = 16 << 10
	// maxKey bounds the key: it is sent in one HTTP header.
	maxKey = 4096
	// class is the error class of every refusal here.
	class = "configuration"
)

// Options says what may be read.
type Options struct {
	// Setting names the setting that held the path, for the messages.
	Setting string
	// CredentialsDir is $CREDENTIALS_DIRECTORY, "" without systemd. A file
	// directly inside it may also belong to root and carry the bits of 0440,
	// because that is how systemd lays credentials out.
	CredentialsDir string
	// Whole takes all bytes of a file of at most 4096 bytes as they are, for keys
	// that are no text. Without it the key is the first line.
	Whole bool
}

// Read returns the key in the file at path, which is absolute. Every check is made
// on the descriptor that is read. Each refusal is an *errs.Error of code Invalid
// (Unavailable when the file cannot be read at all) and class configuration.
func Read(path string, o Options) (Secret, error) {
	return read(path, o, unix.Geteuid())
}

// file is one key file being read, and what messages say of it.
type file struct {
	path    string
	setting string
	euid    int
	cred    bool
}

// refuse returns the error of one broken rule. Next is a format for the path.
func (f *file) refuse(code errs.Code, cause error, rule, next string) error {
	setting := f.setting
	if setting == "" {
		setting = "key file"
	}
	e := errs.Wrap(cause, code, setting+": "+rule).WithClass(class)
	return e.WithNext(strings.ReplaceAll(next, "PATH", f.shown()))
}

// shown returns the path as a message may hold it.
func (f *file) shown() string {
	for i := range len(f.path) {
		if c := f.path[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("'\"\\", c) >= 0 {
			return strconv.QuoteToASCII(f.path)
		}
	}
	return f.path
}

func read(path string, o Options, euid int) (s Secret, err error) {
	f := &file{path: path, setting: o.Setting, euid: euid}
	fd, err := f.open(o.CredentialsDir)
	if err != nil {
		return Secret{}, err
	}
	defer func() {
		// A close that fails casts doubt on what was read (a network file
		// system), so the key is not used.
		if cerr := unix.Close(fd); cerr != nil && err == nil {
			s.Zero()
			s, err = Secret{}, f.refuse(errs.Unavailable, cerr, "the file could not be closed after reading", "check the file system of PATH")
		}
	}()
	if err := f.checkStat(fd); err != nil {
		return Secret{}, err
	}
	buf := make([]byte, maxKey+1)
	defer func() { clear(buf) }()
	n, err := readFull(fd, buf)
	if err != nil {
		return Secret{}, f.refuse(errs.Unavailable, err, "the file cannot be read", "check PATH and its file system")
	}
	key := buf[:n]
	if o.Whole {
		err = f.checkWhole(key)
	} else {
		key, err = f.line(key)
	}
	if err != nil {
		return Secret{}, err
	}
	return New(key), nil
}

// open opens the file without following a link to it, without blocking, and says
// whether it lies directly inside the credentials directory.
func (f *file) open(credDir string) (int, error) {
	if !filepath.IsAbs(f.path) || filepath.Clean(f.path) != f.path || strings.IndexByte(f.path, 0) >= 0 {
		return -1, f.refuse(errs.Invalid, nil, "the path must be absolute and without . or ..", "write the full path of the key file")
	}
	at, name := unix.AT_FDCWD, f.path
	if credDir != "" && filepath.Dir(f.path) == filepath.Clean(credDir) {
		// The directory is opened once and the file found from it, so that the
		// looser rule cannot be moved onto another directory by a link.
		dir, err := openat(unix.AT_FDCWD, filepath.Clean(credDir), unix.O_DIRECTORY)
		if err != nil {
			return -1, f.refuse(errs.Unavailable, err, "the credentials directory cannot be opened", "check LoadCredential= of the unit")
		}
		defer func() { _ = unix.Close(dir) }() // nothing was read from it
		if err := f.checkCredDir(dir); err != nil {
			return -1, err
		}
		at, name, f.cred = dir, filepath.Base(f.path), true
	}
	fd, err := openat(at, name, unix.O_NONBLOCK|unix.O_NOCTTY)
	switch {
	case err == unix.ELOOP:
		return -1, f.refuse(errs.Invalid, err, "the file is a symbolic link", "set the path of the file itself instead of PATH")
	case err != nil:
		return -1, f.refuse(errs.Unavailable, err, "the file cannot be opened", "check that PATH exists and that this user may read it: ls -l PATH")
	}
	return fd, nil
}

// openat opens read-only, no-follow and close-on-exec, again after a signal.
func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// checkCredDir holds the credentials directory to what systemd makes: root's or
// ours, and nobody else may write in it.
func (f *file) checkCredDir(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return f.refuse(errs.Unavailable, err, "the credentials directory cannot be inspected", "check LoadCredential= of the unit")
	}
	if st.Uid != 0 && int(st.Uid) != f.euid || st.Mode&0o022 != 0 {
		return f.refuse(errs.Invalid, nil, "the credentials directory may be written by another user", "let systemd make it: LoadCredential= in the unit")
	}
	return nil
}

// checkStat holds the open file to the rules of a key file.
func (f *file) checkStat(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return f.refuse(errs.Unavailable, err, "the file cannot be inspected", "check PATH and its file system")
	}
	loose := uint32(0o077)
	if f.cred {
		loose = 0o037
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return f.refuse(errs.Invalid, nil, "the file is not a regular file", "put the key into a regular file at PATH")
	case int(st.Uid) != f.euid && !(f.cred && st.Uid == 0):
		return f.refuse(errs.Invalid, nil, "the file does not belong to the user of this process",
			fmt.Sprintf("chown %d PATH", f.euid))
	case st.Mode&loose != 0:
		return f.refuse(errs.Invalid, nil, "the file has permissions for other users", "chmod 600 PATH; if others could read it, replace the key")
	case st.Nlink != 1:
		return f.refuse(errs.Invalid, nil, "the file has more than one name (hard links)", "write the key into a new file and set that instead of PATH")
	case st.Size > maxFile:
		return f.refuse(errs.Invalid, nil, "the file is larger than 16384 bytes", "PATH must hold the key alone")
	}
	return nil
}

// readFull fills buf from the descriptor: a read may be short.
func readFull(fd int, buf []byte) (n int, err error) {
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, err
		case m == 0:
			return n, nil
		}
		n += m
	}
	return n, nil
}

// line returns the key in the first line of b. What follows the line is not
// looked at, but for the bound on the file.
func (f *file) line(b []byte) ([]byte, error) {
	const rewrite = "write the key alone, in one line, into PATH"
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	switch {
	case len(b) > maxKey:
		return nil, f.refuse(errs.Invalid, nil, "the first line is longer than 4096 bytes", rewrite)
	case bytes.IndexByte(b, 0) >= 0:
		return nil, f.refuse(errs.Invalid, nil, "the key holds a NUL byte", rewrite)
	case bytes.IndexByte(b, '\r') >= 0:
		return nil, f.refuse(errs.Invalid, nil, "the key holds a carriage return: the file has Windows line ends", "sed -i 's/\\r$//' PATH")
	}
	b = bytes.Trim(b, " ")
	if len(b) == 0 {
		return nil, f.refuse(errs.Invalid, nil, "the first line is empty", rewrite)
	}
	for _, c := range b {
		switch {
		case c < ' ' || c == 0x7f:
			return nil, f.refuse(errs.Invalid, nil, "the key holds a tab or another control character", rewrite)
		case c == ' ':
			return nil, f.refuse(errs.Invalid, nil, "the key holds a blank", rewrite)
		case c > 0x7f:
			return nil, f.refuse(errs.Invalid, nil, "the key holds characters outside ASCII", rewrite)
		}
	}
	return b, nil
}

// checkWhole bounds a key that is no text.
func (f *file) checkWhole(b []byte) error {
	switch {
	case len(b) == 0:
		return f.refuse(errs.Invalid, nil, "the file is empty", "put the key into PATH")
	case len(b) > maxKey:
		return f.refuse(errs.Invalid, nil, "the key is longer than 4096 bytes", "PATH must hold the key alone")
	}
	return nil
}

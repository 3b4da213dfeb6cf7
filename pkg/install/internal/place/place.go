// Package place owns how mcpctl setup puts files onto a host: what it would do to
// each, doing all or nothing of it, and the record by which it knows its own files
// again.
//
// install alone imports it. It must never overwrite or remove a file that a person
// has changed, nor a key that is there, follow a link, or put a file where another
// user can write.
//
// The attacks and faults it stops: somebody's edits lost to a second run; a full disk
// or a crash that leaves half of the files; a link or a directory that another user
// prepared, by which root would write elsewhere.
package place

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// MaxFile bounds every file that is written or compared, in bytes.
const MaxFile = 1 << 20

// File is a file as it shall be.
type File struct {
	Path   string      // absolute, below the root
	Mode   fs.FileMode // permission bits
	Data   []byte
	Secret bool // made once: what is there is never read, compared or replaced
}

// Action says what becomes of a file.
type Action string

// The actions.
const (
	Write   Action = "write"   // it is not there
	Replace Action = "replace" // setup or the package put it there, and nobody changed it
	Same    Action = "same"    // it is as it shall be
	Mend    Action = "mend"    // its content is right, its owner or mode is too wide
	Left    Action = "left"    // a person changed it
	Kept    Action = "kept"    // a key that is there already
)

// Step is what becomes of one file.
type Step struct {
	File
	Action Action

	before string // digest of what is there; "" for nothing, or a secret
}

// Tree is the host's files below a root.
type Tree struct {
	Root     string // "/" but in tests
	UID, GID int    // whose the files shall be: root's
	// Shipped says whether a digest is that of a file which the package put there.
	Shipped func(path, digest string) bool
}

// at is where a path lies.
func (t *Tree) at(path string) string { return filepath.Join(t.Root, path) }

// Digest is how the content of a file is remembered.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Plan says what would become of each file. It writes nothing.
func (t *Tree) Plan(files []File) ([]Step, error) {
	rec, err := t.read()
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, f := range files {
		if len(f.Data) > MaxFile || !filepath.IsAbs(f.Path) || filepath.Clean(f.Path) != f.Path {
			return nil, errs.New(errs.Internal, "a file of setup has no proper path or size")
		}
		s, err := t.judge(f, rec)
		if err != nil {
			return nil, err
		}
		if err := t.parents(f.Path, false); err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// judge compares what is there with what shall be.
func (t *Tree) judge(f File, rec *record) (Step, error) {
	s := Step{File: f}
	fi, err := os.Lstat(t.at(f.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Action = Write
		return s, nil
	case err != nil:
		return s, errs.Wrap(err, errs.Unavailable, f.Path+" cannot be looked at").WithNext("run it as root")
	case !fi.Mode().IsRegular():
		s.Action = Left // a link, a directory or a device is somebody's decision
		return s, nil
	case f.Secret:
		s.Action = Kept
		return s, nil
	}
	was, err := t.digest(f.Path)
	if err != nil {
		return s, err
	}
	s.before = was
	switch {
	case was == Digest(f.Data):
		s.Action = Same
		if t.wide(fi, f.Mode) {
			s.Action = Mend
		}
	case rec.Files[f.Path] == was, t.Shipped != nil && t.Shipped(f.Path, was):
		s.Action = Replace
	default:
		s.Action = Left
	}
	return s, nil
}

// wide says whether a file belongs to another user or lets others do more.
func (t *Tree) wide(fi fs.FileInfo, mode fs.FileMode) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) != t.UID || fi.Mode().Perm()&^mode != 0
}

// digest reads a file that was seen to be regular; "" when it is gone.
func (t *Tree) digest(path string) (string, error) {
	b, err := t.load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return Digest(b), nil
}

// load reads a regular file of at most MaxFile bytes, following no link.
func (t *Tree) load(path string) ([]byte, error) {
	f, err := os.OpenFile(t.at(path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, errs.Wrap(err, errs.Unavailable, path+" cannot be read").WithNext("run it as root")
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return nil, errs.New(errs.Invalid, path+" is no regular file").WithNext("move it away")
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil || len(b) > MaxFile {
		return nil, errs.Wrap(err, errs.Invalid, path+" cannot be read, or is larger than 1 MiB").WithNext("move it away")
	}
	return b, nil
}

// private are the directories that hold keys: nobody else looks into them.
var private = []string{"/etc/pfsense-mcp/credentials", "/etc/credstore.encrypted", "/var/lib/pfsense-mcp"}

// parents checks every directory above a path, and makes those that are missing.
func (t *Tree) parents(path string, create bool) error {
	dir := ""
	for _, part := range strings.Split(strings.TrimPrefix(filepath.Dir(path), "/"), "/") {
		dir += "/" + part
		fi, err := os.Lstat(t.at(dir))
		if errors.Is(err, fs.ErrNotExist) {
			if !create {
				return nil
			}
			if err := t.mkdir(dir); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return errs.Wrap(err, errs.Unavailable, dir+" cannot be looked at").WithNext("run it as root")
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok || !fi.IsDir() || int(st.Uid) != t.UID || fi.Mode().Perm()&0o022 != 0 {
			return errs.New(errs.Denied, dir+" is not a directory that root alone can write").WithClass("configuration").
				WithNext("look who made it, then: chown root:root and chmod go-w")
		}
	}
	return nil
}

func (t *Tree) mkdir(dir string) error {
	mode := fs.FileMode(0o755)
	for _, p := range private {
		if dir == p {
			mode = 0o700
		}
	}
	err := os.Mkdir(t.at(dir), mode)
	if err == nil {
		err = os.Chmod(t.at(dir), mode) // whatever the umask is
	}
	if err == nil {
		err = os.Lchown(t.at(dir), t.UID, t.GID)
	}
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "the directory "+dir+" cannot be made").WithNext("check its file system, and run it as root")
	}
	return nil
}

package carry

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// Output is a new file under way. Its bytes stand under another name beside it until
// Keep, so that its own name never means half a file.
type Output struct {
	path, part string
	f          *os.File // nil when it is kept or dropped
	link       func(from, to string) error
}

// New begins a file of the caller's own, mode 0600, at path, where nothing may
// stand. End it with Keep or Drop.
func New(path string) (*Output, error) {
	name := filepath.Base(path)
	if path == "" || strings.HasSuffix(path, "/") || name == "." || name == ".." || name[0] == '-' {
		return nil, refuse(nil, "an output needs the name of a new file", "choose a name that does not begin with -")
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, exists(path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(err, "the file "+path+" cannot be made", "check its directory: it must exist, and this user must be able to write into it")
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	part := filepath.Join(filepath.Dir(path), ".mcpctl-"+hex.EncodeToString(random[:])+".part")
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, refuse(err, "the file "+path+" cannot be made", "check its directory: it must exist, and this user must be able to write into it")
	}
	o := &Output{path: path, part: part, f: f, link: os.Link}
	if err := f.Chmod(0o600); err != nil { // whatever the umask is
		o.Drop()
		return nil, refuse(err, "the file "+path+" cannot be closed to other users", "choose a directory on another file system")
	}
	return o, nil
}

func exists(path string) error {
	return refuse(fs.ErrExist, "the file "+path+" is there already, and nothing is ever overwritten", "choose another name")
}

// Write adds bytes to the file.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.f.Write(b)
	if err != nil {
		return n, o.broken(err)
	}
	return n, nil
}

func (o *Output) broken(err error) error {
	return errs.Wrap(err, errs.Unavailable, "the file "+o.path+" cannot be written").WithClass(class).
		WithNext("check the free space of its file system, then run the command again")
}

// Keep makes the file durable and gives it its name. When the name is taken by now
// nothing is overwritten.
func (o *Output) Keep() error {
	err := o.f.Sync()
	if err != nil {
		o.Drop()
		return o.broken(err)
	}
	if err := o.name(); err != nil {
		o.Drop()
		return err
	}
	o.Drop()
	if err := syncDir(filepath.Dir(o.path)); err != nil {
		return o.broken(err)
	}
	return nil
}

// name gives the file its second, final name.
func (o *Output) name() error {
	err := o.link(o.part, o.path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return exists(o.path)
	case !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOSYS) && !errors.Is(err, syscall.EMLINK):
		return o.broken(err)
	}
	// The file systems of removable media have no second names. The final name is
	// taken by an empty file, which then gives way.
	f, err := os.OpenFile(o.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return exists(o.path)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(o.part, o.path)
	}
	if err != nil {
		return o.broken(err)
	}
	return nil
}

// Save writes the whole of a file and keeps it.
func (o *Output) Save(b []byte) error {
	if _, err := o.Write(b); err != nil {
		return err
	}
	return o.Keep()
}

// Drop ends the file and removes what stands under the name beside it, if that is
// still this file. After Keep it does nothing more.
func (o *Output) Drop() {
	if o.f == nil {
		return
	}
	ours, err := o.f.Stat()
	_ = o.f.Close() // synced before, or given up
	o.f = nil
	if err != nil {
		return
	}
	if now, err := os.Lstat(o.part); err == nil && os.SameFile(ours, now) {
		_ = os.Remove(o.part) // what led here is reported; a part is no file
	}
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

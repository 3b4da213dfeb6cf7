// Package place owns where the store lies: the directory, the lock, the file, their
// owners and modes, and the free space beside them.
//
// Only the packages of the store import it. It must never follow a link, use a file
// that others can change, make a file while looking for one, or replace one.
//
// The attacks it stops: a directory in which another user can put a store of his
// own in our place, a second name by which a copy of the store is changed behind
// its back, key and store lost in one theft because they lay together, and a fresh
// empty store in the place of a lost or damaged one, which would remember nothing.
package place

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/seam"
)

// The names in the directory.
const (
	FileName = "store.db"
	lockName = "store.lock"
	newName  = "store.db.new"
	copyName = "store.db.copy"
)

// ClassPermissions is the error class of a directory or file that others can reach.
const ClassPermissions = "store_permissions"

// ClassRunning is the error class of a second executord.
const ClassRunning = "already_running"

// Dir is the opened directory with the lock held.
type Dir struct {
	fd, lock int
	path     string
	seam     *seam.Seam
}

func refuse(cause error, rule, next string) error {
	return errs.Wrap(cause, errs.Invalid, "store_dir: "+rule).WithClass(ClassPermissions).WithNext(next)
}

// Open opens the directory, checks it and everything above it, and takes the lock
// for as long as the Dir lives. KeyPaths are the files of the keys: none of them may
// lie below the directory.
func Open(path string, keyPaths []string, s *seam.Seam) (*Dir, error) {
	d, err := reach(path, keyPaths)
	if err != nil {
		return nil, err
	}
	d.seam = s
	err = d.near()
	if err == nil {
		err = d.takeLock()
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Look checks what Open checks of the directory, without the lock and without making
// anything: an executord that runs does not notice it.
func Look(path string, keyPaths []string) error {
	d, err := reach(path, keyPaths)
	if err == nil {
		d.Close()
	}
	return err
}

// Room says whether there is room for a change, as Space does, without the lock.
func Room(path string) error {
	d, err := reach(path, nil)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Space()
}

func reach(path string, keyPaths []string) (*Dir, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, refuse(nil, "the path must be absolute and without . or ..", "write the full path")
	}
	fd, err := walk(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{fd: fd, lock: -1, path: path}
	for _, k := range keyPaths {
		if err := d.apart(k); err != nil {
			d.Close()
			return nil, err
		}
	}
	return d, nil
}

// walk opens the directory component by component, so that no link is followed and
// what was checked is what is used.
func walk(path string) (int, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open("/", flags|unix.O_PATH, 0)
	if err != nil {
		return -1, errs.Wrap(err, errs.Unavailable, "store_dir cannot be opened").WithClass(ClassPermissions)
	}
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, name := range names {
		last := i == len(names)-1
		how := flags | unix.O_PATH
		if last {
			how = flags | unix.O_RDONLY
		}
		next, err := unix.Openat(fd, name, how, 0)
		_ = unix.Close(fd) // a directory that was only passed through
		switch {
		case err == unix.ELOOP || err == unix.ENOTDIR:
			return -1, refuse(err, "a part of the path is no directory or is a symbolic link", "write the real path: realpath "+path)
		case err == unix.EACCES || err == unix.EPERM:
			return -1, refuse(err, "this user may not enter it, or a directory above it", "chown it to executord's user, chmod 700, and let that user enter what is above")
		case err == unix.ENOENT:
			return -1, errs.Wrap(err, errs.Unavailable, "store_dir does not exist").WithClass(ClassPermissions).
				WithNext("make it, for executord's user: install -d -m 0700 -o USER " + path)
		case err != nil:
			return -1, errs.Wrap(err, errs.Unavailable, "store_dir cannot be opened").WithClass(ClassPermissions).
				WithNext("check its file system: ls -ld " + path)
		}
		fd = next
		if err := checkDir(fd, last); err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
	}
	return fd, nil
}

func checkDir(fd int, last bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return errs.Wrap(err, errs.Unavailable, "store_dir cannot be inspected").WithClass(ClassPermissions)
	}
	euid := uint32(unix.Geteuid())
	if last {
		if st.Uid != euid || st.Mode&0o7777 != 0o700 {
			return refuse(nil, "the directory must belong to this user alone, with mode 0700", "chown it to executord's user, chmod 700")
		}
		return nil
	}
	// Where others may write but the sticky bit is set, they cannot rename ours.
	shared := st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0
	if shared || st.Uid != 0 && st.Uid != euid {
		return refuse(nil, "a directory above it can be changed by another user", "let root own every directory above it, writable by nobody else")
	}
	return nil
}

// apart refuses a key file below the directory, under any name.
func (d *Dir) apart(key string) error {
	self, err := os.Stat(d.path)
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "store_dir cannot be inspected").WithClass(ClassPermissions)
	}
	real, err := filepath.EvalSymlinks(key)
	if err != nil {
		real = filepath.Clean(key) // not there yet: its name says enough
	}
	for _, p := range []string{filepath.Clean(key), real} {
		for up := filepath.Dir(p); ; up = filepath.Dir(up) {
			if st, err := os.Stat(up); err == nil && os.SameFile(st, self) {
				return refuse(nil, "a key lies in the store's directory", "keep keys elsewhere: whoever gets the one must not get the other")
			}
			if up == "/" || up == "." {
				break
			}
		}
	}
	return nil
}

func (d *Dir) takeLock() error {
	fd, err := unix.Openat(d.fd, lockName, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	switch {
	case err == unix.EROFS:
		return refuse(err, "its file system may only be read", "remount it for writing, and look why it is not: findmnt -T "+d.path+"; dmesg")
	case Full(err):
		return errs.Wrap(err, errs.Exhausted, "there is no room for the store's lock file").WithClass("disk_full").
			WithNext("make room on the file system of store_dir; nothing was begun")
	case err != nil:
		return refuse(err, "the lock file cannot be opened", "look at store.lock: it must be a plain file of executord's user")
	}
	d.lock = fd
	if err := checkFile(fd, lockName); err != nil {
		return err
	}
	for {
		switch err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return errs.New(errs.Conflict, "another executord has this store open").WithClass(ClassRunning).
				WithNext("there is one executord for a store; stop it first, or ask it: mcpctl audit verify")
		default:
			return errs.Wrap(err, errs.Unavailable, "the store cannot be locked").WithClass(ClassPermissions)
		}
	}
}

func checkFile(fd int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return errs.Wrap(err, errs.Unavailable, name+" cannot be inspected").WithClass(ClassPermissions)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return refuse(nil, name+" is not a regular file", "put the file itself there")
	case st.Uid != uint32(unix.Geteuid()):
		return refuse(nil, name+" belongs to another user", "chown it to executord's user")
	case st.Mode&0o177 != 0:
		return refuse(nil, name+" has permissions beyond 0600", "chmod 600, and find out who could reach it")
	case st.Nlink != 1:
		return refuse(nil, name+" has more than one name (hard links)", "remove the other name")
	}
	return nil
}

// Exists says whether there is a file under the store's name, without making one.
func (d *Dir) Exists() bool {
	var st unix.Stat_t
	return unix.Fstatat(d.fd, FileName, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// File opens the store's file, which must exist.
func (d *Dir) File(write bool) (*os.File, error) {
	how := unix.O_RDONLY
	if write {
		how = unix.O_RDWR
	}
	fd, err := unix.Openat(d.fd, FileName, how|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	switch {
	case err == unix.ENOENT:
		return nil, errs.Wrap(err, errs.NotFound, "there is no store").WithClass("store_absent").
			WithNext("a store is made by mcpctl anchor seed, once; one that is lost is not made again under its id")
	case err != nil:
		return nil, refuse(err, FileName+" cannot be opened", "it must be a plain file of executord's user, mode 0600")
	}
	if err := checkFile(fd, FileName); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, FileName)), nil
}

// Found makes a new store: fill writes it under another name, and only when it is
// whole and synced does it get the store's name, which must be free.
func (d *Dir) Found(fill func(*os.File) error) error {
	if d.Exists() {
		return errs.New(errs.Conflict, "there is a store already").WithClass("store_exists").
			WithNext("a store is never made anew in its place: archive the old file first")
	}
	if err := d.seam.Hit(seam.Write); err != nil {
		return err
	}
	if err := d.fresh(newName, fill); err != nil {
		return err
	}
	if err := d.seam.Hit(seam.Rename); err != nil {
		return err
	}
	if err := unix.Renameat2(d.fd, newName, d.fd, FileName, unix.RENAME_NOREPLACE); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the new store cannot get its name").WithClass("store_write")
	}
	return d.sync()
}

// Scratch lets fill write a copy of the store that is gone afterwards, whatever happens.
// It must not take the room that an attempt counts on.
func (d *Dir) Scratch(fill func(*os.File) error) error {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, FileName, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return errs.Wrap(err, errs.Unavailable, FileName+" cannot be inspected").WithClass(ClassPermissions)
	}
	if err := d.spare(uint64(st.Size) + MinSpace); err != nil {
		return err
	}
	defer func() { _ = unix.Unlinkat(d.fd, copyName, 0) }() // never there for long, never read again
	return d.fresh(copyName, fill)
}

// fresh makes a file under a name that is ours alone: what a crash left under it is
// incomplete by definition.
func (d *Dir) fresh(name string, fill func(*os.File) error) error {
	if err := unix.Unlinkat(d.fd, name, 0); err != nil && err != unix.ENOENT {
		return errs.Wrap(err, errs.Unavailable, "an unfinished file cannot be removed").WithClass("store_write")
	}
	fd, err := unix.Openat(d.fd, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "a new file cannot be made in store_dir").WithClass("store_write")
	}
	if err := fill(os.NewFile(uintptr(fd), filepath.Join(d.path, name))); err != nil {
		_ = unix.Unlinkat(d.fd, name, 0) // it is worth nothing, and would take room on a full disk
		return err
	}
	return nil
}

func (d *Dir) sync() error {
	if err := unix.Fsync(d.fd); err != nil {
		return errs.Wrap(err, errs.Unavailable, "store_dir cannot be synced").WithClass("store_write")
	}
	return nil
}

// MinSpace is what must be free before anything is begun that ends in a send: room
// for every later transaction of one attempt, so that a full disk is met before the
// send and not after it.
const MinSpace = 8 << 20

// Space refuses when less than MinSpace is free.
func (d *Dir) Space() error { return d.spare(MinSpace) }

func (d *Dir) spare(least uint64) error {
	if err := d.seam.Hit(seam.Space); err != nil {
		return err
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &st); err != nil {
		return errs.Wrap(err, errs.Unavailable, "free space cannot be read").WithClass("disk_full")
	}
	if st.Bavail*uint64(st.Bsize) < least {
		return errs.Newf(errs.Exhausted, "less than %d MiB are free for the store", (least+1<<20-1)>>20).WithClass("disk_full").
			WithNext("make room on the file system of store_dir; nothing was begun")
	}
	return nil
}

// Close lets the lock go.
func (d *Dir) Close() {
	// Closing is what releases the lock; nothing was written through either.
	for _, fd := range []int{d.lock, d.fd} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	d.lock, d.fd = -1, -1
}

// Full says whether err is a full disk or quota.
func Full(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

package sock

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// Owner is whose a socket and its directory must be.
type Owner struct {
	UID, GID uint32
}

// The most that a socket and its directory may allow: owner and group.
const (
	socketMode = 0o660
	groupDir   = 0o750
)

// Check refuses an inherited socket that stands where the wrong people
// can reach it: the socket and its directory must belong to want, with modes of
// at most 0660 and 0750, and no directory above may be writable by anyone but
// root, the owner, or everybody under the sticky bit. No part of the path may
// be a symbolic link. All faults come back at once.
//
// A server of systemd's is in no group of its clients, so the directory may keep
// the server itself out. Then the socket cannot be looked at, and need not be:
// whatever its mode, nobody gets to it but who passes the directory.
func Check(l net.Listener, want Owner) error {
	addr, ok := l.Addr().(*net.UnixAddr)
	if !ok {
		return errs.New(errs.Invalid, "an inherited socket is not a Unix socket")
	}
	path := addr.Name
	if err := CheckPath(path); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	file, above := checkFile(path, unix.S_IFSOCK, socketMode, want), checkFile(dir, unix.S_IFDIR, groupDir, want)
	if above == nil && errors.Is(file, unix.EACCES) {
		file = nil
	}
	faults := []error{file, above}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		faults = append(faults, checkParent(up, want))
		if up == "/" {
			break
		}
	}
	if err := errors.Join(faults...); err != nil {
		return errs.Newf(errs.Denied, "the socket %s is not where it is safe: %v", path, err).
			WithNext("see who made it; then, as root: systemd-tmpfiles --create pfsense-mcp.conf && systemctl reset-failed 'pfsense-*' && systemctl restart pfsense-mcp.target")
	}
	return nil
}

func checkFile(path string, kind uint32, most fs.FileMode, want Owner) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != kind:
		return fmt.Errorf("%s is of another kind", path)
	case st.Uid != want.UID || st.Gid != want.GID:
		return fmt.Errorf("%s belongs to %d:%d and not to %d:%d", path, st.Uid, st.Gid, want.UID, want.GID)
	case fs.FileMode(st.Mode)&0o777&^most != 0:
		return fmt.Errorf("%s has mode %s, at most %s is allowed", path, octal(fs.FileMode(st.Mode)&0o777), octal(most))
	}
	return nil
}

func checkParent(path string, want Owner) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("%s cannot be read", path)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%s is not a directory", path)
	case st.Uid != 0 && st.Uid != want.UID:
		return fmt.Errorf("%s belongs to %d", path, st.Uid)
	case st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0:
		return fmt.Errorf("%s is writable by others", path)
	}
	return nil
}

func octal(m fs.FileMode) string { return fmt.Sprintf("%04o", uint32(m)) }

// UIDs resolves the names of users to uids, all unknown names in one error. A
// number stands for itself. The uids that can never be admitted are refused.
func UIDs(names ...string) ([]uint32, error) {
	var uids []uint32
	var faults []error
	for _, name := range names {
		uid, err := lookup(name, func() (string, error) {
			u, err := user.Lookup(name)
			if err != nil {
				return "", err
			}
			return u.Uid, nil
		})
		if err != nil || Impossible(uid) {
			faults = append(faults, fmt.Errorf("there is no user %q that could be admitted", name))
			continue
		}
		uids = append(uids, uid)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, errs.Newf(errs.Invalid, "%v", err).
			WithNext("correct operators or mcpd_user in the settings, or make the user: getent passwd NAME")
	}
	return uids, nil
}

// GID resolves the name of a group, or a number, to a gid.
func GID(name string) (uint32, error) {
	gid, err := lookup(name, func() (string, error) {
		g, err := user.LookupGroup(name)
		if err != nil {
			return "", err
		}
		return g.Gid, nil
	})
	if err != nil {
		return 0, errs.Newf(errs.Invalid, "there is no group %q", name)
	}
	return gid, nil
}

func lookup(name string, find func() (string, error)) (uint32, error) {
	id, err := strconv.ParseUint(name, 10, 32)
	if err == nil {
		return uint32(id), nil
	}
	text, err := find()
	if err != nil {
		return 0, err
	}
	id, err = strconv.ParseUint(text, 10, 32)
	return uint32(id), err
}

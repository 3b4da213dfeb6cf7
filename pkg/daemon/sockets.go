package daemon

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/sd"
)

// sockets are the listeners of a daemon.
type sockets struct {
	by   map[string]net.Listener
	dirs []string // the directories of those that we made, and so remove
}

// open takes the sockets that systemd handed over, or makes them below dir. It
// is all or nothing: a daemon with one of two sockets would look healthy.
func (s Spec) open(dir string) (sockets, error) {
	inherited, err := sd.Listeners()
	if err != nil {
		return sockets{}, err
	}
	if len(inherited) > 0 {
		return s.inherit(inherited)
	}
	return s.listen(dir)
}

func (s Spec) inherit(got map[string]net.Listener) (sockets, error) {
	out := sockets{by: got}
	want := make(map[string]bool, len(s.Sockets))
	for _, k := range s.Sockets {
		want[k.Name] = true
		l := got[k.Name]
		if l == nil {
			out.close()
			return sockets{}, errs.Newf(errs.Invalid, "systemd handed over sockets, but none called %s", k.Name).
				WithNext("enable the socket unit with FileDescriptorName=" + k.Name + ", or none of them")
		}
		if err := checkOwner(l, k.Group); err != nil {
			out.close()
			return sockets{}, err
		}
	}
	for name := range got {
		if !want[name] {
			out.close()
			return sockets{}, errs.Newf(errs.Invalid, "systemd handed over a socket called %s, which %s does not have", name, s.Name).
				WithNext("correct FileDescriptorName= or Service= of its unit")
		}
	}
	return out, nil
}

// checkOwner accepts root:group, as the package installs it, or a socket that is
// this user's own, as a user's own systemd makes it.
func checkOwner(l net.Listener, group string) error {
	uid, gid := os.Geteuid(), os.Getegid()
	if fi, err := os.Lstat(l.Addr().String()); err == nil {
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) == uid && int(st.Gid) == gid {
			return rpc.CheckSocket(l, rpc.Owner{UID: uint32(uid), GID: uint32(gid)})
		}
	}
	want, err := rpc.GID(group)
	if err != nil {
		return err
	}
	return rpc.CheckSocket(l, rpc.Owner{UID: 0, GID: want})
}

func (s Spec) listen(dir string) (sockets, error) {
	out := sockets{by: make(map[string]net.Listener, len(s.Sockets))}
	for _, k := range s.Sockets {
		own := filepath.Join(dir, k.Name)
		l, err := rpc.Listen(filepath.Join(own, k.Name+".sock"), mode(own))
		if err != nil {
			out.close()
			return sockets{}, err
		}
		out.by[k.Name] = l
		out.dirs = append(out.dirs, own)
	}
	return out, nil
}

// mode is owner-only, unless somebody has prepared the directory for a group:
// then its members are meant to reach the socket.
func mode(dir string) fs.FileMode {
	if fi, err := os.Stat(dir); err == nil && fi.Mode().Perm()&0o050 == 0o050 {
		return 0o660
	}
	return 0o600
}

func (k sockets) close() {
	for _, l := range k.by {
		_ = l.Close() // the start fails for a reason that is told
	}
}

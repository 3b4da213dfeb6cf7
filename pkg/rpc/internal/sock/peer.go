package sock

import (
	"net"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// Peer is the process at the other end of a Unix socket, as the kernel saw it
// when it connected. The uid decides; gid and pid are for the log alone: a pid
// may belong to somebody else by the time it is read.
type Peer struct {
	UID, GID uint32
	PID      int32
}

// Uids that are never admitted: the kernel's stand-in for a uid that this user
// namespace does not know, and the "no such uid" of the system calls.
const (
	overflowUID = 65534
	noUID       = ^uint32(0)
)

// Impossible says whether uid can never be admitted.
func Impossible(uid uint32) bool { return uid == overflowUID || uid == noUID }

// PeerOf returns who connected c.
func PeerOf(c *net.UnixConn) (Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, errs.Wrap(err, errs.Internal, "the peer of a connection cannot be read")
	}
	var cred *unix.Ucred
	var got error
	err = raw.Control(func(fd uintptr) {
		cred, got = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = got
	}
	if err != nil {
		return Peer{}, errs.Wrap(err, errs.Internal, "the peer of a connection cannot be read")
	}
	return Peer{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}, nil
}

package rpc

import (
	"io/fs"
	"net"

	"pfsensemcp/pkg/rpc/internal/admit"
	"pfsensemcp/pkg/rpc/internal/node"
	"pfsensemcp/pkg/rpc/internal/sock"
)

// Peer is the process at the other end of a Unix socket, as the kernel saw it
// when it connected. The uid decides; gid and pid are for the log alone: a pid
// may belong to somebody else by the time it is read.
type Peer = sock.Peer

// PeerOf returns who connected c.
func PeerOf(c *net.UnixConn) (Peer, error) { return sock.PeerOf(c) }

// Known is implemented by connections that are not Unix sockets and whose peer
// the process itself has decided: those that a test makes in memory.
type Known = admit.Known

// Impossible says whether uid can never be admitted: the kernel's stand-in for
// a uid that this user namespace does not know (65534), and "no such uid".
func Impossible(uid uint32) bool { return sock.Impossible(uid) }

// Listen opens the socket at path for a daemon that was not given one by
// systemd. mode is the socket's: 0600 or 0660, and its directory is held to
// 0700 or 0750 accordingly. The directory, and one above it, are made when they
// are missing; one that belongs to somebody else, is a symbolic link or can be
// replaced by others is refused. A socket that a dead process of this user left
// is replaced; a living one is not, and the error says so. Closing the listener
// removes the socket.
func Listen(path string, mode fs.FileMode) (*net.UnixListener, error) {
	return sock.Listen(path, mode)
}

// Owner is whose a socket and its directory must be.
type Owner = sock.Owner

// CheckSocket refuses an inherited socket that stands where the wrong people
// can reach it: the socket and its directory must belong to want, with modes of
// at most 0660 and 0750, and no directory above may be writable by anyone but
// root, the owner, or everybody under the sticky bit. No part of the path may
// be a symbolic link. All faults come back in one error.
func CheckSocket(l net.Listener, want Owner) error { return sock.Check(l, want) }

// UIDs resolves the names of users to uids, all unknown names in one error. A
// number stands for itself. A uid that can never be admitted is refused.
func UIDs(names ...string) ([]uint32, error) { return sock.UIDs(names...) }

// GID resolves the name of a group, or a number, to a gid.
func GID(name string) (uint32, error) { return sock.GID(name) }

// Node is what a daemon says about itself on all of its sockets: node.v1 and
// health. It is not serving until SetServing(true).
type Node = node.Node

// NodeConfig is what stays true of a daemon while it runs.
type NodeConfig = node.Config

// NewNode returns the node of one process; its servers share it.
func NewNode(cfg NodeConfig) *Node { return node.New(cfg) }

// BuildID returns "sha256:" and the digest of the running executable. Call it
// before the sandbox closes the file system.
func BuildID() (string, error) { return node.BuildID() }

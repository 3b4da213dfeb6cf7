// Package admit owns who may connect: the peer's uid is read and judged when a
// connection is accepted, before a byte of it is read, and goes with it to the
// calls. rpc alone imports it. It must never admit by group, by pid or by what
// a peer says.
//
// The attack it stops: a local user who connects to a socket that is not meant for
// them, or claims to be somebody else.
package admit

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/rpc/internal/sock"
)

// maxConnections bounds the connections of one uid, so that one peer cannot
// use up the descriptors that the others need. mcpd keeps one open and mcpctl
// one a command.
const maxConnections = 32

// Known is implemented by connections that are not Unix sockets and whose peer
// the process itself has decided: those that a test makes in memory.
type Known interface{ KnownPeer() sock.Peer }

// Admission decides about a connection before a byte of it is read.
type Admission struct {
	log   *slog.Logger
	quiet logging.Quiet

	mu   sync.Mutex
	open map[uint32]int // connections by uid, for every uid that may connect
}

// New returns the admission of the uids that are keys of uids.
func New[T any](log *slog.Logger, uids map[uint32]T) *Admission {
	a := &Admission{log: log, open: make(map[uint32]int, len(uids))}
	for uid := range uids {
		a.open[uid] = 0
	}
	return a
}

// enter counts a connection of uid in, or says why it may not come in.
func (a *Admission) enter(uid uint32) (refusal string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, ok := a.open[uid]
	switch {
	case sock.Impossible(uid) || !ok:
		return "uid is not admitted"
	case n >= maxConnections:
		return "uid has too many connections"
	}
	a.open[uid] = n + 1
	return ""
}

func (a *Admission) leave(uid uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[uid]--
}

// admitting is a listener that lets only admitted peers through. The others'
// connections are closed unread.
type admitting struct {
	net.Listener
	admission *Admission
}

// Listener returns l with only the admitted connections.
func (a *Admission) Listener(l net.Listener) net.Listener { return admitting{l, a} }

// Accept returns the next admitted connection as a *conn.
func (l admitting) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p, err := peerOf(c)
		refusal := "peer cannot be read"
		if err == nil {
			refusal = l.admission.enter(p.UID)
		}
		if refusal == "" {
			return &conn{Conn: c, peer: p, leave: sync.OnceFunc(func() { l.admission.leave(p.UID) })}, nil
		}
		_ = c.Close() // nothing was read or written
		if dropped, say := l.admission.quiet.Next(time.Now()); say {
			l.admission.log.LogAttrs(context.Background(), slog.LevelWarn, "connection refused",
				slog.String(logging.KeyDetail, refusal), slog.Uint64(logging.KeyCallerUID, uint64(p.UID)),
				slog.Int(logging.KeyCount, 1+dropped)) // this one and those that no line told of
		}
	}
}

func peerOf(c net.Conn) (sock.Peer, error) {
	switch c := c.(type) {
	case *net.UnixConn:
		return sock.PeerOf(c)
	case Known:
		return c.KnownPeer(), nil
	}
	return sock.Peer{}, errs.New(errs.Internal, "a connection is not of a Unix socket")
}

// conn is an admitted connection with its peer.
type conn struct {
	net.Conn
	peer  sock.Peer
	leave func()
}

// Close closes the connection and counts it out.
func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// serverCreds hands the peer that was read on accept to the calls. There is
// nothing to encrypt on a Unix socket, and the library asks for a level of
// security: the kernel keeps what passes there whole and private.
type serverCreds struct {
	credentials.TransportCredentials
}

// Creds returns the credentials of a server on admitted connections.
func Creds() credentials.TransportCredentials { return serverCreds{insecure.NewCredentials()} }

// authInfo carries the peer from the handshake to the call.
type authInfo struct {
	credentials.CommonAuthInfo
	peer sock.Peer
}

func (authInfo) AuthType() string { return "peercred" }

// PeerOfCall returns the peer of the connection that a call came on.
func PeerOfCall(ctx context.Context) (sock.Peer, bool) {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.AuthInfo.(authInfo); ok {
			return a.peer, true
		}
	}
	return sock.Peer{}, false
}

func (s serverCreds) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	own, ok := c.(*conn)
	if !ok {
		return nil, nil, errs.New(errs.Internal, "a connection did not pass admission")
	}
	return c, authInfo{
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		peer:           own.peer,
	}, nil
}

func (s serverCreds) Clone() credentials.TransportCredentials { return Creds() }

package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
)

// reason is what the last connection showed about a daemon that is not there.
type reason int32

const (
	absent       reason = iota // nobody listens, or nothing is known
	mayNot                     // the socket or its directory is closed to this user
	closedUnread               // the peer closed before it sent a byte: how admission refuses
)

// dialer connects to one socket and remembers how that went. The library turns
// every failure into one text; a person needs to know which it was.
type dialer struct {
	path    string
	through func(context.Context) (net.Conn, error) // instead of path, when set
	last    atomic.Int32                            // a reason
}

func (d *dialer) why() reason { return reason(d.last.Load()) }

func (d *dialer) dial(ctx context.Context, _ string) (net.Conn, error) {
	if d.through != nil {
		return d.through(ctx)
	}
	var nd net.Dialer
	c, err := nd.DialContext(ctx, "unix", d.path)
	if err != nil {
		d.last.Store(int32(absent))
		if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
			d.last.Store(int32(mayNot))
		}
		return nil, err
	}
	return &heard{Conn: c, dialer: d}, nil
}

// heard is a connection that notices whether the peer ever said anything. Only
// the transport's one reader calls Read.
type heard struct {
	net.Conn
	dialer *dialer
	spoke  bool
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	switch {
	case h.spoke:
	case n > 0:
		h.spoke = true
		h.dialer.last.Store(int32(absent))
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
		h.dialer.last.Store(int32(closedUnread))
	}
	return n, err
}

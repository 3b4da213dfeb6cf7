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

// heard is a connection that notices whether the peer ever said anything.
type heard struct {
	net.Conn
	dialer *dialer
	spoke  atomic.Bool
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if n > 0 && !h.spoke.Swap(true) {
		h.dialer.last.Store(int32(absent))
	}
	h.notice(err)
	return n, err
}

func (h *heard) Write(b []byte) (int, error) {
	n, err := h.Conn.Write(b)
	h.notice(err)
	return n, err
}

// notice remembers a peer that hung up on us before it spoke. Which of the
// three errors tells of it depends on what was under way.
func (h *heard) notice(err error) {
	if err == nil || h.spoke.Load() {
		return
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		h.dialer.last.Store(int32(closedUnread))
	}
}

package rpc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"regexp"

	"pfsensemcp/pkg/rpc/internal/admit"
)

type ctxKey uint8

const (
	peerKey ctxKey = iota
	requestKey
	loggerKey
)

// WithPeer returns ctx with the peer in it.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey, p)
}

// PeerFrom returns the peer of the call or session that ctx belongs to, and
// whether there is one. Without one nobody may be assumed.
func PeerFrom(ctx context.Context) (Peer, bool) {
	if p, ok := ctx.Value(peerKey).(Peer); ok {
		return p, true
	}
	return admit.PeerOfCall(ctx)
}

// requestShape is what a request id may look like. Ids are printed in logs of
// other daemons, so a peer's id is taken only when nothing can hide in it.
var requestShape = regexp.MustCompile(`^[0-9a-z]{8,32}$`)

// NewRequestID returns a fresh request id: 16 hex digits.
func NewRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// WithRequestID returns ctx with the id that joins the log lines of one call
// over all daemons. An id of another shape than 8 to 32 of [0-9a-z] is replaced
// by a fresh one.
func WithRequestID(ctx context.Context, id string) context.Context {
	if !requestShape.MatchString(id) {
		id = NewRequestID()
	}
	return context.WithValue(ctx, requestKey, id)
}

// RequestID returns the request id of ctx, "" when there is none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey).(string)
	return id
}

// WithLogger returns ctx with the logger of the call in it.
func WithLogger(ctx context.Context, l *slog.Logger) context.Context {
	return context.WithValue(ctx, loggerKey, l)
}

// Logger returns the logger of the call, which names request id, method and
// peer in every line; outside of a call one that drops everything.
func Logger(ctx context.Context) *slog.Logger {
	if l, ok := ctx.Value(loggerKey).(*slog.Logger); ok {
		return l
	}
	return slog.New(slog.DiscardHandler)
}

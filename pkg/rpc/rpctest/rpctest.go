// Package rpctest owns a way to serve a real rpc.Server to a real client in memory.
// Tests alone import it. It must never be linked into a program: the peer is whoever
// the test says.
package rpctest

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"pfsensemcp/pkg/rpc"
)

// Pipe serves s and returns a connection whose peer the server sees as p. Both
// end with the test, which fails when Serve did.
func Pipe(t testing.TB, s *rpc.Server, p rpc.Peer) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(64 << 10)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, as{Listener: l, peer: p}) }()
	cc, err := rpc.Dial("/in/memory", "test", rpc.Through(func(ctx context.Context) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cc.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("server: %v", err)
		}
	})
	return cc
}

// as gives every accepted connection the peer.
type as struct {
	net.Listener
	peer rpc.Peer
}

func (l as) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return known{Conn: c, peer: l.peer}, nil
}

type known struct {
	net.Conn
	peer rpc.Peer
}

func (k known) KnownPeer() rpc.Peer { return k.peer }

// Node returns a node for a test's server.
func Node(name string) *rpc.Node {
	n := rpc.NewNode(rpc.NodeConfig{Name: name, Version: "test"})
	n.SetServing(true)
	return n
}

// Log returns a logger that writes to the test's log.
func Log(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

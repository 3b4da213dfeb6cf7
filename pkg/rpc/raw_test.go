package rpc_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/docs/v1"
	"pfsensemcp/proto/guidance/v1"
)

// rawClient serves s to a gRPC client that has none of our manners.
func rawClient(t *testing.T, s *service, uid uint32, change ...func(*rpc.Config)) *grpc.ClientConn {
	t.Helper()
	cfg := config(&lines{})
	for _, c := range change {
		c(&cfg)
	}
	srv, err := rpc.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	guidancepb.RegisterGuidanceServer(srv, s)
	docspb.RegisterDocsAdminServer(srv, s)
	l := bufconn.Listen(1 << 16)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, knownListener{l, uid}) }()
	cc, err := grpc.NewClient("passthrough:///raw", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cc.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return cc
}

type knownListener struct {
	net.Listener
	uid uint32
}

func (l knownListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return knownConn{c, l.uid}, nil
}

type knownConn struct {
	net.Conn
	uid uint32
}

func (k knownConn) KnownPeer() rpc.Peer { return rpc.Peer{UID: k.uid} }

// raw is a request as bytes.
type raw string

// rawCodec sends raw as it is and decodes answers as usual.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(raw))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}

package mcpserver

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"

	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/test/rawmcp"
)

// BenchmarkNew is what the list of tools costs the start.
func BenchmarkNew(b *testing.B) {
	cfg := benchConfig(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(cfg); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is one small call without an appliance behind it: framing, the
// SDK, audit, rendering, and a raw client on the other end of a Unix socket.
func BenchmarkCall(b *testing.B) {
	c := benchClient(b)
	b.ReportAllocs()
	for b.Loop() {
		if res, err := c.Tool("probe", nil); err != nil || res.IsError {
			b.Fatal(err)
		}
	}
}

// BenchmarkList is tools/list.
func BenchmarkList(b *testing.B) {
	c := benchClient(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call("tools/list", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPing is the least that a request costs.
func BenchmarkPing(b *testing.B) {
	c := benchClient(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call("ping", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func benchConfig(b *testing.B) Config {
	suite, err := NewSuite(b.TempDir(), rpc.NewNode(rpc.NodeConfig{Name: "mcpd"}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(suite.Close)
	return Config{
		Version: "v0", Profile: "auditor", OutputSchemas: true, Suite: suite,
		Extras: append(GuidanceTools(suite, nil, nil), Extra{
			Name: "probe", Desc: "d", Input: []byte(`{"type":"object"}`),
			Answer: func(context.Context, pfrest.Caller, []byte, func(int)) (Answer, error) {
				return Answer{JSON: []byte(`{"object":{"version":"2.8.1-RELEASE"},"notes":[]}`)}, nil
			},
		}),
		Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	}
}

func benchClient(b *testing.B) *rawmcp.Client {
	s, err := New(benchConfig(b))
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("unix", b.TempDir()+"/s")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		seat, err := s.pool.Admit(1)
		if err != nil {
			return
		}
		s.carry(context.Background(), nc, seat, rpc.Peer{UID: 1})
	}()
	c, err := rawmcp.Dial(l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close(); _ = l.Close() })
	if _, err := c.Initialize("2025-06-18"); err != nil {
		b.Fatal(err)
	}
	return c
}

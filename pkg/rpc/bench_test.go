package rpc_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/docs/v1"
	"pfsensemcp/proto/guidance/v1"
)

// One small call over a real socket, client and server in one process: what a
// hop between two daemons costs.
func BenchmarkCall(b *testing.B) {
	dir, err := os.MkdirTemp("/tmp", "rpc")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg := mine(&lines{})
	cfg.Log, cfg.Metrics = slog.New(slog.NewJSONHandler(discard{}, nil)), metrics.New()
	srv, err := rpc.NewServer(cfg)
	if err != nil {
		b.Fatal(err)
	}
	guidancepb.RegisterGuidanceServer(srv, ok())
	docspb.RegisterDocsAdminServer(srv, ok())
	path := filepath.Join(dir, "s.sock")
	l, err := rpc.Listen(path, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	cc, err := rpc.Dial(path, "guidanced")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		cctx, stop := context.WithTimeout(context.Background(), time.Second)
		if err := lookup(cctx, cc); err != nil {
			b.Fatal(err)
		}
		stop()
	}
	_ = cc.Close()
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// Package suite owns where a suite's operators' sockets stand and how mcpctl calls
// the daemons behind them: always with a deadline, never twice.
//
// Only pkg/opctl and its inner packages import it. It must never call a socket of
// another kind than the operators', and never repeat a call.
//
// The attack it stops: a daemon that accepts and stays silent holding the operator's
// terminal.
package suite

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/rpc"
	adminpb "pfsensemcp/proto/admin/v1"
	executorpb "pfsensemcp/proto/executor/v1"
)

// HostDir is where systemd's sockets stand.
const HostDir = "/run/pfsense-mcp"

// The operators' sockets below a suite's directory.
const (
	McpdSocket      = "mcpd-admin/mcpd-admin.sock"
	DocsSocket      = "docs-admin/docs-admin.sock"
	ExecutordSocket = "exec-admin/exec-admin.sock"
)

// How long a call may take: one that looks into memory or the store, one that reads
// the appliance or the TPM first, and a stream. executord cuts at the same places.
const (
	Quick  = 10 * time.Second
	Slow   = 2 * time.Minute
	Stream = 15 * time.Minute
)

// DirFlag adds the flag that names a suite's directory. Without it, a suite that the
// user runs in the usual place of mcpctl run is meant, else the host's: the order in
// which mcpd stdio looks, so that both speak to the same mcpd.
func DirFlag(e cli.Env, fs *flag.FlagSet) *string {
	dir := HostDir
	if e.RuntimeDir != "" {
		own := filepath.Join(e.RuntimeDir, "pfsense-mcp")
		if _, err := os.Lstat(filepath.Join(own, McpdSocket)); err == nil {
			dir = own
		}
	}
	return fs.String("dir", dir, "the suite's `DIR`, as mcpctl run printed it")
}

// Dial connects to an operators' socket below dir.
func Dial(dir, socket, daemon string) (*grpc.ClientConn, error) {
	if abs, err := filepath.Abs(dir); err == nil { // as it was typed, below where the person stands
		dir = abs
	}
	look := "see whether " + daemon + " runs: the lines of mcpctl run"
	if dir == HostDir {
		look = "see whether it runs: systemctl status pfsense-" + daemon
	}
	return rpc.Dial(filepath.Join(dir, socket), daemon,
		rpc.Next(look+"; and whether you are one of its operators; a suite in another directory than "+dir+" needs --dir"))
}

// Mcpd calls mcpd's operators' service once, within a time.
func Mcpd(ctx context.Context, dir string, within time.Duration, call func(context.Context, adminpb.McpdClient) error) error {
	return with(ctx, dir, McpdSocket, "mcpd", within, func(ctx context.Context, c *grpc.ClientConn) error {
		return call(ctx, adminpb.NewMcpdClient(c))
	})
}

// Executord calls executord's operators' service, within a time.
func Executord(ctx context.Context, dir string, within time.Duration, call func(context.Context, executorpb.AdminClient) error) error {
	return with(ctx, dir, ExecutordSocket, "executord", within, func(ctx context.Context, c *grpc.ClientConn) error {
		return call(ctx, executorpb.NewAdminClient(c))
	})
}

// ErrInterrupted is the error of a call that the person ended. What the daemon was
// asked for may have happened.
var ErrInterrupted = errors.New("interrupted")

func with(ctx context.Context, dir, socket, daemon string, within time.Duration, call func(context.Context, *grpc.ClientConn) error) error {
	conn, err := Dial(dir, socket, daemon)
	if err != nil {
		return err
	}
	defer conn.Close()
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err = call(limited, conn)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return errs.Wrap(errors.Join(ErrInterrupted, err), errs.UnknownOutcome, "interrupted before "+daemon+" had answered")
	}
	return err
}

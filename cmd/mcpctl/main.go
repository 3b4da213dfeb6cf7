// Command mcpctl runs and looks after the pfsense-mcp daemons.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/opctl"
	"pfsensemcp/pkg/sd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := opctl.Run(ctx, opctl.Env{
		In:         os.Stdin,
		Out:        os.Stdout,
		Err:        os.Stderr,
		Environ:    os.Environ(),
		RuntimeDir: sd.RuntimeDirectory(),
		Version:    daemon.Version(),
	}, os.Args[1:])
	stop()
	os.Exit(code)
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/sd"
	"pfsensemcp/pkg/shim"
)

const stdioUsage = `usage: mcpd stdio [--socket PATH] [--doctor]

Carries one MCP session between standard input and output and mcpd's socket.
Works the same over ssh: ssh HOST mcpd stdio.

  --socket PATH  mcpd's socket; else PFSENSE_MCP_SOCKET, else
                 $XDG_RUNTIME_DIR/pfsense-mcp/mcp/mcp.sock, else
                 /run/pfsense-mcp/mcp/mcp.sock
  --doctor       print what is seen from here, and end: 0 all well, 1 not

Exit: 0 the session ended, 1 mcpd was never reached, 2 usage.
Example: mcpd stdio --doctor
`

// stdio is the shim.
func stdio(args []string) int {
	fs := flag.NewFlagSet("mcpd stdio", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	socket := fs.String("socket", "", "")
	doctor := fs.Bool("doctor", false, "")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(os.Stderr, stdioUsage) // standard output is for protocol alone
		return daemon.ExitOK
	case err != nil || fs.NArg() > 0:
		fmt.Fprint(os.Stderr, stdioUsage)
		return daemon.ExitUsage
	}
	sockets, err := stdioSockets(*socket)
	if err != nil {
		fmt.Fprintf(os.Stderr, "mcpd stdio: %v\n", err)
		return daemon.ExitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if *doctor {
		if shim.Doctor(ctx, os.Stdout, daemon.Version(), sockets, nil) != nil {
			return daemon.ExitStart // the output says why
		}
		return daemon.ExitOK
	}
	// Hosts start a shim for every window: small before fast.
	debug.SetGCPercent(25)
	out, err := shim.TakeStdout()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpd stdio: standard output or standard error is not open")
		return daemon.ExitStart
	}
	if err := shim.New(shim.Config{In: os.Stdin, Out: out, Notes: os.Stderr, Sockets: sockets}).Run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "mcpd stdio: %v\n", err)
		return daemon.ExitStart
	}
	return daemon.ExitOK
}

// stdioSockets says where to look for mcpd. Of the environment the shim takes
// one name and ignores all others: it runs in whatever the MCP client has.
func stdioSockets(flag string) ([]string, error) {
	const name = "PFSENSE_MCP_SOCKET"
	var env struct {
		Socket string `toml:"socket" env:"PFSENSE_MCP_SOCKET" check:"socket_path"`
	}
	var own []string
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, name+"=") {
			own = append(own, kv)
		}
	}
	if flag == "" {
		if err := conf.Load(&env, conf.Options{Env: own}); err != nil {
			return nil, err
		}
	}
	return shim.Sockets(flag, env.Socket, sd.RuntimeDirectory())
}

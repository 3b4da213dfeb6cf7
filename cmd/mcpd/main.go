// Command mcpd is the front of the suite: `mcpd serve` answers MCP clients on a
// Unix socket and reads one appliance, `mcpd stdio` is the shim that an MCP
// client starts. The shim holds nothing and opens nothing but that socket.
package main

import (
	"fmt"
	"os"

	"pfsensemcp/pkg/daemon"
)

const usage = `usage: mcpd serve [flags]   the daemon; mcpd serve --help
       mcpd stdio [flags]   what an MCP client starts; mcpd stdio --help
       mcpd --version
Example: mcpd stdio --doctor
`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return daemon.ExitUsage
	}
	switch args[0] {
	case "serve":
		return daemon.Main(serve(args[1:]))
	case "stdio":
		return stdio(args[1:])
	case "--version", "-version", "version":
		return daemon.Main(serve([]string{"--version"})) // it says when it is a test build
	case "--help", "-help", "-h", "help":
		fmt.Print(usage)
		return daemon.ExitOK
	}
	fmt.Fprintf(os.Stderr, "mcpd: there is no command of this name\n%s", usage)
	return daemon.ExitUsage
}

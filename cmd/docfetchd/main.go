// Docfetchd answers questions about the pfREST package from its public
// documentation. It is the only daemon that reaches the internet, and it reaches
// nothing else: HTTPS to one host, a cache in memory, no file of its own.
package main

import (
	"os"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/sandbox"
)

type settings struct {
	daemon.Common
}

func main() {
	os.Exit(daemon.Main(daemon.Spec{
		Name: "docfetchd",
		About: `Answers mcpd's questions about the pfREST package from its public documentation.
The only daemon with the internet: HTTPS to pfrest.org, a cache in memory.`,
		Settings: &settings{},
		Sockets: []daemon.Socket{
			{Name: "docs", Group: daemon.GroupMcpd, For: "mcpd"},
			{Name: "docs-admin", Group: daemon.GroupAdmin, For: "operators"},
		},
		// The document has 4 MB and is decoded into about 6; the unit's
		// MemoryMax=64M stands above this.
		Memory:  daemon.Memory{LimitBytes: 48 << 20},
		Profile: func(*daemon.Process) (sandbox.Profile, error) { return sandbox.Docfetchd(), nil },
		Build: func(*daemon.Process) (daemon.Running, error) {
			return daemon.Running{GRPC: map[string]daemon.Service{"docs": docs(), "docs-admin": docsAdmin()}}, nil
		},
	}))
}

// Guidanced answers mcpd's questions about what a READ answer means and what the
// vendor's documentation says about it. It has no network, no secret and no file
// of its own: its whole knowledge is compiled in.
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
		Name: "guidanced",
		About: `Answers mcpd's questions about pfSense documentation and about the meaning of
READ answers, from what is compiled in. It can open no network and no file.`,
		Settings: &settings{},
		Sockets: []daemon.Socket{
			{Name: "guidance", Group: daemon.GroupMcpd, For: "mcpd"},
		},
		// An idle registry: a small heap that is collected late is cheaper than
		// one collected often.
		Memory:  daemon.Memory{LimitBytes: 32 << 20},
		Profile: func(*daemon.Process) (sandbox.Profile, error) { return sandbox.Guidanced(), nil },
		Build: func(*daemon.Process) (daemon.Running, error) {
			return daemon.Running{GRPC: map[string]daemon.Service{"guidance": service()}}, nil
		},
	}))
}

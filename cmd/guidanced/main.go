// Guidanced answers mcpd's questions about what a READ answer means and what the
// vendor's documentation says about it. It has no network, no secret and no file
// of its own: its whole knowledge is compiled in.
package main

import (
	"os"
	"runtime/debug"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/guidance"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/sandbox"
)

type settings struct {
	daemon.Common
}

func main() { os.Exit(daemon.Main(spec(guidance.Bundled))) }

// spec is the recipe; load gives the registry, which is read inside the sandbox
// and must be whole: guidanced answers all of it or does not start.
func spec(load func() (*guidance.Registry, error)) daemon.Spec {
	return daemon.Spec{
		Name: "guidanced",
		About: `Answers mcpd's questions about pfSense documentation and about the meaning of
READ answers, from what is compiled in. It can open no network and no file.`,
		Settings: &settings{},
		Sockets: []daemon.Socket{
			{Name: "guidance", Group: daemon.GroupMcpd, For: "mcpd"},
		},
		// After the start hardly anything is allocated; collecting early costs
		// nothing then and keeps the process small.
		Memory:  daemon.Memory{GCPercent: 50, LimitBytes: 32 << 20},
		Profile: func(*daemon.Process) (sandbox.Profile, error) { return sandbox.Guidanced(), nil },
		Build: func(p *daemon.Process) (daemon.Running, error) {
			registry, err := load()
			if err != nil {
				return daemon.Running{}, err
			}
			// Decoding leaves more garbage than all of the rest of its life:
			// given back, it does not become the size of an idle process.
			debug.FreeOSMemory()
			p.Log.Info("registry loaded", logging.KeyVersion, registry.Snapshot())
			return daemon.Running{GRPC: map[string]daemon.Service{"guidance": service(registry)}}, nil
		},
	}
}

// Executord holds everything that can change the appliance: the write key, the
// contract store, the TPM's counter, the gates. Without a write configuration it
// stays up with write off, holds nothing and says so.
package main

import (
	"os"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/executor"
	"pfsensemcp/pkg/sandbox"
	executorpb "pfsensemcp/proto/executor/v1"
)

func main() {
	s := &settings{}
	os.Exit(daemon.Main(daemon.Spec{
		Name: "executord",
		About: `Carries out the one kind of change that people can approve, and nothing else.
Without a write configuration it stays up with write off.`,
		Settings: s,
		Sockets: []daemon.Socket{
			{Name: "exec", Group: daemon.GroupMcpd, For: "mcpd, the Front service"},
			{Name: "exec-admin", Group: daemon.GroupAdmin, For: "operators, the Admin service"},
		},
		Memory:  daemon.Memory{LimitBytes: 64 << 20},
		Lab:     func() bool { return s.Lab },
		Profile: func(*daemon.Process) (sandbox.Profile, error) { return sandbox.Executord(), nil },
		Build: func(p *daemon.Process) (daemon.Running, error) {
			off := executor.Off{BuildID: p.Node.Status().GetBuildId(), Lab: s.Lab}
			p.Node.SetNotices("write is off: there is no write configuration")
			return daemon.Running{GRPC: map[string]daemon.Service{
				"exec": {
					Methods:  executor.FrontMethods(),
					Register: func(r grpc.ServiceRegistrar) { executorpb.RegisterFrontServer(r, off.Front()) },
					Strict:   true,
				},
				"exec-admin": {
					Methods:  executor.AdminMethods(),
					Register: func(r grpc.ServiceRegistrar) { executorpb.RegisterAdminServer(r, off.Admin()) },
					Strict:   true,
				},
			}}, nil
		},
	}))
}

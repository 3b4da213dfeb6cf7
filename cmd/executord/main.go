// Executord holds everything that can change the appliance: the write key, the
// contract store, the TPM's counter, the gates. Without a write configuration it
// stays up with write off, holds nothing and says so.
package main

import (
	"context"
	"os"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/executor"
	"pfsensemcp/pkg/sandbox"
	executorpb "pfsensemcp/proto/executor/v1"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "verify":
			os.Exit(verify(os.Args[2:], os.Stdout, os.Stderr))
		case "witness":
			os.Exit(witnessMain(os.Args[2:]))
		}
	}
	d := &executord{}
	os.Exit(daemon.Main(daemon.Spec{
		Name: "executord",
		About: `Carries out the one kind of change that people can approve, and nothing else.
Without a write configuration it stays up with write off.`,
		Settings: &d.settings,
		Sockets: []daemon.Socket{
			{Name: "exec", Group: daemon.GroupMcpd, For: "mcpd, the Front service"},
			{Name: "exec-admin", Group: daemon.GroupAdmin, For: "operators, the Admin service"},
		},
		Memory:    daemon.Memory{LimitBytes: 64 << 20},
		StopIn:    280 * time.Second, // an exchange under way is settled first
		TestBuild: testBuild,
		Lab:       func() bool { return d.settings.Lab },
		Secrets:   d.secrets,
		Profile:   d.profile,
		Build:     d.build,
	}))
}

// build makes the two services: those of the write path, or those that say it is off.
func (d *executord) build(p *daemon.Process) (daemon.Running, error) {
	run := daemon.Running{}
	var front executorpb.FrontServer
	var admin executorpb.AdminServer
	if d.write == nil {
		off := executor.Off{BuildID: p.Node.Status().GetBuildId(), Lab: d.settings.Lab, TestBuild: testBuild}
		front, admin = off.Front(), off.Admin()
		p.Node.SetNotices("write is off: there is no write configuration")
	} else {
		s, err := d.write.Open(context.Background(), daemon.Version(), p.Node.Status().GetBuildId(), p.Log, p.Metrics, p.Node.SetNotices)
		if err != nil {
			return run, err
		}
		front, admin = s.Front(), s.Admin()
		run.Tasks, run.Alive = []daemon.Task{{Name: "writer", Run: d.write.Run}}, d.write.Alive
	}
	run.GRPC = map[string]daemon.Service{
		"exec": {
			Methods: executor.FrontMethods(), Strict: true,
			Register: func(r grpc.ServiceRegistrar) { executorpb.RegisterFrontServer(r, front) },
		},
		"exec-admin": {
			Methods: executor.AdminMethods(), Strict: true,
			Register: func(r grpc.ServiceRegistrar) { executorpb.RegisterAdminServer(r, admin) },
		},
	}
	return run, nil
}

// profile fills in what the write path needs of the machine; with write off nothing.
func (d *executord) profile(*daemon.Process) (sandbox.Profile, error) {
	p := sandbox.Executord()
	if d.write == nil {
		return p, nil
	}
	d.settings.open(&p)
	return p, device(p)
}

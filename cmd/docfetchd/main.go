// Docfetchd answers questions about the pfREST package from its public
// documentation. It is the only daemon that reaches the internet, and it reaches
// nothing else: HTTPS to one host, a cache in memory, no file of its own.
package main

import (
	"os"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/docfetch"
	"pfsensemcp/pkg/sandbox"
	docspb "pfsensemcp/proto/docs/v1"
)

// settings are those of every daemon. Where the documentation is, is no setting:
// place is empty but in a test build.
type settings struct {
	daemon.Common
	place
}

func main() { os.Exit(daemon.Main(spec())) }

func spec() daemon.Spec {
	s := &settings{}
	return daemon.Spec{
		Name: "docfetchd",
		About: `Answers mcpd's questions about the pfREST package from its public documentation.
The only daemon with the internet: HTTPS to pfrest.org, a cache in memory.`,
		Settings: s,
		Sockets: []daemon.Socket{
			{Name: "docs", Group: daemon.GroupMcpd, For: "mcpd"},
			{Name: "docs-admin", Group: daemon.GroupAdmin, For: "operators"},
		},
		TestBuild: testBuild,
		// The document has 4 MB and its index 2; the unit's MemoryMax=64M stands
		// above this.
		Memory:  daemon.Memory{LimitBytes: 48 << 20},
		Secrets: func(*daemon.Process) error { return s.read() },
		Profile: func(*daemon.Process) (sandbox.Profile, error) { return s.profile(sandbox.Docfetchd()), nil },
		Build: func(p *daemon.Process) (daemon.Running, error) {
			cfg, err := s.config(docfetch.Config{Log: p.Log, Metrics: p.Metrics})
			if err != nil {
				return daemon.Running{}, err
			}
			svc := docfetch.New(cfg)
			return daemon.Running{
				GRPC:  map[string]daemon.Service{"docs": docs(svc), "docs-admin": docsAdmin(svc)},
				Tasks: []daemon.Task{{Name: "fetch", Run: svc.Run}},
			}, nil
		},
	}
}

// docs is what docs.sock serves to mcpd.
func docs(s *docfetch.Service) daemon.Service {
	return daemon.Service{
		Methods:  docfetch.Methods(),
		Register: func(r grpc.ServiceRegistrar) { docspb.RegisterDocsServer(r, s) },
		Strict:   true,
	}
}

// docsAdmin is what docs-admin.sock serves to operators.
func docsAdmin(s *docfetch.Service) daemon.Service {
	return daemon.Service{
		Methods:  docfetch.AdminMethods(),
		Register: func(r grpc.ServiceRegistrar) { docspb.RegisterDocsAdminServer(r, s) },
		Strict:   true,
	}
}

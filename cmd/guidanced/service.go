package main

import (
	"google.golang.org/grpc"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/guidance"
	guidancepb "pfsensemcp/proto/guidance/v1"
)

// service is what guidance.sock serves: two calls, each a name or two and the
// appliance's identity, answered from memory.
func service(registry *guidance.Registry) daemon.Service {
	return daemon.Service{
		Methods:  guidance.Methods(),
		Register: func(r grpc.ServiceRegistrar) { guidancepb.RegisterGuidanceServer(r, guidance.NewService(registry)) },
		Strict:   true,
	}
}

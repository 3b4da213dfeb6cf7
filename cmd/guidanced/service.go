package main

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	guidancepb "pfsensemcp/proto/guidance/v1"
)

// service is what guidance.sock serves: two calls, each a name or two and the
// appliance's identity, answered from memory.
func service() daemon.Service {
	row := func(full string) rpc.Method {
		return rpc.Method{Full: full, Callers: rpc.Mcpd, MaxRequest: 2 << 10, MaxDuration: 5 * time.Second}
	}
	return daemon.Service{
		Methods: []rpc.Method{
			row(guidancepb.Guidance_Lookup_FullMethodName),
			row(guidancepb.Guidance_ToolGuidance_FullMethodName),
		},
		Register: func(r grpc.ServiceRegistrar) { guidancepb.RegisterGuidanceServer(r, empty{}) },
		Strict:   true,
	}
}

// empty is a guidance service without a registry: it says so instead of
// answering "no guidance found", which would be a statement about pfSense.
type empty struct {
	guidancepb.UnsafeGuidanceServer
}

func none() error {
	return errs.New(errs.Unavailable, "this build of guidanced has no guidance registry").
		WithNext("read the answer as it stands; a later release brings the registry")
}

func (empty) Lookup(context.Context, *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
	return nil, none()
}

func (empty) ToolGuidance(context.Context, *guidancepb.ToolGuidanceRequest) (*guidancepb.ToolGuidanceResponse, error) {
	return nil, none()
}

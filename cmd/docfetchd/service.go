package main

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	docspb "pfsensemcp/proto/docs/v1"
)

// docs is what docs.sock serves to mcpd. A call may wait for one fetch.
func docs() daemon.Service {
	row := func(full string) rpc.Method {
		return rpc.Method{Full: full, Callers: rpc.Mcpd, MaxRequest: 1 << 10, MaxDuration: 45 * time.Second}
	}
	return daemon.Service{
		Methods: []rpc.Method{
			row(docspb.Docs_Endpoint_FullMethodName),
			row(docspb.Docs_Model_FullMethodName),
			row(docspb.Docs_Topic_FullMethodName),
		},
		Register: func(r grpc.ServiceRegistrar) { docspb.RegisterDocsServer(r, unfetched{}) },
		Strict:   true,
	}
}

// docsAdmin is what docs-admin.sock serves to operators.
func docsAdmin() daemon.Service {
	return daemon.Service{
		Methods: []rpc.Method{{
			Full: docspb.DocsAdmin_Contract_FullMethodName, Callers: rpc.Operators,
			MaxRequest: 0, MaxDuration: 2 * time.Minute, Once: true,
		}},
		Register: func(r grpc.ServiceRegistrar) { docspb.RegisterDocsAdminServer(r, unfetchedAdmin{}) },
		Strict:   true,
	}
}

func none() error {
	return errs.New(errs.Unavailable, "this build of docfetchd fetches no documentation").
		WithNext("ask the appliance's own schema: mcpctl schema-diff; a later release brings the documentation")
}

// unfetched says that there is no documentation, instead of "not found", which
// would be a statement about the package.
type unfetched struct{ docspb.UnsafeDocsServer }

func (unfetched) Endpoint(context.Context, *docspb.EndpointRequest) (*docspb.EndpointResponse, error) {
	return nil, none()
}

func (unfetched) Model(context.Context, *docspb.ModelRequest) (*docspb.ModelResponse, error) {
	return nil, none()
}

func (unfetched) Topic(context.Context, *docspb.TopicRequest) (*docspb.TopicResponse, error) {
	return nil, none()
}

type unfetchedAdmin struct{ docspb.UnsafeDocsAdminServer }

func (unfetchedAdmin) Contract(*docspb.ContractRequest, grpc.ServerStreamingServer[docspb.ContractChunk]) error {
	return none()
}

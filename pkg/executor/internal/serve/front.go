package serve

import (
	"context"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/show"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/rpc"
	executorpb "pfsensemcp/proto/executor/v1"
)

// toolSchema is the version of the tool's contract, which mcpd compares with its own.
const toolSchema = 1

// What the front takes, in bytes as sent. The rules for names and texts are the
// ceremony's; these stop what no rule need look at.
const (
	maxAlias       = 64
	maxDescription = 4096
)

type front struct {
	executorpb.UnsafeFrontServer
	s *Service
}

// GetWriteStatus says whether the write tool may be offered, from what is known:
// it reads nothing outside.
func (f front) GetWriteStatus(context.Context, *executorpb.GetWriteStatusRequest) (*executorpb.GetWriteStatusResponse, error) {
	if !f.s.y.Status().Constructible {
		return &executorpb.GetWriteStatusResponse{}, nil
	}
	return &executorpb.GetWriteStatusResponse{
		Constructible: true, Unit: change.Operation, EndpointSymbol: change.EndpointSymbol, HttpMethod: change.HTTPMethod, Schema: toolSchema,
	}, nil
}

// RequestAliasDescription asks or polls. The answer is one of six words, never an
// error: a model must not be able to tell why it was refused.
func (f front) RequestAliasDescription(ctx context.Context, r *executorpb.RequestAliasDescriptionRequest) (*executorpb.RequestAliasDescriptionResponse, error) {
	out := &executorpb.RequestAliasDescriptionResponse{State: executorpb.WriteState_WRITE_STATE_REFUSED}
	uid := r.GetCallerUid()
	if len(r.GetAliasName()) <= maxAlias && len(r.GetDescription()) <= maxDescription && uid <= record.MaxUID && !rpc.Impossible(uid) {
		out.State = show.Answer(f.s.y.Ask(ctx, uid, r.GetAliasName(), r.GetDescription()))
	}
	return out, nil
}

// kinds are the files that mcpd may pass on. A rollback needs two signatures at once
// and a rebaseline a person at a terminal: neither comes this way.
var kinds = map[executorpb.SubmitArtifactRequest_Kind]string{
	executorpb.SubmitArtifactRequest_KIND_AUTHORIZATION:  "authorization",
	executorpb.SubmitArtifactRequest_KIND_CONFIRMATION:   "confirmation",
	executorpb.SubmitArtifactRequest_KIND_RECONCILIATION: "reconciliation",
}

// SubmitArtifact takes a file over. What becomes of it is said nowhere on this
// socket.
func (f front) SubmitArtifact(_ context.Context, r *executorpb.SubmitArtifactRequest) (*executorpb.SubmitArtifactResponse, error) {
	if !f.s.f.Relay {
		return nil, errs.New(errs.Unavailable, "executord takes no files from mcpd").WithClass("relay_off").
			WithNext("an operator submits them with mcpctl write; the setting write.relay of executord opens this way")
	}
	kind, known := kinds[r.GetKind()]
	if !known || len(r.GetArtifact()) == 0 || len(r.GetArtifact()) > artifact.MaxSigned {
		return nil, errs.Newf(errs.Invalid, "a file has a kind and 1 to %d bytes", artifact.MaxSigned).WithClass("request_validation")
	}
	f.s.y.Relay(kind, r.GetArtifact())
	return &executorpb.SubmitArtifactResponse{Received: true}, nil
}

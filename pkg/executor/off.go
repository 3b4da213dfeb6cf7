package executor

import (
	"context"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/posture"
	"pfsensemcp/pkg/executor/internal/show"
	executorpb "pfsensemcp/proto/executor/v1"
)

// Off is executord without a write configuration. Its services hold nothing and
// are safe for concurrent use.
type Off struct {
	BuildID   string // of the running program, for Discover
	Lab       bool   // the setting; it changes nothing while write is off
	TestBuild bool
}

// Front returns the service for mcpd.
func (o Off) Front() executorpb.FrontServer { return offFront{} }

// Admin returns the service for operators.
func (o Off) Admin() executorpb.AdminServer { return offAdmin{off: o} }

// isOff is the answer of every call that needs a write configuration.
func isOff() error {
	return errs.New(errs.Unavailable, "write is off: executord has no write configuration").WithClass("write_off").
		WithNext("reading needs nothing more; to ask for changes, set up the write path in executord.toml")
}

type offFront struct{ executorpb.UnsafeFrontServer }

// GetWriteStatus says that no write tool can be offered.
func (offFront) GetWriteStatus(context.Context, *executorpb.GetWriteStatusRequest) (*executorpb.GetWriteStatusResponse, error) {
	return &executorpb.GetWriteStatusResponse{}, nil
}

// RequestAliasDescription refuses: nothing is stored, and no text of the request
// is looked at.
func (offFront) RequestAliasDescription(context.Context, *executorpb.RequestAliasDescriptionRequest) (*executorpb.RequestAliasDescriptionResponse, error) {
	return &executorpb.RequestAliasDescriptionResponse{State: executorpb.WriteState_WRITE_STATE_REFUSED}, nil
}

func (offFront) SubmitArtifact(context.Context, *executorpb.SubmitArtifactRequest) (*executorpb.SubmitArtifactResponse, error) {
	return nil, isOff()
}

type offAdmin struct {
	executorpb.UnsafeAdminServer
	off Off
}

// Discover reports the posture: read only, no anchor, no identity but the
// program's own.
func (a offAdmin) Discover(context.Context, *executorpb.DiscoverRequest) (*executorpb.DiscoverResponse, error) {
	return &executorpb.DiscoverResponse{
		Posture:  &executorpb.Posture{CapabilityPosture: change.PostureReadOnly, WriteCapabilitiesTotal: 1, Why: "write_off"},
		Anchor:   &executorpb.Anchor{Backend: "none", Assurance: change.AssuranceNone, Evidence: change.EvidenceUnconfigured},
		Identity: &executorpb.Identity{ExecutorBuildId: a.off.BuildID},
		Lab:      a.off.Lab, TestBuild: a.off.TestBuild,
	}, nil
}

// Plan analyses the way from here to a posture.
func (offAdmin) Plan(_ context.Context, r *executorpb.PlanRequest) (*executorpb.PlanResponse, error) {
	// There is no store, policy or authority that a digest could bind.
	p, steps, way, err := posture.Analyse(posture.Observe(posture.Facts{}), r.GetCapabilityPosture(), r.GetAnchorAssurance(), change.Executor{})
	if err != nil {
		return nil, err
	}
	return show.Plan(p, steps, way), nil
}

// Doctor is one line while write is off.
func (offAdmin) Doctor(context.Context, *executorpb.DoctorRequest) (*executorpb.DoctorResponse, error) {
	return &executorpb.DoctorResponse{Checks: []*executorpb.Check{{
		CheckId: "config.complete", Description: "the write configuration is complete",
		Status: executorpb.Check_STATUS_NOT_CONFIGURED,
		Detail: "there is none: write is off",
		Next:   "nothing, unless changes shall be asked for",
	}}}, nil
}

func (offAdmin) ListRequests(context.Context, *executorpb.ListRequestsRequest) (*executorpb.ListRequestsResponse, error) {
	return nil, isOff()
}

func (offAdmin) ListContracts(context.Context, *executorpb.ListContractsRequest) (*executorpb.ListContractsResponse, error) {
	return nil, isOff()
}

func (offAdmin) GetContract(context.Context, *executorpb.GetContractRequest) (*executorpb.GetContractResponse, error) {
	return nil, isOff()
}

func (offAdmin) GetPreview(context.Context, *executorpb.GetPreviewRequest) (*executorpb.ArtifactResponse, error) {
	return nil, isOff()
}

func (offAdmin) SubmitAuthorization(context.Context, *executorpb.SubmitAuthorizationRequest) (*executorpb.SubmitAuthorizationResponse, error) {
	return nil, isOff()
}

func (offAdmin) GetPending(context.Context, *executorpb.GetPendingRequest) (*executorpb.ArtifactResponse, error) {
	return nil, isOff()
}

func (offAdmin) SubmitConfirmation(context.Context, *executorpb.SubmitConfirmationRequest) (*executorpb.ContractState, error) {
	return nil, isOff()
}

func (offAdmin) ResumeExecution(context.Context, *executorpb.ResumeExecutionRequest) (*executorpb.ContractState, error) {
	return nil, isOff()
}

func (offAdmin) Cancel(context.Context, *executorpb.CancelRequest) (*executorpb.CancelResponse, error) {
	return nil, isOff()
}

func (offAdmin) Observe(context.Context, *executorpb.ObserveRequest) (*executorpb.ArtifactResponse, error) {
	return nil, isOff()
}

func (offAdmin) SubmitReconciliation(context.Context, *executorpb.SubmitReconciliationRequest) (*executorpb.ContractState, error) {
	return nil, isOff()
}

func (offAdmin) GetRollbackRequest(context.Context, *executorpb.GetRollbackRequestRequest) (*executorpb.ArtifactResponse, error) {
	return nil, isOff()
}

func (offAdmin) SubmitRollback(context.Context, *executorpb.SubmitRollbackRequest) (*executorpb.ContractState, error) {
	return nil, isOff()
}

func (offAdmin) SubmitRelease(context.Context, *executorpb.SubmitReleaseRequest) (*executorpb.ContractState, error) {
	return nil, isOff()
}

func (offAdmin) AuditShow(context.Context, *executorpb.AuditShowRequest) (*executorpb.AuditShowResponse, error) {
	return nil, isOff()
}

func (offAdmin) AuditVerify(context.Context, *executorpb.AuditVerifyRequest) (*executorpb.AuditVerifyResponse, error) {
	return nil, isOff()
}

func (offAdmin) AnchorStatus(context.Context, *executorpb.AnchorStatusRequest) (*executorpb.AnchorStatusResponse, error) {
	return nil, isOff()
}

func (offAdmin) AnchorPlan(context.Context, *executorpb.AnchorPlanRequest) (*executorpb.AnchorPlanResponse, error) {
	return nil, isOff()
}

func (offAdmin) AnchorProvision(context.Context, *executorpb.AnchorProvisionRequest) (*executorpb.AnchorStatusResponse, error) {
	return nil, isOff()
}

func (offAdmin) AnchorSeed(context.Context, *executorpb.AnchorSeedRequest) (*executorpb.AnchorStatusResponse, error) {
	return nil, isOff()
}

func (offAdmin) SubmitRebaseline(context.Context, *executorpb.SubmitRebaselineRequest) (*executorpb.AnchorStatusResponse, error) {
	return nil, isOff()
}

func (offAdmin) AnchorFile(context.Context, *executorpb.AnchorFileRequest) (*executorpb.ArtifactResponse, error) {
	return nil, isOff()
}

func (offAdmin) GetPins(context.Context, *executorpb.GetPinsRequest) (*executorpb.ArtifactResponse, error) {
	return nil, isOff()
}

func (offAdmin) RotateKeys(context.Context, *executorpb.RotateKeysRequest) (*executorpb.RotateKeysResponse, error) {
	return nil, isOff()
}

func (offAdmin) KeyChallenge(context.Context, *executorpb.KeyChallengeRequest) (*executorpb.KeyChallengeResponse, error) {
	return nil, isOff()
}

func (offAdmin) AuditExport(*executorpb.AuditExportRequest, grpc.ServerStreamingServer[executorpb.FileChunk]) error {
	return isOff()
}

func (offAdmin) Backup(*executorpb.BackupRequest, grpc.ServerStreamingServer[executorpb.FileChunk]) error {
	return isOff()
}

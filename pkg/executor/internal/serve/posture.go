package serve

import (
	"context"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/doctor"
	"pfsensemcp/pkg/executor/internal/show"
	executorpb "pfsensemcp/proto/executor/v1"
)

// Discover reports both axes and what binds an approval to this executor.
func (a admin) Discover(ctx context.Context, _ *executorpb.DiscoverRequest) (*executorpb.DiscoverResponse, error) {
	d := a.s.y.Discover(ctx)
	out := &executorpb.DiscoverResponse{
		Posture: &executorpb.Posture{
			CapabilityPosture: d.Evidence.Posture, WriteCapabilitiesTotal: 1, EndpointsAllowed: uint32(d.Endpoints),
			Constructible: d.Status.Constructible, Quarantine: d.Status.Quarantine, Why: d.Status.Why,
		},
		Anchor: show.Anchor(d),
		Identity: &executorpb.Identity{
			StoreId: d.Executor.StoreID, ExecutorBuildId: d.Executor.BuildID, PolicyDigest: d.Executor.PolicyDigest,
			AuthoritySetDigest: d.Executor.AuthoritySet, ApplianceTargetDigest: d.Executor.ApplianceTarget,
			AttestationKeyId: d.AttestationID, ApplianceAccount: d.Account,
		},
		Lab: d.Status.Lab, TestBuild: d.Status.TestBuild,
	}
	if d.Status.Constructible {
		out.Posture.WriteCapabilitiesActive = 1
	}
	return out, nil
}

// Plan analyses the way from here to a posture.
func (a admin) Plan(ctx context.Context, r *executorpb.PlanRequest) (*executorpb.PlanResponse, error) {
	p, steps, way, err := a.s.y.Plan(ctx, r.GetCapabilityPosture(), r.GetAnchorAssurance())
	if err != nil {
		return nil, err
	}
	return show.Plan(p, steps, way), nil
}

// Doctor runs executord's own checks.
func (a admin) Doctor(ctx context.Context, _ *executorpb.DoctorRequest) (*executorpb.DoctorResponse, error) {
	return &executorpb.DoctorResponse{Checks: doctor.Run(ctx, doctor.Facts{
		Version: a.s.f.Version, Enabled: a.s.f.Enabled, TLSMode: a.s.f.TLSMode, Pinned: a.s.f.Pinned, Sealed: a.s.f.Sealed,
		Authorities: a.s.f.Authorities, Permissions: a.s.f.Permissions, Appliance: a.s.f.Appliance,
	}, a.s.y)}, nil
}

// AnchorStatus shows how far provisioning is. A counter that disagrees with the store
// is an answer: both values are what an operator needs then.
func (a admin) AnchorStatus(ctx context.Context, _ *executorpb.AnchorStatusRequest) (*executorpb.AnchorStatusResponse, error) {
	s, err := a.s.y.AnchorState(ctx)
	if err != nil && s.Discovery.Evidence.Anchor != change.EvidenceMismatch {
		return nil, err
	}
	return show.AnchorState(s), nil
}

func (a admin) AnchorPlan(ctx context.Context, _ *executorpb.AnchorPlanRequest) (*executorpb.AnchorPlanResponse, error) {
	p, step, err := a.s.y.AnchorPlan(ctx)
	if err != nil {
		return nil, err
	}
	out := &executorpb.AnchorPlanResponse{
		Step: show.Step(step), Assurance: p.Facts.Assurance, Next: show.AfterStep(step, p.Facts.Index, nil),
		Taken: p.Taken[:min(len(p.Taken), maxTaken)], Free: p.Free[:min(len(p.Free), anchor.MaxFree)],
	}
	if change.Token(p.Facts.Manufacturer) && len(p.Facts.Manufacturer) <= 16 { // a chip's own word, else not shown
		out.Manufacturer = p.Facts.Manufacturer
	}
	if p.OwnerSet && step < anchor.Defined {
		out.Next = "the TPM's owner hierarchy has a secret, so nothing can be defined here: use another TPM, or a witness host"
	}
	return out, nil
}

// maxTaken bounds the handles in an answer: a TPM holds far fewer.
const maxTaken = 256

func (a admin) AnchorProvision(ctx context.Context, r *executorpb.AnchorProvisionRequest) (*executorpb.AnchorStatusResponse, error) {
	by, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	expected, known := show.Expected(r.GetExpected())
	switch {
	case !r.GetConfirm():
		return nil, unconfirmed()
	case !known:
		return nil, invalid("the step that a person saw must be named").WithNext("mcpctl anchor status shows it")
	case r.GetHandle() < anchor.FirstHandle || r.GetHandle() > anchor.LastHandle:
		return nil, invalid("the handle must be one of those that mcpctl anchor plan offers")
	}
	s, err := a.s.y.Provision(ctx, by, r.GetHandle(), expected)
	if err != nil {
		return nil, err
	}
	return show.AnchorState(s), nil
}

func (a admin) AnchorSeed(ctx context.Context, r *executorpb.AnchorSeedRequest) (*executorpb.AnchorStatusResponse, error) {
	by, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case !r.GetConfirm():
		return nil, unconfirmed()
	case r.GetValue() > change.MaxCounter || r.GetHandle() < anchor.FirstHandle || r.GetHandle() > anchor.LastHandle:
		return nil, invalid("value and handle must be those that mcpctl anchor status shows")
	}
	s, err := a.s.y.Seed(ctx, by, int64(r.GetValue()), r.GetHandle())
	if err != nil {
		return nil, err
	}
	return show.AnchorState(s), nil
}

// unconfirmed is the answer to a step that nobody typed yes to. mcpctl asks at a
// terminal; a program that leaves the question out gets no further.
func unconfirmed() error {
	return invalid("a person must confirm this step").WithClass("unconfirmed").WithNext("run mcpctl at a terminal")
}

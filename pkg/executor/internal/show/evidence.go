package show

import (
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/posture"
	"pfsensemcp/proto/executor/v1"
)

// Anchor shows what is known of the counter.
func Anchor(d ceremony.Discovery) *executorpb.Anchor {
	m := &executorpb.Anchor{
		Backend: d.Facts.Backend, Assurance: d.Evidence.Assurance, Evidence: d.Evidence.Anchor,
		Configured: d.Facts.Index != 0, Exists: d.StoreExists, Seeded: d.Seeded, Complete: d.Complete,
		NvIndex: d.Facts.Index, NvIndexName: d.Facts.Name,
		StoreValue: Counter(d.Evidence.Baseline), WitnessValue: Counter(d.Witness),
	}
	if !d.Evidence.ProvisionedAt.IsZero() {
		m.ProvisionedAt = d.Evidence.ProvisionedAt.Unix()
	}
	return m
}

// Counter returns a counter's value as it travels.
func Counter(n *int64) *uint64 {
	if n == nil || *n < 0 {
		return nil
	}
	v := uint64(*n)
	return &v
}

// Plan shows a plan. Its digest is empty while something that it covers is not
// there: it could bind nothing.
func Plan(p change.Plan, steps []posture.Explained, way posture.Transitions) *executorpb.PlanResponse {
	out := &executorpb.PlanResponse{
		TargetValidity: p.TargetValidity, OverallStatus: p.Status, SafeToProceed: p.SafeToProceed,
		CapabilityTransition: way.Capability, AnchorTransition: way.Anchor,
	}
	if d, err := p.Digest(); err == nil {
		out.Digest = d
	}
	for _, s := range steps {
		out.Steps = append(out.Steps, &executorpb.PlanStep{
			StepId: s.ID, Order: uint32(s.Order), Axis: s.Axis, MutationClass: s.MutationClass,
			AuthorizationRequired: s.Level, Blocked: s.Blocked, Description: s.Text,
		})
	}
	return out
}

// AnchorState shows how far provisioning is and what comes next. A complete one whose
// values disagree has no further step: people find out why.
func AnchorState(s ceremony.AnchorState) *executorpb.AnchorStatusResponse {
	d := s.Discovery
	m := &executorpb.AnchorStatusResponse{
		Anchor: Anchor(d), Step: Step(s.Step), Lockout: d.Facts.Lockout, Next: AfterStep(s.Step, d.Facts.Index, d.Witness),
	}
	if d.Evidence.Anchor == change.EvidenceMismatch {
		m.Step = Step(anchor.Recorded)
		m.Next = "find out whether a store was restored or somebody moved the counter; then mcpctl anchor status -o anchor.json; the reconciliation owner signs; mcpctl anchor rebaseline FILE"
	}
	return m
}

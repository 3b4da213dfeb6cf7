package change

import (
	"strings"
	"time"

	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// The words of a plan. Posture and assurance are its two axes.
const (
	PostureReadOnly       = "read_only"
	PostureWriteProtected = "write_protected"

	AssuranceNone     = "none"
	AssuranceSoftware = "software"
	AssuranceHardware = "hardware_witness"
	AssuranceUnknown  = "unknown" // of evidence alone

	AxisAnchor     = "anchor_assurance"
	AxisCapability = "capability_posture"

	EvidenceInvalid       = "configuration_invalid"
	EvidenceUnconfigured  = "unconfigured"
	EvidenceNotCreated    = "configured_not_created"
	EvidenceStoreError    = "store_error"
	EvidenceUnprovisioned = "configured_unprovisioned"
	EvidenceUnverified    = "provisioned_unverified"
	EvidenceUnreachable   = "provisioned_unreachable"
	EvidenceVerified      = "provisioned_verified"
	EvidenceMismatch      = "provisioned_mismatch"

	LevelNone         = "none_required"
	LevelConfigure    = "configuration_change"
	LevelInteractive  = "interactive_hardware_confirmation"
	LevelActivation   = "milestone_9_activation_decision"
	LevelDeprovision  = "separate_deprovision_authorization" // never authorizable
	LevelUndetermined = "undetermined_not_implemented"       // never authorizable
)

// MaxCounter is the largest counter value that a canonical integer holds.
const MaxCounter = 1<<63 - 1

// Evidence is what was observed, and what an authorization copies.
type Evidence struct {
	Posture       string
	Assurance     string
	Anchor        string // the evidence state
	Baseline      *int64 // the store's counter value; nil when there is none
	Witness       *int64 // the TPM's; nil when it could not be read
	ProvisionedAt time.Time
}

// Fields lists the members.
func (e *Evidence) Fields(c *field.Codec) {
	c.Enum("capability_posture_value", &e.Posture, PostureReadOnly, PostureWriteProtected)
	c.Enum("anchor_assurance_value", &e.Assurance, AssuranceNone, AssuranceSoftware, AssuranceHardware, AssuranceUnknown)
	c.Enum("anchor_evidence_state", &e.Anchor, EvidenceInvalid, EvidenceUnconfigured, EvidenceNotCreated, EvidenceStoreError,
		EvidenceUnprovisioned, EvidenceUnverified, EvidenceUnreachable, EvidenceVerified, EvidenceMismatch)
	c.OptInt("anchor_baseline", &e.Baseline, 0, MaxCounter)
	c.OptInt("anchor_witness_value", &e.Witness, 0, MaxCounter)
	c.OptTime("anchor_provisioned_at", &e.ProvisionedAt)
}

// Equal compares two pieces of evidence.
func (e *Evidence) Equal(o *Evidence) bool {
	same := func(a, b *int64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return e.Posture == o.Posture && e.Assurance == o.Assurance && e.Anchor == o.Anchor &&
		same(e.Baseline, o.Baseline) && same(e.Witness, o.Witness) && e.ProvisionedAt.Equal(o.ProvisionedAt)
}

// Step is one step of a plan. Its order is its place in the list.
type Step struct{ ID, Axis, MutationClass, Level string }

// Executor binds a plan to one executor: store, counter, policy, authorities,
// binary and appliance.
type Executor struct {
	StoreID         string
	NVIndexName     string // 000b and the SHA-256 of the index's public area
	PolicyDigest    string
	AuthoritySet    string
	BuildID         string // "sha256:" and the hash of the running executable
	ApplianceTarget string
}

// Lab says whether the store is one of a laboratory.
func (x *Executor) Lab() bool { return strings.HasPrefix(x.StoreID, LabPrefix) }

// Fields lists the members.
func (x *Executor) Fields(c *field.Codec) {
	c.Token("store_id", &x.StoreID)
	c.Text("nv_index_name", &x.NVIndexName, field.NVName)
	c.Hex64("policy_digest", &x.PolicyDigest)
	c.Hex64("authority_set_digest", &x.AuthoritySet)
	c.Text("executor_build_id", &x.BuildID, field.BuildID)
	c.Hex64("appliance_target_digest", &x.ApplianceTarget)
}

// Plan is a security-posture plan of schema 2: analysis, never permission.
type Plan struct {
	TargetPosture, TargetAssurance, TargetValidity string
	Steps                                          []Step
	Evidence                                       Evidence
	Status                                         string
	SafeToProceed                                  bool
	Executor                                       Executor
}

// Fields lists the members.
func (p *Plan) Fields(c *field.Codec) {
	c.Version(2)
	c.Enum("target_capability_posture", &p.TargetPosture, PostureReadOnly, PostureWriteProtected)
	c.Enum("target_anchor_assurance", &p.TargetAssurance, AssuranceNone, AssuranceSoftware, AssuranceHardware)
	c.Enum("target_validity", &p.TargetValidity, "valid", "invalid_combination", "valid_not_implemented")
	order := int64(0)
	seen := map[string]bool{}
	field.Objects(c, "steps", &p.Steps, 0, 16, func(c *field.Codec, s *Step) {
		order++
		n := order
		c.Token("step_id", &s.ID)
		c.Int("order", &n, order, order)
		c.Enum("axis", &s.Axis, AxisAnchor, AxisCapability)
		c.Enum("mutation_class", &s.MutationClass, "none", "configuration", "anchor_provisioning", "service_deployment", "activation", "deactivation")
		c.Enum("authorization_required", &s.Level, LevelNone, LevelConfigure, LevelInteractive, LevelActivation, LevelDeprovision, LevelUndetermined)
		c.Check(strings.HasPrefix(s.ID, s.Axis+"."), "step_id", "must begin with its axis")
		c.Check(!seen[s.ID], "step_id", "stands twice")
		seen[s.ID] = true
	})
	c.Object("evidence_fingerprint", p.Evidence.Fields)
	c.Enum("overall_status", &p.Status, "already_satisfied", "plan_generated", "blocked_invalid_target", "blocked_not_implemented",
		"blocked_anomaly_detected", "blocked_indeterminate_current_state")
	c.Bool("safe_to_proceed", &p.SafeToProceed)
	c.Object("executor_binding", p.Executor.Fields)
}

// Digest returns the plan digest.
func (p *Plan) Digest() (string, error) {
	o, err := field.Encode(p.Fields)
	if err != nil {
		return "", err
	}
	return field.Digest(canon.Plan, o)
}

// Executable says whether a change may be approved under the plan: it is safe, the
// counter is a verified hardware witness equal to the store, and the one step of a
// change is there once at the level that an owner decides. An equal digest alone
// never suffices.
func (p *Plan) Executable() error {
	e := &p.Evidence
	steps := 0
	for _, s := range p.Steps {
		if s.ID == StepID && s.Level == RiskClass && s.MutationClass == "activation" {
			steps++
		}
	}
	switch {
	case p.TargetPosture != PostureWriteProtected || p.TargetAssurance != AssuranceHardware || p.TargetValidity != "valid":
		return field.Refuse(field.Binding, "posture_plan", "is not for protected writing with a hardware witness")
	case !p.SafeToProceed:
		return field.Refuse(field.Binding, "posture_plan.safe_to_proceed", "must be true")
	case p.Status != "already_satisfied":
		return field.Refuse(field.Binding, "posture_plan.overall_status", "must be already_satisfied")
	case e.Posture != PostureWriteProtected || e.Assurance != AssuranceHardware || e.Anchor != EvidenceVerified:
		return field.Refuse(field.Binding, "posture_plan.evidence_fingerprint", "must be a verified hardware witness")
	case e.Baseline == nil || e.Witness == nil || *e.Baseline != *e.Witness || e.ProvisionedAt.IsZero():
		return field.Refuse(field.Binding, "posture_plan.evidence_fingerprint", "must have one counter value in store and witness")
	case steps != 1:
		return field.Refuse(field.Binding, "posture_plan.steps", "must hold the deciding step once")
	}
	return nil
}

package artifact

import (
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// The words of an observation.
const (
	OriginExecuting   = "executing"
	OriginRollingBack = "rolling_back"

	BoundaryNone   = "none"
	BoundaryIntent = "intent"

	MatchExpectedPost = "expected_post" // what the attempt would leave
	MatchPre          = "pre"           // what stood before the attempt
	MatchNeither      = "neither"
	MatchAbsent       = "absent"
)

// Observation is a fresh read of the target of one contract whose outcome is open
// (schema 2). It changes nothing and infers nothing.
type Observation struct {
	ContractID, OperationID string
	StateVersion            int64
	// UncertaintyOrigin is executing or rolling_back; "" (null) says that the
	// contract is in rollback_failed and waits for its release. Match is seen from
	// the attempt: for a rollback, expected_post is the snapshot.
	UncertaintyOrigin string
	SendBoundary      string
	TargetPresent     bool
	TargetFingerprint string // "" when absent
	Locator           *int64 // nil when absent
	Match             string
	OthersUnchanged   bool
	ApplianceTarget   string
	ObservedAt        time.Time
	SentAt            time.Time // zero when nothing was sent
	SecondsSinceSend  *int64    // by the executor's monotonic clock; nil when nothing was sent
	KeyID             string
	Attestation       []byte
}

// ParseObservation reads an observation of at most MaxAttested bytes.
func ParseObservation(b []byte) (*Observation, error) { return parse[Observation](b) }

// Role returns executor-observation.
func (o *Observation) Role() canon.Role { return canon.RoleObservation }

// AttestedBy returns the id of the executor's key.
func (o *Observation) AttestedBy() string { return o.KeyID }

func (o *Observation) signature() *[]byte { return &o.Attestation }
func (o *Observation) blank() Artifact    { return &Observation{} }

func (o *Observation) fields(c *field.Codec) {
	c.Version(2)
	c.ID("contract_id", &o.ContractID, change.PrefixContract)
	c.ID("operation_id", &o.OperationID, change.PrefixOperation)
	c.Int("state_version", &o.StateVersion, 0, MaxCounter)
	c.OptEnum("uncertainty_origin", &o.UncertaintyOrigin, OriginExecuting, OriginRollingBack)
	c.Enum("send_boundary", &o.SendBoundary, BoundaryNone, BoundaryIntent)
	c.Bool("target_present", &o.TargetPresent)
	c.OptHex64("target_fingerprint", &o.TargetFingerprint)
	c.OptInt("lifecycle_locator", &o.Locator, 0, change.MaxLocator)
	c.Enum("match", &o.Match, MatchExpectedPost, MatchPre, MatchNeither, MatchAbsent)
	c.Bool("others_unchanged", &o.OthersUnchanged)
	c.Hex64("appliance_target_digest", &o.ApplianceTarget)
	c.Time("observed_at", &o.ObservedAt)
	c.OptTime("sent_at", &o.SentAt)
	c.OptInt("seconds_since_send", &o.SecondsSinceSend, 0, MaxCounter)
	c.Token("attestation_key_id", &o.KeyID)
	if c.Failed() {
		return
	}
	c.Check(o.TargetPresent == (o.TargetFingerprint != "") && o.TargetPresent == (o.Locator != nil) && o.TargetPresent == (o.Match != MatchAbsent),
		"target_present", "must agree with target_fingerprint, lifecycle_locator and match")
	sent := o.SecondsSinceSend != nil
	c.Check(sent == !o.SentAt.IsZero(), "sent_at", "must be there exactly when seconds_since_send is")
	c.Check(sent || o.SendBoundary == BoundaryNone, "sent_at", "must be there when something may have been sent")
}

// Digest returns the observation_digest, which evidence cites.
func (o *Observation) Digest() (string, error) {
	p, err := Payload(o)
	if err != nil {
		return "", err
	}
	return field.Digest(canon.Observation, p)
}

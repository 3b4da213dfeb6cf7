package record

import (
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/store/internal/member"
)

// SealedAlgorithm names how members are sealed.
const SealedAlgorithm = "aes-256-gcm-v1"

// MaxSealed bounds a sealed member in bytes, nonce and tag included.
const MaxSealed = 1 << 20

// Sealed stands in a row for a member that is encrypted. The ciphertext (nonce,
// ciphertext, tag) has a row of its own in the bucket "sealed": canonical JSON holds
// no text over 64 KiB, and the members of a large alias are larger.
type Sealed struct {
	KeyID string
	Hash  string // SHA-256 of the ciphertext
	Size  int64  // bytes
}

func sealed(c *member.List, s *Sealed) {
	c.Token("key_id", &s.KeyID)
	c.Fixed("algorithm", SealedAlgorithm)
	c.Hex("ciphertext_sha256", &s.Hash)
	c.Num("ciphertext_bytes", &s.Size, 1, MaxSealed)
}

// The roles of sealed members.
const (
	RoleIdentity = "target-identity"
	RoleIntent   = "intent"
	RoleSnapshot = "snapshot"
	RoleRequest  = "request"
	RolePreview  = "preview"
	RoleAuditKey = "audit-key"
)

// Provenance says which authorization a contract rests on.
type Provenance struct {
	AuthorizationID, AuthorityID string
	Plan, ExecutionIntent        string // digests
	IssuedAt, ExpiresAt          time.Time
	Appliance                    string // appliance_target_digest
}

func (p *Provenance) list(c *member.List) {
	c.Version(2)
	c.ID("authorization_id", &p.AuthorizationID, change.PrefixAuthorization)
	c.Token("authority_id", &p.AuthorityID)
	two := int64(2)
	c.Num("plan_authorization_schema_version", &two, 2, 2)
	c.Hex("plan_digest", &p.Plan)
	c.Fixed("step_id", change.StepID)
	c.Hex("execution_intent_digest", &p.ExecutionIntent)
	c.Time("authorization_issued_at", &p.IssuedAt)
	c.Time("authorization_expires_at", &p.ExpiresAt)
	c.Hex("appliance_target_digest", &p.Appliance)
}

// Contract is one approved change and what became of it (RecoveryContract).
type Contract struct {
	ContractID, OperationID, RequestID                    string
	TargetIdentity, TargetFingerprint, Intent, Snapshot   string // digests
	Collection                                            string // digest of all other aliases
	Locator                                               int64
	CreatedAt, ExpiresAt                                  time.Time
	State                                                 State
	Version                                               int64 // one more at each move and at the confirmation
	Boundary                                              Boundary
	Origin                                                State     // of the uncertainty: Executing or RollingBack in Reconciliation, else ""
	Confirmation                                          string    // digest, "" until confirmed
	ConfirmedAt                                           time.Time // zero until confirmed
	VerifiedFingerprint                                   string
	Provenance                                            Provenance
	ProtectedIdentity, ProtectedIntent, ProtectedSnapshot Sealed
}

// Bucket returns contracts.
func (r *Contract) Bucket() Bucket { return Contracts }

// Key returns the contract's id.
func (r *Contract) Key() []byte { return []byte(r.ContractID) }

// Digests returns the digests of the change, without the appliance's word.
func (r *Contract) Digests() change.Digests {
	return change.Digests{
		ExecutionIntent: r.Provenance.ExecutionIntent, TargetIdentity: r.TargetIdentity, TargetFingerprint: r.TargetFingerprint,
		Intent: r.Intent, Snapshot: r.Snapshot,
	}
}

// Confirmed says whether the second approval is there.
func (r *Contract) Confirmed() bool { return r.Confirmation != "" }

func (r *Contract) list(c *member.List) {
	c.Version(1)
	c.ID("contract_id", &r.ContractID, change.PrefixContract)
	c.ID("operation_id", &r.OperationID, change.PrefixOperation)
	c.ID("request_id", &r.RequestID, change.PrefixRequest)
	c.Fixed("capability", change.Capability)
	c.Fixed("endpoint_symbol", change.EndpointSymbol)
	c.Fixed("http_method", change.HTTPMethod)
	c.Hex("target_identity_digest", &r.TargetIdentity)
	c.Hex("target_fingerprint", &r.TargetFingerprint)
	c.Hex("intent_digest", &r.Intent)
	c.Hex("snapshot_digest", &r.Snapshot)
	c.Hex("collection_digest", &r.Collection)
	c.Num("lifecycle_locator", &r.Locator, 0, change.MaxLocator)
	c.Fixed("rollback_plan_version", change.RollbackPlanVersion)
	c.Time("created_at", &r.CreatedAt)
	c.Time("expires_at", &r.ExpiresAt)
	member.Enum(c, "state", &r.State, States())
	c.Num("state_version", &r.Version, 0, member.Most)
	member.Enum(c, "send_boundary", &r.Boundary, []Boundary{BoundaryNone, BoundaryIntent})
	member.OptEnum(c, "uncertainty_origin", &r.Origin, []State{Executing, RollingBack})
	c.OptHex("confirmation_digest", &r.Confirmation)
	c.OptTime("confirmed_at", &r.ConfirmedAt)
	c.OptHex("verified_target_fingerprint", &r.VerifiedFingerprint)
	c.Object("authorization_provenance", r.Provenance.list)
	c.Object("protected_target_identity", func(c *member.List) { sealed(c, &r.ProtectedIdentity) })
	c.Object("protected_intent", func(c *member.List) { sealed(c, &r.ProtectedIntent) })
	c.Object("protected_snapshot", func(c *member.List) { sealed(c, &r.ProtectedSnapshot) })
	r.rules(c)
}

// rules holds the members against one another. The idempotency key is recomputed in
// both directions, so a row whose content was mixed from two is never read.
func (r *Contract) rules(c *member.List) {
	if c.Failed() {
		return
	}
	key, err := change.IdempotencyKey(r.RequestID, r.Digests(), r.Locator)
	c.Check(err == nil, "the idempotency key cannot be computed")
	c.Fixed("idempotency_key", key)
	c.Check((r.Confirmation == "") == r.ConfirmedAt.IsZero(), "confirmation_digest and confirmed_at go together")
	c.Check(r.ExpiresAt.After(r.CreatedAt) && r.ExpiresAt.Equal(r.Provenance.ExpiresAt), "expires_at is not the authorization's")
	if !r.ConfirmedAt.IsZero() {
		c.Check(!r.ConfirmedAt.Before(r.CreatedAt) && r.ConfirmedAt.Before(r.ExpiresAt), "confirmed_at is outside the contract's life")
		c.Check(r.Version >= 1, "a confirmed contract has a version")
	}
	c.Check((r.Origin != "") == (r.State == Reconciliation), "uncertainty_origin belongs to reconciliation alone")
	switch r.State {
	case Prepared, Expired:
		c.Check(r.Boundary == BoundaryNone, "nothing was sent before execution")
		c.Check(r.VerifiedFingerprint == "", "nothing is verified before execution")
		c.Check(r.State != Prepared || (r.Version == 1) == r.Confirmed() && r.Version <= 1, "a prepared contract has version 0, or 1 when confirmed")
	case Executing:
		c.Check(r.VerifiedFingerprint == "" && r.Confirmed(), "an executing contract is confirmed and not verified")
	case Verified, RollingBack, RolledBack, RollbackFailed:
		c.Check(r.VerifiedFingerprint != "", "a verified contract says what was verified")
	}
}

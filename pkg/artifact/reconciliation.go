package artifact

import (
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// The outcomes that the reconciliation owner can establish. There is no "unknown"
// and no "retry".
const (
	OutcomeApplied            = "confirmed_applied"
	OutcomeNotApplied         = "confirmed_not_applied"
	OutcomeRollbackApplied    = "confirmed_rollback_applied"
	OutcomeRollbackNotApplied = "confirmed_rollback_not_applied"
)

// Reconciliation is the reconciliation owner's statement of what became of one
// attempt (ReconciliationEvidence). With OutcomeRollbackNotApplied for a contract
// in rollback_failed it is the release of the target.
type Reconciliation struct {
	AuthorityID             string
	ContractID, OperationID string
	StateVersion            int64 // observed
	Outcome                 string
	IssuedAt                time.Time
	ObservationDigest       string
	VerifiedFingerprint     string // exactly for OutcomeApplied
	VerifiedLocator         *int64 // exactly for the two applied outcomes
	Proof                   []byte
}

// ParseReconciliation reads evidence of at most MaxSigned bytes.
func ParseReconciliation(b []byte) (*Reconciliation, error) { return parse[Reconciliation](b) }

// Role returns reconciliation.
func (a *Reconciliation) Role() canon.Role { return canon.RoleReconciliation }

// Authority returns the id of the owner who signed.
func (a *Reconciliation) Authority() string { return a.AuthorityID }

func (a *Reconciliation) signature() *[]byte { return &a.Proof }
func (a *Reconciliation) blank() Artifact    { return &Reconciliation{} }

func (a *Reconciliation) fields(c *field.Codec) {
	c.Version(2)
	c.Token("authority_id", &a.AuthorityID)
	c.Const("algorithm", Algorithm)
	c.ID("contract_id", &a.ContractID, change.PrefixContract)
	c.ID("operation_id", &a.OperationID, change.PrefixOperation)
	c.Int("observed_state_version", &a.StateVersion, 0, MaxCounter)
	c.Enum("outcome", &a.Outcome, OutcomeApplied, OutcomeNotApplied, OutcomeRollbackApplied, OutcomeRollbackNotApplied)
	c.Time("issued_at", &a.IssuedAt)
	c.Hex64("observation_digest", &a.ObservationDigest)
	c.OptHex64("verified_target_fingerprint", &a.VerifiedFingerprint)
	c.OptInt("verified_lifecycle_locator", &a.VerifiedLocator, 0, change.MaxLocator)
	if c.Failed() {
		return
	}
	applied := a.Outcome == OutcomeApplied || a.Outcome == OutcomeRollbackApplied
	c.Check((a.VerifiedFingerprint != "") == (a.Outcome == OutcomeApplied), "verified_target_fingerprint", "must be there exactly for confirmed_applied")
	c.Check((a.VerifiedLocator != nil) == applied, "verified_lifecycle_locator", "must be there exactly for an applied outcome")
}

// Digest returns the reconciliation_digest: the payload with its proof.
func (a *Reconciliation) Digest() (string, error) { return evidence(canon.Reconciliation, a) }

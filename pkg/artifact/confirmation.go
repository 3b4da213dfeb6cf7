package artifact

import (
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// Confirmation is the confirmation owner's signature over one contract
// (ConfirmationEvidence). It expires exactly with the contract.
type Confirmation struct {
	AuthorityID, Nonce      string
	ContractID, OperationID string
	Digests                 change.Digests
	IssuedAt, ExpiresAt     time.Time
	Proof                   []byte
}

// ParseConfirmation reads a confirmation of at most MaxSigned bytes.
func ParseConfirmation(b []byte) (*Confirmation, error) { return parse[Confirmation](b) }

// Role returns confirmation.
func (a *Confirmation) Role() canon.Role { return canon.RoleConfirmation }

// Authority returns the id of the owner who signed.
func (a *Confirmation) Authority() string { return a.AuthorityID }

func (a *Confirmation) signature() *[]byte { return &a.Proof }
func (a *Confirmation) blank() Artifact    { return &Confirmation{} }

func (a *Confirmation) fields(c *field.Codec) {
	c.Version(2)
	c.Token("authority_id", &a.AuthorityID)
	c.Const("algorithm", Algorithm)
	c.ID("nonce", &a.Nonce, "")
	c.ID("contract_id", &a.ContractID, change.PrefixContract)
	c.ID("operation_id", &a.OperationID, change.PrefixOperation)
	c.Hex64("target_identity_digest", &a.Digests.TargetIdentity)
	c.Hex64("target_fingerprint", &a.Digests.TargetFingerprint)
	c.Hex64("intent_digest", &a.Digests.Intent)
	c.Hex64("snapshot_digest", &a.Digests.Snapshot)
	c.Hex64("execution_intent_digest", &a.Digests.ExecutionIntent)
	c.Time("issued_at", &a.IssuedAt)
	c.Time("expires_at", &a.ExpiresAt)
	between(c, a.IssuedAt, a.ExpiresAt, MaxAuthorization)
}

// Digest returns the confirmation_digest: the payload with its proof.
func (a *Confirmation) Digest() (string, error) { return evidence(canon.Confirmation, a) }

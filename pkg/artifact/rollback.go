package artifact

import (
	"crypto/subtle"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// MaxRollback is the longest that a rollback signature may live, MaxRebaseline the
// longest of a rebaseline.
const (
	MaxRollback   = 15 * time.Minute
	MaxRebaseline = 15 * time.Minute
)

// RollbackRequest is what both owners sign over for an undo. It carries the change
// that is to be undone and the plan of now.
type RollbackRequest struct {
	ContractID, OperationID, RequestID string
	StateVersion                       int64
	Intent                             change.Intent // the change to undo
	Locator                            int64
	Plan                               change.Plan
	VerifiedAt, GeneratedAt            time.Time
	KeyID                              string
	Attestation                        []byte
}

// ParseRollbackRequest reads a rollback request of at most MaxAttested bytes.
func ParseRollbackRequest(b []byte) (*RollbackRequest, error) { return parse[RollbackRequest](b) }

// Role returns executor-rollback-request.
func (r *RollbackRequest) Role() canon.Role { return canon.RoleRollbackRequest }

// AttestedBy returns the id of the executor's key.
func (r *RollbackRequest) AttestedBy() string { return r.KeyID }

func (r *RollbackRequest) signature() *[]byte { return &r.Attestation }
func (r *RollbackRequest) blank() Artifact    { return &RollbackRequest{} }

func (r *RollbackRequest) fields(c *field.Codec) {
	c.Version(1)
	c.Const("operation", change.Operation)
	c.ID("contract_id", &r.ContractID, change.PrefixContract)
	c.ID("operation_id", &r.OperationID, change.PrefixOperation)
	c.ID("request_id", &r.RequestID, change.PrefixRequest)
	c.Int("observed_state_version", &r.StateVersion, 0, MaxCounter)
	change.Carried(c, &r.Intent, &r.Plan)
	c.Int("lifecycle_locator", &r.Locator, 0, change.MaxLocator)
	c.Claim("verified_target_fingerprint", r.Intent.ExpectedPost)
	c.Claim("snapshot_digest", r.Intent.Target.Snapshot)
	c.Claim("plan_digest", r.Plan.Digest)
	c.Time("verified_at", &r.VerifiedAt)
	c.Time("generated_at", &r.GeneratedAt)
	c.Token("attestation_key_id", &r.KeyID)
}

// Undo returns the members that a rollback of this request binds.
func (r *RollbackRequest) Undo() (Undo, error) {
	post, err := r.Intent.ExpectedPost()
	if err != nil {
		return Undo{}, err
	}
	snapshot, err := r.Intent.Target.Snapshot()
	if err != nil {
		return Undo{}, err
	}
	return Undo{r.ContractID, r.OperationID, r.StateVersion, post, snapshot}, nil
}

// Undo is what both signatures of a rollback bind: one contract at one version,
// what stands now and what is to stand again.
type Undo struct {
	ContractID, OperationID       string
	StateVersion                  int64
	VerifiedFingerprint, Snapshot string
}

// Rollback is one of the two signatures that an undo needs: the confirmation
// owner's under the role rollback, the authorization owner's under the role
// rollback-authorization.
type Rollback struct {
	By                  canon.Role // RoleRollback or RoleRollbackAuthorization
	AuthorityID, Nonce  string
	Undo                Undo
	IssuedAt, ExpiresAt time.Time
	Proof               []byte
}

// ParseRollback reads one of the two signatures, of at most MaxSigned bytes. The
// file does not say which one it is: the caller asks for one role, and only a
// signature of that role will verify.
func ParseRollback(b []byte, by canon.Role) (*Rollback, error) {
	if by != canon.RoleRollback && by != canon.RoleRollbackAuthorization {
		return nil, field.Refuse(Signature, "role", "must be one of the two rollback roles")
	}
	r := &Rollback{By: by}
	if err := decode(b, r); err != nil {
		return nil, err
	}
	return r, nil
}

// Role returns the role that the artifact was made or parsed for.
func (r *Rollback) Role() canon.Role { return r.By }

// Authority returns the id of the owner who signed.
func (r *Rollback) Authority() string { return r.AuthorityID }

func (r *Rollback) signature() *[]byte { return &r.Proof }
func (r *Rollback) blank() Artifact    { return &Rollback{By: r.By} }

func (r *Rollback) fields(c *field.Codec) {
	c.Version(1)
	c.Token("authority_id", &r.AuthorityID)
	c.Const("algorithm", Algorithm)
	c.ID("nonce", &r.Nonce, "")
	c.ID("contract_id", &r.Undo.ContractID, change.PrefixContract)
	c.ID("operation_id", &r.Undo.OperationID, change.PrefixOperation)
	c.Int("observed_state_version", &r.Undo.StateVersion, 0, MaxCounter)
	c.Hex64("verified_target_fingerprint", &r.Undo.VerifiedFingerprint)
	c.Hex64("snapshot_digest", &r.Undo.Snapshot)
	c.Time("issued_at", &r.IssuedAt)
	c.Time("expires_at", &r.ExpiresAt)
	between(c, r.IssuedAt, r.ExpiresAt, MaxRollback)
}

// Digest returns the digest of the signed rollback, proof included.
func (r *Rollback) Digest() (string, error) { return evidence(canon.Rollback, r) }

// Equal compares in a time that does not depend on the digests.
func (u Undo) Equal(o Undo) bool {
	same := func(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
	return u.StateVersion == o.StateVersion && same(u.ContractID, o.ContractID) && same(u.OperationID, o.OperationID) &&
		same(u.VerifiedFingerprint, o.VerifiedFingerprint) && same(u.Snapshot, o.Snapshot)
}

package artifact

import (
	"crypto/subtle"
	"time"

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
	Intent                             Intent // the change to undo
	Locator                            int64
	Plan                               Plan
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
	c.Const("operation", Operation)
	c.ID("contract_id", &r.ContractID, PrefixContract)
	c.ID("operation_id", &r.OperationID, PrefixOperation)
	c.ID("request_id", &r.RequestID, PrefixRequest)
	c.Int("observed_state_version", &r.StateVersion, 0, MaxCounter)
	carried(c, &r.Intent, &r.Plan)
	c.Int("lifecycle_locator", &r.Locator, 0, MaxLocator)
	claim(c, "verified_target_fingerprint", r.Intent.ExpectedPost)
	claim(c, "snapshot_digest", func() (string, error) { return r.Intent.Target.digest(canon.Snapshot) })
	claim(c, "plan_digest", r.Plan.Digest)
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
	snapshot, err := r.Intent.Target.digest(canon.Snapshot)
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
		return nil, fault(Signature, "role", "must be one of the two rollback roles")
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
	c.ID("contract_id", &r.Undo.ContractID, PrefixContract)
	c.ID("operation_id", &r.Undo.OperationID, PrefixOperation)
	c.Int("observed_state_version", &r.Undo.StateVersion, 0, MaxCounter)
	c.Hex64("verified_target_fingerprint", &r.Undo.VerifiedFingerprint)
	c.Hex64("snapshot_digest", &r.Undo.Snapshot)
	c.Time("issued_at", &r.IssuedAt)
	c.Time("expires_at", &r.ExpiresAt)
	between(c, r.IssuedAt, r.ExpiresAt, MaxRollback)
}

// Digest returns the digest of the signed rollback, proof included.
func (r *Rollback) Digest() (string, error) { return evidence(canon.Rollback, r) }

// VerifyRollback says whether the two files are both signatures that the undo
// needs: each by its owner under its role, with different ids, keys and nonces.
func (l *Authorities) VerifyRollback(want Undo, confirmation, authorization *Rollback) error {
	for _, one := range []struct {
		r  *Rollback
		by canon.Role
	}{{confirmation, canon.RoleRollback}, {authorization, canon.RoleRollbackAuthorization}} {
		if one.r.By != one.by {
			return fault(Signature, "role", "must be one signature of each owner")
		}
		if err := l.Verify(one.r); err != nil {
			return err
		}
		if !one.r.Undo.equal(want) {
			return fault(Binding, "rollback", "is for another undo")
		}
	}
	if confirmation.Nonce == authorization.Nonce {
		return fault(Signature, "nonce", "must differ between the two signatures")
	}
	return l.Distinct(authorization, confirmation)
}

// equal compares in a time that does not depend on the digests.
func (u Undo) equal(o Undo) bool {
	same := func(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
	return u.StateVersion == o.StateVersion && same(u.ContractID, o.ContractID) && same(u.OperationID, o.OperationID) &&
		same(u.VerifiedFingerprint, o.VerifiedFingerprint) && same(u.Snapshot, o.Snapshot)
}

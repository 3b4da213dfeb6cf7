package artifact

import (
	"crypto/ed25519"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// Pending is what the confirmation owner signs over (PendingConfirmation, schema
// 4). It carries the complete authorization and the plan, so that the second owner
// can judge the first approval without the host.
type Pending struct {
	ContractID, OperationID, RequestID string
	Intent                             change.Intent
	Locator                            int64
	Plan                               change.Plan
	ExpiresAt                          time.Time // of contract and authorization
	ExpectedAuthority                  string    // the confirmation authority
	Authorization                      Authorization
	GeneratedAt                        time.Time
	KeyID                              string
	Attestation                        []byte
}

// ParsePending reads a pending confirmation of at most MaxAttested bytes.
func ParsePending(b []byte) (*Pending, error) { return parse[Pending](b) }

// Role returns executor-pending.
func (p *Pending) Role() canon.Role { return canon.RolePending }

// AttestedBy returns the id of the executor's key.
func (p *Pending) AttestedBy() string { return p.KeyID }

func (p *Pending) signature() *[]byte { return &p.Attestation }
func (p *Pending) blank() Artifact    { return &Pending{} }

func (p *Pending) fields(c *field.Codec) {
	c.Version(4)
	c.Const("operation", change.Operation)
	c.ID("contract_id", &p.ContractID, change.PrefixContract)
	c.ID("operation_id", &p.OperationID, change.PrefixOperation)
	c.ID("request_id", &p.RequestID, change.PrefixRequest)
	change.Carried(c, &p.Intent, &p.Plan)
	c.Int("lifecycle_locator", &p.Locator, 0, change.MaxLocator)
	if c.Failed() {
		return
	}
	d, err := p.Intent.Digests(p.Locator)
	c.Bind(err == nil, "prepared_execution_intent", "has no digests")
	for _, one := range []struct{ key, digest string }{
		{"target_identity_digest", d.TargetIdentity},
		{"target_fingerprint", d.TargetFingerprint},
		{"intent_digest", d.Intent},
		{"snapshot_digest", d.Snapshot},
	} {
		c.Claim(one.key, func() (string, error) { return one.digest, nil })
	}
	c.Time("expires_at", &p.ExpiresAt)
	c.Token("expected_authority_id", &p.ExpectedAuthority)
	c.Const("expected_algorithm", Algorithm)
	c.Object("authorization", func(c *field.Codec) {
		p.Authorization.fields(c)
		c.Bytes("proof", &p.Authorization.Proof, ed25519.SignatureSize)
	})
	c.Time("generated_at", &p.GeneratedAt)
	c.Token("attestation_key_id", &p.KeyID)
	if c.Failed() {
		return
	}
	c.Bind(p.ExpiresAt.Equal(p.Authorization.ExpiresAt), "expires_at", "is not when the authorization expires")
	if err := p.Authorization.For(p.RequestID, &p.Intent, &p.Plan); err != nil {
		c.Bind(false, "authorization", "is not for this request, change and plan")
	}
}

// Digests returns the five digests, recomputed.
func (p *Pending) Digests() (change.Digests, error) { return p.Intent.Digests(p.Locator) }

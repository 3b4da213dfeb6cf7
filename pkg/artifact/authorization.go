package artifact

import (
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// MaxAuthorization is the longest that an authorization may live.
const MaxAuthorization = 30 * time.Minute

// Authorization is the authorization owner's signature over one prepared change
// under one plan (PlanAuthorizationV2).
type Authorization struct {
	ID                  string
	RequestID           string
	PlanDigest          string
	ExecutionIntent     string
	AuthorityID         string
	IssuedAt, ExpiresAt time.Time
	Evidence            change.Evidence // as in the plan
	Proof               []byte
}

// ParseAuthorization reads an authorization of at most MaxSigned bytes. Version 1,
// a deprovision authorization and every other form are refused as structure.
func ParseAuthorization(b []byte) (*Authorization, error) { return parse[Authorization](b) }

// Role returns plan-authorization-v2.
func (a *Authorization) Role() canon.Role { return canon.RolePlanAuthorization }

// Authority returns the id of the owner who signed.
func (a *Authorization) Authority() string { return a.AuthorityID }

func (a *Authorization) signature() *[]byte { return &a.Proof }
func (a *Authorization) blank() Artifact    { return &Authorization{} }

func (a *Authorization) fields(c *field.Codec) {
	c.Version(2)
	c.ID("authorization_id", &a.ID, change.PrefixAuthorization)
	c.ID("request_id", &a.RequestID, change.PrefixRequest)
	c.Hex64("plan_digest", &a.PlanDigest)
	one := []string{a.ExecutionIntent}
	field.Objects(c, "authorized_executions", &one, 1, 1, func(c *field.Codec, digest *string) {
		c.Const("step_id", change.StepID)
		c.Hex64("execution_intent_digest", digest)
	})
	a.ExecutionIntent = one[0]
	c.Token("authority_id", &a.AuthorityID)
	c.Const("algorithm", Algorithm)
	c.Time("issued_at", &a.IssuedAt)
	c.Time("expires_at", &a.ExpiresAt)
	between(c, a.IssuedAt, a.ExpiresAt, MaxAuthorization)
	c.Const("risk_class", change.RiskClass)
	c.Object("evidence_fingerprint", a.Evidence.Fields)
}

// Digest returns the digest of the signed authorization, proof included.
func (a *Authorization) Digest() (string, error) { return evidence(canon.PlanAuthorization, a) }

// For says whether the authorization is for exactly this request, change and plan.
func (a *Authorization) For(requestID string, in *change.Intent, plan *change.Plan) error {
	change, err := in.ExecutionDigest()
	if err != nil {
		return err
	}
	digest, err := plan.Digest()
	if err != nil {
		return err
	}
	switch {
	case a.RequestID != requestID:
		return field.Refuse(Binding, "authorization.request_id", "is another request's")
	case a.PlanDigest != digest:
		return field.Refuse(Binding, "authorization.plan_digest", "is another plan's")
	case a.ExecutionIntent != change:
		return field.Refuse(Binding, "authorization.authorized_executions", "is for another change")
	case !a.Evidence.Equal(&plan.Evidence):
		return field.Refuse(Binding, "authorization.evidence_fingerprint", "is another plan's")
	}
	return nil
}

package artifact

import (
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// The origins of a request.
const (
	OriginMCP      = "mcp"
	OriginOperator = "operator"
)

// Preview is what the authorization owner signs over. It grants nothing.
//
// Schema 3 has, beyond schema 2, who asked and whether the executor is a test
// build. Every digest in the file is recomputed from the preimage beside it, in
// writing and in reading; the struct holds the preimages alone.
type Preview struct {
	RequestID   string
	Origin      string
	AskedBy     *int64 // uid that asked, as mcpd claims it; nil for an operator's own request
	TestBuild   bool
	Intent      change.Intent
	Plan        change.Plan
	GeneratedAt time.Time
	KeyID       string
	Attestation []byte
}

// ParsePreview reads a preview of at most MaxAttested bytes.
func ParsePreview(b []byte) (*Preview, error) { return parse[Preview](b) }

// Role returns executor-preview.
func (p *Preview) Role() canon.Role { return canon.RolePreview }

// AttestedBy returns the id of the executor's key.
func (p *Preview) AttestedBy() string { return p.KeyID }

func (p *Preview) signature() *[]byte { return &p.Attestation }
func (p *Preview) blank() Artifact    { return &Preview{} }

func (p *Preview) fields(c *field.Codec) {
	c.Version(3)
	c.Const("operation", change.Operation)
	c.ID("request_id", &p.RequestID, change.PrefixRequest)
	c.Enum("origin", &p.Origin, OriginMCP, OriginOperator)
	c.OptInt("asked_by_uid", &p.AskedBy, 0, 1<<32-2)
	c.Check((p.AskedBy != nil) == (p.Origin == OriginMCP), "asked_by_uid", "must be there exactly when origin is mcp")
	c.Bool("test_build", &p.TestBuild)
	change.Carried(c, &p.Intent, &p.Plan)
	c.Claim("requested_plan_digest", p.Plan.Digest)
	c.Const("requested_step_id", change.StepID)
	c.Time("generated_at", &p.GeneratedAt)
	c.Token("attestation_key_id", &p.KeyID)
}

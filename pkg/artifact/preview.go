package artifact

import (
	"time"

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
	Intent      Intent
	Plan        Plan
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
	c.Const("operation", Operation)
	c.ID("request_id", &p.RequestID, PrefixRequest)
	c.Enum("origin", &p.Origin, OriginMCP, OriginOperator)
	c.OptInt("asked_by_uid", &p.AskedBy, 0, 1<<32-2)
	c.Check((p.AskedBy != nil) == (p.Origin == OriginMCP), "asked_by_uid", "must be there exactly when origin is mcp")
	c.Bool("test_build", &p.TestBuild)
	carried(c, &p.Intent, &p.Plan)
	claim(c, "requested_plan_digest", p.Plan.Digest)
	c.Const("requested_step_id", StepID)
	c.Time("generated_at", &p.GeneratedAt)
	c.Token("attestation_key_id", &p.KeyID)
}

// carried lists the preimages that a preview and a pending share, with the three
// texts and the digest that must be theirs.
func carried(c *field.Codec, in *Intent, plan *Plan) {
	c.Object("prepared_execution_intent", in.fields)
	c.Object("posture_plan", plan.fields)
	c.Bind(in.Appliance == plan.Executor.ApplianceTarget, "posture_plan.executor_binding", "must name the appliance of the change")
	for _, t := range []struct {
		key, is string
		rule    func(string) string
	}{
		{"alias_name", in.Target.Name, aliasName},
		{"previous_description", in.Target.Descr, anyText},
		{"requested_description", in.NewDescription, storable},
	} {
		said := t.is
		c.Text(t.key, &said, t.rule)
		c.Bind(said == t.is, t.key, "is not what prepared_execution_intent says")
	}
	claim(c, "execution_intent_digest", in.executionDigest)
}

// claim runs a member that holds a digest of what the file carries. Writing, the
// digest is computed; reading, it must be the one computed.
func claim(c *field.Codec, key string, compute func() (string, error)) {
	if c.Failed() {
		return
	}
	is, err := compute()
	if err != nil {
		c.Bind(false, key, "cannot be computed from what the file carries")
		return
	}
	said := is
	c.Hex64(key, &said)
	c.Bind(said == is, key, "is not the digest of what the file carries")
}

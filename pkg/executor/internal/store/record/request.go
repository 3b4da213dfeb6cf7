package record

import (
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/store/internal/member"
)

// MaxUID is the largest uid that asks: the one above stands for nobody.
const MaxUID = 1<<32 - 2

// Request is a wish to change one description. The texts are sealed.
type Request struct {
	RequestID, RequestKey string
	TargetIdentity        string // digest of the alias name
	Origin                string // artifact.OriginMCP or OriginOperator
	AskedBy               *int64 // uid as mcpd claims it; nil for an operator's own
	OpenedAt, ExpiresAt   time.Time
	Status                Status
	ExecutionIntent, Plan string // digests of the latest preview, "" without one
	PreviewSeq            int64
	ContractID            string // "" unless authorized or settled
	ConcludedAt           time.Time
	Result                Reason  // "" until concluded
	ProtectedText         *Sealed // nil once retention has removed it
}

// Bucket returns requests.
func (r *Request) Bucket() Bucket { return Requests }

// Key returns the request's id.
func (r *Request) Key() []byte { return []byte(r.RequestID) }

func (r *Request) list(c *member.List) {
	c.Version(1)
	c.ID("request_id", &r.RequestID, change.PrefixRequest)
	c.Hex("request_key", &r.RequestKey)
	c.Hex("target_identity_digest", &r.TargetIdentity)
	c.Fixed("operation", change.Operation)
	member.Enum(c, "origin", &r.Origin, []string{artifact.OriginMCP, artifact.OriginOperator})
	c.OptNum("asked_by_uid", &r.AskedBy, 0, MaxUID)
	c.Time("opened_at", &r.OpenedAt)
	c.Time("expires_at", &r.ExpiresAt)
	member.Enum(c, "status", &r.Status, statuses())
	c.OptHex("execution_intent_digest", &r.ExecutionIntent)
	c.OptHex("plan_digest", &r.Plan)
	c.Num("preview_seq", &r.PreviewSeq, 0, member.Most)
	c.OptID("contract_id", &r.ContractID, change.PrefixContract)
	c.OptTime("concluded_at", &r.ConcludedAt)
	member.Word(c, "result", &r.Result, true, reason)
	member.OptObject(c, "protected_text", &r.ProtectedText, sealed)
	if c.Failed() {
		return
	}
	c.Check((r.AskedBy != nil) == (r.Origin == artifact.OriginMCP), "asked_by_uid belongs to mcp alone")
	c.Check((r.PreviewSeq > 0) == (r.ExecutionIntent != "") && (r.ExecutionIntent == "") == (r.Plan == ""), "the preview's digests go together")
	c.Check(r.Status.Live() == r.ConcludedAt.IsZero() && r.Status.Live() == (r.Result == ""), "a concluded request says when and why")
	c.Check(!r.Status.Live() || r.ProtectedText != nil, "a live request keeps its text")
	c.Check(r.Status != Authorized || r.ContractID != "", "an authorized request has a contract")
	c.Check(r.Status != Open || r.ContractID == "", "an open request has no contract")
}

// Actor returns who asked, for the audit.
func (r *Request) Actor() Actor {
	if r.AskedBy == nil {
		return "operator"
	}
	return MCP(uint32(*r.AskedBy)) // within MaxUID
}

// Preview is the latest preview of a request. The attested file is sealed.
type Preview struct {
	RequestID             string
	Seq                   int64
	ExecutionIntent, Plan string // digests
	Locator               int64
	GeneratedAt           time.Time
	ProtectedFile         Sealed
}

// Bucket returns previews.
func (r *Preview) Bucket() Bucket { return Previews }

// Key returns the request's id.
func (r *Preview) Key() []byte { return []byte(r.RequestID) }

func (r *Preview) list(c *member.List) {
	c.Version(1)
	c.ID("request_id", &r.RequestID, change.PrefixRequest)
	c.Num("preview_seq", &r.Seq, 1, member.Most)
	c.Hex("execution_intent_digest", &r.ExecutionIntent)
	c.Hex("plan_digest", &r.Plan)
	c.Num("lifecycle_locator", &r.Locator, 0, change.MaxLocator)
	c.Time("generated_at", &r.GeneratedAt)
	c.Object("protected_file", func(c *member.List) { sealed(c, &r.ProtectedFile) })
}

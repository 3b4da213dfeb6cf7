package artifact

import (
	"time"

	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// AnchorStatus is what the reconciliation owner signs over for a rebaseline: the
// two values that differ, and the audit chain's head.
type AnchorStatus struct {
	StoreID, NVIndexName     string
	StoreValue, WitnessValue int64
	AuditHead                string
	Quarantine               string // closed word for why nothing is written; "" (null) when nothing is wrong
	AuthoritySet, BuildID    string
	GeneratedAt              time.Time
	KeyID                    string
	Attestation              []byte
}

// ParseAnchorStatus reads an anchor status of at most MaxAttested bytes.
func ParseAnchorStatus(b []byte) (*AnchorStatus, error) { return parse[AnchorStatus](b) }

// Role returns executor-anchor-status.
func (s *AnchorStatus) Role() canon.Role { return canon.RoleAnchorStatus }

// AttestedBy returns the id of the executor's key.
func (s *AnchorStatus) AttestedBy() string { return s.KeyID }

func (s *AnchorStatus) signature() *[]byte { return &s.Attestation }
func (s *AnchorStatus) blank() Artifact    { return &AnchorStatus{} }

func (s *AnchorStatus) fields(c *field.Codec) {
	c.Version(1)
	c.Token("store_id", &s.StoreID)
	c.Text("nv_index_name", &s.NVIndexName, field.NVName)
	c.Int("store_value", &s.StoreValue, 0, MaxCounter)
	c.Int("witness_value", &s.WitnessValue, 0, MaxCounter)
	c.Hex64("audit_head", &s.AuditHead)
	c.OptToken("quarantine", &s.Quarantine)
	c.Hex64("authority_set_digest", &s.AuthoritySet)
	c.Text("executor_build_id", &s.BuildID, field.BuildID)
	c.Time("generated_at", &s.GeneratedAt)
	c.Token("attestation_key_id", &s.KeyID)
}

// The reasons for a rebaseline.
const (
	ReasonRestored       = "store_restored_from_backup"
	ReasonCounterUsed    = "counter_advanced_elsewhere"
	ReasonClockPoisoned  = "clock_poisoned"
	ReasonAttemptUnknown = "interrupted_attempt_lost"
)

// Rebaseline is the reconciliation owner's acceptance of the counter's value
// (AnchorRebaseline).
type Rebaseline struct {
	AuthorityID, Nonce       string
	StoreID, NVIndexName     string
	StoreValue, WitnessValue int64
	AuditHead                string
	Reason                   string
	IssuedAt, ExpiresAt      time.Time
	Proof                    []byte
}

// ParseRebaseline reads a rebaseline of at most MaxSigned bytes.
func ParseRebaseline(b []byte) (*Rebaseline, error) { return parse[Rebaseline](b) }

// Role returns anchor-rebaseline.
func (a *Rebaseline) Role() canon.Role { return canon.RoleRebaseline }

// Authority returns the id of the owner who signed.
func (a *Rebaseline) Authority() string { return a.AuthorityID }

func (a *Rebaseline) signature() *[]byte { return &a.Proof }
func (a *Rebaseline) blank() Artifact    { return &Rebaseline{} }

func (a *Rebaseline) fields(c *field.Codec) {
	c.Version(1)
	c.Token("authority_id", &a.AuthorityID)
	c.Const("algorithm", Algorithm)
	c.ID("nonce", &a.Nonce, "")
	c.Token("store_id", &a.StoreID)
	c.Text("nv_index_name", &a.NVIndexName, field.NVName)
	c.Int("store_value", &a.StoreValue, 0, MaxCounter)
	c.Int("witness_value", &a.WitnessValue, 0, MaxCounter)
	c.Hex64("audit_head", &a.AuditHead)
	c.Enum("reason_code", &a.Reason, ReasonRestored, ReasonCounterUsed, ReasonClockPoisoned, ReasonAttemptUnknown)
	c.Time("issued_at", &a.IssuedAt)
	c.Time("expires_at", &a.ExpiresAt)
	between(c, a.IssuedAt, a.ExpiresAt, MaxRebaseline)
}

// Digest returns the digest of the signed rebaseline, proof included.
func (a *Rebaseline) Digest() (string, error) { return evidence(canon.Rebaseline, a) }

// ExportHead is the attested last line of an audit export. Kept elsewhere, it shows
// later whether rows were cut off.
type ExportHead struct {
	StoreID         string
	Seq, Generation int64
	Head            string
	AnchorValue     *int64 // nil when the store has no counter yet
	GeneratedAt     time.Time
	KeyID           string
	Attestation     []byte
}

// ParseExportHead reads an export's head of at most MaxAttested bytes.
func ParseExportHead(b []byte) (*ExportHead, error) { return parse[ExportHead](b) }

// Role returns executor-export.
func (h *ExportHead) Role() canon.Role { return canon.RoleExport }

// AttestedBy returns the id of the executor's key.
func (h *ExportHead) AttestedBy() string { return h.KeyID }

func (h *ExportHead) signature() *[]byte { return &h.Attestation }
func (h *ExportHead) blank() Artifact    { return &ExportHead{} }

func (h *ExportHead) fields(c *field.Codec) {
	c.Version(1)
	c.Token("store_id", &h.StoreID)
	c.Int("seq", &h.Seq, 0, MaxCounter)
	c.Int("generation", &h.Generation, 0, MaxCounter)
	c.Hex64("head", &h.Head)
	c.OptInt("anchor_value", &h.AnchorValue, 0, MaxCounter)
	c.Time("generated_at", &h.GeneratedAt)
	c.Token("attestation_key_id", &h.KeyID)
}

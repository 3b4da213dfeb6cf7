package record

import (
	"encoding/binary"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/store/internal/member"
)

// Use is one signed artifact that can never be used again. The key is an
// authorization's id, or the kind of artifact, a colon, and its nonce or digest.
type Use struct {
	ID, AuthorityID string
	At              time.Time
	ContractID      string    // "" for a rebaseline
	ExpiresAt       time.Time // zero for evidence, which does not expire
}

// Bucket returns consumed.
func (r *Use) Bucket() Bucket { return Consumed }

// Key returns the artifact's id.
func (r *Use) Key() []byte { return []byte(r.ID) }

func (r *Use) list(c *member.List) {
	c.Token("authorization_id", &r.ID)
	c.Token("authority_id", &r.AuthorityID)
	c.Time("consumed_at", &r.At)
	c.OptID("contract_id", &r.ContractID, change.PrefixContract)
	c.OptTime("expires_at", &r.ExpiresAt)
}

// Reservation says which contract holds a target.
type Reservation struct{ TargetIdentity, ContractID string }

// Bucket returns reservations.
func (r *Reservation) Bucket() Bucket { return Reservations }

// Key returns the digest of the target.
func (r *Reservation) Key() []byte { return []byte(r.TargetIdentity) }

func (r *Reservation) list(c *member.List) {
	c.Hex("target_identity_digest", &r.TargetIdentity)
	c.ID("contract_id", &r.ContractID, change.PrefixContract)
}

// Cooldown is what a target remembers of its contracts.
type Cooldown struct {
	TargetIdentity string
	Attempted      string    // the contract that reached T4 last, "" when none did
	Until          time.Time // no new contract before; zero when none settled
}

// Bucket returns cooldowns.
func (r *Cooldown) Bucket() Bucket { return Cooldowns }

// Key returns the digest of the target.
func (r *Cooldown) Key() []byte { return []byte(r.TargetIdentity) }

func (r *Cooldown) list(c *member.List) {
	c.Hex("target_identity_digest", &r.TargetIdentity)
	c.OptID("attempted_contract_id", &r.Attempted, change.PrefixContract)
	c.OptTime("until", &r.Until)
}

// Send is what is known of the latest attempt of a contract, with the clock that a
// set-back or set-forward wall clock cannot move.
type Send struct {
	ContractID                string
	Purpose                   Purpose
	BootID                    string
	SentAt                    time.Time
	SentBootMS                int64
	ExchangeMS                *int64 // nil until there is a complete answer; 0 when no byte left
	Contended                 bool
	FirstReadAt, SecondReadAt time.Time
	All                       string // digest of all aliases as our change left them, "" when that is not known
	LookDueAt                 time.Time
	Look                      Look // "" until verified
}

// Bucket returns sends.
func (r *Send) Bucket() Bucket { return Sends }

// Key returns the contract's id.
func (r *Send) Key() []byte { return []byte(r.ContractID) }

func (r *Send) list(c *member.List) {
	c.ID("contract_id", &r.ContractID, change.PrefixContract)
	member.Enum(c, "purpose", &r.Purpose, []Purpose{Forward, Rollback})
	c.ID("boot_id", &r.BootID, "")
	c.Time("sent_at", &r.SentAt)
	c.Num("sent_boottime_ms", &r.SentBootMS, 0, member.Most)
	c.OptNum("exchange_ms", &r.ExchangeMS, 0, member.Most)
	c.Flag("contended", &r.Contended)
	c.OptTime("first_read_at", &r.FirstReadAt)
	c.OptTime("second_read_at", &r.SecondReadAt)
	c.OptHex("all_digest", &r.All)
	c.OptTime("look_due_at", &r.LookDueAt)
	member.OptEnum(c, "look", &r.Look, []Look{LookDue, LookHeld, LookReverted, LookSkipped, LookUnreadable})
	c.Check(c.Failed() || (r.Look != "") == !r.LookDueAt.IsZero(), "look and look_due_at go together")
}

// Sighting is one observation that evidence may cite.
type Sighting struct {
	ContractID string
	N          int64  // position among the contract's, from 1
	Digest     string // observation_digest
	Version    int64  // of the contract
	Match      string
	ObservedAt time.Time
	BootID     string
	BootMS     int64
}

// Bucket returns observations.
func (r *Sighting) Bucket() Bucket { return Observations }

// SightingKey returns where the n-th observation of a contract stands.
func SightingKey(contract string, n int64) []byte {
	return binary.BigEndian.AppendUint64([]byte(contract+"/"), uint64(n))
}

// Key returns the contract's id and the position.
func (r *Sighting) Key() []byte { return SightingKey(r.ContractID, r.N) }

func (r *Sighting) list(c *member.List) {
	c.ID("contract_id", &r.ContractID, change.PrefixContract)
	c.Num("n", &r.N, 1, member.Most)
	c.Hex("observation_digest", &r.Digest)
	c.Num("state_version", &r.Version, 0, member.Most)
	member.Enum(c, "match", &r.Match, []string{artifact.MatchExpectedPost, artifact.MatchPre, artifact.MatchNeither, artifact.MatchAbsent})
	c.Time("observed_at", &r.ObservedAt)
	c.ID("boot_id", &r.BootID, "")
	c.Num("boottime_ms", &r.BootMS, 0, member.Most)
}

// Result is the latest move of a contract, with what the contract itself has no
// member for.
type Result struct {
	ContractID   string
	Version      int64
	State        State
	Reason       Reason // "" when there is nothing to say
	At           time.Time
	VerifiedAt   time.Time // zero until verified
	AttestedOnly bool      // settled on a signature alone
	Evidence     string    // digest of what settled it, ""
	Released     bool      // rollback_failed, and the target was let go
}

// Bucket returns results.
func (r *Result) Bucket() Bucket { return Results }

// Key returns the contract's id.
func (r *Result) Key() []byte { return []byte(r.ContractID) }

func (r *Result) list(c *member.List) {
	c.ID("contract_id", &r.ContractID, change.PrefixContract)
	c.Num("state_version", &r.Version, 0, member.Most)
	member.Enum(c, "state", &r.State, States())
	member.Word(c, "reason", &r.Reason, true, reason)
	c.Time("at", &r.At)
	c.OptTime("verified_at", &r.VerifiedAt)
	c.Flag("attested_only", &r.AttestedOnly)
	c.OptHex("evidence_digest", &r.Evidence)
	c.Flag("released", &r.Released)
	c.Check(!r.Released || r.State == RollbackFailed, "only a failed rollback is released")
}

// SignedFile keeps an accepted file of an owner: digests alone prove nothing to
// anybody who was not there.
type SignedFile struct {
	ContractID string // "" for a rebaseline
	Role       string
	Hash       string // SHA-256 of File
	File       []byte
}

// Bucket returns signed.
func (r *SignedFile) Bucket() Bucket { return SignedFiles }

// Key returns the contract, or anchor, the role and the hash.
func (r *SignedFile) Key() []byte { return append(SignedPrefix(r.ContractID, r.Role), r.Hash...) }

// SignedPrefix begins the keys of the files of a role for a contract.
func SignedPrefix(contract, role string) []byte {
	if contract == "" {
		contract = string(Anchors)
	}
	return []byte(contract + "/" + role + "/")
}

func (r *SignedFile) list(c *member.List) {
	c.OptID("contract_id", &r.ContractID, change.PrefixContract)
	c.Token("role", &r.Role)
	c.Hex("sha256", &r.Hash)
	c.File("file", &r.File, artifact.MaxSigned)
}

// ExportNote remembers that a head was given out, so that an operator can see how
// old the newest one kept elsewhere is.
type ExportNote struct {
	Seq, Generation int64
	Head            string
	At              time.Time
}

// Bucket returns exports.
func (r *ExportNote) Bucket() Bucket { return Exports }

// Key returns the sequence number, big-endian.
func (r *ExportNote) Key() []byte { return SeqKey(r.Seq) }

func (r *ExportNote) list(c *member.List) {
	c.Num("seq", &r.Seq, 0, member.Most)
	c.Num("generation", &r.Generation, 0, member.Most)
	c.Hex("head", &r.Head)
	c.Time("at", &r.At)
}

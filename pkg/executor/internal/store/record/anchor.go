package record

import (
	"encoding/hex"
	"strings"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/store/internal/member"
)

// Pending is an increment of the counter that may or may not have happened.
type Pending struct {
	From, To   int64
	ContractID string
	Version    int64 // of the contract, executing or rolling back
	Purpose    Purpose
}

// Anchor binds the store to the counter and to its own history. There is one.
type Anchor struct {
	StoreID    string
	NVIndex    string // 0x and 8 hex digits
	NVName     string // 000b and 64 hex digits
	Value      int64
	Generation int64  // one more in every write transaction
	AuditHead  string // MAC of the last audit row
	Pending    *Pending
}

// AnchorKey is where the anchor stands.
const AnchorKey = "hwm"

// Bucket returns anchor.
func (r *Anchor) Bucket() Bucket { return Anchors }

// Key returns hwm.
func (r *Anchor) Key() []byte { return []byte(AnchorKey) }

func (r *Anchor) list(c *member.List) {
	c.Version(1)
	c.Token("store_id", &r.StoreID)
	member.Word(c, "nv_index", &r.NVIndex, false, nvIndex)
	member.Word(c, "nv_index_name", &r.NVName, false, nvName)
	c.Num("value", &r.Value, 0, member.Most)
	c.Num("generation", &r.Generation, 0, member.Most)
	c.Hex("audit_head", &r.AuditHead)
	member.OptObject(c, "pending", &r.Pending, func(c *member.List, p *Pending) {
		c.Num("from", &p.From, 0, member.Most)
		c.Num("to", &p.To, 0, member.Most)
		c.ID("contract_id", &p.ContractID, change.PrefixContract)
		c.Num("state_version", &p.Version, 0, member.Most)
		member.Enum(c, "purpose", &p.Purpose, []Purpose{Forward, Rollback})
		c.Check(p.From == r.Value && p.To == p.From+1, "pending is not the next value")
	})
}

func hexDigits(s string, n int) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b)*2 == n && s == strings.ToLower(s)
}

func nvIndex(s string) bool {
	rest, ok := strings.CutPrefix(s, "0x")
	return ok && hexDigits(rest, 8)
}

func nvName(s string) bool {
	rest, ok := strings.CutPrefix(s, "000b")
	return ok && hexDigits(rest, 64)
}

// Provisioning says on which counter the store was founded. It is written once.
type Provisioning struct {
	Handle        string // as NVIndex
	VerifiedValue int64
	ProvisionedAt time.Time
	NVName        string
	Manufacturer  string // of the TPM: 1 to 16 characters
	EKDigest      string // of its endorsement key, "" when it shows none
	Assurance     string // as detected
	Lab           bool
}

// ProvisioningKey is where it stands.
const ProvisioningKey = "provisioning"

// The assurances.
const (
	AssuranceSoftware = "software"
	AssuranceHardware = "hardware_witness"
)

// Bucket returns anchor.
func (r *Provisioning) Bucket() Bucket { return Anchors }

// Key returns provisioning.
func (r *Provisioning) Key() []byte { return []byte(ProvisioningKey) }

func (r *Provisioning) list(c *member.List) {
	member.Word(c, "handle", &r.Handle, false, nvIndex)
	c.Num("verified_value", &r.VerifiedValue, 0, member.Most)
	c.Time("provisioned_at", &r.ProvisionedAt)
	member.Word(c, "nv_index_name", &r.NVName, false, nvName)
	member.Word(c, "tpm_manufacturer", &r.Manufacturer, false, func(s string) bool { return change.Token(s) && len(s) <= 16 })
	c.OptHex("ek_digest", &r.EKDigest)
	member.Enum(c, "assurance", &r.Assurance, []string{AssuranceSoftware, AssuranceHardware})
	c.Flag("lab", &r.Lab)
	c.Check(r.Lab || r.Assurance == AssuranceHardware, "a software counter belongs to a laboratory")
}

// The ids of the rows in meta.
const (
	StoreKey  = "store"
	ClockKey  = "clock"
	RowsKey   = "rows"
	CopyKey   = "copy"
	RateStart = "rate/"
)

// Founding says which store this is.
type Founding struct {
	StoreID   string
	KeyID     string
	Epoch     int64
	CreatedAt time.Time
	Floor     time.Time // what was signed at or before it is void; zero until a rebaseline
}

// Bucket returns meta.
func (r *Founding) Bucket() Bucket { return Meta }

// Key returns store.
func (r *Founding) Key() []byte { return []byte(StoreKey) }

func (r *Founding) list(c *member.List) {
	c.Fixed("id", StoreKey)
	c.Version(1)
	c.Token("store_id", &r.StoreID)
	c.Token("key_id", &r.KeyID)
	c.Num("key_epoch", &r.Epoch, 1, 1<<32-1)
	c.Time("created_at", &r.CreatedAt)
	c.OptTime("authorization_floor", &r.Floor)
}

// Clock is the latest that the clocks have shown.
type Clock struct {
	HighTime time.Time // the latest wall clock
	Wall     time.Time // the wall clock at BootMS
	BootID   string    // 32 hex digits
	BootMS   int64     // CLOCK_BOOTTIME in milliseconds
}

// Bucket returns meta.
func (r *Clock) Bucket() Bucket { return Meta }

// Key returns clock.
func (r *Clock) Key() []byte { return []byte(ClockKey) }

func (r *Clock) list(c *member.List) {
	c.Fixed("id", ClockKey)
	c.Time("high_time", &r.HighTime)
	c.Time("wall", &r.Wall)
	c.ID("boot_id", &r.BootID, "")
	c.Num("boottime_ms", &r.BootMS, 0, member.Most)
}

// Rows binds the set of all rows to the anchor's generation: Sum is the sum, modulo
// 2^256, of a keyed hash of each row outside audit, and of no other. A row that is
// missing, doubled, or an older version of itself changes it, although its own MAC
// is good.
type Rows struct {
	Generation, Count int64
	Sum               string
}

// Bucket returns meta.
func (r *Rows) Bucket() Bucket { return Meta }

// Key returns rows.
func (r *Rows) Key() []byte { return []byte(RowsKey) }

func (r *Rows) list(c *member.List) {
	c.Fixed("id", RowsKey)
	c.Num("generation", &r.Generation, 0, member.Most)
	c.Num("count", &r.Count, 0, member.Most)
	c.Hex("sum", &r.Sum)
}

// Copy marks a backup: a store that holds it takes nothing but a rebaseline.
type Copy struct {
	At time.Time
}

// Bucket returns meta.
func (r *Copy) Bucket() Bucket { return Meta }

// Key returns copy.
func (r *Copy) Key() []byte { return []byte(CopyKey) }

func (r *Copy) list(c *member.List) {
	c.Fixed("id", CopyKey)
	c.Time("at", &r.At)
}

// MaxHits bounds the times that one counter keeps.
const MaxHits = 256

// Rate counts one kind of event by its times, oldest first.
type Rate struct {
	ID   string // rate/ and the kind, and for a peer its actor
	Hits []time.Time
}

// Bucket returns meta.
func (r *Rate) Bucket() Bucket { return Meta }

// Key returns the counter's id.
func (r *Rate) Key() []byte { return []byte(r.ID) }

func (r *Rate) list(c *member.List) {
	member.Word(c, "id", &r.ID, false, func(s string) bool {
		rest, ok := strings.CutPrefix(s, RateStart)
		kind, who, has := strings.Cut(rest, "/")
		return ok && change.Token(kind) && (!has || actor(who))
	})
	c.Times("hits", &r.Hits, MaxHits)
}

// OldKey keeps the audit key of a former epoch, sealed under the present one, for
// the rows that were written then.
type OldKey struct {
	KeyID     string
	Epoch     int64
	LastSeq   int64 // of the last audit row under it
	Protected Sealed
}

// Bucket returns keyring.
func (r *OldKey) Bucket() Bucket { return Keyring }

// Key returns the key's id.
func (r *OldKey) Key() []byte { return []byte(r.KeyID) }

func (r *OldKey) list(c *member.List) {
	c.Token("key_id", &r.KeyID)
	c.Num("key_epoch", &r.Epoch, 1, 1<<32-1)
	c.Num("last_seq", &r.LastSeq, 0, member.Most)
	c.Object("protected_key", func(c *member.List) { sealed(c, &r.Protected) })
}

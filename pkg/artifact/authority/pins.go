package authority

import (
	"strings"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/artifact/internal/field"
)

// Pin is what an off-host signer knows of one executor, from a source other than
// the files it is asked to sign over.
type Pin struct {
	Name                 string // the owner's own words for it, shown in reviews
	StoreID, NVIndexName string
	ApplianceTarget      string
	BuildID              string // "" (null): any build
	Attestation          Key
	Authorities          Set
}

// Pins are the executors that a signer knows.
type Pins struct{ Executors []Pin }

// MaxPins bounds a pins file, in bytes.
const MaxPins = 64 << 10

// ParsePins reads a pins file: strict JSON that people may lay out as they like.
// No store and no attestation key stands twice.
func ParsePins(b []byte) (*Pins, error) {
	if len(b) > MaxPins {
		return nil, field.Refuse(field.Structure, "pins", "must be at most 65536 bytes")
	}
	p := new(Pins)
	if err := field.ReadFree(b, p.fields); err != nil {
		return nil, err
	}
	return p, p.check()
}

// Encode returns the pins as one line of canonical JSON.
func (p *Pins) Encode() ([]byte, error) {
	o, err := field.Encode(p.fields)
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	b, err := field.Bytes(o)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

func (p *Pins) fields(c *field.Codec) {
	c.Version(1)
	field.Objects(c, "executors", &p.Executors, 1, 16, func(c *field.Codec, x *Pin) {
		c.Text("name", &x.Name, ownName)
		c.Token("store_id", &x.StoreID)
		c.Text("nv_index_name", &x.NVIndexName, field.NVName)
		c.Hex64("appliance_target_digest", &x.ApplianceTarget)
		c.OptText("executor_build_id", &x.BuildID, field.BuildID)
		c.Object("attestation", x.Attestation.attestation)
		c.Object("authorities", x.Authorities.fields)
	})
}

// ownName is the rule of a name that a signer shows.
func ownName(s string) string {
	if s == "" || len(s) > 64 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "must be 1 to 64 printable ASCII characters"
	}
	return ""
}

func (p *Pins) check() error {
	for i, x := range p.Executors {
		if _, err := x.AuthoritySet(); err != nil {
			return err
		}
		for _, y := range p.Executors[:i] {
			if x.StoreID == y.StoreID || x.Attestation.Public.Equal(y.Attestation.Public) {
				return field.Refuse(field.Keys, "executors", "two entries have one store or one attestation key")
			}
		}
	}
	return nil
}

// Store returns the entry of a store.
func (p *Pins) Store(id string) (*Pin, bool) {
	for i := range p.Executors {
		if p.Executors[i].StoreID == id {
			return &p.Executors[i], true
		}
	}
	return nil, false
}

// Attesting returns the entry whose key attested the file.
func (p *Pins) Attesting(a artifact.Attested) (*Pin, error) {
	for i := range p.Executors {
		if VerifyAttestation(a, p.Executors[i].Attestation) == nil {
			return &p.Executors[i], nil
		}
	}
	return nil, field.Refuse(field.Signature, "attestation", "is by no pinned executor over this file")
}

// AuthoritySet returns the digest of the pinned keys.
func (p *Pin) AuthoritySet() (string, error) { return p.Authorities.SetDigest(p.Attestation) }

// Holds says whether a plan is of exactly the pinned executor.
func (p *Pin) Holds(x *change.Executor) error {
	set, err := p.AuthoritySet()
	if err != nil {
		return err
	}
	for _, one := range []struct{ member, is, pinned string }{
		{"store_id", x.StoreID, p.StoreID},
		{"nv_index_name", x.NVIndexName, p.NVIndexName},
		{"appliance_target_digest", x.ApplianceTarget, p.ApplianceTarget},
		{"authority_set_digest", x.AuthoritySet, set},
	} {
		if one.is != one.pinned {
			return field.Refuse(field.Binding, one.member, "is not the pinned one")
		}
	}
	if p.BuildID != "" && x.BuildID != p.BuildID {
		return field.Refuse(field.Binding, "executor_build_id", "is not the pinned one")
	}
	return nil
}

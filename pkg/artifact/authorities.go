package artifact

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"slices"

	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// Owner is one of the three people or devices that sign.
type Owner string

// The owners.
const (
	OwnerAuthorization  Owner = "authorization"
	OwnerConfirmation   Owner = "confirmation"
	OwnerReconciliation Owner = "reconciliation"
)

// Owners are all of them, in the order of a change.
func Owners() []Owner {
	return []Owner{OwnerAuthorization, OwnerConfirmation, OwnerReconciliation}
}

// OwnerOf returns whose signature a role needs, "" for the executor's roles.
func OwnerOf(r canon.Role) Owner {
	switch r {
	case canon.RolePlanAuthorization, canon.RoleRollbackAuthorization:
		return OwnerAuthorization
	case canon.RoleConfirmation, canon.RoleRollback:
		return OwnerConfirmation
	case canon.RoleReconciliation, canon.RoleRebaseline:
		return OwnerReconciliation
	}
	return ""
}

// Authority is a pinned public key under its name.
type Authority struct {
	ID  string
	Key ed25519.PublicKey
}

// Authorities are the pinned keys of the owners, one to four each, no key and no id
// twice.
type Authorities struct {
	Authorization, Confirmation, Reconciliation []Authority
}

// MaxAuthorities bounds an authorities file, in bytes.
const MaxAuthorities = 4096

// ParseAuthorities reads an authorities file: one line of strict JSON with exactly
// the three lists. Keys that must not be used, or that stand twice, are a Fault of
// class Keys.
func ParseAuthorities(b []byte) (*Authorities, error) {
	if len(b) > MaxAuthorities {
		return nil, fault(Structure, "authorities", "must be at most 4096 bytes")
	}
	b = bytes.TrimSuffix(b, []byte("\n"))
	if bytes.ContainsAny(b, "\r\n") {
		return nil, fault(Structure, "authorities", "must be one line")
	}
	l := new(Authorities)
	if err := decodeFree(b, l.fields); err != nil {
		return nil, err
	}
	return l, l.check()
}

// decodeFree reads an object that people write: blanks and order are free, members
// are not.
func decodeFree(b []byte, list func(*field.Codec)) error {
	v, err := canon.Decode(b)
	if err != nil {
		return structural(err)
	}
	o, ok := v.(canon.Object)
	if !ok {
		return fault(Structure, "file", "must be an object")
	}
	return structural(field.Decode(o, list))
}

func (l *Authorities) fields(c *field.Codec) {
	for _, o := range Owners() {
		field.Objects(c, string(o), l.list(o), 1, 4, authority)
	}
}

// authority lists the members of one owner's key.
func authority(c *field.Codec, a *Authority) {
	c.Token("authority_id", &a.ID)
	publicKey(c, &a.Key)
}

// publicKey runs the member public_key_hex.
func publicKey(c *field.Codec, k *ed25519.PublicKey) {
	text := hex.EncodeToString(*k)
	c.Hex64("public_key_hex", &text)
	if !c.Writing() && !c.Failed() {
		*k, _ = hex.DecodeString(text) // 64 digits, as checked
	}
}

// list returns where an owner's keys are kept.
func (l *Authorities) list(o Owner) *[]Authority {
	switch o {
	case OwnerAuthorization:
		return &l.Authorization
	case OwnerConfirmation:
		return &l.Confirmation
	}
	return &l.Reconciliation
}

// Of returns an owner's keys.
func (l *Authorities) Of(o Owner) []Authority { return *l.list(o) }

// Encode returns the authorities as one line of canonical JSON, sorted by id.
func (l *Authorities) Encode() ([]byte, error) {
	o, err := field.Encode(l.sorted().fields)
	if err != nil {
		return nil, structural(err)
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	b, err := canon.Encode(o)
	if err != nil {
		return nil, structural(err)
	}
	return append(b, '\n'), nil
}

// sorted returns a copy with each list in the order of its ids.
func (l *Authorities) sorted() *Authorities {
	s := new(Authorities)
	for _, o := range Owners() {
		*s.list(o) = slices.SortedFunc(slices.Values(l.Of(o)), func(a, b Authority) int { return cmp.Compare(a.ID, b.ID) })
	}
	return s
}

// check refuses unusable keys, and a key or an id that stands twice, in one list or
// in two. Every id counts against every other, so that no name means two things.
func (l *Authorities) check(others ...Authority) error {
	var seen []Authority
	all := slices.Concat(l.Authorization, l.Confirmation, l.Reconciliation, others)
	for _, a := range all {
		if err := CheckPublicKey(a.Key); err != nil {
			return err
		}
		for _, s := range seen {
			if s.ID == a.ID || bytes.Equal(s.Key, a.Key) {
				return fault(Keys, "authority_overlap", "a key or an id stands twice: every owner and the executor need their own")
			}
		}
		seen = append(seen, a)
	}
	return nil
}

// SetDigest returns the authority_set_digest: all owners' keys and the executor's
// attestation key. It refuses an attestation key or id that is an owner's too.
func (l *Authorities) SetDigest(attestation Authority) (string, error) {
	if err := l.check(attestation); err != nil {
		return "", err
	}
	o, err := field.Encode(func(c *field.Codec) {
		l.sorted().fields(c)
		c.Object("attestation", attestation.attestation)
	})
	if err != nil {
		return "", structural(err)
	}
	d, err := canon.AuthoritySet.Digest(o)
	return d, structural(err)
}

// attestation lists the members of the executor's key.
func (a *Authority) attestation(c *field.Codec) {
	c.Token("attestation_key_id", &a.ID)
	publicKey(c, &a.Key)
}

// Lookup returns the key that an id has in an owner's list.
func (l *Authorities) Lookup(o Owner, id string) (Authority, bool) {
	for _, a := range l.Of(o) {
		if a.ID == id {
			return a, true
		}
	}
	return Authority{}, false
}

// signed is an Artifact of an owner.
type signed interface {
	Artifact
	// Authority returns the id of the owner who signed.
	Authority() string
}

// Verify says whether an owner's artifact is signed by a key that is pinned for
// the owner of its role. An id of another owner is unknown here.
func (l *Authorities) Verify(a signed) error {
	owner := OwnerOf(a.Role())
	if owner == "" {
		return fault(Signature, "role", "is no owner's")
	}
	k, ok := l.Lookup(owner, a.Authority())
	if !ok {
		return fault(Signature, "authority_id", "is not pinned for this role")
	}
	return Verify(a, k.Key)
}

// Distinct says whether two artifacts are by different owners' ids and keys.
func (l *Authorities) Distinct(a, b signed) error {
	ka, oka := l.Lookup(OwnerOf(a.Role()), a.Authority())
	kb, okb := l.Lookup(OwnerOf(b.Role()), b.Authority())
	if !oka || !okb || ka.ID == kb.ID || bytes.Equal(ka.Key, kb.Key) {
		return fault(Signature, "authority_id", "must be another owner's than that of the first signature")
	}
	return nil
}

// VerifyAttestation says whether a file is attested by the executor's pinned key.
func VerifyAttestation(a attested, pinned Authority) error {
	if a.AttestedBy() != pinned.ID {
		return fault(Signature, "attestation_key_id", "is not the pinned executor's")
	}
	return Verify(a, pinned.Key)
}

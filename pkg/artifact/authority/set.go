package authority

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"slices"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// Owner is one of the three people or devices that sign.
type Owner string

// The owners.
const (
	Authorization  Owner = "authorization"
	Confirmation   Owner = "confirmation"
	Reconciliation Owner = "reconciliation"
)

// Owners are all of them, in the order of a change.
func Owners() []Owner {
	return []Owner{Authorization, Confirmation, Reconciliation}
}

// OwnerOf returns whose signature a role needs, "" for the executor's roles.
func OwnerOf(r canon.Role) Owner {
	switch r {
	case canon.RolePlanAuthorization, canon.RoleRollbackAuthorization:
		return Authorization
	case canon.RoleConfirmation, canon.RoleRollback:
		return Confirmation
	case canon.RoleReconciliation, canon.RoleRebaseline:
		return Reconciliation
	}
	return ""
}

// Key is a pinned public key under its name.
type Key struct {
	ID     string
	Public ed25519.PublicKey
}

// Set is the pinned keys of the owners, one to four each, no key and no id twice.
type Set struct {
	Authorization, Confirmation, Reconciliation []Key
}

// MaxSet bounds an authorities file, in bytes.
const MaxSet = 4096

// Parse reads an authorities file: one line of strict JSON with exactly
// the three lists. Keys that must not be used, or that stand twice, are a Fault of
// class Keys.
func Parse(b []byte) (*Set, error) {
	if len(b) > MaxSet {
		return nil, field.Refuse(field.Structure, "authorities", "must be at most 4096 bytes")
	}
	b = bytes.TrimSuffix(b, []byte("\n"))
	if bytes.ContainsAny(b, "\r\n") {
		return nil, field.Refuse(field.Structure, "authorities", "must be one line")
	}
	l := new(Set)
	if err := field.ReadFree(b, l.fields); err != nil {
		return nil, err
	}
	return l, l.check()
}

func (l *Set) fields(c *field.Codec) {
	for _, o := range Owners() {
		field.Objects(c, string(o), l.list(o), 1, 4, authority)
	}
}

// authority lists the members of one owner's key.
func authority(c *field.Codec, a *Key) {
	c.Token("authority_id", &a.ID)
	publicKey(c, &a.Public)
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
func (l *Set) list(o Owner) *[]Key {
	switch o {
	case Authorization:
		return &l.Authorization
	case Confirmation:
		return &l.Confirmation
	}
	return &l.Reconciliation
}

// Of returns an owner's keys.
func (l *Set) Of(o Owner) []Key { return *l.list(o) }

// Encode returns the authorities as one line of canonical JSON, sorted by id.
func (l *Set) Encode() ([]byte, error) {
	o, err := field.Encode(l.sorted().fields)
	if err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	b, err := field.Bytes(o)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// sorted returns a copy with each list in the order of its ids.
func (l *Set) sorted() *Set {
	s := new(Set)
	for _, o := range Owners() {
		*s.list(o) = slices.SortedFunc(slices.Values(l.Of(o)), func(a, b Key) int { return cmp.Compare(a.ID, b.ID) })
	}
	return s
}

// check refuses unusable keys, and a key or an id that stands twice, in one list or
// in two. Every id counts against every other, so that no name means two things.
func (l *Set) check(others ...Key) error {
	var seen []Key
	all := slices.Concat(l.Authorization, l.Confirmation, l.Reconciliation, others)
	for _, a := range all {
		if err := CheckPublicKey(a.Public); err != nil {
			return err
		}
		for _, s := range seen {
			if s.ID == a.ID || bytes.Equal(s.Public, a.Public) {
				return field.Refuse(field.Keys, "authority_overlap", "a key or an id stands twice: every owner and the executor need their own")
			}
		}
		seen = append(seen, a)
	}
	return nil
}

// SetDigest returns the authority_set_digest: all owners' keys and the executor's
// attestation key. It refuses an attestation key or id that is an owner's too.
func (l *Set) SetDigest(attestation Key) (string, error) {
	if err := l.check(attestation); err != nil {
		return "", err
	}
	o, err := field.Encode(func(c *field.Codec) {
		l.sorted().fields(c)
		c.Object("attestation", attestation.attestation)
	})
	if err != nil {
		return "", err
	}
	return field.Digest(canon.AuthoritySet, o)
}

// attestation lists the members of the executor's key.
func (a *Key) attestation(c *field.Codec) {
	c.Token("attestation_key_id", &a.ID)
	publicKey(c, &a.Public)
}

// Lookup returns the key that an id has in an owner's list.
func (l *Set) Lookup(o Owner, id string) (Key, bool) {
	for _, a := range l.Of(o) {
		if a.ID == id {
			return a, true
		}
	}
	return Key{}, false
}

// Verify says whether an owner's artifact is signed by a key that is pinned for
// the owner of its role. An id of another owner is unknown here.
func (l *Set) Verify(a artifact.Signed) error {
	owner := OwnerOf(a.Role())
	if owner == "" {
		return field.Refuse(field.Signature, "role", "is no owner's")
	}
	k, ok := l.Lookup(owner, a.Authority())
	if !ok {
		return field.Refuse(field.Signature, "authority_id", "is not pinned for this role")
	}
	return artifact.Verify(a, k.Public)
}

// Distinct says whether two artifacts are by different owners' ids and keys.
func (l *Set) Distinct(a, b artifact.Signed) error {
	ka, oka := l.Lookup(OwnerOf(a.Role()), a.Authority())
	kb, okb := l.Lookup(OwnerOf(b.Role()), b.Authority())
	if !oka || !okb || ka.ID == kb.ID || bytes.Equal(ka.Public, kb.Public) {
		return field.Refuse(field.Signature, "authority_id", "must be another owner's than that of the first signature")
	}
	return nil
}

// VerifyAttestation says whether a file is attested by the executor's pinned key.
func VerifyAttestation(a artifact.Attested, pinned Key) error {
	if a.AttestedBy() != pinned.ID {
		return field.Refuse(field.Signature, "attestation_key_id", "is not the pinned executor's")
	}
	return artifact.Verify(a, pinned.Public)
}

// VerifyRollback says whether the two files are both signatures that the undo
// needs: each by its owner under its role, with different ids, keys and nonces.
func (l *Set) VerifyRollback(want artifact.Undo, confirmation, authorization *artifact.Rollback) error {
	for _, one := range []struct {
		r  *artifact.Rollback
		by canon.Role
	}{{confirmation, canon.RoleRollback}, {authorization, canon.RoleRollbackAuthorization}} {
		if one.r.By != one.by {
			return field.Refuse(field.Signature, "role", "must be one signature of each owner")
		}
		if err := l.Verify(one.r); err != nil {
			return err
		}
		if !one.r.Undo.Equal(want) {
			return field.Refuse(field.Binding, "rollback", "is for another undo")
		}
	}
	if confirmation.Nonce == authorization.Nonce {
		return field.Refuse(field.Signature, "nonce", "must differ between the two signatures")
	}
	return l.Distinct(authorization, confirmation)
}

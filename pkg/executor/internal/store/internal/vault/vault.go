// Package vault owns the keys of one store while the process lives: the MAC keys
// derived from the root key, the key that members are sealed under, and the audit
// keys of former epochs.
//
// Only the packages of the store import it. It must never hand a key out, put one
// into an error or print, or take a MAC of one bucket for one of another: the label
// is the bucket's, and anchor, consumption and audit have keys of their own.
//
// The attacks it stops: a row moved into another bucket or another store, a row
// made under a key that was rotated away, and a sealed member put in another
// contract's place.
package vault

import (
	"encoding/hex"
	"log/slog"

	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// RootKey is what everything is derived from: 32 bytes or more that are nowhere in
// the store.
type RootKey struct {
	ID       string
	Epoch    int64 // from 1
	Material []byte
}

// String hides the material from prints.
func (RootKey) String() string { return "[root key]" }

// GoString hides the material from %#v.
func (RootKey) GoString() string { return "[root key]" }

// LogValue hides the material from logs.
func (RootKey) LogValue() slog.Value { return slog.StringValue("[root key]") }

// Ring is the keys of one store in one epoch. It is not changed after its making,
// except by AddOld before it is shared.
type Ring struct {
	storeID string
	keyID   string
	epoch   int64
	derived map[canon.Label][]byte
	old     map[string]Old
}

// Old is the audit key of a former epoch.
type Old struct {
	Epoch, LastSeq int64
	Key            []byte
}

// New derives the keys.
func New(storeID string, k RootKey) (*Ring, error) {
	r := &Ring{storeID: storeID, keyID: k.ID, epoch: k.Epoch, derived: map[canon.Label][]byte{}, old: map[string]Old{}}
	for _, l := range []canon.Label{canon.KeyRecord, canon.KeyAudit, canon.KeyAnchor, canon.KeyConsumption, canon.KeyArtifact} {
		key, err := canon.Derive(k.Material, l)
		if err != nil {
			return nil, errs.Wrap(err, errs.Invalid, "the root key cannot be used").WithClass("configuration").
				WithNext("give the root key of this store: at least 32 bytes with a key id and an epoch")
		}
		r.derived[l] = key
	}
	return r, nil
}

// StoreID returns the store the keys are for.
func (r *Ring) StoreID() string { return r.storeID }

// KeyID returns the id of the root key.
func (r *Ring) KeyID() string { return r.keyID }

// Epoch returns its epoch.
func (r *Ring) Epoch() int64 { return r.epoch }

// AddOld adds a former audit key.
func (r *Ring) AddOld(keyID string, o Old) { r.old[keyID] = o }

// Olds returns the former audit keys by id.
func (r *Ring) Olds() map[string]Old { return r.old }

// AuditKey returns the present audit key, to be sealed for the next epoch.
func (r *Ring) AuditKey() []byte { return r.derived[canon.KeyAudit] }

// Zero clears the keys, as far as a garbage-collected program can.
func (r *Ring) Zero() {
	for _, k := range r.derived {
		clear(k)
	}
	for _, o := range r.old {
		clear(o.Key)
	}
}

// how returns the key, label and leading parts of a row's MAC.
func (r *Ring) how(b record.Bucket, key string) (mac []byte, label string, lead [][]byte) {
	store := [][]byte{[]byte(r.storeID)}
	switch {
	case b == record.Anchors && key == record.AnchorKey:
		return r.derived[canon.KeyAnchor], "anchor", nil // the row names its store
	case b == record.Anchors:
		return r.derived[canon.KeyAnchor], "anchor-provisioning", store
	case b == record.Consumed:
		return r.derived[canon.KeyConsumption], "consumption", store
	case b == record.Contracts:
		return r.derived[canon.KeyRecord], "contract", store
	}
	return r.derived[canon.KeyRecord], string(b), store
}

// MAC returns the MAC of a row outside audit.
func (r *Ring) MAC(b record.Bucket, key string, canonical []byte) ([]byte, error) {
	k, label, lead := r.how(b, key)
	return canon.MAC(k, label, append(lead, canonical)...)
}

// Check says whether mac is the row's.
func (r *Ring) Check(mac []byte, b record.Bucket, key string, canonical []byte) bool {
	k, label, lead := r.how(b, key)
	return canon.CheckMAC(mac, k, label, append(lead, canonical)...)
}

// AuditMAC returns the MAC of an audit row of the present epoch.
func (r *Ring) AuditMAC(canonical []byte) ([]byte, error) {
	return canon.MAC(r.derived[canon.KeyAudit], "audit", canonical)
}

// CheckAudit says whether mac is that of an audit row written under a key at a
// position. A former key speaks for the rows up to its last one alone.
func (r *Ring) CheckAudit(mac []byte, keyID string, seq int64, canonical []byte) bool {
	key := r.derived[canon.KeyAudit]
	if keyID != r.keyID {
		o, known := r.old[keyID]
		if !known || seq > o.LastSeq {
			return false
		}
		key = o.Key
	}
	return canon.CheckMAC(mac, key, "audit", canonical)
}

// Term returns what one row adds to the sum over all rows. It is not in the file,
// so nobody can look for other rows with the same sum.
func (r *Ring) Term(b record.Bucket, key, mac []byte) ([]byte, error) {
	return canon.MAC(r.derived[canon.KeyRecord], "row-set", []byte(r.storeID), []byte(b), key, mac)
}

// place says where a sealed member of an owner belongs.
func (r *Ring) place(owner, role, keyID string) canon.Place {
	return canon.Place{StoreID: r.storeID, Contract: owner, Role: role, KeyID: keyID}
}

// Seal encrypts a member of an owner: a contract, a request or a key.
func (r *Ring) Seal(owner, role string, plain []byte) (record.Sealed, []byte, error) {
	b, err := r.place(owner, role, r.keyID).Seal(r.derived[canon.KeyArtifact], plain)
	if err != nil || len(b) > record.MaxSealed {
		return record.Sealed{}, nil, errs.Wrap(err, errs.Internal, "a member cannot be sealed").WithClass("sealing")
	}
	return record.Sealed{KeyID: r.keyID, Hash: canon.Hash(b), Size: int64(len(b))}, b, nil
}

// Open decrypts a member after comparing it with the hash in its owner's row.
func (r *Ring) Open(owner, role string, s record.Sealed, sealed []byte) ([]byte, error) {
	if int64(len(sealed)) != s.Size || canon.Hash(sealed) != s.Hash {
		return nil, errs.New(errs.Internal, "a sealed member is not the one its row names").WithClass(record.Class)
	}
	plain, err := r.place(owner, role, s.KeyID).Open(r.derived[canon.KeyArtifact], sealed)
	if err != nil {
		return nil, errs.Wrap(err, errs.Internal, "a sealed member is not authentic").WithClass(record.Class)
	}
	return plain, nil
}

// Hex returns the form in which a MAC stands in a row.
func Hex(mac []byte) string { return hex.EncodeToString(mac) }

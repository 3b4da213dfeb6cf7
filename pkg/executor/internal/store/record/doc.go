// Package record owns the rows of the contract store: what each one holds, its
// bounds, the rules between its members, and which states may follow which.
//
// Only the packages of the executor import it. It must never hold a row that it
// would not read back, nor an outsider's text: apart from the bytes of signed
// files, which are digests and ids, every member is an identifier, a digest, a
// number, a time or a word of a closed list. There is no member for free text, so
// an alias name or a description has no place to leak into; both live in sealed
// members, which are kept apart and of which a row holds the hash.
//
// The attacks it stops: a row that one reader heeds and another ignores (exact
// members, exact forms), a contract whose content is not that of its idempotency
// key, and a state that no rule leads to.
package record

import (
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/member"
)

// Class is the error class of every row that breaks a rule.
const Class = "store_integrity"

// Bucket names a part of the store.
type Bucket string

// The buckets. Sealed holds ciphertexts, which are authentic by their place and by
// the hash in the row that owns them; every other value is a MAC and a row.
const (
	Meta         Bucket = "meta"
	Requests     Bucket = "requests"
	Previews     Bucket = "previews"
	Contracts    Bucket = "contracts"
	Consumed     Bucket = "consumed"
	Reservations Bucket = "reservations"
	Cooldowns    Bucket = "cooldowns"
	Observations Bucket = "observations"
	AuditLog     Bucket = "audit"
	Anchors      Bucket = "anchor"
	Exports      Bucket = "exports"
	Sends        Bucket = "sends"
	Results      Bucket = "results"
	SignedFiles  Bucket = "signed"
	Keyring      Bucket = "keyring"
	SealedBytes  Bucket = "sealed"
)

// Buckets returns all buckets: a store has each of them and no other.
func Buckets() []Bucket {
	return []Bucket{
		Meta, Requests, Previews, Contracts, Consumed, Reservations, Cooldowns, Observations,
		AuditLog, Anchors, Exports, Sends, Results, SignedFiles, Keyring, SealedBytes,
	}
}

// Record is one row. The types of this package alone implement it.
type Record interface {
	Bucket() Bucket
	// Key returns where the row stands; it is made of members of the row.
	Key() []byte
	list(c *member.List)
}

// Encode returns the row as a canonical value and as its canonical bytes.
func Encode(r Record) (canon.Object, []byte, error) {
	o, err := member.Write(r.list)
	var b []byte
	if err == nil {
		b, err = canon.Encode(o)
	}
	if err == nil {
		return o, b, nil
	}
	// What is to be written is a caller's, not the store's: the store is sound.
	return nil, nil, errs.Wrap(err, errs.Invalid, "a row for "+string(r.Bucket())+" breaks a rule").WithClass("invalid_row")
}

// Decode reads a row from bytes that Encode made. It refuses an unknown, missing
// or malformed member; that the bytes are the ones written is the MAC's to say.
func Decode(b []byte, r Record) error {
	o, err := member.Parse(b)
	if err == nil {
		err = member.Read(o, r.list)
	}
	if err != nil {
		return broken(r.Bucket(), err)
	}
	return nil
}

// broken hides the cause, which names a member and never a value.
func broken(b Bucket, cause error) error {
	return errs.Wrap(cause, errs.Internal, "a row of "+string(b)+" breaks a rule").WithClass(Class)
}

// RawDigest returns the record_digest of a stored row from its canonical bytes.
func RawDigest(b Bucket, canonical []byte) string {
	return canon.Hash(canon.Frames([]byte(canon.Domain), []byte("record"), []byte(b), canonical))
}

// Digest returns the record_digest of a row.
func Digest(r Record) (string, error) {
	_, b, err := Encode(r)
	if err != nil {
		return "", err
	}
	return RawDigest(r.Bucket(), b), nil
}

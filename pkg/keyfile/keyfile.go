// Package keyfile owns the three key files that executord reads as credentials:
// the root key of the store, the key that attests its files, and the secret of its
// counter in the TPM. It makes new ones and reads them strictly.
//
// executord and what installs it import it; it knows no path and opens no file. It
// must never put a byte of a key, or anything that stood in a file, into an error or
// a print.
//
// The attacks it stops: a file of another kind, a placeholder or half a file taken
// for a key, so that a store is sealed with what somebody else can guess, and a key
// that leaks through the message that refuses it.
package keyfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"

	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
)

const (
	// MaxBytes bounds a key file.
	MaxBytes = 4096
	// KeyBytes is the length of each of the three secrets, in bytes.
	KeyBytes = 32
	// MaxEpoch bounds the epoch of a root key: the store keeps it in 32 bits.
	MaxEpoch = 1<<32 - 1
)

// Root is the key that everything in a store is derived from. It prints as a fixed
// word, whatever the verb.
type Root struct {
	KeyID    string // 1 to 128 of letters, digits and _ . : - of ASCII
	Epoch    int64  // 1 to MaxEpoch, one more with each rotation
	Material []byte // KeyBytes
}

// Attestation is the key that executord signs its own files with, so that a signer
// elsewhere knows whose they are. It prints as a fixed word, whatever the verb.
type Attestation struct {
	KeyID string // as in Root
	Key   ed25519.PrivateKey
}

// Format prints a fixed word for every verb.
func (Root) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[root key]")) }

// LogValue logs a fixed word.
func (Root) LogValue() slog.Value { return slog.StringValue("[root key]") }

// MarshalText encodes a fixed word, in JSON as elsewhere.
func (Root) MarshalText() ([]byte, error) { return []byte("[root key]"), nil }

// Format prints a fixed word for every verb.
func (Attestation) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[attestation key]")) }

// LogValue logs a fixed word.
func (Attestation) LogValue() slog.Value { return slog.StringValue("[attestation key]") }

// MarshalText encodes a fixed word, in JSON as elsewhere.
func (Attestation) MarshalText() ([]byte, error) { return []byte("[attestation key]"), nil }

// NewRoot returns the file of a fresh root key, one line of JSON. An id or epoch out
// of bounds is errs.Invalid.
func NewRoot(keyID string, epoch int64) ([]byte, error) {
	if !token(keyID) {
		return nil, badID(root)
	}
	if epoch < 1 || epoch > MaxEpoch {
		return nil, root.bad("epoch must be a number from 1 to 4294967295")
	}
	return line(canon.Object{"key_id": keyID, "epoch": epoch, "material_hex": fresh()})
}

// ParseRoot reads the file of a root key. What it refuses is errs.Invalid with the
// class configuration.
func ParseRoot(b []byte) (Root, error) {
	o, err := object(root, b, "epoch", "key_id", "material_hex")
	if err != nil {
		return Root{}, err
	}
	id, ok := o["key_id"].(string)
	if !ok || !token(id) {
		return Root{}, badID(root)
	}
	epoch, ok := o["epoch"].(int64)
	if !ok || epoch < 1 || epoch > MaxEpoch {
		return Root{}, root.bad("epoch must be a number from 1 to 4294967295")
	}
	material, err := secret(root, "material_hex", o["material_hex"])
	if err != nil {
		return Root{}, err
	}
	return Root{KeyID: id, Epoch: epoch, Material: material}, nil
}

// NewAttestation returns the file of a fresh attestation key, one line of JSON. An id
// out of bounds is errs.Invalid.
func NewAttestation(keyID string) ([]byte, error) {
	if !token(keyID) {
		return nil, badID(attestation)
	}
	return line(canon.Object{"key_id": keyID, "seed_hex": fresh()})
}

// ParseAttestation reads the file of an attestation key. What it refuses is
// errs.Invalid with the class configuration.
func ParseAttestation(b []byte) (Attestation, error) {
	o, err := object(attestation, b, "key_id", "seed_hex")
	if err != nil {
		return Attestation{}, err
	}
	id, ok := o["key_id"].(string)
	if !ok || !token(id) {
		return Attestation{}, badID(attestation)
	}
	seed, err := secret(attestation, "seed_hex", o["seed_hex"])
	if err != nil {
		return Attestation{}, err
	}
	defer clear(seed)
	return Attestation{KeyID: id, Key: ed25519.NewKeyFromSeed(seed)}, nil
}

// NewCounterAuth returns the file of a fresh counter secret: 64 hex digits and a line
// end. No byte of it is zero: a TPM drops zeros at the end of a secret, and go-tpm
// 0.9.8 computes its HMAC with what stands before the first one. That costs a fifth of
// a bit.
func NewCounterAuth() ([]byte, error) {
	for {
		s := fresh()
		if b, err := hex.DecodeString(s); err == nil && bytes.IndexByte(b, 0) < 0 {
			return []byte(s + "\n"), nil
		}
	}
}

// ParseCounterAuth reads the file of a counter secret and returns its 32 bytes. What
// it refuses is errs.Invalid with the class configuration.
func ParseCounterAuth(b []byte) ([]byte, error) {
	if len(b) != 2*KeyBytes+1 || b[len(b)-1] != '\n' {
		return nil, counter.bad("it must be 64 hex digits and a line end")
	}
	b, err := secret(counter, "the secret", string(b[:2*KeyBytes]))
	if err == nil && bytes.IndexByte(b, 0) >= 0 {
		return nil, counter.bad("a byte of it is zero, which a TPM and its library do not read alike")
	}
	return b, err
}

// kind names a file in an error.
type kind string

const (
	root        kind = "root key file"
	attestation kind = "attestation key file"
	counter     kind = "counter secret file"
)

// bad is the refusal of a file: our words and the names of keys, never what stood there.
func (k kind) bad(why string) error {
	return errs.New(errs.Invalid, "the "+string(k)+" cannot be used: "+why).WithClass("configuration").
		WithNext("put back the file that was made for this store; a new one is made by mcpctl setup --write")
}

func badID(k kind) error {
	return k.bad("key_id must be 1 to 128 letters, digits and _ . : -, the first a letter or digit")
}

// object reads one line that is one JSON object with exactly these keys.
func object(k kind, b []byte, keys ...string) (canon.Object, error) {
	if len(b) > MaxBytes {
		return nil, k.bad("it is larger than 4096 bytes")
	}
	b = bytes.TrimSuffix(b, []byte("\n"))
	if bytes.ContainsAny(b, "\r\n") {
		return nil, k.bad("it must be one line")
	}
	v, err := canon.Decode(b)
	o, ok := v.(canon.Object)
	if err != nil || !ok {
		return nil, k.bad("it must be one JSON object") // the cause may quote the file
	}
	for _, key := range keys {
		if _, ok := o[key]; !ok {
			return nil, k.bad(key + " is missing")
		}
	}
	if len(o) != len(keys) {
		return nil, k.bad("it has a key that does not belong there")
	}
	return o, nil
}

// secret reads 64 lower-case hex digits. One byte thirty-two times is a placeholder
// that somebody wrote by hand.
func secret(k kind, name string, v any) ([]byte, error) {
	s, ok := v.(string)
	if !ok || len(s) != 2*KeyBytes || strings.ToLower(s) != s {
		return nil, k.bad(name + " must be 64 lower-case hex digits")
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, k.bad(name + " must be 64 lower-case hex digits") // the cause quotes a byte
	}
	if bytes.Count(b, b[:1]) == len(b) {
		return nil, k.bad(name + " is a placeholder, not a key")
	}
	return b, nil
}

// fresh returns 32 random bytes of the operating system in hex.
func fresh() string {
	var b [KeyBytes]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime ends the process instead
	defer clear(b[:])
	return hex.EncodeToString(b[:])
}

// line encodes a file: canonical JSON and a line end.
func line(o canon.Object) ([]byte, error) {
	b, err := canon.Encode(o)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// token says whether s is an identifier of the write path.
func token(s string) bool {
	if len(s) < 1 || len(s) > 128 || strings.IndexByte("_.:-", s[0]) >= 0 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("_.:-", c) < 0 {
			return false
		}
	}
	return true
}

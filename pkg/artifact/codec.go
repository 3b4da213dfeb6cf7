package artifact

import (
	"crypto/ed25519"
	"time"

	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// Artifact is one file of the ceremony. The types of this package alone implement
// it.
type Artifact interface {
	// Role returns what the file's signature is for.
	Role() canon.Role
	// fields lists the members without the signature, checking rules between them.
	fields(*field.Codec)
	// signature returns where the signature is kept.
	signature() *[]byte
	// blank returns an empty artifact of the same kind and role.
	blank() Artifact
}

// Attested is an Artifact of the executor.
type Attested interface {
	Artifact
	// AttestedBy returns the id of the executor's key.
	AttestedBy() string
}

// Signed is an Artifact of an owner.
type Signed interface {
	Artifact
	// Authority returns the id of the owner who signed.
	Authority() string
}

// form returns the name of the member with the signature, and the file's bound.
func form(a Artifact) (member string, most int) {
	if _, ok := a.(Attested); ok {
		return "attestation", MaxAttested
	}
	return "proof", MaxSigned
}

// whole lists all members.
func whole(a Artifact) func(*field.Codec) {
	return func(c *field.Codec) {
		a.fields(c)
		member, _ := form(a)
		c.Bytes(member, a.signature(), ed25519.SignatureSize)
	}
}

// Payload returns what the signature covers, without the signature.
func Payload(a Artifact) (canon.Object, error) {
	return field.Encode(a.fields)
}

// Encode returns the file of a signed artifact.
func Encode(a Artifact) ([]byte, error) {
	o, err := field.Encode(whole(a))
	if err != nil {
		return nil, err
	}
	b, err := field.Bytes(o)
	if err != nil {
		return nil, err
	}
	if _, most := form(a); len(b) > most {
		return nil, field.Refuse(Structure, "file", "is larger than a file of its kind may be")
	}
	return b, nil
}

// decode reads a file: within its bound, canonical byte for byte, exactly the
// members of its kind.
func decode(b []byte, a Artifact) error {
	if _, most := form(a); len(b) > most {
		return field.Refuse(Structure, "file", "is larger than a file of its kind may be")
	}
	return field.Read(b, whole(a))
}

// parse is decode for a new T.
func parse[T any, P interface {
	*T
	Artifact
}](b []byte) (*T, error) {
	t := P(new(T))
	if err := decode(b, t); err != nil {
		return nil, err
	}
	return t, nil
}

// message returns the bytes that the signature covers.
func message(a Artifact) ([]byte, error) {
	o, err := Payload(a)
	if err != nil {
		return nil, err
	}
	m, err := canon.SigMessage(a.Role(), o)
	return m, field.Structural(err)
}

// Sign signs the artifact under its role and returns the file, after it has been
// read back and verified as a receiver will.
func Sign(a Artifact, key ed25519.PrivateKey) ([]byte, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, field.Refuse(Signature, "key", "must be an Ed25519 private key")
	}
	m, err := message(a)
	if err != nil {
		return nil, err
	}
	*a.signature() = ed25519.Sign(key, m)
	b, err := Encode(a)
	if err != nil {
		return nil, err
	}
	pub, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, field.Refuse(Signature, "key", "must be an Ed25519 private key")
	}
	// Reading into a itself would hide a member that is written and not read.
	again := a.blank()
	if err := decode(b, again); err != nil {
		return nil, err
	}
	if err := Verify(again, pub); err != nil {
		return nil, err
	}
	return b, nil
}

// Verify says whether the signature is the key's, for this role and exactly these
// members. It does not say whether the key may sign: see Authorities.Verify.
func Verify(a Artifact, pub ed25519.PublicKey) error {
	m, err := message(a)
	if err != nil {
		return err
	}
	if len(pub) != ed25519.PublicKeySize || len(*a.signature()) != ed25519.SignatureSize || !ed25519.Verify(pub, m, *a.signature()) {
		return field.Refuse(Signature, "signature", "is not by this key over this file")
	}
	return nil
}

// evidence returns a signed artifact's digest, which covers the proof too.
func evidence(p canon.Purpose, a Artifact) (string, error) {
	o, err := Payload(a)
	if err != nil {
		return "", err
	}
	o["proof_digest"] = canon.Hash(*a.signature())
	return field.Digest(p, o)
}

// between notes a rule about two times of one file.
func between(c *field.Codec, issued, expires time.Time, most time.Duration) {
	if c.Failed() {
		return
	}
	c.Check(expires.After(issued), "expires_at", "must be later than issued_at")
	c.Check(expires.Sub(issued) <= most, "expires_at", "is too long after issued_at")
}

package canon

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
)

// MinKey is the shortest key that is taken for a MAC or a derivation, in bytes.
const MinKey = 32

// Label names one key derived from the root key. The set is closed.
type Label string

// The labels.
const (
	KeyRecord      Label = "record-mac"
	KeyAudit       Label = "audit-mac"
	KeyAnchor      Label = "anchor-mac"
	KeyConsumption Label = "consumption-mac"
	KeyArtifact    Label = "artifact-enc"
)

// Derive returns the 32-byte key of a label: HKDF-SHA256 of the root key with an
// empty salt. The caller clears it when it is done.
func Derive(root []byte, l Label) ([]byte, error) {
	switch l {
	case KeyRecord, KeyAudit, KeyAnchor, KeyConsumption, KeyArtifact:
		return expand(root, string(l))
	}
	return nil, errors.New("deriving a key: no such label")
}

func expand(key []byte, label string) ([]byte, error) {
	if len(key) < MinKey {
		return nil, errors.New("deriving a key: the parent is shorter than 32 bytes")
	}
	return hkdf.Key(sha256.New, key, nil, Domain+"/"+label, 32)
}

// MAC returns HMAC-SHA256 of the framed domain, label and parts.
func MAC(key []byte, label string, parts ...[]byte) ([]byte, error) {
	if len(key) < MinKey {
		return nil, errors.New("making a MAC: the key is shorter than 32 bytes")
	}
	h := hmac.New(sha256.New, key)
	h.Write(inDomain(append([][]byte{[]byte(label)}, parts...)...))
	return h.Sum(nil), nil
}

// CheckMAC says whether mac is the MAC of the label and parts, in a time that does
// not depend on the bytes.
func CheckMAC(mac, key []byte, label string, parts ...[]byte) bool {
	want, err := MAC(key, label, parts...)
	return err == nil && hmac.Equal(mac, want)
}

// AuditGenesis returns what the first audit row of a store has in place of its
// predecessor's MAC.
func AuditGenesis(storeID string) string {
	return Hash(inDomain([]byte("audit-genesis"), []byte(storeID)))
}

// Place says where a sealed member belongs. All of it is authenticated, so a
// member cannot be moved. Contract is the contract's id, or the request's for
// request text.
type Place struct{ StoreID, Contract, Role, KeyID string }

// Seal encrypts plain for the place under a key of its own, derived from the
// artifact key, with AES-256-GCM and a random nonce. The result is nonce,
// ciphertext and tag.
func (p Place) Seal(artifactKey, plain []byte) ([]byte, error) {
	a, err := p.aead(artifactKey)
	if err != nil {
		return nil, err
	}
	return a.Seal(nil, nil, plain, p.associated()), nil
}

// Open is the reverse of Seal. It fails for any other key, place or byte.
func (p Place) Open(artifactKey, sealed []byte) ([]byte, error) {
	a, err := p.aead(artifactKey)
	if err != nil {
		return nil, err
	}
	plain, err := a.Open(nil, nil, sealed, p.associated())
	if err != nil {
		return nil, errors.New("opening a sealed member: it is not authentic here")
	}
	return plain, nil
}

func (p Place) associated() []byte {
	return inDomain([]byte("artifact-aead"), []byte(p.StoreID), []byte(p.Contract), []byte(p.Role), []byte(p.KeyID))
}

// subkey returns the place's own key. A handful of members under one key keeps
// random nonces far from any repetition, and a counter in a file would be restored
// with the file.
func (p Place) subkey(artifactKey []byte) ([]byte, error) {
	return expand(artifactKey, "artifact/"+p.Contract+"/"+p.Role)
}

func (p Place) aead(artifactKey []byte) (cipher.AEAD, error) {
	sub, err := p.subkey(artifactKey)
	if err != nil {
		return nil, err
	}
	defer clear(sub)
	block, err := aes.NewCipher(sub)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"

	"golang.org/x/crypto/argon2"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/canon"
)

// A key file is 32 raw bytes, or a container that a passphrase opens: canonical JSON
// with the seed sealed by AES-256-GCM under a key that Argon2id (RFC 9106) makes of
// the passphrase. Argon2id because the file may be copied and guessed at in peace:
// every guess has to fill the memory. The rest of the container is authenticated
// with the seed.
const (
	kdf     = "argon2id-v19"
	maxFile = 4096
	// MinPassphrase is the shortest passphrase that a new key takes, in bytes.
	MinPassphrase = 12
	// MaxPassphrase bounds what is read.
	MaxPassphrase = 1024
)

// Cost is what one guess at a passphrase costs.
type Cost struct{ Passes, MemoryKiB, Threads int64 }

// DefaultCost is about a second on a small machine.
func DefaultCost() Cost { return Cost{3, 256 << 10, 4} }

// known holds a container to costs that neither open at once nor exhaust the
// machine: the container may come from somebody else.
func (c Cost) known() bool {
	return c.Passes >= 1 && c.Passes <= 10 && c.MemoryKiB >= 8<<10 && c.MemoryKiB <= 1<<20 && c.Threads >= 1 && c.Threads <= 16
}

// Key is an owner's private key as it lies on disk.
type Key struct {
	Owner  authority.Owner
	Public ed25519.PublicKey
	seed   []byte // of an open key file; nil for a container
	head   canon.Object
	salt   []byte
	sealed []byte
	cost   Cost
}

// Protected says whether a passphrase is needed.
func (k *Key) Protected() bool { return k.seed == nil }

// name is the name of an owner's key file.
func name(o authority.Owner) string { return string(o) + ".key" }

// KeyPath returns where an owner's key file lies.
func (d *Dir) KeyPath(o authority.Owner) string { return d.Path(name(o)) }

// NewSeed returns a fresh private key. The caller clears it.
func NewSeed() []byte {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails: the runtime ends the process instead
	return seed
}

// Store puts a new key into the directory; an existing one is never touched. With a
// passphrase it becomes a container, without one it is 32 raw bytes.
func (d *Dir) Store(o authority.Owner, seed, passphrase []byte, cost Cost) error {
	b := seed
	if passphrase != nil {
		var err error
		if b, err = seal(o, seed, passphrase, cost); err != nil {
			return err
		}
	}
	f, err := New(d.KeyPath(o))
	if err != nil {
		return Refuse("there is a "+string(o)+" key already, or the directory cannot be written", "keep the key that is there; a new one needs a new place in the authorities file")
	}
	return Fill(f, b)
}

// seal makes a container.
func seal(o authority.Owner, seed, passphrase []byte, cost Cost) ([]byte, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // as above
	pub, err := public(seed)
	if err != nil {
		return nil, err
	}
	head := canon.Object{
		"schema_version": int64(1), "owner": string(o), "public_key_hex": hex.EncodeToString(pub), "kdf": kdf,
		"passes": cost.Passes, "memory_kib": cost.MemoryKiB, "threads": cost.Threads, "salt": base64.StdEncoding.EncodeToString(salt),
	}
	a, ad, err := aead(head, salt, passphrase, cost)
	if err != nil {
		return nil, err
	}
	head["sealed"] = base64.StdEncoding.EncodeToString(a.Seal(nil, nil, seed, ad))
	return canon.Encode(head)
}

// aead returns the cipher of a container and its associated data.
func aead(head canon.Object, salt, passphrase []byte, c Cost) (cipher.AEAD, []byte, error) {
	ad, err := canon.Encode(head)
	if err != nil {
		return nil, nil, err
	}
	key := argon2.IDKey(passphrase, salt, uint32(c.Passes), uint32(c.MemoryKiB), uint8(c.Threads), 32)
	defer clear(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	a, err := cipher.NewGCMWithRandomNonce(block)
	return a, ad, err
}

// public returns the public half of a seed.
func public(seed []byte) (ed25519.PublicKey, error) {
	k := ed25519.NewKeyFromSeed(seed)
	defer clear(k)
	pub, ok := k.Public().(ed25519.PublicKey)
	if !ok {
		return nil, Refuse("the key is no Ed25519 key", "make a new one: mcpsign keygen")
	}
	return pub, nil
}

// Load reads an owner's key file.
func (d *Dir) Load(o authority.Owner) (*Key, error) {
	b, err := Read(d.KeyPath(o), maxFile)
	if err != nil {
		return nil, err
	}
	k, ok := parse(b)
	if !ok {
		return nil, Refuse(shown(d.KeyPath(o))+" is no key file", "restore it from your copy: 32 raw bytes, or the file that keygen made")
	}
	if k.Owner == "" {
		k.Owner = o
	}
	if k.Owner != o {
		k.Close()
		return nil, Refuse(shown(d.KeyPath(o))+" is the "+string(k.Owner)+" owner's key", "put each owner's key on its own machine")
	}
	return k, nil
}

// parse reads a key file. The owner of 32 raw bytes is unknown.
func parse(b []byte) (*Key, bool) {
	if len(b) == ed25519.SeedSize {
		pub, err := public(b)
		return &Key{Public: pub, seed: b}, err == nil
	}
	v, err := canon.DecodeExact(b)
	o, ok := v.(canon.Object)
	if err != nil || !ok || len(o) != 9 || o["schema_version"] != int64(1) || o["kdf"] != kdf {
		return nil, false
	}
	text := func(key string, n int) []byte {
		s, _ := o[key].(string)
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		if err != nil || len(b) != n || base64.StdEncoding.EncodeToString(b) != s {
			ok = false
		}
		return b
	}
	number := func(key string) int64 {
		n, is := o[key].(int64)
		ok = ok && is
		return n
	}
	owner, _ := o["owner"].(string)
	pubHex, _ := o["public_key_hex"].(string)
	pub, err := hex.DecodeString(pubHex)
	k := &Key{
		Owner: authority.Owner(owner), Public: pub, head: o,
		salt: text("salt", 16), sealed: text("sealed", 12+ed25519.SeedSize+16),
		cost: Cost{number("passes"), number("memory_kib"), number("threads")},
	}
	known := false
	for _, any := range authority.Owners() {
		known = known || any == k.Owner
	}
	if !ok || !known || err != nil || len(pub) != ed25519.PublicKeySize || !k.cost.known() {
		return nil, false
	}
	delete(o, "sealed")
	return k, true
}

// Open returns the private key. The passphrase is ignored for a key that has none.
// The caller clears the result.
func (k *Key) Open(passphrase []byte) (ed25519.PrivateKey, error) {
	seed := k.seed
	if seed == nil {
		a, ad, err := aead(k.head, k.salt, passphrase, k.cost)
		if err != nil {
			return nil, Refuse("the key file cannot be used", "restore it from your copy")
		}
		if seed, err = a.Open(nil, nil, k.sealed, ad); err != nil {
			return nil, Refuse("the passphrase does not open the key", "start again and type it with care")
		}
		defer clear(seed)
	}
	key := ed25519.NewKeyFromSeed(seed)
	if pub, ok := key.Public().(ed25519.PublicKey); !ok || !bytes.Equal(pub, k.Public) {
		clear(key)
		return nil, Refuse("the key file's private and public halves do not fit", "restore it from your copy")
	}
	return key, nil
}

// Close clears what is in memory.
func (k *Key) Close() { clear(k.seed) }

// Held returns every key file in the directory, by content and not by name: the
// owner of a raw one is "" unless its name says it.
func (d *Dir) Held() (map[string]*Key, error) {
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	held := map[string]*Key{}
	for _, n := range names {
		var byName authority.Owner
		for _, o := range authority.Owners() {
			if n == name(o) {
				byName = o
			}
		}
		b, err := Read(d.Path(n), maxFile)
		if err != nil && byName != "" {
			return nil, err // a key file that cannot be judged
		}
		if err != nil {
			continue // not a file of a key's form
		}
		k, ok := parse(b)
		if !ok && byName != "" {
			return nil, Refuse(shown(d.Path(n))+" is no key file", "restore it from your copy, or move it away")
		}
		if !ok {
			continue
		}
		if k.Owner == "" {
			k.Owner = byName
		}
		held[n] = k
	}
	return held, nil
}

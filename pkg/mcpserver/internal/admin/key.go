package admin

import (
	"crypto/hmac"
	"crypto/sha256"
	"sync"

	"pfsensemcp/pkg/secretfile"
)

// Key is the READ key in its file: read at start, and again when an operator
// asks. It is the one thing here that holds a secret, and gives it to nobody
// but the functions it was made with.
type Key struct {
	read   func() (secretfile.Secret, error)
	redact func([]byte)
	use    func(secretfile.Secret) error

	mu  sync.Mutex
	now secretfile.Secret
}

// NewKey reads the key and registers it for redaction. read reads the file,
// redact hides a secret from the log.
func NewKey(read func() (secretfile.Secret, error), redact func([]byte)) (*Key, error) {
	k := &Key{read: read, redact: redact}
	s, err := read()
	if err != nil {
		return nil, err
	}
	redact(s.Bytes())
	k.now = s
	return k, nil
}

// Secret returns the key for the client that sends it.
func (k *Key) Secret() secretfile.Secret {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// OnChange sets what takes a new key into use; an error of it keeps the old.
func (k *Key) OnChange(use func(secretfile.Secret) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.use = use
}

// Reload reads the file again. A bad file, or a key that cannot be used,
// changes nothing. The new key is registered for redaction before its first
// use, and the old one stays registered. changed is false when the file holds
// the key that was in use.
func (k *Key) Reload() (changed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, err := k.read()
	if err != nil {
		return false, err
	}
	k.redact(s.Bytes())
	if k.use != nil {
		if err := k.use(s); err != nil {
			s.Zero()
			return false, err
		}
	}
	changed = !s.Equal(k.now)
	k.now.Zero()
	k.now = s
	return changed, nil
}

// Answer returns HMAC-SHA256(key, challenge).
func (k *Key) Answer(challenge []byte) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := hmac.New(sha256.New, k.now.Bytes())
	_, _ = h.Write(challenge) // a hash takes every write
	return h.Sum(nil)
}

package change

import (
	"crypto/rand"
	"encoding/hex"

	"pfsensemcp/pkg/artifact/internal/field"
)

// The prefixes of random ids.
const (
	PrefixRequest       = "req-"
	PrefixContract      = "wc-"
	PrefixOperation     = "wo-"
	PrefixAuthorization = "authz-"
)

// NewID returns the prefix and 16 random bytes of the operating system in hex. An
// empty prefix makes a nonce.
func NewID(prefix string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime ends the process instead
	return prefix + hex.EncodeToString(b[:])
}

// Token says whether s is an identifier: 1 to 128 letters, digits and _ . : - of
// ASCII, the first a letter or digit.
func Token(s string) bool { return field.Token(s) == "" }

// Hex64 says whether s is a digest in lower-case hex.
func Hex64(s string) bool { return field.Hex64(s) == "" }

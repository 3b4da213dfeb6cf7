package secretfile

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

// shown stands for a secret wherever one is printed.
const shown = "[secret]"

// Secret holds the bytes of a key. Copies share the bytes, so Zero empties them
// all. Whatever prints it prints "[secret]".
//
// The bytes are two pointers away because fmt follows one: a Secret in an
// unexported field, where fmt calls no method, would print them for some verbs.
type Secret struct{ p **[]byte }

// New returns a Secret with a copy of b, for keys that do not come from a file.
func New(b []byte) Secret {
	c := append([]byte(nil), b...)
	p := &c
	return Secret{&p}
}

// Bytes returns the bytes themselves, not a copy, so that no copy is left behind:
// do not change or keep them. It is nil for the zero Secret and after Zero.
func (s Secret) Bytes() []byte {
	if s.p == nil {
		return nil
	}
	return **s.p
}

// Zero overwrites the bytes, here and in every copy. It must not run while another
// goroutine uses Bytes.
func (s Secret) Zero() {
	if s.p != nil {
		clear(**s.p)
		**s.p = nil
	}
}

// Equal compares two secrets in a time that does not depend on their bytes. Two
// empty ones are not equal: an absent key matches nothing.
func (s Secret) Equal(o Secret) bool {
	return len(s.Bytes()) > 0 && subtle.ConstantTimeCompare(s.Bytes(), o.Bytes()) == 1
}

// String returns "[secret]".
func (Secret) String() string { return shown }

// Format prints "[secret]" for every verb, %x and %#v too.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(shown)) }

// LogValue logs "[secret]".
func (Secret) LogValue() slog.Value { return slog.StringValue(shown) }

// MarshalText encodes "[secret]", in JSON as elsewhere.
func (Secret) MarshalText() ([]byte, error) { return []byte(shown), nil }

package canon

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Encode returns the canonical bytes of v: keys sorted by code point, no blanks,
// integers alone, text and keys in NFC, and no escape beyond the seven short ones
// and \u00xx for the other bytes below 0x20. Any broken rule is an *Error.
func Encode(v any) ([]byte, error) {
	e := encoder{}
	if err := e.value(v, 0); err != nil {
		return nil, err
	}
	return e.out, nil
}

// encoder holds the bytes and the nodes so far.
type encoder struct {
	out   []byte
	nodes int
}

// value appends one value; depth counts the containers around it.
func (e *encoder) value(v any, depth int) error {
	if e.nodes++; e.nodes > MaxNodes {
		return broken("more than 10000 values")
	}
	switch v := v.(type) {
	case nil:
		e.out = append(e.out, "null"...)
	case bool:
		e.out = strconv.AppendBool(e.out, v)
	case int64:
		e.out = strconv.AppendInt(e.out, v, 10)
	case string:
		s, err := normal(v)
		if err != nil {
			return err
		}
		e.text(s)
	case Array:
		if err := enter(depth, len(v)); err != nil {
			return err
		}
		e.out = append(e.out, '[')
		for i, item := range v {
			if i > 0 {
				e.out = append(e.out, ',')
			}
			if err := e.value(item, depth+1); err != nil {
				return err
			}
		}
		e.out = append(e.out, ']')
	case Object:
		return e.object(v, depth)
	default:
		return broken("a value of a kind that has no canonical form")
	}
	return e.bound()
}

// object appends an object with its keys in NFC and in order.
func (e *encoder) object(v Object, depth int) error {
	if err := enter(depth, len(v)); err != nil {
		return err
	}
	members := make(map[string]any, len(v))
	for k, item := range v {
		n, err := normal(k)
		if err != nil {
			return err
		}
		if _, twice := members[n]; twice {
			return broken("two keys that are equal after normalisation")
		}
		members[n] = item
	}
	e.out = append(e.out, '{')
	// Byte order of UTF-8 is code point order.
	for i, k := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.text(k)
		e.out = append(e.out, ':')
		if err := e.value(members[k], depth+1); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return e.bound()
}

// enter checks a container before its items are looked at.
func enter(depth, items int) error {
	switch {
	case depth >= MaxDepth:
		return broken("nested deeper than 32")
	case items > MaxItems:
		return broken("more than 4096 items in one container")
	}
	return nil
}

// bound stops as soon as the bytes are too many, not at the end.
func (e *encoder) bound() error {
	if len(e.out) > MaxBytes {
		return broken("larger than 1048576 bytes")
	}
	return nil
}

// text appends a quoted text that is in NFC already.
func (e *encoder) text(s string) {
	const digits = "0123456789abcdef"
	e.out = append(e.out, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			e.out = append(e.out, '\\', c)
		case '\b':
			e.out = append(e.out, '\\', 'b')
		case '\f':
			e.out = append(e.out, '\\', 'f')
		case '\n':
			e.out = append(e.out, '\\', 'n')
		case '\r':
			e.out = append(e.out, '\\', 'r')
		case '\t':
			e.out = append(e.out, '\\', 't')
		default:
			if c < 0x20 {
				e.out = append(e.out, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
				continue
			}
			e.out = append(e.out, c)
		}
	}
	e.out = append(e.out, '"')
}

// joiner is the code point that the normaliser puts between overlong runs of
// combining marks. That would change what was written, so such text is refused.
const joiner = "\u034f"

// normal returns s in NFC, or says why it has no canonical form.
func normal(s string) (string, error) {
	if len(s) > MaxText {
		return "", broken("a text longer than 65536 bytes")
	}
	if !utf8.ValidString(s) {
		return "", broken("a text that is not UTF-8")
	}
	n := norm.NFC.String(s)
	switch {
	case n == s:
		return s, nil
	case len(n) > MaxText:
		return "", broken("a text longer than 65536 bytes")
	case strings.Count(n, joiner) != strings.Count(s, joiner):
		return "", broken("a text with too many combining marks in a row")
	}
	return n, nil
}

// Normal says whether s is UTF-8, in NFC and within the bound, so that Encode
// keeps it as it is.
func Normal(s string) bool {
	n, err := normal(s)
	return err == nil && n == s
}

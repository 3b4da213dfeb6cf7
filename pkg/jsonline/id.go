package jsonline

import (
	"encoding/json/jsontext"
	"strconv"
	"strings"
)

// ID is a request id: an integer or a text, kept as it was written, so that
// 9007199254740993 and "\u0061" come back with the very same bytes. The zero ID
// is no id and is written as null.
type ID struct {
	raw string // as written
	key string // "i" and the digits, or "s" and the text: equal ids have equal keys
}

// ParseID reads an id. False for anything but an integer or a text, and for
// more than MaxID bytes: a fraction, null, a boolean or an object cannot be
// told from its neighbours by every peer, so nobody may use one.
func ParseID(v jsontext.Value) (ID, bool) {
	if len(v) == 0 || len(v) > MaxID {
		return ID{}, false
	}
	switch v.Kind() {
	case '0':
		if strings.ContainsAny(string(v), ".eE") {
			return ID{}, false
		}
		digits := string(v)
		if digits == "-0" {
			digits = "0"
		}
		return ID{raw: string(v), key: "i" + digits}, true
	case '"':
		s, err := unquote(v)
		if err != nil {
			return ID{}, false
		}
		return ID{raw: string(v), key: "s" + s}, true
	}
	return ID{}, false
}

// TextID returns the id that is written as the JSON string s.
func TextID(s string) ID {
	raw, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8: mangled is still unique enough to be refused by the peer
		raw = strconv.AppendQuoteToASCII(nil, s)
	}
	return ID{raw: string(raw), key: "s" + s}
}

// IsZero says that there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// Raw returns the id as it was written, "null" for the zero ID.
func (id ID) Raw() string {
	if id.raw == "" {
		return "null"
	}
	return id.raw
}

// Key returns a text that is equal for equal ids, however they were written,
// and different for the integer 1 and the text "1". "" for the zero ID.
func (id ID) Key() string { return id.key }

// Text returns the text of a text id.
func (id ID) Text() (s string, ok bool) { return strings.CutPrefix(id.key, "s") }

// Int returns the value of an integer id that fits into an int64.
func (id ID) Int() (n int64, ok bool) {
	digits, ok := strings.CutPrefix(id.key, "i")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

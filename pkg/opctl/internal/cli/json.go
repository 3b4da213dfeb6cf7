package cli

import (
	"encoding/json/v2"
	"io"
	"unicode/utf8"

	"pfsensemcp/pkg/errs"
)

// WriteJSON prints one value on one line, in ASCII: what is not printable ASCII in a
// string stands as \uXXXX, so that no text drives the terminal that shows it.
func WriteJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return errs.Wrap(err, errs.Internal, "the answer cannot be printed as JSON")
	}
	_, err = w.Write(append(ascii(b), '\n'))
	return err
}

// ascii escapes every character of a JSON text from DEL on. Outside strings JSON has
// none, and inside one the encoder has escaped what lies below the blank.
func ascii(b []byte) []byte {
	const digits = "0123456789abcdef"
	var out []byte
	unit := func(u rune) {
		out = append(out, '\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15])
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r < 0x7f:
			out = append(out, b[0])
		case r > 0xffff:
			unit(0xd800 + (r-0x10000)>>10)
			unit(0xdc00 + (r-0x10000)&0x3ff)
		default:
			unit(r)
		}
		b = b[n:]
	}
	return out
}

package canon

import (
	"bytes"
	"encoding/json/jsontext"
	"io"
	"strconv"
	"strings"
)

// Decode reads one JSON text into canonical values. Blanks, key order and escapes
// are free; floats, exponents, a negative zero, integers beyond 64 bits, duplicate
// keys, text that is not UTF-8, anything behind the value and everything over the
// bounds are refused with an *Error. Text is kept as it stands, not normalised.
func Decode(b []byte) (any, error) {
	if len(b) > MaxBytes {
		return nil, broken("larger than 1048576 bytes")
	}
	// The options are the defaults, written down because all rests on them.
	d := decoder{in: jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.in.ReadToken(); err != io.EOF {
		return nil, broken("something follows the value")
	}
	return v, nil
}

// DecodeExact is Decode for a text that must be canonical: it equals, byte for
// byte, what Encode makes of its value.
func DecodeExact(b []byte) (any, error) {
	v, err := Decode(b)
	if err != nil {
		return nil, err
	}
	again, err := Encode(v)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(b, again) {
		return nil, broken("not in canonical form")
	}
	return v, nil
}

// decoder holds the text and the nodes so far.
type decoder struct {
	in    *jsontext.Decoder
	nodes int
}

// token reads one token; the library's error may quote the text, so it is dropped.
func (d *decoder) token() (jsontext.Token, error) {
	t, err := d.in.ReadToken()
	if err != nil {
		return t, broken("not JSON, a duplicate key, or a text that is not UTF-8")
	}
	return t, nil
}

// value reads one value; depth counts the containers around it.
func (d *decoder) value(depth int) (any, error) {
	t, err := d.token()
	if err != nil {
		return nil, err
	}
	if d.nodes++; d.nodes > MaxNodes {
		return nil, broken("more than 10000 values")
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return bounded(t.String())
	case '0':
		return integer(t.String())
	case '[':
		return d.array(depth)
	case '{':
		return d.object(depth)
	}
	return nil, broken("not JSON")
}

// array reads the rest of an array.
func (d *decoder) array(depth int) (any, error) {
	a := Array{}
	for d.in.PeekKind() != ']' {
		if err := enter(depth, len(a)+1); err != nil {
			return nil, err
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
	if err := enter(depth, len(a)); err != nil {
		return nil, err
	}
	_, err := d.token()
	return a, err
}

// object reads the rest of an object.
func (d *decoder) object(depth int) (any, error) {
	o := Object{}
	for d.in.PeekKind() != '}' {
		if err := enter(depth, len(o)+1); err != nil {
			return nil, err
		}
		t, err := d.token()
		if err != nil {
			return nil, err
		}
		key, err := bounded(t.String())
		if err != nil {
			return nil, err
		}
		if o[key], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	if err := enter(depth, len(o)); err != nil {
		return nil, err
	}
	_, err := d.token()
	return o, err
}

// bounded returns a text that is not too long.
func bounded(s string) (string, error) {
	if len(s) > MaxText {
		return "", broken("a text longer than 65536 bytes")
	}
	return s, nil
}

// integer reads a number of the one form that canonical JSON has.
func integer(s string) (any, error) {
	if s == "-0" || strings.ContainsAny(s, ".eE") {
		return nil, broken("a number that is no plain integer")
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, broken("an integer beyond 64 bits")
	}
	return n, nil
}

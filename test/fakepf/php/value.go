// Package php owns the few PHP habits that a pfREST answer shows on the wire:
// how json_encode writes a value, how a query string is turned into typed
// values, and what PHP's loose comparison makes of them in a filter.
//
// Only test/fakepf imports it. It is a test tool: it must never be used by a
// daemon to decide anything. It stops one mistake: a pretend appliance that is
// politer than the real one, so that a client's wrong filter passes the tests.
package php

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// Object is a JSON object that keeps the order of its members, as PHP's arrays do.
type Object []Member

// Member is one member of an Object. Value is nil, bool, int64, float64,
// string, []any or Object.
type Member struct {
	Key   string
	Value any
}

// Get returns the value of key and whether it is there.
func (o Object) Get(key string) (any, bool) {
	for i := range o {
		if o[i].Key == key {
			return o[i].Value, true
		}
	}
	return nil, false
}

// Set returns o with key set to v: in its place when it is there, at the end otherwise.
func (o Object) Set(key string, v any) Object {
	for i := range o {
		if o[i].Key == key {
			o[i].Value = v
			return o
		}
	}
	return append(o, Member{key, v})
}

// Clone returns a copy of o that shares no member slot with it.
func (o Object) Clone() Object { return append(Object(nil), o...) }

// maxDepth is PHP's own default for json_decode; deeper input is refused.
const maxDepth = 512

// Decode reads one JSON value as PHP would: the last of two equal keys wins.
// Trailing bytes are an error.
func Decode(b []byte) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	v, err := decode(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("bytes after the value")
	}
	return v, nil
}

func decode(d *jsontext.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("too deep")
	}
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		return tok.String(), nil
	case '0':
		s := tok.String()
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i, nil
		}
		return strconv.ParseFloat(s, 64)
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := decode(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	default: // '{'
		obj := Object{}
		for d.PeekKind() != '}' {
			k, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := k.String()
			v, err := decode(d, depth+1)
			if err != nil {
				return nil, err
			}
			obj = obj.Set(key, v)
		}
		_, err := d.ReadToken()
		return obj, err
	}
}

// Append writes v as PHP's json_encode does without flags: slashes escaped,
// everything outside ASCII as \u escapes, no blanks.
func Append(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case float64:
		return AppendFloat(dst, v)
	case string:
		return AppendString(dst, v)
	case Raw:
		return append(dst, v...)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, e)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendString(dst, v[i].Key)
			dst = append(dst, ':')
			dst = Append(dst, v[i].Value)
		}
		return append(dst, '}')
	default:
		panic(fmt.Sprintf("php: no encoding for %T", v))
	}
}

// AppendFloat writes f with the fewest digits that give it back.
func AppendFloat(dst []byte, f float64) []byte {
	if math.Abs(f) >= 1e15 && f != 0 || math.Abs(f) < 1e-4 && f != 0 {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if bytes.IndexByte(dst[n:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// AppendString writes s as a JSON string in PHP's default form.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != '/' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\', '/':
				dst = append(dst, '\\', c)
			case '\b':
				dst = append(dst, '\\', 'b')
			case '\f':
				dst = append(dst, '\\', 'f')
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = appendUnit(dst, uint16(c))
			}
			i++
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		r, size := utf8.DecodeRuneInString(s[i:])
		if r >= 0x10000 {
			r -= 0x10000
			dst = appendUnit(dst, uint16(0xd800+r>>10))
			dst = appendUnit(dst, uint16(0xdc00+r&0x3ff))
		} else {
			dst = appendUnit(dst, uint16(r))
		}
		i += size
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

// Raw is written as it is, even where it is no JSON: what a fault puts in.
type Raw []byte

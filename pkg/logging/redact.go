package logging

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// redacted stands in a line for a secret.
	redacted = "[redacted]"
	// minEncoded is the shortest encoded form that is looked for. The core of a
	// short secret in base64 is a few letters that stand in every line.
	minEncoded = 8
)

// redactor removes registered secrets from text. It only grows: the key before a
// rotation must stay out of the logs as well.
type redactor struct {
	mu    sync.Mutex
	forms atomic.Pointer[[]form]
}

// form is one way in which a secret can stand in a line.
type form struct {
	text []byte
	b64  bool // a base64 core: the run around it belongs to it
}

// add registers a secret. The bytes are copied.
func (r *redactor) add(secret []byte) {
	if len(secret) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []form
	if p := r.forms.Load(); p != nil {
		all = slices.Clone(*p)
	}
	for _, f := range formsOf(secret) {
		known := func(o form) bool { return o.b64 == f.b64 && bytes.Equal(o.text, f.text) }
		if !slices.ContainsFunc(all, known) {
			all = append(all, f)
		}
	}
	r.forms.Store(&all)
}

// canHold says whether a text of n bytes is long enough for any form: most keys
// and values of a line are not, and need not be searched.
func (r *redactor) canHold(n int) bool {
	p := r.forms.Load()
	return p != nil && slices.ContainsFunc(*p, func(f form) bool { return len(f.text) <= n })
}

// formsOf lists the forms of a secret.
func formsOf(secret []byte) []form {
	plain := string(secret)
	out := []form{{text: slices.Clone(secret)}}
	add := func(s string, b64 bool) {
		if len(s) >= minEncoded && s != plain {
			out = append(out, form{[]byte(s), b64})
		}
	}
	// Escaped: what JSON and the text form make of quotes and backslashes, and
	// once more for JSON inside a string. These count at any length: a short
	// secret with a quote in it is not found otherwise.
	for _, esc := range escapedForms(plain) {
		if esc != plain {
			out = append(out, form{text: []byte(esc)})
		}
	}
	for _, enc := range []func(string) string{url.QueryEscape, url.PathEscape, percentAll} {
		upper := enc(plain)
		add(upper, false)
		add(lowerPercent(upper), false)
	}
	h := hex.EncodeToString(secret)
	add(h, false)
	add(strings.ToUpper(h), false)
	for shift := range 3 {
		// Encoded at each of the three places that it can have in longer data.
		// The digits at the ends depend on its neighbours and are cut off.
		first := (shift*8 + 5) / 6
		last := (shift + len(secret)) * 8 / 6
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			add(enc.EncodeToString(append(make([]byte, shift), secret...))[first:last], true)
		}
	}
	return out
}

// escapedForms returns the JSON and Go escapes of s, each once and twice.
func escapedForms(s string) []string {
	once := []string{jsonEscape(s, true), jsonEscape(s, false), inside(strconv.QuoteToASCII(s))}
	out := slices.Clone(once)
	for _, o := range once {
		out = append(out, jsonEscape(o, false))
	}
	return out
}

// jsonEscape returns s as it stands between the quotes of a JSON string.
func jsonEscape(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(s) != nil {
		return s // a string always encodes
	}
	return inside(strings.TrimSpace(b.String()))
}

func inside(quoted string) string { return quoted[1 : len(quoted)-1] }

// percentAll escapes every byte.
func percentAll(s string) string {
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, 3*len(s))
	for i := range len(s) {
		b = append(b, '%', digits[s[i]>>4], digits[s[i]&15])
	}
	return string(b)
}

// lowerPercent writes the hexadecimal digits after each percent sign small.
func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// span is a part of a text, end excluded.
type span struct{ from, to int }

// scrub returns b without secrets; b itself when there is none. All forms are
// searched in the original text, so that one match cannot hide another.
func (r *redactor) scrub(b []byte) []byte {
	p := r.forms.Load()
	if p == nil {
		return b
	}
	var found []span
	for _, f := range *p {
		for at := 0; ; {
			i := bytes.Index(b[at:], f.text)
			if i < 0 {
				break
			}
			s := span{at + i, at + i + len(f.text)}
			// On by one byte only: a secret can overlap itself.
			at = s.from + 1
			if f.b64 {
				for s.from > 0 && isBase64(b[s.from-1]) {
					s.from--
				}
				for s.to < len(b) && (isBase64(b[s.to]) || b[s.to] == '=') {
					s.to++
				}
				at = s.to
			}
			found = append(found, wholeEscapes(b, s))
		}
	}
	if len(found) == 0 {
		return b
	}
	slices.SortFunc(found, func(x, y span) int { return x.from - y.from })
	out := make([]byte, 0, len(b))
	end := 0
	for i, s := range found {
		if i == 0 || s.from > end {
			out = append(append(out, b[end:s.from]...), redacted...)
		}
		end = max(end, s.to)
	}
	return append(out, b[end:]...)
}

// isBase64 says whether c is a digit of base64, in either alphabet.
func isBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/-_", c) >= 0
}

// wholeEscapes widens a span so that it begins and ends between two escapes of a
// line: half an escape left behind would break the JSON.
func wholeEscapes(b []byte, s span) span {
	if from, to, ok := escapeAt(b, s.from); ok {
		s.from, s.to = from, max(s.to, to)
	}
	if _, to, ok := escapeAt(b, s.to); ok {
		s.to = to
	}
	return s
}

// escapeAt returns the backslash escape that position i lies inside of.
func escapeAt(b []byte, i int) (from, to int, ok bool) {
	for j := i - 1; j >= 0 && j >= i-5; j-- {
		if b[j] != '\\' {
			continue
		}
		run := j
		for run > 0 && b[run-1] == '\\' {
			run--
		}
		if (j-run)%2 != 0 {
			continue // itself escaped
		}
		end := j + 2
		if j+1 < len(b) && b[j+1] == 'u' {
			end = j + 6
		}
		if end = min(end, len(b)); end > i {
			return j, end, true
		}
		return 0, 0, false
	}
	return 0, 0, false
}

// Package scan owns the walk over the tokens of a document: members, entries, texts
// and names, each kept once, within a bound on the memory that is kept.
//
// Only openapi can import it; of ours it imports plain alone. It knows nothing of
// what a document means. It must never keep more than it was allowed, nor follow a
// nesting by recursion.
//
// The attack it stops: a document whose size, number of names or depth decides the
// memory of the process.
package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"errors"
	"hash"
	"io"
	"slices"

	"pfsensemcp/pkg/openapi/plain"
)

// MaxName bounds a name, in bytes.
const MaxName = 128

// maxToken bounds one text, number or value that is read whole, in bytes: the
// decoder holds all of it, and what is made of it comes on top. Upstream's longest
// has four kilobytes.
const maxToken = 1 << 20

// costText is what a kept text costs beside its bytes.
const costText = 48

// ErrTooMuch says that the document holds more than may be kept.
var ErrTooMuch = errors.New("more than an index keeps")

// Scanner is one walk over one document. One goroutine uses it.
type Scanner struct {
	*jsontext.Decoder
	source *source
	most   int
	kept   int               // bytes that are kept, by our count
	words  map[string]string // each text once
	buf    []byte            // the last name or text that was unquoted
}

// New returns a scanner that keeps at most so many bytes.
func New(r io.Reader, most int) *Scanner {
	src := &source{r: r, sum: sha256.New()}
	s := &Scanner{
		// Names that stand twice are looked for where they matter. To remember
		// every name of every object would cost the memory that is bounded here.
		Decoder: jsontext.NewDecoder(src, jsontext.AllowDuplicateNames(true)),
		source:  src, most: most, words: map[string]string{},
	}
	src.taken = s.InputOffset
	return s
}

// Failed returns the error of the reader, nil when it had none.
func (p *Scanner) Failed() error { return p.source.err }

// Sum returns how many bytes were read, and their SHA-256 in hex.
func (p *Scanner) Sum() (n int64, sum string) {
	return p.source.n, hex.EncodeToString(p.source.sum.Sum(nil))
}

// Keep counts n bytes that are kept.
func (p *Scanner) Keep(n int) error {
	if p.kept += n; p.kept > p.most {
		return ErrTooMuch
	}
	return nil
}

// source counts and hashes what is read, and keeps the reader's own error apart
// from what the decoder makes of it.
type source struct {
	r   io.Reader
	n   int64
	sum hash.Hash
	err error

	taken func() int64 // how much of it the decoder has made tokens of
}

func (s *source) Read(b []byte) (int, error) {
	// What was read and is in no token yet is, where the decoder wants more, one
	// token that goes on.
	room := maxToken - (s.n - s.taken())
	if room <= 0 {
		return 0, ErrTooMuch
	}
	b = b[:min(int64(len(b)), room)]
	n, err := s.r.Read(b)
	s.n += int64(n)
	s.sum.Write(b[:n]) //nolint:errcheck // a hash never fails
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Object walks the members of an object; each must read exactly the member's
// value. What is no object is passed over. The key is valid until the next read.
func (p *Scanner) Object(each func(key []byte) error) error {
	if p.PeekKind() != '{' {
		return p.SkipValue()
	}
	if _, err := p.ReadToken(); err != nil {
		return err
	}
	for p.PeekKind() != '}' {
		v, err := p.ReadValue()
		if err != nil {
			return err
		}
		key := []byte(v[1 : len(v)-1])
		if slices.Contains(key, '\\') {
			if p.buf, err = jsontext.AppendUnquote(p.buf[:0], v); err != nil {
				return err
			}
			key = p.buf
		}
		if err := each(key); err != nil {
			return err
		}
	}
	_, err := p.ReadToken()
	return err
}

// Array walks the entries of an array; each must read exactly one value.
func (p *Scanner) Array(each func() error) error {
	if p.PeekKind() != '[' {
		return p.SkipValue()
	}
	if _, err := p.ReadToken(); err != nil {
		return err
	}
	for p.PeekKind() != ']' {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := p.ReadToken()
	return err
}

// Raw reads a string; the bytes are valid until the next read. What is no string
// is passed over.
func (p *Scanner) Raw() ([]byte, error) {
	if p.PeekKind() != '"' {
		return nil, p.SkipValue()
	}
	v, err := p.ReadValue()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(v, '\\') {
		return v[1 : len(v)-1], nil
	}
	p.buf, err = jsontext.AppendUnquote(p.buf[:0], v)
	return p.buf, err
}

// Intern returns the text, kept once however often it stands in the document.
func (p *Scanner) Intern(b []byte) string {
	if s, ok := p.words[string(b)]; ok {
		return s
	}
	s := string(b)
	p.words[s] = s
	p.kept += len(s) + costText
	return s
}

// Name interns a name: printable ASCII without a blank, at most MaxName bytes. It
// returns "" for what is none.
func (p *Scanner) Name(b []byte) string {
	if len(b) == 0 || len(b) > MaxName {
		return ""
	}
	for _, c := range b {
		if c <= ' ' || c >= 0x7f {
			return ""
		}
	}
	return p.Intern(b)
}

// ReadName reads a string that is a name.
func (p *Scanner) ReadName() (string, error) {
	b, err := p.Raw()
	return p.Name(b), err
}

// Line reads a string as one line of at most max characters.
func (p *Scanner) Line(max int) (string, error) {
	b, err := p.Raw()
	if err != nil {
		return "", err
	}
	s, _ := plain.Cut(plain.Text(string(b)), max)
	return p.Intern([]byte(s)), nil
}

// Boolean reads true or false; what is neither is false.
func (p *Scanner) Boolean() (bool, error) {
	t, err := p.ReadToken()
	if err != nil || t.Kind() == 't' || t.Kind() == 'f' {
		return err == nil && t.Bool(), err
	}
	if t.Kind() == '{' || t.Kind() == '[' {
		// It was opened: read on to its end.
		for depth := p.StackDepth(); p.StackDepth() >= depth; {
			if _, err := p.ReadToken(); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

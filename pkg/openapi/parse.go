package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"errors"
	"hash"
	"io"
	"slices"
	"strings"

	"pfsensemcp/pkg/openapi/plain"
)

// maxDepth bounds how deep a schema is looked into; pfREST nests five.
const maxDepth = 8

// extensionDepth bounds how deep members named x- are looked for.
const extensionDepth = 5

// Parse reads a document to its end and returns its index. An error of r comes
// back as it is; a document that cannot be read, that is none in pfREST's style
// or that is too much to keep is errs.Invalid of class corrupt, in fixed words.
// How many bytes r may give is the caller's to bound.
func Parse(r io.Reader) (*Index, error) {
	src := &source{r: r, sum: sha256.New()}
	p := &parser{
		ix:    &Index{models: map[string]*Model{}},
		words: map[string]string{},
		made:  map[string][][]string{}, nested: map[string][][]string{},
	}
	// Names that stand twice are looked for where they matter. To remember
	// every name of every object would cost the memory that MaxKept bounds.
	p.dec = jsontext.NewDecoder(src, jsontext.AllowDuplicateNames(true))
	err := p.document()
	if err == nil {
		if _, err = p.dec.ReadToken(); err == nil {
			err = errTrailing
		} else if errors.Is(err, io.EOF) {
			err = p.finish()
		}
	}
	switch {
	case src.err != nil:
		return nil, src.err
	case errors.Is(err, errTooMuch):
		return nil, corrupt("the document holds more than an index keeps")
	case errors.Is(err, errTwice):
		return nil, corrupt("the document names an operation, a model or a field twice")
	case err != nil:
		return nil, corrupt("the document is not readable JSON")
	case !strings.HasPrefix(p.ix.OpenAPI, "3."):
		return nil, corrupt("the document is no OpenAPI document of version 3")
	case len(p.ix.operations) == 0 || len(p.ix.models) == 0:
		return nil, corrupt("the document has no operation or no model")
	}
	p.ix.Bytes, p.ix.Hash = src.n, hex.EncodeToString(src.sum.Sum(nil))
	return p.ix, nil
}

var (
	errTooMuch  = errors.New("more than an index keeps")
	errTwice    = errors.New("named twice")
	errTrailing = errors.New("something follows the document")
)

// source counts and hashes what is read, and keeps the reader's own error apart
// from what the decoder makes of it.
type source struct {
	r   io.Reader
	n   int64
	sum hash.Hash
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.n += int64(n)
	s.sum.Write(b[:n]) //nolint:errcheck // a hash never fails
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// parser is one walk over one document.
type parser struct {
	dec   *jsontext.Decoder
	ix    *Index
	kept  int               // bytes that the index takes, by our count
	words map[string]string // each text once
	buf   []byte            // the last name or text that was unquoted
	at    []string          // where the walk is, for extensions

	made   map[string][][]string // per model: what each POST body requires
	nested map[string][][]string // per model: what each field that nests it requires
}

func (p *parser) keep(n int) error {
	if p.kept += n; p.kept > MaxKept {
		return errTooMuch
	}
	return nil
}

// Costs of what is kept, with its share of the tables around it.
const (
	costOperation = 512
	costModel     = 192
	costField     = 272
	costParam     = 80
	costText      = 48
	costItem      = 16
)

// object walks the members of an object; each must read exactly the member's
// value. What is no object is passed over. The key is valid until the next read.
func (p *parser) object(each func(key []byte) error) error {
	if p.dec.PeekKind() != '{' {
		return p.dec.SkipValue()
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	for p.dec.PeekKind() != '}' {
		v, err := p.dec.ReadValue()
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
	_, err := p.dec.ReadToken()
	return err
}

// array walks the entries of an array; each must read exactly one value.
func (p *parser) array(each func() error) error {
	if p.dec.PeekKind() != '[' {
		return p.dec.SkipValue()
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	for p.dec.PeekKind() != ']' {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := p.dec.ReadToken()
	return err
}

// raw reads a string; the bytes are valid until the next read. What is no string
// is passed over.
func (p *parser) raw() ([]byte, error) {
	if p.dec.PeekKind() != '"' {
		return nil, p.dec.SkipValue()
	}
	v, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(v, '\\') {
		return v[1 : len(v)-1], nil
	}
	p.buf, err = jsontext.AppendUnquote(p.buf[:0], v)
	return p.buf, err
}

// intern returns the text, kept once however often it stands in the document.
func (p *parser) intern(b []byte) string {
	if s, ok := p.words[string(b)]; ok {
		return s
	}
	s := string(b)
	p.words[s] = s
	p.kept += len(s) + costText
	return s
}

// name interns a name: printable ASCII without a blank, at most MaxName bytes. It
// returns "" for what is none.
func (p *parser) name(b []byte) string {
	if len(b) == 0 || len(b) > MaxName {
		return ""
	}
	for _, c := range b {
		if c <= ' ' || c >= 0x7f {
			return ""
		}
	}
	return p.intern(b)
}

// readName reads a string that is a name.
func (p *parser) readName() (string, error) {
	b, err := p.raw()
	return p.name(b), err
}

// line reads a string as one line of at most max characters.
func (p *parser) line(max int) (string, error) {
	b, err := p.raw()
	if err != nil {
		return "", err
	}
	s, _ := plain.Cut(plain.Text(string(b)), max)
	return p.intern([]byte(s)), nil
}

func (p *parser) boolean() (bool, error) {
	t, err := p.dec.ReadToken()
	if err != nil || t.Kind() == 't' || t.Kind() == 'f' {
		return err == nil && t.Bool(), err
	}
	if t.Kind() == '{' || t.Kind() == '[' {
		// It was opened: read on to its end.
		for depth := p.dec.StackDepth(); p.dec.StackDepth() >= depth; {
			if _, err := p.dec.ReadToken(); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// finish puts things in order, refuses what stands twice, and works out what must
// be given on creation.
func (p *parser) finish() error {
	ops := p.ix.operations
	slices.SortFunc(ops, compare)
	for i := 1; i < len(ops); i++ {
		if compare(ops[i-1], ops[i]) == 0 {
			return errTwice
		}
	}
	for name, m := range p.ix.models {
		p.ix.names = append(p.ix.names, name)
		slices.SortFunc(m.Fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
		for i := 1; i < len(m.Fields); i++ {
			if m.Fields[i-1].Name == m.Fields[i].Name {
				return errTwice
			}
		}
		bodies := p.made[name]
		if bodies == nil {
			bodies = p.nested[name]
		}
		if bodies == nil {
			continue
		}
		needed := common(bodies)
		for i := range m.Fields {
			m.Fields[i].Required = No
			if contains(needed, m.Fields[i].Name) {
				m.Fields[i].Required = Yes
			}
		}
	}
	slices.Sort(p.ix.names)
	slices.SortFunc(p.ix.extensions, func(a, b Extension) int { return strings.Compare(a.Pointer, b.Pointer) })
	return nil
}

// common returns what stands in every list, sorted.
func common(lists [][]string) []string {
	all := sorted(lists[0])
	for _, l := range lists[1:] {
		l = sorted(l)
		all = slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !contains(l, s) })
	}
	return all
}

package openapi

import (
	"errors"
	"io"
	"slices"
	"strings"

	"pfsensemcp/pkg/openapi/internal/scan"
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
	p := &parser{
		Scanner: scan.New(r, MaxKept),
		ix:      &Index{models: map[string]*Model{}},
		made:    map[string][][]string{}, nested: map[string][][]string{},
	}
	err := p.document()
	if err == nil {
		if _, err = p.ReadToken(); err == nil {
			err = errTrailing
		} else if errors.Is(err, io.EOF) {
			err = p.finish()
		}
	}
	switch {
	case p.Failed() != nil:
		return nil, p.Failed()
	case errors.Is(err, scan.ErrTooMuch):
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
	p.ix.Bytes, p.ix.Hash = p.Sum()
	return p.ix, nil
}

var (
	errTwice    = errors.New("named twice")
	errTrailing = errors.New("something follows the document")
)

// parser is one walk over one document.
type parser struct {
	*scan.Scanner
	ix *Index
	at []string // where the walk is, for extensions

	made   map[string][][]string // per model: what each POST body requires
	nested map[string][][]string // per model: what each field that nests it requires
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

// Package where is the filter language of list tools: `<field> <op> <value>`,
// evaluated on our own decoded rows and nowhere else.
//
// It owns parsing and comparison. It sees a row only through row.Decoder.Each,
// which gives values as they would be printed: gated, scrubbed and escaped. Only
// readtool imports it. It must never send anything upstream, look at a field
// that the caller may not see, or quote a caller's text in an error.
//
// The attack it stops: reading a hidden field or a masked secret letter by
// letter through which rows match; and the appliance's own filters, which
// coerce, invert and match everything (field cases 4 and 5).
//
// Meaning: all entries must hold. A field of nested rows, and a list, holds when
// any of its values does, for every operator. Null, absent and hidden match
// only `= null` and `!= null`; `!= x` is false on null.
package where

import (
	"bytes"
	"fmt"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/readtool/internal/row"
)

// Bounds of one call.
const (
	MaxTerms = 8    // entries
	MaxEntry = 1024 // bytes of one entry
)

const operators = "= != < > <= >= contains startswith"

// Filter is a parsed where argument. The zero pointer matches every row. It is
// not safe for concurrent use.
type Filter struct{ terms []term }

type term struct {
	path  row.Path
	match func(row.Value) bool
}

// Parse reads the entries against a shape. A gated field is refused unless open.
// Errors are Invalid, name the entry by its number, the rule it breaks and an
// example, and never quote the entry.
func Parse(s *row.Shape, entries []string, open bool) (*Filter, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	if len(entries) > MaxTerms {
		return nil, invalid(fmt.Sprintf("where takes at most %d entries, got %d", MaxTerms, len(entries)), "each entry is one comparison and all must hold: leave out the ones that matter least")
	}
	f := &Filter{}
	for i, e := range entries {
		t, err := parse(s, e, open)
		if err != nil {
			err.Msg = fmt.Sprintf("where entry %d: %s", i+1, err.Msg)
			return nil, err
		}
		f.terms = append(f.terms, t)
	}
	return f, nil
}

// Match says whether the decoder's current row fits all entries.
func (f *Filter) Match(d *row.Decoder) bool {
	if f == nil {
		return true
	}
	for i := range f.terms {
		if !d.Each(f.terms[i].path, f.terms[i].match) {
			return false
		}
	}
	return true
}

func invalid(msg, next string) *errs.Error {
	return errs.New(errs.Invalid, msg).WithClass("request_validation").WithNext(next)
}

func parse(s *row.Shape, entry string, open bool) (term, *errs.Error) {
	if len(entry) > MaxEntry {
		return term{}, invalid(fmt.Sprintf("an entry has at most %d bytes, got %d", MaxEntry, len(entry)), Example(s))
	}
	name, rest, ok := strings.Cut(entry, " ")
	op, value, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || name == "" {
		return term{}, invalid("an entry is `<field> <op> <value>` with one blank on each side of op, one of "+operators, Example(s))
	}
	p, found := s.Lookup(name)
	if !found {
		next := "fields: " + strings.Join(s.Names(), ", ") + "; a field of nested rows is written a.b"
		if near := catalog.Meant(name, s.Names()); near != "" {
			next = "did you mean " + near + "? " + next
		}
		return term{}, invalid("unknown field", next)
	}
	if p.Gated() && !open {
		return term{}, Gated(name)
	}
	m, err := matcher(p.Field(), name, op, value)
	return term{path: p, match: m}, err
}

// Gated is the refusal of a hidden field; name is one that Lookup found.
func Gated(name string) *errs.Error {
	return invalid(name+" is identifying metadata and hidden in this call",
		`to use it, add "include_identifying_metadata": true`)
}

// Example is a correct use of the filter on rows of the shape.
func Example(s *row.Shape) string {
	for _, n := range s.Names() {
		if p, _ := s.Lookup(n); p.Field().Kind == catalog.String && !p.Gated() {
			return `example: {"where": ["` + n + ` contains abc"]}`
		}
	}
	return ExampleOf(s, s.Names()[0])
}

// ExampleOf is a correct use on the field of this name, whatever its type.
func ExampleOf(s *row.Shape, name string) string {
	flag := ""
	if p, _ := s.Lookup(name); p.Gated() {
		flag = `, "include_identifying_metadata": true`
	}
	return `example: {"where": ["` + name + ` != null"]` + flag + `}`
}

// matcher builds the comparison that the field's type gives to an operator.
func matcher(f *catalog.Field, name, op, value string) (func(row.Value) bool, *errs.Error) {
	switch op {
	case "=", "!=", "<", ">", "<=", ">=", "contains", "startswith":
	default:
		return nil, invalid("unknown operator", "operators: "+operators+`; example: "`+name+` = null"`)
	}
	equality := op == "=" || op == "!="
	if value == "null" && equality {
		return func(v row.Value) bool { return v.Null == (op == "=") }, nil
	}
	order := !equality && op != "contains" && op != "startswith"
	switch {
	case f.Kind == catalog.Object:
		return nil, invalid(name+" holds rows of its own and compares only with null",
			"name a field in it, such as "+name+"."+nestedName(f))
	case f.Kind == catalog.Boolean:
		if !equality || value != "true" && value != "false" {
			return nil, invalid(name+" is a boolean: = or != with true or false", `example: "`+name+` = true"`)
		}
		return func(v row.Value) bool { return !v.Null && (string(v.Raw) == value) == (op == "=") }, nil
	case f.Kind == catalog.Integer || f.Kind == catalog.Number:
		return number(name, op, value)
	case order:
		return nil, invalid(name+" is text and has no order: "+op+" compares numbers",
			`use = != contains startswith; example: "`+name+` startswith abc"`)
	case f.Mark&catalog.Address != 0 && equality:
		return address(name, op, value)
	}
	return text(op, value), nil
}

func nestedName(f *catalog.Field) string {
	if f.Model == nil || len(f.Model.Fields) == 0 {
		return "name"
	}
	return f.Model.Fields[0].Name
}

// number compares by value, exactly, whatever the digits' form.
func number(name, op, value string) (func(row.Value) bool, *errs.Error) {
	want, ok := parseDecimal(value)
	if !ok || op == "contains" || op == "startswith" {
		return nil, invalid(name+" is a number: = != < > <= >= with a number of at most 40 characters", `example: "`+name+` >= 10"`)
	}
	return func(v row.Value) bool {
		got, ok := parseDecimal(v.Raw)
		if v.Null || !ok {
			return false
		}
		c := got.compare(want)
		switch op {
		case "=":
			return c == 0
		case "!=":
			return c != 0
		case "<":
			return c < 0
		case ">":
			return c > 0
		case "<=":
			return c <= 0
		}
		return c >= 0
	}, nil
}

// text compares texts: equality by bytes, search without regard to ASCII case.
func text(op, value string) func(row.Value) bool {
	switch op {
	case "=":
		return func(v row.Value) bool { return !v.Null && v.Text == value }
	case "!=":
		return func(v row.Value) bool { return !v.Null && v.Text != value }
	}
	want, lower := lowerASCII(nil, value), []byte(nil)
	return func(v row.Value) bool {
		if v.Null {
			return false
		}
		lower = lowerASCII(lower[:0], v.Text)
		if op == "startswith" {
			return bytes.HasPrefix(lower, want)
		}
		return bytes.Contains(lower, want)
	}
}

func lowerASCII(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

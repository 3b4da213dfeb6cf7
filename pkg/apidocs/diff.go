package apidocs

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"pfsensemcp/pkg/openapi/contract"
	"pfsensemcp/pkg/openapi/plain"
)

// The classes of a difference.
const (
	AddedInB   = "added_in_b"
	RemovedInB = "removed_in_b"
	Changed    = "changed"
)

// MaxShown bounds the differences that are shown of one dimension; the totals are
// always true. maxShownValue bounds each printed value, in characters.
const (
	MaxShown      = 25
	maxShownValue = 200
)

// DiffDisclaimer goes with every comparison.
const DiffDisclaimer = "This says what differs between the two documents, never why. Edition, release, installed packages, environment, configuration, build and the generator of the document can each be the cause, and nothing here chooses among them."

// Difference is one.
type Difference struct {
	Class   string `json:"class"`
	Subject string `json:"subject"`
	A       string `json:"a"` // "" where there is none
	B       string `json:"b"`
}

// Dimension is one aspect of the contract and its differences.
type Dimension struct {
	Name    string       `json:"dimension"`
	Total   int          `json:"total"`
	Added   int          `json:"added_in_b"`
	Removed int          `json:"removed_in_b"`
	Changed int          `json:"changed"`
	Shown   []Difference `json:"differences"` // at most MaxShown, by subject
}

// Diff is the comparison of two documents by meaning.
type Diff struct {
	Dimensions []Dimension `json:"dimensions"` // the twelve of the contract
	Defaults   Dimension   `json:"default_values"`
	Identical  []string    `json:"identical"` // names of dimensions without a difference
	Truncated  []string    `json:"truncated"` // names of dimensions of which not all are shown
	Disclaimer string      `json:"disclaimer"`
}

// ContractTotal returns the number of differences in the twelve dimensions of the
// contract, the defaults not among them.
func (d *Diff) ContractTotal() int {
	n := 0
	for _, x := range d.Dimensions {
		n += x.Total
	}
	return n
}

// Compare compares two contracts. The order of anything in a document, and prose,
// are no differences.
func Compare(a, b *contract.Contract) *Diff {
	ops := func(of func(contract.Operation) string) (map[string]string, map[string]string) {
		return common(a.Operations, b.Operations, of)
	}
	out := &Diff{Disclaimer: DiffDisclaimer, Identical: []string{}, Truncated: []string{}}

	add := func(name string, x, y map[string]string) {
		out.Dimensions = append(out.Dimensions, dimension(name, x, y))
	}
	add("paths_methods", presence(a.Operations), presence(b.Operations))
	x, y := ops(func(o contract.Operation) string { return o.ID })
	add("operation_ids", x, y)
	add("parameters", parameters(a, b), parameters(b, a))
	add("schemas_models", presence(a.Models), presence(b.Models))
	add("fields", fields(a, b, fieldShape), fields(b, a, fieldShape))
	add("enums", commonFields(a, b, enum), commonFields(b, a, enum))
	x, y = ops(func(o contract.Operation) string { return stated(o.Packages, o.Malformed, contract.LabelPackages) })
	add("required_packages", x, y)
	x, y = ops(func(o contract.Operation) string {
		return "required " + orElse(o.Auth, "not stated") + "; modes " + stated(o.AuthModes, o.Malformed, contract.LabelAuthModes)
	})
	add("auth_metadata", x, y)
	x, y = ops(func(o contract.Operation) string { return stated(o.Privileges, o.Malformed, contract.LabelPrivileges) })
	add("allowed_privileges", x, y)
	x, y = ops(func(o contract.Operation) string { return orElse(o.Applies, "not stated") })
	add("applies_immediately", x, y)
	add("extensions", a.Extensions, b.Extensions)
	add("version_metadata", metadata(a), metadata(b))
	out.Defaults = dimension("default_values", commonFields(a, b, defaultValue), commonFields(b, a, defaultValue))

	for _, d := range append(slices.Clone(out.Dimensions), out.Defaults) {
		if d.Total == 0 {
			out.Identical = append(out.Identical, d.Name)
		}
		if d.Total > len(d.Shown) {
			out.Truncated = append(out.Truncated, d.Name)
		}
	}
	return out
}

// dimension compares two tables of subjects; a value that is in one table alone is
// added or removed.
func dimension(name string, a, b map[string]string) Dimension {
	d := Dimension{Name: name, Shown: []Difference{}}
	subjects := map[string]bool{}
	for k := range a {
		subjects[k] = true
	}
	for k := range b {
		subjects[k] = true
	}
	for _, s := range slices.Sorted(maps.Keys(subjects)) {
		va, inA := a[s]
		vb, inB := b[s]
		x := Difference{Class: Changed, Subject: shown(s), A: shown(va), B: shown(vb)}
		switch {
		case inA && inB && va == vb:
			continue
		case !inA:
			x.Class = AddedInB
			d.Added++
		case !inB:
			x.Class = RemovedInB
			d.Removed++
		default:
			d.Changed++
		}
		d.Total++
		if len(d.Shown) < MaxShown {
			d.Shown = append(d.Shown, x)
		}
	}
	return d
}

// shown bounds and cleans what is printed: a contract may come from a file. What
// is cut ends in a hash, so that two values that differ never look alike.
func shown(s string) string {
	line := plain.Line(s)
	if line == s && utf8.RuneCountInString(line) <= maxShownValue {
		return line
	}
	sum := sha256.Sum256([]byte(s))
	mark := " … sha256 " + hex.EncodeToString(sum[:])[:12]
	head, _ := plain.Cut(line, maxShownValue-utf8.RuneCountInString(mark))
	return head + mark
}

// presence is a table of names alone.
func presence[T any](m map[string]T) map[string]string {
	out := make(map[string]string, len(m))
	for k := range m {
		out[k] = ""
	}
	return out
}

// common is what of says of the entries that both tables have.
func common[T any](a, b map[string]T, of func(T) string) (x, y map[string]string) {
	x, y = map[string]string{}, map[string]string{}
	for k, v := range a {
		if w, both := b[k]; both {
			x[k], y[k] = of(v), of(w)
		}
	}
	return x, y
}

// parameters are those of a, of the operations that b has too.
func parameters(a, b *contract.Contract) map[string]string {
	out := map[string]string{}
	for key, op := range a.Operations {
		if _, both := b.Operations[key]; !both {
			continue
		}
		for _, p := range op.Parameters {
			need := "optional"
			if p.Required {
				need = "required"
			}
			out[key+": "+p.Name+" ("+p.Place+")"] = need
		}
	}
	return out
}

// fields is what of says of a's fields, of the models that b has too.
func fields(a, b *contract.Contract, of func(contract.Field) string) map[string]string {
	out := map[string]string{}
	for name, m := range a.Models {
		if _, both := b.Models[name]; !both {
			continue
		}
		for f, v := range m.Fields {
			out[name+"."+f] = of(v)
		}
	}
	return out
}

// commonFields is fields of the fields that both sides have.
func commonFields(a, b *contract.Contract, of func(contract.Field) string) map[string]string {
	out := fields(a, b, of)
	other := fields(b, a, of)
	maps.DeleteFunc(out, func(k, _ string) bool { _, both := other[k]; return !both })
	return out
}

func fieldShape(f contract.Field) string {
	words := []string{orElse(f.Type, "type not stated"), "required not stated"}
	if f.Required != nil {
		words[1] = map[bool]string{true: "required", false: "optional"}[*f.Required]
	}
	if f.Nullable {
		words = append(words, "nullable")
	}
	return strings.Join(words, ", ")
}

func enum(f contract.Field) string {
	if len(f.Enum) == 0 {
		return "any value"
	}
	return strings.Join(slices.Sorted(slices.Values(f.Enum)), ", ")
}

func defaultValue(f contract.Field) string {
	if f.Default == nil {
		return "none"
	}
	return *f.Default
}

// stated says what a list holds, whether it is stated, and whether it is one.
func stated(items, malformed []string, label string) string {
	switch {
	case slices.Contains(malformed, label):
		return "malformed"
	case items == nil:
		return "not stated"
	case len(items) == 0:
		return "none"
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(items))), ", ")
}

func metadata(c *contract.Contract) map[string]string {
	return map[string]string{"openapi": c.OpenAPI, "info.version": c.Version, "info.title": c.Title, "licence": c.License}
}

// Package args is what a caller may write: the arguments of a tool, their bounds,
// and the schema that says both.
//
// It owns the names and bounds; parser and schema are made from the same
// constants. Only readtool imports it. It must never send anything, take more
// than one meaning of a value, or quote a caller's text in an error. Hosts that
// send every value as text are understood once, and the result says so.
//
// The attack it stops: an argument that is read in two ways, or a hidden field
// named before anybody asked whether the caller may see it.
package args

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/readtool/internal/row"
	"pfsensemcp/pkg/readtool/internal/where"
)

// Flag is the argument that opens the gate.
const Flag = "include_identifying_metadata"

// MaxOffset is the highest offset, of matching rows.
const MaxOffset = 100_000

// The other arguments' names, and the bounds that schema and parser share.
const (
	argLimit  = "limit"
	argOffset = "offset"
	argFields = "fields"
	argWhere  = "where"

	defaultLimit = 100
	maxFields    = 100
	maxArgBytes  = 64 << 10
)

// Args are one call's arguments, checked.
type Args struct {
	Limit, Offset int           // of matching rows; Limit is 1 for an object
	Pick          *row.Pick     // fields to show, nil for all
	Filter        *where.Filter // nil for every row
	Flag          bool          // gated fields are shown
	Notes         []string      // what was read leniently
}

// allowed returns the names a tool takes, in the schema's order.
func allowed(t *catalog.Tool, s *row.Shape) []string {
	var names []string
	if t.List {
		names = append(names, argLimit, argOffset, argFields, argWhere)
	}
	if t.Path != "" && s.Hidden(nil) > 0 {
		names = append(names, Flag)
	}
	return names
}

// example is a correct use of an argument on this shape, to show with an error.
func example(s *row.Shape, name string) string {
	switch name {
	case argLimit:
		return `example: {"limit": 50}`
	case argOffset:
		return `example: {"offset": 100}`
	case argFields:
		for _, n := range s.Names() {
			if p, _ := s.Lookup(n); !p.Gated() {
				return `example: {"fields": ["` + n + `"]}`
			}
		}
		return `example: {"fields": ["` + s.Names()[0] + `"], "` + Flag + `": true}`
	case argWhere:
		return where.Example(s)
	}
	return `example: {"` + Flag + `": true}`
}

func refuse(msg, next string) error {
	return errs.New(errs.Invalid, msg).WithClass("request_validation").WithNext(next)
}

// Parse reads a call's arguments strictly: one object, no name twice, no name
// that the tool does not take, every value of its type and in its bounds. Empty
// input and null are no arguments. Nothing of the caller's text is quoted.
func Parse(t *catalog.Tool, s *row.Shape, raw []byte) (Args, error) {
	a := Args{Limit: 1} // an object is one row
	if t.List {
		a.Limit = min(defaultLimit, t.MaxLimit)
	}
	if none := bytes.TrimSpace(raw); len(none) == 0 || string(none) == "null" {
		return a, nil
	}
	if len(raw) > maxArgBytes {
		return a, refuse(fmt.Sprintf("arguments have at most %d bytes, got %d", maxArgBytes, len(raw)), "ask for less in one call")
	}
	names := allowed(t, s)
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if dec.PeekKind() != '{' {
		return a, refuse("arguments must be a JSON object", anyExample(names))
	}
	values := map[string]jsontext.Value{}
	if _, err := dec.ReadToken(); err != nil {
		return a, refuse("arguments must be a JSON object", anyExample(names))
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return a, malformed(names)
		}
		key := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			return a, malformed(names)
		}
		if !slices.Contains(names, key) {
			return a, unknown(t, s, key, names)
		}
		values[key] = v.Clone()
	}
	if _, err := dec.ReadToken(); err != nil || len(bytes.TrimSpace(raw[dec.InputOffset():])) != 0 {
		return a, malformed(names)
	}
	return a, a.take(t, s, values)
}

// take reads the values in an order of its own: the flag decides what fields
// and where may name.
func (a *Args) take(t *catalog.Tool, s *row.Shape, values map[string]jsontext.Value) error {
	if v, ok := values[Flag]; ok {
		switch string(v) {
		case "true", "false":
		case `"true"`, `"false"`:
			a.lenient(Flag, strings.Trim(string(v), `"`))
		default:
			return refuse(Flag+" must be true or false", example(s, Flag))
		}
		a.Flag = strings.Trim(string(v), `"`) == "true"
	}
	var err error
	if v, ok := values[argLimit]; ok {
		if a.Limit, err = a.integer(argLimit, v, 1, t.MaxLimit); err != nil {
			return err
		}
	}
	if v, ok := values[argOffset]; ok {
		if a.Offset, err = a.integer(argOffset, v, 0, MaxOffset); err != nil {
			return err
		}
	}
	if v, ok := values[argFields]; ok {
		if err = a.fields(s, v); err != nil {
			return err
		}
	}
	if v, ok := values[argWhere]; ok {
		entries, err := a.texts(s, argWhere, v)
		if err != nil {
			return err
		}
		a.Filter, err = where.Parse(s, entries, a.Flag)
		return err
	}
	return nil
}

// integer reads a whole number within bounds. A decimal text is taken once,
// and noted, because some clients send every argument as text.
func (a *Args) integer(name string, v jsontext.Value, low, high int) (int, error) {
	use := fmt.Sprintf(`example: {"%s": %d}`, name, min(high, max(low, 50)))
	digits := string(v)
	if v.Kind() == '"' {
		if u, err := jsontext.AppendUnquote(nil, v); err == nil && isWhole(string(u)) {
			digits = string(u)
			a.lenient(name, "a number")
		}
	}
	if !isWhole(digits) {
		return 0, refuse(fmt.Sprintf("%s must be a whole number from %d to %d", name, low, high), use)
	}
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil:
		return 0, refuse(fmt.Sprintf("%s must be from %d to %d, got a number of %d digits", name, low, high, len(strings.TrimPrefix(digits, "-"))), use)
	case n < low || n > high:
		return 0, refuse(fmt.Sprintf("%s must be from %d to %d, got %d", name, low, high, n), use)
	}
	return n, nil
}

// lenient notes that a text was read as what it holds.
func (a *Args) lenient(name, as string) {
	a.Notes = append(a.Notes, name+" was sent as text and read as "+as)
}

// isWhole says whether s is an optional minus and decimal digits without
// leading zeros.
func isWhole(s string) bool {
	d := strings.TrimPrefix(s, "-")
	for i := range len(d) {
		if d[i] < '0' || d[i] > '9' {
			return false
		}
	}
	return d != "" && (d == "0" || d[0] != '0')
}

// fields reads the names to keep.
func (a *Args) fields(s *row.Shape, v jsontext.Value) error {
	names, err := a.texts(s, argFields, v)
	if err != nil {
		return err
	}
	if len(names) == 0 || len(names) > maxFields {
		return refuse(fmt.Sprintf("fields names 1 to %d fields, got %d", maxFields, len(names)), "leave it out to get every field")
	}
	for i, n := range names {
		p, ok := s.Lookup(n)
		if !ok {
			next := "fields: " + strings.Join(s.Names(), ", ")
			if near := catalog.Meant(n, s.Names()); near != "" {
				next = "did you mean " + near + "? " + next
			}
			return refuse(fmt.Sprintf("fields entry %d is no field of this tool", i+1), next+"; "+example(s, argFields))
		}
		if p.Gated() && !a.Flag {
			return where.Gated(n)
		}
		a.Pick = a.Pick.Add(s, p)
	}
	return nil
}

// texts reads a list of texts. A text that holds one is taken once, and noted.
func (a *Args) texts(s *row.Shape, name string, v jsontext.Value) ([]string, error) {
	wrong := refuse(name+" must be a list of texts", example(s, name))
	if v.Kind() == '"' {
		u, err := jsontext.AppendUnquote(nil, v)
		if held := jsontext.Value(u); err == nil && held.IsValid() && held.Kind() == '[' {
			v = held
			a.lenient(name, "a list")
		}
	}
	if v.Kind() != '[' {
		return nil, wrong
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return nil, wrong
	}
	var out []string
	for dec.PeekKind() != ']' {
		if dec.PeekKind() != '"' {
			return nil, wrong
		}
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, wrong
		}
		out = append(out, tok.String())
	}
	return out, nil
}

// unknown refuses an argument that the tool does not take. What callers use for
// an argument of their own making is mostly the name of a field. The flag is
// offered to nobody who did not nearly write it.
func unknown(t *catalog.Tool, s *row.Shape, key string, names []string) error {
	msg := "unknown argument; allowed: " + strings.Join(names, ", ")
	near := catalog.Meant(key, names)
	switch {
	case len(names) == 0:
		return refuse("unknown argument: this tool takes none", "call it with {}")
	case near != "":
		return refuse(msg, "did you mean "+near+"? "+example(s, near))
	case !t.List:
		return refuse(msg, "this tool answers one object, whole: call it with {}")
	}
	for _, f := range s.Names() {
		if strings.EqualFold(f, key) {
			return refuse(msg, f+" is a field: where compares it. "+where.ExampleOf(s, f))
		}
	}
	return refuse(msg, anyExample(names))
}

func malformed(names []string) error {
	return refuse("arguments are not valid JSON, or an argument is named twice", anyExample(names))
}

// anyExample is a correct use of a tool that takes the names: without arguments,
// or with a limit.
func anyExample(names []string) string {
	if slices.Contains(names, argLimit) {
		return `example: {"limit": 50}`
	}
	return "example: {}"
}

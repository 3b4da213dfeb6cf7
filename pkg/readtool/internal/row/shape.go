package row

import (
	"fmt"
	"strings"

	"pfsensemcp/pkg/catalog"
)

// maxDepth bounds the nesting of models: the deepest real one is three, and a
// model that contains itself must be refused instead of compiled for ever.
const maxDepth = 8

// ignored marks upstream names that are known and left out on purpose.
const ignored = -1

// Shape is a model compiled for decoding. It is immutable and safe to share.
type Shape struct {
	fields []field        // the model's, then companions that the model does not show
	shown  int            // how many of fields are the model's
	index  map[string]int // upstream name to position in fields, or ignored
	all    []*field       // of the root shape: every field of the tree by id
}

// field is one field of one place in the tree.
type field struct {
	catalog.Field
	id    int    // place in Shape.all
	path  string // dotted name from the root, as callers write it
	label string // the opening of the member in an answer: `"name":`
	sub   *Shape // of Kind Object
	comp  int    // position of the companion in the same shape, or -1
	sent  bool   // Shape.index leads from Up to this field
}

func (f *field) gated() bool { return f.Gate != catalog.Shown }

// Compile prepares a model. Derived fields are filled in by Set and never taken
// from the appliance. The error names the model and the rule it breaks.
func Compile(m *catalog.Model) (*Shape, error) {
	root := &Shape{}
	if err := root.compile(root, m, "", maxDepth); err != nil {
		return nil, err
	}
	return root, nil
}

func (s *Shape) compile(root *Shape, m *catalog.Model, prefix string, depth int) error {
	if m == nil {
		return fmt.Errorf("model of %q is missing", prefix)
	}
	if depth == 0 {
		return fmt.Errorf("model %s is nested too deep", m.Name)
	}
	s.index = map[string]int{"id": ignored, "parent_id": ignored, "_links": ignored}
	for _, x := range m.Excluded {
		s.index[x.Field] = ignored
	}
	s.fields = make([]field, len(m.Fields), len(m.Fields)+2)
	s.shown = len(m.Fields)
	names := make(map[string]bool, len(m.Fields))
	for i, mf := range m.Fields {
		if mf.Name == "" || strings.ContainsAny(mf.Name, " .\"\\") || names[mf.Name] {
			return fmt.Errorf("model %s: field name %q is empty, unfit or repeated", m.Name, mf.Name)
		}
		names[mf.Name] = true
		f := &s.fields[i]
		*f = field{Field: mf, id: len(root.all), path: prefix + mf.Name, label: `"` + mf.Name + `":`, comp: -1}
		root.all = append(root.all, f)
		if mf.Up == "" {
			f.Up = mf.Name
		}
		if mf.Mark&catalog.Derived == 0 {
			if at, taken := s.index[f.Up]; taken && at != ignored {
				return fmt.Errorf("model %s: upstream field %q is shown twice", m.Name, f.Up)
			}
			s.index[f.Up] = i
		}
		if mf.Kind == catalog.Object {
			f.sub = &Shape{}
			if err := f.sub.compile(root, mf.Model, f.path+".", depth-1); err != nil {
				return err
			}
		}
	}
	for i := range s.shown {
		s.companion(&s.fields[i])
	}
	for i := range s.fields {
		at, known := s.index[s.fields[i].Up]
		s.fields[i].sent = known && at == i
	}
	return nil
}

// companion finds or adds the field that says whether f's time is a stored one.
func (s *Shape) companion(f *field) {
	if f.Mark&catalog.RequestTime == 0 || f.Companion == "" {
		return
	}
	at, known := s.index[f.Companion]
	if !known || at == ignored {
		at = len(s.fields)
		s.fields = append(s.fields, field{
			Field: catalog.Field{Name: f.Companion, Up: f.Companion, Gate: catalog.Device}, id: -1, comp: -1,
		})
		s.index[f.Companion] = at
	}
	f.comp = at
}

// Names returns the names of the fields as shown, in order.
func (s *Shape) Names() []string {
	out := make([]string, s.shown)
	for i := range out {
		out[i] = s.fields[i].Name
	}
	return out
}

// Marked says whether any field of the tree has the mark.
func (s *Shape) Marked(m catalog.Mark) bool {
	for _, f := range s.all {
		if f.Mark&m != 0 {
			return true
		}
	}
	return false
}

// FieldPath returns the dotted name of the field that Counts has at place id.
func (s *Shape) FieldPath(id int) string { return s.all[id].path }

// Path is a field of a shape or of its nested rows.
type Path struct {
	steps []int
	leaf  *field
	gated bool // the field or something above it is gated
}

// Field returns the table's row of the field.
func (p Path) Field() *catalog.Field { return &p.leaf.Field }

// Gated says that the field is hidden from callers without the flag.
func (p Path) Gated() bool { return p.gated }

// Lookup finds the field that a caller wrote as name or as nested a.b.
func (s *Shape) Lookup(dotted string) (Path, bool) {
	var p Path
	for name := range strings.SplitSeq(dotted, ".") {
		if s == nil {
			return Path{}, false
		}
		at := -1
		for i := range s.shown {
			if s.fields[i].Name == name {
				at = i
				break
			}
		}
		if at < 0 {
			return Path{}, false
		}
		p.leaf = &s.fields[at]
		p.steps = append(p.steps, at)
		p.gated = p.gated || p.leaf.gated()
		s = p.leaf.sub
	}
	return p, true
}

// Pick is a choice of fields. The zero pointer picks everything.
type Pick struct {
	keep []bool
	sub  []*Pick // of nested fields picked in part; nil means whole
}

// Add widens the pick by one path; a nil receiver starts an empty pick.
func (k *Pick) Add(s *Shape, p Path) *Pick {
	if k == nil {
		k = &Pick{}
	}
	k.add(s, p.steps)
	return k
}

func (k *Pick) add(s *Shape, steps []int) {
	if k.keep == nil {
		k.keep, k.sub = make([]bool, s.shown), make([]*Pick, s.shown)
	}
	at := steps[0]
	whole := k.keep[at] && k.sub[at] == nil
	k.keep[at] = true
	switch {
	case len(steps) == 1:
		k.sub[at] = nil
	case whole: // the whole field is picked already
	default:
		if k.sub[at] == nil {
			k.sub[at] = &Pick{}
		}
		k.sub[at].add(s.fields[at].sub, steps[1:])
	}
}

func (k *Pick) has(i int) bool { return k == nil || k.keep[i] }

func (k *Pick) under(i int) *Pick {
	if k == nil {
		return nil
	}
	return k.sub[i]
}

// Hidden counts the gated fields within a pick; what stands below a gated field
// is hidden with it and not counted again.
func (s *Shape) Hidden(k *Pick) int {
	n := 0
	for i := range s.shown {
		f := &s.fields[i]
		switch {
		case !k.has(i):
		case f.gated():
			n++
		case f.sub != nil:
			n += f.sub.Hidden(k.under(i))
		}
	}
	return n
}

package openapi

import (
	"slices"
	"strconv"
)

// node collects what a schema says, with what its allOf parts and the entries of
// an array say.
type node struct {
	field bool // keep what a field has
	data  bool // of an answer's envelope only the member data counts

	typ, item, ref                string
	description                   string
	enum                          []string
	value                         string // the default, canonical JSON, not yet looked at for secrets
	minimum, maximum              string
	maxLength                     uint32
	nullable, readOnly, writeOnly bool
	members                       []Param  // properties that are written out instead of referred to
	required                      []string // nil when nothing is said
}

// schema reads one schema into n.
func (p *parser) schema(n *node, depth int) error {
	if depth > maxDepth {
		return p.SkipValue()
	}
	return p.Object(func(key []byte) error {
		var err error
		switch string(key) {
		case "$ref":
			var ref string
			if ref, err = p.refName(); !n.data {
				n.ref = ref
			}
		case "allOf":
			return p.Array(func() error { return p.schema(n, depth+1) })
		case "oneOf", "anyOf":
			return p.alternatives(n, depth)
		case "type":
			var typ string
			if typ, err = p.ReadName(); typ != "" && (n.typ == "" || typ != "object") {
				n.typ = typ
			}
		case "items":
			return p.items(n, depth)
		case "properties":
			return p.properties(n, depth)
		case "required":
			return p.requiredNames(n)
		default:
			if !n.field {
				return p.SkipValue()
			}
			return p.detail(n, key)
		}
		return err
	})
}

// detail reads what is kept of a field alone.
func (p *parser) detail(n *node, key []byte) error {
	var err error
	switch string(key) {
	case "description":
		var b []byte
		if b, err = p.Raw(); n.description == "" {
			n.description = string(b)
		}
	case "enum":
		n.enum = nil
		return p.Array(func() error {
			v, err := p.enumValue()
			if err != nil {
				return err
			}
			n.enum = append(n.enum, v)
			return p.Keep(costItem)
		})
	case "default":
		v, err := p.ReadValue()
		if err != nil {
			return err
		}
		n.value = canonical(v)
		return nil
	case "minimum":
		n.minimum, err = p.jsonNumber()
	case "maximum":
		n.maximum, err = p.jsonNumber()
	case "maxLength":
		var s string
		if s, err = p.jsonNumber(); s != "" {
			if l, bad := strconv.ParseUint(s, 10, 32); bad == nil {
				n.maxLength = uint32(l)
			}
		}
	case "nullable":
		n.nullable, err = p.Boolean()
	case "readOnly":
		n.readOnly, err = p.Boolean()
	case "writeOnly":
		n.writeOnly, err = p.Boolean()
	default:
		return p.SkipValue()
	}
	return err
}

// alternatives reads oneOf: the types in words.
func (p *parser) alternatives(n *node, depth int) error {
	return p.Array(func() error {
		var one node
		if err := p.schema(&one, depth+1); err != nil {
			return err
		}
		switch {
		case one.typ == "" || len(n.typ) > 48:
		case n.typ == "":
			n.typ = one.typ
		case n.typ != one.typ:
			n.typ = p.Intern([]byte(n.typ + " or " + one.typ))
		}
		return nil
	})
}

// items reads the schema of an array's entries. A field's bounds and enumeration
// stand there for a list.
func (p *parser) items(n *node, depth int) error {
	of := node{field: n.field, data: n.data}
	if err := p.schema(&of, depth+1); err != nil {
		return err
	}
	n.item = of.typ
	if of.ref != "" {
		n.ref = of.ref
	}
	if n.enum == nil {
		n.enum = of.enum
	}
	if n.minimum == "" {
		n.minimum = of.minimum
	}
	if n.maximum == "" {
		n.maximum = of.maximum
	}
	if n.maxLength == 0 {
		n.maxLength = of.maxLength
	}
	n.members = append(n.members, of.members...)
	if of.required != nil || of.ref != "" && n.field {
		n.required = append(n.required, of.required...)
		if n.required == nil {
			n.required = []string{}
		}
	}
	return nil
}

// maxMembers bounds what is kept of an object that is written out: upstream writes
// id and parent_id.
const maxMembers = 32

// properties reads members that are written out. A field's own are not: nothing
// looks at them.
func (p *parser) properties(n *node, depth int) error {
	if n.field {
		return p.SkipValue()
	}
	return p.Object(func(key []byte) error {
		if n.data {
			// In an envelope: the members of the objects below data.
			if string(key) != "data" {
				return p.SkipValue()
			}
			var below node
			err := p.schema(&below, depth+1)
			n.members = append(n.members, below.members...)
			return err
		}
		name := p.Name(key)
		var m node
		if err := p.schema(&m, depth+1); err != nil {
			return err
		}
		if name == "" || len(n.members) >= maxMembers || slices.ContainsFunc(n.members, func(o Param) bool { return o.Name == name }) {
			return nil
		}
		n.members = append(n.members, Param{Name: name, Type: m.typ})
		return p.Keep(costParam)
	})
}

func (p *parser) requiredNames(n *node) error {
	if n.required == nil {
		n.required = []string{}
	}
	return p.Array(func() error {
		name, err := p.ReadName()
		if err != nil || name == "" {
			return err
		}
		n.required = append(n.required, name)
		return p.Keep(costItem)
	})
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func contains(sorted []string, s string) bool {
	_, ok := slices.BinarySearch(sorted, s)
	return ok
}

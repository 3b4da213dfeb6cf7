package openapi

import (
	"bytes"
	"strconv"
	"strings"

	"pfsensemcp/pkg/openapi/plain"
)

// document reads the root.
func (p *parser) document() error {
	if p.PeekKind() != '{' {
		_, err := p.ReadValue()
		if err == nil {
			err = errTrailing // something else than a document
		}
		return err
	}
	return p.members(func(key string) (bool, error) {
		var err error
		switch key {
		case "openapi":
			p.ix.OpenAPI, err = p.Line(64)
		case "info":
			err = p.members(p.info)
		case "paths":
			err = p.members(p.path)
		case "components":
			err = p.members(func(key string) (bool, error) {
				if key != "schemas" {
					return false, nil
				}
				return true, p.members(p.model)
			})
		default:
			return false, nil
		}
		return true, err
	})
}

// members walks an object that may hold extensions. read says whether it has read
// the member; what it has not is searched for extensions.
func (p *parser) members(read func(key string) (bool, error)) error {
	return p.Object(func(key []byte) error {
		if len(p.at) >= extensionDepth {
			return p.SkipValue()
		}
		k := p.Intern(key)
		if err := p.Keep(0); err != nil {
			return err
		}
		p.at = append(p.at, k)
		defer func() { p.at = p.at[:len(p.at)-1] }()
		if strings.HasPrefix(k, "x-") {
			return p.extension()
		}
		done, err := read(k)
		if done || err != nil {
			return err
		}
		return p.search()
	})
}

// search passes over a value and keeps the extensions in it.
func (p *parser) search() error {
	switch {
	case len(p.at) >= extensionDepth:
		return p.SkipValue()
	case p.PeekKind() == '{':
		return p.members(func(string) (bool, error) { return false, nil })
	case p.PeekKind() == '[':
		i := 0
		return p.Array(func() error {
			p.at = append(p.at, strconv.Itoa(i))
			defer func() { p.at = p.at[:len(p.at)-1] }()
			i++
			return p.search()
		})
	}
	return p.SkipValue()
}

func (p *parser) extension() error {
	v, err := p.ReadValue()
	if err != nil {
		return err
	}
	pointer := ""
	for _, k := range p.at {
		pointer += "/" + strings.ReplaceAll(strings.ReplaceAll(k, "~", "~0"), "/", "~1")
	}
	e := Extension{Pointer: bounded(pointer), Value: bounded(canonical(v))}
	p.ix.extensions = append(p.ix.extensions, e)
	return p.Keep(len(e.Pointer) + len(e.Value) + 2*costText)
}

func (p *parser) info(key string) (bool, error) {
	var err error
	switch key {
	case "title":
		p.ix.Title, err = p.Line(MaxValue)
	case "version":
		p.ix.Version, err = p.Line(64)
	case "license":
		err = p.members(func(key string) (bool, error) {
			if key != "name" {
				return false, nil
			}
			var err error
			p.ix.License, err = p.Line(MaxValue)
			return true, err
		})
	default:
		return false, nil
	}
	return true, err
}

// verbs are the operations of a path item that are looked at.
var verbs = map[string]string{"get": "GET", "post": "POST", "put": "PUT", "patch": "PATCH", "delete": "DELETE"}

func (p *parser) path(path string) (bool, error) {
	if p.Name([]byte(path)) == "" || path[0] != '/' {
		p.ix.Odd++
		return false, nil
	}
	return true, p.members(func(key string) (bool, error) {
		verb, ok := verbs[key]
		if !ok {
			return false, nil
		}
		op := &Operation{Path: path, Verb: verb}
		p.ix.operations = append(p.ix.operations, op)
		if err := p.Keep(costOperation); err != nil {
			return false, err
		}
		if err := p.members(func(key string) (bool, error) { return p.operation(op, key) }); err != nil {
			return false, err
		}
		if verb == "POST" && op.Body != "" {
			p.made[op.Body] = append(p.made[op.Body], op.Required)
		}
		return true, nil
	})
}

func (p *parser) operation(op *Operation, key string) (bool, error) {
	switch key {
	case "operationId":
		var err error
		op.ID, err = p.ReadName()
		return true, err
	case "description":
		b, err := p.Raw()
		if err != nil {
			return false, err
		}
		p.describe(op, string(b))
		return true, p.Keep(len(op.Description) + costItem*(len(op.Privileges.Items)+len(op.Packages.Items)+len(op.AuthModes.Items)))
	case "parameters":
		return true, p.Array(func() error { return p.parameter(op) })
	case "requestBody":
		var n node
		err := p.content(&n)
		op.Body, op.Required = n.ref, sorted(n.required)
		for _, m := range n.members {
			m.Place, m.Required = "body", contains(op.Required, m.Name)
			op.Params = append(op.Params, m)
		}
		return true, err
	case "responses":
		return true, p.members(func(key string) (bool, error) {
			if key != "200" {
				return true, p.SkipValue()
			}
			n := node{data: true}
			err := p.content(&n)
			op.Adds = n.members
			return true, err
		})
	}
	return false, nil
}

// content reads the schema of the JSON form of a body.
func (p *parser) content(n *node) error {
	return p.Object(func(key []byte) error {
		if string(key) != "content" {
			return p.SkipValue()
		}
		return p.Object(func(key []byte) error {
			if string(key) != "application/json" {
				return p.SkipValue()
			}
			return p.Object(func(key []byte) error {
				if string(key) != "schema" {
					return p.SkipValue()
				}
				return p.schema(n, 0)
			})
		})
	})
}

func (p *parser) parameter(op *Operation) error {
	var m Param
	err := p.Object(func(key []byte) error {
		var err error
		switch string(key) {
		case "name":
			m.Name, err = p.ReadName()
		case "in":
			m.Place, err = p.ReadName()
		case "description":
			m.Description, err = p.Line(MaxFieldText)
		case "required":
			m.Required, err = p.Boolean()
		case "schema":
			var n node
			err = p.schema(&n, 0)
			m.Type = n.typ
		default:
			err = p.SkipValue()
		}
		return err
	})
	if err != nil {
		return err
	}
	if m.Name == "" {
		p.ix.Odd++
		return nil
	}
	op.Params = append(op.Params, m)
	return p.Keep(costParam)
}

func (p *parser) model(name string) (bool, error) {
	if !isModelName(name) {
		p.ix.Odd++
		return true, p.SkipValue()
	}
	if _, twice := p.ix.models[name]; twice {
		return false, errTwice
	}
	m := &Model{Name: name}
	p.ix.models[name] = m
	if err := p.Keep(costModel); err != nil {
		return false, err
	}
	return true, p.members(func(key string) (bool, error) {
		switch key {
		case "description":
			var err error
			m.Description, err = p.Line(MaxDescription)
			return true, err
		case "properties":
			return true, p.Object(func(key []byte) error { return p.field(m, p.Name(key)) })
		}
		return false, nil
	})
}

// isModelName says whether a name is one that a caller can ask for.
func isModelName(s string) bool {
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func (p *parser) field(m *Model, name string) error {
	if name == "" {
		p.ix.Odd++
		return p.SkipValue()
	}
	n := node{field: true}
	if err := p.schema(&n, 0); err != nil {
		return err
	}
	f := Field{
		Name: name, Type: n.typ, Item: n.item, Model: n.ref, Nullable: n.nullable, ReadOnly: n.readOnly, WriteOnly: n.writeOnly,
		Enum: n.enum, Default: p.Intern([]byte(defaultOf(name, n.value, n.enum))), Minimum: n.minimum, Maximum: n.maximum, MaxLength: n.maxLength,
	}
	text, when := condition(plain.Lines(n.description))
	text, f.Cut = plain.Cut(text, MaxFieldText)
	when, _ = plain.Cut(when, MaxCondition)
	f.Description, f.Condition = p.Intern([]byte(text)), p.Intern([]byte(when))
	m.Fields = append(m.Fields, f)
	if n.ref != "" && n.required != nil {
		p.nested[n.ref] = append(p.nested[n.ref], n.required)
	}
	return p.Keep(costField)
}

// jsonNumber reads a number as it stands, bounded.
func (p *parser) jsonNumber() (string, error) {
	if p.PeekKind() != '0' {
		return "", p.SkipValue()
	}
	v, err := p.ReadValue()
	if err != nil || len(v) > 32 {
		return "", err
	}
	return p.Intern(v), nil
}

// refName returns the model that a reference names: its last part, and only
// when the whole points into the document's own schemas.
func (p *parser) refName() (string, error) {
	b, err := p.Raw()
	if err != nil {
		return "", err
	}
	name, ok := bytes.CutPrefix(b, []byte("#/components/schemas/"))
	if !ok || !isModelName(string(name)) {
		return "", nil
	}
	return p.Intern(name), nil
}

// enumValue returns one entry of an enumeration: a text as it is, everything else
// as JSON.
func (p *parser) enumValue() (string, error) {
	if p.PeekKind() == '"' {
		b, err := p.Raw()
		if err != nil {
			return "", err
		}
		return p.Intern([]byte(bounded(string(b)))), nil
	}
	v, err := p.ReadValue()
	if err != nil {
		return "", err
	}
	return p.Intern([]byte(bounded(canonical(v)))), nil
}

// Package contract owns the normalised contract of an OpenAPI document: what a
// client depends on, of every operation and model, in one canonical JSON text.
//
// docfetch and mcpserver make contracts and hand them to operators, apidocs
// compares them, opctl reads and writes them as files; of ours it imports openapi
// and errs. A contract must never hold prose: no description, no example, and no default
// that looks like a secret (openapi has hashed it).
//
// The attacks it stops: the raw document of an appliance leaving mcpd, keys in its
// defaults included; and a file or a peer that is no contract, or is too large,
// being compared as if it were one.
package contract

import (
	"bytes"
	"encoding/json/v2"
	"slices"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/openapi"
)

// Format is the first member of every contract; another one is no contract.
const Format = "pfsense-mcp openapi contract 1"

// MaxSize bounds a contract, in bytes. That of the real document has half a
// megabyte.
const MaxSize = 8 << 20

// Contract is the whole of it. Lists are sorted; a list that is absent (null) was
// not stated, or was stated in a form that is none.
type Contract struct {
	Format       string `json:"contract"`
	DocumentHash string `json:"document_hash"` // SHA-256 of the document, hex
	OpenAPI      string `json:"openapi"`
	Version      string `json:"version"`
	Title        string `json:"title"`
	License      string `json:"license"`

	Operations map[string]Operation `json:"operations"` // by "GET /api/v2/…"
	Models     map[string]Model     `json:"models"`
	Extensions map[string]string    `json:"extensions"` // JSON pointer to JSON text
}

// Operation is one verb on one path.
type Operation struct {
	ID         string      `json:"operation_id"`
	Parameters []Parameter `json:"parameters"`
	Privileges []string    `json:"allowed_privileges"`
	Packages   []string    `json:"required_packages"`
	AuthModes  []string    `json:"auth_modes"`
	Auth       string      `json:"requires_authentication"` // yes, no or ""
	Applies    string      `json:"applies_immediately"`     // yes, no, not_applicable or ""
	Malformed  []string    `json:"malformed"`               // labels whose list is none
}

// Parameter is one parameter, or a member of the request body outside its model.
type Parameter struct {
	Name     string `json:"name"`
	Place    string `json:"place"`
	Required bool   `json:"required"`
}

// Model is one schema.
type Model struct {
	Fields map[string]Field `json:"fields"`
}

// Field is one field.
type Field struct {
	Type     string   `json:"type"`     // "array of string", "array of object FirewallScheduleTimeRange"
	Required *bool    `json:"required"` // null: the document does not say
	Nullable bool     `json:"nullable"`
	Enum     []string `json:"enum"`    // sorted
	Default  *string  `json:"default"` // JSON text, or a hash in words; null: none
}

// The names in Malformed.
const (
	LabelPrivileges = "allowed_privileges"
	LabelPackages   = "required_packages"
	LabelAuthModes  = "auth_modes"
)

// Key returns the name of an operation in Operations.
func Key(verb, path string) string { return verb + " " + path }

// Of returns the contract of a document.
func Of(ix *openapi.Index) *Contract {
	c := &Contract{
		Format: Format, DocumentHash: ix.Hash, OpenAPI: ix.OpenAPI, Version: ix.Version, Title: ix.Title, License: ix.License,
		Operations: make(map[string]Operation, len(ix.Operations())),
		Models:     make(map[string]Model, len(ix.ModelNames())),
		Extensions: make(map[string]string, len(ix.Extensions())),
	}
	for _, op := range ix.Operations() {
		c.Operations[Key(op.Verb, op.Path)] = operation(op)
	}
	for _, name := range ix.ModelNames() {
		m, _ := ix.Model(name)
		fields := make(map[string]Field, len(m.Fields))
		for _, f := range m.Fields {
			fields[f.Name] = field(f)
		}
		c.Models[name] = Model{Fields: fields}
	}
	for _, e := range ix.Extensions() {
		c.Extensions[e.Pointer] = e.Value
	}
	return c
}

func operation(op *openapi.Operation) Operation {
	out := Operation{ID: op.ID, Auth: op.Auth, Applies: op.Applies}
	list := func(l openapi.List, label string) []string {
		switch {
		case l.Malformed:
			out.Malformed = append(out.Malformed, label)
			return nil
		case !l.Stated:
			return nil
		}
		items := append([]string{}, l.Items...)
		slices.Sort(items)
		return items
	}
	out.Privileges = list(op.Privileges, LabelPrivileges)
	out.Packages = list(op.Packages, LabelPackages)
	out.AuthModes = list(op.AuthModes, LabelAuthModes)
	for _, p := range op.Params {
		out.Parameters = append(out.Parameters, Parameter{Name: p.Name, Place: p.Place, Required: p.Required})
	}
	slices.SortFunc(out.Parameters, func(a, b Parameter) int {
		if a.Place != b.Place {
			return strings.Compare(a.Place, b.Place)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

func field(f openapi.Field) Field {
	out := Field{Type: f.Type, Nullable: f.Nullable, Enum: slices.Sorted(slices.Values(f.Enum))}
	if f.Item != "" {
		out.Type += " of " + f.Item
	}
	if f.Model != "" {
		if out.Type != "" {
			out.Type += " "
		}
		out.Type += f.Model
	}
	if f.Required != openapi.Unknown {
		yes := f.Required == openapi.Yes
		out.Required = &yes
	}
	if f.Default != "" {
		out.Default = &f.Default
	}
	return out
}

// Encode returns the contract as canonical JSON: members sorted, no blanks. A
// contract beyond MaxSize is errs.Exhausted.
func (c *Contract) Encode() ([]byte, error) {
	b, err := json.Marshal(c, json.Deterministic(true), json.FormatNilSliceAsNull(true))
	if err != nil {
		return nil, errs.Wrap(err, errs.Internal, "the contract cannot be written")
	}
	if len(b) > MaxSize {
		return nil, errs.Newf(errs.Exhausted, "the contract has %d bytes, at most %d are handed out", len(b), MaxSize)
	}
	return b, nil
}

// Is says whether bytes begin as a contract does. Only Decode says whether they
// are one.
func Is(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n{")
	return bytes.HasPrefix(b, []byte(`"contract"`))
}

// Decode reads a contract; what is none, or holds anything that no contract has,
// is errs.Invalid.
func Decode(b []byte) (*Contract, error) {
	if len(b) > MaxSize {
		return nil, errs.Newf(errs.Invalid, "a contract has at most %d bytes", MaxSize)
	}
	var c Contract
	if err := json.Unmarshal(b, &c, json.RejectUnknownMembers(true)); err != nil {
		return nil, errs.New(errs.Invalid, "it is no contract: its JSON is not that of one")
	}
	if c.Format != Format {
		return nil, errs.New(errs.Invalid, "it is a contract of another format").WithNext("make it again with this version of mcpctl")
	}
	if len(c.Operations) == 0 || len(c.Models) == 0 {
		return nil, errs.New(errs.Invalid, "it is an empty contract")
	}
	if c.Extensions == nil {
		c.Extensions = map[string]string{}
	}
	for name, m := range c.Models {
		if m.Fields == nil {
			c.Models[name] = Model{Fields: map[string]Field{}}
		}
	}
	return &c, nil
}

// Package view owns what is shown of an index: the messages of docs.v1, held to
// the caps that they promise.
//
// docfetch shows the published document with it, mcpserver the appliance's own,
// so that the two can be compared. Of ours it imports openapi and the messages
// alone. It must never show a whole document: an answer is one operation, or at
// most MaxFields fields of one model.
//
// The attack it stops: a document whose size decides the size of an answer.
package view

import (
	"slices"
	"strings"

	"pfsensemcp/pkg/openapi"
	docspb "pfsensemcp/proto/docs/v1"
)

// Caps of one answer.
const (
	MaxFields     = 25 // of a model
	MaxItems      = 20 // of a list: privileges, packages, parameters, enumerated values
	MaxFieldNames = 1000
	maxOutside    = 8
	maxNear       = 5
	maxEnumValue  = 64 // bytes of one enumerated value
	maxType       = 64 // bytes
)

// Endpoint returns what the document says of one operation; the source is the
// caller's to add.
func Endpoint(ix *openapi.Index, path, verb string) *docspb.EndpointResponse {
	op, ok := ix.Operation(path, verb)
	if !ok {
		return &docspb.EndpointResponse{OtherVerbs: ix.Verbs(path)}
	}
	e := &docspb.Endpoint{
		Path: op.Path, Verb: op.Verb, OperationId: op.ID, Description: op.Description, DescriptionCut: op.Cut > 0,
		EndpointType: op.Type, Model: modelName(op.Model), ParentModel: modelName(op.Parent),
		AuthRequired: op.Auth, AuthModes: items(op.AuthModes.Items),
		Privileges: items(op.Privileges.Items), PrivilegesTotal: uint32(len(op.Privileges.Items)),
		Packages: items(op.Packages.Items), AppliesImmediately: op.Applies, Cache: modelName(op.Cache),
	}
	params := parameters(ix, op)
	e.ParametersTotal = uint32(len(params))
	e.Parameters = params[:min(len(params), MaxItems)]
	return &docspb.EndpointResponse{Found: true, Endpoint: e}
}

// parameters returns an operation's parameters and what its request body must
// have. A body's other members are the model's fields and are not repeated.
func parameters(ix *openapi.Index, op *openapi.Operation) []*docspb.Parameter {
	var out []*docspb.Parameter
	for _, p := range op.Params {
		out = append(out, parameter(p))
	}
	model, _ := ix.Model(op.Body)
	for _, name := range op.Required {
		if slices.ContainsFunc(op.Params, func(p openapi.Param) bool { return p.Name == name && p.Place == "body" }) {
			continue
		}
		p := &docspb.Parameter{Name: name, Place: "body", Required: true}
		if f, ok := field(model, name); ok {
			p.Type, p.Description = cut(f.Type, maxType), f.Description
		}
		out = append(out, p)
	}
	return out
}

func parameter(p openapi.Param) *docspb.Parameter {
	return &docspb.Parameter{Name: p.Name, Place: p.Place, Required: p.Required, Type: cut(p.Type, maxType), Description: p.Description}
}

func field(m *openapi.Model, name string) (openapi.Field, bool) {
	if m == nil {
		return openapi.Field{}, false
	}
	i, ok := slices.BinarySearchFunc(m.Fields, name, func(f openapi.Field, n string) int { return strings.Compare(f.Name, n) })
	if !ok {
		return openapi.Field{}, false
	}
	return m.Fields[i], true
}

// Model returns a part of the fields of one model; the source is the caller's to
// add. A limit of 0, or one beyond MaxFields, is MaxFields.
func Model(ix *openapi.Index, req *docspb.ModelRequest) *docspb.ModelResponse {
	m, ok := ix.Model(req.GetName())
	if !ok {
		return &docspb.ModelResponse{Near: near(req.GetName(), ix.ModelNames())}
	}
	out := &docspb.Model{Name: m.Name, Description: m.Description, FieldsTotal: uint32(len(m.Fields))}
	limit := int(req.GetLimit())
	if limit == 0 || limit > MaxFields {
		limit = MaxFields
	}
	want := strings.ToLower(req.GetNameContains())
	for _, f := range m.Fields {
		if len(out.FieldNames) < MaxFieldNames {
			out.FieldNames = append(out.FieldNames, f.Name)
		}
		if !strings.Contains(strings.ToLower(f.Name), want) {
			continue
		}
		out.FieldsMatched++
		if out.FieldsMatched > req.GetOffset() && len(out.Fields) < limit {
			out.Fields = append(out.Fields, fieldPB(f))
		}
	}
	out.Outside = outside(ix, m.Name)
	return &docspb.ModelResponse{Found: true, Model: out}
}

func fieldPB(f openapi.Field) *docspb.Field {
	out := &docspb.Field{
		Name: f.Name, Type: cut(f.Type, maxType), ItemType: cut(f.Item, maxType), Model: f.Model,
		Description: f.Description, DescriptionCut: f.Cut > 0, Condition: f.Condition,
		Nullable: f.Nullable, ReadOnly: f.ReadOnly, WriteOnly: f.WriteOnly,
		EnumTotal: uint32(len(f.Enum)), MaxLength: f.MaxLength,
	}
	if f.Required != openapi.Unknown {
		yes := f.Required == openapi.Yes
		out.Required = &yes
	}
	for _, v := range f.Enum[:min(len(f.Enum), MaxItems)] {
		out.EnumValues = append(out.EnumValues, cut(v, maxEnumValue))
	}
	set := func(to **string, s string) {
		if s != "" {
			*to = &s
		}
	}
	set(&out.DefaultValue, f.Default)
	set(&out.Minimum, f.Minimum)
	set(&out.Maximum, f.Maximum)
	return out
}

// outside returns the members that an object of the model has outside its own
// fields, in answers and in requests.
func outside(ix *openapi.Index, model string) []*docspb.Parameter {
	var out []*docspb.Parameter
	add := func(p openapi.Param) {
		if len(out) < maxOutside && !slices.ContainsFunc(out, func(o *docspb.Parameter) bool { return o.GetName() == p.Name }) {
			out = append(out, &docspb.Parameter{Name: p.Name, Type: cut(p.Type, maxType)})
		}
	}
	for _, op := range ix.Operations() {
		if op.Model == model {
			for _, p := range op.Adds {
				add(p)
			}
		}
		if op.Body == model {
			for _, p := range op.Params {
				if p.Place == "body" {
					add(p)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *docspb.Parameter) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}

// near returns the names that are most like the one asked for: the same letters in
// another case, then one inside the other, then those that begin or end alike.
func near(name string, names []string) []string {
	low := strings.ToLower(name)
	var out []string
	for _, like := range [...]func(n string) bool{
		func(n string) bool { return n == low },
		func(n string) bool { return strings.Contains(n, low) || strings.Contains(low, n) },
		func(n string) bool { return len(low) >= 4 && strings.HasPrefix(n, low[:4]) },
		func(n string) bool { return len(low) >= 4 && strings.HasSuffix(n, low[len(low)-4:]) },
	} {
		for _, n := range names {
			if len(out) < maxNear && like(strings.ToLower(n)) && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

func items(list []string) []string { return list[:min(len(list), MaxItems)] }

// modelName drops what is longer than any name of a model.
func modelName(s string) string {
	if len(s) > 64 {
		return ""
	}
	return s
}

// cut bounds a text of names and values in bytes, between two characters.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	const mark = "…"
	n := max - len(mark)
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + mark
}

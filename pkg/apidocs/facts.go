package apidocs

import (
	"fmt"
	"strings"

	docspb "pfsensemcp/proto/docs/v1"
)

// endpointFacts says what a document says of one operation.
func endpointFacts(e *docspb.Endpoint) []string {
	facts := []string{
		e.GetVerb() + " " + e.GetPath() + ": " + orElse(e.GetDescription(), "no description"),
		"operation id: " + orElse(e.GetOperationId(), "not stated"),
		"endpoint type: " + orElse(e.GetEndpointType(), "not stated") + "; associated model: " + orElse(e.GetModel(), "none") + "; parent model: " + orElse(e.GetParentModel(), "none"),
		"requires authentication: " + orElse(e.GetAuthRequired(), "not stated") + "; modes: " + list(e.GetAuthModes()),
		"allowed privileges, one of them is enough: " + more(list(e.GetPrivileges()), len(e.GetPrivileges()), e.GetPrivilegesTotal()),
		"required packages: " + list(e.GetPackages()),
		"applies immediately: " + orElse(e.GetAppliesImmediately(), "not stated") + "; cache: " + orElse(e.GetCache(), "none"),
	}
	for _, p := range e.GetParameters() {
		facts = append(facts, parameterFact(p))
	}
	if n := int(e.GetParametersTotal()) - len(e.GetParameters()); n > 0 {
		facts = append(facts, fmt.Sprintf("%d more parameters", n))
	}
	return facts
}

func parameterFact(p *docspb.Parameter) string {
	need := "optional"
	if p.GetRequired() {
		need = "required"
	}
	s := fmt.Sprintf("parameter %s (%s, %s, %s)", p.GetName(), orElse(p.GetPlace(), "place not stated"), orElse(p.GetType(), "type not stated"), need)
	if p.GetDescription() != "" {
		s += ": " + p.GetDescription()
	}
	return s
}

// fieldFact says what a document says of one field, the parts that matter most
// first.
func fieldFact(f *docspb.Field) string {
	typ := orElse(f.GetType(), "type not stated")
	if f.GetItemType() != "" {
		typ += " of " + f.GetItemType()
	}
	if f.GetModel() != "" {
		typ += " (model " + f.GetModel() + ")"
	}
	words := []string{typ}
	if f.Required != nil {
		words = append(words, map[bool]string{true: "required on creation", false: "optional"}[f.GetRequired()])
	}
	for _, w := range []struct {
		is   bool
		text string
	}{
		{f.GetNullable(), "nullable"},
		{f.GetReadOnly(), "read only"},
		{f.GetWriteOnly(), "write only"},
		{f.DefaultValue != nil, "default " + f.GetDefaultValue()},
		{f.Minimum != nil, "minimum " + f.GetMinimum()},
		{f.Maximum != nil, "maximum " + f.GetMaximum()},
		{f.GetMaxLength() > 0, fmt.Sprintf("at most %d characters", f.GetMaxLength())},
	} {
		if w.is {
			words = append(words, w.text)
		}
	}
	s := f.GetName() + ": " + strings.Join(words, ", ")
	if len(f.GetEnumValues()) > 0 {
		s += "; one of " + more(list(f.GetEnumValues()), len(f.GetEnumValues()), f.GetEnumTotal())
	}
	if f.GetCondition() != "" {
		s += "; available when " + f.GetCondition()
	}
	if f.GetDescription() != "" {
		s += ". " + f.GetDescription()
		if f.GetDescriptionCut() {
			s += " …"
		}
	}
	return s
}

// modelFacts returns as many fields as fit into one record, and says which part
// of the model they are.
func modelFacts(m *docspb.Model, offset uint32) []string {
	var fields []string
	shown := 0
	room := MaxFacts - 2 // for what is said before the fields
	for _, f := range m.GetFields() {
		pieces := len(part([]string{fieldFact(f)}))
		if pieces > room {
			break
		}
		room -= pieces
		fields = append(fields, fieldFact(f))
		shown++
	}
	head := fmt.Sprintf("model %s has %d fields", m.GetName(), m.GetFieldsTotal())
	if m.GetFieldsMatched() != m.GetFieldsTotal() {
		head += fmt.Sprintf(", %d of them match name_contains", m.GetFieldsMatched())
	}
	switch last := offset + uint32(shown); {
	case shown == 0:
		head += "; none from this offset on"
	case last < m.GetFieldsMatched():
		head += fmt.Sprintf("; %d to %d are shown, go on with offset %d", offset+1, last, last)
	default:
		head += fmt.Sprintf("; %d to %d are shown, the last of them", offset+1, last)
	}
	var around []string
	for _, p := range m.GetOutside() {
		around = append(around, p.GetName()+" ("+orElse(p.GetType(), "type not stated")+")")
	}
	second := "objects of it have no members outside the model"
	if len(around) > 0 {
		second = "objects of it also have, outside the model: " + list(around)
	}
	return append([]string{head, second}, fields...)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func list(items []string) string {
	if len(items) == 0 {
		return "none stated"
	}
	return strings.Join(items, ", ")
}

// more says how many of a list are not shown.
func more(text string, shown int, total uint32) string {
	if n := int(total) - shown; n > 0 {
		return fmt.Sprintf("%s and %d more", text, n)
	}
	return text
}

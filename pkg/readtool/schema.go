package readtool

import (
	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/readtool/internal/args"
	"pfsensemcp/pkg/readtool/internal/row"
)

// InputSchema returns the JSON schema of a tool's arguments: the same names and
// bounds that Run checks. It is compact, without references, and every byte of
// it is sent to every client.
func InputSchema(t *catalog.Tool) []byte {
	s, err := row.Compile(t.Model)
	if err != nil { // a broken model cannot be called either
		s = &row.Shape{}
	}
	return args.Schema(t, s)
}

// OutputSchema returns the JSON schema of a tool's structured content. Every
// field may be absent or null but those that name a row; values are not narrowed
// to the known sets, because stored ones lie outside.
func OutputSchema(t *catalog.Tool) []byte {
	const notes = `"notes":{"type":"array","items":{"type":"string"}}},"required":[`
	if !t.List {
		out := appendModel([]byte(`{"type":"object","properties":{"object":`), t.Model, false)
		return append(out, `,`+notes+`"object","notes"]}`...)
	}
	out := appendModel([]byte(`{"type":"object","properties":{"rows":{"type":"array","items":`), t.Model, true)
	out = append(out, `},"returned":{"type":"integer"},"matched":`+orNull("integer")+
		`,"scanned":{"type":"integer"},"complete":{"type":"boolean"},`...)
	required := `"rows","returned","matched","scanned","complete",`
	if t.Log {
		out = append(out, `"coverage":{"type":"object","properties":{"lines":{"type":"integer"},"first_time":`+
			orNull("string")+`,"last_time":`+orNull("string")+`}},`...)
		required += `"coverage",`
	}
	return append(out, notes+required+`"notes"]}`...)
}

func orNull(typ string) string { return `{"anyOf":[{"type":"` + typ + `"},{"type":"null"}]}` }

// appendModel writes the schema of an object of a model. keyed says that a row
// without its key is never shown, so that the key is not null.
func appendModel(dst []byte, m *catalog.Model, keyed bool) []byte {
	dst = append(dst, `{"type":"object","properties":{`...)
	for i := range m.Fields {
		f := &m.Fields[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), f.Name...), `":`...)
		never := keyed && f.Mark&catalog.Key != 0 && f.Gate == catalog.Shown
		if !never {
			dst = append(dst, `{"anyOf":[`...)
		}
		dst = appendType(dst, f)
		if !never {
			dst = append(dst, `,{"type":"null"}]}`...)
		}
	}
	return append(dst, "}}"...)
}

func appendType(dst []byte, f *catalog.Field) []byte {
	item := func(dst []byte) []byte {
		if f.Kind == catalog.Object {
			return appendModel(dst, f.Model, false)
		}
		name := [...]string{"string", "integer", "number", "boolean"}[f.Kind]
		return append(dst, `{"type":"`+name+`"}`...)
	}
	if !f.List {
		return item(dst)
	}
	dst = append(dst, `{"type":"array","items":`...)
	if f.Kind == catalog.Object {
		return append(item(dst), '}')
	}
	dst = item(append(dst, `{"anyOf":[`...))
	return append(dst, `,{"type":"null"}]}}`...)
}

package readtool

import (
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
)

// omit as a value leaves the field out.
const omit = "-"

// build writes an upstream row of a model. set replaces values by dotted name;
// fill gives the value of every other field.
func build(m *catalog.Model, prefix string, set map[string]string, fill func(f *catalog.Field) string) string {
	var b strings.Builder
	b.WriteByte('{')
	have := map[string]bool{}
	put := func(name, v string) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + name + `":` + v)
		have[name] = true
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Mark&catalog.Derived != 0 {
			continue
		}
		path := prefix + f.Name
		v, ok := set[path]
		if !ok {
			if v = fill(f); v == "" {
				v = build(f.Model, path+".", set, fill)
				if f.List {
					v = "[" + v + "]"
				}
			}
		}
		if v != omit {
			put(f.UpName(), v)
		}
	}
	for i := range m.Fields {
		if c := m.Fields[i].Companion; c != "" && !have[c] {
			put(c, `"somebody"`)
		}
	}
	b.WriteByte('}')
	return b.String()
}

// plain is an ordinary value of every field; "" for nested rows.
func plain(f *catalog.Field) string {
	v := ""
	switch f.Kind {
	case catalog.Object:
		return ""
	case catalog.Integer:
		v = "9007199254740993"
	case catalog.Number:
		v = "3.50"
	case catalog.Boolean:
		v = "true"
	case catalog.String:
		v = `"text of a field"`
		if len(f.Values) > 0 {
			v = `"` + f.Values[len(f.Values)-1] + `"`
		}
		if f.Mark&catalog.Address != 0 {
			v = `"192.0.2.7"`
		}
	}
	if f.List {
		return "[" + v + "," + v + "]"
	}
	return v
}

// keyed is v for every field but those that name a row.
func keyed(v string) func(*catalog.Field) string {
	return func(f *catalog.Field) string {
		if f.Mark&catalog.Key != 0 {
			return plain(f)
		}
		return v
	}
}

// serve puts one upstream row where a tool will read it.
func serve(tool *catalog.Tool, row string) *fake {
	path := tool.Path
	switch {
	case tool.Reads != nil:
		path = tool.Reads.Path
		row = `[{"id":3,"` + tool.Reads.Field + `":[` + row + `]}]`
	case tool.List:
		row = "[" + row + "]"
	}
	return &fake{data: map[string]string{path: row, catalog.PathPackages: `[]`}}
}

// tools are the catalog's tools that ask the appliance.
func tools(t testing.TB) []*catalog.Tool {
	var out []*catalog.Tool
	for _, tool := range catalog.Tools() {
		if tool.Path != "" {
			out = append(out, tool)
		}
	}
	if len(out) < 25 {
		t.Fatalf("only %d tools", len(out))
	}
	return append(out, hiddenKeyTool())
}

// hiddenKeyTool has what no tool of the catalog has: rows named by a field that
// is hidden, and a hidden object.
func hiddenKeyTool() *catalog.Tool {
	tool := testTool()
	tool.Name = "pfsense_get_test_hidden_keys"
	tool.Model = &catalog.Model{Name: "HiddenKey", Fields: []catalog.Field{
		{Name: "mac", Gate: catalog.Network, Mark: catalog.Key},
		{Name: "owner", Gate: catalog.Personal, Kind: catalog.Object, Model: tool.Model.Fields[7].Model},
		{Name: "descr", Mark: catalog.FreeText},
	}}
	return tool
}

// leaves calls visit with every field of a model and its dotted name.
func leaves(m *catalog.Model, prefix string, gated bool, visit func(path string, f *catalog.Field, gated bool)) {
	for i := range m.Fields {
		f := &m.Fields[i]
		g := gated || f.Gate != catalog.Shown
		visit(prefix+f.Name, f, g)
		if f.Kind == catalog.Object {
			leaves(f.Model, prefix+f.Name+".", g, visit)
		}
	}
}

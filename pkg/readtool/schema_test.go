package readtool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
)

func resolve(t testing.TB, schema []byte) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatalf("%v: %s", err, schema)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%v: %s", err, schema)
	}
	return r
}

func validate(r *jsonschema.Resolved, doc []byte) error {
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return err
	}
	return r.Validate(v)
}

// TestEveryAnswerValidatesAgainstItsOwnSchema: for every tool of the catalog,
// ordinary rows and every way a row can be odd.
func TestEveryAnswerValidatesAgainstItsOwnSchema(t *testing.T) {
	rows := map[string]func(*catalog.Field) string{
		"ordinary":   plain,
		"null":       keyed("null"),
		"absent":     keyed(omit),
		"text":       keyed(`"odd \u202e text"`),
		"number":     keyed(`12`),
		"fraction":   keyed(`-1.25`),
		"boolean":    keyed(`false`),
		"empty list": keyed(`[]`),
		"mixed list": keyed(`[null,1,"x",true,{"id":null},[1]]`),
		"object":     keyed(`{"id":"x"}`),
	}
	for _, tool := range tools(t) {
		out, in := resolve(t, OutputSchema(tool)), resolve(t, InputSchema(tool))
		args := []string{`{}`}
		if catalog.HasGate(tool.Model) {
			args = append(args, `{"include_identifying_metadata":true}`)
		}
		if tool.List {
			args = append(args, `{"limit":1,"offset":1}`, `{"fields":["`+tool.Model.Fields[0].Name+`"]}`)
		}
		for name, fill := range rows {
			row := build(tool.Model, "", nil, fill)
			for _, a := range args {
				if strings.Contains(a, "fields") && tool.Model.Fields[0].Gate != catalog.Shown {
					continue
				}
				if err := validate(in, []byte(a)); err != nil {
					t.Errorf("%s: its own arguments %s: %v", tool.Name, a, err)
				}
				r := reader(t, Config{Client: serve(tool, row)})
				res, err := r.Run(t.Context(), pfrest.Caller{}, tool, []byte(a), nil)
				if err != nil {
					t.Errorf("%s, %s row: %v", tool.Name, name, err)
					continue
				}
				if err := validate(out, res.JSON); err != nil {
					t.Errorf("%s, %s row: %v\n%s", tool.Name, name, err, res.JSON)
				}
			}
		}
	}
}

func TestSchemasRefuseWhatTheToolRefuses(t *testing.T) {
	tool := testTool()
	in := resolve(t, InputSchema(tool))
	for _, bad := range []string{`{"limit":0}`, `{"limit":101}`, `{"offset":-1}`, `{"where":["","","","","","","","",""]}`, `{"zz":1}`, `{"fields":"x"}`} {
		if validate(in, []byte(bad)) == nil {
			t.Errorf("%s is valid", bad)
		}
	}
	out := resolve(t, OutputSchema(tool))
	for _, bad := range []string{
		`{}`, `{"rows":null}`, `{"rows":[{"id":null}],"returned":1,"matched":1,"scanned":1,"complete":true,"notes":[]}`,
		`{"rows":[{"id":1,"type":7}],"returned":1,"matched":1,"scanned":1,"complete":true,"notes":[]}`,
	} {
		if validate(out, []byte(bad)) == nil {
			t.Errorf("%s is valid", bad)
		}
	}
}

// TestSchemasStayPortableAndSmall: rules that real clients need, and the bytes
// that every session pays.
func TestSchemasStayPortableAndSmall(t *testing.T) {
	var in, out int
	for _, tool := range catalog.Tools() {
		for _, s := range [][]byte{InputSchema(tool), OutputSchema(tool)} {
			if !strings.HasPrefix(string(s), `{"type":"object",`) {
				t.Errorf("%s: the root is not an object", tool.Name)
			}
			for _, ban := range []string{"$ref", "$defs", "$id", `"type":[`, `":true`, `":false}`, "oneOf", "allOf"} {
				if strings.Contains(strings.TrimSuffix(string(s), `"additionalProperties":false}`), ban) {
					t.Errorf("%s: schema holds %s", tool.Name, ban)
				}
			}
		}
		if n := len(InputSchema(tool)); n > 351 {
			t.Errorf("%s: input schema has %d bytes", tool.Name, n)
		}
		if tool.Toolset != catalog.SetExtended {
			in += len(InputSchema(tool))
			out += len(OutputSchema(tool))
		}
	}
	t.Logf("input schemas %d bytes, output schemas %d bytes, without the extended tools", in, out)
	if in > 26_000 || out > 112_000 {
		t.Errorf("input schemas %d bytes, output schemas %d bytes", in, out)
	}
}

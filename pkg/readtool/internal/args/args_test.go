package args

import (
	"encoding/json/jsontext"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/readtool/internal/row"
)

func sample(t testing.TB) (*catalog.Tool, *row.Shape) {
	tool := &catalog.Tool{Path: "/api/v2/x", List: true, MaxLimit: 100, Model: &catalog.Model{Name: "X", Fields: []catalog.Field{
		{Name: "name"},
		{Name: "mac", Gate: catalog.Network},
		{Name: "rows", Kind: catalog.Object, List: true, Model: &catalog.Model{Fields: []catalog.Field{{Name: "who", Gate: catalog.Personal}, {Name: "n", Kind: catalog.Integer}}}},
	}}}
	s, err := row.Compile(tool.Model)
	if err != nil {
		t.Fatal(err)
	}
	return tool, s
}

func TestATextIsReadOnceAsWhatItHoldsAndTheResultSaysSo(t *testing.T) {
	tool, s := sample(t)
	a, err := Parse(tool, s, []byte(`{"limit":"7","offset":"0","include_identifying_metadata":"true","fields":"[\"mac\"]","where":"[\"name = x\",\"mac = y\"]"}`))
	if err != nil || a.Limit != 7 || !a.Flag || a.Pick == nil || a.Filter == nil || len(a.Notes) != 5 {
		t.Fatalf("%+v %v", a, err)
	}
	if a, err = Parse(tool, s, []byte(`{"include_identifying_metadata":"false"}`)); err != nil || a.Flag || len(a.Notes) != 1 {
		t.Fatalf("%+v %v", a, err)
	}
	for _, raw := range []string{
		`{"limit":"07"}`, `{"limit":"\"7\""}`, `{"limit":["7"]}`,
		`{"include_identifying_metadata":"True"}`, `{"include_identifying_metadata":"1"}`, `{"include_identifying_metadata":1}`,
		`{"include_identifying_metadata":"\u0074rue"}`, `{"include_identifying_metadata":"\"true\""}`, `{"include_identifying_metadata":null}`,
		`{"fields":"name"}`, `{"fields":"\"[]\""}`, `{"fields":"[\"name\"]x"}`, `{"fields":"[1]"}`, `{"fields":["[\"name\"]"]}`,
		`{"fields":"[\"mac\"]"}`, `{"where":"name = x"}`, `{"where":"[\"mac = x\"]"}`,
	} {
		if _, err := Parse(tool, s, []byte(raw)); err == nil {
			t.Errorf("%s is taken", raw)
		}
	}
}

func TestTheFlagCountsWhereverItStands(t *testing.T) {
	tool, s := sample(t)
	a, err := Parse(tool, s, []byte(`{"fields":["mac","rows.who"],"where":["mac = x"],"include_identifying_metadata":true}`))
	if err != nil || !a.Flag || a.Pick == nil || a.Filter == nil {
		t.Fatalf("%+v %v", a, err)
	}
}

// TestEveryExampleOfEveryToolIsTaken: what an error offers as the right way is
// not refused in its turn, and it does not open the gate for a caller who did
// not ask for anything behind it.
func TestEveryExampleOfEveryToolIsTaken(t *testing.T) {
	for _, tool := range catalog.Tools() {
		s, err := row.Compile(tool.Model)
		if err != nil {
			t.Fatal(err)
		}
		wrong := map[string]bool{ // by arguments: they ask for what is hidden
			`{"limt":1}`: false, `{"limit":-1}`: false, `{"ofset":1}`: false, `{"offset":-1}`: false, `{"verbose":true}`: false, `[]`: false, `{"limit":1,"limit":2}`: false,
			`{"fields":"id"}`: false, `{"fields":["nothing like it"]}`: false, `{"where":"id = 1"}`: false, `{"where":["x"]}`: false,
		}
		for _, n := range s.Names() {
			p, _ := s.Lookup(n)
			wrong[`{"`+strings.ToUpper(n)+`":1}`] = p.Gated()
		}
		for raw, hidden := range wrong {
			_, err := Parse(tool, s, []byte(raw))
			if err == nil {
				t.Errorf("%s: %s is taken", tool.Name, raw)
				continue
			}
			next := errs.Public(err).Next
			if !hidden && strings.Contains(next, Flag) {
				t.Errorf("%s: %s: the gate is offered: %s", tool.Name, raw, next)
			}
			_, example, ok := strings.Cut(next, "example: ")
			if !ok {
				if _, example, ok = strings.Cut(next, "call it with "); !ok {
					t.Errorf("%s: %s: no example: %s", tool.Name, raw, next)
					continue
				}
			}
			if _, err := Parse(tool, s, []byte(example)); err != nil {
				t.Errorf("%s: %s: the example %s is refused: %v", tool.Name, raw, example, err)
			}
		}
	}
}

// FuzzParse: what is taken is in its bounds, what is refused says how to do it
// right and quotes nothing of the caller's.
func FuzzParse(f *testing.F) {
	f.Add(`{"limit":5,"offset":"3","fields":["name","rows.n"],"where":["name = x"],"include_identifying_metadata":true}`)
	f.Add(`{"limt":99999999999999999999}`)
	f.Add(`{"where":["rows.who = quux"]}`)
	tool, s := sample(f)
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := Parse(tool, s, []byte(raw))
		if err != nil {
			e := errs.Public(err)
			if e.Code != errs.Invalid || e.Class != "request_validation" || e.Next == "" {
				t.Fatalf("%+v", e)
			}
			if strings.Contains(raw, "quux") && strings.Contains(e.Msg+e.Next, "quux") {
				t.Fatalf("the caller is quoted: %q %q", e.Msg, e.Next)
			}
			return
		}
		if a.Limit < 1 || a.Limit > 100 || a.Offset < 0 || a.Offset > MaxOffset || len(a.Notes) > 5 {
			t.Fatalf("%+v", a)
		}
		if a.Flag && !strings.Contains(raw, "true") {
			t.Fatal("the flag came from nowhere")
		}
	})
}

func TestTheSchemaIsOneObjectOfTheAllowedNames(t *testing.T) {
	tool, s := sample(t)
	if got := Schema(tool, s); !jsontext.Value(got).IsValid() || strings.Count(string(got), `"type":"object"`) != 1 {
		t.Fatalf("%s", got)
	}
	tool.List, tool.Model = false, &catalog.Model{}
	if got := string(Schema(tool, &row.Shape{})); got != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Fatalf("%s", got)
	}
}

package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// answerFaults compares one captured row with its model: keys that nobody
// looked at, keys that are missing and values of another type.
func answerFaults(m *Model, row map[string]any, fault faultFunc) {
	known := map[string]bool{}
	for _, e := range m.Excluded {
		known[e.Field] = true
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		known[f.UpName()] = true
		if f.Mark&Derived != 0 {
			continue
		}
		v, ok := row[f.UpName()]
		if !ok {
			fault("%s.%s: the answer has no such key", m.Name, f.Name)
			continue
		}
		list, isList := v.([]any)
		switch {
		case v == nil && f.Mark&Key != 0:
			fault("%s.%s: a key is null", m.Name, f.Name)
		case v == nil:
		case isList != f.List:
			fault("%s.%s: list is %v", m.Name, f.Name, isList)
		case !f.List:
			list = []any{v}
			fallthrough
		default:
			for _, v := range list {
				if !ofKind(v, f.Kind) {
					fault("%s.%s: a value of another type", m.Name, f.Name)
				}
				if inner, ok := v.(map[string]any); ok && f.Kind == Object {
					answerFaults(f.Model, inner, fault)
				}
			}
		}
	}
	for key := range row {
		if !known[key] {
			fault("%s: key %s of the answer is neither modelled nor excluded", m.Name, key)
		}
	}
}

func ofKind(v any, k Kind) bool {
	switch v := v.(type) {
	case string:
		return k == String
	case bool:
		return k == Boolean
	case json.Number:
		_, err := v.Int64()
		return k == Number || k == Integer && err == nil
	case map[string]any:
		return k == Object
	}
	return false
}

// rowsOf returns the rows of a captured answer's data, one for an object.
func rowsOf(t *testing.T, raw []byte) []map[string]any {
	t.Helper()
	var answer struct {
		Status int
		Body   struct{ Data any }
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil || answer.Status != 200 {
		t.Fatalf("status %d, error %v", answer.Status, err)
	}
	data, isList := answer.Body.Data.([]any)
	if !isList {
		data = []any{answer.Body.Data}
	}
	var rows []map[string]any
	for _, v := range data {
		row, ok := v.(map[string]any)
		if !ok {
			t.Fatal("a row is no object")
		}
		rows = append(rows, row)
	}
	return rows
}

func TestCapturedAnswersFitTheModels(t *testing.T) {
	shared(t, "appliance/summary.tsv")
	seen, empty := 0, 0
	for _, r := range Tools() {
		if r.Path == "" {
			continue
		}
		name := "GET" + strings.ReplaceAll(r.Path, "/", "_") + ".json"
		rows := rowsOf(t, shared(t, "appliance/responses/"+name))
		seen++
		if len(rows) == 0 {
			empty++
		}
		for _, row := range rows {
			for _, f := range faults(func(_ []*Tool, fault faultFunc) { answerFaults(r.Model, row, fault) }, nil) {
				t.Errorf("%s: %s", r.Name, f)
			}
		}
	}
	t.Logf("%d answers, %d of them empty lists", seen, empty)
}

func TestAnAnswerThatDoesNotFitIsFound(t *testing.T) {
	m := &Model{
		Name:     "Thing",
		Fields:   []Field{{Name: "id", Kind: Integer, Mark: Key}, {Name: "names", List: true}, {Name: "gone"}},
		Excluded: []Exclusion{{Field: "secret", Secret: true, Why: "test"}},
	}
	row := map[string]any{"id": nil, "names": []any{true}, "secret": "x", "new": 1}
	got := faults(func(_ []*Tool, fault faultFunc) { answerFaults(m, row, fault) }, nil)
	want := []string{
		"Thing.id: a key is null",
		"Thing.names: a value of another type",
		"Thing.gone: the answer has no such key",
		"Thing: key new of the answer is neither modelled nor excluded",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

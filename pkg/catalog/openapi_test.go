package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shared finds data that the project's tests use and do not need.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", filepath.FromSlash(name)))
	if err != nil {
		t.Skipf("skipped: ../shared/%s is not beside the repository", name)
	}
	return raw
}

// The few parts of an OpenAPI document that say what a GET answers.
type (
	document struct {
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]schema }
	}
	operation struct {
		Description string
		Responses   map[string]struct {
			Content map[string]struct{ Schema schema }
		}
	}
	schema struct {
		Ref        string `json:"$ref"`
		Type       string
		AllOf      []schema
		Items      *schema
		Properties map[string]schema
		WriteOnly  bool
	}
)

// answered returns the schema of data in the answer of a GET, with what allOf
// adds to the model, and the model's name.
func (d document) answered(path string) (data schema, model string, ok bool) {
	get, ok := d.Paths[path]["get"]
	if !ok {
		return schema{}, "", false
	}
	for _, part := range get.Responses["200"].Content["application/json"].Schema.AllOf {
		if p, found := part.Properties["data"]; found {
			data = p
		}
	}
	row := data
	if data.Type == "array" {
		row = *data.Items
	}
	return data, row.ref(), true
}

// ref is the name of the schema that s, or a part of its allOf, refers to.
func (s schema) ref() string {
	for _, part := range append([]schema{s}, s.AllOf...) {
		if part.Ref != "" {
			return part.Ref[strings.LastIndexByte(part.Ref, '/')+1:]
		}
	}
	return ""
}

// differsFromDocument are fields whose real type is not the document's, or that
// the document lacks, with what real answers show.
var differsFromDocument = map[string]string{
	"AvailableInterface.id": "text, equal to the interface name",
}

// compare returns how a model differs from its schema.
func (d document) compare(m *Model, row schema, used map[string]bool) []string {
	var out []string
	have := map[string]schema{}
	for _, part := range append([]schema{row, d.Components.Schemas[m.Upstream]}, row.AllOf...) {
		for name, s := range part.Properties {
			have[name] = s
		}
	}
	known := map[string]bool{}
	for _, e := range m.Excluded {
		known[e.Field] = true
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		full, up := m.Name+"."+f.Name, f.UpName()
		known[up] = true
		if f.Mark&Derived != 0 {
			continue
		}
		s, ok := have[up]
		switch {
		case !ok && up != "id" && up != "parent_id":
			out = append(out, full+": not in the document")
		case ok && !fits(f, s):
			if differsFromDocument[full] == "" {
				out = append(out, full+": type "+s.Type+" in the document")
			}
			used[full] = true
		case ok && s.WriteOnly:
			out = append(out, full+": the document lets it only be written")
		}
		if f.Kind == Object && ok && s.Items.ref() != f.Model.Upstream {
			out = append(out, full+": objects of "+s.Items.ref()+" in the document")
		}
	}
	for name := range have {
		if !known[name] {
			out = append(out, m.Name+": the document's "+name+" is neither modelled nor excluded")
		}
	}
	slices.Sort(out)
	return out
}

func fits(f *Field, s schema) bool {
	if f.List != (s.Type == "array") {
		return false
	}
	if f.List {
		s = *s.Items
	}
	switch f.Kind {
	case Integer:
		return s.Type == "integer"
	case Number:
		return s.Type == "number"
	case Boolean:
		return s.Type == "boolean"
	case Object:
		return s.ref() != ""
	default:
		return s.Type == "string"
	}
}

func TestTheTableFitsTheRealDocument(t *testing.T) {
	var doc document
	if err := json.Unmarshal(shared(t, "appliance/openapi.json"), &doc); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, r := range Tools() {
		if r.Path == "" {
			continue
		}
		data, model, ok := doc.answered(r.Path)
		if !ok {
			t.Errorf("%s: no GET of %s in the document", r.Name, r.Path)
			continue
		}
		if r.List != (data.Type == "array") || model != r.Model.Upstream {
			t.Errorf("%s: answers %s of %s, the row says list=%v of %s", r.Name, data.Type, model, r.List, r.Model.Upstream)
		}
		row := data
		if r.List {
			row = *data.Items
		}
		for _, diff := range doc.compare(r.Model, row, used) {
			t.Error(diff)
		}
		if want := "**Allowed privileges**: [ page-all, " + Privilege(r) + " ]"; !strings.Contains(doc.Paths[r.Path]["get"].Description, want) {
			t.Errorf("%s: the document does not say %q", r.Name, want)
		}
		if r.Reads != nil {
			parent, model, ok := doc.answered(r.Reads.Path)
			if !ok || parent.Type != "array" || doc.Components.Schemas[model].Properties[r.Reads.Field].Items.ref() != r.Model.Upstream {
				t.Errorf("%s: %s has no list %s of its rows", r.Name, r.Reads.Path, r.Reads.Field)
			}
		}
	}
	seen := 0
	eachModel(Tools(), func(m *Model) {
		if m.Upstream == "" {
			if m != serverInfo && m != daemonInfo {
				t.Errorf("%s: no upstream model to compare with", m.Name)
			}
			return
		}
		seen++
		if _, ok := doc.Components.Schemas[m.Upstream]; !ok {
			t.Errorf("%s: no schema %s", m.Name, m.Upstream)
		}
		for _, diff := range doc.compare(m, schema{}, used) {
			t.Error(diff)
		}
	})
	// Every model of every row, nested ones and those of the extended rows too.
	if all := models(Tools()); seen != all-2 || seen < 120 {
		t.Errorf("%d models were compared, the rows have %d", seen, all)
	}
	for full := range differsFromDocument {
		if !used[full] {
			t.Errorf("%s: listed as different and is not", full)
		}
	}
}

// models counts the models that rows reach, on its own: eachModel must not be
// able to leave some out unseen.
func models(rows []*Tool) int {
	all := map[*Model]bool{}
	for _, r := range rows {
		todo := []*Model{r.Model}
		for len(todo) > 0 {
			m := todo[0]
			todo = todo[1:]
			all[m] = true
			for _, f := range m.Fields {
				if f.Kind == Object {
					todo = append(todo, f.Model)
				}
			}
		}
	}
	return len(all)
}

func TestTheComparisonWithADocumentCanFail(t *testing.T) {
	doc := document{}
	doc.Components.Schemas = map[string]schema{"Thing": {Properties: map[string]schema{
		"name":   {Type: "string"},
		"count":  {Type: "string"},
		"action": {Type: "string", WriteOnly: true},
		"secret": {Type: "string"},
		"extra":  {Type: "boolean"},
	}}}
	thing := &Model{
		Name: "Thing", Upstream: "Thing",
		Fields:   []Field{{Name: "name"}, {Name: "count", Kind: Integer}, {Name: "action"}, {Name: "gone"}},
		Excluded: []Exclusion{{Field: "secret", Secret: true, Why: "test"}},
	}
	want := []string{
		"Thing.action: the document lets it only be written",
		"Thing.count: type string in the document",
		"Thing.gone: not in the document",
		"Thing: the document's extra is neither modelled nor excluded",
	}
	if diff := cmp.Diff(want, doc.compare(thing, schema{}, map[string]bool{})); diff != "" {
		t.Errorf("faults found (-want +got):\n%s", diff)
	}
}

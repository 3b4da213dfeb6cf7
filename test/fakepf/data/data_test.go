package data

import (
	"strings"
	"testing"

	"pfsensemcp/test/fakepf/php"
)

func TestTheEmbeddedFilesFitTogether(t *testing.T) {
	s, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Endpoints) != 267 {
		t.Errorf("%d endpoints", len(s.Endpoints))
	}
	for _, e := range s.Endpoints {
		if !e.Has("GET") {
			continue
		}
		m := s.Models[e.Model]
		if m == nil {
			t.Errorf("%s: no model %s", e.Path, e.Model)
			continue
		}
		if e.Many && m.ID == '-' {
			t.Errorf("%s: a list of a single object", e.Path)
		}
		if e.Parent != "" && s.Models[e.Parent] == nil {
			t.Errorf("%s: no parent %s", e.Path, e.Parent)
		}
	}
}

func TestEverySecretFieldCarriesACanary(t *testing.T) {
	s, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	var look func(m *Model, o php.Object)
	look = func(m *Model, o php.Object) {
		for _, f := range m.Fields {
			v, _ := o.Get(f.Name)
			if f.Of != "" {
				list, _ := v.([]any)
				for _, e := range list {
					look(s.Models[f.Of], e.(php.Object))
				}
			}
			if text, ok := v.(string); ok && (f.Sensitive || f.WriteOnly) && text != "" {
				seen++
				if !strings.HasPrefix(text, "canary-") {
					t.Errorf("%s.%s holds %q", m.Name, f.Name, text)
				}
			}
		}
	}
	for _, m := range s.Models {
		for _, r := range m.Rows {
			look(m, r.Object)
		}
	}
	if seen < 25 {
		t.Errorf("only %d secrets", seen)
	}
}

// Package data holds what the pretend appliance knows: the endpoints and
// models of pfREST 2.10.0 as facts (endpoints.tsv, models.tsv) and the rows of
// a small invented office firewall (rows/*.json).
//
// Only test/fakepf imports it. The rows are written for this project: every
// name, address, key and password in them is made up and opens nothing. Secret
// fields carry values that begin with "canary-", so that a test can look for
// them in everything that leaves a daemon.
package data

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"pfsensemcp/test/fakepf/php"
)

//go:embed endpoints.tsv models.tsv rows/*.json
var files embed.FS

// Endpoint is one URL of the package.
type Endpoint struct {
	Path    string   // /api/v2/…
	Methods []string // in the order upstream lists them
	Many    bool     // a list endpoint
	Model   string
	Parent  string // the parent's model; "" for none
	Package string // the pfSense package upstream says it needs; "" for none
}

// Has says whether the endpoint supports the method.
func (e *Endpoint) Has(method string) bool {
	for _, m := range e.Methods {
		if m == method {
			return true
		}
	}
	return false
}

// Model is one upstream model: its fields in the order they are shown.
type Model struct {
	Name    string
	Verbose string // "Firewall Alias"
	ID      byte   // 'i' position, 's' text, '-' a single object
	Fields  []Field
	Nested  bool // some field holds rows of another model
	Plain   bool // a stored row is shown as it is: nothing hidden, no interface, nothing nested

	Rows     []Row      // in order
	Defaults php.Object // value of each field that a row leaves out
}

// Field is one field of a model.
type Field struct {
	Name      string
	Kind      byte   // 's' text, 'i' integer, 'n' number, 'b' boolean, 'o' rows of Of
	List      bool   // a list of Kind
	Of        string // the model of nested rows
	Sensitive bool   // shown only while the exposure setting is on
	WriteOnly bool   // never shown
	Interface bool   // names an interface: follows represent_interfaces_as
}

// Row is one stored row: all its fields, hidden ones too, in the model's order.
type Row struct {
	ID     string // models with text ids; "" otherwise
	Object php.Object
}

// Set is everything.
type Set struct {
	Endpoints map[string]*Endpoint // by path
	Models    map[string]*Model    // by name
}

// Load reads the embedded files. An error means that a file is wrong.
func Load() (*Set, error) {
	s := &Set{Endpoints: map[string]*Endpoint{}, Models: map[string]*Model{}}
	if err := s.endpoints(); err != nil {
		return nil, err
	}
	if err := s.models(); err != nil {
		return nil, err
	}
	dir, err := files.ReadDir("rows")
	if err != nil {
		return nil, err
	}
	raw := map[string]php.Object{}
	for _, f := range dir {
		b, err := files.ReadFile(path.Join("rows", f.Name()))
		if err != nil {
			return nil, err
		}
		v, err := php.Decode(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		obj, ok := v.(php.Object)
		if !ok {
			return nil, fmt.Errorf("%s: not an object of models", f.Name())
		}
		for _, m := range obj {
			body, ok := m.Value.(php.Object)
			if !ok || s.Models[m.Key] == nil || raw[m.Key] != nil {
				return nil, fmt.Errorf("%s: model %s is unknown, given twice or not an object", f.Name(), m.Key)
			}
			raw[m.Key] = body
		}
	}
	return s, s.rows(raw)
}

func lines(name string) ([][]string, error) {
	b, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out [][]string
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimRight(l, "\n"); l != "" && l[0] != '#' {
			out = append(out, strings.Split(l, "\t"))
		}
	}
	return out, nil
}

func (s *Set) endpoints() error {
	rows, err := lines("endpoints.tsv")
	if err != nil {
		return err
	}
	for _, c := range rows {
		if len(c) != 6 {
			return fmt.Errorf("endpoints.tsv: %q", c)
		}
		s.Endpoints[c[0]] = &Endpoint{
			Path: c[0], Methods: strings.Split(c[1], ","), Many: c[2] == "many", Model: c[3],
			Parent: strings.Trim(c[4], "-"), Package: strings.Trim(c[5], "-"),
		}
	}
	return nil
}

func (s *Set) models() error {
	rows, err := lines("models.tsv")
	if err != nil {
		return err
	}
	for _, c := range rows {
		if len(c) != 4 || len(c[1]) != 1 {
			return fmt.Errorf("models.tsv: %q", c)
		}
		m := &Model{Name: c[0], ID: c[1][0], Verbose: c[2], Plain: true}
		for _, w := range strings.Fields(c[3]) {
			name, t, ok := strings.Cut(w, ":")
			if !ok {
				return fmt.Errorf("models.tsv: %s: field %q", m.Name, w)
			}
			f := Field{Name: name}
			for t != "" && strings.IndexByte("!-~", t[len(t)-1]) >= 0 {
				switch t[len(t)-1] {
				case '!':
					f.Sensitive = true
				case '-':
					f.WriteOnly = true
				case '~':
					f.Interface = true
				}
				t = t[:len(t)-1]
			}
			if strings.HasPrefix(t, "[") {
				f.List, t = true, strings.Trim(t, "[]")
			}
			if strings.HasPrefix(t, "{") {
				f.Kind, f.Of = 'o', strings.Trim(t, "{}")
				m.Nested = true
			} else {
				f.Kind = t[0]
			}
			if f.Sensitive || f.WriteOnly || f.Interface || f.Of != "" {
				m.Plain = false
			}
			m.Fields = append(m.Fields, f)
		}
		s.Models[m.Name] = m
	}
	for _, m := range s.Models {
		for _, f := range m.Fields {
			if f.Of != "" && s.Models[f.Of] == nil {
				return fmt.Errorf("models.tsv: %s.%s: no model %s", m.Name, f.Name, f.Of)
			}
		}
	}
	return nil
}

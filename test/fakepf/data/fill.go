package data

import (
	"fmt"

	"pfsensemcp/test/fakepf/php"
)

// Now stands in a row for the time of the request: what the appliance shows
// where it has no time stored.
const Now = "@now"

// rows fills the models from rows/*.json: each model has "defaults" (an object)
// and "rows" (a list of objects) or "object". A field that neither gives is
// null, or false when it is a boolean, as upstream shows a field that is not stored.
func (s *Set) rows(raw map[string]php.Object) error {
	for _, m := range s.Models {
		if d, ok := raw[m.Name].Get("defaults"); ok {
			m.Defaults, _ = d.(php.Object)
			if err := m.known(m.Defaults); err != nil {
				return err
			}
		}
	}
	for _, m := range s.Models {
		body := raw[m.Name]
		for _, k := range body {
			if k.Key != "defaults" && k.Key != "rows" && k.Key != "object" {
				return fmt.Errorf("%s: %q is not defaults, rows or object", m.Name, k.Key)
			}
		}
		list, _ := body.Get("rows")
		rows, _ := list.([]any)
		if o, ok := body.Get("object"); ok {
			rows = []any{o}
		}
		if m.ID == '-' && len(rows) == 0 {
			rows = []any{php.Object{}}
		}
		for _, r := range rows {
			o, ok := r.(php.Object)
			if !ok {
				return fmt.Errorf("%s: a row is not an object", m.Name)
			}
			row := Row{}
			if m.ID == 's' {
				id, _ := o.Get("id")
				row.ID, _ = id.(string)
				if row.ID == "" {
					return fmt.Errorf("%s: a row has no text id", m.Name)
				}
				o = without(o, "id")
			}
			full, err := s.Fill(m, o)
			if err != nil {
				return err
			}
			row.Object = full
			m.Rows = append(m.Rows, row)
		}
	}
	return nil
}

// Fill returns a whole row of the model: the fields of o, then the defaults.
// It refuses a field the model does not have and a value of a wrong type.
func (s *Set) Fill(m *Model, o php.Object) (php.Object, error) {
	if err := m.known(o); err != nil {
		return nil, err
	}
	full := make(php.Object, 0, len(m.Fields))
	for _, f := range m.Fields {
		v, ok := o.Get(f.Name)
		if !ok {
			v, ok = m.Defaults.Get(f.Name)
		}
		if !ok && f.Kind == 'b' && !f.List {
			v = false
		}
		v, err := s.value(m, &f, v)
		if err != nil {
			return nil, err
		}
		full = append(full, php.Member{Key: f.Name, Value: v})
	}
	return full, nil
}

func (s *Set) value(m *Model, f *Field, v any) (any, error) {
	if v == nil || v == Now {
		return v, nil
	}
	if f.List {
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("%s.%s: %v is not a list", m.Name, f.Name, v)
		}
		out := make([]any, 0, len(list))
		for _, e := range list {
			e, err := s.one(m, f, e)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		return out, nil
	}
	return s.one(m, f, v)
}

func (s *Set) one(m *Model, f *Field, v any) (any, error) {
	ok := false
	switch f.Kind {
	case 's':
		_, ok = v.(string)
	case 'i':
		_, ok = v.(int64)
	case 'n':
		switch v.(type) {
		case int64, float64:
			ok = true
		}
	case 'b':
		_, ok = v.(bool)
	case 'o':
		o, is := v.(php.Object)
		if is {
			return s.Fill(s.Models[f.Of], o)
		}
	}
	if !ok {
		return nil, fmt.Errorf("%s.%s: %v has the wrong type", m.Name, f.Name, v)
	}
	return v, nil
}

func (m *Model) known(o php.Object) error {
	for _, k := range o {
		found := false
		for _, f := range m.Fields {
			found = found || f.Name == k.Key
		}
		if !found && !(m.ID == 's' && k.Key == "id") {
			return fmt.Errorf("%s: no field %s", m.Name, k.Key)
		}
	}
	return nil
}

func without(o php.Object, key string) php.Object {
	out := make(php.Object, 0, len(o))
	for _, m := range o {
		if m.Key != key {
			out = append(out, m)
		}
	}
	return out
}

package fakepf

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pfsensemcp/test/fakepf/data"
	"pfsensemcp/test/fakepf/php"
)

// table holds the rows of one model. A table and its rows never change: a
// change makes new ones, so that a write can keep the configuration it read.
type table struct {
	model *data.Model
	rows  []*row
}

// row is one stored row, all fields in the written form, without its id.
type row struct {
	id    string // models with text ids
	raw   []byte
	now   bool // holds data.Now
	views *[6]atomic.Pointer[[]byte]
}

func newRow(m *data.Model, id string, raw []byte) *row {
	r := &row{id: id, raw: raw, now: bytes.Contains(raw, []byte(`"`+data.Now+`"`))}
	if !m.Plain && !m.Nested {
		r.views = new([6]atomic.Pointer[[]byte])
	}
	return r
}

// object returns the row's fields; it is a fresh copy.
func (r *row) object() php.Object {
	v, err := php.Decode(r.raw)
	o, ok := v.(php.Object)
	if err != nil || !ok {
		return php.Object{} // a row put in by PutRaw that is no object
	}
	return o
}

func (s *Server) fillTables() {
	s.tables = make(map[string]*table, len(s.set.Models))
	for name, m := range s.set.Models {
		t := &table{model: m}
		for _, r := range m.Rows {
			t.rows = append(t.rows, newRow(m, r.ID, php.Append(nil, r.Object)))
		}
		if lines, ok := data.Log(name, s.opt.LogLines); ok {
			t.add(lines)
		}
		switch name {
		case "FirewallState":
			t.add(data.States(max(s.opt.States, 0)))
		case "FirewallAlias":
			t.add(data.Aliases(s.opt.Aliases))
		case "FirewallRule":
			t.add(data.Rules(s.opt.Rules))
		case "ConfigHistoryRevision":
			s.age(t)
		case "Package":
			t.rows = slices.DeleteFunc(t.rows, func(r *row) bool { name, _ := r.object().Get("name"); return !s.packages[php.Text(name)] })
		}
		s.tables[name] = t
	}
}

// age moves the history back when this machine's clock stands before it: an
// appliance's past is never in its client's future.
func (s *Server) age(t *table) {
	late := s.live.Time - s.opt.Now().Add(-time.Hour).Unix()
	if late <= 0 {
		return
	}
	s.live.Time -= late
	for i, r := range t.rows {
		o := r.object()
		at, _ := o.Get("time")
		if n, ok := at.(int64); ok {
			t.rows[i] = newRow(t.model, r.id, php.Append(nil, o.Set("time", n-late)))
		}
	}
}

func (t *table) add(raw [][]byte) {
	for _, b := range raw {
		t.rows = append(t.rows, newRow(t.model, "", b))
	}
}

// with returns a copy of t whose rows the caller may change.
func (t *table) with() *table { return &table{model: t.model, rows: slices.Clone(t.rows)} }

// change replaces one model's table under the lock, as a change made in the
// web interface would: it takes part in no lock and no history.
func (s *Server) change(model string, f func(t *table) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[model]
	if t == nil {
		return fmt.Errorf("no model %s", model)
	}
	t = t.with()
	if err := f(t); err != nil {
		return err
	}
	s.tables[model] = t
	return nil
}

// Rows returns the number of rows of a model.
func (s *Server) Rows(model string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t := s.tables[model]; t != nil {
		return len(t.rows)
	}
	return 0
}

// Row returns the stored fields of a row, hidden ones too; nil when there is none.
func (s *Server) Row(model string, pos int) php.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tables[model]
	if t == nil || pos < 0 || pos >= len(t.rows) {
		return nil
	}
	return t.rows[pos].object()
}

// Set changes one field of a row (position 0 of a single object) behind the
// API's back: no lock, no history. The value is not checked: a wrong type is
// how a damaged configuration is played.
func (s *Server) Set(model string, pos int, field string, v any) error {
	return s.change(model, func(t *table) error {
		if pos < 0 || pos >= len(t.rows) {
			return fmt.Errorf("%s has no row %d", model, pos)
		}
		old := t.rows[pos]
		t.rows[pos] = newRow(t.model, old.id, php.Append(nil, old.object().Set(field, v)))
		return nil
	})
}

// Insert puts a row at a position behind the API's back; fields not named take
// their defaults. A position past the end appends.
func (s *Server) Insert(model string, pos int, fields php.Object) error {
	return s.change(model, func(t *table) error {
		id := ""
		if v, ok := fields.Get("id"); ok && t.model.ID == 's' {
			id = php.Text(v)
			fields = slices.DeleteFunc(fields.Clone(), func(m php.Member) bool { return m.Key == "id" })
		}
		full, err := s.set.Fill(t.model, fields)
		if err != nil {
			return err
		}
		pos = min(max(pos, 0), len(t.rows))
		t.rows = slices.Insert(t.rows, pos, newRow(t.model, id, php.Append(nil, full)))
		return nil
	})
}

// Delete removes a row behind the API's back; the ids of later rows shift.
func (s *Server) Delete(model string, pos int) error {
	return s.change(model, func(t *table) error {
		if pos < 0 || pos >= len(t.rows) {
			return fmt.Errorf("%s has no row %d", model, pos)
		}
		t.rows = slices.Delete(t.rows, pos, pos+1)
		return nil
	})
}

// Clear removes all rows of a model.
func (s *Server) Clear(model string) error {
	return s.change(model, func(t *table) error { t.rows = nil; return nil })
}

// Settings returns the settings in force.
func (s *Server) Settings() Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.settings
}

// SetSettings changes the settings.
func (s *Server) SetSettings(v Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = v
}

// SetKeys replaces the API keys, as an administrator who revokes or makes one.
func (s *Server) SetKeys(keys []Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = slices.Clone(keys)
}

// SetPackage installs or removes a package: its row in the package list and,
// for WireGuard, whether its status can be read at all.
func (s *Server) SetPackage(name string, installed bool) error {
	short, ok := strings.CutPrefix(name, "pfSense-pkg-")
	if !ok {
		return fmt.Errorf("package names begin with pfSense-pkg-")
	}
	m := s.set.Models["Package"]
	full, err := s.set.Fill(m, php.Object{{Key: "name", Value: name}, {Key: "shortname", Value: short}, {Key: "descr", Value: short}, {Key: "installed_version", Value: "1.0"}, {Key: "latest_version", Value: "1.0"}})
	if err != nil {
		return err
	}
	return s.change(m.Name, func(t *table) error {
		s.packages[name] = installed
		t.rows = slices.DeleteFunc(t.rows, func(r *row) bool { v, _ := r.object().Get("name"); return v == name })
		if installed {
			t.rows = append(t.rows, newRow(m, "", php.Append(nil, full)))
		}
		return nil
	})
}

// Pending returns the subsystems with changes that no apply has taken up.
func (s *Server) Pending() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.pending)
}

// Wreck makes the stored configuration unreadable: every answer is a 500 until
// Repair. Wrecked says whether it is.
func (s *Server) Wreck()        { s.setWrecked(true) }
func (s *Server) Repair()       { s.setWrecked(false) }
func (s *Server) Wrecked() bool { s.mu.RLock(); defer s.mu.RUnlock(); return s.wrecked }

func (s *Server) setWrecked(v bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrecked = v
}

// snapshot returns the tables as they are now. Caller holds mu.
func (s *Server) snapshot() map[string]*table { return maps.Clone(s.tables) }

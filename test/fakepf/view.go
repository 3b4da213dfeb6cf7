package fakepf

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"pfsensemcp/test/fakepf/data"
	"pfsensemcp/test/fakepf/php"
)

// view says how rows are shown: it is the settings of one answer and what is
// needed to follow them.
type view struct {
	expose   bool
	override []string
	as       string            // id, descr or if
	names    map[string]string // interface id to the name in force; nil for id
	set      *data.Set
	now      string // unix seconds of the request
	hateoas  bool
	links    linker
}

// view returns the view of the present settings. Caller holds mu.
func (s *Server) view() *view {
	v := &view{
		expose: s.settings.ExposeSensitive, override: s.settings.OverrideSensitive, as: s.settings.InterfacesAs,
		set: s.set, now: strconv.FormatInt(s.opt.Now().Unix(), 10), hateoas: s.settings.HATEOAS, links: linker{s.set},
	}
	if v.as == "descr" || v.as == "if" {
		v.names = map[string]string{}
		for _, r := range s.tables["NetworkInterface"].rows {
			name, _ := r.object().Get(v.as)
			v.names[r.id] = php.Text(name)
		}
	}
	return v
}

// slot is the row cache's index of the view; -1 when it may not be cached.
func (v *view) slot() int {
	if len(v.override) > 0 {
		return -1
	}
	n := map[string]int{"id": 0, "descr": 1, "if": 2}[v.as] * 2
	if v.expose {
		n++
	}
	return n
}

// asStored says that rows of the model are shown just as they are stored.
func (v *view) asStored(m *data.Model) bool {
	if m.Plain {
		return true
	}
	if m.Nested {
		return false
	}
	for _, f := range m.Fields {
		if f.WriteOnly || f.Interface && v.names != nil || f.Sensitive && !v.shows(m, &f) {
			return false
		}
	}
	return true
}

func (v *view) shows(m *data.Model, f *data.Field) bool {
	if f.WriteOnly {
		return false
	}
	return !f.Sensitive || v.expose || slices.Contains(v.override, m.Name+":"+f.Name)
}

// body returns a row as shown, without id: "{…}". plain is asStored of its model.
func (v *view) body(m *data.Model, r *row, id any, plain bool) []byte {
	b := r.raw
	if !plain {
		slot := v.slot()
		if r.views == nil || slot < 0 {
			b = php.Append(nil, v.object(m, r.object(), id))
		} else if p := r.views[slot].Load(); p != nil {
			b = *p
		} else {
			b = php.Append(nil, v.object(m, r.object(), id))
			r.views[slot].Store(&b)
		}
	}
	if r.now {
		b = bytes.ReplaceAll(b, []byte(`"`+data.Now+`"`), []byte(v.now))
	}
	return b
}

// object returns what is shown of a stored object: hidden fields left out,
// interfaces named as the setting says, nested rows with their ids.
func (v *view) object(m *data.Model, o php.Object, id any) php.Object {
	out := make(php.Object, 0, len(o))
	for i := range m.Fields {
		f := &m.Fields[i]
		val, ok := o.Get(f.Name)
		if !ok || !v.shows(m, f) {
			continue
		}
		if f.Interface && v.names != nil {
			val = v.rename(val)
		}
		if list, is := val.([]any); is && f.Of != "" {
			val = v.nested(v.set.Models[f.Of], list, id)
		}
		out = append(out, php.Member{Key: f.Name, Value: val})
	}
	return out
}

func (v *view) nested(m *data.Model, list []any, parent any) []any {
	out := make([]any, 0, len(list))
	for i, e := range list {
		o, ok := e.(php.Object)
		if !ok {
			out = append(out, e)
			continue
		}
		row := php.Object{}
		if parent != nil {
			row = append(row, php.Member{Key: "parent_id", Value: parent})
		}
		row = append(row, php.Member{Key: "id", Value: int64(i)})
		out = append(out, append(row, v.object(m, o, int64(i))...))
	}
	return out
}

// rename gives an interface's id the name in force: "lan", "!lan", "lan:ip",
// alone or in a list. Other text (addresses, alias names) stays.
func (v *view) rename(val any) any {
	switch val := val.(type) {
	case []any:
		out := make([]any, len(val))
		for i := range val {
			out[i] = v.rename(val[i])
		}
		return out
	case string:
		base, not := strings.CutPrefix(val, "!")
		base, ip, _ := strings.Cut(base, ":")
		name, ok := v.names[base]
		if !ok || ip != "" && ip != "ip" {
			return val
		}
		if ip != "" {
			name += ":ip"
		}
		if not {
			name = "!" + name
		}
		return name
	}
	return val
}

// append writes one row with its ids into an answer.
func (v *view) append(dst []byte, e *data.Endpoint, m *data.Model, r *row, id, parent any, plain bool) []byte {
	dst = append(dst, '{')
	if parent != nil {
		dst = append(dst, `"parent_id":`...)
		dst = append(php.Append(dst, parent), ',')
	}
	if id != nil {
		dst = append(dst, `"id":`...)
		dst = append(php.Append(dst, id), ',')
	}
	b := v.body(m, r, id, plain)
	if len(b) == 2 {
		dst = dst[:len(dst)-1]
	}
	dst = append(dst, b[1:]...)
	if v.hateoas {
		dst = append(dst[:len(dst)-1], `,"_links":`...)
		dst = append(php.Append(dst, v.links.row(e, m, r, id, parent)), '}')
	}
	return dst
}

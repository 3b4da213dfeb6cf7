package fakepf

import (
	"time"

	"pfsensemcp/test/fakepf/data"
	"pfsensemcp/test/fakepf/php"
)

// get answers a GET that passed every check before the model.
func (s *Server) get(c *call) *answer {
	m := s.set.Models[c.ep.Model]
	k, a := controls(c, m)
	if a != nil {
		return a
	}
	if c.fault != nil && c.fault.Kind == IgnoreLimit {
		k.limit, k.offset, k.limited = 0, 0, true
	}
	s.mu.RLock()
	v := s.view()
	if (m.Name == "WireGuardTunnelStatus" || m.Name == "WireGuardPeerStatus") && !s.packages[c.ep.Package] {
		s.mu.RUnlock()
		return fail(404, "MODEL_MISSING_REQUIRED_PACKAGE", "The requested action requires the `"+c.ep.Package+"` package but it is not installed.")
	}
	var body []byte
	rows := 1
	if c.ep.Many {
		body, rows, a = s.list(c, m, k, v)
	} else {
		body, a = s.single(c, m, v)
	}
	s.mu.RUnlock()
	if a != nil {
		return a
	}
	if v.hateoas {
		body = php.Append(append(body, `,"_links":`...), v.links.page(c.ep, k.limit, k.offset))
		if s.opt.LinkDelay > 0 && !s.wait(c.req.Context(), s.opt.LinkDelay*time.Duration(rows)) {
			return html(504, page50x)
		}
	}
	return success(body)
}

// items lists the rows of a model. Rows of a child model stand in their parents' rows.
func (s *Server) items(m *data.Model, parent string) []item {
	if parent == "" && m.Name == "WireGuardPeerStatus" { // the tunnels' peers in one list, numbered through
		out := s.items(m, "WireGuardTunnelStatus")
		for i := range out {
			out[i].id, out[i].parent = int64(i), nil
		}
		return out
	}
	t := s.tables[m.Name]
	if parent == "" {
		out := make([]item, len(t.rows))
		for i, r := range t.rows {
			out[i] = item{row: r, id: rowID(m, r, i)}
		}
		return out
	}
	pm := s.set.Models[parent]
	var out []item
	for i, r := range s.tables[parent].rows {
		o := r.object()
		for _, f := range pm.Fields {
			if f.Of != m.Name {
				continue
			}
			v, _ := o.Get(f.Name)
			list, _ := v.([]any)
			for j, e := range list {
				if child, ok := e.(php.Object); ok {
					out = append(out, item{row: newRow(m, "", php.Append(nil, child)), id: int64(j), parent: rowID(pm, r, i)})
				}
			}
		}
	}
	return out
}

func rowID(m *data.Model, r *row, pos int) any {
	switch m.ID {
	case 's':
		return r.id
	case '-':
		return nil
	}
	return int64(pos)
}

// empty are the list endpoints that always answer an empty list, whatever is
// there: upstream looks for these rows in the configuration.
func empty(model string) bool {
	switch model {
	case "IPsecChildSAStatus", "OpenVPNServerConnectionStatus", "OpenVPNServerRouteStatus":
		return true
	}
	return false
}

// list builds the answer of a list endpoint up to the end of data. Caller holds mu.
func (s *Server) list(c *call, m *data.Model, k control, v *view) ([]byte, int, *answer) {
	if m.Name == "FirewallState" && !k.limited {
		k.limit = 100
	}
	var items []item
	if !empty(m.Name) {
		items = s.pick(c, m, k)
	}
	if len(k.filters) > 0 || len(k.sortBy) > 0 {
		var a *answer
		if items, a = filter(items, k.filters, m, v); a != nil {
			return nil, 0, a
		}
		if len(k.sortBy) > 0 {
			sortItems(items, k, m, v)
		}
		items = page(items, k.limit, k.offset)
		if k.reverse {
			items = reversed(items)
		}
	}
	if c.fault != nil {
		if a := c.fault.rows(items); a != nil {
			return nil, 0, a
		}
	}
	plain := v.asStored(m)
	size := 128
	for _, it := range items {
		size += len(it.row.raw) + 24
	}
	body := append(envelope(make([]byte, 0, size), 200, "SUCCESS", ""), '[')
	for i, it := range items {
		if i > 0 {
			body = append(body, ',')
		}
		body = v.append(body, c.ep, m, it.row, it.id, it.parent, plain)
	}
	return append(body, ']'), len(items), nil
}

// pick returns the rows a list asks for when it filters and sorts nothing, and
// all of them otherwise. It avoids touching rows outside the page.
func (s *Server) pick(c *call, m *data.Model, k control) []item {
	query := len(k.filters) > 0 || len(k.sortBy) > 0
	if c.ep.Parent != "" || m.Name == "WireGuardPeerStatus" {
		items := s.items(m, c.ep.Parent)
		if query {
			return items
		}
		if k.reverse {
			items = reversed(items)
		}
		return page(items, k.limit, k.offset)
	}
	rows := s.tables[m.Name].rows
	if _, isLog := data.Log(m.Name, 0); isLog && !query {
		return logPage(rows, k)
	}
	if query || k.reverse {
		items := s.items(m, "")
		if query {
			return items
		}
		return page(reversed(items), k.limit, k.offset)
	}
	part := page(rows, k.limit, k.offset)
	first := int64(0)
	if k.limit > 0 {
		first = k.offset // without a limit upstream numbers the rest from 0
	}
	items := make([]item, len(part))
	for i, r := range part {
		items[i] = item{row: r, id: rowID(m, r, int(first)+i)}
	}
	return items
}

// logPage is the logs' own paging: a limit takes the newest lines, oldest
// first, and an offset skips the newest; reversed, it takes the oldest. The id
// is the place in that one answer.
func logPage(rows []*row, k control) []item {
	n, limit, offset := int64(len(rows)), k.limit, min(k.offset, int64(len(rows)))
	if limit == 0 || limit > n-offset {
		limit = n - offset
	}
	part := rows[n-offset-limit : n-offset]
	if k.reverse {
		part = reversed(rows[offset : offset+limit])
	}
	items := make([]item, len(part))
	for i, r := range part {
		items[i] = item{row: r, id: int64(i)}
	}
	return items
}

func reversed[T any](in []T) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[len(in)-1-i] = v
	}
	return out
}

// single builds the answer of an object endpoint. Caller holds mu.
func (s *Server) single(c *call, m *data.Model, v *view) ([]byte, *answer) {
	body := envelope(make([]byte, 0, 2048), 200, "SUCCESS", "")
	if m.ID == '-' {
		if len(s.tables[m.Name].rows) == 0 { // cleared by a test
			return nil, html(500, pageXML)
		}
		r := s.computed(m, s.tables[m.Name].rows[0])
		return v.append(body, c.ep, m, r, nil, nil, v.asStored(m)), nil
	}
	id, _ := c.params.Get("id")
	if id == nil {
		return nil, fail(400, "MODEL_REQUIRES_ID", "Field `id` is required.")
	}
	it, a := s.find(c, m, id)
	if a != nil {
		return nil, a
	}
	return v.append(body, c.ep, m, it.row, id, it.parent, v.asStored(m)), nil
}

// find resolves the id and parent_id of a request to a row.
func (s *Server) find(c *call, m *data.Model, id any) (item, *answer) {
	var items []item
	var parent any
	if c.ep.Parent == "" {
		rows := s.tables[m.Name].rows
		if m.ID == 's' {
			for _, r := range rows {
				if r.id == id {
					return item{row: r, id: id}, nil
				}
			}
		} else if pos, ok := position(id, len(rows)); ok {
			return item{row: rows[pos], id: id}, nil
		}
		return item{}, notFound("Object", id)
	}
	parent, _ = c.params.Get("parent_id")
	pm := s.set.Models[c.ep.Parent]
	if parent == nil || pm.ID == '-' {
		return item{}, fail(500, "MODEL_CANNOT_GET_CONFIG_PATH_WITHOUT_PARENT_MODEL", "Model `get_config_path()` cannot be called until the parent Model has been constructed. Run the `get_parent_model()` method first.")
	}
	known := false
	for i, r := range s.tables[pm.Name].rows {
		known = known || php.Text(rowID(pm, r, i)) == php.Text(parent)
	}
	if !known {
		return item{}, notFound("Parent object", parent)
	}
	for _, it := range s.items(m, c.ep.Parent) {
		if php.Text(it.parent) == php.Text(parent) {
			items = append(items, it)
		}
	}
	pos, ok := position(id, len(items))
	if !ok {
		return item{}, notFound("Object", id)
	}
	items[pos].parent = parent
	return items[pos], nil
}

func notFound(what string, id any) *answer {
	return fail(404, ifParent(what), what+" with ID `"+php.Text(id)+"` does not exist.")
}

func ifParent(what string) string {
	if what == "Parent object" {
		return "MODEL_PARENT_OBJECT_NOT_FOUND"
	}
	return "MODEL_OBJECT_NOT_FOUND"
}

// computed gives the single objects that follow from the state their values.
func (s *Server) computed(m *data.Model, r *row) *row {
	set := func(pairs ...any) *row {
		o := r.object()
		for i := 0; i < len(pairs); i += 2 {
			o = o.Set(pairs[i].(string), pairs[i+1])
		}
		return newRow(m, "", php.Append(nil, o))
	}
	switch m.Name {
	case "FirewallApply":
		list := []any{}
		for _, p := range s.pending {
			list = append(list, p)
		}
		return set("applied", len(list) == 0, "pending_subsystems", list)
	case "FirewallStatesSize":
		return set("currentstates", int64(len(s.tables["FirewallState"].rows)))
	case "RESTAPISettings":
		st := s.settings
		over := []any{}
		for _, o := range st.OverrideSensitive {
			over = append(over, o)
		}
		return set("enabled", st.Enabled, "read_only", st.ReadOnly, "hateoas", st.HATEOAS,
			"expose_sensitive_fields", st.ExposeSensitive, "override_sensitive_fields", over, "represent_interfaces_as", st.InterfacesAs)
	}
	return r
}

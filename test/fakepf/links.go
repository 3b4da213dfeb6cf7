package fakepf

import (
	"strings"

	"pfsensemcp/test/fakepf/data"
	"pfsensemcp/test/fakepf/php"
)

// linker writes the _links that the HATEOAS setting adds.
type linker struct{ set *data.Set }

// single returns the endpoint of one object of the model, nil when there is none.
func (l linker) single(model string) *data.Endpoint {
	for _, e := range l.set.Endpoints {
		if !e.Many && e.Model == model && e.Has("GET") {
			return e
		}
	}
	return nil
}

func link(href, method, title string, id, parent any) php.Object {
	return php.Object{{Key: "href", Value: href}, {Key: "method", Value: method}, {Key: "id", Value: id}, {Key: "parent_id", Value: parent}, {Key: "title", Value: title}}
}

// row returns the links of one row.
func (l linker) row(e *data.Endpoint, m *data.Model, r *row, id, parent any) any {
	one := l.single(m.Name)
	if one == nil {
		return []any{}
	}
	title, query := m.Verbose, ""
	if id != nil {
		query = "?id=" + php.Text(id)
		title += ": " + php.Text(id)
		if parent != nil {
			query += "&parent_id=" + php.Text(parent)
		}
	}
	out := php.Object{{Key: "self", Value: link(one.Path+query, "GET", title, id, parent)}}
	if one.Has("PATCH") {
		out = append(out, php.Member{Key: "update", Value: link(one.Path, "PATCH", title, id, parent)})
	}
	if one.Has("DELETE") {
		out = append(out, php.Member{Key: "delete", Value: link(one.Path+query, "DELETE", title, id, parent)})
	}
	o := r.object()
	for _, f := range m.Fields {
		v, _ := o.Get(f.Name)
		if !f.Interface || v == nil {
			continue
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		var to []any
		for _, name := range list {
			if n := php.Text(name); n != "" && !strings.ContainsAny(n, ":!./") && n != "any" {
				to = append(to, link("/api/v2/interface?id="+n, "GET", "Network Interface: "+n, n, nil))
			}
		}
		if to != nil {
			out = append(out, php.Member{Key: "pfsense:field:" + f.Name, Value: to})
		}
	}
	return out
}

// page returns the links of a whole answer: where the next and the previous
// page are. The next one never ends.
func (l linker) page(e *data.Endpoint, limit, offset int64) any {
	if !e.Many || limit == 0 {
		return []any{}
	}
	at := func(o int64) php.Object {
		return php.Object{{Key: "href", Value: e.Path + "?offset=" + php.Text(max(o, 0)) + "&limit=" + php.Text(limit)}, {Key: "method", Value: "GET"}}
	}
	return php.Object{{Key: "prev", Value: at(offset - limit)}, {Key: "next", Value: at(offset + limit)}}
}

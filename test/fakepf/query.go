package fakepf

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pfsensemcp/test/fakepf/data"
	"pfsensemcp/test/fakepf/php"
)

// parseQuery reads a query string as PHP does: the last of two equal names
// wins, name[] collects a list, and every value gets a type.
func parseQuery(q string) php.Object {
	var out php.Object
	for part := range strings.SplitSeq(q, "&") {
		if part == "" {
			continue
		}
		k, v, _ := strings.Cut(part, "=")
		key, err := url.QueryUnescape(k)
		if err != nil {
			key = k
		}
		val, err := url.QueryUnescape(v)
		if err != nil {
			val = v
		}
		name, rest, list := strings.Cut(key, "[")
		if name = strings.NewReplacer(".", "_", " ", "_").Replace(name); name == "" {
			continue
		}
		if list && strings.HasSuffix(rest, "]") {
			old, _ := out.Get(name)
			l, _ := old.([]any)
			out = out.Set(name, append(l, php.Infer(val)))
			continue
		}
		out = out.Set(name, php.Infer(val))
	}
	return out
}

// control are the parameters that steer a list and are no filters.
type control struct {
	limit, offset int64
	limited       bool // limit was given
	reverse       bool
	sortBy        []string
	desc          bool
	filters       php.Object
}

// controls takes the control parameters apart from the filters and checks them.
func controls(c *call, m *data.Model) (control, *answer) {
	var k control
	integer := func(name string, v any) (int64, *answer) {
		if n, ok := v.(int64); ok && n >= 0 {
			return n, nil
		}
		return 0, fail(400, "ENDPOINT_"+strings.ToUpper(name)+"_FIELD_INVALID_TYPE", "Field `"+name+"` must be of type `integer`.")
	}
	dry := strings.ToLower(c.req.Header.Get("Prefer"))
	var a *answer
	for _, p := range c.params {
		switch p.Key {
		case "limit":
			k.limited = true
			k.limit, a = integer("limit", p.Value)
		case "offset":
			k.offset, a = integer("offset", p.Value)
		case "reverse":
			b, ok := p.Value.(bool)
			if k.reverse = b; !ok {
				a = fail(400, "ENDPOINT_REVERSE_FIELD_INVALID_TYPE", "Field `reverse` must be of type `boolean`.")
			}
		case "sort_by":
			list, ok := p.Value.([]any)
			if !ok {
				list = []any{p.Value}
			}
			for _, f := range list {
				name := php.Text(f)
				if name != "id" && name != "parent_id" && !slices.ContainsFunc(m.Fields, func(f data.Field) bool { return f.Name == name }) {
					return k, fail(400, "ENDPOINT_SORT_BY_FIELD_NON_EXISTENT_FIELD", "Field `sort_by` must be a valid field in the Model.")
				}
				k.sortBy = append(k.sortBy, name)
			}
		case "sort_order":
			k.desc = p.Value == "SORT_DESC"
			if !k.desc && p.Value != "SORT_ASC" {
				a = fail(400, "ENDPOINT_SORT_ORDER_FIELD_UNKNOWN_SORT_ORDER", "Field `sort_order` must be one of: [`SORT_ASC`, `SORT_DESC`].")
			}
		case "sort_flags":
			switch p.Value {
			case "SORT_REGULAR", "SORT_NUMERIC", "SORT_STRING", "SORT_LOCALE_STRING", "SORT_NATURAL", "SORT_FLAG_CASE":
			default:
				a = fail(400, "ENDPOINT_SORT_FLAGS_FIELD_UNKNOWN_SORT_FLAGS", "Field `sort_flags` must be one of: [`SORT_REGULAR`,`SORT_NUMERIC`,`SORT_STRING`,`SORT_LOCALE_STRING`,`SORT_NATURAL`,`SORT_FLAG_CASE`]")
			}
		case "dry_run":
			if p.Value == true {
				dry = "dry-run"
			}
		case "apply", "async", "append", "remove":
		default:
			k.filters = append(k.filters, p)
		}
		if a != nil {
			return k, a
		}
	}
	if prefersDryRun(dry) {
		return k, fail(400, "ENDPOINT_DRY_RUN_NOT_SUPPORTED_ON_GET", "The `dry_run` parameter is not supported on GET requests.")
	}
	return k, nil
}

// prefersDryRun reads a Prefer header as upstream does: whole parts between
// commas, no parameters.
func prefersDryRun(prefer string) bool {
	for part := range strings.SplitSeq(prefer, ",") {
		if strings.EqualFold(strings.TrimSpace(part), "dry-run") {
			return true
		}
	}
	return false
}

// item is one row of a list with the ids it is shown with.
type item struct {
	row    *row
	id     any
	parent any
	obj    php.Object // for filters and sorting; nil until needed
}

// filter keeps the items that pass every filter. Unknown fields let all pass;
// names of the model's own properties let none.
func filter(items []item, filters php.Object, m *data.Model, v *view) ([]item, *answer) {
	known := php.Filters()
	type test struct {
		field string
		f     php.Filter
		want  any
	}
	var tests []test
	for _, p := range filters {
		field, op := p.Key, "exact"
		if i := strings.LastIndex(p.Key, "__"); i >= 0 {
			field, op = p.Key[:i], p.Key[i+2:]
		}
		f := known[op]
		if f == nil {
			return nil, fail(404, "QUERY_FILTER_NOT_FOUND", "No QueryFilter class found with the name `"+op+"`.")
		}
		switch field {
		case "many", "client", "config_path", "placement", "verbose_name":
			return nil, nil
		}
		if field == "id" || field == "parent_id" || slices.ContainsFunc(m.Fields, func(x data.Field) bool { return x.Name == field }) {
			tests = append(tests, test{field, f, p.Value})
		}
	}
	if len(tests) == 0 {
		return items, nil
	}
	var out []item
next:
	for _, it := range items {
		it.load(m, v)
		for _, t := range tests {
			if !t.f(it.value(t.field), t.want) {
				continue next
			}
		}
		out = append(out, it)
	}
	return out, nil
}

// load decodes the row for filters and sorting: hidden fields too, interfaces
// in the form in force.
func (it *item) load(m *data.Model, v *view) {
	if it.obj != nil {
		return
	}
	it.obj = it.row.object()
	for _, f := range m.Fields {
		if f.Interface && v.names != nil {
			x, _ := it.obj.Get(f.Name)
			it.obj = it.obj.Set(f.Name, v.rename(x))
		}
	}
}

func (it *item) value(field string) any {
	switch field {
	case "id":
		return it.id
	case "parent_id":
		return it.parent
	}
	x, _ := it.obj.Get(field)
	if x == data.Now {
		return nil
	}
	return x
}

func sortItems(items []item, k control, m *data.Model, v *view) {
	for i := range items {
		items[i].load(m, v)
	}
	slices.SortStableFunc(items, func(a, b item) int {
		for _, f := range k.sortBy {
			x, y := a.value(f), b.value(f)
			n := 0
			if php.Less(x, y) {
				n = -1
			} else if php.Less(y, x) {
				n = 1
			}
			if k.desc {
				n = -n
			}
			if n != 0 {
				return n
			}
		}
		return 0
	})
}

// page cuts a list; it returns the items and the position of the first.
func page[T any](items []T, limit, offset int64) []T {
	if offset >= int64(len(items)) && offset > 0 {
		return nil
	}
	items = items[offset:]
	if limit > 0 && limit < int64(len(items)) {
		items = items[:limit]
	}
	return items
}

// position resolves the id of a request as PHP's array access would: integers,
// the integer part of a float, true as 1 and canonical digits as text.
func position(id any, n int) (pos int, ok bool) {
	switch v := id.(type) {
	case int64:
		pos = int(min(v, 1<<31))
	case float64:
		pos = int(v)
	case bool:
		if !v {
			return 0, false
		}
		pos = 1
	case string:
		i, err := strconv.Atoi(v)
		if err != nil || strconv.Itoa(i) != v {
			return 0, false
		}
		pos = i
	default:
		return 0, false
	}
	return pos, pos >= 0 && pos < n
}

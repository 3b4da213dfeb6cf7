package fakepf

import (
	"strings"
	"unicode/utf8"

	"pfsensemcp/test/fakepf/php"
)

// maxDescr is upstream's bound of a description, in bytes.
const maxDescr = 1024

// changeAlias applies the fields of a request to a stored alias and validates
// the whole object, as upstream does: a stored value outside the choices makes
// every change a 400.
func changeAlias(o, params php.Object) (php.Object, *answer) {
	if v, given := params.Get("name"); given {
		if now, _ := o.Get("name"); v != now {
			return nil, fail(400, "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE", "Field `name` is not editable.")
		}
	}
	for _, f := range []string{"type", "descr"} {
		v, given := params.Get(f)
		if !given {
			continue
		}
		if v == nil && f == "descr" {
			v = ""
		}
		if _, ok := v.(string); !ok {
			return nil, fail(400, "FIELD_INVALID_TYPE", "Field `"+f+"` must be of type `string`")
		}
		o = o.Set(f, v)
	}
	switch t, _ := o.Get("type"); t {
	case "host", "network", "port":
	default:
		return nil, fail(400, "FIELD_INVALID_CHOICE", "Field `type` must be one of [host, network, port]")
	}
	if d, _ := o.Get("descr"); len(php.Text(d)) > maxDescr {
		return nil, fail(400, "LENGTH_VALIDATOR_MAXIMUM_CONSTRAINT", "Field `descr` exceeds the maximum character length of 1024.")
	}
	for _, f := range []string{"address", "detail"} {
		v, given := params.Get(f)
		if !given {
			continue
		}
		list, ok := v.([]any)
		if v == nil {
			list, ok = []any{}, true // null empties the list
		}
		if !ok {
			return nil, fail(400, "FIELD_INVALID_MANY_VALUE", "Field `"+f+"` must be of type `array`.")
		}
		for _, e := range list {
			if _, ok := e.(string); !ok {
				return nil, fail(400, "FIELD_INVALID_TYPE", "Field `"+f+"` must be of type `string`")
			}
		}
		o = o.Set(f, list)
	}
	address, _ := o.Get("address")
	detail, _ := o.Get("detail")
	if a, d := listLen(address), listLen(detail); d > a {
		return nil, fail(400, "TOO_MANY_ALIAS_DETAILS", "Aliases cannot contain more `detail` items than `address` items.")
	}
	return o, nil
}

func listLen(v any) int {
	l, _ := v.([]any)
	return len(l)
}

// stored returns what the configuration file keeps of an object: a text of
// blanks alone becomes empty, line ends at its end are lost.
func (s *Server) stored(o php.Object) php.Object {
	o = o.Clone()
	if d, _ := o.Get("descr"); d != nil {
		t := php.Text(d)
		if strings.Trim(t, " \t\r\n") == "" {
			t = ""
		}
		o = o.Set("descr", strings.TrimRight(t, "\r\n"))
	}
	return o
}

// poisoned says that the object holds a character no XML file can hold.
func (s *Server) poisoned(o php.Object) bool {
	bad := func(t string) bool {
		return strings.ContainsFunc(t, func(r rune) bool {
			return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff || r == utf8.RuneError
		})
	}
	d, _ := o.Get("descr")
	if bad(php.Text(d)) {
		return true
	}
	detail, _ := o.Get("detail")
	list, _ := detail.([]any)
	for _, e := range list {
		if bad(php.Text(e)) {
			return true
		}
	}
	return false
}

// poison is what such a text does: the file cannot be read, the last backup
// comes back, and the change is gone although it was answered 200.
func (s *Server) poison() {
	s.mu.RLock()
	next := s.snapshot()
	s.mu.RUnlock()
	s.save(next, "(system): restored the last configuration backup")
}

package conf

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pfsensemcp/pkg/conf/internal/check"
	"pfsensemcp/pkg/conf/internal/tomldoc"
)

// loadFile reads the file into the fields.
func (r *Report) loadFile(o Options) {
	if o.Path == "" {
		return
	}
	shown := check.Name(o.Path)
	data, broken := tomldoc.Read(o.Path, o.Optional)
	if broken != "" {
		r.faults, r.unread = append(r.faults, Fault{Where: shown, Rule: broken}), true
		return
	}
	r.parse(shown, data)
}

// parse sets the fields from a document.
func (r *Report) parse(shown string, data []byte) {
	doc, line, broken := tomldoc.Parse(data)
	if broken != "" {
		x := Fault{Where: shown, Rule: broken, line: line}
		if line > 0 {
			x.Where = fmt.Sprintf("%s:%d", shown, line)
		}
		r.faults, r.unread = append(r.faults, x), true
		return
	}
	s := &source{r: r, shown: shown, doc: doc}
	s.table(doc.Root, "")
}

// source sets fields from one decoded document.
type source struct {
	r     *Report
	shown string
	doc   *tomldoc.Doc
}

// table sets the fields of one table; prefix ends in a dot or is empty.
func (s *source) table(t map[string]any, prefix string) {
	for _, key := range slices.Sorted(maps.Keys(t)) {
		name, val := prefix+key, t[key]
		x := Fault{Setting: check.Name(name), line: s.doc.Line(prefix, key)}
		x.Where = s.shown
		if x.line > 0 {
			x.Where = fmt.Sprintf("%s:%d", s.shown, x.line)
		}
		isTable := s.isTable(name)
		f := s.r.find(name)
		// A quoted key may hold dots and so look like a key of a table.
		if strings.Contains(key, ".") {
			isTable, f = false, nil
			x.Setting = check.Name(prefix) + strconv.QuoteToASCII(key[:min(len(key), check.MaxName)])
		}
		switch sub, ok := val.(map[string]any); {
		case isTable && ok:
			s.table(sub, name+".")
		case isTable:
			x.Rule = "must be a table"
			s.r.faults = append(s.r.faults, x)
		case f == nil:
			x.Rule = "is no setting" + check.Nearest(name, s.known(prefix))
			s.r.faults = append(s.r.faults, x)
		default:
			f.where, f.line = x.Where, x.line
			if x.Rule = s.r.give(f, tomlValue{val}, val == ""); x.Rule != "" {
				s.r.add(f, x)
			}
		}
	}
}

func (s *source) isTable(name string) bool {
	return slices.ContainsFunc(s.r.fields, func(f *field) bool { return strings.HasPrefix(f.name, name+".") })
}

// known lists the keys and tables that there are in one table.
func (s *source) known(prefix string) []string {
	var out []string
	for _, f := range s.r.fields {
		if rest, ok := strings.CutPrefix(f.name, prefix); ok {
			key, _, _ := strings.Cut(rest, ".")
			out = append(out, prefix+key)
		}
	}
	return out
}

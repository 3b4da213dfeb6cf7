package conf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFile bounds a settings file: the fullest one is under 8 KiB.
const maxFile = 64 << 10

// loadFile reads the file into the fields.
func (r *Report) loadFile(o Options) {
	if o.Path == "" {
		return
	}
	shown := quoteName(o.Path)
	data, rule := readFile(o.Path, o.Optional)
	if rule != "" {
		r.faults, r.unread = append(r.faults, Fault{Where: shown, Rule: rule}), true
		return
	}
	r.parse(shown, data)
}

// readFile returns the bytes of a regular file of bounded size. A missing one
// is empty when it may be missing.
func readFile(path string, optional bool) (data []byte, rule string) {
	// Non-blocking, so that a pipe in the file's place cannot hang the start.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist) && optional:
		return nil, ""
	case errors.Is(err, fs.ErrNotExist):
		return nil, "the settings file does not exist"
	case errors.Is(err, fs.ErrPermission):
		return nil, "the settings file cannot be read: permission denied"
	case err != nil:
		return nil, "the settings file cannot be opened"
	}
	defer func() { _ = f.Close() }() // read only: a failing close loses nothing
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, "the settings file must be a regular file"
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, "the settings file cannot be read"
	}
	if len(data) > maxFile {
		return nil, fmt.Sprintf("the settings file must have at most %d bytes", maxFile)
	}
	return data, ""
}

// parse decodes the document into plain values, finds the line of every key, and
// sets the fields. It does not let the library fill the struct: that would match
// keys in any case, stop at the first wrong type, and quote values.
func (r *Report) parse(shown string, data []byte) {
	doc := map[string]any{}
	if err := toml.Unmarshal(data, &doc); err != nil {
		x := Fault{Where: shown, Rule: "is not valid TOML"}
		if de, ok := errors.AsType[*toml.DecodeError](err); ok {
			x.line, _ = de.Position()
			x.Where = fmt.Sprintf("%s:%d", shown, x.line)
			x.Rule = "is not valid TOML" + ownWords(de.Error())
		}
		r.faults, r.unread = append(r.faults, x), true
		return
	}
	s := &source{r: r, shown: shown, lines: keyLines(data)}
	s.table(doc, "")
}

// ownWords returns the part of a message of the TOML library that is constant
// text: it may go on to quote the document, which may hold a secret by mistake.
func ownWords(msg string) string {
	msg = strings.TrimPrefix(msg, "toml: ")
	for _, cut := range []string{" but got", " but found", ":", "U+", "'", "\"", "`"} {
		msg, _, _ = strings.Cut(msg, cut)
	}
	for i := range len(msg) {
		if c := msg[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte(" -,()", c) >= 0) {
			msg = msg[:i]
			break
		}
	}
	// A message that shows what it found without a mark before it is dropped.
	known := false
	for _, w := range []string{"expected ", "invalid ", "unterminated ", "incomplete ", "missing ", "unexpected "} {
		known = known || strings.HasPrefix(msg, w)
	}
	if msg = strings.TrimSpace(msg); msg == "" || !known {
		return ""
	}
	return ": " + msg
}

// source sets fields from one decoded document.
type source struct {
	r     *Report
	shown string
	lines map[string]int
}

// table sets the fields of one table; prefix ends in a dot or is empty.
func (s *source) table(t map[string]any, prefix string) {
	for _, key := range slices.Sorted(maps.Keys(t)) {
		name, val := prefix+key, t[key]
		x := Fault{Setting: quoteName(name), line: s.lines[pathKey(prefix, key)]}
		x.Where = s.shown
		if x.line > 0 {
			x.Where = fmt.Sprintf("%s:%d", s.shown, x.line)
		}
		isTable := s.isTable(name)
		f := s.field(name)
		// A quoted key may hold dots and so look like a key of a table.
		if strings.Contains(key, ".") {
			isTable, f = false, nil
			x.Setting = quoteName(prefix) + strconv.QuoteToASCII(key[:min(len(key), maxName)])
		}
		switch sub, ok := val.(map[string]any); {
		case isTable && ok:
			s.table(sub, name+".")
		case isTable:
			x.Rule = "must be a table"
			s.r.faults = append(s.r.faults, x)
		case f == nil:
			x.Rule = "is no setting" + nearest(name, s.known(prefix))
			s.r.faults = append(s.r.faults, x)
		default:
			f.where, f.line = x.Where, x.line
			if x.Rule = s.r.give(f, tomlValue{val}, val == ""); x.Rule != "" {
				s.r.add(f, x)
			}
		}
	}
}

func (s *source) field(name string) *field {
	for _, f := range s.r.fields {
		if f.name == name {
			return f
		}
	}
	return nil
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

// pathKey joins a table's path and a key so that a key with dots stays apart from
// a path with the same text.
func pathKey(prefix, key string) string { return prefix + "\x00" + key }

// keyLines returns the line on which each key and table of a valid document is
// first written.
func keyLines(data []byte) map[string]int {
	var ends []int
	for i, c := range data {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	lines := map[string]int{}
	note := func(prefix string, keys unstable.Iterator) string {
		for keys.Next() {
			n := keys.Node()
			p := pathKey(prefix, string(n.Data))
			if lines[p] == 0 {
				lines[p] = 1 + sort.SearchInts(ends, int(n.Raw.Offset))
			}
			prefix += string(n.Data) + "."
		}
		return prefix
	}
	var pair func(prefix string, kv *unstable.Node)
	pair = func(prefix string, kv *unstable.Node) {
		prefix = note(prefix, kv.Key())
		if v := kv.Value(); v.Kind == unstable.InlineTable {
			for it := v.Children(); it.Next(); {
				pair(prefix, it.Node())
			}
		}
	}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = note("", e.Key())
		case unstable.KeyValue:
			pair(table, e)
		}
	}
	return lines
}

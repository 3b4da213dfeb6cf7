package logging

import (
	"encoding/json/jsontext"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

const (
	// maxValue bounds one value in bytes, before it is escaped (to six times
	// that at worst).
	maxValue = 2048
	// maxLine bounds a line: journald cuts one at 48 KiB and would leave half of
	// a JSON object.
	maxLine = 32 << 10
	// cutMark ends a value that was longer.
	cutMark = "[cut]"
)

// levelName returns the name of a level and journald's number for it.
func levelName(l slog.Level) (name string, priority byte) {
	switch {
	case l >= levelAudit:
		return "INFO", '5'
	case l >= slog.LevelError:
		return "ERROR", '3'
	case l >= slog.LevelWarn:
		return "WARN", '4'
	case l >= slog.LevelInfo:
		return "INFO", '6'
	}
	return "DEBUG", '7'
}

// line returns the finished line of a record: one line, printable ASCII, without
// secrets.
func (c *core) line(r slog.Record, as []slog.Attr) []byte {
	w := &writer{c: c, b: make([]byte, 0, 512), keys: []string{"time", "level", "daemon", "msg", "cut"}}
	name, priority := levelName(r.Level)
	if c.text {
		w.b = r.Time.AppendFormat(w.b, "15:04:05.000 ")
		w.b = append(append(w.b, name...), "      "[:6-len(name)]...)
		w.b = appendASCII(w.b, w.clean(r.Message), false)
	} else {
		w.b = append(w.b, `{"time":"`...)
		w.b = r.Time.UTC().AppendFormat(w.b, "2006-01-02T15:04:05.000000Z")
		w.b = append(append(w.b, `","level":"`...), name...)
		w.b = append(w.b, `","daemon":`...)
		w.str(c.daemon)
		w.b = append(w.b, `,"msg":`...)
		w.str(r.Message)
	}
	for _, a := range as {
		w.attr("", a)
	}
	if w.cut {
		w.key("cut")
		w.b = append(w.b, "true"...)
	}
	if !c.text {
		w.b = append(w.b, '}')
	}
	// Values were scrubbed one by one before they were cut; the whole line is
	// scrubbed again, in the form in which it leaves.
	out := c.red.scrub(w.b)
	if len(out) != len(w.b) && !c.text && !jsontext.Value(out).IsValid() {
		// A secret made of the signs of JSON itself: nothing of the line is
		// worth the risk.
		out = []byte(`{"level":"` + name + `","msg":"` + redacted + `"}`)
	}
	if c.journal {
		out = append([]byte{'<', priority, '>'}, out...)
	}
	return append(out, '\n')
}

// writer builds one line.
type writer struct {
	c    *core
	b    []byte
	keys []string // written already: a JSON object with a key twice is none
	cut  bool
}

// attr writes one attribute, a group as one attribute per member.
func (w *writer) attr(prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if a.Key == "" && v.Kind() != slog.KindGroup {
		return
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, m := range v.Group() {
			w.attr(prefix, m)
		}
		return
	}
	if err, ok := v.Any().(error); ok && v.Kind() == slog.KindAny {
		for _, e := range errAttrs(err) {
			if e.Key == KeyError {
				e.Key = a.Key
			}
			w.attr(prefix, e)
		}
		return
	}
	if len(w.b) > maxLine-6*maxValue {
		w.cut = true
		return
	}
	key := prefix + a.Key
	if slices.Contains(w.keys, key) {
		return // the first wins: With is called by who knows more
	}
	w.keys = append(w.keys, key)
	if w.c.unknown != nil && !KnownKey(key) {
		w.c.unknown(key)
	}
	w.key(key)
	w.value(v)
}

// key writes the separator and the key.
func (w *writer) key(k string) {
	k = w.clean(k)
	if w.c.text {
		w.b = append(appendASCII(append(w.b, ' '), k, false), '=')
		return
	}
	w.b = append(appendASCII(append(w.b, `,"`...), k, true), `":`...)
}

// value writes a value. Kinds that are not known are shown by their type alone: a
// struct printed by reflection is how keys and outside text get into logs.
func (w *writer) value(v slog.Value) {
	switch v.Kind() {
	case slog.KindString:
		w.str(v.String())
	case slog.KindBool:
		w.b = strconv.AppendBool(w.b, v.Bool())
	case slog.KindInt64:
		w.b = strconv.AppendInt(w.b, v.Int64(), 10)
	case slog.KindUint64:
		w.b = strconv.AppendUint(w.b, v.Uint64(), 10)
	case slog.KindFloat64:
		w.str(strconv.FormatFloat(v.Float64(), 'g', -1, 64))
	case slog.KindDuration:
		w.str(v.Duration().String())
	case slog.KindTime:
		w.str(v.Time().UTC().Format(time.RFC3339Nano))
	default:
		if list, ok := v.Any().([]string); ok {
			w.list(list)
			return
		}
		name := "nil"
		if t := reflect.TypeOf(v.Any()); t != nil {
			name = t.String()
		}
		w.str("(" + name + ")")
	}
}

// list writes texts as an array, at most 64 of them, within the bound of a value.
func (w *writer) list(list []string) {
	open := len(w.b)
	w.b = append(w.b, '[')
	for i, s := range list {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		if i == 64 || len(w.b)-open > maxValue {
			w.str(cutMark)
			break
		}
		w.str(s)
	}
	w.b = append(w.b, ']')
}

// clean takes secrets out of a text and then bounds it. In this order: the first
// half of a key would not be found any more.
func (w *writer) clean(s string) string {
	if w.c.red.canHold(len(s)) {
		s = string(w.c.red.scrub([]byte(s)))
	}
	if len(s) <= maxValue {
		return s
	}
	n := maxValue
	for n > 0 && n > maxValue-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + cutMark
}

// str writes a text value. The readable form leaves the quotes out when nothing in
// the text could be taken for another key.
func (w *writer) str(s string) {
	s = w.clean(s)
	if w.c.text && bare(s) {
		w.b = append(w.b, s...)
		return
	}
	w.b = append(appendASCII(append(w.b, '"'), s, true), '"')
}

// bare says whether a text needs no quotes in the readable form.
func bare(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '=' {
			return false
		}
	}
	return s != ""
}

// appendASCII appends s with everything but printable ASCII as JSON escapes, so
// that a line is one line on every terminal. Bytes that are not UTF-8 become
// \ufffd. Quotes and backslashes are escaped when quoted is set, and always the
// backslash, so that an escape cannot be confused with its text.
func appendASCII(b []byte, s string, quoted bool) []byte {
	const digits = "0123456789abcdef"
	u16 := func(b []byte, r rune) []byte {
		return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	}
	for _, r := range s {
		switch {
		case r == '"' && quoted, r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r < 0x7f:
			b = append(b, byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\t':
			b = append(b, '\\', 't')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r > 0xffff:
			r -= 0x10000
			b = u16(u16(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
		default:
			b = u16(b, r)
		}
	}
	return b
}

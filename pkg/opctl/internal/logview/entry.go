// Package logview owns what `mcpctl logs` makes of the daemons' logs: one list out of
// four, in which the lines of one request stand together.
//
// Only opctl's inner package host imports it. It reads lines that daemons wrote and
// keeps a bounded number of them; it must never pass a byte of one on without
// textsafe, whatever the daemon promised.
//
// The attack it stops: a log line that an outsider shaped, or a daemon that was
// subverted, driving the operator's terminal or filling its memory.
package logview

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/pkg/textsafe"
)

// Bounds of what is read and kept.
const (
	MaxLine    = 64 << 10 // bytes of one line; a daemon's has half of that
	MaxEntries = 10_000
	maxAttrs   = 32
	maxValue   = 300 // bytes of a value as it is shown
	maxWord    = 64  // bytes of a name as it is shown
)

// Daemons are those whose logs there are.
func Daemons() []string { return []string{"mcpd", "guidanced", "docfetchd", "executord"} }

// Attr is one attribute of a line, cleaned.
type Attr struct{ Key, Value string }

// Entry is one line. All of its texts are cleaned.
type Entry struct {
	Time      time.Time
	Daemon    string
	Level     string
	Msg       string
	RequestID string
	Attrs     []Attr
}

func clean(s string, most int) string { return textsafe.Clean(s, most) }

// ParseLine reads one line of a daemon's log. What is no JSON object is an entry all
// the same: a panic is no JSON, and is what one looks for.
func ParseLine(daemon string, line []byte, at time.Time) Entry {
	e := Entry{Time: at, Daemon: daemon}
	line = line[:min(len(line), MaxLine)]
	members, ok := object(line)
	if !ok {
		e.Msg = clean(string(line), maxValue)
		return e
	}
	for _, m := range members {
		text := m.text()
		switch m.name {
		case "time":
			if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
				e.Time = t
			}
		case "level":
			e.Level = clean(text, maxWord)
		case "daemon": // the file or the journal says whose it is, not the line
		case "msg":
			e.Msg = clean(text, maxValue)
		case "request_id":
			e.RequestID = clean(text, maxWord)
		default:
			if len(e.Attrs) < maxAttrs {
				e.Attrs = append(e.Attrs, Attr{clean(m.name, maxWord), clean(text, maxValue)})
			}
		}
	}
	return e
}

// member is one member of an object.
type member struct {
	name  string
	value jsontext.Value
}

// text is a value as it is shown: a text as it is, everything else as JSON.
func (m member) text() string {
	if m.value.Kind() == '"' {
		var s string
		if json.Unmarshal(m.value, &s) == nil {
			return s
		}
	}
	return string(m.value)
}

// object reads the members of a JSON object in their order.
func object(line []byte) ([]member, bool) {
	dec := jsontext.NewDecoder(strings.NewReader(string(line)))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	var out []member
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		out = append(out, member{key, slices.Clone(value)})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	_, err := dec.ReadToken()
	return out, err == io.EOF
}

// ParseJournal reads one line of `journalctl -o json`. ok is false for what is none, or
// is of a unit that is not ours.
func ParseJournal(line []byte) (e Entry, ok bool) {
	members, ok := object(line)
	if !ok || len(line) > MaxLine*2 {
		return Entry{}, false
	}
	fields := map[string]jsontext.Value{}
	for _, m := range members {
		fields[m.name] = m.value
	}
	get := func(name string) string { return member{value: fields[name]}.text() }
	unit := get("_SYSTEMD_UNIT")
	if d := daemonOf(unit); d == "" {
		unit = get("UNIT") // what systemd itself says of a unit
	}
	daemon := daemonOf(unit)
	if daemon == "" {
		return Entry{}, false
	}
	at := time.Time{}
	if us, err := strconv.ParseInt(get("__REALTIME_TIMESTAMP"), 10, 64); err == nil {
		at = time.UnixMicro(us).UTC()
	}
	return ParseLine(daemon, message(fields["MESSAGE"]), at), true
}

// daemonOf returns the daemon of a unit, "" for another one.
func daemonOf(unit string) string {
	name, ok := strings.CutPrefix(unit, "pfsense-")
	if !ok {
		return ""
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".service"), ".socket")
	name = strings.TrimSuffix(name, "-admin")
	if slices.Contains(Daemons(), name) {
		return name
	}
	return ""
}

// message reads a message: a text, or the numbers of its bytes when it is not UTF-8.
func message(v jsontext.Value) []byte {
	switch v.Kind() {
	case '"':
		return []byte(member{value: v}.text())
	case '[':
		var nums []uint8
		var list []int
		if json.Unmarshal(v, &list) != nil {
			return nil
		}
		for _, n := range list {
			nums = append(nums, uint8(n))
		}
		return nums
	}
	return []byte("(a line that the journal does not show)")
}

// Group sorts entries by time and puts those of one request together, where the first
// of them stands.
func Group(list []Entry) []Entry {
	slices.SortStableFunc(list, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	at := map[string]int{}
	var groups [][]Entry
	for _, e := range list {
		i, known := at[e.RequestID]
		if e.RequestID == "" || !known {
			i = len(groups)
			groups = append(groups, nil)
			if e.RequestID != "" {
				at[e.RequestID] = i
			}
		}
		groups[i] = append(groups[i], e)
	}
	return slices.Concat(groups...)
}

// Print writes one entry as a line. within says that it belongs to the request of the
// line before.
func Print(w io.Writer, e Entry, within bool) error {
	indent := ""
	if within {
		indent = "  "
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s %-9s %-5s %s", indent, e.Time.UTC().Format("2006-01-02T15:04:05.000Z"), e.Daemon, e.Level, e.Msg)
	for _, a := range e.Attrs {
		fmt.Fprintf(&b, " %s=%s", a.Key, value(a.Value))
	}
	if e.RequestID != "" {
		b.WriteString(" request_id=" + value(e.RequestID))
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

// value quotes what could be taken for another attribute.
func value(s string) string {
	if s == "" || strings.ContainsAny(s, " =\"") {
		return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
	}
	return s
}

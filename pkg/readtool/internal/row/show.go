package row

import (
	"bytes"
	"encoding/json/jsontext"
	"slices"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/textsafe"
)

// MaxText bounds every text that is shown, in bytes: long enough for a
// certificate chain or a page of options, short enough that one field cannot
// be an answer of its own.
const MaxText = 16 << 10

// Limits bounds values further than MaxText does, to make a single row fit an
// answer. The zero value adds no bound.
type Limits struct {
	Text  int // bytes of one text
	List  int // entries of one list
	Total int // bytes of dst behind which lists end at once: the result is too long anyway
}

// over says that dst is already longer than its user can use.
func (l Limits) over(dst []byte) bool { return l.Total > 0 && len(dst) > l.Total }

// shown is a text as it is shown, and what was done to it on the way.
type shown struct {
	text                 string
	masked, outside, cut bool
}

// show gives what is shown of a JSON string: unquoted, trimmed where the model
// says so, scrubbed unless it is of the known set, escaped, bounded to MaxText
// and, if limit is not 0, to limit bytes.
func show(f *field, quoted []byte, limit int) (s shown) {
	plain := unquote(quoted)
	if f.Mark&catalog.TrimEnd != 0 {
		plain = strings.TrimRight(plain, "\r\n")
	}
	if f.Values != nil {
		if slices.Contains(f.Values, plain) {
			return shown{text: plain}
		}
		s.outside = plain != "" // an empty text is how the appliance says "not set"
	}
	plain, s.masked = textsafe.Scrub(plain, f.Mark&catalog.MayEmbed != 0)
	s.text = textsafe.Clean(plain, MaxText)
	if limit > 0 && len(s.text) > limit {
		s.text, s.cut = textsafe.Clean(plain, limit), true
	}
	return s
}

// unquote returns the text of a valid JSON string.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	plain, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return ""
	}
	return string(plain)
}

// Value is one value as it is shown: what a filter compares.
type Value struct {
	Null bool   // null, absent or hidden
	Text string // of a String
	Raw  []byte // the appliance's own digits, true or false; or the text of a list or object, not to be compared
}

// Each calls visit with every value that stands at a path in the current row,
// entries of lists and fields of nested rows one by one, until visit returns
// true; it reports whether one did. A missing list or nested row is one null.
func (d *Decoder) Each(p Path, visit func(Value) bool) bool {
	return d.each(d.shape, top, p.steps, visit)
}

func (d *Decoder) each(s *Shape, base int32, steps []int, visit func(Value) bool) bool {
	f := &s.fields[steps[0]]
	at := base + 1 + int32(steps[0])
	c := d.cells[at]
	if st := d.shownState(f, base, at); st != value && st != own {
		return visit(Value{Null: true})
	}
	switch {
	case len(steps) > 1:
		for obj := c.first; obj != 0; obj = d.cells[obj].next {
			if d.each(f.sub, obj, steps[1:], visit) {
				return true
			}
		}
		return false
	case f.Kind == catalog.Object:
		return visit(Value{Raw: d.span(c)})
	case f.List:
		return d.eachEntry(d.span(c), func(v []byte) bool { return visit(d.scalar(f, v)) })
	}
	return visit(d.scalar(f, d.span(c)))
}

// scalar is what is shown of one scalar's text.
func (d *Decoder) scalar(f *field, v []byte) Value {
	switch {
	case !fits(f.Kind, v):
		return Value{Null: true}
	case f.Kind == catalog.String:
		return Value{Text: show(f, v, 0).text}
	}
	return Value{Raw: v}
}

// eachEntry calls visit with the text of every entry of a list that Decode has
// found valid, until visit returns true.
func (d *Decoder) eachEntry(list []byte, visit func([]byte) bool) bool {
	d.list = *bytes.NewBuffer(list)
	d.entry.Reset(&d.list, d.opts...)
	if _, err := d.entry.ReadToken(); err != nil {
		return false
	}
	for d.entry.PeekKind() != ']' {
		v, err := d.entry.ReadValue()
		if err != nil {
			return false
		}
		if visit(v) {
			return true
		}
	}
	return false
}

// Append writes the current row as shown: picked fields in the model's order,
// absent ones left out, null and hidden ones null (hidden lists empty).
func (d *Decoder) Append(dst []byte, pick *Pick, lim Limits) []byte {
	return d.appendObject(dst, d.shape, top, pick, lim)
}

func (d *Decoder) appendObject(dst []byte, s *Shape, base int32, pick *Pick, lim Limits) []byte {
	dst = append(dst, '{')
	first := true
	for i := range s.shown {
		f := &s.fields[i]
		at := base + 1 + int32(i)
		st := d.shownState(f, base, at)
		if d.hides(f) {
			st = hidden // whether or not the appliance sent it
		}
		if st == absent || !pick.has(i) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, f.label...)
		switch {
		case st == hidden && f.List:
			dst = append(dst, "[]"...)
		case st != value && st != own:
			dst = append(dst, "null"...)
		case f.Kind == catalog.Object:
			dst = d.appendRows(dst, f, d.cells[at], pick.under(i), lim)
		case f.List:
			dst = d.appendList(dst, f, d.span(d.cells[at]), lim)
		default:
			dst = d.appendScalar(dst, f, d.span(d.cells[at]), lim)
		}
	}
	return append(dst, '}')
}

func (d *Decoder) appendRows(dst []byte, f *field, c cell, pick *Pick, lim Limits) []byte {
	if !f.List {
		return d.appendObject(dst, f.sub, c.first, pick, lim)
	}
	dst = append(dst, '[')
	n := 0
	for obj := c.first; obj != 0 && !lim.over(dst); obj = d.cells[obj].next {
		if lim.List > 0 && n == lim.List {
			d.Counts.Cut++
			break
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		n++
		dst = d.appendObject(dst, f.sub, obj, pick, lim)
	}
	return append(dst, ']')
}

func (d *Decoder) appendList(dst []byte, f *field, list []byte, lim Limits) []byte {
	dst = append(dst, '[')
	n := 0
	d.eachEntry(list, func(v []byte) bool {
		if lim.List > 0 && n == lim.List {
			d.Counts.Cut++
			return true
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		n++
		dst = d.appendScalar(dst, f, v, lim)
		return lim.over(dst)
	})
	return append(dst, ']')
}

func (d *Decoder) appendScalar(dst []byte, f *field, v []byte, lim Limits) []byte {
	if !fits(f.Kind, v) {
		return append(dst, "null"...)
	}
	if f.Kind != catalog.String {
		return append(dst, v...)
	}
	s := show(f, v, lim.Text)
	if s.masked {
		d.Counts.Masked++
	}
	if s.outside {
		d.Counts.Outside = append(d.Counts.Outside, int32(f.id))
	}
	if s.cut {
		d.Counts.Cut++
	}
	quoted, err := jsontext.AppendQuote(dst, s.text)
	if err != nil { // not UTF-8: cannot happen behind Clean, and must not end an answer
		return append(dst, "null"...)
	}
	return quoted
}

package row

import (
	"bytes"
	"encoding/json/jsontext"
	"strconv"

	"pfsensemcp/pkg/catalog"
)

// maxNumber bounds the text of a number: 64 bits need 20 digits, a double 24;
// a longer literal is text in disguise.
const maxNumber = 40

// maxCells bounds the cells of one row, some 2.5 MB: `{},{},…` would otherwise
// turn 8 MiB of an answer into more than a gigabyte of ours. The largest real
// rows, DHCP servers with all their mappings, need some thousands.
const maxCells = 1 << 17

// state is what stands in a cell.
type state uint8

const (
	absent state = iota
	null
	value      // cell.start..cell.end of the row
	own        // cell.start..cell.end of Decoder.own
	wrong      // a value of the wrong type, or two values: shown as null
	hidden     // gated, and not null upstream
	hiddenNull // gated, and null upstream; shown exactly as hidden
)

// cell is one field of one object. Each object takes one header cell, whose
// next is the next object of the same list, and one cell a field behind it.
type cell struct {
	start, end  int32
	first, next int32 // header cells: first nested object, next object in the list; 0 for none
	state       state
}

// Decoder decodes rows of one shape, one at a time. It is not safe for
// concurrent use; everything it returns is valid until the next Decode.
type Decoder struct {
	shape *Shape
	open  bool // gated fields are shown
	dec   *jsontext.Decoder
	src   bytes.Buffer
	opts  []jsontext.Options
	raw   []byte
	own   []byte
	cells []cell

	entry  *jsontext.Decoder // over the entries of one list, while shown
	list   bytes.Buffer
	name   []byte // scratch for escaped names
	Counts Counts
}

// NewDecoder returns a decoder; open says that gated fields are shown.
func NewDecoder(s *Shape, open bool) *Decoder {
	d := &Decoder{shape: s, open: open, opts: []jsontext.Options{
		// Twice-named members are found by the cells, for the modelled names
		// alone: jsontext's own set of names costs as much as the scan.
		jsontext.AllowDuplicateNames(true),
	}}
	d.dec = jsontext.NewDecoder(&d.src, d.opts...)
	d.entry = jsontext.NewDecoder(&d.list, d.opts...)
	d.Reset()
	return d
}

// Decode reads one row. It reports false for what is not an object of valid
// JSON. raw must stay unchanged until the next Decode.
func (d *Decoder) Decode(raw []byte) bool {
	d.raw, d.own, d.cells = raw, d.own[:0], d.cells[:0]
	d.src = *bytes.NewBuffer(raw)
	d.dec.Reset(&d.src, d.opts...)
	if d.dec.PeekKind() != '{' {
		return false
	}
	d.cells = append(d.cells, cell{}) // so that no object's number is 0
	_, ok := d.object(d.shape)
	return ok
}

// Usable says whether the row, after what Set added, has every field that the
// model marks as its key, and counts the fields it lacks. A hidden field is
// neither asked for nor counted: not even its presence may show.
func (d *Decoder) Usable() bool {
	for i := range d.shape.shown {
		f := &d.shape.fields[i]
		if f.Mark&catalog.OrID != 0 {
			d.fallBack(&d.cells[top+1+int32(i)])
		}
		if s := d.cells[top+1+int32(i)].state; f.Mark&catalog.Key != 0 && s != value && s != own && !d.hides(f) {
			return false
		}
	}
	for i := range d.shape.shown {
		f := &d.shape.fields[i]
		if d.cells[top+1+int32(i)].state == absent && f.Mark&catalog.Derived == 0 && !d.hides(f) {
			d.Counts.Absent[f.id]++
		}
	}
	return true
}

// fallBack lets the row's id stand for a text that it lacks.
func (d *Decoder) fallBack(c *cell) {
	at, ok := d.shape.index["id"]
	if !ok || at == ignored || d.shape.fields[at].Kind != catalog.String || c.state != absent && c.state != null {
		return
	}
	if id := d.cells[top+1+int32(at)]; id.state == value {
		*c = id
	}
}

// hides says whether the caller may not see the field.
func (d *Decoder) hides(f *field) bool { return f.gated() && !d.open }

// top is the number of the row's own header cell.
const top = int32(1)

// object reads one object into new cells and returns its number. It reports
// false for bad syntax and for a row of too many objects.
func (d *Decoder) object(s *Shape) (int32, bool) {
	if _, err := d.dec.ReadToken(); err != nil {
		return 0, false
	}
	if len(d.cells)+1+len(s.fields) > maxCells {
		return 0, false
	}
	base := int32(len(d.cells))
	for range 1 + len(s.fields) {
		d.cells = append(d.cells, cell{})
	}
	next := 0
	for d.dec.PeekKind() != '}' {
		name, err := d.dec.ReadValue()
		if err != nil || len(name) < 2 {
			return 0, false
		}
		// Members come in the model's order, nearly always: to compare with the
		// next one costs a fraction of finding it.
		at, known := next, next < len(s.fields) && s.fields[next].sent && s.fields[next].Up == string(name[1:len(name)-1])
		if !known {
			at, known = s.index[string(name[1:len(name)-1])]
		}
		if !known && bytes.IndexByte(name, '\\') >= 0 {
			if d.name, err = jsontext.AppendUnquote(d.name[:0], name); err != nil {
				return 0, false
			}
			at, known = s.index[string(d.name)]
		}
		switch {
		case !known:
			d.Counts.Unknown++
			err = d.dec.SkipValue()
		case at == ignored:
			err = d.dec.SkipValue()
		default:
			next = at + 1
			if !d.member(&s.fields[at], base+1+int32(at)) {
				return 0, false
			}
		}
		if err != nil {
			return 0, false
		}
	}
	_, err := d.dec.ReadToken()
	return base, err == nil
}

// member reads the value of one modelled name into its cell. It reports false
// for a syntax error alone.
func (d *Decoder) member(f *field, at int32) bool {
	kind := d.dec.PeekKind()
	switch {
	case d.hides(f):
		d.cells[at].state = hidden
		if kind == 'n' {
			d.cells[at].state = hiddenNull
		}
		return d.dec.SkipValue() == nil
	case d.cells[at].state != absent:
		return d.drop(f, at)
	case kind == 'n':
		d.cells[at].state = null
		return d.dec.SkipValue() == nil
	case f.List:
		if kind != '[' {
			return d.drop(f, at)
		}
		return d.entries(f, at)
	case f.Kind == catalog.Object:
		if kind != '{' {
			return d.drop(f, at)
		}
		return d.nested(f, at)
	}
	v, err := d.dec.ReadValue()
	if err != nil {
		return false
	}
	if !fits(f.Kind, v) {
		d.wrong(f, at)
		return true
	}
	end := int32(d.dec.InputOffset())
	c := &d.cells[at]
	c.state, c.start, c.end = value, end-int32(len(v)), end
	return true
}

// drop skips a value that does not fit its field.
func (d *Decoder) drop(f *field, at int32) bool {
	d.wrong(f, at)
	return d.dec.SkipValue() == nil
}

func (d *Decoder) wrong(f *field, at int32) {
	d.cells[at].state = wrong
	if f.id >= 0 {
		d.Counts.Wrong[f.id]++
	}
}

// nested reads the one object of a field.
func (d *Decoder) nested(f *field, at int32) bool {
	start := d.dec.InputOffset()
	obj, ok := d.object(f.sub)
	c := &d.cells[at]
	c.state, c.first = value, obj
	c.start, c.end = int32(start), int32(d.dec.InputOffset())
	return ok
}

// entries reads a list. Objects get cells of their own; scalars are checked and
// read again when they are shown.
func (d *Decoder) entries(f *field, at int32) bool {
	if _, err := d.dec.ReadToken(); err != nil {
		return false
	}
	start := int32(d.dec.InputOffset()) - 1
	last := int32(0)
	for d.dec.PeekKind() != ']' {
		kind := d.dec.PeekKind()
		if f.Kind == catalog.Object && kind == '{' {
			obj, ok := d.object(f.sub)
			if !ok {
				return false
			}
			if last == 0 {
				d.cells[at].first = obj
			} else {
				d.cells[last].next = obj
			}
			last = obj
			continue
		}
		v, err := d.dec.ReadValue()
		if err != nil {
			return false
		}
		if f.Kind == catalog.Object || kind != 'n' && !fits(f.Kind, v) {
			d.Counts.Wrong[f.id]++
		}
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return false
	}
	c := &d.cells[at]
	c.state, c.start, c.end = value, start, int32(d.dec.InputOffset())
	return true
}

// fits says whether a value's text has the type that the field wants.
func fits(k catalog.Kind, v jsontext.Value) bool {
	switch k {
	case catalog.String:
		return v.Kind() == '"'
	case catalog.Boolean:
		return v.Kind() == 't' || v.Kind() == 'f'
	case catalog.Number:
		return v.Kind() == '0' && len(v) <= maxNumber && (!fraction(v) || finite(v))
	case catalog.Integer:
		return v.Kind() == '0' && len(v) <= maxNumber && !fraction(v)
	}
	return false
}

// fraction says whether a JSON number has a fraction or an exponent.
func fraction(number []byte) bool {
	for _, c := range number {
		if c == '.' || c == 'e' || c == 'E' {
			return true
		}
	}
	return false
}

// finite says whether a JSON number is within what a double holds: clients read
// numbers into one, and some refuse the whole answer for a single 1e999.
func finite(number []byte) bool {
	_, err := strconv.ParseFloat(string(number), 64)
	return err == nil
}

// Set fills a field of the current row that does not come from the appliance's
// row itself: a derived one, or a parent's id. text is JSON; text that does not
// fit the field, or a name that the model lacks, changes nothing. A gated field
// stays hidden.
func (d *Decoder) Set(name string, text []byte) {
	for i := range d.shape.shown {
		f := &d.shape.fields[i]
		if f.Up != name {
			continue
		}
		c := &d.cells[top+1+int32(i)]
		switch {
		case d.hides(f):
			c.state = hidden
		case f.List || !fits(f.Kind, text):
			return
		default:
			start := int32(len(d.own))
			d.own = append(d.own, text...)
			c.state, c.start, c.end = own, start, int32(len(d.own))
		}
	}
}

// span returns the JSON text of a cell that holds a value.
func (d *Decoder) span(c cell) []byte {
	if c.state == own {
		return d.own[c.start:c.end]
	}
	return d.raw[c.start:c.end]
}

// shownState is what a cell looks like outside. A time that the appliance makes
// up for each request is null unless its companion says that one is stored.
func (d *Decoder) shownState(f *field, base, at int32) state {
	s := d.cells[at].state
	if s == wrong {
		return null
	}
	if f.Mark&catalog.RequestTime != 0 && s == value {
		if f.comp < 0 {
			return null
		}
		if c := d.cells[base+1+int32(f.comp)].state; c == absent || c == null || c == hiddenNull {
			return null
		}
	}
	return s
}

// Counts says what did not fit in the rows decoded since the last Reset. It
// never depends on the value of a hidden field.
type Counts struct {
	Unknown int   // values under names that the model does not know, dropped
	Wrong   []int // by field: wrong type or named twice, shown as null
	Absent  []int // by top-level field: usable rows that lacked the name
	Shown         // of the rows shown alone
}

// Shown counts what was done to the values of rows that were appended. It can
// be put back when a row is taken out of an answer again.
type Shown struct {
	Masked  int     // texts in which the scrubber masked something
	Cut     int     // texts and lists cut to fit
	Outside []int32 // fields with a value outside the known set, passed through
}

// Reset forgets all counts: the rows are read again from the start.
func (d *Decoder) Reset() {
	d.Counts = Counts{Wrong: make([]int, len(d.shape.all)), Absent: make([]int, len(d.shape.all))}
}

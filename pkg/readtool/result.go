package readtool

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/readtool/internal/args"
)

// result puts the answer together: rows or object, counters, notes.
func (c *call) result(ctx context.Context) Result {
	res := Result{Rows: c.returned, Scanned: c.scanned, Drift: c.drift()}
	first := min(c.args.Offset, c.matched)
	all := c.walked.Complete && !c.stopped && len(c.walked.Bad) == 0 && c.unusable == 0
	complete := all && first+c.returned == c.matched
	res.Truncated = !complete
	res.Notes = c.notes(ctx)

	out := make([]byte, 0, len(c.out)+reserve(c.cfg.ResultBytes))
	if !c.tool.List {
		out = append(out, `{"object":`...)
		if c.returned == 0 {
			out = append(out, "{}"...)
		}
		out = append(out, c.out...)
	} else {
		out = append(append(append(out, `{"rows":[`...), c.out...), `],"returned":`...)
		out = strconv.AppendInt(out, int64(c.returned), 10)
		out = append(out, `,"matched":`...)
		if c.early() {
			out = append(out, "null"...)
		} else {
			out = strconv.AppendInt(out, int64(c.matched), 10)
		}
		out = append(out, `,"scanned":`...)
		out = strconv.AppendInt(out, int64(c.scanned), 10)
		out = append(out, `,"complete":`...)
		out = strconv.AppendBool(out, complete)
		out = c.coverage.append(out)
	}
	out = append(out, `,"notes":[`...)
	for i, n := range res.Notes {
		if i > 0 {
			out = append(out, ',')
		}
		out = quote(out, n)
	}
	res.JSON = append(out, "]}"...)
	return res
}

// early says that the upstream list was not read to its end, so that the number
// of matches is not known.
func (c *call) early() bool { return c.stopped || !c.walked.Complete }

// quote appends s as a JSON string. Every s is text of ours or cleaned text.
func quote(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		return append(dst, `""`...)
	}
	return out
}

// drift is the number of values that did not fit the model.
func (c *call) drift() int {
	n := c.dec.Counts.Unknown
	for _, w := range c.dec.Counts.Wrong {
		n += w
	}
	return n
}

// notes says everything about an answer that its rows do not: most important
// first, because what does not fit the reserve is left out.
func (c *call) notes(ctx context.Context) []string {
	var n []string
	add := func(format string, a ...any) { n = append(n, fmt.Sprintf(format, a...)) }

	c.cautionNote(ctx, add)
	c.packageNote(ctx, add)
	c.leaseNote(ctx, add)
	c.readingNotes(add)
	c.fittingNotes(add)
	if hidden := c.shape.Hidden(c.args.Pick); hidden > 0 && !c.args.Flag {
		add("%s hidden: %s", plural(hidden, "field", "fields"), args.Flag)
	}
	if c.shape.Marked(catalog.InterfaceName) {
		names := "unknown"
		if c.cfg.InterfaceNames != nil {
			if got := c.cfg.InterfaceNames(ctx, c.caller); got == "id" || got == "descr" || got == "if" {
				names = got
			}
		}
		add("interface_names: %s", names)
	}
	c.driftNotes(add)
	n = append(n, c.args.Notes...)
	return fit(n, reserve(c.cfg.ResultBytes)-envelopeBytes)
}

// envelopeBytes is more than a result's members, counters and coverage need.
const envelopeBytes = 320

// fit keeps the notes that fit so many bytes, and says how many do not.
func fit(notes []string, room int) []string {
	const last = 40 // bytes of the note about the rest
	for i, s := range notes {
		if room -= len(strconv.Quote(s)) + 1; room < last {
			return append(notes[:i:i], fmt.Sprintf("%d more notes left out", len(notes)-i))
		}
	}
	if notes == nil {
		return []string{}
	}
	return notes
}

// readingNotes says what was read and what was not.
func (c *call) readingNotes(add func(string, ...any)) {
	w := c.walked
	switch {
	case w.Moved:
		add("the list changed while it was read: rows may be missing or stand twice")
	case w.Changed:
		add("the list changed while it was read and was read again from its start")
	}
	if len(w.Bad) > 0 {
		add("rows the appliance cannot read, left out, by position: %s", numbers(w.Bad))
	}
	if c.unusable > 0 {
		add("%s left out: no object, or without the field that names it", plural(c.unusable, "row", "rows"))
	}
	next := c.args.Offset + c.returned
	more := c.stopped || c.matched > next && c.returned == c.args.Limit
	switch {
	case !c.tool.List:
	case c.skipped:
		add("the row at offset %d does not fit a result: name fewer fields, or go on with offset %d", c.args.Offset, c.args.Offset+1)
	case c.full:
		add("cut at %d bytes: more rows with offset %d; name fewer fields or add where to see more at once", c.cfg.ResultBytes, next)
	case more && next > args.MaxOffset:
		add("more rows, which no offset reaches: add where to see them")
	case more:
		add("more rows with offset %d", next)
	case c.returned == 0 && c.matched > 0 && !c.early():
		add("offset %d is behind the last of %s that match", c.args.Offset, plural(c.matched, "row", "rows"))
	}
	if w.More && !c.stopped {
		add("stopped after %d rows, the bound of one call, with %d matches: the rows behind them were not looked at", c.scanned+c.unusable, c.matched)
		if c.tool.Reads == nil && c.scanned <= args.MaxOffset {
			add("without where, they begin at offset %d", c.scanned)
		}
	}
	if w.Stuck {
		add("too many rows could not be read: none behind the last of these positions was looked at")
	}
	c.coverage.notes(add)
	if w.IgnoredLimit {
		add("the appliance ignored the page size and sent more rows than asked for")
	}
	if w.Links {
		add("the appliance's HATEOAS setting is on: every call is many times slower; switch it off in the REST API settings")
	}
}

// fittingNotes says what was cut or masked in the rows shown.
func (c *call) fittingNotes(add func(string, ...any)) {
	switch {
	case c.shrunk && c.tool.List:
		add("the row at offset %d is too large: %s cut; name fewer fields to see one whole", c.args.Offset, plural(c.dec.Counts.Cut, "text or list", "texts or lists"))
	case c.shrunk:
		add("the object is too large: %s cut", plural(c.dec.Counts.Cut, "text or list", "texts or lists"))
	case c.skipped && !c.tool.List:
		add("the object does not fit a result and is left out")
	}
	if m := c.dec.Counts.Masked; m > 0 {
		add("%s with something that may be a secret: masked", plural(m, "text", "texts"))
	}
	if out := c.dec.Counts.Outside; len(out) > 0 {
		per := map[int]int{}
		for _, id := range out {
			per[int(id)]++
		}
		add("values outside the set this server knows, passed on: %s", c.named(func(id int) int { return per[id] }))
	}
}

// driftNotes names the fields that the appliance does not send as modelled.
func (c *call) driftNotes(add func(string, ...any)) {
	k := &c.dec.Counts
	if names := c.named(func(id int) int { return k.Wrong[id] }); names != "" {
		add("values of an unexpected type, shown as null: %s", names)
	}
	if c.scanned > 0 {
		missing := c.named(func(id int) int {
			if k.Absent[id] == c.scanned {
				return 1
			}
			return 0
		})
		if missing != "" {
			add("fields this appliance does not send: %s", strings.ReplaceAll(missing, " (1)", ""))
		}
	}
	if k.Unknown > 0 {
		add("%s under names this server does not know: dropped", plural(k.Unknown, "value", "values"))
	}
}

// maxNamed bounds the names in one note.
const maxNamed = 10

// named lists the fields with a count, as `a (3), b.c (1)`.
func (c *call) named(count func(id int) int) string {
	var parts []string
	more := 0
	for id := range len(c.dec.Counts.Wrong) {
		switch n := count(id); {
		case n == 0:
		case len(parts) == maxNamed:
			more++
		default:
			parts = append(parts, fmt.Sprintf("%s (%d)", c.shape.FieldPath(id), n))
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// numbers lists the smallest positions.
func numbers(list []int) string {
	list = slices.Sorted(slices.Values(list))
	more := max(0, len(list)-maxNamed)
	var parts []string
	for _, n := range list[:len(list)-more] {
		parts = append(parts, strconv.Itoa(n))
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

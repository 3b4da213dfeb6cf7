package readtool

import (
	"context"
	"encoding/json/jsontext"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool/internal/args"
	"pfsensemcp/pkg/readtool/internal/row"
)

// pageSize is how many rows one request asks for: any offset costs the appliance
// the same, and 5,000 rules in one request kill its PHP.
const pageSize = 250

// call is one call under way. Rows are read, judged and dropped one at a time;
// only the text of those in the answer is kept.
type call struct {
	*Reader
	tool     *catalog.Tool
	caller   pfrest.Caller
	shape    *row.Shape
	args     args.Args
	progress func(int)
	dec      *row.Decoder
	room     int // bytes for rows

	out      []byte // the answer's rows, separated by commas
	returned int
	scanned  int // usable rows
	unusable int
	matched  int
	full     bool // a matching row did not fit any more
	shrunk   bool // the first row fits only with its values cut
	skipped  bool // the first row does not fit at all

	walked   pfrest.Walked
	stopped  bool // we ended the walk: as many rows as asked for were found
	coverage *coverage
}

// reserve is the part of a result that is not rows: counters and notes.
func reserve(resultBytes int) int { return max(1<<10, resultBytes/16) }

// list walks a list endpoint.
func (c *call) list(ctx context.Context) error {
	return c.walk(ctx, c.tool.Path, c.shape, func(raw jsontext.Value, _ int) bool {
		c.row(raw)
		return !c.done()
	})
}

// children walks a parent endpoint and takes the rows of a nested list, each
// with its parent's id.
func (c *call) children(ctx context.Context) error {
	parents := (*row.Shape)(nil)
	for _, t := range catalog.Tools() {
		if t.Path == c.tool.Reads.Path {
			s, err := c.Reader.shape(t.Model)
			if err != nil {
				return err
			}
			parents = s
		}
	}
	find := row.NewMembers()
	var member [2][]byte
	return c.walk(ctx, c.tool.Reads.Path, parents, func(raw jsontext.Value, _ int) bool {
		if !find.Find(raw, member[:], "id", c.tool.Reads.Field) {
			c.unusable++
			return true
		}
		id, list := member[0], member[1]
		if list == nil || string(list) == "null" {
			return true
		}
		ok := find.Entries(list, func(child []byte) bool {
			if c.decode(child) {
				if id != nil {
					c.dec.Set("parent_id", id)
				}
				c.consider()
			}
			return !c.done()
		})
		if !ok {
			c.unusable++
		}
		return !c.done()
	})
}

// walk reads an endpoint in pages.
func (c *call) walk(ctx context.Context, path string, s *row.Shape, each func(jsontext.Value, int) bool) error {
	o := pfrest.WalkOptions{PageSize: pageSize, MaxRows: c.cfg.ScanRows, Restart: c.restart, Progress: c.progress}
	if c.args.Filter == nil && c.tool.Reads == nil {
		// One more than asked for tells whether there are more; unusable rows
		// get one page of slack.
		want := c.args.Offset + c.args.Limit + 1
		o.PageSize, o.MaxRows = min(pageSize, want), want+pageSize
	}
	if s != nil {
		o.Same = same(s)
	}
	var err error
	c.walked, err = c.cfg.Client.Walk(ctx, c.caller, pfrest.Endpoint(path), o, each)
	return err
}

// same returns the check that two reads of one position gave the same row.
func same(s *row.Shape) func(a, b jsontext.Value) bool {
	var da, db *row.Decoder
	return func(a, b jsontext.Value) bool {
		if string(a) == string(b) {
			return true
		}
		if da == nil {
			da, db = row.NewDecoder(s, true), row.NewDecoder(s, true)
		}
		return da.Decode(a) && db.Decode(b) && row.Same(da, db)
	}
}

// restart forgets everything: the list changed and is read again from its start.
func (c *call) restart() {
	c.dec.Reset()
	c.out, c.returned, c.scanned, c.unusable, c.matched = c.out[:0], 0, 0, 0, 0
	c.full, c.shrunk, c.skipped, c.stopped = false, false, false, false
}

// done says whether more rows can change the answer, and remembers that they
// were not read. A filter counts every match, so it never ends early.
func (c *call) done() bool {
	if c.args.Filter == nil && c.matched > c.args.Offset+c.args.Limit {
		c.stopped = true
	}
	return c.stopped
}

func (c *call) row(raw []byte) {
	if c.decode(raw) {
		c.consider()
	}
}

func (c *call) decode(raw []byte) bool {
	ok := c.dec.Decode(raw)
	if !ok {
		c.unusable++
	}
	return ok
}

// consider judges the decoder's row: usable, matching, in the page, fitting.
func (c *call) consider() {
	if !c.dec.Usable() {
		c.unusable++
		return
	}
	c.scanned++
	if !c.args.Filter.Match(c.dec) {
		return
	}
	c.matched++
	if n := c.matched - 1; n >= c.args.Offset && n < c.args.Offset+c.args.Limit && !c.full && !c.skipped {
		c.keep()
	}
}

// shrinking are the bounds tried in turn when the first row alone is too big.
var shrinking = [...]row.Limits{{Text: 2048, List: 200}, {Text: 512, List: 50}, {Text: 128, List: 20}, {Text: 32, List: 5}, {Text: 16, List: 1}}

// keep writes the row into the answer if it fits.
func (c *call) keep() {
	start, shown := len(c.out), c.dec.Counts.Shown
	if c.returned > 0 {
		c.out = append(c.out, ',')
	}
	c.out = c.dec.Append(c.out, c.args.Pick, row.Limits{Total: c.room})
	if len(c.out) <= c.room {
		c.returned++
		return
	}
	if c.returned == 0 {
		for _, lim := range shrinking {
			c.dec.Counts.Shown = shown
			lim.Total = c.room
			if c.out = c.dec.Append(c.out[:0], c.args.Pick, lim); len(c.out) <= c.room {
				c.returned, c.shrunk = 1, true
				return
			}
		}
		c.skipped = true
	}
	c.out, c.full = c.out[:start], c.returned > 0
	c.dec.Counts.Shown = shown
}

// object reads an object endpoint.
func (c *call) object(ctx context.Context) error {
	ans, err := c.cfg.Client.Get(ctx, c.caller, pfrest.Endpoint(c.tool.Path), pfrest.Page{})
	if err != nil {
		return err
	}
	defer ans.Release()
	c.walked = pfrest.Walked{Complete: true, Links: ans.Links}
	c.row(ans.Data)
	return nil
}

// usable refuses an answer of which more than half does not fit the model: what
// is left would mislead.
func (c *call) usable() error {
	if c.unusable*2 > c.unusable+c.scanned {
		return shapeError("more than half of what the appliance sent does not fit the model of this tool")
	}
	return nil
}

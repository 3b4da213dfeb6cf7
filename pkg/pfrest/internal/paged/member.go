// Package paged owns the reading of a whole list in pages for several readers at
// once: overlaps, the second look at the first row, starting over, salvage of
// pages that the appliance cannot make, and the bound. Only pfrest may import it;
// it imports nothing of ours, and makes no request itself but through the Fetch
// that it was given.
//
// It must never hold more than one page, hand out more rows than the bound, or
// call a list complete that was not read whole and unchanged.
//
// The attack it stops: a list that is larger than PHP's memory or ours, and a
// row that was shown twice or never because somebody changed the list meanwhile.
package paged

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
)

// Options say how a list is read. The functions are called in the goroutine of
// the walk's caller and not after the walk has returned.
type Options struct {
	PageSize int // rows a request, 1..1000; 0 is 250
	MaxRows  int // rows handed out at most, 1..1,000,000
	// Same says whether two readings are of the same row. They are of the same
	// position, so comparing that is right or needless. nil compares the bytes.
	Same func(a, b jsontext.Value) bool
	// Restart is called when the list is read again from its start because it
	// changed: rows handed out so far are void. At most once.
	Restart func()
	// Progress is called after each page with the rows handed out so far.
	Progress func(rows int)
}

// Walked is how a walk ended.
type Walked struct {
	Rows         int   // handed out since Restart
	Complete     bool  // every row of the list was handed out, as one unchanged state of it
	Changed      bool  // the list changed while it was read, and was read again from its start
	Moved        bool  // it changed in the second reading as well: the rows are no one state of it
	Links        bool  // the appliance's HATEOAS setting is on
	More         bool  // there are rows behind MaxRows
	Bad          []int // positions that cannot be read
	Stuck        bool  // too many could not: the walk ended at the last of Bad, which may be readable
	Requests     int   // GETs made
	IgnoredLimit bool  // the appliance ignored limit and offset and sent the whole list
}

// Member is one reader of a list. It works on each page in its own goroutine, so
// it can be slow, leave or panic at nobody's cost but time.
type Member struct {
	opt  Options
	each func(row jsontext.Value, pos int) (more bool)
	rows int
	full bool         // each returned false: no more rows, but changes are still looked for
	in   chan message // from the reading; at most one is under way
	out  chan verdict // one for each message but the last
	left chan struct{}

	stopped bool // the reading's own: each returned false
}

// NewMember returns a reader that hands rows to each with their position.
func NewMember(opt Options, each func(row jsontext.Value, pos int) (more bool)) *Member {
	return &Member{opt: opt, each: each, in: make(chan message, 1), out: make(chan verdict, 1), left: make(chan struct{})}
}

// message is one thing that a reading tells its members. Its bytes are valid
// until all of them have answered.
type message struct {
	restart bool
	again   bool   // the list is read for the second time: a change is noted, rows are handed out
	prev    []byte // if set: an earlier reading of rows[0], which is not handed out again
	body    []byte
	rows    [][2]int
	pos     int // of the first row to hand out
	final   *Walked
	err     error
}

type verdict struct{ changed, stop bool }

// Follow takes part in a reading until that ends or ctx does, which gives ctx's
// error. It is called once.
func (m *Member) Follow(ctx context.Context) (Walked, error) {
	defer close(m.left)
	for {
		select {
		case msg := <-m.in:
			if msg.final != nil {
				w := *msg.final
				w.Rows = m.rows
				return w, msg.err
			}
			m.out <- m.handle(ctx, msg)
		case <-ctx.Done():
			return Walked{Rows: m.rows}, ctx.Err()
		}
	}
}

// handle does what one message asks for.
func (m *Member) handle(ctx context.Context, msg message) (v verdict) {
	if msg.restart {
		m.rows, m.full = 0, false
		if m.opt.Restart != nil {
			m.opt.Restart()
		}
		return v
	}
	rows := msg.rows
	if msg.prev != nil {
		v.changed = !m.same(msg.prev, msg.body[rows[0][0]:rows[0][1]])
		if v.changed && !msg.again {
			return v // all rows are void
		}
		rows = rows[1:]
	}
	before := m.rows
	for i, r := range rows {
		// Whoever waits for the page need not wait for a member who leaves.
		if m.full = m.full || i%64 == 0 && ctx.Err() != nil; m.full {
			break
		}
		m.rows++
		m.full = !m.each(msg.body[r[0]:r[1]:r[1]], msg.pos+i)
	}
	v.stop = m.full
	if m.rows > before && m.opt.Progress != nil {
		m.opt.Progress(m.rows)
	}
	return v
}

func (m *Member) same(a, b []byte) bool {
	if m.opt.Same == nil {
		return bytes.Equal(a, b)
	}
	return m.opt.Same(a, b)
}

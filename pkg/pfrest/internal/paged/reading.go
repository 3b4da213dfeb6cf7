package paged

import (
	"context"
	"errors"
	"slices"
)

// maxSalvage bounds the requests that a reading spends on unreadable pages: one
// bad row in a page of 250 takes 10 at most.
const maxSalvage = 12

// Page is one answer: the places [from, to) of its rows in Body. It is valid
// until the next Fetch.
type Page struct {
	Body  []byte
	Rows  [][2]int
	Links bool
}

// Config is what a Reading needs.
type Config struct {
	PageSize, MaxRows int
	// Fetch makes one request for rows [offset, offset+limit).
	Fetch func(ctx context.Context, limit, offset int) (Page, error)
	// Admit is called before the first rows are handed out: from then on, no
	// member may be added. It may be called again.
	Admit func()
	// TooLarge and Unreadable are the causes of Fetch's errors that smaller
	// pages get around: of the one there is nothing wrong with the rows.
	TooLarge, Unreadable error
}

// Reading is one reading of a list for all its members. Its goroutine makes the
// requests; the members take the rows out of each answer at the same time, and
// the next request waits for all of them.
type Reading struct {
	cfg     Config
	members []*Member

	page     Page
	size     int // rows a request: less than asked for when answers were too large
	requests int
	salvaged int
	links    bool
	ignored  bool
	changed  bool
	again    bool // it was started over
	firstErr error

	// Of the pass under way.
	next   int    // position of the next row
	pages  int    // answers with rows
	handed int    // rows
	first  []byte // copy of the row at position 0; nil when unreadable or not yet read
	last   []byte // copy of the row at next-1; nil likewise
	bad    []int
	ended  bool // the end of the list was seen
	more   bool // a row beyond the bound was seen
	stuck  bool // salvage was not enough
	moved  bool // it changed again: the rows are not one state of the list
}

// New returns a reading for a first member.
func New(cfg Config, first *Member) *Reading {
	return &Reading{cfg: cfg, size: cfg.PageSize, members: []*Member{first}}
}

// Add adds a member. The caller sees to it that this happens before Admit and not
// at the same time.
func (r *Reading) Add(m *Member) { r.members = append(r.members, m) }

// Run reads the list and tells every member how it ended.
func (r *Reading) Run(ctx context.Context) {
	err := r.read(ctx)
	r.first, r.last = copyRow(r.first, nil), copyRow(r.last, nil)
	r.cfg.Admit()
	r.release(r.members, err)
}

// read makes passes over the list: one, or two when it changes.
func (r *Reading) read(ctx context.Context) error {
	for {
		if err := r.step(ctx); err != nil {
			return err
		}
		r.cfg.Admit() // the members are looked at
		done := r.ended || r.stuck || r.more
		if !r.restartDue() && (done || slices.ContainsFunc(r.members, stopped)) {
			if err := r.verify(ctx); err != nil {
				return err
			}
		}
		if r.restartDue() {
			r.startOver()
			continue
		}
		if done {
			if r.handed == 0 {
				return r.firstErr // nothing but unreadable rows, or an empty list
			}
			return nil
		}
		var gone []*Member
		r.members = slices.DeleteFunc(r.members, func(m *Member) bool {
			if m.stopped {
				gone = append(gone, m)
			}
			return m.stopped
		})
		r.release(gone, nil)
		if len(r.members) == 0 {
			return nil
		}
	}
}

func stopped(m *Member) bool   { return m.stopped }
func wantsMore(m *Member) bool { return !m.stopped }

func (r *Reading) restartDue() bool { return r.changed && !r.again }

// startOver begins the second pass.
func (r *Reading) startOver() {
	r.again = true
	r.next, r.pages, r.handed = 0, 0, 0
	r.first, r.last = copyRow(r.first, nil), copyRow(r.last, nil)
	r.bad, r.firstErr = nil, nil
	r.ended, r.more, r.stuck = false, false, false
	r.tell(message{restart: true})
	for _, m := range r.members {
		m.stopped = false
	}
}

// step reads the next page, from the last row of the one before on, and one row
// beyond the bound, which tells whether the list goes on there.
func (r *Reading) step(ctx context.Context) error {
	from, n := r.next, min(r.size, r.cfg.MaxRows+1-r.next)
	if r.last != nil {
		from, n = from-1, n+1
	}
	switch err := r.fetch(ctx, from, n); {
	case err == nil:
		r.hand(from, n)
		return nil
	case errors.Is(err, r.cfg.TooLarge) && r.size > 1:
		// Some lists have rows of megabytes: smaller pages from here on.
		r.size /= 2
		return nil
	case r.smaller(err):
		r.firstErr = err
		if n == 1 { // it has found a bad row by itself, and counts like one that did by halves
			if r.salvaged == maxSalvage {
				r.skip(from)
				r.stuck = true
				return nil
			}
			r.salvaged++
		}
		return r.salvage(ctx, from, from+n)
	default:
		return err
	}
}

// smaller says whether smaller pages may get around an error.
func (r *Reading) smaller(err error) bool {
	return errors.Is(err, r.cfg.Unreadable) || errors.Is(err, r.cfg.TooLarge)
}

// salvage reads [from, to), which could not be read whole: it halves the smallest
// part from the front that is known to fail until the bad row stands alone,
// leaves that one out and tries the rest whole again. Only a row that failed by
// itself is called bad: a page may have failed for a moment's lack of memory.
func (r *Reading) salvage(ctx context.Context, from, to int) error {
	r.cfg.Admit() // the members are looked at
	fails := to   // [from, fails) failed; nothing did when fails <= from
	alone := to == from+1
	for from < to && !r.ended && !r.restartDue() && slices.ContainsFunc(r.members, wantsMore) {
		if alone {
			r.skip(from)
			from, alone = from+1, false
			continue
		}
		if r.salvaged == maxSalvage {
			r.skip(from)
			r.stuck = true
			return nil
		}
		end := to
		if fails > from {
			end = from + max((fails-from)/2, 1)
		}
		r.salvaged++
		switch err := r.fetch(ctx, from, end-from); {
		case err == nil:
			r.hand(from, end-from)
			from = end
		case r.smaller(err):
			fails, alone = end, end == from+1
		default:
			return err
		}
	}
	return nil
}

// skip leaves out the row at pos. If it was readable as the last row of the page
// before, the list is not the same any more.
func (r *Reading) skip(pos int) {
	r.last = copyRow(r.last, nil)
	switch {
	case pos < r.next:
		r.change()
	case pos == r.cfg.MaxRows:
		r.more = true
	default:
		r.bad = append(r.bad, pos)
		r.next = pos + 1
	}
}

func (r *Reading) change() {
	r.changed = true
	r.moved = r.again
}

// fetch makes one request. An answer with more rows than asked is the whole list:
// limit and offset were ignored; it is cut to start at offset and is the end.
func (r *Reading) fetch(ctx context.Context, offset, limit int) (err error) {
	r.requests++
	if r.page, err = r.cfg.Fetch(ctx, limit, offset); err != nil {
		return err
	}
	r.links = r.links || r.page.Links
	if n := len(r.page.Rows); n > limit {
		r.ignored, r.ended = true, true
		r.page.Rows = r.page.Rows[min(offset, n):]
	}
	return nil
}

// hand gives the page to the members. Its first row stands at pos, which is next
// or one before: then that row was read already, and is compared and not given.
func (r *Reading) hand(pos, asked int) {
	r.cfg.Admit()
	rows := r.page.Rows
	r.ended = r.ended || len(rows) < asked
	msg := message{again: r.again, body: r.page.Body, pos: r.next}
	if pos < r.next {
		if len(rows) == 0 { // the row that stood there is gone
			r.change()
			return
		}
		msg.prev = r.last
	}
	fresh := len(rows) - (r.next - pos)
	if over := r.next + fresh - r.cfg.MaxRows; over > 0 {
		r.more = true
		rows, fresh = rows[:len(rows)-over], fresh-over
	}
	if msg.rows = rows; len(rows) == 0 {
		return
	}
	if r.tell(msg) {
		r.change()
	}
	if fresh == 0 || r.restartDue() {
		return
	}
	if r.next == 0 {
		r.first = copyRow(r.first, r.row(rows[0]))
	}
	r.last = copyRow(r.last, r.row(rows[len(rows)-1]))
	r.next += fresh
	r.handed += fresh
	r.pages++
}

func (r *Reading) row(at [2]int) []byte { return r.page.Body[at[0]:at[1]] }

// copyRow wipes kept and returns a copy of row, in the same memory if it fits;
// nil for nil. A row holds more than a model names, and is not left lying about.
func copyRow(kept, row []byte) []byte {
	clear(kept[:cap(kept)])
	if row == nil {
		return nil
	}
	return append(kept[:0], row...)
}

// verify reads the first row again after several pages: what was put in front of
// the list and taken away again elsewhere need not show in an overlap.
func (r *Reading) verify(ctx context.Context) error {
	if r.pages < 2 || r.first == nil || len(r.members) == 0 {
		return nil
	}
	ended, ignored := r.ended, r.ignored
	err := r.fetch(ctx, 0, 1)
	r.ended, r.ignored = ended, ignored
	switch {
	case r.smaller(err):
		r.change() // it was readable before
	case err != nil:
		return err
	case len(r.page.Rows) == 0:
		r.change()
	case r.tell(message{again: r.again, prev: r.first, body: r.page.Body, rows: r.page.Rows[:1]}):
		r.change()
	}
	return nil
}

// tell gives every member the message, waits until all have dealt with it and
// says whether one of them saw a change. Members who left are forgotten.
func (r *Reading) tell(msg message) (changed bool) {
	for _, m := range r.members {
		m.in <- msg // has room: m has answered the message before
	}
	r.members = slices.DeleteFunc(r.members, func(m *Member) bool {
		select {
		case v := <-m.out:
			changed = changed || v.changed
			m.stopped = m.stopped || v.stop
			return false
		case <-m.left:
			return true
		}
	})
	return changed
}

// release lets members go with what the reading has become.
func (r *Reading) release(members []*Member, err error) {
	for _, m := range members {
		m.in <- message{err: err, final: &Walked{
			Complete: err == nil && r.ended && !r.more && !r.stuck && !r.moved && !m.stopped && len(r.bad) == 0,
			Changed:  r.changed, Links: r.links, Bad: slices.Clone(r.bad), More: r.more, Stuck: r.stuck, Moved: r.moved,
			Requests: r.requests, IgnoredLimit: r.ignored,
		}}
	}
}

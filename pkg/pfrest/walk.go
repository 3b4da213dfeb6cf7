package pfrest

import (
	"context"
	"encoding/json/jsontext"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest/internal/fair"
	"pfsensemcp/pkg/pfrest/internal/fault"
	"pfsensemcp/pkg/pfrest/internal/paged"
)

// WalkOptions say how a list is read.
type WalkOptions = paged.Options

// Walked is how a walk ended.
type Walked = paged.Walked

const (
	defaultPage = 250 // 5,000 rules in one answer kill PHP; a page of these takes half a second
	maxPage     = 1000
	maxRows     = 1_000_000
)

// walkKey is what walks must have in common to be one.
type walkKey struct {
	ep        Endpoint
	size, max int
}

// walk is one reading of a list that several callers may share.
type walk struct {
	*fair.Crowd
	*paged.Reading
}

// Walk reads a whole list in pages that overlap by one row, and hands each row to
// each with its position upstream until each returns false, the list ends, or
// MaxRows were handed out. A row may be null or no object: to count that is the
// consumer's part. The bytes of a row are valid only during the call.
//
// When the row that two pages share differs, or the first row does when it is
// read again at the end of a walk of several pages, the list changed: the walk
// starts over once. A page that the appliance cannot make is halved until the bad
// row stands alone, with at most 12 requests a walk; a walk that gets no row at
// all that way returns the page's error. Between two pages the slot is given back.
//
// Walks of the same endpoint, page size and bound that begin before the first
// page has come are one. A caller who leaves takes nothing from the others.
func (c *Client) Walk(ctx context.Context, caller Caller, ep Endpoint, opt WalkOptions, each func(row jsontext.Value, pos int) (more bool)) (Walked, error) {
	if err := c.check(ep, Page{}); err != nil {
		return Walked{}, err
	}
	if opt.PageSize == 0 {
		opt.PageSize = defaultPage
	}
	if c.authoritative || opt.PageSize < 1 || opt.PageSize > maxPage || opt.MaxRows < 1 || opt.MaxRows > maxRows {
		return Walked{}, errs.Newf(errs.Internal, "a walk needs a page size of 1..%d and a bound of 1..%d rows, and an authoritative client has none", maxPage, maxRows).WithClass(ClassClientBug)
	}
	m := paged.NewMember(opt, each)
	w := c.joinWalk(ctx, fair.Owner(caller), walkKey{ep, opt.PageSize, opt.MaxRows}, m)
	defer w.Leave(fair.Owner(caller))
	walked, err := m.Follow(ctx)
	if err != nil && err == ctx.Err() {
		err = gone(ctx, ep)
	}
	return walked, err
}

// joinWalk adds a member to a walk that may still be joined, or begins one.
func (c *Client) joinWalk(ctx context.Context, o fair.Owner, key walkKey, m *paged.Member) *walk {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.walks[key]; w != nil && w.Join(o) {
		w.Add(m)
		c.stats.Joined++
		return w
	}
	life, cancel := context.WithCancel(c.life)
	w := &walk{Crowd: fair.NewCrowd(c.slots, o, cancel)}
	buf := c.buffers.Take()
	requestID := c.requestID(ctx)
	w.Reading = paged.New(paged.Config{
		PageSize: key.size, MaxRows: key.max,
		TooLarge: fault.ErrTooLarge, Unreadable: fault.ErrSalvageable,
		Fetch: func(ctx context.Context, limit, offset int) (paged.Page, error) {
			body, env, err := c.exchange(ctx, call{key.ep, Page{limit, offset}, requestID, w.Crowd}, &buf.Parser, buf.Body)
			buf.Body = body
			return paged.Page{Body: body, Rows: env.Rows, Links: env.Links}, err
		},
		Admit: func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.walks[key] == w {
				delete(c.walks, key)
			}
		},
	}, m)
	c.walks[key] = w
	go func() {
		defer cancel()
		w.Run(life)
		c.buffers.Give(buf)
	}()
	return w
}

package store

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// RequestFilter chooses requests; what is zero chooses all.
type RequestFilter struct {
	Statuses []record.Status
	UID      *int64
}

func (f RequestFilter) fits(r *record.Request) bool {
	return (len(f.Statuses) == 0 || slices.Contains(f.Statuses, r.Status)) && (f.UID == nil || r.AskedBy != nil && *r.AskedBy == *f.UID)
}

// RequestPage returns, of the requests that fit, newest first, at most so many from a
// position on, and how many fit in all.
func (v *View) RequestPage(f RequestFilter, from, most int) ([]*record.Request, int, error) {
	return page(v, from, most, f.fits, func(r *record.Request) (time.Time, string) { return r.OpenedAt, r.RequestID })
}

// Requests returns all requests that fit, newest first.
func (v *View) Requests(f RequestFilter) ([]*record.Request, error) {
	all, _, err := v.RequestPage(f, 0, math.MaxInt)
	return all, err
}

// ContractPage is RequestPage for the contracts in one of the states, all without any.
func (v *View) ContractPage(from, most int, states ...record.State) ([]*record.Contract, int, error) {
	return page(v, from, most, func(c *record.Contract) bool { return len(states) == 0 || slices.Contains(states, c.State) },
		func(c *record.Contract) (time.Time, string) { return c.CreatedAt, c.ContractID })
}

// Contracts returns the contracts in one of the states (all without any), newest
// first.
func (v *View) Contracts(states ...record.State) ([]*record.Contract, error) {
	all, _, err := v.ContractPage(0, math.MaxInt, states...)
	return all, err
}

// page keeps of each row that fits its age and its id, and reads the rows of the page
// again: there may be as many rows as there were changes ever, and the daemon's memory
// is bounded.
func page[R any, P interface {
	*R
	record.Record
}](v *View, from, most int, fits func(P) bool, of func(P) (time.Time, string)) (some []P, total int, err error) {
	type key struct {
		at int64
		id string
	}
	var all []key
	if err := rows.Each(v.tx, nil, nil, func(r P) (bool, error) {
		if fits(r) {
			at, id := of(r)
			all = append(all, key{at.Unix(), strings.Clone(id)})
		}
		return true, nil
	}); err != nil {
		return nil, 0, err
	}
	slices.SortFunc(all, func(a, b key) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.id, b.id)) })
	begin := min(from, len(all))
	for _, k := range all[begin : begin+min(most, len(all)-begin)] {
		r, err := rows.Get(v.tx, P(new(R)), []byte(k.id))
		if err != nil {
			return nil, 0, err
		}
		some = append(some, r)
	}
	return some, len(all), nil
}

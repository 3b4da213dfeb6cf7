// Package quota owns the bounds on what may be begun: how many requests, contracts,
// sends and denials, how soon after one another, and what must be settled first.
// Every count stands in the store and is checked and moved in the transaction that
// it bounds.
//
// Only the store imports it. It must never count in memory: a restart would be a
// way around it.
//
// The attacks it stops: one MCP user, or one injected prompt, that uses up
// everybody's requests; a second change begun while nobody knows what the first one
// did; and a denial oracle that may be asked for ever.
package quota

import (
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/moment"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Limits are the bounds in force.
type Limits struct {
	OpenPerUID, Open                           int // requests at a time
	RequestsPerMinutePerUID, RequestsPerMinute int
	RequestsPerDayPerUID, RequestsPerDay       int
	Prepared                                   int // contracts at a time
	SendsPerHour, SendsPerDay                  int
	Lockout                                    int // contracts in reconciliation that stop everything new
	Denials                                    int // of one peer within DenialWindow
	DenialRows                                 int // audit rows of denials within an hour

	RequestLife, UnpreviewedLife time.Duration
	Cooldown                     time.Duration // of a target after a contract settled
	DenialWindow, DenialPause    time.Duration
	LandingWindow                time.Duration // in which a write without an answer may still land
	Retention                    time.Duration // of texts and previews after the conclusion
	RollbackWithin               time.Duration // after verified
}

// Default returns the limits as designed.
func Default() Limits {
	return Limits{
		OpenPerUID: 2, Open: 8, RequestsPerMinutePerUID: 3, RequestsPerMinute: 6, RequestsPerDayPerUID: 15, RequestsPerDay: 60,
		Prepared: 4, SendsPerHour: 10, SendsPerDay: 20, Lockout: 3, Denials: 20, DenialRows: 100,
		RequestLife: 24 * time.Hour, UnpreviewedLife: 4 * time.Hour, Cooldown: 90 * time.Second,
		DenialWindow: 10 * time.Minute, DenialPause: 10 * time.Minute, LandingWindow: 900 * time.Second,
		Retention: 24 * time.Hour, RollbackWithin: 24 * time.Hour,
	}
}

// Check refuses limits that are wider than they may be: twice the design for most,
// the design itself for what protects against an unknown outcome. A test build may
// shorten the landing window and the cooldown; nobody else.
func (l Limits) Check(short bool) error {
	d := Default()
	for _, n := range []struct{ is, design, factor int }{
		{l.OpenPerUID, d.OpenPerUID, 2},
		{l.Open, d.Open, 2},
		{l.RequestsPerMinutePerUID, d.RequestsPerMinutePerUID, 2},
		{l.RequestsPerMinute, d.RequestsPerMinute, 2},
		{l.RequestsPerDayPerUID, d.RequestsPerDayPerUID, 2},
		{l.RequestsPerDay, d.RequestsPerDay, 2},
		{l.Prepared, d.Prepared, 2},
		{l.SendsPerHour, d.SendsPerHour, 2},
		{l.SendsPerDay, d.SendsPerDay, 2},
		{l.Lockout, d.Lockout, 1},
		{l.Denials, d.Denials, 2},
		{l.DenialRows, d.DenialRows, 2},
	} {
		if n.is < 1 || n.is > n.design*n.factor {
			return invalid("a number is below 1 or beyond what is compiled in")
		}
	}
	for _, t := range []struct{ is, least, most time.Duration }{
		{l.RequestLife, time.Minute, 2 * d.RequestLife},
		{l.UnpreviewedLife, time.Minute, 2 * d.UnpreviewedLife},
		{l.Retention, 0, 2 * d.Retention},
		{l.RollbackWithin, 0, d.RollbackWithin},
		{l.DenialWindow, time.Minute, 2 * d.DenialWindow},
		{l.DenialPause, time.Minute, 24 * time.Hour},
		{l.Cooldown, d.Cooldown, 24 * time.Hour},
		{l.LandingWindow, d.LandingWindow, 24 * time.Hour},
	} {
		if t.least == d.LandingWindow || t.least == d.Cooldown {
			if short {
				t.least = 0
			}
		}
		if t.is < t.least || t.is > t.most {
			return invalid("a time is shorter or longer than it may be")
		}
	}
	return nil
}

func invalid(rule string) error {
	return errs.New(errs.Invalid, "limits: "+rule).WithClass("configuration").WithNext("limits may be tightened; remove the one that is wider than the default")
}

// Refuse makes a refusal whose class is its reason in the audit.
func Refuse(code errs.Code, r record.Reason, msg string) *errs.Error {
	return errs.New(code, msg).WithClass(string(r))
}

// rate reads a counter; one that is not there counts nothing.
func rate(tx *rows.Tx, id string) (*record.Rate, error) {
	r, err := rows.Get(tx, &record.Rate{}, []byte(record.RateStart+id))
	if errs.CodeOf(err) == errs.NotFound {
		return &record.Rate{ID: record.RateStart + id}, nil
	}
	return r, err
}

// within counts the hits of a counter since a time ago.
func within(r *record.Rate, now time.Time, d time.Duration) (n int) {
	for _, t := range r.Hits {
		if t.After(now.Add(-d)) {
			n++
		}
	}
	return n
}

// hit adds one to a counter that remembers for a while.
func hit(tx *rows.Tx, r *record.Rate, keep time.Duration) error {
	var hits []time.Time
	for _, t := range r.Hits {
		if t.After(tx.Now.Wall.Add(-keep)) {
			hits = append(hits, t)
		}
	}
	hits = append(hits, tx.Now.Wall)
	r.Hits = hits[max(0, len(hits)-record.MaxHits):]
	return tx.Put(r)
}

const day = 24 * time.Hour

// Request bounds and counts a new request of an MCP client's uid. Live are all open
// and authorized requests.
func (l Limits) Request(tx *rows.Tx, who record.Actor, uid *int64, live []*record.Request) error {
	open, mine := 0, 0
	for _, r := range live {
		if r.Status == record.Open {
			open++
			if uid != nil && r.AskedBy != nil && *r.AskedBy == *uid {
				mine++
			}
		}
	}
	if uid == nil {
		return nil // an operator's own
	}
	if mine >= l.OpenPerUID || open >= l.Open {
		return Refuse(errs.Exhausted, "rate_open", "too many requests are open")
	}
	all, err := rate(tx, "requests")
	if err != nil {
		return err
	}
	own, err := rate(tx, "requests/"+string(who))
	if err != nil {
		return err
	}
	now := tx.Now.Wall
	switch {
	case within(own, now, time.Minute) >= l.RequestsPerMinutePerUID || within(all, now, time.Minute) >= l.RequestsPerMinute:
		return Refuse(errs.Exhausted, "rate_minute", "too many requests within a minute")
	case within(own, now, day) >= l.RequestsPerDayPerUID || within(all, now, day) >= l.RequestsPerDay:
		return Refuse(errs.Exhausted, "rate_day", "too many requests within a day")
	}
	if err := hit(tx, own, day); err != nil {
		return err
	}
	return hit(tx, all, day)
}

// MaySend says whether an attempt is within the bounds, without counting it.
func (l Limits) MaySend(tx *rows.Tx) error {
	_, err := l.sends(tx)
	return err
}

func (l Limits) sends(tx *rows.Tx) (*record.Rate, error) {
	r, err := rate(tx, "sends")
	if err == nil && (within(r, tx.Now.Wall, time.Hour) >= l.SendsPerHour || within(r, tx.Now.Wall, day) >= l.SendsPerDay) {
		err = Refuse(errs.Exhausted, "rate_sends", "too many attempts within an hour or a day")
	}
	return r, err
}

// Send bounds and counts an attempt.
func (l Limits) Send(tx *rows.Tx) error {
	r, err := l.sends(tx)
	if err != nil {
		return err
	}
	return hit(tx, r, day)
}

// Paused says until when a peer's submissions are not looked at.
func (l Limits) Paused(tx *rows.Tx, peer record.Actor) (time.Time, bool, error) {
	r, err := rate(tx, "denials/"+string(peer))
	if err != nil || len(r.Hits) < l.Denials {
		return time.Time{}, false, err
	}
	last := r.Hits[len(r.Hits)-1]
	until := last.Add(l.DenialPause)
	// A denial that lies ahead was counted at a time that never was: the signature that
	// says so must not be one that nobody looks at.
	never := last.After(tx.Now.Wall.Add(moment.MaxRegression))
	return until, within(r, last, l.DenialWindow) >= l.Denials && tx.Now.Wall.Before(until) && !never, nil
}

// Denial counts a denial of a peer. Row says whether it has an audit row of its own,
// last whether that is the one that stands for all that follow within the hour.
func (l Limits) Denial(tx *rows.Tx, peer record.Actor) (row, last bool, err error) {
	own, err := rate(tx, "denials/"+string(peer))
	if err != nil {
		return false, false, err
	}
	if err := hit(tx, own, l.DenialWindow+l.DenialPause); err != nil {
		return false, false, err
	}
	all, err := rate(tx, "denial-rows")
	if err != nil {
		return false, false, err
	}
	n := within(all, tx.Now.Wall, time.Hour)
	if n >= l.DenialRows {
		return false, false, nil
	}
	return true, n == l.DenialRows-1, hit(tx, all, time.Hour)
}

// quarantineRows bounds the audit rows about quarantines within an hour.
const quarantineRows = 60

// QuarantineRow says whether a quarantine's beginning or end has an audit row: a counter
// that comes and goes would fill the disk. Last is the row that stands for all that
// follow within the hour.
func QuarantineRow(tx *rows.Tx) (row, last bool, err error) {
	all, err := rate(tx, "quarantine-rows")
	if err != nil {
		return false, false, err
	}
	n := within(all, tx.Now.Wall, time.Hour)
	return n < quarantineRows, n == quarantineRows-1, nil
}

// CountQuarantineRow counts one.
func CountQuarantineRow(tx *rows.Tx) error {
	all, err := rate(tx, "quarantine-rows")
	if err != nil {
		return err
	}
	return hit(tx, all, time.Hour)
}

// Begin says whether anything new may be begun: nothing in flight, no pending
// increment, fewer than Lockout contracts in reconciliation, and no send that may
// still land.
func (l Limits) Begin(tx *rows.Tx, start moment.Reading) error {
	a, err := tx.Anchor()
	if err != nil {
		return err
	}
	active, err := Active(tx)
	if err != nil {
		return err
	}
	uncertain := 0
	for _, c := range active {
		if c.State.InFlight() {
			return Refuse(errs.Conflict, "in_flight", "another attempt is under way")
		}
		if c.State == record.Reconciliation {
			uncertain++
		}
	}
	if a.Pending != nil {
		return Refuse(errs.Conflict, "in_flight", "an increment of the counter is not settled")
	}
	if uncertain >= l.Lockout {
		return Refuse(errs.Conflict, "lockout", "too many contracts wait for reconciliation")
	}
	left, err := l.Landing(tx, start)
	if err != nil {
		return err
	}
	if left > 0 {
		return Refuse(errs.Conflict, "landing_window", "a write without an answer may still land")
	}
	return nil
}

// Landing returns how long a write without a complete answer may still land, over
// all contracts.
func (l Limits) Landing(tx *rows.Tx, start moment.Reading) (left time.Duration, err error) {
	all, err := tx.Unanswered()
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		left = max(left, l.LandingWindow-moment.Since(tx.Now, start, s.SentAt, s.BootID, s.SentBootMS))
	}
	active, err := Active(tx)
	for _, c := range active {
		left = max(left, l.Forgotten(tx.Now, start, c))
	}
	return left, err
}

// Forgotten returns how long a write of a contract may still land of which nothing is
// known: the contract was interrupted, or was on its way when the store was restored, and
// no send is in this file. A file that was set back into the midst of an attempt looks
// the same. When it was sent is not known either: before this process started.
func (l Limits) Forgotten(now, start moment.Reading, c *record.Contract) time.Duration {
	if c.State != record.Reconciliation || c.Boundary != record.BoundaryNone {
		return 0
	}
	return max(0, l.LandingWindow-time.Duration(now.BootMS-start.BootMS)*time.Millisecond)
}

// Active returns the contracts that hold a target.
func Active(tx *rows.Tx) (all []*record.Contract, err error) {
	err = rows.Each(tx, nil, nil, func(r *record.Reservation) (bool, error) {
		c, err := rows.Get(tx, &record.Contract{}, []byte(r.ContractID))
		all = append(all, c)
		return err == nil, err
	})
	return all, err
}

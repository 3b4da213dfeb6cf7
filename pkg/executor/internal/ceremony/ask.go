package ceremony

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/logging"
)

// All that an MCP client ever learns.
const (
	Requested      = "requested"
	Awaiting       = "awaiting_confirmation"
	Verified       = "verified"
	Reconciliation = "reconciliation_required"
	Refused        = "refused"
	Reverted       = "reverted"
)

const (
	// remembers is for how long a verified change answers a poll for the same text.
	remembers = 24 * time.Hour
	// refuses is for how long a change that did not come about answers one.
	refuses = time.Minute
	// mourns is for how long a change that was taken back says so; then the same
	// words are a new wish.
	mourns = 10 * time.Minute
	// looksEvery bounds how often polls look at the appliance for one request, lookTime
	// how long such a look takes.
	looksEvery = time.Minute
	lookTime   = 15 * time.Second
)

// polled is a poll's last look at a verified change. The state is there when done is
// closed.
type polled struct {
	at    time.Time
	done  chan struct{}
	state string // Verified, Refused when it could not be read, "" when the text is gone
}

// Ask opens a request or tells how the newest one with the same content stands. It
// never authorizes and never sends; whatever goes wrong is Refused. A poll waits for
// no step of the writer.
func (c *Ceremony) Ask(ctx context.Context, uid uint32, aliasName, description string) string {
	if !c.Status().Constructible || !change.AliasName(aliasName) {
		return Refused
	}
	text, err := change.Description(description, c.Charset)
	if err != nil {
		return Refused
	}
	key, err := change.RequestKey(aliasName, text)
	if err != nil {
		return Refused
	}
	state, known := c.poll(ctx, key, aliasName)
	if known {
		return state
	}
	if state, err = c.wish(ctx, uid, key, aliasName, text); err != nil {
		// The client learns one word; why stands in the journal, for operators.
		c.Log.Info("a request was refused", slog.Any(logging.KeyCallerUID, uid), slog.String(logging.KeyClass, errs.Public(err).Class))
		return Refused
	}
	return state
}

// wish has the writer make a new request. Of all that ask, one at a time stands in the
// writer's line, so that clients never make an operator wait for more than one look. The
// store counts the requests that were opened; what is refused after a look (no such
// alias, nothing to change) leaves nothing there and costs the appliance as much.
func (c *Ceremony) wish(ctx context.Context, uid uint32, key, aliasName, text string) (string, error) {
	select {
	case <-c.asking:
		defer func() { c.asking <- struct{}{} }()
	case <-ctx.Done():
		return "", late(ctx)
	}
	// The same may have been asked for by somebody who stood here before.
	if state, known := c.poll(ctx, key, aliasName); known {
		return state, nil
	}
	if l := c.Store.Limits; !c.wishes.Take(c.Store.Clock.Read().BootMS, uid, 2*l.RequestsPerMinutePerUID, 2*l.RequestsPerMinute) {
		return "", errs.New(errs.Exhausted, "too many requests within a minute").WithClass("rate_minute")
	}
	return Requested, c.do(ctx, func(ctx context.Context) error { return c.request(ctx, uid, aliasName, text) })
}

// poll answers from the newest request with the key; known is false when that is over
// and a new one is due.
func (c *Ceremony) poll(ctx context.Context, key, aliasName string) (state string, known bool) {
	var r *record.Request
	var k *record.Contract
	var res *record.Result
	err := c.View(func(v *store.View) (err error) {
		if r, err = v.Newest(key); err != nil {
			return err
		}
		state = c.Project(v, r)
		if r.ContractID != "" {
			k, res, err = v.Contract(r.ContractID)
		}
		return err
	})
	if errs.CodeOf(err) == errs.NotFound && r == nil {
		return "", false
	}
	if err != nil {
		return Refused, true
	}
	now := c.Store.Clock.Read().Wall
	since := now.Sub(r.ConcludedAt)
	// A contract that holds nothing any more was settled by attestation, or released:
	// that is told for as long as a verified one is.
	over := k != nil && (!k.State.Reserves() || res.Released)
	switch {
	case r.Status.Live() && state != Refused, state == Reconciliation && (!over || since < remembers):
		return state, true
	case r.Status.Live():
		return "", false // past its time, and not swept yet
	case k != nil && res != nil && k.State == record.Verified && since < remembers:
		if state == Reverted {
			return Reverted, since < mourns
		}
		state = c.holds(ctx, r.RequestID, aliasName, k, now)
		return state, state != ""
	}
	return Refused, since < refuses
}

// holds says whether a verified change is still in place: Verified, "" when it is not
// and a new wish is due, Refused when that cannot be read. It looks once a minute, and
// polls that come together share a look, which no client can call off.
func (c *Ceremony) holds(ctx context.Context, request, aliasName string, k *record.Contract, now time.Time) string {
	c.mu.Lock()
	last, ok := c.polled[request]
	fresh := ok && now.Sub(last.at) < looksEvery && !now.Before(last.at)
	if !fresh {
		last = &polled{at: now, done: make(chan struct{}), state: Refused}
		maps.DeleteFunc(c.polled, func(_ string, p *polled) bool { return now.Sub(p.at) > remembers })
		c.polled[request] = last
	}
	c.mu.Unlock()
	if !fresh {
		go c.glance(context.WithoutCancel(ctx), last, aliasName, k)
	}
	select {
	case <-last.done:
		return last.state
	case <-ctx.Done():
		return Refused
	}
}

// glance looks once, for all who poll.
func (c *Ceremony) glance(ctx context.Context, p *polled, aliasName string, k *record.Contract) {
	defer close(p.done)
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if l, err := c.Reader.List(ctx); err == nil {
		p.state = ""
		if f, err := l.Find(aliasName); err == nil && f.Fingerprint == k.VerifiedFingerprint && l.Target == k.Provenance.Appliance {
			p.state = Verified
		}
	}
}

// Project says what a poll would say of a request, without a read of the appliance.
func (c *Ceremony) Project(v *store.View, r *record.Request) string {
	if c.Quarantine() != "" {
		return Refused
	}
	if r.ContractID == "" {
		if r.Status == record.Open && v.Now().Wall.Before(r.ExpiresAt) {
			return Requested
		}
		return Refused
	}
	k, res, err := v.Contract(r.ContractID)
	if err != nil {
		return Refused
	}
	switch k.State {
	case record.Prepared:
		if !v.Now().Wall.Before(k.ExpiresAt) {
			return Requested // the sweep opens the request again
		}
		return Awaiting
	case record.Executing:
		return Awaiting
	case record.Reconciliation, record.RollingBack, record.RollbackFailed:
		return Reconciliation
	case record.Verified:
		if res.AttestedOnly {
			return Reconciliation
		}
		if s, err := v.Send(k.ContractID); err == nil && s.Look == record.LookReverted {
			return Reverted
		}
		return Verified
	}
	return Refused
}

// request is T1: the wish is stored when the alias is there, is one that may be
// changed, and does not have the text already.
func (c *Ceremony) request(ctx context.Context, uid uint32, aliasName, text string) error {
	s, err := c.Current()
	if err != nil {
		return err
	}
	if c.Check(ctx, s); c.Quarantined() != nil {
		return c.Quarantined()
	}
	survey, err := c.Reader.Survey(ctx)
	if err != nil {
		return err
	}
	f, err := survey.Find(aliasName)
	if err != nil {
		return err
	}
	if f.State.Descr == text {
		return errs.New(errs.Conflict, "the alias has this description already").WithClass("no_op")
	}
	id := int64(uid)
	r, err := s.OpenRequest(store.NewRequest{AliasName: aliasName, Description: text, UID: &id, By: record.MCP(uid)})
	if err == nil {
		c.Note(Event{Kind: KindRequested, RequestID: r.RequestID})
	}
	return err
}

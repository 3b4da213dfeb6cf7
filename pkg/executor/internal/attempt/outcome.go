package attempt

import (
	"context"
	"time"

	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/pause"
)

// shown is what both reads after an exchange must show.
type shown string

const (
	nothing shown = ""       // no read can prove it
	before  shown = "before" // the target as it was, and every other alias
	after   shown = "after"  // the target as it was to become
)

// outcomes says what each effect of an exchange can prove. With the proof the
// contract is settled as the row says, without it the contract waits for people:
// reconciliation. An attempt of which no byte left needs no proof.
var outcomes = map[exchange.Effect]struct {
	proof  shown
	settle func(*run) record.State
	why    record.Reason
}{
	exchange.None:      {nothing, (*run).failed, record.ReasonNotSent},
	exchange.Rejected:  {before, (*run).failed, "rejected"},
	exchange.Shifted:   {before, (*run).failed, "shifted"},
	exchange.Locked:    {before, (*run).failed, "locked"},
	exchange.Accepted:  {after, (*run).marked, ""},
	exchange.Ambiguous: {nothing, (*run).uncertain, record.ReasonAmbiguousSend},
}

func (a *run) failed() record.State    { return a.dir.failed }
func (a *run) uncertain() record.State { return record.Reconciliation }
func (a *run) marked() record.State    { return "" } // only with both reads in hand

// Reads of the list may be repeated, within bounds; the request may not.
const (
	tries    = 3
	readTime = 10 * time.Second
)

// sight is one read after the exchange.
type sight struct {
	at    time.Time
	list  *alias.List
	found alias.Found
	why   record.Reason // it shows neither state, or nothing: the reason
}

// settle reads back and is T7.
func (a *run) settle(ctx context.Context) (bool, error) {
	// What was sent has to be settled, however long the answer took.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*readTime+a.Settle+time.Second)
	defer cancel()
	row, known := outcomes[a.result.Effect()]
	if !known { // an effect that nobody wrote a row for proves nothing
		row = outcomes[exchange.Ambiguous]
	}
	x := store.Exchange{
		Answered: a.result.Answered, NothingLeft: a.result.Effect() == exchange.None,
		Took: a.result.Took, Contended: a.result.Contended(),
	}
	if x.NothingLeft {
		return a.fail(row.why)
	}
	first := a.sight(ctx)
	x.FirstReadAt = first.at
	if row.proof == nothing {
		why := record.Reason("ambiguous_response")
		if a.result.Err != nil {
			why = reason(a.result.Err, row.why)
		}
		return a.wait(a.collateral(why, first), x)
	}
	if why := a.shows(first, row.proof); why != "" {
		return a.wait(a.collateral(why, first), x)
	}
	// Somebody else's apply can take a change back after a good read.
	if err := pause.For(ctx, a.Settle); err != nil {
		return a.wait("readback_failed", x)
	}
	second := a.sight(ctx)
	x.SecondReadAt = second.at
	if why := a.shows(second, row.proof); why != "" {
		return a.wait(a.collateral(why, second), x)
	}
	all, err := second.list.All()
	if err != nil {
		return a.wait("readback_failed", x)
	}
	// Where somebody else changed an alias meanwhile, how all of them stand is not how
	// our change left them: what is pending then is not ours alone.
	if x.OthersChanged = second.found.Collection != a.collection; !x.OthersChanged {
		x.All = all
	}
	var k record.Contract
	if row.proof == after {
		k, err = a.dir.mark(a.Store, a.k.At(), seen(first), seen(second), x)
	} else {
		k, err = a.Store.Settle(a.k.At(), row.settle(a), row.why, x)
	}
	if err == nil {
		a.k = k
	}
	return true, err
}

func seen(s sight) store.Seen {
	return store.Seen{Fingerprint: s.found.Fingerprint, Locator: s.found.Locator}
}

// wait is T7 for an outcome that is not proven.
func (a *run) wait(why record.Reason, x store.Exchange) (bool, error) {
	k, err := a.Store.Settle(a.k.At(), record.Reconciliation, why, x)
	if err == nil {
		a.k = k
	}
	return true, err
}

// sight reads the target once, in at most three tries.
func (a *run) sight(ctx context.Context) sight {
	l, err := a.Read(ctx)
	s := sight{at: a.Clock.Read().Wall, list: l}
	switch {
	case err != nil:
		s.why = "readback_failed"
	case l.Target != a.k.Provenance.Appliance:
		s.why = "identity_changed"
	default:
		if s.found, err = l.Find(a.in.Target.Name); err != nil {
			s.why = "readback_mismatch"
		}
	}
	return s
}

// Read reads the list, in at most three tries.
func (e *Env) Read(ctx context.Context) (l *alias.List, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	for range tries {
		if l, err = e.Reader.List(ctx); err == nil || ctx.Err() != nil {
			return l, err
		}
		if pause.For(ctx, readTime/10) != nil {
			return nil, err
		}
	}
	return nil, err
}

// shows returns the reason why a read does not show the state, "" when it does.
func (a *run) shows(s sight, want shown) record.Reason {
	print := a.to
	if want == before {
		print = a.from
	}
	switch {
	case s.why != "":
		return s.why
	case s.found.Fingerprint != print, s.found.Locator != a.k.Locator:
		return "readback_mismatch"
	case want == before && s.found.Collection != a.collection:
		return "collateral_suspected"
	}
	return ""
}

// collateral makes a reason the more serious one when other aliases are not what they
// were: another one may have been changed in the target's place.
func (a *run) collateral(why record.Reason, s sight) record.Reason {
	if s.why == "" && s.found.Collection != a.collection {
		return "collateral_suspected"
	}
	return why
}

// Settled makes two reads of the list, Settle apart, each on connections of its own.
func (e *Env) Settled(ctx context.Context) (two [2]*alias.List, err error) {
	if two[0], err = e.Read(ctx); err != nil {
		return two, err
	}
	if err := pause.For(ctx, e.Settle); err != nil {
		return two, err
	}
	two[1], err = e.Read(ctx)
	return two, err
}

package attempt

import (
	"cmp"
	"context"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// order is the whole of an attempt. A row runs when the one before it went well; what
// stops it settles the contract as the row says.
var order = []struct {
	name string
	do   func(*run, context.Context) (done bool, err error)
}{
	{"begin", (*run).begin},     // T4: what was signed holds still; executing, the increment noted. Else nothing changes
	{"tick", (*run).tick},       // the counter, once. Proven unmoved: failed. Unknown: left as it is
	{"advance", (*run).advance}, // T5: the counter's new value stored
	{"connect", (*run).connect}, // TLS to the appliance, no byte of the request. Else failed: not_sent
	{"preread", (*run).preread}, // the appliance as it was approved. Else failed
	{"intent", (*run).intent},   // T6: a request may have left. Then the clocks: late is failed, not_sent
	{"send", (*run).send},       // the one exchange, unless the clocks say late by then
	{"settle", (*run).settle},   // the reads that prove something, and T7
}

// fresh is the longest between the end of the last look and the first byte.
const fresh = 2 * time.Second

// direction is what differs between a change and its undo.
type direction struct {
	failed record.State
	moved  record.Reason // the target is not what the attempt starts from
	text   func(*change.Intent) string
	from   func(*change.Intent) (string, error) // fingerprint before the send
	to     func(*change.Intent) (string, error) // and after it
	mark   func(*store.Store, record.At, store.Seen, store.Seen, store.Exchange) (record.Contract, error)
}

var (
	forward = direction{
		failed: record.Failed, moved: "drift",
		text: func(in *change.Intent) string { return in.NewDescription },
		from: original, to: (*change.Intent).ExpectedPost,
		mark: func(s *store.Store, at record.At, a, b store.Seen, x store.Exchange) (record.Contract, error) {
			return s.MarkExecutionVerified(at, a, b, x)
		},
	}
	back = direction{
		failed: record.RollbackFailed, moved: "conflict_before_rollback",
		text: func(in *change.Intent) string { return in.Target.Descr },
		from: (*change.Intent).ExpectedPost, to: original,
		mark: func(s *store.Store, at record.At, a, b store.Seen, x store.Exchange) (record.Contract, error) {
			return s.MarkRollbackVerified(at, a, b, x)
		},
	}
)

func original(in *change.Intent) (string, error) { return in.Target.Fingerprint() }

// run is one attempt under way.
type run struct {
	*Env
	Plan
	k    record.Contract // as stored
	dir  direction
	in   *change.Intent
	from string // fingerprints
	to   string

	conn       *exchange.Conn
	collection string        // of all other aliases, at the last look
	looked     store.Reading // when that ended
	result     exchange.Result
}

func (a *run) close() {
	if a.conn != nil {
		_ = a.conn.Close() // nothing of an attempt rests on how it ends
	}
}

// fail is T7 for an attempt of which no byte was sent.
func (a *run) fail(why record.Reason) (bool, error) {
	k, err := a.Store.Settle(a.k.At(), a.dir.failed, why, store.Exchange{NothingLeft: true})
	if err == nil {
		a.k = k
	}
	return true, err
}

func (a *run) begin(ctx context.Context) (bool, error) {
	if err := a.Check(ctx); err != nil {
		return true, err
	}
	err := a.Store.View(func(v *store.View) (err error) {
		a.in, err = v.Intent(&a.k)
		return err
	})
	if err == nil {
		a.from, err = a.dir.from(a.in)
	}
	if err == nil {
		a.to, err = a.dir.to(a.in)
	}
	if err != nil {
		return true, err
	}
	witness, err := a.Counter.Read(ctx)
	if err != nil {
		return true, err
	}
	if a.Back == nil {
		a.k, err = a.Store.BeginExecution(a.Contract.At(), witness)
	} else {
		a.k, err = a.Store.BeginRollback(a.Contract.At(), a.Back.Confirmation, a.Back.Authorization, witness, a.Back.By)
	}
	if err != nil {
		a.k = a.Contract
		return true, err
	}
	if a.Began != nil {
		a.Began(a.k)
	}
	return false, nil
}

// pending is the increment that T4 noted.
func (a *run) pending() (p record.Pending, err error) {
	err = a.Store.View(func(v *store.View) error {
		row, err := v.Anchor()
		if err != nil {
			return err
		}
		if row.Pending == nil || row.Pending.ContractID != a.k.ContractID {
			return errs.New(errs.Internal, "the noted increment is gone").WithClass("store_integrity")
		}
		p = *row.Pending
		return nil
	})
	return p, err
}

func (a *run) tick(ctx context.Context) (bool, error) {
	p, err := a.pending()
	if err != nil {
		return true, err
	}
	_, err = a.Counter.Advance(ctx, p.From)
	if err == nil {
		return false, nil
	}
	if errs.CodeOf(err) == errs.UnknownOutcome {
		return true, err
	}
	// Nothing happened, says the backend; the store asks for the value that proves it.
	witness, read := a.Counter.Read(ctx)
	if read != nil || witness != p.From {
		return true, anchor.Unreachable(err, "whether the counter was incremented is not known")
	}
	k, err := a.Store.AnchorRefused(a.k.At(), witness)
	if err == nil {
		a.k = k
	}
	return true, err
}

func (a *run) advance(ctx context.Context) (bool, error) {
	p, err := a.pending()
	if err != nil {
		return true, err
	}
	return false, a.Store.AnchorAdvanced(a.k.At(), p.To)
}

func (a *run) connect(ctx context.Context) (bool, error) {
	conn, err := a.Exchanger.Connect(ctx)
	if err != nil {
		return a.fail(record.ReasonNotSent)
	}
	a.conn = conn
	return false, nil
}

// preread looks at everything the approval rests on once more, on other connections
// than the one that waits for the request.
func (a *run) preread(ctx context.Context) (bool, error) {
	why := a.look(ctx)
	a.looked = a.Clock.Read()
	if why != "" {
		return a.fail(why)
	}
	return false, nil
}

func (a *run) look(ctx context.Context) record.Reason {
	s, err := a.Reader.Survey(ctx)
	if err != nil {
		return reason(err, "target_unresolved")
	}
	if s.Target != a.k.Provenance.Appliance {
		return "identity_changed"
	}
	if a.Names != "" && s.InterfaceNames != a.Names {
		return "appliance_settings"
	}
	var ours string
	if err := a.Store.View(func(v *store.View) (err error) {
		ours, err = v.Ours()
		return err
	}); err != nil {
		return "appliance_busy" // what cannot be compared counts as busy
	}
	if err := s.Busy(ours); err != nil {
		return reason(err, "appliance_busy")
	}
	f, err := s.Find(a.in.Target.Name)
	switch {
	case err != nil:
		return reason(err, "target_unresolved")
	case f.Fingerprint != a.from:
		return a.dir.moved
	case f.Locator != a.k.Locator:
		return "locator_changed"
	}
	a.collection = f.Collection
	return ""
}

func (a *run) intent(ctx context.Context) (bool, error) {
	k, err := a.Store.SendIntent(a.k.At(), a.collection)
	if errs.CodeOf(err) == errs.Expired {
		return a.fail(record.ReasonNotSent)
	}
	if err != nil {
		return true, err
	}
	a.k = k
	if !a.inTime() {
		_ = a.conn.Close() // not a byte of the request was written
		return a.fail(record.ReasonNotSent)
	}
	return false, nil
}

// inTime says that the look is young enough, and the approvals last: a process that was
// stopped, or a machine that slept, would send what nobody has looked at.
func (a *run) inTime() bool {
	now, most := a.Clock.Read(), cmp.Or(a.Fresh, fresh)
	boot := time.Duration(now.BootMS-a.looked.BootMS) * time.Millisecond
	return now.BootID == a.looked.BootID && boot >= 0 && boot <= most && now.Wall.Sub(a.looked.Wall).Abs() <= most && now.Wall.Before(a.Until)
}

func (a *run) send(ctx context.Context) (bool, error) {
	a.conn.Ask(a.inTime) // what listens for a goodbye takes its time too
	a.result = a.conn.Send(ctx, exchange.Change{Locator: a.k.Locator, Name: a.in.Target.Name, Descr: a.dir.text(a.in)})
	if a.Sent != nil && a.result.Effect() != exchange.None {
		a.Sent(a.result.Took)
	}
	return false, nil
}

// reason takes the class of an error for the reason when it is a word of the audit.
func reason(err error, otherwise record.Reason) record.Reason {
	if r := record.Reason(errs.Public(err).Class); r.Known() && r != "lockout" {
		return r
	}
	return otherwise
}

var _ Reader = (*alias.Reader)(nil)

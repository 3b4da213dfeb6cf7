package ceremony

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/attempt"
	"pfsensemcp/pkg/executor/internal/gate"
	"pfsensemcp/pkg/executor/internal/keeper"
	"pfsensemcp/pkg/executor/internal/papers"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Preview returns the attested file that the authorization owner signs over, made by a
// fresh read. It grants nothing.
func (c *Ceremony) Preview(ctx context.Context, by record.Actor, requestID string) ([]byte, error) {
	return step(ctx, c, func(ctx context.Context) ([]byte, error) {
		file, names, err := papers.Preview(ctx, c.Keeper, by, requestID)
		if err == nil {
			c.remember(requestID, names)
		}
		return file, err
	})
}

// remember keeps how the appliance named interfaces at a preview. A restart forgets
// it, and voids the preview as well.
func (c *Ceremony) remember(request, names string) {
	c.mu.Lock()
	c.names[request] = names
	known := slices.Collect(maps.Keys(c.names))
	c.mu.Unlock()
	if len(known) <= maxNames {
		return
	}
	_ = c.View(func(v *store.View) error { // what cannot be read stays a while longer
		known = slices.DeleteFunc(known, func(id string) bool {
			r, err := v.Request(id)
			return err != nil || r.Status.Live()
		})
		return nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range known { // over and done with
		delete(c.names, id)
	}
}

// maxNames is far above the requests that can be open at a time.
const maxNames = 256

func (c *Ceremony) namesOf(request string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.names[request]
}

// denied writes the audit row of a refused file and returns the one refusal that is
// the same for every cause.
func (c *Ceremony) denied(s *store.Store, by record.Actor, event record.Event, d *gate.Denied) error {
	seq, err := s.Deny(store.Denial{Event: event, By: by, Reason: d.Reason, RequestID: d.RequestID, ContractID: d.ContractID})
	c.Wrote(err)
	c.Note(Event{Kind: KindDenied, RequestID: d.RequestID, ContractID: d.ContractID, Gate: letter(d.Reason), Seq: seq})
	if seq == 0 {
		return errs.New(errs.Conflict, "write request denied").WithClass(ClassDenied)
	}
	return errs.Newf(errs.Conflict, "write request denied (audit seq %d)", seq).WithClass(ClassDenied)
}

// The classes of what is no judgement of the store's: ClassDenied of every refused file,
// ClassNotBegun of a confirmed change whose attempt cannot begin now.
const (
	ClassDenied   = "write_denied"
	ClassNotBegun = "not_begun"
)

// letter is the gate of a reason without its cause.
func letter(r record.Reason) string {
	for i, b := range r {
		if b == '_' {
			return string(r[:i])
		}
	}
	return "store"
}

// paused refuses to look at the files of a peer after too many denials.
func (c *Ceremony) paused(s *store.Store, by record.Actor) error {
	until, paused, err := s.Paused(by)
	if err != nil || !paused {
		return err
	}
	return errs.Newf(errs.Exhausted, "too many files were refused: none is looked at until %s", until.Format(time.RFC3339)).WithClass("denials").
		WithNext("read the reasons of the last ones: mcpctl audit show")
}

// submitted makes what a peer's signed file needs: no pause, the store, and a look.
func (c *Ceremony) submitted(ctx context.Context, by record.Actor) (*store.Store, error) {
	s, err := c.Current()
	if err != nil {
		return nil, err
	}
	if err := c.paused(s, by); err != nil {
		return nil, err
	}
	c.Check(ctx, s)
	return s, nil
}

// submit has the writer run what a signed file starts.
func submit(ctx context.Context, c *Ceremony, by record.Actor, run func(context.Context, *store.Store) (record.Contract, error)) (record.Contract, error) {
	return step(ctx, c, func(ctx context.Context) (record.Contract, error) {
		s, err := c.submitted(ctx, by)
		if err != nil {
			return record.Contract{}, err
		}
		return run(ctx, s)
	})
}

// Authorize runs the gates and, past them, T2: the authorization is spent and the
// contract made, whatever happens later.
func (c *Ceremony) Authorize(ctx context.Context, by record.Actor, file []byte) (record.Contract, error) {
	return submit(ctx, c, by, func(ctx context.Context, s *store.Store) (k record.Contract, err error) {
		a, d := gate.Authorization(ctx, c.world(s), file)
		if d != nil {
			return k, c.denied(s, by, record.AuthorizationDenied, d)
		}
		if k, err = s.Authorize(a.Store(by)); err != nil {
			return k, c.refused(s, by, record.AuthorizationDenied, err, "g6_store", a.Artifact.RequestID, "")
		}
		c.Note(Event{Kind: KindAuthorized, RequestID: k.RequestID, ContractID: k.ContractID, State: k.State})
		return k, nil
	})
}

// refused turns a transaction's refusal into a denial; a fault of the store stays one.
func (c *Ceremony) refused(s *store.Store, by record.Actor, event record.Event, err error, otherwise record.Reason, request, contract string) error {
	if code := errs.CodeOf(err); code == errs.Internal || code == errs.UnknownOutcome || code == errs.Unavailable {
		return err
	}
	if errs.Public(err).Class == "disk_full" { // no judgement of the file, and no room for its row
		return err
	}
	return c.denied(s, by, event, &gate.Denied{Reason: gate.Reasoned(err, otherwise), RequestID: request, ContractID: contract, Err: err})
}

// Pending returns the attested file that the confirmation owner signs over.
func (c *Ceremony) Pending(_ context.Context, _ record.Actor, contractID string) ([]byte, error) {
	return papers.Pending(c.Keeper, contractID)
}

// Confirm runs the late checks, stores the confirmation (T3) and begins the attempt.
// It returns after T4, with the contract executing; when the attempt cannot begin, the
// contract stays prepared and confirmed.
func (c *Ceremony) Confirm(ctx context.Context, by record.Actor, file []byte) (record.Contract, error) {
	return c.begin(ctx, func(ctx context.Context, began func(record.Contract)) error {
		s, err := c.submitted(ctx, by)
		if err != nil {
			return err
		}
		ok, d := gate.Confirmation(ctx, c.world(s), file)
		if d != nil {
			if d.Drift() {
				c.drifted(s, d.ContractID)
			}
			return c.denied(s, by, record.ConfirmationDenied, d)
		}
		k, err := s.Confirm(ok.Contract.At(), file, ok.Artifact, by)
		if err != nil {
			return c.refused(s, by, record.ConfirmationDenied, err, "c3_state", ok.Contract.RequestID, ok.Contract.ContractID)
		}
		c.Note(Event{Kind: KindConfirmed, RequestID: k.RequestID, ContractID: k.ContractID, State: k.State})
		return c.forward(ctx, s, k, began, gate.Begin)
	})
}

// drifted ends a prepared contract whose target is not as it was approved.
func (c *Ceremony) drifted(s *store.Store, contractID string) {
	var k *record.Contract
	if err := s.View(func(v *store.View) (err error) {
		k, _, err = v.Contract(contractID)
		return err
	}); err != nil || k.State != record.Prepared {
		return // what is not prepared any more stays as it is
	}
	// Not within the view: a commit may have to wait for every open one.
	done, err := s.FailPrepared(k.At(), record.ReasonPreflightDrift, record.Executord)
	c.Wrote(err)
	if err == nil {
		c.Note(Event{Kind: KindSettled, RequestID: done.RequestID, ContractID: contractID, State: done.State})
	}
}

// Resume begins the attempt of a confirmed contract that could not begin. It repeats
// the late checks.
func (c *Ceremony) Resume(ctx context.Context, by record.Actor, contractID string) (record.Contract, error) {
	return c.begin(ctx, func(ctx context.Context, began func(record.Contract)) error {
		s, err := c.Current()
		if err != nil {
			return err
		}
		c.Check(ctx, s)
		var k *record.Contract
		if err := s.View(func(v *store.View) (err error) {
			if k, _, err = v.Contract(contractID); err != nil {
				return err
			}
			if k.State != record.Prepared || !k.Confirmed() {
				return errs.New(errs.Conflict, "the contract is not one that waits to begin").WithClass("conflict").WithNext("see where it stands: mcpctl write list")
			}
			return nil
		}); err != nil {
			return err
		}
		if d := gate.Late(ctx, c.world(s), k); d != nil {
			if d.Drift() {
				c.drifted(s, contractID)
			}
			return c.denied(s, by, record.ConfirmationDenied, d)
		}
		return c.forward(ctx, s, *k, began, gate.Begin)
	})
}

// begin has the writer run an attempt and answers when it has begun; the attempt goes
// on by itself.
func (c *Ceremony) begin(ctx context.Context, run func(context.Context, func(record.Contract)) error) (record.Contract, error) {
	first := make(chan answer[record.Contract], 1)
	var once sync.Once
	tell := func(k record.Contract, err error) { once.Do(func() { first <- answer[record.Contract]{k, err} }) }
	if err := c.hand(ctx, job{ctx: ctx, done: func() {}, run: func(turn context.Context) error {
		err := left(ctx)
		if err == nil {
			err = run(turn, func(k record.Contract) { tell(k, nil) })
		}
		tell(record.Contract{}, err) // nothing has begun
		return err
	}}); err != nil {
		return record.Contract{}, err
	}
	a, err := await(ctx, c, first)
	return a.is, cmp.Or(err, a.err)
}

// again is a gate that is run again inside the attempt, right before T4.
type again func(context.Context, gate.World, *record.Contract) *gate.Denied

// forward runs the attempt of a confirmed contract.
func (c *Ceremony) forward(ctx context.Context, s *store.Store, k record.Contract, began func(record.Contract), check again) error {
	return c.attempt(ctx, s, attempt.Plan{
		Contract: k, Until: k.ExpiresAt, Names: c.namesOf(k.RequestID), Began: began,
		Check: func(ctx context.Context) error {
			if d := check(ctx, c.world(s), &k); d != nil {
				return errs.Wrap(d.Err, errs.Conflict, "the change cannot begin now").WithClass(string(d.Reason))
			}
			return nil
		},
	})
}

// attempt runs one attempt to its end and says what became of it.
func (c *Ceremony) attempt(ctx context.Context, s *store.Store, p attempt.Plan) error {
	check := p.Check
	p.Check = func(ctx context.Context) error {
		if c.ending() { // an attempt may take longer than the end may
			return errs.New(errs.Unavailable, "executord is stopping").WithClass("stopping")
		}
		return check(ctx)
	}
	began, begun := p.Began, false
	p.Began = func(k record.Contract) {
		begun = true
		c.Note(Event{Kind: KindBegun, RequestID: k.RequestID, ContractID: k.ContractID, State: k.State})
		began(k)
	}
	p.Sent = func(took time.Duration) {
		c.Note(Event{Kind: KindSent, RequestID: p.Contract.RequestID, ContractID: p.Contract.ContractID, Took: took})
	}
	start := c.Store.Clock.Read()
	k, err := c.env(s).Run(ctx, p)
	took := time.Duration(c.Store.Clock.Read().BootMS-start.BootMS) * time.Millisecond
	switch {
	case !begun && errs.CodeOf(err) == errs.UnknownOutcome:
		return err // only the file says whether it has begun
	case !begun && p.Back == nil:
		// The approvals are accepted; that the attempt cannot begin now is no denial.
		return errs.Wrap(err, errs.Unavailable, "the change is confirmed and cannot begin now").WithClass(ClassNotBegun).
			WithNext("see why, then begin it before it expires: mcpctl doctor write, mcpctl write resume")
	case !begun:
		return err
	case err == nil:
		c.Note(Event{Kind: KindSettled, RequestID: k.RequestID, ContractID: k.ContractID, State: k.State, Took: took})
		return nil
	case errs.Public(err).Class == keeper.Unreachable:
		c.Enter(keeper.Unreachable)
		return err
	}
	// What happened to the attempt could not be stored. Only a start can settle it.
	c.Fail(err)
	return err
}

// CancelRequest ends an open request.
func (c *Ceremony) CancelRequest(_ context.Context, by record.Actor, id string) error {
	s, err := c.Current()
	if err != nil {
		return err
	}
	err = s.CancelRequest(id, record.Cancelled, by)
	c.Wrote(err)
	return err
}

// CancelContract ends a prepared contract. It waits for nothing: whether it or the
// attempt comes first is for the store to decide.
func (c *Ceremony) CancelContract(_ context.Context, by record.Actor, id string) error {
	s, err := c.Current()
	if err != nil {
		return err
	}
	var k *record.Contract
	if err := s.View(func(v *store.View) (err error) {
		k, _, err = v.Contract(id)
		return err
	}); err != nil {
		return err
	}
	if k.State != record.Prepared {
		return errs.Newf(errs.Conflict, "the contract is %s: only what has not begun can be cancelled", k.State).WithClass("conflict").
			WithNext("see what can be done with it: mcpctl write list")
	}
	if c.Doubtful() {
		return errs.New(errs.Unavailable, "the store may have forgotten that the contract was sent: nothing can be said of it").WithClass("quarantine").
			WithNext("see what is wrong: mcpctl discover, mcpctl doctor write; a rebaseline settles it")
	}
	_, err = s.FailPrepared(k.At(), record.ReasonOperatorCancel, by)
	c.Wrote(err)
	return err
}

// CancelUnpreviewed ends every open request of a uid that nobody has previewed.
func (c *Ceremony) CancelUnpreviewed(_ context.Context, by record.Actor, uid int64) ([]string, error) {
	s, err := c.Current()
	if err != nil {
		return nil, err
	}
	ids, err := s.CancelUnpreviewed(uid, by)
	c.Wrote(err)
	return ids, err
}

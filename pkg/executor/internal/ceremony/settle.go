package ceremony

import (
	"context"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/attempt"
	"pfsensemcp/pkg/executor/internal/gate"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Observe reads the target of a contract whose outcome is open and returns the
// attested file that evidence is signed over. It changes no state, and works under
// quarantine.
func (c *Ceremony) Observe(ctx context.Context, by record.Actor, contractID string) (file []byte, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		file, err = c.observe(ctx, by, contractID)
		return err
	})
	return file, err
}

func (c *Ceremony) observe(ctx context.Context, by record.Actor, contractID string) ([]byte, error) {
	s, err := c.open()
	if err != nil {
		return nil, err
	}
	var k *record.Contract
	var in *change.Intent
	o := &artifact.Observation{KeyID: c.Attestation.KeyID}
	if err := s.View(func(v *store.View) (err error) {
		var res *record.Result
		if k, res, err = v.Contract(contractID); err != nil {
			return err
		}
		if k.State != record.Reconciliation && (k.State != record.RollbackFailed || res.Released) {
			return errs.New(errs.Conflict, "the outcome of the contract is not open").WithClass("conflict").WithNext("see where it stands: mcpctl write list")
		}
		in, err = v.Intent(k)
		return err
	}); err != nil {
		return nil, err
	}
	read := c.Store.Clock.Read()
	l, err := c.Reader.List(ctx)
	if err != nil {
		return nil, err
	}
	if l.Target != k.Provenance.Appliance {
		return nil, errs.New(errs.Conflict, "another appliance answers than the one of the contract").WithClass("identity_changed").
			WithNext("find out what stands at the appliance's address before anything is signed")
	}
	o.ContractID, o.OperationID, o.StateVersion = k.ContractID, k.OperationID, k.Version
	o.UncertaintyOrigin, o.SendBoundary = string(k.Origin), string(k.Boundary)
	o.ApplianceTarget, o.ObservedAt = l.Target, read.Wall
	// The same reading of a list that evidence will be held against.
	if o.Match, err = gate.Match(in, k, l); err != nil {
		return nil, err
	}
	if f, err := l.Find(in.Target.Name); err == nil && o.Match != artifact.MatchAbsent {
		o.TargetPresent, o.TargetFingerprint, o.Locator = true, f.Fingerprint, &f.Locator
		o.OthersUnchanged = f.Collection == k.Collection
	}
	if err := s.View(func(v *store.View) error {
		sent, err := v.Send(contractID)
		if errs.CodeOf(err) == errs.NotFound || err == nil && k.Boundary != record.BoundaryIntent {
			return nil
		}
		if err != nil {
			return err
		}
		n := max(0, int64(v.SinceSend(sent)/time.Second)-(v.Now().BootMS-read.BootMS)/1000-1) // as of the read, and rather less
		o.SentAt, o.SecondsSinceSend = sent.SentAt, &n
		return nil
	}); err != nil {
		return nil, err
	}
	file, err := c.sign(o)
	if err != nil {
		return nil, err
	}
	if err := s.Observed(o, read, by); err != nil {
		return nil, err
	}
	c.note(Event{Kind: KindObserved, RequestID: k.RequestID, ContractID: contractID, State: k.State})
	return file, nil
}

// live makes the two reads that evidence is held against.
func (c *Ceremony) live(s *store.Store) func(context.Context) ([2]*alias.List, error) {
	return c.env(s).Settled
}

// Reconcile settles a contract by signed evidence.
func (c *Ceremony) Reconcile(ctx context.Context, by record.Actor, file []byte) (k record.Contract, err error) {
	err = c.submit(ctx, by, func(ctx context.Context, s *store.Store) error {
		e, d := gate.Reconciliation(ctx, c.world(s), file, c.live(s))
		if d != nil {
			return c.denied(s, by, record.ReconcileDenied, d)
		}
		if k, err = s.Reconcile(e.Contract.At(), file, e.Artifact, e.AttestedOnly, by); err != nil {
			return c.refused(s, by, record.ReconcileDenied, err, "r_state", e.Contract.RequestID, e.Contract.ContractID)
		}
		c.note(Event{Kind: KindSettled, RequestID: k.RequestID, ContractID: k.ContractID, State: k.State})
		return nil
	})
	return k, err
}

// Release lets the target of a failed rollback go, by signed evidence. The state stays.
func (c *Ceremony) Release(ctx context.Context, by record.Actor, file []byte) (k record.Contract, err error) {
	err = c.submit(ctx, by, func(ctx context.Context, s *store.Store) error {
		e, d := gate.Release(ctx, c.world(s), file, c.live(s))
		if d != nil {
			return c.denied(s, by, record.ReconcileDenied, d)
		}
		if err := s.Release(e.Contract.At(), file, e.Artifact, by); err != nil {
			return c.refused(s, by, record.ReconcileDenied, err, "r_state", e.Contract.RequestID, e.Contract.ContractID)
		}
		k = *e.Contract
		return nil
	})
	return k, err
}

// RollbackRequest returns the attested file that both owners sign over for an undo.
func (c *Ceremony) RollbackRequest(ctx context.Context, _ record.Actor, contractID string) (file []byte, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		s, err := c.ready(ctx)
		if err != nil {
			return err
		}
		if err := c.meet(ctx); err != nil {
			return err
		}
		r := &artifact.RollbackRequest{KeyID: c.Attestation.KeyID}
		if err := s.View(func(v *store.View) error {
			k, res, err := v.Contract(contractID)
			if err != nil {
				return err
			}
			in, err := v.Intent(k)
			if err != nil {
				return err
			}
			until := res.VerifiedAt.Add(c.Store.Limits.RollbackWithin)
			switch {
			case k.State != record.Verified:
				return errs.New(errs.Conflict, "only a verified change can be undone").WithClass("conflict").WithNext("see where it stands: mcpctl write list")
			case res.AttestedOnly:
				return errs.New(errs.Conflict, "a change that was settled by attestation alone cannot be undone here").WithClass("attested_only").
					WithNext("ask for the former text as a new change")
			case !v.Now().Wall.Before(until):
				return errs.New(errs.Expired, "the time to undo the change is over").WithClass("b_window").WithNext("ask for the former text as a new change")
			}
			r.ContractID, r.OperationID, r.RequestID, r.StateVersion = k.ContractID, k.OperationID, k.RequestID, k.Version
			r.Intent, r.Locator, r.VerifiedAt, r.GeneratedAt = *in, k.Locator, res.VerifiedAt, v.Now().Wall
			return nil
		}); err != nil {
			return err
		}
		plan, err := c.plan(ctx)
		if err != nil {
			return err
		}
		r.Plan = *plan
		file, err = c.sign(r)
		return err
	})
	return file, err
}

// Rollback begins an undo with both signatures. It returns after T4.
func (c *Ceremony) Rollback(ctx context.Context, by record.Actor, confirmation, authorization []byte) (record.Contract, error) {
	return c.begin(ctx, func(ctx context.Context, began func(record.Contract)) error {
		s, err := c.open()
		if err != nil {
			return err
		}
		if err := c.paused(s, by); err != nil {
			return err
		}
		c.check(ctx, s)
		if err := c.meet(ctx); err != nil {
			return err
		}
		u, d := gate.Rollback(ctx, c.world(s), confirmation, authorization)
		if d != nil {
			return c.denied(s, by, record.RollbackDenied, d)
		}
		until := u.Confirmation.Artifact.ExpiresAt
		if e := u.Authorization.Artifact.ExpiresAt; e.Before(until) {
			until = e
		}
		err = c.attempt(ctx, s, attempt.Plan{
			Contract: *u.Contract, Until: until, Began: began,
			Back:  &attempt.Undo{Confirmation: u.Confirmation, Authorization: u.Authorization, By: by},
			Check: func(context.Context) error { return nil }, // the gate has looked in this very turn
		})
		if begun := errs.CodeOf(err) == errs.UnknownOutcome || c.failure() != nil; err != nil && !begun {
			return c.refused(s, by, record.RollbackDenied, err, "b_state", u.Contract.RequestID, u.Contract.ContractID)
		}
		return err
	})
}

// Rebaseline accepts the counter's value by signature. It is the way out of a
// quarantine for a value that differs.
func (c *Ceremony) Rebaseline(ctx context.Context, by record.Actor, file []byte) error {
	return c.submit(ctx, by, func(ctx context.Context, s *store.Store) error {
		a, d := gate.Rebaseline(ctx, c.world(s), file)
		if d != nil {
			return c.denied(s, by, record.ReconcileDenied, d)
		}
		witness, err := c.Counter.Read(ctx)
		if err != nil {
			return err
		}
		if err := s.Rebaseline(file, a, witness, by); err != nil {
			return c.refused(s, by, record.ReconcileDenied, err, "r_state", "", "")
		}
		c.forget()
		c.check(ctx, s)
		return nil
	})
}

// forget drops what was remembered of requests: a rebaseline voids previews.
func (c *Ceremony) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.names)
	clear(c.polled)
}

// AnchorFile returns the attested file that a rebaseline is signed over. It works
// under quarantine.
func (c *Ceremony) AnchorFile(ctx context.Context, _ record.Actor) (file []byte, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		s, err := c.open()
		if err != nil {
			return err
		}
		witness, err := c.Counter.Read(ctx)
		if err != nil {
			return err
		}
		a := &artifact.AnchorStatus{
			StoreID: c.Store.StoreID, WitnessValue: witness, Quarantine: c.Quarantine(), AuthoritySet: c.owners, BuildID: c.BuildID, KeyID: c.Attestation.KeyID,
		}
		if err := s.View(func(v *store.View) error {
			row, err := v.Anchor()
			if err == nil {
				a.NVIndexName, a.StoreValue, a.AuditHead, a.GeneratedAt = row.NVName, row.Value, row.AuditHead, v.Now().Wall
			}
			return err
		}); err != nil {
			return err
		}
		file, err = c.sign(a)
		return err
	})
	return file, err
}

// tend is what the writer does by itself: the counter and the clocks, what is past
// its time, and the look a minute after a verified change.
func (c *Ceremony) tend(ctx context.Context) error {
	s := c.store.Load()
	if s == nil || !c.complete.Load() {
		return nil
	}
	c.check(ctx, s)
	if s.Integrity() != nil || c.Quarantine() == quarantineRestored {
		return nil
	}
	done, err := s.Sweep()
	if err != nil {
		return err
	}
	for _, id := range done.Contracts {
		c.note(Event{Kind: KindExpired, ContractID: id, State: record.Expired})
	}
	for _, id := range done.Requests {
		c.note(Event{Kind: KindExpired, RequestID: id})
	}
	return c.looks(ctx, s)
}

// looks looks once more at verified changes: an apply by somebody else can take one
// back after two good reads.
func (c *Ceremony) looks(ctx context.Context, s *store.Store) error {
	type due struct {
		id, name, want, target string
		locator                int64
	}
	var all []due
	if err := s.View(func(v *store.View) error {
		sends, err := v.LooksDue()
		if err != nil {
			return err
		}
		for _, sent := range sends {
			k, _, err := v.Contract(sent.ContractID)
			if err != nil {
				return err
			}
			in, err := v.Intent(k)
			if err != nil {
				return err
			}
			all = append(all, due{k.ContractID, in.Target.Name, k.VerifiedFingerprint, k.Provenance.Appliance, k.Locator})
		}
		return nil
	}); err != nil {
		return err
	}
	for _, d := range all {
		look := record.LookUnreadable
		if l, err := c.env(s).Read(ctx); err == nil && l.Target == d.target {
			look = record.LookReverted
			// The position may have moved since; the text is what counts.
			if f, err := l.Find(d.name); err == nil && f.Fingerprint == d.want {
				look = record.LookHeld
			}
		}
		if err := s.Look(d.id, look); err != nil {
			return err
		}
		c.note(Event{Kind: KindLooked, ContractID: d.id, State: record.Verified})
	}
	return nil
}

// Tend has the writer do now what it does by itself every few seconds.
func (c *Ceremony) Tend(ctx context.Context) error { return c.do(ctx, c.tend) }

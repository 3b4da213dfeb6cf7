package ceremony

import (
	"context"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/attempt"
	"pfsensemcp/pkg/executor/internal/gate"
	"pfsensemcp/pkg/executor/internal/papers"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Observe reads the target of a contract whose outcome is open and returns the attested
// file that evidence is signed over.
func (c *Ceremony) Observe(ctx context.Context, by record.Actor, contractID string) ([]byte, error) {
	return step(ctx, c, func(ctx context.Context) ([]byte, error) { return papers.Observation(ctx, c.Keeper, by, contractID) })
}

// live makes the two reads that evidence is held against.
func (c *Ceremony) live(s *store.Store) func(context.Context) ([2]*alias.List, error) {
	return c.env(s).Settled
}

// Reconcile settles a contract by signed evidence.
func (c *Ceremony) Reconcile(ctx context.Context, by record.Actor, file []byte) (record.Contract, error) {
	return submit(ctx, c, by, func(ctx context.Context, s *store.Store) (k record.Contract, err error) {
		e, d := gate.Reconciliation(ctx, after{world{c, s}}, file, c.live(s))
		if d != nil {
			return k, c.denied(s, by, record.ReconcileDenied, d)
		}
		if k, err = s.Reconcile(e.Contract.At(), file, e.Artifact, e.AttestedOnly, by); err != nil {
			return k, c.refused(s, by, record.ReconcileDenied, err, "r_state", e.Contract.RequestID, e.Contract.ContractID)
		}
		c.Note(Event{Kind: KindSettled, RequestID: k.RequestID, ContractID: k.ContractID, State: k.State})
		return k, nil
	})
}

// Release lets the target of a failed rollback go, by signed evidence. The state stays.
func (c *Ceremony) Release(ctx context.Context, by record.Actor, file []byte) (record.Contract, error) {
	return submit(ctx, c, by, func(ctx context.Context, s *store.Store) (record.Contract, error) {
		e, d := gate.Release(ctx, after{world{c, s}}, file, c.live(s))
		if d != nil {
			return record.Contract{}, c.denied(s, by, record.ReconcileDenied, d)
		}
		if err := s.Release(e.Contract.At(), file, e.Artifact, by); err != nil {
			return record.Contract{}, c.refused(s, by, record.ReconcileDenied, err, "r_state", e.Contract.RequestID, e.Contract.ContractID)
		}
		return *e.Contract, nil
	})
}

// RollbackRequest returns the attested file that both owners sign over for an undo.
func (c *Ceremony) RollbackRequest(ctx context.Context, _ record.Actor, contractID string) ([]byte, error) {
	return step(ctx, c, func(ctx context.Context) ([]byte, error) { return papers.Undo(ctx, c.Keeper, contractID) })
}

// Rollback begins an undo with both signatures. It returns after T4.
func (c *Ceremony) Rollback(ctx context.Context, by record.Actor, confirmation, authorization []byte) (record.Contract, error) {
	return c.begin(ctx, func(ctx context.Context, began func(record.Contract)) error {
		s, err := c.submitted(ctx, by)
		if err != nil {
			return err
		}
		u, d := gate.Rollback(ctx, back{world{c, s}}, confirmation, authorization)
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
		if begun := errs.CodeOf(err) == errs.UnknownOutcome || c.Failure() != nil; err != nil && !begun {
			return c.refused(s, by, record.RollbackDenied, err, "b_state", u.Contract.RequestID, u.Contract.ContractID)
		}
		return err
	})
}

// Rebaseline accepts the counter's value by signature. It is the way out of a
// quarantine for a value that differs.
func (c *Ceremony) Rebaseline(ctx context.Context, by record.Actor, file []byte) error {
	return c.do(ctx, func(ctx context.Context) error {
		s, err := c.submitted(ctx, by)
		if err != nil {
			return err
		}
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
		c.Rebased(ctx, s)
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

// AnchorFile returns the attested file that a rebaseline is signed over.
func (c *Ceremony) AnchorFile(ctx context.Context, _ record.Actor) ([]byte, error) {
	return step(ctx, c, func(ctx context.Context) ([]byte, error) { return papers.AnchorStatus(ctx, c.Keeper) })
}

// tend is what the writer does by itself: the counter and the clocks, what is past
// its time, and the look a minute after a verified change.
func (c *Ceremony) tend(ctx context.Context) error {
	s := c.Loaded()
	if s == nil || !c.Complete() {
		return nil
	}
	// Under quarantine nothing expires: the clock may be what is wrong, or the store may
	// have forgotten that a prepared contract was sent.
	if c.Check(ctx, s); c.Quarantine() != "" {
		return nil
	}
	done, err := s.Sweep()
	if err != nil {
		return err
	}
	for _, id := range done.Contracts {
		c.Note(Event{Kind: KindExpired, ContractID: id, State: record.Expired})
	}
	for _, id := range done.Requests {
		c.Note(Event{Kind: KindExpired, RequestID: id})
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
		c.Note(Event{Kind: KindLooked, ContractID: d.id, State: record.Verified})
	}
	return nil
}

// Tend has the writer do now what it does by itself every few seconds.
func (c *Ceremony) Tend(ctx context.Context) error { return c.do(ctx, c.tend) }

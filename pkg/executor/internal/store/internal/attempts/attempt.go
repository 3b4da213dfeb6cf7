package attempts

import (
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/internal/step"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// BeginExecution is T4: a confirmed contract that has not expired becomes executing,
// and the increment of the counter is noted before it is asked for.
func (s Attempts) BeginExecution(at record.At, witness int64) (c record.Contract, err error) {
	if err := s.core.Dir.Space(); err != nil {
		return c, err
	}
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		k, err := step.Load(tx, at)
		if err != nil {
			return err
		}
		switch {
		case k.State != record.Prepared || !k.Confirmed():
			return step.Conflict()
		case !tx.Now.Wall.Before(k.ExpiresAt):
			return step.Refuse(errs.Expired, "c5_expired", "the contract has expired")
		}
		if err := step.Fresh(tx, k.Provenance.IssuedAt); err != nil {
			return err
		}
		if err := s.core.Begin(tx, k, step.Move{To: record.Executing, By: record.Executord}, record.Forward, witness); err != nil {
			return err
		}
		c = *k
		return nil
	})
	return c, err
}

// pending returns the increment that belongs to a contract under way.
func pending(tx *rows.Tx, c *record.Contract) (*record.Anchor, error) {
	a, err := tx.Anchor()
	if err != nil {
		return nil, err
	}
	if p := a.Pending; p == nil || p.ContractID != c.ContractID || p.Version != c.Version || !c.State.InFlight() {
		return nil, step.Conflict()
	}
	return a, nil
}

// AnchorAdvanced is T5: the counter was read back at the next value. Nothing may be
// sent before it is committed.
func (s Attempts) AnchorAdvanced(at record.At, witness int64) error {
	return s.core.DB.Update(func(tx *rows.Tx) error {
		c, err := step.Load(tx, at)
		if err != nil {
			return err
		}
		a, err := pending(tx, c)
		if err != nil {
			return err
		}
		if witness != a.Pending.To {
			return step.Refuse(errs.Conflict, "anchor_mismatch", "the counter is not at the next value")
		}
		a.Value, a.Pending = witness, nil
		return tx.Audit(step.About(c, record.AnchorAdvanced, record.Executord), nil)
	})
}

// AnchorRefused ends an attempt whose increment is proven not to have happened.
// Witness is the value that proved it.
func (s Attempts) AnchorRefused(at record.At, witness int64) (record.Contract, error) {
	to := record.Failed
	if at.State == record.RollingBack {
		to = record.RollbackFailed
	}
	return s.core.Settle(at, step.Move{To: to, By: record.Executord, Reason: record.ReasonAnchorRefused}, func(tx *rows.Tx, c *record.Contract) error {
		a, err := pending(tx, c)
		if err != nil {
			return err
		}
		if witness != a.Pending.From {
			return step.Refuse(errs.Conflict, "anchor_mismatch", "the counter is not at the former value")
		}
		a.Pending = nil
		return nil
	})
}

// SendIntent is T6: the marker that a request may have left, with the clocks, before
// its first byte. Collection is the digest of all other aliases at the last read.
func (s Attempts) SendIntent(at record.At, collection string) (c record.Contract, err error) {
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		k, err := step.Load(tx, at)
		if err != nil {
			return err
		}
		a, err := tx.Anchor()
		if err != nil {
			return err
		}
		if !k.State.InFlight() || k.Boundary != record.BoundaryNone || a.Pending != nil {
			return step.Conflict()
		}
		if k.State == record.Executing && !tx.Now.Wall.Before(k.ExpiresAt) {
			return step.Refuse(errs.Expired, record.ReasonNotSent, "the contract has expired")
		}
		k.Boundary, k.Collection = record.BoundaryIntent, collection
		if err := tx.Put(k); err != nil {
			return err
		}
		if err := tx.Audit(step.About(k, record.SendIntent, record.Executord), k); err != nil {
			return err
		}
		purpose := record.Forward
		if k.State == record.RollingBack {
			purpose = record.Rollback
		}
		sent := &record.Send{ContractID: k.ContractID, Purpose: purpose, BootID: tx.Now.BootID, SentAt: tx.Now.Wall, SentBootMS: tx.Now.BootMS}
		c = *k
		return putSend(tx, k, sent, record.SendRecorded, "")
	})
	return c, err
}

// putSend writes the row of sends and the audit row that covers it.
func putSend(tx *rows.Tx, c *record.Contract, sent *record.Send, e record.Event, why record.Reason) error {
	if err := tx.Put(sent); err != nil {
		return err
	}
	a := step.About(c, e, record.Executord)
	a.Reason, a.From, a.To, a.Version = why, "", "", nil
	return tx.Audit(a, sent)
}

// Exchange is what is known of the one exchange of an attempt.
type Exchange struct {
	// Answered says that a complete answer came; NothingLeft that no byte of the
	// request was handed to the connection. With neither, the write may still land.
	Answered, NothingLeft     bool
	Took                      time.Duration
	Contended                 bool
	OthersChanged             bool      // another alias changed between the send and the second read
	FirstReadAt, SecondReadAt time.Time // of the reads after it; zero when there were none
	All                       string    // digest of all aliases as our change left them, "" when that is not known
}

// record notes the exchange of an attempt that reached T6.
func (x Exchange) record(tx *rows.Tx, c *record.Contract, verified bool) error {
	if c.Boundary != record.BoundaryIntent {
		return nil
	}
	sent, err := rows.Get(tx, &record.Send{}, []byte(c.ContractID))
	if err != nil {
		return err
	}
	var ms int64
	switch {
	case x.Answered:
		ms = max(1, x.Took.Milliseconds())
		sent.ExchangeMS = &ms
	case x.NothingLeft:
		sent.ExchangeMS = &ms
	}
	sent.Contended, sent.All = x.Contended, x.All
	sent.FirstReadAt, sent.SecondReadAt = whole(x.FirstReadAt), whole(x.SecondReadAt)
	if verified && sent.Purpose == record.Forward {
		sent.Look, sent.LookDueAt = record.LookDue, tx.Now.Wall.Add(lookAfter)
	}
	var why record.Reason
	switch {
	case x.Contended: // the more serious of the two: a whole configuration may be older
		why = "contended"
	case x.OthersChanged:
		why = record.ReasonOthersChanged
	}
	return putSend(tx, c, sent, record.SendRecorded, why)
}

// lookAfter is when a verified change is looked at once more: an apply by somebody
// else can take it back after two good reads.
const lookAfter = time.Minute

func whole(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}

// Settle is T7 for every outcome but a verified one: failed (rollback_failed on the
// way back) when it is proven that there was no effect, reconciliation otherwise. It
// refuses failed after a request that may have left, unless there was an answer or
// no byte left.
func (s Attempts) Settle(at record.At, to record.State, why record.Reason, x Exchange) (record.Contract, error) {
	return s.core.Settle(at, step.Move{To: to, By: record.Executord, Reason: why}, func(tx *rows.Tx, c *record.Contract) error {
		a, err := tx.Anchor()
		if err != nil {
			return err
		}
		fails := to == record.Failed && c.State == record.Executing || to == record.RollbackFailed && c.State == record.RollingBack
		if !c.State.InFlight() || !fails && to != record.Reconciliation || a.Pending != nil {
			return step.Conflict()
		}
		if fails && c.Boundary == record.BoundaryIntent && !x.Answered && !x.NothingLeft {
			return errs.New(errs.Conflict, "that there was no effect is not proven").WithClass("illegal_transition")
		}
		if to == record.Reconciliation {
			c.Origin = c.State
		}
		return x.record(tx, c, false)
	})
}

// Seen is one of the two reads after an exchange.
type Seen struct {
	Fingerprint string
	Locator     int64
}

// MarkExecutionVerified is T7 for a change that two reads showed in place. They are
// compared with what is sealed here, not with what the caller believes.
func (s Attempts) MarkExecutionVerified(at record.At, first, second Seen, x Exchange) (record.Contract, error) {
	return s.core.Settle(at, step.Move{To: record.Verified, By: record.Executord, Sealed: true}, func(tx *rows.Tx, c *record.Contract) error {
		return prove(tx, c, record.Executing, first, second, x, (*change.Intent).ExpectedPost)
	})
}

// MarkRollbackVerified is the same for an undo: both reads show what stood before.
func (s Attempts) MarkRollbackVerified(at record.At, first, second Seen, x Exchange) (record.Contract, error) {
	return s.core.Settle(at, step.Move{To: record.RolledBack, By: record.Executord, Sealed: true}, func(tx *rows.Tx, c *record.Contract) error {
		return prove(tx, c, record.RollingBack, first, second, x, func(in *change.Intent) (string, error) { return in.Target.Fingerprint() })
	})
}

func prove(tx *rows.Tx, c *record.Contract, from record.State, first, second Seen, x Exchange, want func(*change.Intent) (string, error)) error {
	if c.State != from || c.Boundary != record.BoundaryIntent {
		return step.Conflict()
	}
	in, err := step.Unseal(tx, c)
	if err != nil {
		return err
	}
	print, err := want(in)
	if err != nil {
		return rows.Damaged(err, "a sealed change has no fingerprint")
	}
	is := Seen{print, c.Locator}
	if first != is || second != is || !x.Answered {
		return errs.New(errs.Conflict, "the change is not proven to be in place").WithClass("illegal_transition")
	}
	if from == record.Executing {
		c.VerifiedFingerprint = print
	}
	return x.record(tx, c, true)
}

// Look notes what the look a minute after a verified change showed. It changes no
// state.
func (s Attempts) Look(contract string, look record.Look) error {
	return s.core.DB.Update(func(tx *rows.Tx) error {
		c, err := rows.Get(tx, &record.Contract{}, []byte(contract))
		if err != nil {
			return err
		}
		sent, err := rows.Get(tx, &record.Send{}, []byte(contract))
		if err != nil {
			return err
		}
		if sent.Look != record.LookDue || look == record.LookDue || look == "" {
			return step.Conflict()
		}
		// Whatever was seen, it says nothing of a contract that is no longer the
		// last one to touch its target.
		d, err := step.Cooldown(tx, c.TargetIdentity)
		if err != nil {
			return err
		}
		if c.State != record.Verified || d.Attempted != contract {
			look = record.LookSkipped
		}
		sent.Look = look
		e := record.SendRecorded
		if look == record.LookReverted {
			e = record.RevertedAfterVerify
		}
		return putSend(tx, c, sent, e, record.Reason("look_"+string(look)))
	})
}

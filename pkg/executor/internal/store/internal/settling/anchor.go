package settling

import (
	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/quota"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/internal/step"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// CompleteProvisioning writes the provisioning record, once (S9). It refuses when
// the verified value is not the one that the store stands at.
func (s Settling) CompleteProvisioning(p record.Provisioning) error {
	return s.core.DB.Update(func(tx *rows.Tx) error {
		a, err := tx.Anchor()
		if err != nil {
			return err
		}
		if p.VerifiedValue != a.Value || p.NVName != a.NVName || p.Handle != a.NVIndex || a.Pending != nil {
			return step.Refuse(errs.Conflict, "anchor_mismatch", "the counter is not the one that the store was founded on")
		}
		p.ProvisionedAt = tx.Now.Wall
		if err := tx.Insert(&p); err != nil {
			return err
		}
		return tx.Audit(record.Audit{Event: record.AnchorProvisioned, Actor: record.Executord}, &p)
	})
}

// Note writes an audit row that stands for itself: startup, shutdown, quarantine and
// clock events. Those of quarantines that come and go are bounded.
func (s Settling) Note(e record.Event, why record.Reason) error {
	switch e {
	case record.QuarantineEntered, record.QuarantineLeft:
		switch why {
		case "anchor_unreachable", "clock_regressed", "clock_jump":
			return s.passing(e, why)
		}
	case record.Startup, record.Shutdown, record.ClockRegressed:
	default:
		return errs.New(errs.Internal, "the event belongs to a step").WithClass("audit")
	}
	return s.core.DB.Update(func(tx *rows.Tx) error {
		return tx.Audit(record.Audit{Event: e, Actor: record.Executord, Reason: why}, nil)
	})
}

// passing is Note for what may happen every few seconds for days. What has no row is not
// written at all.
func (s Settling) passing(e record.Event, why record.Reason) error {
	if err := s.core.DB.Stopped(); err != nil {
		return err
	}
	row, last := false, false
	if err := s.core.DB.View(func(tx *rows.Tx) (err error) {
		row, last, err = quota.QuarantineRow(tx)
		return err
	}); err != nil || !row {
		return err
	}
	if last {
		why = record.ReasonRowsCapped
	}
	return s.core.DB.Update(func(tx *rows.Tx) error {
		if err := quota.CountQuarantineRow(tx); err != nil {
			return err
		}
		return tx.Audit(record.Audit{Event: e, Actor: record.Executord, Reason: why}, nil)
	})
}

// Restarted is what the crash table made of what was under way.
type Restarted struct {
	Expired, Failed, Uncertain []string // contract ids
	Adopted                    bool     // the pending increment had happened
}

// Restart settles what a former process left, by the crash table, in one transaction.
// Witness is the counter's value: with a pending increment it is one of two values,
// without one it is the stored value; anything else changes nothing and is
// anchor_mismatch. It runs before anything is served, and twice is as once.
func (s Settling) Restart(witness int64) (done Restarted, err error) {
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		a, err := tx.Anchor()
		if err != nil {
			return err
		}
		if witness != a.Value && (a.Pending == nil || witness != a.Pending.To) {
			return step.Refuse(errs.Conflict, "anchor_mismatch", "the counter is not at a value that the store can explain")
		}
		active, err := quota.Active(tx)
		if err != nil {
			return err
		}
		for _, c := range active {
			m := step.Move{By: record.Executord}
			list := &done.Uncertain
			switch {
			case c.State == record.Prepared:
				m.To, m.Reason, list = record.Expired, record.ReasonRestart, &done.Expired
			case !c.State.InFlight():
				continue
			case a.Pending != nil && witness == a.Pending.From:
				// A send needs T5, and T5 needs an increment: there was none.
				m.To, m.Reason, list = record.Failed, record.ReasonBeforeAnchor, &done.Failed
				if c.State == record.RollingBack {
					m.To = record.RollbackFailed
				}
			default:
				// Even where nothing was sent: a restored image from the midst of an
				// attempt looks the same.
				m.To, m.Reason = record.Reconciliation, record.ReasonInterrupted
				c.Origin = c.State
			}
			if err := s.core.Move(tx, c, m); err != nil {
				return err
			}
			*list = append(*list, c.ContractID)
		}
		if a.Pending != nil {
			done.Adopted = witness == a.Pending.To
			a.Value, a.Pending = witness, nil
			if done.Adopted {
				return tx.Audit(record.Audit{Event: record.AnchorAdvanced, Actor: record.Executord, Reason: record.ReasonInterrupted}, nil)
			}
		}
		return nil
	})
	return done, err
}

// Rebaseline accepts the counter's value by a verified signature. Witness is the
// value just read. Executing, rolling back and prepared contracts become uncertain,
// and everything signed up to now is void.
func (s Settling) Rebaseline(file []byte, a *artifact.Rebaseline, witness int64, by record.Actor) error {
	return s.core.DB.UpdateCopy(func(tx *rows.Tx) error {
		tx.Believe()
		anchor, err := tx.Anchor()
		if err != nil {
			return err
		}
		f, err := tx.Founding()
		if err != nil {
			return err
		}
		clock, err := tx.Clock()
		if err != nil {
			return err
		}
		now := tx.Now.Wall
		poisoned := a.Reason == artifact.ReasonClockPoisoned
		switch {
		case a.StoreID != anchor.StoreID || a.NVIndexName != anchor.NVName || a.StoreValue != anchor.Value || a.AuditHead != anchor.AuditHead:
			return step.Refuse(errs.Denied, "anchor_mismatch", "the rebaseline is for another state of the store")
		case a.WitnessValue != witness:
			return step.Refuse(errs.Denied, "anchor_mismatch", "the counter has moved meanwhile")
		case !now.Before(a.ExpiresAt):
			return step.Refuse(errs.Expired, "r_time", "the rebaseline has expired")
		case poisoned && !clock.HighTime.After(now):
			return step.Refuse(errs.Denied, "clock_poisoned", "no stored time lies in the future")
		}
		if err := step.Fresh(tx, a.IssuedAt); err != nil {
			return err
		}
		if err := step.Spend(tx, record.Use{ID: "anchor-rebaseline:" + a.Nonce, AuthorityID: a.AuthorityID, ExpiresAt: a.ExpiresAt},
			record.ReasonRebaseline, nil, string(a.Role()), canon.Hash(file), file, by); err != nil {
			return err
		}
		anchor.Value, anchor.Pending = witness, nil
		if err := tx.Audit(record.Audit{Event: record.AnchorRebaselined, Actor: by, Reason: record.Reason(a.Reason)}, nil); err != nil {
			return err
		}
		if f.Floor = now; poisoned {
			tx.SetHighTime()
			if err := s.heal(tx); err != nil {
				return err
			}
		}
		if err := tx.Put(f); err != nil {
			return err
		}
		if err := tx.Delete(record.Meta, []byte(record.CopyKey)); err != nil {
			return err
		}
		return s.rebase(tx, poisoned)
	})
}

// rebase moves what a lost history may contradict.
func (s Settling) rebase(tx *rows.Tx, poisoned bool) error {
	active, err := quota.Active(tx)
	if err != nil {
		return err
	}
	for _, c := range active {
		m := step.Move{To: record.Reconciliation, By: record.Executord, Reason: record.ReasonRebaseline}
		switch {
		case c.State == record.Prepared && poisoned:
			m.To = record.Expired
		case c.State == record.Prepared:
			c.Origin = record.Executing
		case c.State.InFlight():
			c.Origin = c.State
		default:
			continue
		}
		if err := s.core.Move(tx, c, m); err != nil {
			return err
		}
	}
	if !poisoned {
		return nil
	}
	all, err := step.Live(tx)
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := step.Void(tx, r.RequestID); err != nil {
			return err
		}
	}
	return nil
}

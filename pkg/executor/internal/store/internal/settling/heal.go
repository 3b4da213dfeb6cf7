package settling

import (
	"slices"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/internal/step"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// heal lowers every time that still decides something and lies ahead of a clock that the
// owner calls right: it was written at a time that never was, and whoever had to wait for
// it would wait for years. Contracts and the chain keep theirs: they decide nothing any
// more, and they say what the clock showed.
func (s Settling) heal(tx *rows.Tx) error {
	now := tx.Now.Wall
	ahead := func(t *time.Time, to time.Time) bool {
		if !t.After(now) {
			return false
		}
		*t = to
		return true
	}
	put := func(r record.Record) error { return tx.Put(r) }
	for _, one := range []func() error{
		func() error {
			return lower(tx, "", func(r *record.Result) bool {
				at := ahead(&r.At, now)
				// When a change was verified is not known: there is no undo of it.
				verified := ahead(&r.VerifiedAt, now.Add(-s.core.Limits.RollbackWithin))
				return at || verified
			}, put)
		},
		func() error {
			return lower(tx, "", func(r *record.Request) bool {
				opened := ahead(&r.OpenedAt, now)
				if opened {
					r.ExpiresAt = now.Add(s.core.Limits.RequestLife)
				}
				concluded := ahead(&r.ConcludedAt, now)
				return opened || concluded
			}, put)
		},
		func() error {
			return lower(tx, "", func(r *record.Cooldown) bool { return ahead(&r.Until, now) }, put)
		},
		func() error {
			return lower(tx, record.RateStart, func(r *record.Rate) bool {
				n := len(r.Hits)
				r.Hits = slices.DeleteFunc(r.Hits, func(t time.Time) bool { return t.After(now) })
				return len(r.Hits) < n
			}, put)
		},
		func() error {
			return lower(tx, "", func(r *record.Send) bool {
				sent, due := ahead(&r.SentAt, now), ahead(&r.LookDueAt, now)
				return sent || due
			}, func(r record.Record) error { return resent(tx, r) })
		},
	} {
		if err := one(); err != nil {
			return err
		}
	}
	return nil
}

// lower puts the rows that change says it has changed.
func lower[R any, P interface {
	*R
	record.Record
}](tx *rows.Tx, prefix string, change func(P) bool, put func(record.Record) error) error {
	var changed []P
	if err := rows.Each(tx, []byte(prefix), nil, func(r P) (bool, error) {
		if change(r) {
			changed = append(changed, r)
		}
		return true, nil
	}); err != nil {
		return err
	}
	for _, r := range changed {
		if err := put(r); err != nil {
			return err
		}
	}
	return nil
}

// resent writes a row of sends with the audit row that covers it.
func resent(tx *rows.Tx, r record.Record) error {
	c, err := rows.Get(tx, &record.Contract{}, r.Key())
	if err != nil {
		return err
	}
	if err := tx.Put(r); err != nil {
		return err
	}
	a := step.About(c, record.SendRecorded, record.Executord)
	a.Reason, a.From, a.To, a.Version = artifact.ReasonClockPoisoned, "", "", nil
	return tx.Audit(a, r)
}

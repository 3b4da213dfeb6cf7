package proof

import (
	"context"

	"pfsensemcp/pkg/executor/internal/gate/internal/rule"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/store"
)

// Rebaseline decides over the reconciliation owner's acceptance of the counter's value.
// It alone is heard under quarantine, but for the kinds that no signature repairs.
func Rebaseline(ctx context.Context, w rule.World, file []byte) (*artifact.Rebaseline, *rule.Denied) {
	r := &rebasing{f: rule.NewFacts(ctx, w), file: file}
	if m := rule.Run(r.f, r, rebaselineGates()); m != nil {
		return nil, rule.Deny(m, "", "")
	}
	return r.a, nil
}

type rebasing struct {
	f    *rule.Facts
	file []byte
	a    *artifact.Rebaseline
}

func rebaselineGates() []rule.Row[*rebasing] {
	return []rule.Row[*rebasing]{
		rule.At("r form", 0, func(r *rebasing) *rule.Miss {
			a, err := artifact.ParseRebaseline(r.file)
			r.a = a
			return rule.Unless(err == nil, "r", "form")
		}),
		rule.At("r signature", rule.Process, func(r *rebasing) *rule.Miss { return r.f.SignedBy("r", r.a) }),
		rule.At("r quarantine", rule.Process, func(r *rebasing) *rule.Miss {
			// A damaged store, or another counter, is not a value that differs.
			word, err := r.f.Quarantine()
			return rule.Unless(err == nil && word != "store_integrity" && word != "anchor_name", "r", "quarantine")
		}),
		rule.At("r clock", rule.Records, (*rebasing).clock),
		rule.At("r floor", rule.Records, func(r *rebasing) *rule.Miss { return r.f.Above("r", r.a.IssuedAt) }),
		rule.At("r time", rule.Records, func(r *rebasing) *rule.Miss {
			t, m := r.f.Time()
			if m != nil {
				return m
			}
			return rule.Unless(!r.a.IssuedAt.After(t.Now.Add(rule.Ahead)) && t.Now.Before(r.a.ExpiresAt), "r", "time")
		}),
		rule.At("r store", rule.Records, (*rebasing).stored),
		rule.At("r counter", rule.Counter, (*rebasing).counted),
	}
}

// clock refuses a clock that cannot be trusted, except where the owner says that it is
// what the store remembers that cannot: then it refuses one that shows nothing wrong.
func (r *rebasing) clock() *rule.Miss {
	t, m := r.f.Time()
	poisoned := r.a.Reason == artifact.ReasonClockPoisoned
	switch {
	case m != nil:
		return m
	case poisoned && t.Clock == store.ClockSound:
		return &rule.Miss{Reason: "clock_poisoned"}
	case !poisoned && t.Clock != store.ClockSound:
		return rule.No("r", "clock")
	}
	return nil
}

// stored holds the file against the store as it is.
func (r *rebasing) stored() *rule.Miss {
	return r.f.View(func(v *store.View) (*rule.Miss, error) {
		a, err := v.Anchor()
		if err != nil {
			return nil, err
		}
		if v.Consumed("anchor-rebaseline:" + r.a.Nonce) {
			return rule.No("r", "consumed"), nil
		}
		if !rule.Same(r.a.StoreID, a.StoreID) || !rule.Same(r.a.NVIndexName, a.NVName) || r.a.StoreValue != a.Value || !rule.Same(r.a.AuditHead, a.AuditHead) {
			return &rule.Miss{Reason: "anchor_mismatch"}, nil
		}
		return nil, nil
	})
}

// counted holds it against the counter as it is.
func (r *rebasing) counted() *rule.Miss {
	value, err := r.f.Counter()
	switch {
	case err != nil:
		return &rule.Miss{Reason: rule.Reasoned(err, "anchor_unavailable"), Err: err}
	case value != r.a.WitnessValue:
		return &rule.Miss{Reason: "anchor_mismatch"}
	}
	return nil
}

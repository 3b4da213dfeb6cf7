package gate

import (
	"context"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/store"
)

// Rebaseline decides over the reconciliation owner's acceptance of the counter's value.
// It alone is heard under quarantine, but for the kinds that no signature repairs.
func Rebaseline(ctx context.Context, w World, file []byte) (*artifact.Rebaseline, *Denied) {
	r := &rebasing{f: &facts{ctx: ctx, world: w}, file: file}
	if m := run(r.f, r, rebaselineGates()); m != nil {
		return nil, deny(m, "", "")
	}
	return r.a, nil
}

type rebasing struct {
	f    *facts
	file []byte
	a    *artifact.Rebaseline
}

func rebaselineGates() []row[*rebasing] {
	return []row[*rebasing]{
		{"r form", 0, func(r *rebasing) *miss {
			a, err := artifact.ParseRebaseline(r.file)
			r.a = a
			return unless(err == nil, "r", "form")
		}},
		{"r signature", process, func(r *rebasing) *miss { return r.f.signedBy("r", r.a) }},
		{"r quarantine", process, func(r *rebasing) *miss {
			switch r.f.world.Quarantine() {
			case "store_integrity", "anchor_name":
				// A damaged store, or another counter, is not a value that differs.
				return no("r", "quarantine")
			}
			return nil
		}},
		{"r clock", records, (*rebasing).clock},
		{"r floor", records, func(r *rebasing) *miss { return r.f.above("r", r.a.IssuedAt) }},
		{"r time", records, func(r *rebasing) *miss {
			t, m := r.f.time()
			if m != nil {
				return m
			}
			return unless(!r.a.IssuedAt.After(t.now.Add(ahead)) && t.now.Before(r.a.ExpiresAt), "r", "time")
		}},
		{"r store", records, (*rebasing).stored},
		{"r counter", counter, (*rebasing).counted},
	}
}

// clock refuses a clock that cannot be trusted, except where the owner says that it is
// what the store remembers that cannot: then it refuses one that shows nothing wrong.
func (r *rebasing) clock() *miss {
	t, m := r.f.time()
	poisoned := r.a.Reason == artifact.ReasonClockPoisoned
	switch {
	case m != nil:
		return m
	case poisoned && t.clock == store.ClockSound:
		return &miss{reason: "clock_poisoned"}
	case !poisoned && t.clock != store.ClockSound:
		return no("r", "clock")
	}
	return nil
}

// stored holds the file against the store as it is.
func (r *rebasing) stored() *miss {
	return r.f.view(func(v *store.View) (*miss, error) {
		a, err := v.Anchor()
		if err != nil {
			return nil, err
		}
		if v.Consumed("anchor-rebaseline:" + r.a.Nonce) {
			return no("r", "consumed"), nil
		}
		if !same(r.a.StoreID, a.StoreID) || !same(r.a.NVIndexName, a.NVName) || r.a.StoreValue != a.Value || !same(r.a.AuditHead, a.AuditHead) {
			return &miss{reason: "anchor_mismatch"}, nil
		}
		return nil, nil
	})
}

// counted holds it against the counter as it is.
func (r *rebasing) counted() *miss {
	value, err := r.f.counter()
	switch {
	case err != nil:
		return &miss{Reasoned(err, "anchor_unavailable"), err}
	case value != r.a.WitnessValue:
		return &miss{reason: "anchor_mismatch"}
	}
	return nil
}

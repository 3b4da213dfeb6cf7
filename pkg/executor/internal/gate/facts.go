package gate

import (
	"context"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/store"
)

// once is a fact that is asked for once.
type once[T any] struct {
	asked bool
	value T
	err   error
}

func (o *once[T]) get(ask func() (T, error)) (T, error) {
	if !o.asked {
		o.value, o.err = ask()
		o.asked = true
	}
	return o.value, o.err
}

// facts hands out what the row that runs may look at, and remembers it.
type facts struct {
	ctx   context.Context //nolint:containedctx // lives for one decision
	world World
	may   looks

	moment once[moment]
	plan   once[*change.Plan]
	count  once[int64]
	survey once[*alias.Survey]
	found  once[alias.Found]
}

// moment is the time of a decision.
type moment struct {
	now   time.Time
	clock store.ClockFinding
	floor time.Time
}

// beyond is what a row gets that asks for more than it says it looks at.
func (f *facts) beyond(l looks) error {
	if f.may&l != l {
		return errs.New(errs.Internal, "a gate looked beyond its row").WithClass("internal")
	}
	return nil
}

// view lets check look at one state of the store.
func (f *facts) view(check func(*store.View) (*miss, error)) *miss {
	if err := f.beyond(records); err != nil {
		return unread(err)
	}
	var m *miss
	if err := f.world.View(func(v *store.View) (err error) {
		m, err = check(v)
		return err
	}); err != nil {
		return unread(err)
	}
	return m
}

// time returns the clocks and the floor as they were when they were first asked for.
func (f *facts) time() (moment, *miss) {
	t, err := f.moment.get(func() (t moment, err error) {
		if err := f.beyond(records); err != nil {
			return t, err
		}
		err = f.world.View(func(v *store.View) error {
			t.now = v.Now().Wall
			if t.clock, err = v.Clock(); err != nil {
				return err
			}
			founding, err := v.Founding()
			if err == nil {
				t.floor = founding.Floor
			}
			return err
		})
		return t, err
	})
	if err != nil {
		return t, unread(err)
	}
	return t, nil
}

func (f *facts) authorities() (*authority.Set, error) {
	if err := f.beyond(process); err != nil {
		return nil, err
	}
	s := f.world.Authorities()
	if s == nil {
		return nil, errs.New(errs.Internal, "no keys are pinned").WithClass("internal")
	}
	return s, nil
}

func (f *facts) planned() (*change.Plan, error) {
	return f.plan.get(func() (*change.Plan, error) {
		if err := f.beyond(records | counter); err != nil {
			return nil, err
		}
		return whole(f.world.Plan(f.ctx))
	})
}

func (f *facts) counter() (int64, error) {
	return f.count.get(func() (int64, error) {
		if err := f.beyond(counter); err != nil {
			return 0, err
		}
		return f.world.Counter(f.ctx)
	})
}

func (f *facts) surveyed() (*alias.Survey, error) {
	return f.survey.get(func() (*alias.Survey, error) {
		if err := f.beyond(appliance); err != nil {
			return nil, err
		}
		return whole(f.world.Survey(f.ctx))
	})
}

// target finds an alias in the survey. A decision has one alias.
func (f *facts) target(name string) (alias.Found, error) {
	return f.found.get(func() (alias.Found, error) {
		s, err := f.surveyed()
		if err != nil {
			return alias.Found{}, err
		}
		return s.Find(name)
	})
}

// whole makes a fact that is neither there nor an error into an error.
func whole[T any](p *T, err error) (*T, error) {
	if err == nil && p == nil {
		err = errs.New(errs.Internal, "a fact is missing").WithClass("internal")
	}
	return p, err
}

// signedBy checks that a file is signed by a key that is pinned for its role: the id
// first, because an id of another owner is no attempt at a signature.
func (f *facts) signedBy(stage string, a artifact.Signed) *miss {
	set, err := f.authorities()
	if err != nil {
		return failed(stage, "authority", err)
	}
	if _, ok := set.Lookup(authority.OwnerOf(a.Role()), a.Authority()); !ok {
		return no(stage, "authority")
	}
	return unless(set.Verify(a) == nil, stage, "signature")
}

// fresh checks the clock and the floor under every signed file.
func (f *facts) fresh(stage string, issued time.Time) *miss {
	t, m := f.time()
	if m == nil && t.clock != store.ClockSound {
		m = no(stage, "clock")
	}
	if m != nil {
		return m
	}
	return f.above(stage, issued)
}

// above checks that a file was signed after the last rebaseline: whatever the store has
// forgotten was signed before.
func (f *facts) above(stage string, issued time.Time) *miss {
	t, m := f.time()
	if m != nil {
		return m
	}
	return unless(issued.After(t.floor), stage, "floor")
}

// awake refuses everything under quarantine.
func (f *facts) awake(stage string) *miss {
	if err := f.beyond(process); err != nil {
		return failed(stage, "quarantine", err)
	}
	return unless(f.world.Quarantine() == "", stage, "quarantine")
}

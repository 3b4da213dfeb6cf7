package rule

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

// Facts hands out what the row that runs may look at, and remembers it.
type Facts struct {
	ctx   context.Context //nolint:containedctx // lives for one decision
	world World
	may   Looks

	moment once[Moment]
	plan   once[*change.Plan]
	count  once[int64]
	survey once[*alias.Survey]
	found  once[alias.Found]
}

// NewFacts returns the facts of one decision. Every one of them is asked of w once.
func NewFacts(ctx context.Context, w World) *Facts { return &Facts{ctx: ctx, world: w} }

// Context is that of the decision.
func (f *Facts) Context() context.Context { return f.ctx }

// Found is the target that a row found, the zero value when none did.
func (f *Facts) Found() alias.Found { return f.found.value }

// Moment is the time of a decision.
type Moment struct {
	Now   time.Time
	Clock store.ClockFinding
	Floor time.Time // what was signed at or before it is void
}

// Beyond is what a row gets that asks for more than it says it looks at.
func (f *Facts) Beyond(l Looks) error {
	if f.may&l != l {
		return errs.New(errs.Internal, "a gate looked beyond its row").WithClass("internal")
	}
	return nil
}

// View lets check look at one state of the store.
func (f *Facts) View(check func(*store.View) (*Miss, error)) *Miss {
	if err := f.Beyond(Records); err != nil {
		return Unread(err)
	}
	var m *Miss
	if err := f.world.View(func(v *store.View) (err error) {
		m, err = check(v)
		return err
	}); err != nil {
		return Unread(err)
	}
	return m
}

// Time returns the clocks and the floor as they were when they were first asked for.
func (f *Facts) Time() (Moment, *Miss) {
	t, err := f.moment.get(func() (t Moment, err error) {
		if err := f.Beyond(Records); err != nil {
			return t, err
		}
		err = f.world.View(func(v *store.View) error {
			t.Now = v.Now().Wall
			if t.Clock, err = v.Clock(); err != nil {
				return err
			}
			founding, err := v.Founding()
			if err == nil {
				t.Floor = founding.Floor
			}
			return err
		})
		return t, err
	})
	if err != nil {
		return t, Unread(err)
	}
	return t, nil
}

// Authorities returns the pinned keys.
func (f *Facts) Authorities() (*authority.Set, error) {
	if err := f.Beyond(Process); err != nil {
		return nil, err
	}
	s := f.world.Authorities()
	if s == nil {
		return nil, errs.New(errs.Internal, "no keys are pinned").WithClass("internal")
	}
	return s, nil
}

// Planned returns the plan that was made anew.
func (f *Facts) Planned() (*change.Plan, error) {
	return f.plan.get(func() (*change.Plan, error) {
		if err := f.Beyond(Records | Counter); err != nil {
			return nil, err
		}
		return whole(f.world.Plan(f.ctx))
	})
}

// Counter returns the value of the TPM's counter.
func (f *Facts) Counter() (int64, error) {
	return f.count.get(func() (int64, error) {
		if err := f.Beyond(Counter); err != nil {
			return 0, err
		}
		return f.world.Counter(f.ctx)
	})
}

// Surveyed returns the read of the appliance.
func (f *Facts) Surveyed() (*alias.Survey, error) {
	return f.survey.get(func() (*alias.Survey, error) {
		if err := f.Beyond(Appliance); err != nil {
			return nil, err
		}
		return whole(f.world.Survey(f.ctx))
	})
}

// Target finds an alias in the survey. A decision has one alias.
func (f *Facts) Target(name string) (alias.Found, error) {
	return f.found.get(func() (alias.Found, error) {
		s, err := f.Surveyed()
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

// SignedBy checks that a file is signed by a key that is pinned for its role: the id
// first, because an id of another owner is no attempt at a signature.
func (f *Facts) SignedBy(stage string, a artifact.Signed) *Miss {
	set, err := f.Authorities()
	if err != nil {
		return Failed(stage, "authority", err)
	}
	if _, ok := set.Lookup(authority.OwnerOf(a.Role()), a.Authority()); !ok {
		return No(stage, "authority")
	}
	return Unless(set.Verify(a) == nil, stage, "signature")
}

// Fresh checks the clock and the floor under every signed file.
func (f *Facts) Fresh(stage string, issued time.Time) *Miss {
	t, m := f.Time()
	if m == nil && t.Clock != store.ClockSound {
		m = No(stage, "clock")
	}
	if m != nil {
		return m
	}
	return f.Above(stage, issued)
}

// Above checks that a file was signed after the last rebaseline: whatever the store has
// forgotten was signed before.
func (f *Facts) Above(stage string, issued time.Time) *Miss {
	t, m := f.Time()
	if m != nil {
		return m
	}
	return Unless(issued.After(t.Floor), stage, "floor")
}

// Policy returns what the settings allow.
func (f *Facts) Policy() (Policy, error) {
	if err := f.Beyond(Process); err != nil {
		return Policy{}, err
	}
	return f.world.Policy(), nil
}

// Quarantine returns the word of the quarantine, "" for none.
func (f *Facts) Quarantine() (string, error) {
	if err := f.Beyond(Process); err != nil {
		return "", err
	}
	return f.world.Quarantine(), nil
}

// InterfaceNames returns what was noted at a request's preview.
func (f *Facts) InterfaceNames(requestID string) (string, error) {
	if err := f.Beyond(Process); err != nil {
		return "", err
	}
	return f.world.InterfaceNames(requestID), nil
}

// Awake refuses everything under quarantine.
func (f *Facts) Awake(stage string) *Miss {
	word, err := f.Quarantine()
	if err != nil {
		return Failed(stage, "quarantine", err)
	}
	return Unless(word == "", stage, "quarantine")
}

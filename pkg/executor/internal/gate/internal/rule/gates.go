package rule

import (
	"slices"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store"
)

// Posture returns the rows of 5a, C6 and a rollback's likewise: the plan made anew is
// the one that was signed (want; "" where a signature binds none), healthy whatever its
// digest says, and the counter itself stands where the store does with nothing under
// way, nothing that may still land, and not too much unknown.
func Posture[C any](stage string, of func(C) (f *Facts, want string)) []Row[C] {
	plan := func(check func(*change.Plan, string) *Miss) func(C) *Miss {
		return func(c C) *Miss {
			f, want := of(c)
			p, err := f.Planned()
			if err != nil {
				return Failed(stage, "unavailable", err)
			}
			return check(p, want)
		}
	}
	return []Row[C]{
		{stage + " plan", Records | Counter, plan(func(*change.Plan, string) *Miss { return nil })},
		{stage + " digest", Records | Counter, plan(func(p *change.Plan, want string) *Miss {
			d, err := p.Digest()
			return Unless(err == nil && (want == "" || Same(d, want)), stage, "digest")
		})},
		{stage + " safe", Records | Counter, plan(func(p *change.Plan, _ string) *Miss { return Unless(p.SafeToProceed, stage, "unsafe") })},
		{stage + " evidence", Records | Counter, plan(func(p *change.Plan, _ string) *Miss { return Unless(p.Executable() == nil, stage, "evidence") })},
		{stage + " counter", Records | Counter, func(c C) *Miss {
			f, _ := of(c)
			value, err := f.Counter()
			if err != nil {
				return Failed(stage, "unavailable", err)
			}
			return f.View(func(v *store.View) (*Miss, error) {
				a, err := v.Anchor()
				if err != nil {
					return nil, err
				}
				return Unless(a.Value == value && a.Pending == nil, stage, "counter"), nil
			})
		}},
		{stage + " nothing under way", Records, func(c C) *Miss {
			f, _ := of(c)
			return f.View(func(v *store.View) (*Miss, error) {
				err := v.MayBegin()
				switch Reasoned(err, "") {
				case "in_flight":
					return Failed(stage, "in_flight", err), nil
				case "lockout":
					return Failed(stage, "lockout", err), nil
				case "landing_window":
					return Failed(stage, "landing", err), nil
				}
				return nil, err
			})
		}},
	}
}

// Expected is what a target must be now.
type Expected struct {
	Facts       *Facts
	RequestID   string
	Appliance   string // appliance_target_digest
	Name        string
	Fingerprint string
	Locator     int64
	Text        string // to be set; "" for an undo, which sets what the appliance had
	Undo        bool
	Execution   string // execution-intent digest, "" for an undo
}

// Target returns the rows of 5b, C7 and a rollback's likewise: the policy holds the one
// tuple, and a fresh read shows the same appliance, in a state in which the request does
// what it should, with the target exactly as it was approved, where it was.
func Target[C any](stage string, of func(C) *Expected) []Row[C] {
	at := func(check func(*Expected) *Miss) func(C) *Miss { return func(c C) *Miss { return check(of(c)) } }
	return []Row[C]{
		{stage + " policy", Process, at(func(e *Expected) *Miss { return e.policy(stage) })},
		{stage + " read", Appliance, at(func(e *Expected) *Miss {
			_, err := e.Facts.Surveyed()
			return reading(stage, err)
		})},
		{stage + " identity", Appliance, at(func(e *Expected) *Miss {
			s, err := e.Facts.Surveyed()
			if err != nil {
				return reading(stage, err)
			}
			return Unless(Same(s.Target, e.Appliance), stage, "identity")
		})},
		{stage + " settings", Process | Appliance, at(func(e *Expected) *Miss {
			s, err := e.Facts.Surveyed()
			if err != nil {
				return reading(stage, err)
			}
			was, err := e.Facts.InterfaceNames(e.RequestID)
			if err != nil {
				return Failed(stage, "settings", err)
			}
			// An undo may come after a restart, which forgets what the preview saw:
			// what it restores was read and compared since.
			return Unless(s.InterfaceNames != "" && was == s.InterfaceNames || e.Undo && was == "", stage, "settings")
		})},
		{stage + " busy", Records | Appliance, at(func(e *Expected) *Miss { return e.busy(stage) })},
		{stage + " target", Appliance, at(func(e *Expected) *Miss {
			_, err := e.Facts.Target(e.Name)
			return reading(stage, err)
		})},
		{stage + " no-op", Appliance, at(func(e *Expected) *Miss {
			found, err := e.Facts.Target(e.Name)
			if err != nil {
				return reading(stage, err)
			}
			return Unless(e.Undo || found.State.Descr != e.Text, stage, "no_op")
		})},
		{stage + " intent", Appliance, at(func(e *Expected) *Miss { return e.unchanged(stage) })},
		{stage + " locator", Appliance, at(func(e *Expected) *Miss {
			found, err := e.Facts.Target(e.Name)
			if err != nil {
				return reading(stage, err)
			}
			return Unless(found.Locator == e.Locator, stage, "locator")
		})},
	}
}

// policy holds the change against the compiled table and the settings.
func (e *Expected) policy(stage string) *Miss {
	p, err := e.Facts.Policy()
	if err != nil {
		return Failed(stage, "policy", err)
	}
	table := exchange.Allowed()
	fits := slices.ContainsFunc(table, func(t exchange.Entry) bool {
		return t.Capability == change.Capability && t.Symbol == change.EndpointSymbol && t.Method == change.HTTPMethod && t.Unit == change.Operation
	})
	if !p.Enabled || len(table) != 1 || !fits {
		return No(stage, "policy")
	}
	if e.Undo {
		return nil // the text was the appliance's own
	}
	text, err := change.Description(e.Text, p.Charset)
	return Unless(err == nil && text == e.Text, stage, "policy")
}

// busy refuses while the change could meet somebody else's.
func (e *Expected) busy(stage string) *Miss {
	s, err := e.Facts.Surveyed()
	if err != nil {
		return reading(stage, err)
	}
	ours := ""
	if m := e.Facts.View(func(v *store.View) (_ *Miss, err error) {
		ours, err = v.Ours()
		return nil, err
	}); m != nil {
		return m
	}
	if err := s.Busy(ours); err != nil {
		return Failed(stage, "busy", err)
	}
	return nil
}

// unchanged builds the change again from what is there now.
func (e *Expected) unchanged(stage string) *Miss {
	found, err := e.Facts.Target(e.Name)
	if err != nil {
		return reading(stage, err)
	}
	if !Same(found.Fingerprint, e.Fingerprint) {
		return No(stage, "intent")
	}
	if e.Undo {
		return nil
	}
	s, err := e.Facts.Surveyed()
	if err != nil {
		return reading(stage, err)
	}
	now := change.Intent{Target: found.State, NewDescription: e.Text, Appliance: s.Target}
	d, err := now.ExecutionDigest()
	return Unless(err == nil && Same(d, e.Execution), stage, "intent")
}

// reading makes a failed read of the appliance a miss; nil stays nil.
func reading(stage string, err error) *Miss {
	if err == nil {
		return nil
	}
	what := "read"
	switch Reasoned(err, "") {
	case "appliance_version":
		what = "version"
	case "appliance_settings":
		what = "settings"
	case "appliance_busy":
		what = "busy"
	case "identity_changed":
		what = "identity"
	case "target_unresolved", "target_too_large":
		what = "target"
	}
	return Failed(stage, what, err)
}

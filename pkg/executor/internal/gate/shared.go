package gate

import (
	"slices"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store"
)

// postureGates are the rows of 5a, C6 and a rollback's likewise: the plan made anew is
// the one that was signed (want; "" where a signature binds none), healthy whatever its
// digest says, and the counter itself stands where the store does with nothing under
// way, nothing that may still land, and not too much unknown.
func postureGates[C any](stage string, of func(C) (f *facts, want string)) []row[C] {
	plan := func(check func(*change.Plan, string) *miss) func(C) *miss {
		return func(c C) *miss {
			f, want := of(c)
			p, err := f.planned()
			if err != nil {
				return failed(stage, "unavailable", err)
			}
			return check(p, want)
		}
	}
	return []row[C]{
		{stage + " plan", records | counter, plan(func(*change.Plan, string) *miss { return nil })},
		{stage + " digest", records | counter, plan(func(p *change.Plan, want string) *miss {
			d, err := p.Digest()
			return unless(err == nil && (want == "" || same(d, want)), stage, "digest")
		})},
		{stage + " safe", records | counter, plan(func(p *change.Plan, _ string) *miss { return unless(p.SafeToProceed, stage, "unsafe") })},
		{stage + " evidence", records | counter, plan(func(p *change.Plan, _ string) *miss { return unless(p.Executable() == nil, stage, "evidence") })},
		{stage + " counter", records | counter, func(c C) *miss {
			f, _ := of(c)
			value, err := f.counter()
			if err != nil {
				return failed(stage, "unavailable", err)
			}
			return f.view(func(v *store.View) (*miss, error) {
				a, err := v.Anchor()
				if err != nil {
					return nil, err
				}
				return unless(a.Value == value && a.Pending == nil, stage, "counter"), nil
			})
		}},
		{stage + " nothing under way", records, func(c C) *miss {
			f, _ := of(c)
			return f.view(func(v *store.View) (*miss, error) {
				err := v.MayBegin()
				switch Reasoned(err, "") {
				case "in_flight":
					return failed(stage, "in_flight", err), nil
				case "lockout":
					return failed(stage, "lockout", err), nil
				case "landing_window":
					return failed(stage, "landing", err), nil
				}
				return nil, err
			})
		}},
	}
}

// expected is what a target must be now.
type expected struct {
	f           *facts
	requestID   string
	appliance   string // appliance_target_digest
	name        string
	fingerprint string
	locator     int64
	text        string // to be set; "" for an undo, which sets what the appliance had
	undo        bool
	execution   string // execution-intent digest, "" for an undo
}

// targetGates are the rows of 5b, C7 and a rollback's likewise: the policy holds the one
// tuple, and a fresh read shows the same appliance, in a state in which the request does
// what it should, with the target exactly as it was approved, where it was.
func targetGates[C any](stage string, of func(C) *expected) []row[C] {
	at := func(check func(*expected) *miss) func(C) *miss { return func(c C) *miss { return check(of(c)) } }
	return []row[C]{
		{stage + " policy", process, at(func(e *expected) *miss { return e.policy(stage) })},
		{stage + " read", appliance, at(func(e *expected) *miss {
			_, err := e.f.surveyed()
			return reading(stage, err)
		})},
		{stage + " identity", appliance, at(func(e *expected) *miss {
			s, err := e.f.surveyed()
			if err != nil {
				return reading(stage, err)
			}
			return unless(same(s.Target, e.appliance), stage, "identity")
		})},
		{stage + " settings", process | appliance, at(func(e *expected) *miss {
			s, err := e.f.surveyed()
			if err != nil {
				return reading(stage, err)
			}
			was := e.f.world.InterfaceNames(e.requestID)
			// An undo may come after a restart, which forgets what the preview saw:
			// what it restores was read and compared since.
			return unless(s.InterfaceNames != "" && was == s.InterfaceNames || e.undo && was == "", stage, "settings")
		})},
		{stage + " busy", records | appliance, at(func(e *expected) *miss { return e.busy(stage) })},
		{stage + " target", appliance, at(func(e *expected) *miss {
			_, err := e.f.target(e.name)
			return reading(stage, err)
		})},
		{stage + " no-op", appliance, at(func(e *expected) *miss {
			found, err := e.f.target(e.name)
			if err != nil {
				return reading(stage, err)
			}
			return unless(e.undo || found.State.Descr != e.text, stage, "no_op")
		})},
		{stage + " intent", appliance, at(func(e *expected) *miss { return e.unchanged(stage) })},
		{stage + " locator", appliance, at(func(e *expected) *miss {
			found, err := e.f.target(e.name)
			if err != nil {
				return reading(stage, err)
			}
			return unless(found.Locator == e.locator, stage, "locator")
		})},
	}
}

// policy holds the change against the compiled table and the settings.
func (e *expected) policy(stage string) *miss {
	p := e.f.world.Policy()
	table := exchange.Allowed()
	fits := slices.ContainsFunc(table, func(t exchange.Entry) bool {
		return t.Capability == change.Capability && t.Symbol == change.EndpointSymbol && t.Method == change.HTTPMethod && t.Unit == change.Operation
	})
	if !p.Enabled || len(table) != 1 || !fits {
		return no(stage, "policy")
	}
	if e.undo {
		return nil // the text was the appliance's own
	}
	text, err := change.Description(e.text, p.Charset)
	return unless(err == nil && text == e.text, stage, "policy")
}

// busy refuses while the change could meet somebody else's.
func (e *expected) busy(stage string) *miss {
	s, err := e.f.surveyed()
	if err != nil {
		return reading(stage, err)
	}
	ours := ""
	if m := e.f.view(func(v *store.View) (*miss, error) {
		last, err := v.LastVerified()
		if errs.CodeOf(err) == errs.NotFound {
			return nil, nil
		}
		if err == nil {
			ours = last.All
		}
		return nil, err
	}); m != nil {
		return m
	}
	if err := s.Busy(ours); err != nil {
		return failed(stage, "busy", err)
	}
	return nil
}

// unchanged builds the change again from what is there now.
func (e *expected) unchanged(stage string) *miss {
	found, err := e.f.target(e.name)
	if err != nil {
		return reading(stage, err)
	}
	if !same(found.Fingerprint, e.fingerprint) {
		return no(stage, "intent")
	}
	if e.undo {
		return nil
	}
	s, err := e.f.surveyed()
	if err != nil {
		return reading(stage, err)
	}
	now := change.Intent{Target: found.State, NewDescription: e.text, Appliance: s.Target}
	d, err := now.ExecutionDigest()
	return unless(err == nil && same(d, e.execution), stage, "intent")
}

// reading makes a failed read of the appliance a miss; nil stays nil.
func reading(stage string, err error) *miss {
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
	return failed(stage, what, err)
}

package keeper_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/keeper"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// silent is a counter that does not answer: each call takes its whole time.
type silent struct {
	*anchortest.Fake
	away bool
}

const answers = 15 * time.Second // of a witness host that drops everything

func (s *silent) wait(ctx context.Context) error {
	if !s.away {
		return nil
	}
	t := time.NewTimer(answers)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return anchor.Unavailable(nil, "no answer")
}

func (s *silent) Facts(ctx context.Context) (anchor.Facts, error) {
	if err := s.wait(ctx); err != nil {
		return anchor.Facts{}, err
	}
	return s.Fake.Facts(ctx)
}

func (s *silent) Read(ctx context.Context) (int64, error) {
	if err := s.wait(ctx); err != nil {
		return 0, err
	}
	return s.Fake.Read(ctx)
}

// founded makes a provisioned store and closes it.
func founded(t *testing.T, c keeper.Config) {
	t.Helper()
	k, err := keeper.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Seed(t.Context(), by, 41, anchortest.Index); err != nil {
		t.Fatal(err)
	}
	shut(k)
}

// A start ends while the service manager still waits for it (30 s), under quarantine,
// and what it could not settle is settled when the counter answers.
func TestAStartDoesNotWaitForACounterThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counter := &silent{Fake: anchortest.New(41)}
		c := config(t, counter)
		c.Windows = keeper.DefaultWindows()
		founded(t, c)
		counter.away = true
		began := time.Now()
		last := ""
		c.Store.Progress = func(text string) error { last = text; return nil }
		k, err := keeper.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer shut(k)
		// The time for the counter begins when the store is verified, however long that took.
		if last != "the store is verified; comparing it with the counter" {
			t.Errorf("the last word of progress was %q", last)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the start took %s", took)
		}
		if st := k.Status(); st.Quarantine != keeper.Unreachable {
			t.Errorf("%+v", st)
		}
		counter.away = false
		k.Check(t.Context(), k.Loaded())
		if st := k.Status(); !st.Constructible {
			t.Errorf("when it answers again: %+v", st)
		}
	})
}

// Whoever hears of a start's progress is there during the start alone.
func TestAStoreThatIsFoundedAfterTheStartTellsNobody(t *testing.T) {
	over := false
	c := config(t, anchortest.New(41))
	c.Store.Progress = func(string) error {
		if over {
			return context.Canceled
		}
		return nil
	}
	k, err := keeper.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(k)
	over = true
	if _, err := k.Seed(t.Context(), by, 41, anchortest.Index); err != nil {
		t.Error(err)
	}
}

// What a configuration says must be what the store was founded under.
func TestN6AStoreIsOpenedAsItWasFounded(t *testing.T) {
	for what, edit := range map[string]func(*keeper.Config, *anchortest.Fake){
		"another handle": func(c *keeper.Config, _ *anchortest.Fake) { c.Index = 0x01500099 },
		"an emulated counter": func(_ *keeper.Config, f *anchortest.Fake) {
			f.Change(func(x *anchor.Facts) { x.Assurance = anchor.Software })
		},
		"a counter of which nothing is known": func(_ *keeper.Config, f *anchortest.Fake) {
			f.Change(func(x *anchor.Facts) { x.Assurance = anchor.Unknown })
		},
		"another root key": func(c *keeper.Config, _ *anchortest.Fake) { c.Store.Key = storetest.Root(2) },
		"a key of two owners": func(c *keeper.Config, _ *anchortest.Fake) {
			set := *c.Authorities
			set.Confirmation = set.Authorization
			c.Authorities = &set
		},
	} {
		fake := anchortest.New(41)
		c := config(t, fake)
		founded(t, c)
		edit(&c, fake)
		if k, err := keeper.Open(t.Context(), c); err == nil {
			shut(k)
			t.Errorf("%s: it opened", what)
		}
		// Nothing was changed by the attempt.
		fake2 := anchortest.New(41)
		c2 := c
		c2.Counter, c2.Index, c2.Store.Key, c2.Authorities = fake2, 0, storetest.Root(1), config(t, fake2).Authorities
		if k, err := keeper.Open(t.Context(), c2); err != nil || !k.Status().Constructible {
			t.Errorf("%s: afterwards %v", what, err)
		} else {
			shut(k)
		}
	}
}

// Founding refuses a counter that can be set back, a value that is not the counter's,
// and a second time.
func TestN5N6WhatASeedRefuses(t *testing.T) {
	fake := anchortest.New(41)
	k := open(t, config(t, fake))
	fake.Change(func(x *anchor.Facts) { x.Assurance = anchor.Software })
	if _, err := k.Seed(t.Context(), by, 41, anchortest.Index); err == nil {
		t.Error("an emulated counter carries a store of production")
	}
	fake.Change(func(x *anchor.Facts) { x.Assurance = anchor.HardwareWitness })
	if _, err := k.Seed(t.Context(), by, 40, anchortest.Index); errs.Public(err).Class != anchor.ClassConflict {
		t.Errorf("another value: %v", err)
	}
	if k.Loaded() != nil {
		t.Fatal("a store was made all the same")
	}
	if _, err := k.Seed(t.Context(), by, 41, anchortest.Index); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Seed(t.Context(), by, 41, anchortest.Index); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("a second time: %v", err)
	}
	if _, err := k.Provision(t.Context(), by, anchortest.Index, anchor.Operational); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("provisioning under a store: %v", err)
	}
	if err := k.View(func(v *store.View) error {
		p, err := v.Provisioning()
		if err == nil && (p.Assurance != record.AssuranceHardware || p.VerifiedValue != 41 || p.Lab) {
			t.Errorf("%+v", p)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// Whatever decides what may be done is in the policy's digest; so is the process.
func TestReview03ThePolicyIsTheProcessAndItsBounds(t *testing.T) {
	seen := map[string]string{}
	for what, edit := range map[string]func(*keeper.Config){
		"as it is":              func(*keeper.Config) {},
		"as it is, once more":   func(*keeper.Config) {},
		"switched off":          func(c *keeper.Config) { c.Enabled = false },
		"another bound":         func(c *keeper.Config) { c.Store.Limits.SendsPerDay-- },
		"another charset":       func(c *keeper.Config) { c.Charset = "stored" },
		"a shorter life":        func(c *keeper.Config) { c.AuthorizationMax /= 2 },
		"a shorter look":        func(c *keeper.Config) { c.Windows.Settle /= 2 },
		"a test build":          func(c *keeper.Config) { c.TestBuild = true },
		"a longer landing time": func(c *keeper.Config) { c.Store.Limits.LandingWindow += time.Second },
	} {
		c := config(t, anchortest.New(41))
		edit(&c)
		k := open(t, c)
		d := k.Executor().PolicyDigest
		if former, twice := seen[d]; twice || len(d) != 64 {
			t.Errorf("%q has the digest of %q", what, former)
		}
		seen[d] = what
	}
}

// Only an outcome that nobody knows ends the process: a refusal does not, nor an
// increment whose outcome the counter will tell.
func TestWhichErrorsEndTheProcess(t *testing.T) {
	for _, row := range []struct {
		err  error
		ends bool
	}{
		{nil, false},
		{errs.New(errs.Conflict, "x"), false},
		{errs.New(errs.Exhausted, "x").WithClass("disk_full"), false},
		{anchor.Unreachable(nil, "x"), false},
		{errs.New(errs.UnknownOutcome, "x").WithClass("store_write"), true},
	} {
		k := open(t, config(t, anchortest.New(41)))
		k.Wrote(row.err)
		if (k.Failure() != nil) != row.ends {
			t.Errorf("%v: %v", row.err, k.Failure())
		}
	}
}

package store_test

import (
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// fix is a store with a play on it.
type fix struct {
	*storetest.Play
	t *testing.T
	c store.Config
}

func setup(t *testing.T) *fix {
	t.Helper()
	clock := storetest.NewClock()
	c := storetest.Config(t, clock)
	f := &fix{t: t, c: c, Play: &storetest.Play{T: t, Clock: clock, Witness: storetest.Seed().Value}}
	f.S = storetest.Create(t, c)
	t.Cleanup(func() { _ = f.S.Close() })
	return f
}

// reopen closes the store and opens it again, as a new process would.
func (f *fix) reopen() {
	f.t.Helper()
	if err := f.S.Close(); err != nil {
		f.t.Fatal(err)
	}
	s, err := store.Open(f.c)
	if err != nil {
		f.t.Fatal(err)
	}
	f.S = s
	f.sound()
}

// sound verifies the whole store.
func (f *fix) sound() {
	f.t.Helper()
	if _, err := f.S.Verify(""); err != nil {
		f.t.Fatalf("the store is not sound: %v", err)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func class(err error) string {
	if err == nil {
		return ""
	}
	return errs.Public(err).Class
}

// refused fails unless err is a refusal of the class, and the store unchanged.
func (f *fix) refused(want string, do func() error) {
	f.t.Helper()
	before := f.generation()
	if got := class(do()); got != want {
		f.t.Errorf("class %q, want %q", got, want)
	}
	if f.generation() != before {
		f.t.Errorf("a refusal (%s) wrote something", want)
	}
}

func (f *fix) view(do func(*store.View) error) {
	f.t.Helper()
	if err := f.S.View(do); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fix) generation() (n int64) {
	f.t.Helper()
	f.view(func(v *store.View) error {
		a, err := v.Anchor()
		if err == nil {
			n = a.Generation
		}
		return err
	})
	return n
}

func (f *fix) contract(id string) (c record.Contract, r record.Result) {
	f.t.Helper()
	f.view(func(v *store.View) error {
		a, b, err := v.Contract(id)
		if err == nil {
			c, r = *a, *b
		}
		return err
	})
	return c, r
}

func (f *fix) request(id string) (r record.Request) {
	f.t.Helper()
	f.view(func(v *store.View) error {
		a, err := v.Request(id)
		if err == nil {
			r = *a
		}
		return err
	})
	return r
}

func TestAWholeChangeIsStoredStepByStepAndStaysSound(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Verified("web_servers", "DMZ web servers"))
	f.sound()
	if c.State != record.Verified || c.Version != 3 || f.Witness != 42 {
		t.Errorf("%+v", c)
	}
	r := f.request(c.RequestID)
	if r.Status != record.Concluded || r.Result != "verified" {
		t.Errorf("request %+v", r)
	}
	f.reopen()
	f.view(func(v *store.View) error {
		in, err := v.Intent(&c)
		if err != nil {
			return err
		}
		if in.Target.Name != "web_servers" || in.NewDescription != "DMZ web servers" {
			t.Errorf("sealed change %+v", in)
		}
		if files, err := v.Signed(c.ContractID, "confirmation"); err != nil || len(files) != 1 {
			t.Errorf("%d signed files, %v", len(files), err)
		}
		return nil
	})
	f.Clock.Pass(time.Minute)
	if err := f.S.Look(c.ContractID, record.LookHeld); err != nil {
		t.Fatal(err)
	}
	f.sound()
}

func TestRollbackNeedsBothSignaturesAndEndsRolledBack(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Verified("web_servers", "new"))
	a, b := f.Undo(c)
	c = must[record.Contract](t)(f.S.BeginRollback(c.At(), a, b, f.Witness, storetest.By))
	if err := f.Advance(c); err != nil {
		t.Fatal(err)
	}
	c = must[record.Contract](t)(f.S.SendIntent(c.At(), c.Collection))
	pre := storetest.Pre(t, "web_servers", "new")
	c = must[record.Contract](t)(f.S.MarkRollbackVerified(c.At(), pre, pre, f.Answered()))
	if c.State != record.RolledBack {
		t.Errorf("%+v", c)
	}
	f.reopen()
}

func TestReconciliationSettlesByEvidence(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Sent("web_servers", "new"))
	c = must[record.Contract](t)(f.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}))
	f.sound()
	f.Clock.Pass(time.Hour)
	o := must[string](t)(f.Observe(c, artifact.MatchExpectedPost))
	a, file := f.Evidence(c, artifact.OutcomeApplied, o)
	c.VerifiedFingerprint = storetest.Post(t, "web_servers", "new").Fingerprint
	a.VerifiedFingerprint = c.VerifiedFingerprint
	c = must[record.Contract](t)(f.S.Reconcile(c.At(), file, a, false, storetest.By))
	if c.State != record.Verified {
		t.Errorf("%+v", c)
	}
	f.reopen()
}

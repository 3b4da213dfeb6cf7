package store_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// wrong holds what a view says of the sends against all rows of sends, and returns what
// does not agree.
func wrong(v *store.View, landing time.Duration) (string, error) {
	all, err := v.Contracts()
	if err != nil {
		return "", err
	}
	var due []string
	var newest *record.Send
	var left time.Duration
	for _, c := range all {
		if c.State == record.Reconciliation && c.Boundary == record.BoundaryNone { // whatever was sent is forgotten
			left = max(left, landing-v.SinceSend(&record.Send{})) // of another life: since the start
		}
		s, err := v.Send(c.ContractID)
		if errs.CodeOf(err) == errs.NotFound {
			continue
		}
		if err != nil {
			return "", err
		}
		if s.Look == record.LookDue && !v.Now().Wall.Before(s.LookDueAt) {
			due = append(due, s.ContractID)
		}
		if s.ExchangeMS == nil {
			left = max(left, landing-v.SinceSend(s))
		}
		if s.All != "" && (newest == nil || cmp.Or(s.SentAt.Compare(newest.SentAt), cmp.Compare(s.SentBootMS, newest.SentBootMS), cmp.Compare(newest.ContractID, s.ContractID)) > 0) {
			newest = s
		}
	}
	slices.Sort(due)
	is, err := v.LooksDue()
	if err != nil {
		return "", err
	}
	var ids []string
	for _, s := range is {
		ids = append(ids, s.ContractID)
	}
	if !slices.Equal(ids, due) {
		return "the looks that are due", nil
	}
	if is, err := v.Landing(); err != nil || is != left {
		return "how long a write may still land", err
	}
	last, err := v.LastVerified()
	switch {
	case errs.CodeOf(err) == errs.NotFound:
		if newest != nil {
			return "that nothing was proven yet", nil
		}
	case err != nil:
		return "", err
	case newest == nil || last.ContractID != newest.ContractID:
		return "the newest proof", nil
	}
	return "", nil
}

func TestWhatIsKnownOfTheSendsIsWhatTheirRowsSay(t *testing.T) {
	f := setup(t)
	agree := func(when string) {
		t.Helper()
		if err := f.S.View(func(v *store.View) error {
			w, err := wrong(v, f.c.Limits.LandingWindow)
			if w != "" {
				t.Errorf("%s: %s", when, w)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	agree("before anything")
	first, err := f.Verified("web_servers", "one")
	if err != nil {
		t.Fatal(err)
	}
	agree("one proof")
	f.Clock.Pass(time.Hour)
	agree("a look is due")
	second, err := f.Sent("printers", "two")
	if err != nil {
		t.Fatal(err)
	}
	agree("a send without an answer")
	post := storetest.Post(t, "printers", "two")
	if second, err = f.S.MarkExecutionVerified(second.At(), post, post, f.Answered()); err != nil {
		t.Fatal(err)
	}
	agree("two proofs")
	// The newest proof goes when its contract is sent again.
	f.Clock.Pass(time.Hour)
	conf, auth := f.Undo(second)
	if second, err = f.S.BeginRollback(second.At(), conf, auth, f.Witness, storetest.By); err != nil {
		t.Fatal(err)
	}
	if err := f.Advance(second); err != nil {
		t.Fatal(err)
	}
	if second, err = f.S.SendIntent(second.At(), second.Collection); err != nil {
		t.Fatal(err)
	}
	agree("an undo without an answer")
	last, err := lastVerified(f.S)
	if err != nil || last.ContractID != first.ContractID {
		t.Errorf("the newest proof is %v, %v", last, err)
	}
	if err := f.S.Look(first.ContractID, record.LookHeld); err != nil {
		t.Fatal(err)
	}
	agree("looked")
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	if f.S, err = store.Open(f.c); err != nil {
		t.Fatal(err)
	}
	agree("opened again, before a write")
	if err := f.S.Note(record.Startup, ""); err != nil {
		t.Fatal(err)
	}
	agree("opened again, after one")
}

func lastVerified(s *store.Store) (last *record.Send, err error) {
	return last, s.View(func(v *store.View) (err error) {
		last, err = v.LastVerified()
		return err
	})
}

func TestOfTwoProofsWithinASecondTheLaterOneCounts(t *testing.T) {
	f := setup(t)
	for _, alias := range []string{"aa", "bb", "cc", "dd", "ee", "ff"} {
		c, err := f.Verified(alias, "text")
		if err != nil {
			t.Fatal(err)
		}
		if last, err := lastVerified(f.S); err != nil || last.ContractID != c.ContractID {
			t.Errorf("%s is not the newest: %v", alias, err)
		}
		// The wall clock has whole seconds, the other one milliseconds.
		f.Clock.Pass(time.Second)
		f.Clock.Set(-time.Second)
	}
}

package store_test

import (
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// A machine that starts with a wrong clock writes times that never were: nothing tells
// them from time that passed. Once the owner has said so, none of them may stand in the
// way until it has come.
func TestReview22WhatWasWrittenAtATimeThatNeverWasStandsInNobodysWayAfterItsRebaseline(t *testing.T) {
	const wrong = 10 * 365 * 24 * time.Hour
	f := setup(t)
	sent := must[record.Contract](t)(f.Sent("one", "new"))

	// The machine starts again, ten years ahead.
	f.Clock.Reboot()
	f.Clock.Set(wrong)
	f.reopen()
	must[store.Restarted](t)(f.S.Restart(f.Witness)) // one is uncertain now
	f.Clock.Pass(16 * time.Minute)
	done := must[record.Contract](t)(f.Verified("two", "new"))
	r := must[record.Request](t)(f.Request("three", "new"))
	if err := f.S.CancelRequest(r.RequestID, record.Cancelled, storetest.By); err != nil {
		t.Fatal(err)
	}
	for range 120 { // a peer whose files are refused
		must[int64](t)(f.S.Deny(store.Denial{Event: record.AuthorizationDenied, By: storetest.By, Reason: "g1_form"}))
	}

	// And again, with the right time.
	f.Clock.Reboot()
	f.Clock.Set(-wrong)
	f.reopen()
	b, file := f.Rebaseline(artifact.ReasonClockPoisoned)
	if err := f.S.Rebaseline(file, b, f.Witness, storetest.By); err != nil {
		t.Fatal(err)
	}
	f.Clock.Pass(16 * time.Minute)
	f.sound()

	if _, paused, err := f.S.Paused(storetest.By); err != nil || paused {
		t.Errorf("the peer is paused: %v, %v", paused, err)
	}
	if seq, err := f.S.Deny(store.Denial{Event: record.AuthorizationDenied, By: storetest.By, Reason: "g1_form"}); err != nil || seq == 0 {
		t.Errorf("a denial has no row: %d, %v", seq, err)
	}
	sent, _ = f.contract(sent.ContractID)
	a, evidence := f.Evidence(sent, artifact.OutcomeNotApplied, must[string](t)(f.Observe(sent, artifact.MatchPre)))
	if c, err := f.S.Reconcile(sent.At(), evidence, a, false, storetest.By); err != nil || c.State != record.Failed {
		t.Errorf("an uncertain contract cannot be settled: %s, %v", c.State, err)
	}
	if err := f.S.View(func(v *store.View) error { return v.MayPrepare(done.TargetIdentity) }); err != nil {
		t.Errorf("a target takes no change: %v", err)
	}
	if err := f.S.View(func(v *store.View) error { return v.MayUndo(&done) }); class(err) != "b_window" {
		t.Errorf("an undo of what was done at no time: %v", err)
	}
	if due := must[[]*record.Send](t)(looks(f.S)); len(due) != 1 {
		t.Errorf("%d looks are due", len(due))
	}
	// What is sent from now on is the newest.
	f.Clock.Pass(24 * time.Hour)
	if swept := must[store.Swept](t)(f.S.Sweep()); len(swept.Texts) != 3 {
		t.Errorf("%d texts were removed", len(swept.Texts))
	}
	last := must[record.Contract](t)(f.Verified("four", "new"))
	if err := f.S.View(func(v *store.View) error {
		s, err := v.LastVerified()
		if err == nil && s.ContractID != last.ContractID {
			t.Error("the newest proof is one of a time that never was")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	f.sound()
}

func looks(s *store.Store) (due []*record.Send, err error) {
	err = s.View(func(v *store.View) (err error) {
		due, err = v.LooksDue()
		return err
	})
	return due, err
}

// While the clocks disagree nobody knows which of them is right. What is written then
// moves neither, so that it is over when they agree again.
func TestReview22WhatIsWrittenDuringAJumpMovesNoClock(t *testing.T) {
	for what, jump := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		f := setup(t)
		f.Clock.Pass(time.Minute)
		if err := f.S.Note(record.Startup, ""); err != nil {
			t.Fatal(err)
		}
		clock := func() (c record.Clock) {
			if err := f.S.Close(); err != nil {
				t.Fatal(err)
			}
			defer func() { f.S = must[*store.Store](t)(store.Open(f.c)) }()
			for _, r := range f.all() {
				if r.bucket == "meta" && string(r.k) == record.ClockKey {
					if err := record.Decode(r.v[32:], &c); err != nil {
						t.Fatal(err)
					}
				}
			}
			return c
		}
		before := clock()
		f.Clock.Set(jump)
		f.Clock.Pass(time.Minute)
		if err := f.S.Note(record.Startup, ""); err != nil {
			t.Fatal(err)
		}
		if after := clock(); after != before || after.BootID == "" {
			t.Errorf("%s: %+v became %+v", what, before, after)
		}
	}
}

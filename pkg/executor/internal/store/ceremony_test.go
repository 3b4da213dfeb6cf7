package store_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

func TestA1AConsumedAuthorizationMakesNoSecondContract(t *testing.T) {
	f := setup(t)
	r := must[record.Request](t)(f.Request("one", "new"))
	a := f.Authorization(r, "one", "new")
	c := must[record.Contract](t)(f.S.Authorize(a))
	f.refused("conflict", func() error { _, err := f.S.Authorize(a); return err })
	// Even when the request is open again, after the contract has expired.
	f.Clock.Pass(16 * time.Minute)
	if w := must[store.Swept](t)(f.S.Sweep()); len(w.Contracts) != 1 {
		t.Fatalf("%+v", w)
	}
	if f.request(r.RequestID).Status != record.Open {
		t.Fatal("the request is not open again")
	}
	a.Artifact.ExpiresAt = f.Clock.Read().Wall.Add(time.Hour) // as if it still lived
	f.refused("g6_consumed", func() error { _, err := f.S.Authorize(a); return err })
	f.view(func(v *store.View) error {
		if !v.Consumed(a.Artifact.ID) {
			t.Error("it is not consumed")
		}
		return nil
	})
	_ = c
	f.sound()
}

func TestA2OfTwoSubmissionsAtOnceOneMakesAContract(t *testing.T) {
	f := setup(t)
	r := must[record.Request](t)(f.Request("one", "new"))
	a := f.Authorization(r, "one", "new")
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for range 16 {
		wg.Go(func() {
			if _, err := f.S.Authorize(a); err == nil {
				mu.Lock()
				made++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("%d contracts", made)
	}
	f.sound()
}

func TestA6TheContractIsThePreviewsAndNoOthers(t *testing.T) {
	f := setup(t)
	r := must[record.Request](t)(f.Request("one", "new"))
	a := f.Authorization(r, "one", "another text")
	f.refused("g4_intent", func() error { _, err := f.S.Authorize(a); return err })
	a = f.Authorization(r, "one", "new")
	a.Artifact.PlanDigest = strings.Repeat("a", 64)
	f.refused("g4_plan", func() error { _, err := f.S.Authorize(a); return err })
	// A newer preview voids what was signed over the older one.
	a = f.Authorization(r, "one", "new")
	must[record.Request](t)(f.Preview(r, "one", "new"))
	f.refused("conflict", func() error { _, err := f.S.Authorize(a); return err })
}

func TestA15Review15NothingSignedBeforeTheFloorIsTaken(t *testing.T) {
	f := setup(t)
	done := must[record.Contract](t)(f.Verified("zero", "new"))
	undoC, undoA := f.Undo(done)
	f.Clock.Pass(2 * time.Minute)
	uncertain := must[record.Contract](t)(f.Sent("one", "new"))
	uncertain = must[record.Contract](t)(f.S.Settle(uncertain.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}))
	o := must[string](t)(f.Observe(uncertain, artifact.MatchExpectedPost))
	evidence, efile := f.Evidence(uncertain, artifact.OutcomeApplied, o)
	old, ofile := f.Rebaseline(artifact.ReasonRestored)
	f.Clock.Pass(20 * time.Minute)
	r := must[record.Request](t)(f.Request("two", "new"))
	auth := f.Authorization(r, "two", "new")
	c := must[record.Contract](t)(f.Authorize("three", "new"))
	confirm, cfile := f.Confirmation(c)
	b, bfile := f.Rebaseline(artifact.ReasonRestored)
	if err := f.S.Rebaseline(bfile, b, f.Witness, storetest.By); err != nil {
		t.Fatal(err)
	}
	f.sound()
	f.refused("g3_floor", func() error { _, err := f.S.Authorize(auth); return err })
	// The confirmed contract is no longer prepared; its confirmation has no use.
	f.refused("conflict", func() error { _, err := f.S.Confirm(c.At(), cfile, confirm, storetest.By); return err })
	f.refused("r_time", func() error {
		evidence.IssuedAt = f.Clock.Read().Wall.Add(-time.Hour)
		now, _ := f.contract(uncertain.ContractID)
		_, err := f.S.Reconcile(now.At(), efile, evidence, false, storetest.By)
		return err
	})
	done, _ = f.contract(done.ContractID)
	undoC.Artifact.ExpiresAt = undoC.Artifact.ExpiresAt.Add(time.Hour)
	f.refused("g3_floor", func() error {
		_, err := f.S.BeginRollback(done.At(), undoC, undoA, f.Witness, storetest.By)
		return err
	})
	old.AuditHead, old.ExpiresAt = head(f), f.Clock.Read().Wall.Add(time.Hour)
	f.refused("g3_floor", func() error { return f.S.Rebaseline(ofile, old, f.Witness, storetest.By) })
}

func head(f *fix) (h string) {
	f.view(func(v *store.View) error {
		a, err := v.Anchor()
		h = a.AuditHead
		return err
	})
	return h
}

func TestS2NoGenericStepReachesAVerifiedState(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Sent("one", "new"))
	for _, to := range []record.State{record.Verified, record.RolledBack, record.Prepared, record.Expired, record.RollingBack, record.RollbackFailed} {
		f.refused("conflict", func() error { _, err := f.S.Settle(c.At(), to, "", f.Answered()); return err })
	}
	post, pre := storetest.Post(t, "one", "new"), storetest.Pre(t, "one", "new")
	moved := post
	moved.Locator++
	for _, seen := range [][2]store.Seen{{pre, pre}, {post, pre}, {pre, post}, {post, moved}, {moved, moved}} {
		f.refused("illegal_transition", func() error {
			_, err := f.S.MarkExecutionVerified(c.At(), seen[0], seen[1], f.Answered())
			return err
		})
	}
	f.refused("illegal_transition", func() error {
		_, err := f.S.MarkExecutionVerified(c.At(), post, post, store.Exchange{})
		return err
	})
	f.refused("conflict", func() error { _, err := f.S.MarkRollbackVerified(c.At(), pre, pre, f.Answered()); return err })
	// Nor is "failed" said of what may be in place.
	f.refused("illegal_transition", func() error {
		_, err := f.S.Settle(c.At(), record.Failed, "rejected", store.Exchange{})
		return err
	})
	must[record.Contract](t)(f.S.Settle(c.At(), record.Failed, record.ReasonNotSent, store.Exchange{NothingLeft: true}))
	f.sound()
}

func TestS3AStepForAFormerVersionChangesNothing(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	first := c.At()
	c = must[record.Contract](t)(f.Confirm(c))
	for name, do := range map[string]func(record.At) error{
		"confirm": func(at record.At) error {
			a, file := f.Confirmation(c)
			_, err := f.S.Confirm(at, file, a, storetest.By)
			return err
		},
		"begin": func(at record.At) error { _, err := f.S.BeginExecution(at, f.Witness); return err },
		"cancel": func(at record.At) error {
			_, err := f.S.FailPrepared(at, record.ReasonOperatorCancel, storetest.By)
			return err
		},
	} {
		f.refused("conflict", func() error { return do(first) })
		_ = name
	}
	wrong := c.At()
	wrong.Boundary = record.BoundaryIntent
	f.refused("conflict", func() error { _, err := f.S.BeginExecution(wrong, f.Witness); return err })
	wrong = c.At()
	wrong.ContractID = "wc-" + strings.Repeat("0", 32)
	f.refused("not_found", func() error { _, err := f.S.BeginExecution(wrong, f.Witness); return err })
}

func TestS4AnExpiredContractMayOnlyExpireAndFreesItsTarget(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	c = must[record.Contract](t)(f.Confirm(c))
	f.Clock.Pass(15 * time.Minute)
	f.refused("c5_expired", func() error { _, err := f.S.BeginExecution(c.At(), f.Witness); return err })
	w := must[store.Swept](t)(f.S.Sweep())
	if len(w.Contracts) != 1 || w.Contracts[0] != c.ContractID {
		t.Fatalf("%+v", w)
	}
	f.sound()
	if got, res := f.contract(c.ContractID); got.State != record.Expired || res.Reason != record.ReasonExpired {
		t.Errorf("%s %s", got.State, res.Reason)
	}
	r := f.request(c.RequestID)
	if r.Status != record.Open || r.ContractID != "" {
		t.Fatalf("%+v", r)
	}
	r = must[record.Request](t)(f.Preview(r, "one", "new"))
	must[record.Contract](t)(f.S.Authorize(f.Authorization(r, "one", "new")))
	f.sound()
}

func TestCancelWorksUpToTheSendAndIsRefusedLater(t *testing.T) {
	f := setup(t)
	r := must[record.Request](t)(f.Request("one", "new"))
	if err := f.S.CancelRequest(r.RequestID, record.Cancelled, storetest.By); err != nil {
		t.Fatal(err)
	}
	c := must[record.Contract](t)(f.Authorize("two", "new"))
	f.refused("conflict", func() error { return f.S.CancelRequest(c.RequestID, record.Cancelled, storetest.By) })
	c = must[record.Contract](t)(f.Confirm(c))
	c = must[record.Contract](t)(f.S.FailPrepared(c.At(), record.ReasonOperatorCancel, storetest.By))
	if got := f.request(c.RequestID); got.Status != record.Cancelled || c.State != record.Failed {
		t.Errorf("%s %s", got.Status, c.State)
	}
	f.Clock.Pass(2 * time.Minute)
	c = must[record.Contract](t)(f.Authorize("three", "new"))
	c = must[record.Contract](t)(f.Confirm(c))
	c = must[record.Contract](t)(f.S.BeginExecution(c.At(), f.Witness))
	f.refused("conflict", func() error {
		_, err := f.S.FailPrepared(c.At(), record.ReasonOperatorCancel, storetest.By)
		return err
	})
	f.sound()
}

func TestC2C3AConfirmationCountsOnceForItsContractAndItsTime(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	d := must[record.Contract](t)(f.Authorize("two", "new"))
	a, file := f.Confirmation(c)
	f.refused("conflict", func() error { _, err := f.S.Confirm(d.At(), file, a, storetest.By); return err })
	c = must[record.Contract](t)(f.S.Confirm(c.At(), file, a, storetest.By))
	f.refused("conflict", func() error { _, err := f.S.Confirm(c.At(), file, a, storetest.By); return err })
	// The nonce is spent for every contract.
	b, bfile := f.Confirmation(d)
	b.Nonce = a.Nonce
	f.refused("g6_consumed", func() error { _, err := f.S.Confirm(d.At(), bfile, b, storetest.By); return err })
	b, bfile = f.Confirmation(d)
	b.Digests.Intent = strings.Repeat("a", 64)
	f.refused("c4_binding", func() error { _, err := f.S.Confirm(d.At(), bfile, b, storetest.By); return err })
	b, bfile = f.Confirmation(d)
	f.Clock.Pass(15 * time.Minute)
	f.refused("c3_expired", func() error { _, err := f.S.Confirm(d.At(), bfile, b, storetest.By); return err })
}

func TestReview04OneAttemptAtATimeAndNothingBesideAPendingIncrement(t *testing.T) {
	f := setup(t)
	a := must[record.Contract](t)(f.Authorize("one", "new"))
	b := must[record.Contract](t)(f.Authorize("two", "new"))
	a, b = must[record.Contract](t)(f.Confirm(a)), must[record.Contract](t)(f.Confirm(b))
	f.refused("anchor_mismatch", func() error { _, err := f.S.BeginExecution(a.At(), f.Witness+1); return err })
	a = must[record.Contract](t)(f.S.BeginExecution(a.At(), f.Witness))
	f.refused("in_flight", func() error { _, err := f.S.BeginExecution(b.At(), f.Witness); return err })
	// T5 with any other value than the next, and T6 before T5, are refused.
	f.refused("anchor_mismatch", func() error { return f.S.AnchorAdvanced(a.At(), f.Witness) })
	f.refused("anchor_mismatch", func() error { return f.S.AnchorAdvanced(a.At(), f.Witness+2) })
	f.refused("conflict", func() error { _, err := f.S.SendIntent(a.At(), a.Collection); return err })
	f.refused("anchor_mismatch", func() error { _, err := f.S.AnchorRefused(a.At(), f.Witness+1); return err })
	a = must[record.Contract](t)(f.S.AnchorRefused(a.At(), f.Witness))
	if a.State != record.Failed {
		t.Errorf("%s", a.State)
	}
	must[record.Contract](t)(f.S.BeginExecution(b.At(), f.Witness))
	f.sound()
}

func TestReview01AWriteWithoutAnAnswerBlocksEverythingForItsWindowByTheClockThatCannotBeSet(t *testing.T) {
	f := setup(t)
	f.c.Clock = f.Clock
	c := must[record.Contract](t)(f.Sent("one", "new"))
	c = must[record.Contract](t)(f.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}))
	blocked := func(want string) {
		t.Helper()
		err := f.S.View(func(v *store.View) error { return v.MayBegin() })
		if class(err) != want {
			t.Errorf("begin: %q, want %q", class(err), want)
		}
	}
	blocked("landing_window")
	f.Clock.Set(time.Hour) // the wall clock alone
	blocked("landing_window")
	f.Clock.Set(-time.Hour)
	f.Clock.Pass(14*time.Minute + 59*time.Second)
	blocked("landing_window")
	early := must[string](t)(f.Observe(c, artifact.MatchPre))
	// A restart of the machine begins the window anew.
	f.Clock.Reboot()
	f.reopen()
	blocked("landing_window")
	f.Clock.Pass(14 * time.Minute)
	young := must[string](t)(f.Observe(c, artifact.MatchPre))
	f.Clock.Pass(2 * time.Minute)
	blocked("")
	for _, o := range []string{early, young} {
		a, file := f.Evidence(c, artifact.OutcomeNotApplied, o)
		f.refused("r_landing", func() error { _, err := f.S.Reconcile(c.At(), file, a, false, storetest.By); return err })
	}
	late := must[string](t)(f.Observe(c, artifact.MatchPre))
	a, file := f.Evidence(c, artifact.OutcomeNotApplied, late)
	c = must[record.Contract](t)(f.S.Reconcile(c.At(), file, a, false, storetest.By))
	if c.State != record.Failed {
		t.Errorf("%s", c.State)
	}
	f.sound()
}

func TestReview18LimitsCountEachUIDFirst(t *testing.T) {
	f := setup(t)
	n := 0
	ask := func(uid int64) error {
		n++
		_, err := f.S.OpenRequest(store.NewRequest{AliasName: "alias" + string(rune('a'+n)), Description: "x", UID: &uid, By: record.MCP(uint32(uid))})
		return err
	}
	one, two := int64(1001), int64(1002)
	for range 2 {
		if err := ask(one); err != nil {
			t.Fatal(err)
		}
	}
	f.refused("rate_open", func() error { return ask(one) })
	if err := ask(two); err != nil {
		t.Errorf("another uid is blocked: %v", err)
	}
	ids := must[[]string](t)(f.S.CancelUnpreviewed(one, storetest.By))
	if len(ids) != 2 {
		t.Errorf("%d cancelled", len(ids))
	}
	if err := ask(one); err != nil {
		t.Error(err)
	}
	f.refused("rate_minute", func() error { return ask(one) })
	// One live request for an alias, whoever asks.
	_, err := f.S.OpenRequest(store.NewRequest{AliasName: "alias" + string(rune('a'+n)), Description: "y", By: storetest.By})
	if err == nil {
		_, err = f.S.OpenRequest(store.NewRequest{AliasName: "alias" + string(rune('a'+n)), Description: "z", By: storetest.By})
	}
	if class(err) != "rate_open" {
		t.Errorf("a second request for one alias: %v", err)
	}
	// The uid stands in the audit.
	f.view(func(v *store.View) error {
		for seq := int64(1); ; seq++ {
			a, _, err := v.AuditRow(seq)
			if err != nil {
				return err
			}
			if a.Event == record.RequestOpened {
				if a.Actor != "mcp:1001" {
					t.Errorf("actor %s", a.Actor)
				}
				return nil
			}
		}
	})
	// Unpreviewed ones of MCP clients do not live longer than four hours.
	f.Clock.Pass(4 * time.Hour)
	w := must[store.Swept](t)(f.S.Sweep())
	if len(w.Requests) != 2 {
		t.Errorf("%+v", w)
	}
	f.sound()
}

func TestG7LimitsHoldAcrossAnyNumberOfRestarts(t *testing.T) {
	f := setup(t)
	uid, opened := int64(1001), 0
	for i := range 40 {
		_, err := f.S.OpenRequest(store.NewRequest{AliasName: "alias" + string(rune('a'+i%26)), Description: "x", UID: &uid, By: record.MCP(1001)})
		if err == nil {
			opened++
		}
		must[[]string](t)(f.S.CancelUnpreviewed(uid, storetest.By))
		f.Clock.Pass(time.Minute)
		f.reopen()
	}
	if opened != 15 {
		t.Errorf("%d requests in a day", opened)
	}
	peer := record.Operator(1000)
	rows := 0
	for range 120 {
		if seq := must[int64](t)(f.S.Deny(store.Denial{Event: record.AuthorizationDenied, By: peer, Reason: "g2_signature"})); seq > 0 {
			rows++
		}
	}
	if rows != 100 {
		t.Errorf("%d rows of denials in an hour", rows)
	}
	if _, paused, err := f.S.Paused(peer); !paused || err != nil {
		t.Errorf("after 120 denials: %v, %v", paused, err)
	}
	if _, paused, err := f.S.Paused(record.Operator(1001)); paused || err != nil {
		t.Errorf("another peer is paused: %v, %v", paused, err)
	}
	f.Clock.Pass(10 * time.Minute)
	if _, paused, err := f.S.Paused(peer); paused || err != nil {
		t.Errorf("after the pause: %v, %v", paused, err)
	}
	f.sound()
}

func TestR4ThreeUncertainContractsStopNewWorkAndNotTheirSettling(t *testing.T) {
	f := setup(t)
	var last record.Contract
	for _, alias := range []string{"one", "two", "three"} {
		c := must[record.Contract](t)(f.Sent(alias, "new"))
		last = must[record.Contract](t)(f.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{Answered: true, Took: time.Second}))
	}
	r := must[record.Request](t)(f.Request("four", "new"))
	f.refused("lockout", func() error { _, err := f.S.Authorize(f.Authorization(r, "four", "new")); return err })
	f.Clock.Pass(365 * 24 * time.Hour) // R3: a year settles nothing
	must[store.Swept](t)(f.S.Sweep())
	if got, _ := f.contract(last.ContractID); got.State != record.Reconciliation {
		t.Fatalf("%s", got.State)
	}
	o := must[string](t)(f.Observe(last, artifact.MatchPre))
	a, file := f.Evidence(last, artifact.OutcomeNotApplied, o)
	must[record.Contract](t)(f.S.Reconcile(last.At(), file, a, false, storetest.By))
	if err := f.S.View(func(v *store.View) error { return v.MayBegin() }); err != nil {
		t.Error(err)
	}
	f.sound()
}

func TestR1R2EvidenceForAnythingElseIsRefused(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Sent("one", "new"))
	c = must[record.Contract](t)(f.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}))
	f.Clock.Pass(time.Hour)
	o := must[string](t)(f.Observe(c, artifact.MatchExpectedPost))
	for outcome, origin := range map[string]record.State{
		artifact.OutcomeRollbackApplied: record.RollingBack, artifact.OutcomeRollbackNotApplied: record.RollingBack, "unknown": "",
	} {
		a, file := f.Evidence(c, artifact.OutcomeNotApplied, o)
		a.Outcome = outcome
		f.refused("r_outcome", func() error { _, err := f.S.Reconcile(c.At(), file, a, false, storetest.By); return err })
		_ = origin
	}
	for want, change := range map[string]func(*artifact.Reconciliation){
		"r_version":     func(a *artifact.Reconciliation) { a.StateVersion-- },
		"r_observation": func(a *artifact.Reconciliation) { a.ObservationDigest = strings.Repeat("a", 64) },
		"r_locator":     func(a *artifact.Reconciliation) { n := int64(8); a.VerifiedLocator = &n },
		"r_fingerprint": func(a *artifact.Reconciliation) { a.VerifiedFingerprint = strings.Repeat("a", 64) },
		"r_time":        func(a *artifact.Reconciliation) { a.IssuedAt = a.IssuedAt.Add(-2 * time.Hour) },
	} {
		a, file := f.Evidence(c, artifact.OutcomeApplied, o)
		change(a)
		f.refused(want, func() error { _, err := f.S.Reconcile(c.At(), file, a, false, storetest.By); return err })
	}
	// Thirty-two newer observations push one out.
	for range 32 {
		must[string](t)(f.Observe(c, artifact.MatchPre))
		f.Clock.Pass(time.Second)
	}
	a, file := f.Evidence(c, artifact.OutcomeApplied, o)
	f.refused("r_observation", func() error { _, err := f.S.Reconcile(c.At(), file, a, false, storetest.By); return err })
	f.view(func(v *store.View) error {
		all, err := v.Sightings(c.ContractID)
		if len(all) != 32 {
			t.Errorf("%d observations are kept", len(all))
		}
		return err
	})
	f.sound()
}

func TestReview02Review14RollbackHasItsBounds(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Verified("one", "new"))
	a, b := f.Undo(c)
	// The same nonce, used again; another version.
	wrong := b
	other := *b.Artifact
	other.Undo.StateVersion++
	wrong.Artifact = &other
	f.refused("b_version", func() error { _, err := f.S.BeginRollback(c.At(), a, wrong, f.Witness, storetest.By); return err })
	c = must[record.Contract](t)(f.S.BeginRollback(c.At(), a, b, f.Witness, storetest.By))
	c = must[record.Contract](t)(f.S.AnchorRefused(c.At(), f.Witness))
	if c.State != record.RollbackFailed {
		t.Fatalf("%s", c.State)
	}
	f.sound()
	// R6, review 23: the target stays locked until a signed release.
	f.Clock.Pass(time.Hour)
	r := must[record.Request](t)(f.Request("one", "newer"))
	f.refused("reserved", func() error { _, err := f.S.Authorize(f.Authorization(r, "one", "newer")); return err })
	o := must[string](t)(f.Observe(c, artifact.MatchNeither))
	e, file := f.Evidence(c, artifact.OutcomeRollbackNotApplied, o)
	if err := f.S.Release(c.At(), file, e, storetest.By); err != nil {
		t.Fatal(err)
	}
	f.sound()
	f.refused("r_state", func() error { return f.S.Release(c.At(), file, e, storetest.By) })
	must[record.Contract](t)(f.S.Authorize(f.Authorization(r, "one", "newer")))
	f.reopen()

	// Within a day, and never after a later contract.
	g := setup(t)
	c = must[record.Contract](t)(g.Verified("one", "new"))
	g.Clock.Pass(24 * time.Hour)
	a, b = g.Undo(c)
	g.refused("b_window", func() error { _, err := g.S.BeginRollback(c.At(), a, b, g.Witness, storetest.By); return err })
	h := setup(t)
	c = must[record.Contract](t)(h.Verified("one", "new"))
	h.Clock.Pass(2 * time.Minute)
	must[record.Contract](t)(h.Verified("one", "newer"))
	a, b = h.Undo(c)
	h.refused("b_later", func() error { _, err := h.S.BeginRollback(c.At(), a, b, h.Witness, storetest.By); return err })
	// Review 16: nor does its look say anything any more.
	if err := h.S.Look(c.ContractID, record.LookReverted); err != nil {
		t.Fatal(err)
	}
	h.view(func(v *store.View) error {
		s, err := v.Send(c.ContractID)
		if s.Look != record.LookSkipped {
			t.Errorf("look %s", s.Look)
		}
		return err
	})
	h.sound()

	// What was settled by a signature alone is never rolled back.
	k := setup(t)
	c = must[record.Contract](t)(k.Sent("one", "new"))
	c = must[record.Contract](t)(k.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}))
	k.Clock.Pass(time.Hour)
	o = must[string](t)(k.Observe(c, artifact.MatchNeither))
	ev, file := k.Evidence(c, artifact.OutcomeApplied, o)
	ev.VerifiedFingerprint = storetest.Post(t, "one", "new").Fingerprint
	c = must[record.Contract](t)(k.S.Reconcile(c.At(), file, ev, true, storetest.By))
	if _, res := k.contract(c.ContractID); !res.AttestedOnly {
		t.Error("it is not marked")
	}
	a, b = k.Undo(c)
	k.refused("b_window", func() error { _, err := k.S.BeginRollback(c.At(), a, b, k.Witness, storetest.By); return err })
}

func TestReview16TheLookIsDurableAndRevertedHasItsAudit(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Verified("one", "new"))
	due := func() (n int) {
		f.view(func(v *store.View) error { all, err := v.LooksDue(); n = len(all); return err })
		return n
	}
	if due() != 0 {
		t.Error("it is due at once")
	}
	f.Clock.Pass(time.Minute)
	f.reopen()
	if due() != 1 {
		t.Error("it was forgotten")
	}
	if err := f.S.Look(c.ContractID, record.LookReverted); err != nil {
		t.Fatal(err)
	}
	f.refused("conflict", func() error { return f.S.Look(c.ContractID, record.LookHeld) })
	if got, _ := f.contract(c.ContractID); got.State != record.Verified {
		t.Errorf("the look changed the state to %s", got.State)
	}
	f.view(func(v *store.View) error {
		a, err := v.Anchor()
		if err != nil {
			return err
		}
		_ = a
		for seq := int64(1); ; seq++ {
			row, _, err := v.AuditRow(seq)
			if errs.CodeOf(err) == errs.NotFound {
				t.Error("no audit row says that it was reverted")
				return nil
			}
			if err != nil || row.Event == record.RevertedAfterVerify {
				return err
			}
		}
	})
	f.sound()
}

func TestReview22AJumpIsNotStoredAndAPoisonedTimeIsLoweredBySignatureAlone(t *testing.T) {
	f := setup(t)
	clock := func(want store.ClockFinding) {
		t.Helper()
		if got := must[store.ClockFinding](t)(f.S.CheckClock()); got != want {
			t.Errorf("clock %q, want %q", got, want)
		}
	}
	clock(store.ClockSound)
	f.Clock.Set(10 * 365 * 24 * time.Hour)
	clock(store.ClockJumped)
	if err := f.S.Note(record.QuarantineEntered, "clock_jump"); err != nil {
		t.Fatal(err)
	}
	f.Clock.Set(-10 * 365 * 24 * time.Hour)
	clock(store.ClockSound) // it was not stored
	f.Clock.Set(-10 * time.Second)
	clock(store.ClockBehind)
	f.Clock.Set(10 * time.Second)

	// After a restart of the machine the jump cannot be told from time that passed.
	f.Clock.Reboot()
	f.Clock.Set(10 * 365 * 24 * time.Hour)
	f.reopen()
	if err := f.S.Note(record.Startup, ""); err != nil {
		t.Fatal(err)
	}
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	f.Clock.Reboot()
	f.Clock.Set(-10 * 365 * 24 * time.Hour)
	f.reopen()
	clock(store.ClockRegressed)
	b, file := f.Rebaseline(artifact.ReasonClockPoisoned)
	if err := f.S.Rebaseline(file, b, f.Witness, storetest.By); err != nil {
		t.Fatal(err)
	}
	clock(store.ClockSound)
	if got, res := f.contract(c.ContractID); got.State != record.Expired || res.Reason != record.ReasonRebaseline {
		t.Errorf("%s %s", got.State, res.Reason)
	}
	f.sound()
	b, file = f.Rebaseline(artifact.ReasonClockPoisoned)
	b.IssuedAt = b.IssuedAt.Add(time.Second)
	f.refused("clock_poisoned", func() error { return f.S.Rebaseline(file, b, f.Witness, storetest.By) })
}

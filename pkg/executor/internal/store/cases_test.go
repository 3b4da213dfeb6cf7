package store_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// Case 104: whatever a power loss makes of the file, it is sound or known to be damaged;
// it is never replaced by an empty one, which would have forgotten what was spent.
func TestCase104APowerLossLeavesAStoreThatIsSoundOrKnownToBeDamaged(t *testing.T) {
	f := full(t)
	good := f.image()
	const page = 4096
	images := map[string][]byte{
		"cut by a page": good[:len(good)-page], "cut in half": good[:len(good)/2/page*page], "cut to its two first pages": good[:2*page], "cut within a page": good[:len(good)-page/2],
	}
	change := func(what string, at, n int, with byte) {
		b := bytes.Clone(good)
		for i := at; i < min(at+n, len(b)); i++ {
			b[i] ^= with
			if with == 0 {
				b[i] = 0
			}
		}
		images[what] = b
	}
	for p := range len(good) / page {
		if p < 4 || p%3 == 0 {
			change("a page of zeroes "+string(rune('A'+p%26))+time.Duration(p).String(), p*page, page, 0)
		}
	}
	for _, p := range []int{0, 1} {
		change("a checksum of page "+string(rune('0'+p)), p*page+page-page+64, 8, 0xff)
		change("a header of page "+string(rune('0'+p)), p*page+16, 16, 0x55)
	}
	sound, damaged := 0, 0
	for what, image := range images {
		f.put(image)
		class, bad := f.damaged()
		switch {
		case bad:
			damaged++
			if got := f.image(); len(got) != len(image) {
				t.Errorf("%s: the file was made anew: %d bytes of %d", what, len(got), len(image))
			}
		case class == "":
			// What was hit is not part of what is stored: then everything is still there.
			s, err := store.Open(f.c)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if err := s.View(func(v *store.View) error {
				all, err := v.Contracts()
				if len(all) != 3 {
					t.Errorf("%s: %d contracts", what, len(all))
				}
				return err
			}); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			_ = s.Close()
			sound++
		default:
			t.Errorf("%s: %s", what, class)
		}
	}
	if damaged < 6 {
		t.Errorf("%d of %d were damaged, %d sound", damaged, len(images), sound)
	}
}

// Case 103: a second process does not wait for ever, and says what is the matter.
func TestCase103ASecondOpenDoesNotWait(t *testing.T) {
	f := setup(t)
	ends(t, "a second open", func() error {
		if _, err := store.Open(f.c); class(err) != "already_running" {
			return fmt.Errorf("it was not refused: %v", err)
		}
		return nil
	})
	if _, err := os.Stat(f.file()); err != nil {
		t.Error(err)
	}
}

// S3, X13: T4 is for a contract that is confirmed, at the version that was looked at.
func TestS3X13AnUnconfirmedOrFormerContractIsNotBegun(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	f.refused("conflict", func() error { _, err := f.S.BeginExecution(c.At(), f.Witness); return err })
	confirmed := must[record.Contract](t)(f.Confirm(c))
	f.refused("conflict", func() error { _, err := f.S.BeginExecution(c.At(), f.Witness); return err })
	for _, wrong := range []int64{f.Witness - 1, f.Witness + 1} {
		f.refused("anchor_mismatch", func() error { _, err := f.S.BeginExecution(confirmed.At(), wrong); return err })
	}
	begun := must[record.Contract](t)(f.S.BeginExecution(confirmed.At(), f.Witness))
	f.refused("conflict", func() error { _, err := f.S.BeginExecution(confirmed.At(), f.Witness); return err })
	// Nothing is settled while an increment is noted: what became of it is not known.
	for _, to := range []record.State{record.Failed, record.Reconciliation} {
		f.refused("conflict", func() error {
			_, err := f.S.Settle(begun.At(), to, record.ReasonNotSent, store.Exchange{NothingLeft: true})
			return err
		})
	}
	// T6 waits for T5, and comes once.
	f.refused("conflict", func() error { _, err := f.S.SendIntent(begun.At(), begun.Collection); return err })
	for _, wrong := range []int64{f.Witness, f.Witness + 2} {
		f.refused("anchor_mismatch", func() error { return f.S.AnchorAdvanced(begun.At(), wrong) })
	}
	if err := f.Advance(begun); err != nil {
		t.Fatal(err)
	}
	f.refused("conflict", func() error { return f.S.AnchorAdvanced(begun.At(), f.Witness) })
	early := storetest.Post(t, "one", "new")
	f.refused("conflict", func() error { _, err := f.S.MarkExecutionVerified(begun.At(), early, early, f.Answered()); return err })
	sent := must[record.Contract](t)(f.S.SendIntent(begun.At(), begun.Collection))
	f.refused("conflict", func() error { _, err := f.S.SendIntent(sent.At(), sent.Collection); return err })
	// Verified needs both reads and a complete answer, failed the proof that nothing was done.
	post, pre := storetest.Post(t, "one", "new"), storetest.Pre(t, "one", "new")
	moved := post
	moved.Locator++
	for _, two := range [][2]store.Seen{{post, pre}, {pre, post}, {pre, pre}, {moved, post}, {post, moved}, {}} {
		f.refused("illegal_transition", func() error {
			_, err := f.S.MarkExecutionVerified(sent.At(), two[0], two[1], f.Answered())
			return err
		})
	}
	f.refused("illegal_transition", func() error {
		x := f.Answered()
		x.Answered = false
		_, err := f.S.MarkExecutionVerified(sent.At(), post, post, x)
		return err
	})
	f.refused("illegal_transition", func() error {
		_, err := f.S.Settle(sent.At(), record.Failed, "rejected", store.Exchange{})
		return err
	})
	if _, err := f.S.MarkExecutionVerified(sent.At(), post, post, f.Answered()); err != nil {
		t.Error(err)
	}
	f.sound()
}

// C3: T6 looks at the end of a change's approvals once more, whatever the attempt did.
func TestC3AnExpiredContractHasNoSendIntent(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	c = must[record.Contract](t)(f.Confirm(c))
	c = must[record.Contract](t)(f.S.BeginExecution(c.At(), f.Witness))
	if err := f.Advance(c); err != nil {
		t.Fatal(err)
	}
	f.Clock.Pass(15 * time.Minute)
	f.refused("not_sent", func() error { _, err := f.S.SendIntent(c.At(), c.Collection); return err })
	must[record.Contract](t)(f.S.Settle(c.At(), record.Failed, record.ReasonNotSent, store.Exchange{NothingLeft: true}))
	f.sound()
}

// What the gates looked at is looked at once more in the transaction that spends an
// authorization: how many are prepared, the cooldown, and whether there is time left.
func TestA14G7TheBoundsOfT2HoldInItsOwnTransaction(t *testing.T) {
	f := setup(t)
	var last record.Contract
	for _, alias := range []string{"a", "b", "c", "d"} {
		last = must[record.Contract](t)(f.Authorize(alias, "new"))
	}
	r := must[record.Request](t)(f.Request("e", "new"))
	f.refused("rate_prepared", func() error { _, err := f.S.Authorize(f.Authorization(r, "e", "new")); return err })
	must[record.Contract](t)(f.S.FailPrepared(last.At(), record.ReasonOperatorCancel, storetest.By))
	again := must[record.Request](t)(f.Request("d", "newer"))
	f.refused("cooldown", func() error { _, err := f.S.Authorize(f.Authorization(again, "d", "newer")); return err })
	for left, want := range map[time.Duration]string{time.Minute: "g6_feasible", 30 * time.Second: "g6_feasible"} {
		a := f.Authorization(r, "e", "new")
		a.Artifact.ExpiresAt = f.Clock.Read().Wall.Add(left)
		a.File = artifacttest.File(t, a.Artifact, artifacttest.KeyA())
		f.refused(want, func() error { _, err := f.S.Authorize(a); return err })
	}
	a := f.Authorization(r, "e", "new")
	a.Artifact.ExpiresAt = f.Clock.Read().Wall.Add(time.Minute + time.Second)
	a.File = artifacttest.File(t, a.Artifact, artifacttest.KeyA())
	must[record.Contract](t)(f.S.Authorize(a))
	f.sound()
}

// The transaction that begins an undo holds both signatures against the contract by
// itself, and spends neither unless it takes both.
func TestReview02R5TheTransactionOfAnUndoBindsBothSignatures(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Verified("one", "new"))
	other := must[record.Contract](t)(f.Verified("two", "new"))
	begin := func(confirmation, authorization store.SignedRollback) func() error {
		return func() error {
			_, err := f.S.BeginRollback(c.At(), confirmation, authorization, f.Witness, storetest.By)
			return err
		}
	}
	f.Clock.Pass(2 * time.Minute)
	a, b := f.Undo(c)
	a2, b2 := f.Undo(other)
	f.refused("b_version", begin(a2, b))
	f.refused("b_version", begin(a, b2))
	for what, edit := range map[string]func(*artifact.Undo){
		"another operation":   func(u *artifact.Undo) { u.OperationID = other.OperationID },
		"another version":     func(u *artifact.Undo) { u.StateVersion++ },
		"another fingerprint": func(u *artifact.Undo) { u.VerifiedFingerprint = other.Intent },
		"another snapshot":    func(u *artifact.Undo) { u.Snapshot = other.Intent },
	} {
		for half := range 2 {
			two := [2]store.SignedRollback{a, b}
			spoiled := *two[half].Artifact
			edit(&spoiled.Undo)
			two[half].Artifact = &spoiled
			t.Run(what, func(t *testing.T) { f.refused("b_version", begin(two[0], two[1])) })
		}
	}
	f.Clock.Pass(10 * time.Minute)
	f.refused("b_time", begin(a, b))
	a3, b3 := f.Undo(c)
	f.refused("b_time", begin(a3, b))
	f.refused("b_time", begin(a, b3))
	must[record.Contract](t)(f.S.BeginRollback(c.At(), a3, b3, f.Witness, storetest.By))
	f.sound()
}

// Review 16: a look that comes after a later change of the same target says nothing of
// the former one: its words went by approval.
func TestReview16ALookAfterALaterChangeIsSkipped(t *testing.T) {
	f := setup(t)
	first := must[record.Contract](t)(f.Verified("one", "new"))
	f.Clock.Pass(2 * time.Minute) // nobody looked: the process was down
	second := must[record.Contract](t)(f.Verified("one", "newer"))
	f.Clock.Pass(2 * time.Minute)
	for _, c := range []record.Contract{first, second} {
		if err := f.S.Look(c.ContractID, record.LookReverted); err != nil {
			t.Fatal(err)
		}
	}
	f.view(func(v *store.View) error {
		one, err := v.Send(first.ContractID)
		if err != nil {
			return err
		}
		two, err := v.Send(second.ContractID)
		if err == nil && (one.Look != record.LookSkipped || two.Look != record.LookReverted) {
			t.Errorf("the looks say %s and %s", one.Look, two.Look)
		}
		return err
	})
	f.sound()
}

// Section 8: ten attempts an hour and twenty a day, changes and undos together, counted
// in the transaction that begins them and across restarts.
func TestG7X13AttemptsAreBoundedByHourAndDay(t *testing.T) {
	f := setup(t)
	n := 0
	change := func() error {
		n++
		_, err := f.Verified(fmt.Sprintf("alias%d", n), "new")
		f.Clock.Pass(2 * time.Minute)
		return err
	}
	for range 8 {
		if err := change(); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
	}
	// A ninth and its undo are nine and ten.
	c := must[record.Contract](t)(f.Verified("undone", "new"))
	f.Clock.Pass(2 * time.Minute)
	a, b := f.Undo(c)
	back := must[record.Contract](t)(f.S.BeginRollback(c.At(), a, b, f.Witness, storetest.By))
	must[record.Contract](t)(f.S.AnchorRefused(back.At(), f.Witness)) // one that came to nothing counts too
	f.reopen()
	if err := change(); class(err) != "rate_sends" {
		t.Errorf("an eleventh within the hour: %v", err)
	}
	f.Clock.Pass(time.Hour)
	for range 10 {
		if err := change(); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
	}
	f.Clock.Pass(2 * time.Hour)
	if err := change(); class(err) != "rate_sends" {
		t.Errorf("a twenty-first within the day: %v", err)
	}
	f.Clock.Pass(22 * time.Hour)
	if err := change(); err != nil {
		t.Errorf("a day later: %v", err)
	}
	f.sound()
}

// Review 18: behind the limits of each uid stands one for all of them together.
func TestReview18G7AllUIDsTogetherHaveEightOpenRequests(t *testing.T) {
	f := setup(t)
	ask := func(n int) error {
		uid := int64(1000 + n/2) // two each, as one may have
		_, err := f.S.OpenRequest(store.NewRequest{AliasName: fmt.Sprintf("alias%d", n), Description: "x", UID: &uid, By: record.MCP(uint32(uid))})
		f.Clock.Pass(time.Minute)
		return err
	}
	for n := range 8 {
		if err := ask(n); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
	}
	f.refused("rate_open", func() error { return ask(8) })
}

// Review 1: an observation of before a restart of the machine proves nothing about a
// write that may still land: its clock is gone.
func TestReview01AnObservationFromBeforeARebootProvesNoAbsence(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Sent("one", "new"))
	c = must[record.Contract](t)(f.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}))
	f.Clock.Pass(16 * time.Minute)
	seen := must[string](t)(f.Observe(c, artifact.MatchPre))
	f.Clock.Pass(time.Second)
	f.Clock.Reboot()
	f.reopen()
	settle := func(observation string) error {
		a, file := f.Evidence(c, artifact.OutcomeNotApplied, observation)
		_, err := f.S.Reconcile(c.At(), file, a, false, storetest.By)
		return err
	}
	f.refused("r_landing", func() error { return settle(seen) })
	f.Clock.Pass(16 * time.Minute) // of the new start
	again := must[string](t)(f.Observe(c, artifact.MatchPre))
	f.Clock.Pass(time.Second)
	if err := settle(again); err != nil {
		t.Error(err)
	}
	f.sound()
}

// Section 8: one attempt at a time, to its very end: not only while its increment is
// noted.
func TestX13ASecondAttemptWaitsForTheEndOfTheFirst(t *testing.T) {
	f := setup(t)
	confirmed := func(alias string) record.Contract {
		c := must[record.Contract](t)(f.Authorize(alias, "new"))
		return must[record.Contract](t)(f.Confirm(c))
	}
	a, b := confirmed("one"), confirmed("two")
	waits := func() {
		t.Helper()
		f.refused("in_flight", func() error { _, err := f.S.BeginExecution(b.At(), f.Witness); return err })
	}
	a = must[record.Contract](t)(f.S.BeginExecution(a.At(), f.Witness))
	waits()
	if err := f.Advance(a); err != nil {
		t.Fatal(err)
	}
	waits()
	a = must[record.Contract](t)(f.S.SendIntent(a.At(), a.Collection))
	waits()
	post := storetest.Post(t, "one", "new")
	must[record.Contract](t)(f.S.MarkExecutionVerified(a.At(), post, post, f.Answered()))
	must[record.Contract](t)(f.S.BeginExecution(b.At(), f.Witness))
	f.sound()
}

package ceremony_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/test/fakepf"
)

func class(err error) string {
	if err == nil {
		return ""
	}
	return errs.Public(err).Class
}

// another makes another appliance answer under the same address.
func (m *moments) another() {
	m.T.Helper()
	if err := m.FW.Set("SystemStatus", 0, "netgate_id", "ffffffffffffffffffff"); err != nil {
		m.T.Error(err)
	}
}

// Case 55: the address is that of a cluster, and another node answers.
func TestCase55X9NothingIsWrittenToAnotherApplianceThanTheApproved(t *testing.T) {
	for _, point := range []string{"begin after", "tick after", "connect after"} {
		m := during(t, ceremonytest.Options{})
		m.at[point] = m.another
		if k, res := m.Changed(text); k.State != record.Failed || res.Reason != "identity_changed" || m.Sends() != 0 {
			t.Errorf("%s: %s %s, %d sends", point, k.State, res.Reason, m.Sends())
		}
	}
	// One that answers the reads after the send proves nothing about the one that was written to.
	m := during(t, ceremonytest.Options{})
	m.at["send after"] = m.another
	k, res := m.Changed(text)
	if k.State != record.Reconciliation || res.Reason != "identity_changed" || m.Sends() != 1 {
		t.Errorf("%s %s, %d sends", k.State, res.Reason, m.Sends())
	}
	if _, err := m.Y.Observe(t.Context(), ceremonytest.By, k.ContractID); class(err) != "identity_changed" {
		t.Errorf("another appliance was observed: %v", err)
	}
	// Nor does the look a minute later.
	m = during(t, ceremonytest.Options{})
	k, _ = m.Changed(text)
	m.another()
	m.Clock.Pass(61 * time.Second)
	m.Tend()
	m.View(func(v *store.View) error {
		sent, err := v.Send(k.ContractID)
		if err == nil && sent.Look != record.LookUnreadable {
			t.Errorf("the look says %s", sent.Look)
		}
		return err
	})
}

// Cases 46, 47, 49, 50 and 56: what reaches the appliance are reads of a closed list and
// the one change: no plural, no DELETE, no PUT, no query on a change, and no apply.
func TestCase46Case47Case49Case50Case56OnlyReadsAndTheOneChangeReachTheAppliance(t *testing.T) {
	m := during(t, ceremonytest.Options{FW: fakepf.Options{Now: func() time.Time { return time.Now().Add(-time.Hour) }}})
	k, _ := m.Changed(text)
	m.Clock.Pass(2 * time.Minute)
	m.Tend()
	c, a := m.Undo(k.ContractID)
	if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a); err != nil {
		t.Fatal(err)
	}
	m.Wait()
	m.Clock.Pass(2 * time.Minute)
	m.FW.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 500, ResponseID: "X", Path: patch, Method: "PATCH"})
	k, _ = m.Changed(text + ", again")
	m.Clock.Pass(16 * time.Minute)
	o := m.Observe(k.ContractID)
	m.Clock.Pass(time.Second)
	if _, err := m.Y.Reconcile(t.Context(), ceremonytest.By, m.Evidence(o, artifact.OutcomeNotApplied)); err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, r := range m.FW.Requests() {
		switch {
		case r.Method == "GET":
		case r.Method == "PATCH" && r.Path == patch && r.Query == "":
			writes++
			for _, never := range []string{"append", "remove", "placement", "async", "dry_run", `"apply":true`, "address", "detail"} {
				if strings.Contains(r.Body, never) {
					t.Errorf("the body holds %s: %s", never, r.Body)
				}
			}
		default:
			t.Errorf("%s %s?%s", r.Method, r.Path, r.Query)
		}
	}
	if writes != 3 {
		t.Errorf("%d changes", writes)
	}
	if !slices.Contains(m.FW.Pending(), "aliases") {
		t.Errorf("somebody applied: %v", m.FW.Pending())
	}
}

// Case 44: a 200 is no proof that anything was taken; the read-back is.
func TestCase44X5ASuccessThatChangedNothingIsUncertain(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.FW.Fault(fakepf.Fault{Kind: fakepf.Lost, Path: patch, Method: "PATCH"})
	if k, res := m.Changed(text); k.State != record.Reconciliation || m.Descr() != ceremonytest.Old {
		t.Errorf("%s %s", k.State, res.Reason)
	}
}

// Case 53: details go with their addresses. Fewer are left as they are, more are refused.
func TestCase53X12DetailsStayWithTheirAddresses(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.set(ceremonytest.Alias, "detail", []any{"workshop label printer"})
	m.FW.SetPending()
	if k, res := m.Changed(text); k.State != record.Verified {
		t.Fatalf("%s %s", k.State, res.Reason)
	}
	row := m.FW.Row("FirewallAlias", m.position(ceremonytest.Alias))
	if d, _ := row.Get("detail"); len(d.([]any)) != 1 {
		t.Errorf("the details are %v", d)
	}
	m.set(ceremonytest.Other, "detail", []any{"a", "b", "c", "d", "e", "f", "g", "h", "i"})
	if state, _ := m.AskFor(ceremonytest.Other, "words"); state != ceremony.Refused {
		t.Errorf("more details than addresses: %s", state)
	}
}

// Case 106: an outcome that cannot be stored ends the process. The next start knows that
// a request may have left, and sends nothing again.
func TestCase106AnOutcomeThatCannotBeStoredEndsTheProcess(t *testing.T) {
	armed := false
	m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) {
		c.Store.Seam = storetest.Faults(func(p string) error {
			if armed && p == "commit" {
				return errors.New("no space left on device")
			}
			return nil
		})
	}})
	k := m.Authorized(text)
	m.at["send after"] = func() { armed = true }
	if _, err := m.Y.Confirm(t.Context(), ceremonytest.By, m.Confirmation(k)); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Minute)
	for !m.ended() && time.Now().Before(end) {
		time.Sleep(5 * time.Millisecond)
	}
	if err := m.Stop(); err == nil {
		t.Error("the process goes on although an outcome is not stored")
	}
	armed = false
	m.reborn()
	done, res := m.Contract(k.ContractID)
	if done.State != record.Reconciliation || res.Reason != record.ReasonInterrupted || m.Sends() != 1 || m.Counter.Advances() != 1 {
		t.Errorf("%s %s, %d sends, %d ticks", done.State, res.Reason, m.Sends(), m.Counter.Advances())
	}
}

// reborn starts the next process over what one left that ended without closing its
// store: its lock is one of this process here.
func (m *moments) reborn() {
	m.T.Helper()
	image, err := os.ReadFile(m.file())
	m.Config.Store.Dir = storetest.Config(m.T, m.Clock).Dir
	if err := errors.Join(err, os.WriteFile(m.file(), image, 0o600)); err != nil {
		m.T.Fatal(err)
	}
	m.Open()
}

// ended says whether the writer has stopped by itself.
func (m *moments) ended() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return class(m.Y.Tend(ctx)) == "stopping"
}

func TestN9ManyDeniedFilesArePausedForTheirPeerAlone(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	const other = record.Actor("operator:7")
	submit := map[string]func(record.Actor) error{
		"authorize": func(by record.Actor) error { _, err := m.Y.Authorize(t.Context(), by, []byte("{}")); return err },
		"confirm":   func(by record.Actor) error { _, err := m.Y.Confirm(t.Context(), by, []byte("{}")); return err },
		"reconcile": func(by record.Actor) error { _, err := m.Y.Reconcile(t.Context(), by, []byte("{}")); return err },
		"rollback": func(by record.Actor) error {
			_, err := m.Y.Rollback(t.Context(), by, []byte("{}"), []byte("{}"))
			return err
		},
	}
	for range 20 {
		if err := submit["authorize"](ceremonytest.By); class(err) != ceremony.ClassDenied {
			t.Fatalf("%v", err)
		}
	}
	for what, do := range submit {
		if err := do(ceremonytest.By); class(err) != "denials" {
			t.Errorf("%s is looked at: %v", what, err)
		}
		if err := do(other); class(err) != ceremony.ClassDenied {
			t.Errorf("%s of somebody else: %v", what, err)
		}
	}
	m.Clock.Pass(10 * time.Minute)
	if err := submit["confirm"](ceremonytest.By); class(err) != ceremony.ClassDenied {
		t.Errorf("after the pause: %v", err)
	}
}

// A preview is made of what may be approved alone.
func TestA10NoPreviewIsMadeOfWhatMayNotBeApproved(t *testing.T) {
	// The clock of both sides stands still, but for a second that a row lets pass.
	start := time.Now()
	var ahead atomic.Int64
	now := func() time.Time { return start.Add(time.Duration(ahead.Load()) * time.Second) }
	for what, row := range map[string]struct {
		do   func(*moments)
		want string
	}{
		"the text is there already": {func(m *moments) { m.set(ceremonytest.Alias, "descr", text); m.FW.SetPending() }, "no_op"},
		"the alias is gone":         {func(m *moments) { m.remove(ceremonytest.Alias); m.FW.SetPending() }, "target_unresolved"},
		"somebody's pending change": {func(m *moments) { m.FW.SetPending("aliases") }, "appliance_busy"},
		"a change of this moment":   {func(m *moments) { m.FW.Record("one"); ahead.Store(1); m.FW.Record("two") }, "appliance_busy"},
		"an emulated TPM":           {func(m *moments) { m.Counter.Change(func(f *anchor.Facts) { f.Assurance = anchor.Software }) }, "g5a_evidence"},
		"a counter that moved":      {func(m *moments) { m.Counter.Set(44) }, "quarantine"},
		"a request of yesterday":    {func(m *moments) { m.Clock.Pass(25 * time.Hour) }, "conflict"},
		"a cancelled request": {func(m *moments) {
			_, id := m.Ask(text)
			if err := m.Y.CancelRequest(t.Context(), ceremonytest.By, id); err != nil {
				t.Error(err)
			}
		}, "conflict"},
	} {
		t.Run(what, func(t *testing.T) {
			ahead.Store(0)
			m := during(t, ceremonytest.Options{Now: now, FW: fakepf.Options{Now: now}})
			_, id := m.Ask(text)
			row.do(m)
			if _, err := m.Y.Preview(t.Context(), ceremonytest.By, id); class(err) != row.want {
				t.Errorf("%v (%s)", err, class(err))
			}
			if m.audited(record.PreviewIssued, "") {
				t.Error("a preview was noted")
			}
		})
	}
}

// Review 30: cancel is for what has not begun.
func TestReview30CancelIsForWhatHasNotBegun(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	var meanwhile error
	m.at["send after"] = func() { meanwhile = m.Y.CancelContract(context.Background(), ceremonytest.By, k.ContractID) }
	if _, err := m.Confirm(k); err != nil {
		t.Fatal(err)
	}
	if class(meanwhile) != "conflict" {
		t.Errorf("while it is executed: %v", meanwhile)
	}
	if err := m.Y.CancelContract(t.Context(), ceremonytest.By, k.ContractID); class(err) != "conflict" {
		t.Errorf("when it is verified: %v", err)
	}
	if done, _ := m.Contract(k.ContractID); done.State != record.Verified {
		t.Error(done.State)
	}
	if _, err := m.Y.Pending(t.Context(), ceremonytest.By, k.ContractID); class(err) != "conflict" {
		t.Errorf("there is nothing to confirm: %v", err)
	}
	// Confirmed, and not begun: it can be.
	m = during(t, ceremonytest.Options{})
	k = m.Authorized(text)
	m.at["begin before"] = func() { m.Counter.Break(anchortest.Unavailable) }
	_, _ = m.Confirm(k)
	m.Counter.Break(anchortest.Works)
	if err := m.Y.CancelContract(t.Context(), ceremonytest.By, k.ContractID); err != nil {
		t.Error(err)
	}
	if _, err := m.Y.Resume(t.Context(), ceremonytest.By, k.ContractID); err == nil || m.Sends() != 0 {
		t.Errorf("%v, %d sends", err, m.Sends())
	}
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Refused {
		t.Errorf("the poll says %s", got)
	}
}

// Review 2: an undo is for a verified change of the last day.
func TestReview02AnUndoIsRequestedOfAVerifiedChangeOfTheLastDay(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	if _, err := m.Y.RollbackRequest(t.Context(), ceremonytest.By, k.ContractID); class(err) != "conflict" {
		t.Errorf("a prepared contract: %v", err)
	}
	if _, err := m.Confirm(k); err != nil {
		t.Fatal(err)
	}
	m.Clock.Pass(24*time.Hour - time.Second)
	c, a := m.Undo(k.ContractID)
	m.Clock.Pass(time.Second)
	if _, err := m.Y.RollbackRequest(t.Context(), ceremonytest.By, k.ContractID); class(err) != "b_window" {
		t.Errorf("after a day: %v", err)
	}
	if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a); err == nil || m.Sends() != 1 {
		t.Errorf("%v, %d sends", err, m.Sends())
	}
}

// Both signatures of an undo must hold until the first byte, the shorter one decides.
func TestReview06BothSignaturesOfAnUndoHoldUntilTheFirstByte(t *testing.T) {
	for _, first := range []bool{true, false} {
		m := during(t, ceremonytest.Options{})
		k, _ := m.Changed(text)
		m.Clock.Pass(2 * time.Minute)
		c1, a1 := m.Undo(k.ContractID) // these end five minutes before the next two
		m.Clock.Pass(5 * time.Minute)
		c2, a2 := m.Undo(k.ContractID)
		m.Clock.Pass(5*time.Minute - time.Second)
		m.at["preread after"] = func() { m.Clock.Pass(time.Second) }
		c, a := c1, a2
		if first {
			c, a = c2, a1
		}
		_, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a)
		m.Wait()
		if done, res := m.Contract(k.ContractID); m.Sends() != 1 || done.State != record.RollbackFailed {
			t.Errorf("%v: %s %s, %d sends", err, done.State, res.Reason, m.Sends())
		}
	}
}

// Review 14: what was settled on a signature alone says so for ever, and is not undone.
func TestReview14WhatWasSettledByAttestationAloneIsNeverCalledVerified(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.FW.Fault(lost)
	k, _ := m.Changed(text)
	m.FW.LandPending()
	m.set(ceremonytest.Alias, "descr", "Somebody else's words")
	m.Clock.Pass(16 * time.Minute)
	o := m.Observe(k.ContractID)
	if o.Match != artifact.MatchNeither {
		t.Fatal(o.Match)
	}
	m.Clock.Pass(time.Second)
	done, err := m.Y.Reconcile(t.Context(), ceremonytest.By, m.Evidence(o, artifact.OutcomeApplied))
	if err != nil {
		t.Fatalf("%v: %s", err, m.Last())
	}
	_, res := m.Contract(k.ContractID)
	if done.State != record.Verified || !res.AttestedOnly {
		t.Fatalf("%s, attested: %v", done.State, res.AttestedOnly)
	}
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Reconciliation {
		t.Errorf("the poll says %s", got)
	}
	if _, err := m.Y.RollbackRequest(t.Context(), ceremonytest.By, k.ContractID); class(err) != "attested_only" {
		t.Errorf("%v", err)
	}
}

// Review 8: what a store was founded as, it stays.
func TestReview08AStoreOpensAsItWasFoundedAlone(t *testing.T) {
	lab := func(c *ceremony.Config) { c.Store.Lab, c.Store.StoreID = true, "lab-store-1" }
	m := during(t, ceremonytest.Options{Config: lab})
	if st := m.Y.Status(); !st.Lab || !st.Constructible {
		t.Errorf("%+v", st)
	}
	_ = m.Stop()
	for what, edit := range map[string]func(*ceremony.Config, *anchor.Facts){
		"lab switched off":      func(c *ceremony.Config, _ *anchor.Facts) { c.Store.Lab = false },
		"an emulated TPM in it": func(_ *ceremony.Config, f *anchor.Facts) { f.Assurance = anchor.Software },
	} {
		c := m.Config
		m.Counter.Change(func(f *anchor.Facts) { f.Assurance = anchor.HardwareWitness; edit(&c, f) })
		if _, err := ceremony.Open(t.Context(), c); err == nil {
			t.Errorf("%s: it opened", what)
		}
	}
}

func TestN6AnEmulatedTPMFoundsNoStoreOutsideALaboratory(t *testing.T) {
	for _, lab := range []bool{false, true} {
		m := during(t, ceremonytest.Options{})
		_ = m.Stop()
		m.Config.Store = storetest.Config(t, m.Clock)
		if lab {
			m.Config.Store.Lab, m.Config.Store.StoreID = true, "lab-store-1"
		}
		m.Counter.Change(func(f *anchor.Facts) { f.Assurance = anchor.Software })
		m.Open()
		_, err := m.Y.Seed(t.Context(), ceremonytest.By, 41, anchortest.Index)
		if _, no := os.Stat(m.file()); (err == nil) != lab || (no == nil) != lab {
			t.Errorf("lab %v: %v, a store: %v", lab, err, no)
		}
		if st := m.Y.Status(); st.Constructible != lab {
			t.Errorf("lab %v: %+v", lab, st)
		}
	}
}

// Review 12, 22: a clock that went back stops what is new while it lasts.
func TestReview22AClockThatWentBackIsAQuarantineWhileItLasts(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	m.Clock.Pass(time.Hour)
	m.Tend()
	m.Clock.Reboot()
	m.Clock.Set(-10 * time.Minute)
	m.Tend()
	if st := m.Y.Status(); st.Quarantine != "clock_regressed" {
		t.Errorf("%+v", st)
	}
	if _, err := m.Y.Resume(t.Context(), ceremonytest.By, k.ContractID); err == nil {
		t.Error("resumed")
	}
	m.Clock.Set(10 * time.Minute)
	m.Tend()
	if st := m.Y.Status(); !st.Constructible {
		t.Errorf("%+v", st)
	}
}

// Review 15: a rebaseline forgets what the process remembered of former previews.
func TestReview15ARebaselineVoidsThePreviewsOfThisProcess(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	_, id := m.Ask(text)
	p := m.Preview(id)
	m.Counter.Set(42)
	m.Tend()
	m.Clock.Pass(time.Minute)
	if err := m.Y.Rebaseline(t.Context(), ceremonytest.By, m.rebaseline(artifact.ReasonCounterUsed, nil)); err != nil {
		t.Fatal(err)
	}
	m.Clock.Pass(time.Second)
	// Signed after the floor, over a preview from before it: its plan is of another counter.
	if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, m.Authorization(p)); class(err) != ceremony.ClassDenied {
		t.Errorf("%v", err)
	}
	if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, m.Authorization(m.Preview(id))); err != nil {
		t.Errorf("a new preview: %v: %s", err, m.Last())
	}
}

// G3: a contract that is past its end and not yet swept polls as its request.
func TestG3APreparedContractPastItsEndPollsAsItsRequest(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.Authorized(text)
	m.Clock.Pass(15*time.Minute - time.Second)
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Awaiting {
		t.Errorf("a second before: %s", got)
	}
	m.Clock.Pass(time.Second)
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Requested {
		t.Errorf("at its end: %s", got)
	}
}

func TestReview29TheKeyAnswersSixChallengesAMinuteByTheClockThatCannotBeSet(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	ask := func() error { _, err := m.Y.Challenge([32]byte{1}); return err }
	for range 6 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	m.Clock.Set(time.Hour) // the wall clock is not asked
	if err := ask(); errs.CodeOf(err) != errs.Exhausted {
		t.Errorf("a seventh: %v", err)
	}
	m.Clock.Pass(time.Minute)
	if err := ask(); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

// Relayed files are looked at when the site says so alone, and the relay tells nothing.
func TestA13WhatIsRelayedIsLookedAtWhereTheSiteSaysSo(t *testing.T) {
	for _, on := range []bool{false, true} {
		m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) { c.Relaying = on }})
		_, id := m.Ask(text)
		file := m.Authorization(m.Preview(id))
		m.Y.Relay("authorization", bytes.Clone(file))
		m.Y.Relay("anything", file)
		end := time.Now().Add(time.Minute)
		for m.contracts() == 0 && time.Now().Before(end) && on {
			time.Sleep(2 * time.Millisecond)
		}
		if !on {
			time.Sleep(50 * time.Millisecond)
			m.Wait()
		}
		if want := map[bool]int{true: 1}[on]; m.contracts() != want {
			t.Errorf("relaying %v: %d contracts", on, m.contracts())
		}
	}
}

// A step of provisioning is taken from the state that a person saw.
func TestN5AStepIsTakenFromTheStateThatWasSeen(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	_ = m.Stop()
	m.Config.Store = storetest.Config(t, m.Clock)
	blank := anchortest.NewBlank()
	m.Config.Counter = blank
	m.Open()
	st, err := m.Y.AnchorState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []anchor.State{anchor.Defined, anchor.Operational, st.Step + 1} {
		if _, err := m.Y.Provision(t.Context(), ceremonytest.By, anchortest.Index, wrong); class(err) != "conflict" {
			t.Errorf("from %v: %v", wrong, err)
		}
	}
	for st.Step < anchor.Read {
		before := st.Step
		if st, err = m.Y.Provision(t.Context(), ceremonytest.By, anchortest.Index, before); err != nil || st.Step <= before {
			t.Fatalf("from %v to %v: %v", before, st.Step, err)
		}
		if blank.Ticks() > 1 {
			t.Fatalf("%d increments", blank.Ticks())
		}
	}
	if _, err := m.Y.Provision(t.Context(), ceremonytest.By, anchortest.Index, st.Step); err == nil || blank.Ticks() != 1 {
		t.Errorf("one more: %v, %d increments", err, blank.Ticks())
	}
	if _, err := m.Y.Seed(t.Context(), ceremonytest.By, blank.Value(), anchortest.Index); err != nil {
		t.Fatal(err)
	}
	if st := m.Y.Status(); !st.Constructible {
		t.Errorf("%+v", st)
	}
}

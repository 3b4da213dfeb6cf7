package ceremony_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

func TestN3ACounterThatMovedStopsEverythingUntilASignature(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	k := h.Authorized(text)
	h.Counter.Set(43)
	if _, err := h.Y.Confirm(t.Context(), ceremonytest.By, h.Confirmation(k)); err == nil {
		t.Fatal("a change was confirmed under a counter that moved")
	}
	if st := h.Y.Status(); st.Constructible || st.Quarantine != "anchor_mismatch" {
		t.Fatalf("status %+v", st)
	}
	if got := h.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Refused {
		t.Errorf("a poll under quarantine: %s", got)
	}
	file, err := h.Y.AnchorFile(t.Context(), ceremonytest.By)
	if err != nil {
		t.Fatal(err)
	}
	st, err := artifact.ParseAnchorStatus(file)
	if err != nil || st.StoreValue != 41 || st.WitnessValue != 43 || st.Quarantine != "anchor_mismatch" {
		t.Fatalf("anchor file %+v, %v", st, err)
	}
	h.Clock.Pass(time.Minute)
	rebaseline := func(edit func(*artifact.Rebaseline)) []byte {
		now := h.Clock.Read().Wall
		a := &artifact.Rebaseline{
			AuthorityID: artifacttest.ReconcileID, Nonce: change.NewID(""), StoreID: st.StoreID, NVIndexName: st.NVIndexName,
			StoreValue: st.StoreValue, WitnessValue: st.WitnessValue, AuditHead: st.AuditHead, Reason: artifact.ReasonCounterUsed,
			IssuedAt: now, ExpiresAt: now.Add(10 * time.Minute),
		}
		if edit != nil {
			edit(a)
		}
		return artifacttest.File(t, a, artifacttest.KeyR())
	}
	for what, edit := range map[string]func(*artifact.Rebaseline){
		"another store":         func(a *artifact.Rebaseline) { a.StoreID = "prod-2" },
		"another counter value": func(a *artifact.Rebaseline) { a.WitnessValue = 44 },
		"another store value":   func(a *artifact.Rebaseline) { a.StoreValue = 40 },
	} {
		if err := h.Y.Rebaseline(t.Context(), ceremonytest.By, rebaseline(edit)); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	// Denials are audit rows: the head has moved, and with it what is to be signed.
	if err := h.Y.Rebaseline(t.Context(), ceremonytest.By, rebaseline(nil)); err == nil {
		t.Error("a stale head was taken")
	}
	if file, err = h.Y.AnchorFile(t.Context(), ceremonytest.By); err != nil {
		t.Fatal(err)
	}
	if st, err = artifact.ParseAnchorStatus(file); err != nil {
		t.Fatal(err)
	}
	good := rebaseline(nil)
	if err := h.Y.Rebaseline(t.Context(), ceremonytest.By, good); err != nil {
		t.Fatalf("%v: %s", err, h.Last())
	}
	if st := h.Y.Status(); !st.Constructible {
		t.Errorf("status after it %+v", st)
	}
	if done, _ := h.Contract(k.ContractID); done.State != record.Reconciliation || done.Origin != record.Executing {
		t.Errorf("the prepared contract is %s", done.State)
	}
	if err := h.Y.Rebaseline(t.Context(), ceremonytest.By, good); err == nil {
		t.Error("a rebaseline was taken twice")
	}
	if h.Sends() != 0 || h.Counter.Advances() != 0 {
		t.Errorf("%d sends, %d ticks", h.Sends(), h.Counter.Advances())
	}
}

func TestN1AStoreFromBeforeAnAttemptIsRefused(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	h.Changed(text)
	file := filepath.Join(h.Config.Store.Dir, "store.db")
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h.Open()
	h.Clock.Pass(2 * time.Minute)
	k, _ := h.Changed("Printers, all of them")
	if k.State != record.Verified {
		t.Fatal(k.State)
	}
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, before, 0o600); err != nil {
		t.Fatal(err)
	}
	h.Open()
	if st := h.Y.Status(); st.Constructible || st.Quarantine != "anchor_mismatch" {
		t.Errorf("a restored store: %+v", st)
	}
	if h.Sends() != 2 {
		t.Errorf("%d sends", h.Sends())
	}
}

func TestReview03ARestartVoidsWhatWasApproved(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	state, id := h.Ask(text)
	if state != ceremony.Requested {
		t.Fatal(state)
	}
	early := h.Authorization(h.Preview(id))
	k, err := h.Y.Authorize(t.Context(), ceremonytest.By, early)
	if err != nil {
		t.Fatal(err)
	}
	confirmation := h.Confirmation(k)
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	h.Open()
	done, res := h.Contract(k.ContractID)
	if done.State != record.Expired || res.Reason != record.ReasonRestart {
		t.Errorf("after a restart: %s %s", done.State, res.Reason)
	}
	if _, err := h.Y.Confirm(t.Context(), ceremonytest.By, confirmation); err == nil {
		t.Error("a confirmation survived a restart")
	}
	if got := h.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Requested {
		t.Errorf("the request: %s", got)
	}
	// A preview of the former process is nothing to sign over.
	p := h.Preview(id)
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	h.Open()
	if _, err := h.Y.Authorize(t.Context(), ceremonytest.By, h.Authorization(p)); err == nil {
		t.Error("a preview survived a restart")
	}
	if h.Sends() != 0 {
		t.Errorf("%d sends", h.Sends())
	}
}

func TestN4AnIncrementIsReadAgainBeforeAnythingIsSaid(t *testing.T) {
	for name, row := range map[string]struct {
		fault  anchortest.Fault
		land   bool
		state  record.State // at once
		later  record.State // when the counter has been looked at again
		reason record.Reason
	}{
		"nothing happened, and that is proven": {anchortest.Unavailable, false, record.Failed, record.Failed, record.ReasonAnchorRefused},
		"the secret was refused":               {anchortest.Refused, false, record.Failed, record.Failed, record.ReasonAnchorRefused},
		"nobody knows, and it did not":         {anchortest.Lost, false, record.Executing, record.Failed, record.ReasonBeforeAnchor},
		"nobody knows, and it did":             {anchortest.Happened, false, record.Executing, record.Reconciliation, record.ReasonInterrupted},
		"nobody knows, and it does later":      {anchortest.Pending, true, record.Executing, record.Reconciliation, record.ReasonInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			h := ceremonytest.New(t, ceremonytest.Options{})
			k := h.Authorized(text)
			h.Counter.OnAdvance(row.fault)
			_, _ = h.Confirm(k)
			if done, res := h.Contract(k.ContractID); done.State != row.state {
				t.Errorf("at once: %s %s", done.State, res.Reason)
			}
			if st := h.Y.Status(); (st.Quarantine == "anchor_unreachable") != (row.state == record.Executing) {
				t.Errorf("status %+v", st)
			}
			if row.land {
				h.Counter.Land()
			}
			h.Tend()
			if done, res := h.Contract(k.ContractID); done.State != row.later || res.Reason != row.reason {
				t.Errorf("later: %s %s", done.State, res.Reason)
			}
			if st := h.Y.Status(); !st.Constructible {
				t.Errorf("status %+v", st)
			}
			if h.Sends() != 0 || h.Counter.Advances() != 1 {
				t.Errorf("%d sends, %d ticks", h.Sends(), h.Counter.Advances())
			}
		})
	}
}

func TestX14ASecondExecutordCannotOpenTheStore(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	k := h.Authorized(text)
	if _, err := ceremony.Open(t.Context(), h.Config); err == nil {
		t.Fatal("two had the store open")
	}
	if _, err := h.Confirm(k); err != nil {
		t.Error(err)
	}
	if done, _ := h.Contract(k.ContractID); done.State != record.Verified {
		t.Errorf("%s", done.State)
	}
}

func TestReview22AJumpOfTheClockIsAQuarantineWhileItLasts(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	h.Clock.Set(48 * time.Hour)
	h.Tend()
	if st := h.Y.Status(); st.Quarantine != "clock_jump" {
		t.Errorf("status %+v", st)
	}
	h.Clock.Set(-48 * time.Hour)
	h.Tend()
	if st := h.Y.Status(); !st.Constructible {
		t.Errorf("the clock is right again: %+v", st)
	}
}

func TestReview16AChangeThatWasTakenBackIsSaidToBe(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	k, _ := h.Changed(text)
	if err := h.FW.Set("FirewallAlias", 0, "descr", ceremonytest.Old); err != nil {
		t.Fatal(err)
	}
	h.Clock.Pass(61 * time.Second)
	h.Tend()
	if got := h.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Reverted {
		t.Errorf("the poll says %s", got)
	}
	if done, _ := h.Contract(k.ContractID); done.State != record.Verified {
		t.Errorf("the state became %s", done.State)
	}
	h.Clock.Pass(11 * time.Minute)
	if got := h.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Requested {
		t.Errorf("later the same words are a new wish, and not %s", got)
	}
}

func TestS4ExpiryFreesTheTargetAndOpensTheRequest(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	k := h.Authorized(text)
	h.Clock.Pass(16 * time.Minute)
	if _, err := h.Y.Resume(t.Context(), ceremonytest.By, k.ContractID); err == nil {
		t.Error("an expired contract was resumed")
	}
	h.Tend()
	if done, res := h.Contract(k.ContractID); done.State != record.Expired {
		t.Errorf("%s %s", done.State, res.Reason)
	}
	h.View(func(v *store.View) error {
		if _, err := v.Holder(k.TargetIdentity); errs.CodeOf(err) != errs.NotFound {
			t.Errorf("the target is still held: %v", err)
		}
		return nil
	})
	again, err := h.Y.Authorize(t.Context(), ceremonytest.By, h.Authorization(h.Preview(k.RequestID)))
	if err != nil || again.State != record.Prepared {
		t.Errorf("the same wish again: %v: %s", err, h.Last())
	}
}

func TestN6AnEmulatedCounterCarriesNothingOutsideALaboratory(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	h.Counter.Change(func(f *anchor.Facts) { f.Assurance = anchor.Software })
	if _, err := ceremony.Open(t.Context(), h.Config); err == nil {
		t.Error("a store founded on a hardware counter opened over an emulated one")
	}
}

// TestN3ACounterThatCannotBeAskedIsNotSaidToBeGone: who is told that the counter is
// lost founds a new store, and throws away what was approved and sent.
func TestN3ACounterThatCannotBeAskedIsNotSaidToBeGone(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	h.Counter.Break(anchortest.Unavailable)
	st, err := h.Y.AnchorState(t.Context())
	if err != nil || st.Step != anchor.Recorded || st.Discovery.Evidence.Anchor != change.EvidenceUnreachable {
		t.Fatalf("%v %s, %v", st.Step, st.Discovery.Evidence.Anchor, err)
	}
	h.Counter.Break(anchortest.Works)
	if st, err = h.Y.AnchorState(t.Context()); err != nil || st.Step != anchor.Operational {
		t.Errorf("%v, %v", st.Step, err)
	}
}

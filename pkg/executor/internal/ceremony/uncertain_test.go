package ceremony_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/test/fakepf"
)

func (m *moments) file() string { return filepath.Join(m.Config.Store.Dir, "store.db") }

func TestR3NothingIsSettledByTimeAlone(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.FW.Fault(lost)
	k, _ := m.Changed(text)
	if k.State != record.Reconciliation {
		t.Fatal(k.State)
	}
	m.FW.LandPending()
	for range 53 { // a year, week by week
		m.Clock.Pass(7 * 24 * time.Hour)
		m.Tend()
		if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Reconciliation {
			t.Fatalf("the poll says %s", got)
		}
	}
	m.Observe(k.ContractID) // nor does looking settle anything
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	m.Clock.Reboot()
	m.Open()
	m.Clock.Pass(365 * 24 * time.Hour)
	m.Tend()
	done, _ := m.Contract(k.ContractID)
	if done.State != record.Reconciliation || done.Version != k.Version || m.Sends() != 1 || m.Counter.Advances() != 1 {
		t.Errorf("%s, %d sends, %d ticks", done.State, m.Sends(), m.Counter.Advances())
	}
	m.View(func(v *store.View) error {
		if holder, err := v.Holder(k.TargetIdentity); err != nil || holder != k.ContractID {
			t.Errorf("the target is held by %q, %v", holder, err)
		}
		return nil
	})
}

// An undo that has no answer is as uncertain as a change, and remembers that it was one.
func TestR5AnUndoWithoutAnAnswerIsUncertainAndSettledAsAnUndo(t *testing.T) {
	for _, landed := range []bool{true, false} {
		m := during(t, ceremonytest.Options{})
		k, _ := m.Changed(text)
		m.Clock.Pass(2 * time.Minute)
		c, a := m.Undo(k.ContractID)
		m.FW.Fault(lost)
		if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a); err != nil {
			t.Fatal(err)
		}
		m.Wait()
		done, res := m.Contract(k.ContractID)
		if done.State != record.Reconciliation || done.Origin != record.RollingBack || m.Sends() != 2 || m.Counter.Advances() != 2 {
			t.Fatalf("%s %s from %s, %d sends", done.State, res.Reason, done.Origin, m.Sends())
		}
		if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Reconciliation {
			t.Errorf("the poll says %s", got)
		}
		if landed {
			m.FW.LandPending()
		}
		m.Clock.Pass(16 * time.Minute)
		o := m.Observe(k.ContractID)
		m.Clock.Pass(time.Second)
		// Outcomes of a change are none of an undo.
		for _, outcome := range []string{artifact.OutcomeApplied, artifact.OutcomeNotApplied} {
			if _, err := m.Y.Reconcile(t.Context(), ceremonytest.By, m.Evidence(o, outcome)); err == nil {
				t.Errorf("%s was taken", outcome)
			}
		}
		good, bad, want, poll := artifact.OutcomeRollbackApplied, artifact.OutcomeRollbackNotApplied, record.RolledBack, ceremony.Requested
		if !landed {
			good, bad, want, poll = bad, good, record.RollbackFailed, ceremony.Reconciliation
		}
		if _, err := m.Y.Reconcile(t.Context(), ceremonytest.By, m.Evidence(o, bad)); err == nil {
			t.Errorf("%s was taken against what is there", bad)
		}
		if done, err := m.Y.Reconcile(t.Context(), ceremonytest.By, m.Evidence(o, good)); err != nil || done.State != want {
			t.Errorf("%s: %s, %v: %s", good, done.State, err, m.Last())
		}
		// An undone change is a wish that may be made anew, a failed undo is not.
		if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != poll {
			t.Errorf("the poll says %s", got)
		}
	}
}

// R5: an undo is refused on any drift, before anything happened; after T4 it fails
// without a byte, and never writes over somebody's later words.
func TestR5NoDriftIsWrittenOver(t *testing.T) {
	for what, edit := range edits() {
		if what == "that it is done" || what == "a pending change" {
			continue // an undo begins where it is done, and our own change is pending
		}
		points := []string{"connect after"} // the gate has tests of its own for each
		if what == "its description" || what == "its position" || what == "the interfaces' names" {
			points = append(points, "", "tick after")
		}
		for _, point := range points {
			if what == "the interfaces' names" && point != "" {
				continue // the gate looks; an attempt may begin after a restart, which forgets them
			}
			t.Run(what+" "+point, func(t *testing.T) {
				t.Parallel()
				m := during(t, ceremonytest.Options{})
				k, _ := m.Changed(text)
				m.Clock.Pass(2 * time.Minute)
				c, a := m.Undo(k.ContractID)
				state, ticks := record.Verified, 1
				if point == "" {
					edit.do(m)
				} else {
					m.at[point] = func() { edit.do(m) }
					state, ticks = record.RollbackFailed, 2
				}
				_, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a)
				m.Wait()
				done, res := m.Contract(k.ContractID)
				if (err == nil) != (point != "") || done.State != state || m.Sends() != 1 || m.Counter.Advances() != ticks {
					t.Errorf("%v: %s %s, %d sends, %d ticks", err, done.State, res.Reason, m.Sends(), m.Counter.Advances())
				}
				// With a change of ours pending, an alias that changed is somebody's under way.
				if why := res.Reason; point != "" && edit.why == "drift" && why != "conflict_before_rollback" && why != "appliance_busy" {
					t.Errorf("the reason is %s", res.Reason)
				}
			})
		}
	}
}

// R6: a failed undo keeps its target until a signed release, which changes no state.
func TestR6Review23AFailedUndoHoldsItsTargetUntilItIsReleased(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k, _ := m.Changed(text)
	m.Clock.Pass(2 * time.Minute)
	c, a := m.Undo(k.ContractID)
	m.at["tick after"] = func() { m.set(ceremonytest.Alias, "descr", "Somebody else's words") }
	if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a); err != nil {
		t.Fatal(err)
	}
	m.Wait()
	held := func() bool {
		err := m.Y.View(func(v *store.View) error { _, err := v.Holder(k.TargetIdentity); return err })
		return err == nil
	}
	done, _ := m.Contract(k.ContractID)
	if done.State != record.RollbackFailed || !held() {
		t.Fatalf("%s, held: %v", done.State, held())
	}
	m.Clock.Pass(48 * time.Hour)
	m.Tend()
	if !held() {
		t.Error("time alone released it")
	}
	m.FW.SetPending() // somebody has applied what was pending
	const other = "Printers, once more"
	_, id := m.Ask(other)
	if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, m.Authorization(m.Preview(id))); err == nil {
		t.Error("a held target was changed")
	}
	o := m.Observe(k.ContractID)
	m.Clock.Pass(time.Second)
	for _, outcome := range []string{artifact.OutcomeRollbackApplied, artifact.OutcomeApplied, artifact.OutcomeNotApplied} {
		if _, err := m.Y.Release(t.Context(), ceremonytest.By, m.Evidence(o, outcome)); err == nil {
			t.Errorf("%s released it", outcome)
		}
	}
	file := m.Evidence(o, artifact.OutcomeRollbackNotApplied)
	if _, err := m.Y.Reconcile(t.Context(), ceremonytest.By, file); err == nil {
		t.Error("a release settled a contract")
	}
	if _, err := m.Y.Release(t.Context(), ceremonytest.By, file); err != nil {
		t.Fatalf("%v: %s", err, m.Last())
	}
	if after, _ := m.Contract(k.ContractID); after.State != record.RollbackFailed || after.Version != done.Version || held() {
		t.Errorf("%s, held: %v", after.State, held())
	}
	if _, err := m.Y.Release(t.Context(), ceremonytest.By, file); err == nil {
		t.Error("it was released twice")
	}
	if _, err := m.Y.Observe(t.Context(), ceremonytest.By, k.ContractID); errs.Public(err).Class != "conflict" {
		t.Errorf("there is nothing to observe any more: %v", err)
	}
	if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, m.Authorization(m.Preview(id))); err != nil {
		t.Errorf("a released target: %v: %s", err, m.Last())
	}
}

// R4 as operators meet it: three contracts without an outcome stop everything new and
// not their own settling.
func TestR4ThreeWithoutAnOutcomeStopWhatIsNew(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	var all []string
	for i, name := range []string{ceremonytest.Alias, ceremonytest.Other, "Admin_PCs"} {
		m.FW.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 500, ResponseID: "X", Path: patch, Method: "PATCH"})
		state, id := m.AskFor(name, "words")
		if state != ceremony.Requested {
			t.Fatalf("%d: %s", i, state)
		}
		k, err := m.Y.Authorize(t.Context(), ceremonytest.By, m.Authorization(m.Preview(id)))
		if err != nil {
			t.Fatalf("%d: %v: %s", i, err, m.Last())
		}
		if _, err := m.Confirm(k); err != nil {
			t.Fatal(err)
		}
		all = append(all, k.ContractID)
		m.Clock.Pass(2 * time.Minute)
	}
	_, id := m.AskFor("Bad_Senders", "words")
	deny := func() error {
		_, err := m.Y.Authorize(t.Context(), ceremonytest.By, m.Authorization(m.Preview(id)))
		return err
	}
	if err := deny(); err == nil || !m.audited(record.AuthorizationDenied, "g5a_lockout") {
		t.Errorf("a fourth began: %v: %s", err, m.Last())
	}
	m.Clock.Pass(16 * time.Minute)
	o := m.Observe(all[0])
	m.Clock.Pass(time.Second)
	if done, err := m.Y.Reconcile(t.Context(), ceremonytest.By, m.Evidence(o, artifact.OutcomeNotApplied)); err != nil || done.State != record.Failed {
		t.Fatalf("%s, %v: %s", done.State, err, m.Last())
	}
	if err := deny(); err != nil {
		t.Errorf("with two: %v: %s", err, m.Last())
	}
}

// S5: rows that are each genuine and do not fit each other are damage, and damage is a
// quarantine that nothing but a new store ends.
func TestS5AReservationThatDisagreesWithItsStateIsAQuarantine(t *testing.T) {
	bucket := []byte("reservations")
	rows := func(m *moments) (all map[string][]byte) {
		all = map[string][]byte{}
		db, err := bbolt.Open(m.file(), 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		_ = db.View(func(tx *bbolt.Tx) error {
			return tx.Bucket(bucket).ForEach(func(k, v []byte) error { all[string(k)] = append([]byte{}, v...); return nil })
		})
		return all
	}
	write := func(m *moments, do func(*bbolt.Bucket) error) {
		db, err := bbolt.Open(m.file(), 0o600, &bbolt.Options{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Update(func(tx *bbolt.Tx) error { return do(tx.Bucket(bucket)) }); err != nil {
			t.Fatal(err)
		}
	}
	for what, do := range map[string]func(m *moments, k record.Contract){
		"a prepared contract holds nothing": func(m *moments, k record.Contract) {
			_ = m.Stop()
			write(m, func(b *bbolt.Bucket) error { return b.Delete([]byte(k.TargetIdentity)) })
		},
		"a cancelled contract still holds": func(m *moments, k record.Contract) {
			_ = m.Stop()
			was := rows(m)
			m.Open() // a restart expires it and frees the target
			_ = m.Stop()
			write(m, func(b *bbolt.Bucket) error {
				for id, row := range was {
					if err := b.Put([]byte(id), row); err != nil {
						return err
					}
				}
				return nil
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			m := during(t, ceremonytest.Options{})
			k := m.Authorized(text)
			do(m, k)
			m.Open()
			for range 2 {
				if st := m.Y.Status(); st.Constructible || st.Quarantine != "store_integrity" {
					t.Fatalf("status %+v", st)
				}
				m.Tend() // it does not go away
			}
			if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Refused {
				t.Errorf("asked: %s", got)
			}
			if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, []byte("{}")); err == nil {
				t.Error("authorized")
			}
			if m.Sends() != 0 {
				t.Errorf("%d sends", m.Sends())
			}
		})
	}
}

// N5: each state of provisioning is resumed, and none is gone through twice.
func TestN5ProvisioningGoesOnFromEveryStateAndHappensOnce(t *testing.T) {
	blank := func(t *testing.T) *moments {
		m := during(t, ceremonytest.Options{})
		_ = m.Stop()
		for _, name := range []string{"store.db", "store.lock"} {
			if err := os.Remove(filepath.Join(m.Config.Store.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		m.Open()
		return m
	}
	seed := func(m *moments, value int64) error {
		_, err := m.Y.Seed(context.Background(), ceremonytest.By, value, anchortest.Index)
		return err
	}
	t.Run("complete refuses for ever", func(t *testing.T) {
		m := during(t, ceremonytest.Options{})
		for range 2 {
			if err := seed(m, 41); errs.Public(err).Class != "conflict" {
				t.Errorf("%v", err)
			}
			_ = m.Stop()
			m.Open()
		}
	})
	t.Run("another value founds nothing", func(t *testing.T) {
		m := blank(t)
		for _, v := range []int64{0, 40, 42} {
			if err := seed(m, v); err == nil {
				t.Errorf("%d was taken", v)
			}
		}
		if _, err := os.Stat(m.file()); !os.IsNotExist(err) {
			t.Errorf("a store is there: %v", err)
		}
		if err := seed(m, 41); err != nil {
			t.Error(err)
		}
	})
	t.Run("another handle founds nothing", func(t *testing.T) {
		m := blank(t)
		if _, err := m.Y.Seed(t.Context(), ceremonytest.By, 41, anchortest.Index+1); err == nil {
			t.Error("taken")
		}
		if st := m.Y.Status(); st.Why != "unprovisioned" {
			t.Errorf("%+v", st)
		}
	})
	t.Run("seeded, and interrupted before the record", func(t *testing.T) {
		m := blank(t)
		// The store is founded (S7); the counter goes away before the fresh read (S8).
		m.Counter.OnRead(anchortest.Works, anchortest.Unavailable)
		err := seed(m, 41)
		if st := m.Y.Status(); err == nil || st.Constructible || st.Why != "unprovisioned" {
			t.Fatalf("%v, %+v", err, st)
		}
		if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Refused {
			t.Errorf("asked: %s", got)
		}
		_ = m.Stop()
		m.Open()
		if st := m.Y.Status(); st.Why != "unprovisioned" {
			t.Errorf("after a restart %+v", st)
		}
		if err := seed(m, 42); err == nil {
			t.Error("it went on with another value")
		}
		m.Counter.Set(42)
		if err := seed(m, 41); err == nil {
			t.Error("it was completed under another counter")
		}
		m.Counter.Set(41)
		if err := seed(m, 41); err != nil {
			t.Errorf("resumed: %v", err)
		}
		if st := m.Y.Status(); !st.Constructible {
			t.Errorf("%+v", st)
		}
	})
	t.Run("the record is not stored", func(t *testing.T) {
		m := blank(t)
		fails := true
		_ = m.Stop()
		m.Config.Store.Seam = storetest.Faults(func(p string) error {
			if fails && strings.HasPrefix(p, "put provisioning") || fails && p == "anchor" {
				return os.ErrDeadlineExceeded
			}
			return nil
		})
		m.Open()
		if err := seed(m, 41); err == nil {
			t.Fatal("complete without its record")
		}
		if st := m.Y.Status(); st.Constructible {
			t.Errorf("%+v", st)
		}
		fails = false
		_ = m.Stop()
		m.Open()
		if err := seed(m, 41); err != nil {
			t.Errorf("resumed: %v", err)
		}
	})
}

// rebaseline signs a rebaseline of the store as it is.
func (m *moments) rebaseline(reason string, edit func(*artifact.Rebaseline)) []byte {
	m.T.Helper()
	file, err := m.Y.AnchorFile(m.T.Context(), ceremonytest.By)
	if err != nil {
		m.T.Fatal(err)
	}
	st, err := artifact.ParseAnchorStatus(file)
	if err != nil {
		m.T.Fatal(err)
	}
	now := m.Clock.Read().Wall
	a := &artifact.Rebaseline{
		AuthorityID: artifacttest.ReconcileID, Nonce: change.NewID(""), StoreID: st.StoreID, NVIndexName: st.NVIndexName, StoreValue: st.StoreValue,
		WitnessValue: st.WitnessValue, AuditHead: st.AuditHead, Reason: reason, IssuedAt: now, ExpiresAt: now.Add(10 * time.Minute),
	}
	key := artifacttest.KeyR()
	if edit != nil {
		edit(a)
	}
	switch a.AuthorityID {
	case artifacttest.AuthorizationID:
		key = artifacttest.KeyA()
	case artifacttest.ConfirmationID:
		key = artifacttest.KeyC()
	}
	return artifacttest.File(m.T, a, key)
}

// N7: what a rebaseline makes of each state, and that everything signed before is void.
func TestN7ARebaselineLeavesWhatIsSettledAndVoidsWhatWasSigned(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	verified, _ := m.Changed(text)
	m.Clock.Pass(2 * time.Minute)
	c, a := m.Undo(verified.ContractID)
	m.FW.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 500, ResponseID: "X", Path: patch, Method: "PATCH"})
	ask := func(name string) (record.Contract, []byte) {
		t.Helper()
		m.Clock.Pass(time.Second) // the newest is the last in the list
		_, id := m.AskFor(name, "words")
		file := m.Authorization(m.Preview(id))
		k, err := m.Y.Authorize(t.Context(), ceremonytest.By, file)
		if err != nil {
			t.Fatalf("%v: %s", err, m.Last())
		}
		return k, file
	}
	uncertain, _ := ask(ceremonytest.Other)
	if _, err := m.Confirm(uncertain); err != nil {
		t.Fatal(err)
	}
	m.Clock.Pass(2 * time.Minute)
	before := m.Observe(uncertain.ContractID)
	m.Clock.Pass(time.Second)
	evidence := m.Evidence(before, artifact.OutcomeNotApplied)
	prepared, _ := ask("Admin_PCs")
	confirmation := m.Confirmation(prepared)
	m.Clock.Pass(time.Second)
	_, open := m.AskFor("Bad_Senders", "words")
	waiting := m.Authorization(m.Preview(open))

	m.Counter.Set(50)
	m.Tend()
	if st := m.Y.Status(); st.Quarantine != "anchor_mismatch" {
		t.Fatalf("%+v", st)
	}
	// Under quarantine one may look, and settle nothing.
	m.Observe(uncertain.ContractID)
	if _, err := m.Y.Reconcile(t.Context(), ceremonytest.By, evidence); err == nil {
		t.Error("evidence was taken under quarantine")
	}
	for what, edit := range map[string]func(*artifact.Rebaseline){
		"the authorization owner's": func(a *artifact.Rebaseline) { a.AuthorityID = artifacttest.AuthorizationID },
		"the confirmation owner's":  func(a *artifact.Rebaseline) { a.AuthorityID = artifacttest.ConfirmationID },
		"another Name":              func(a *artifact.Rebaseline) { a.NVIndexName = "000b" + strings.Repeat("11", 32) },
		"another head":              func(a *artifact.Rebaseline) { a.AuditHead = strings.Repeat("1", 64) },
		"a poisoned clock":          func(a *artifact.Rebaseline) { a.Reason = artifact.ReasonClockPoisoned },
		"an expired one": func(a *artifact.Rebaseline) {
			a.IssuedAt, a.ExpiresAt = a.IssuedAt.Add(-11*time.Minute), a.IssuedAt.Add(-time.Minute)
		},
		"one of tomorrow": func(a *artifact.Rebaseline) {
			a.IssuedAt, a.ExpiresAt = a.IssuedAt.Add(24*time.Hour), a.IssuedAt.Add(24*time.Hour+time.Minute)
		},
	} {
		if err := m.Y.Rebaseline(t.Context(), ceremonytest.By, m.rebaseline(artifact.ReasonRestored, edit)); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	m.Clock.Pass(time.Minute)
	good := m.rebaseline(artifact.ReasonRestored, nil)
	if err := m.Y.Rebaseline(t.Context(), ceremonytest.By, good); err != nil {
		t.Fatalf("%v: %s", err, m.Last())
	}
	if st := m.Y.Status(); !st.Constructible {
		t.Fatalf("%+v", st)
	}
	for id, want := range map[string]record.State{
		verified.ContractID: record.Verified, uncertain.ContractID: record.Reconciliation, prepared.ContractID: record.Reconciliation,
	} {
		if k, _ := m.Contract(id); k.State != want {
			t.Errorf("%s, want %s", k.State, want)
		}
	}
	// The floor: nothing that was signed before counts, of any kind.
	if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, waiting); err == nil {
		t.Error("an authorization from before it")
	}
	if _, err := m.Y.Confirm(t.Context(), ceremonytest.By, confirmation); err == nil {
		t.Error("a confirmation from before it")
	}
	if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a); err == nil {
		t.Error("an undo from before it")
	}
	if _, err := m.Y.Reconcile(t.Context(), ceremonytest.By, evidence); err == nil {
		t.Error("evidence from before it")
	}
	if err := m.Y.Rebaseline(t.Context(), ceremonytest.By, good); err == nil {
		t.Error("the rebaseline itself once more")
	}
	if m.Sends() != 2 || m.Counter.Advances() != 2 {
		t.Errorf("%d sends, %d ticks", m.Sends(), m.Counter.Advances())
	}
}

// Review 1, 14: a contract that was prepared when a store was restored may have been
// sent by the history that is lost; nobody settles it before the window is over.
func TestN7Review01APreparedContractAfterARebaselineWaitsForTheWindow(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	m.Counter.Set(42)
	m.Tend()
	m.Clock.Pass(time.Minute)
	if err := m.Y.Rebaseline(t.Context(), ceremonytest.By, m.rebaseline(artifact.ReasonRestored, nil)); err != nil {
		t.Fatal(err)
	}
	m.Clock.Pass(time.Second)
	try := func() error {
		o := m.Observe(k.ContractID)
		m.Clock.Pass(time.Second)
		_, err := m.Y.Reconcile(t.Context(), ceremonytest.By, m.Evidence(o, artifact.OutcomeNotApplied))
		return err
	}
	if try() == nil {
		t.Error("settled at once")
	}
	m.Clock.Pass(16 * time.Minute)
	if err := try(); err != nil {
		t.Errorf("after the window: %v: %s", err, m.Last())
	}
}

// G3: what a poll says before and after each stage, and that it asks for nothing else.
func TestG3APollSaysEachStage(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	poll := func(when, want string) {
		t.Helper()
		reads := len(m.FW.Requests())
		if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
		if n := len(m.FW.Requests()); n != reads && want != ceremony.Verified && want != ceremony.Requested && when != "verified, and it cannot be read" {
			t.Errorf("%s: %d requests to the appliance", when, n-reads)
		}
	}
	poll("the first time", ceremony.Requested)
	_, id := m.Ask(text)
	poll("again", ceremony.Requested)
	p := m.Preview(id)
	poll("previewed", ceremony.Requested)
	if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, []byte("{}")); err == nil {
		t.Error("taken")
	}
	poll("a denied file", ceremony.Requested)
	k, err := m.Y.Authorize(t.Context(), ceremonytest.By, m.Authorization(p))
	if err != nil {
		t.Fatal(err)
	}
	poll("authorized", ceremony.Awaiting)
	m.at["send after"] = func() { poll("executing", ceremony.Awaiting) }
	m.at["begin before"] = func() { poll("confirmed", ceremony.Awaiting) }
	if _, err := m.Confirm(k); err != nil {
		t.Fatal(err)
	}
	poll("verified", ceremony.Verified)
	reads := len(m.FW.RequestsTo(lists))
	for range 20 {
		poll("verified", ceremony.Verified)
	}
	if n := len(m.FW.RequestsTo(lists)) - reads; n != 0 {
		t.Errorf("20 polls within a minute read the appliance %d times", n)
	}
	m.Clock.Pass(59 * time.Second)
	poll("within the minute of the last look", ceremony.Verified)
	m.Clock.Pass(2 * time.Second)
	m.Tend() // the look a minute after it: held
	m.FW.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 500, Path: lists, Count: -1})
	poll("verified, and it cannot be read", ceremony.Refused)
	m.FW.ClearFaults()
	m.set(ceremonytest.Alias, "descr", "Somebody else's words")
	poll("that is remembered for a minute", ceremony.Refused)
	m.Clock.Pass(61 * time.Second)
	poll("taken back by somebody: a new wish", ceremony.Requested)
	// Quarantine answers everything with one word, and the stage comes back with the end of it.
	m.Counter.Break(anchortest.Unavailable)
	m.Tend()
	poll("under quarantine", ceremony.Refused)
	m.Counter.Break(anchortest.Works)
	m.Tend()
	poll("after it", ceremony.Requested)
	m.Clock.Pass(25 * time.Hour)
	m.Tend()
	poll("expired", ceremony.Refused)
	m.Clock.Pass(61 * time.Second)
	poll("and asked for anew", ceremony.Requested)
}

// A conclusion that was none is remembered for a minute, a verified change for a day.
func TestG3AConclusionIsRememberedForItsTime(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	ask := func() string { return m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text) }
	_, id := m.Ask(text)
	if err := m.Y.CancelRequest(t.Context(), ceremonytest.By, id); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != ceremony.Refused {
		t.Errorf("cancelled a moment ago: %s", got)
	}
	m.Clock.Pass(61 * time.Second)
	if got := ask(); got != ceremony.Requested {
		t.Errorf("a minute later: %s", got)
	}
	m = during(t, ceremonytest.Options{})
	m.Changed(text)
	m.Clock.Pass(23*time.Hour + 59*time.Minute)
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Verified {
		t.Errorf("the same day: %s", got)
	}
	m.Clock.Pass(2 * time.Minute)
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Refused {
		t.Errorf("the next day it is there already, which is no change: %s", got)
	}
}

// G8: what an alias name or a description may not be is refused before anything is
// read or stored.
func TestG8WhatMayNotBeAskedForIsRefusedAndLeavesNothing(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	reads := len(m.FW.Requests())
	for _, bad := range []string{
		" ", strings.Repeat("a", 1025), strings.Repeat("é", 513), "a\x00b", "a\x1bb", "a\u202eb", "a\u2066b", "a\u200bb", "a\ufeffb", "a\u2028b", "a\u00adb",
		"a\U000e0041b", "\xff\xfe", "line\n",
	} {
		if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, bad); got != ceremony.Refused {
			t.Errorf("%q: %s", bad, got)
		}
	}
	for _, bad := range []string{"", "a b", "../x", strings.Repeat("a", 33), "é", "x\n", "-a", "a;b", "a\x00"} {
		if got := m.Y.Ask(t.Context(), ceremonytest.UID, bad, text); got != ceremony.Refused {
			t.Errorf("alias %q: %s", bad, got)
		}
	}
	m.View(func(v *store.View) error {
		all, err := v.Requests(store.RequestFilter{})
		if len(all) != 0 {
			t.Errorf("%d requests were stored", len(all))
		}
		return err
	})
	if n := len(m.FW.Requests()); n != reads {
		t.Errorf("%d requests to the appliance", n-reads)
	}
	// What the appliance does not have, or has already, is refused likewise.
	for name, words := range map[string]string{"No_such_alias": text, ceremonytest.Alias: ceremonytest.Old} {
		if got := m.Y.Ask(t.Context(), ceremonytest.UID, name, words); got != ceremony.Refused {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// T7: a rotation whose credential is not yet in place opens with the next key; one that
// was not committed with the former.
func TestT7ARotationThatIsCutOffOpensUnderTheKeyItReached(t *testing.T) {
	next := storetest.Root(2)
	for _, point := range []string{"put contracts", "commit", "committed"} {
		t.Run(point, func(t *testing.T) {
			armed := false
			m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) {
				c.Next = &next
				c.Store.Seam = storetest.Faults(func(p string) error {
					if armed && p == point {
						return os.ErrDeadlineExceeded
					}
					return nil
				})
			}})
			k, _ := m.Changed(text)
			armed = true
			if _, _, _, err := m.Y.Rotate(t.Context(), ceremonytest.By); err == nil {
				t.Fatal("a rotation that was cut off said that it was done")
			}
			armed = false
			_ = m.Stop()
			m.Open()
			m.View(func(v *store.View) error {
				now, _, err := v.Contract(k.ContractID)
				if err != nil {
					return err
				}
				in, err := v.Intent(now)
				if err == nil && in.NewDescription != text {
					t.Error("what was sealed reads otherwise")
				}
				return err
			})
			if _, err := m.Y.Verify(t.Context(), ""); err != nil {
				t.Error(err)
			}
			// Without the next key the committed one is closed.
			_ = m.Stop()
			m.Config.Next = nil
			_, err := ceremony.Open(t.Context(), m.Config)
			if (err == nil) != (point != "committed") {
				t.Errorf("with the former key alone: %v", err)
			}
		})
	}
}

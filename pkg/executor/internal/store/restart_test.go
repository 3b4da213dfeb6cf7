package store_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

func TestS6Review03Review12TheCrashTable(t *testing.T) {
	type after struct {
		state   record.State
		reason  record.Reason
		status  record.Status
		witness int64 // the counter at the restart
		class   string
	}
	prepare := map[string]func(f *fix) record.Contract{
		"T2": func(f *fix) record.Contract { return must[record.Contract](f.t)(f.Authorize("one", "new")) },
		"T3": func(f *fix) record.Contract {
			c := must[record.Contract](f.t)(f.Authorize("one", "new"))
			return must[record.Contract](f.t)(f.Confirm(c))
		},
		"T4": func(f *fix) record.Contract {
			c := must[record.Contract](f.t)(f.Authorize("one", "new"))
			c = must[record.Contract](f.t)(f.Confirm(c))
			return must[record.Contract](f.t)(f.S.BeginExecution(c.At(), f.Witness))
		},
		"T6": func(f *fix) record.Contract { return must[record.Contract](f.t)(f.Sent("one", "new")) },
		"T7": func(f *fix) record.Contract { return must[record.Contract](f.t)(f.Verified("one", "new")) },
		"T4 back": func(f *fix) record.Contract {
			c := must[record.Contract](f.t)(f.Verified("one", "new"))
			a, b := f.Undo(c)
			return must[record.Contract](f.t)(f.S.BeginRollback(c.At(), a, b, f.Witness, storetest.By))
		},
	}
	prepare["T5"] = func(f *fix) record.Contract {
		c := prepare["T4"](f)
		if err := f.Advance(c); err != nil {
			f.t.Fatal(err)
		}
		return c
	}
	for _, row := range []struct {
		at   string
		want after
	}{
		{"T2", after{record.Expired, record.ReasonRestart, record.Open, 41, ""}},
		{"T3", after{record.Expired, record.ReasonRestart, record.Open, 41, ""}},
		{"T2", after{record.Prepared, "", record.Authorized, 42, "anchor_mismatch"}},
		{"T3", after{record.Prepared, "", record.Authorized, 40, "anchor_mismatch"}},
		{"T4", after{record.Failed, record.ReasonBeforeAnchor, record.Concluded, 41, ""}},
		{"T4", after{record.Reconciliation, record.ReasonInterrupted, record.Authorized, 42, ""}},
		{"T4", after{record.Executing, "", record.Authorized, 43, "anchor_mismatch"}},
		{"T4", after{record.Executing, "", record.Authorized, 40, "anchor_mismatch"}},
		{"T5", after{record.Reconciliation, record.ReasonInterrupted, record.Authorized, 42, ""}},
		{"T5", after{record.Executing, "", record.Authorized, 43, "anchor_mismatch"}},
		{"T5", after{record.Executing, "", record.Authorized, 41, "anchor_mismatch"}},
		{"T6", after{record.Reconciliation, record.ReasonInterrupted, record.Authorized, 42, ""}},
		{"T7", after{record.Verified, "", record.Concluded, 42, ""}},
		{"T7", after{record.Verified, "", record.Concluded, 43, "anchor_mismatch"}},
		{"T4 back", after{record.RollbackFailed, record.ReasonBeforeAnchor, record.Concluded, 42, ""}},
		{"T4 back", after{record.Reconciliation, record.ReasonInterrupted, record.Concluded, 43, ""}},
	} {
		f := setup(t)
		c := prepare[row.at](f)
		f.reopen()
		for twice := range 2 { // a second restart finds nothing left to do
			_, err := f.S.Restart(row.want.witness)
			if class(err) != row.want.class {
				t.Errorf("%s, counter %d, restart %d: %v", row.at, row.want.witness, twice, err)
			}
			f.sound()
		}
		got, res := f.contract(c.ContractID)
		if got.State != row.want.state || res.Reason != row.want.reason || f.request(c.RequestID).Status != row.want.status {
			t.Errorf("%s, counter %d: %s, %q, request %s", row.at, row.want.witness, got.State, res.Reason, f.request(c.RequestID).Status)
		}
		f.view(func(v *store.View) error {
			a, err := v.Anchor()
			if row.want.class == "" && (a.Pending != nil || a.Value != row.want.witness) {
				t.Errorf("%s: the anchor stands at %d, pending %v", row.at, a.Value, a.Pending)
			}
			return err
		})
		f.reopen()
	}
}

func TestReview12APendingIncrementOfNoAttemptIsDamage(t *testing.T) {
	// A file edited to hold a pending row cannot have its MAC; one put together from
	// two times of the store has, and is found by generation, digest and state.
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	c = must[record.Contract](t)(f.Confirm(c))
	must[record.Contract](t)(f.S.BeginExecution(c.At(), f.Witness))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	var pending row
	for _, r := range f.all() {
		if r.bucket == "anchor" && string(r.k) == record.AnchorKey {
			pending = r
		}
	}
	f.S = must[*store.Store](t)(store.Open(f.c))
	must[store.Restarted](t)(f.S.Restart(f.Witness))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	f.edit(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("anchor")).Put(pending.k, pending.v) })
	if _, bad := f.damaged(); !bad {
		t.Error("it is not seen")
	}
}

func TestN1AFileFromBeforeTheLastAttemptDisagreesWithTheCounter(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	c = must[record.Contract](t)(f.Confirm(c))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	old := f.image()
	f.S = must[*store.Store](t)(store.Open(f.c))
	c = must[record.Contract](t)(f.S.BeginExecution(c.At(), f.Witness))
	if err := f.Advance(c); err != nil {
		t.Fatal(err)
	}
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	f.put(old)
	f.S = must[*store.Store](t)(store.Open(f.c)) // consistent in itself
	f.sound()
	f.refused("anchor_mismatch", func() error { _, err := f.S.Restart(f.Witness); return err })
	f.refused("anchor_mismatch", func() error {
		c, _ := f.contract(c.ContractID)
		_, err := f.S.BeginExecution(c.At(), f.Witness)
		return err
	})
}

func TestN2Review03AFileFromBetweenTwoTicksSendsNothingASecondTime(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	c = must[record.Contract](t)(f.Confirm(c))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	old := f.image()
	f.S = must[*store.Store](t)(store.Open(f.c))
	must[record.Contract](t)(f.S.FailPrepared(c.At(), record.ReasonOperatorCancel, storetest.By))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	f.put(old) // the cancellation is forgotten, and the counter does not show it
	f.Clock.Set(-time.Second)
	f.S = must[*store.Store](t)(store.Open(f.c))
	must[store.Restarted](t)(f.S.Restart(f.Witness))
	got, res := f.contract(c.ContractID)
	if got.State != record.Expired || res.Reason != record.ReasonRestart {
		t.Fatalf("%s %s: approvals survived a restart", got.State, res.Reason)
	}
	f.refused("conflict", func() error { _, err := f.S.BeginExecution(c.At(), f.Witness); return err })
	f.refused("conflict", func() error { _, err := f.S.BeginExecution(got.At(), f.Witness); return err })
}

func TestN5ProvisioningIsRecordedOnceAndForTheCounterOfTheFounding(t *testing.T) {
	clock := storetest.NewClock()
	c := storetest.Config(t, clock)
	s := must[*store.Store](t)(store.Create(c, storetest.Seed()))
	defer func() { _ = s.Close() }()
	p := record.Provisioning{Handle: "0x01500000", VerifiedValue: 41, NVName: storetest.Seed().NVName, Manufacturer: "IFX", Assurance: record.AssuranceHardware}
	for what, change := range map[string]func(*record.Provisioning){
		"another value":  func(p *record.Provisioning) { p.VerifiedValue++ },
		"another name":   func(p *record.Provisioning) { p.NVName = "000b" + strings.Repeat("0", 64) },
		"another handle": func(p *record.Provisioning) { p.Handle = "0x01500001" },
	} {
		q := p
		change(&q)
		if err := s.CompleteProvisioning(q); class(err) != "anchor_mismatch" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if r := s.Report(); r.Provisioned {
		t.Error("it counts as provisioned")
	}
	if err := s.CompleteProvisioning(p); err != nil {
		t.Fatal(err)
	}
	if err := s.CompleteProvisioning(p); class(err) != "conflict" {
		t.Errorf("a second time: %v", err)
	}
}

func TestN7ARebaselineNeedsTheLiveFactsAndMakesWhatWasUnderWayUncertain(t *testing.T) {
	f := setup(t)
	verified := must[record.Contract](t)(f.Verified("one", "new"))
	f.Clock.Pass(2 * time.Minute)
	prepared := must[record.Contract](t)(f.Authorize("two", "new"))
	running := must[record.Contract](t)(f.Authorize("three", "new"))
	running = must[record.Contract](t)(f.Confirm(running))
	running = must[record.Contract](t)(f.S.BeginExecution(running.At(), f.Witness))
	f.Witness += 5
	for what, change := range map[string]func(*artifact.Rebaseline){
		"another store":        func(a *artifact.Rebaseline) { a.StoreID = "prod-write-store-2" },
		"another counter":      func(a *artifact.Rebaseline) { a.NVIndexName = "000b" + strings.Repeat("0", 64) },
		"another stored value": func(a *artifact.Rebaseline) { a.StoreValue-- },
		"another live value":   func(a *artifact.Rebaseline) { a.WitnessValue-- },
		"a stale head":         func(a *artifact.Rebaseline) { a.AuditHead = strings.Repeat("a", 64) },
	} {
		a, file := f.Rebaseline(artifact.ReasonRestored)
		change(a)
		f.refused("anchor_mismatch", func() error { return f.S.Rebaseline(file, a, f.Witness, storetest.By) })
		_ = what
	}
	a, file := f.Rebaseline(artifact.ReasonRestored)
	f.Clock.Pass(10 * time.Minute)
	f.refused("r_time", func() error { return f.S.Rebaseline(file, a, f.Witness, storetest.By) })
	a, file = f.Rebaseline(artifact.ReasonRestored)
	if err := f.S.Rebaseline(file, a, f.Witness, storetest.By); err != nil {
		t.Fatal(err)
	}
	f.sound()
	for id, want := range map[string]record.State{
		verified.ContractID: record.Verified, prepared.ContractID: record.Reconciliation, running.ContractID: record.Reconciliation,
	} {
		if got, _ := f.contract(id); got.State != want {
			t.Errorf("%s, want %s", got.State, want)
		}
	}
	// A replay: other head, value and floor.
	b := *a
	b.AuditHead, b.StoreValue = head(f), f.Witness
	f.refused("g3_floor", func() error { return f.S.Rebaseline(file, &b, f.Witness, storetest.By) })
	f.Clock.Pass(time.Second)
	b.IssuedAt = f.Clock.Read().Wall
	f.refused("g6_consumed", func() error { return f.S.Rebaseline(file, &b, f.Witness, storetest.By) })
	// What may have been sent in the lost history is not "not applied" at once.
	c, _ := f.contract(prepared.ContractID)
	early := must[string](t)(f.Observe(c, artifact.MatchPre))
	f.Clock.Pass(15 * time.Minute)
	late := must[string](t)(f.Observe(c, artifact.MatchPre))
	_ = early
	e, efile := f.Evidence(c, artifact.OutcomeNotApplied, late)
	must[record.Contract](t)(f.S.Reconcile(c.At(), efile, e, false, storetest.By))
	f.reopen()
}

func TestABackupTakesNothingButARebaseline(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	c = must[record.Contract](t)(f.Confirm(c))
	file := must[*os.File](t)(os.Create(f.c.Dir + "/../backup.db"))
	if err := f.S.Backup(file); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	copied := must[[]byte](t)(os.ReadFile(f.c.Dir + "/../backup.db"))
	left := must[[]os.DirEntry](t)(os.ReadDir(f.c.Dir))
	if len(left) != 2 {
		t.Errorf("the backup left something in the directory: %v", left)
	}
	f.sound() // the store itself is not marked
	if f.S.Report().Restored {
		t.Error("the store itself is marked")
	}
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	f.put(copied)
	f.S = must[*store.Store](t)(store.Open(f.c))
	if !f.S.Report().Restored {
		t.Fatal("the copy is not marked")
	}
	f.sound()
	for name, do := range map[string]func() error{
		"restart": func() error { _, err := f.S.Restart(f.Witness); return err },
		"begin":   func() error { _, err := f.S.BeginExecution(c.At(), f.Witness); return err },
		"request": func() error { _, err := f.Request("two", "new"); return err },
		"rotate":  func() error { _, err := f.S.Rotate(storetest.Root(2), storetest.By); return err },
		"cancel": func() error {
			_, err := f.S.FailPrepared(c.At(), record.ReasonOperatorCancel, storetest.By)
			return err
		},
	} {
		if class(do()) != "restored_backup" {
			t.Errorf("%s: %v", name, class(do()))
		}
	}
	a, afile := f.Rebaseline(artifact.ReasonRestored)
	if err := f.S.Rebaseline(afile, a, f.Witness, storetest.By); err != nil {
		t.Fatal(err)
	}
	must[record.Request](t)(f.Request("two", "new"))
	f.reopen()
}

func TestT7RotationKeepsEverythingReadableAndTheOldKeyOpensNothing(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Verified("one", "new"))
	running := must[record.Contract](t)(f.Sent("two", "new"))
	f.refused("in_flight", func() error { _, err := f.S.Rotate(storetest.Root(2), storetest.By); return err })
	must[record.Contract](t)(f.S.Settle(running.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}))
	r := must[record.Request](t)(f.Request("three", "new"))
	first := head(f)
	for epoch := int64(2); epoch <= 4; epoch++ {
		bad := storetest.Root(epoch)
		bad.Epoch++
		f.refused("configuration", func() error { _, err := f.S.Rotate(bad, storetest.By); return err })
		if n := must[int64](t)(f.S.Rotate(storetest.Root(epoch), storetest.By)); n < 10 {
			t.Errorf("%d rows", n)
		}
		f.sound()
		f.refused("configuration", func() error { _, err := f.S.Rotate(storetest.Root(epoch), storetest.By); return err })
		f.c.Key = storetest.Root(epoch)
		f.reopen()
		// What was sealed under the first key is readable.
		f.view(func(v *store.View) error {
			in, err := v.Intent(must2(v.Contract(c.ContractID)))
			if err != nil {
				return err
			}
			alias, text, err := v.Text(must3(v.Request(r.RequestID)))
			if in.NewDescription != "new" || alias != "three" || text != "new" {
				t.Errorf("epoch %d: %q %q %q", epoch, in.NewDescription, alias, text)
			}
			if _, _, _, perr := v.Preview(r.RequestID); perr != nil {
				t.Error(perr)
			}
			return err
		})
		// The chain runs through, and a head from before is still in it.
		if _, err := f.S.Verify(first); err != nil {
			t.Error(err)
		}
	}
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	for epoch := int64(1); epoch <= 3; epoch++ {
		g := *f
		g.c.Key = storetest.Root(epoch)
		if s, err := store.Open(g.c); err == nil {
			_ = s.Close()
			t.Errorf("the key of epoch %d opens the store", epoch)
		}
	}
}

func TestT7ARowMadeUnderARotatedKeyIsNotTaken(t *testing.T) {
	f := setup(t)
	must[record.Contract](t)(f.Authorize("one", "new"))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	var old []row
	for _, r := range f.all() {
		if r.bucket != "audit" {
			old = append(old, r)
		}
	}
	f.S = must[*store.Store](t)(store.Open(f.c))
	must[int64](t)(f.S.Rotate(storetest.Root(2), storetest.By))
	f.c.Key = storetest.Root(2)
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	good := f.image()
	for _, r := range old {
		f.put(good)
		f.edit(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(r.bucket)).Put(r.k, r.v) })
		if _, bad := f.damaged(); !bad {
			t.Errorf("%s/%q of the former epoch is taken", r.bucket, r.k)
		}
	}
	// Nor all of them at once: the store of before, with the chain of now.
	f.put(good)
	f.edit(func(tx *bbolt.Tx) error {
		var err error
		for _, r := range old {
			err = errors.Join(err, tx.Bucket([]byte(r.bucket)).Put(r.k, r.v))
		}
		return err
	})
	if _, bad := f.damaged(); !bad {
		t.Error("all rows of the former epoch are taken")
	}
}

func must2(c *record.Contract, _ *record.Result, err error) *record.Contract {
	if err != nil {
		panic(err)
	}
	return c
}

func must3(r *record.Request, err error) *record.Request {
	if err != nil {
		panic(err)
	}
	return r
}

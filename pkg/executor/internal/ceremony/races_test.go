package ceremony_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/test/fakepf"
)

// Whether a cancellation or the attempt comes first is for the store to say: one of
// them, and never both.
func TestACancellationAndAnAttemptHaveOneOutcome(t *testing.T) {
	for i := range 12 {
		m := during(t, ceremonytest.Options{})
		k := m.Authorized(text)
		file := m.Confirmation(k)
		var cancelled error
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(time.Duration(i) * 4 * time.Millisecond)
			cancelled = m.Y.CancelContract(context.Background(), ceremonytest.By, k.ContractID)
		}()
		_, err := m.Y.Confirm(t.Context(), ceremonytest.By, file)
		<-done
		m.Wait()
		got, res := m.Contract(k.ContractID)
		switch {
		case cancelled == nil && got.State == record.Failed && res.Reason == record.ReasonOperatorCancel && m.Sends() == 0 && m.Counter.Advances() == 0 && err != nil:
		case cancelled != nil && got.State == record.Verified && m.Sends() == 1 && m.Counter.Advances() == 1 && err == nil:
		default:
			t.Errorf("cancelled %v, confirmed %v: %s %s, %d sends, %d ticks", cancelled, err, got.State, res.Reason, m.Sends(), m.Counter.Advances())
		}
	}
}

// Reads, polls, cancellations and exports go on while the writer ends and closes the
// store: they get an answer, and none of them sees half of it.
func TestTheStoreIsClosedUnderReadersWithoutHarm(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k, _ := m.Changed(text)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, do := range []func(){
		func() { m.Y.Ask(context.Background(), ceremonytest.UID, ceremonytest.Alias, text) },
		func() {
			_ = m.Y.View(func(v *store.View) error {
				_, _, err := v.Contract(k.ContractID)
				return err
			})
		},
		func() { _ = m.Y.CancelContract(context.Background(), ceremonytest.By, k.ContractID) },
		func() { _ = m.Y.Export(io.Discard, 1) },
		func() { _ = m.Y.Backup(io.Discard) },
		func() { _, _ = m.Y.Verify(context.Background(), "") },
		func() { m.Y.Discover(context.Background()) },
		func() { _, _ = m.Y.Observe(context.Background(), ceremonytest.By, k.ContractID) },
		func() { _ = m.Y.Status() },
	} {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					do()
				}
			}
		})
	}
	time.Sleep(150 * time.Millisecond)
	if err := m.Stop(); err != nil {
		t.Error(err)
	}
	time.Sleep(50 * time.Millisecond)
	close(stop)
	all.Wait()
	m.Open()
	if st := m.Y.Status(); !st.Constructible {
		t.Errorf("%+v", st)
	}
	if rep, err := m.Y.Verify(t.Context(), ""); err != nil {
		t.Errorf("%v, %+v", err, rep.Finding)
	}
}

// T7: the root key is replaced while a contract waits, which then goes on; a process
// that died right after it starts with both keys given, and later with the next alone.
func TestT7AKeyIsReplacedInTheMidstOfACeremonyAndAcrossACrash(t *testing.T) {
	next := storetest.Root(2)
	m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) { c.Next = &next }})
	k := m.Authorized(text)
	epoch, id, n, err := m.Y.Rotate(t.Context(), ceremonytest.By)
	if err != nil || epoch != 2 || id != next.ID || n == 0 {
		t.Fatalf("%d %s %d, %v", epoch, id, n, err)
	}
	if _, err := m.Confirm(k); err != nil {
		t.Fatalf("%v: %s", err, m.Last())
	}
	if done, res := m.Contract(k.ContractID); done.State != record.Verified {
		t.Errorf("%s %s", done.State, res.Reason)
	}
	if _, _, _, err := m.Y.Rotate(t.Context(), ceremonytest.By); err == nil {
		t.Error("the same key again")
	}
	_ = m.Stop()
	m.Open() // the credentials are as before
	if st := m.Y.Status(); !st.Constructible {
		t.Errorf("with both keys: %+v", st)
	}
	_ = m.Stop()
	former := m.Config.Store.Key
	m.Config.Store.Key, m.Config.Next = next, nil
	m.Open()
	if st := m.Y.Status(); !st.Constructible {
		t.Errorf("with the next key alone: %+v", st)
	}
	_ = m.Stop()
	m.Config.Store.Key = former
	if _, err := ceremony.Open(t.Context(), m.Config); err == nil {
		t.Error("the store opened under the key that was replaced")
	}
}

// Nothing is rewritten while it is not known what the store has forgotten, or what an
// increment did.
func TestAKeyIsNotReplacedUnderQuarantine(t *testing.T) {
	next := storetest.Root(2)
	for what, do := range map[string]func(*moments){
		"a value that differs": func(m *moments) { m.Counter.Set(43) },
		"a counter that is away": func(m *moments) {
			k := m.Authorized(text)
			m.Counter.OnAdvance(anchortest.Lost)
			_, _ = m.Confirm(k)
			m.Counter.Break(anchortest.Unavailable)
		},
		"a clock that jumped": func(m *moments) { m.Clock.Set(time.Hour) },
	} {
		m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) { c.Next = &next }})
		do(m)
		if _, _, _, err := m.Y.Rotate(t.Context(), ceremonytest.By); err == nil {
			t.Errorf("%s: it was replaced", what)
		}
	}
	m := during(t, ceremonytest.Options{})
	if _, _, _, err := m.Y.Rotate(t.Context(), ceremonytest.By); errs.Public(err).Class != "configuration" {
		t.Errorf("without a next key: %v", err)
	}
}

// What an operator may end: what nobody has looked at yet, of one client alone.
func TestReview18TheUnpreviewedRequestsOfAClientAreCancelledTogether(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	_, seen := m.Ask(text)
	m.Preview(seen)
	m.Clock.Pass(time.Second)
	_, unseen := m.AskFor(ceremonytest.Other, "words")
	if ids, err := m.Y.CancelUnpreviewed(t.Context(), ceremonytest.By, 4711); err != nil || len(ids) != 0 {
		t.Errorf("another client: %v, %v", ids, err)
	}
	if ids, err := m.Y.CancelUnpreviewed(t.Context(), ceremonytest.By, ceremonytest.UID); err != nil || len(ids) != 1 || ids[0] != unseen {
		t.Errorf("%v, %v", ids, err)
	}
	if err := m.Y.CancelRequest(t.Context(), ceremonytest.By, seen); err != nil {
		t.Error(err)
	}
	if err := m.Y.CancelRequest(t.Context(), ceremonytest.By, seen); err == nil {
		t.Error("cancelled twice")
	}
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Refused {
		t.Errorf("the poll of a cancelled one: %s", got)
	}
}

// What is open is settled after a site has switched writing off: nothing begins by it.
func TestAnOpenOutcomeIsSettledWhileWritingIsOff(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.FW.Fault(fakepf.Fault{Kind: fakepf.Reset, Value: "body", Path: patch, Method: "PATCH"})
	k, _ := m.Changed(text)
	if k.State != record.Reconciliation {
		t.Fatal(k.State)
	}
	_ = m.Stop()
	m.Config.Enabled = false
	m.Open()
	if st := m.Y.Status(); st.Constructible || st.Why != "write_disabled" {
		t.Fatalf("%+v", st)
	}
	m.Clock.Pass(16 * time.Minute)
	o := m.Observe(k.ContractID)
	outcome, want := artifact.OutcomeNotApplied, record.Failed
	if o.Match == artifact.MatchExpectedPost {
		outcome, want = artifact.OutcomeApplied, record.Verified
	}
	m.Clock.Pass(time.Second)
	done, err := m.Y.Reconcile(t.Context(), ceremonytest.By, m.Evidence(o, outcome))
	if err != nil || done.State != want {
		t.Fatalf("%s, %v: %s", done.State, err, m.Last())
	}
	if _, err := m.Y.Preview(t.Context(), ceremonytest.By, k.RequestID); err == nil {
		t.Error("a preview was made")
	}
}

// The pins are a file that signers can use as it is.
func TestThePinsNameThisExecutorAndItsOwners(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	file, err := m.Y.Pins(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := authority.ParsePins(file)
	if err != nil || len(p.Executors) != 1 {
		t.Fatalf("%v, %+v", err, p)
	}
	one, x := p.Executors[0], m.Y.Executor()
	if one.StoreID != x.StoreID || one.NVIndexName != x.NVIndexName || one.ApplianceTarget == "" || one.BuildID != x.BuildID ||
		one.Attestation.ID != artifacttest.ExecutorID || len(one.Authorities.Confirmation) != 1 {
		t.Errorf("%+v", one)
	}
}

// Relayed files wait in a short line, whatever comes, and none of what becomes of them
// is told.
func TestRelayedFilesAreBoundedAndSilent(t *testing.T) {
	m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) { c.Relaying = true }})
	k := m.Authorized(text)
	file := m.Confirmation(k)
	m.at["begin before"] = func() {
		for i := range 50 {
			m.Y.Relay("authorization", fmt.Appendf(nil, "{%d}", i))
		}
	}
	m.Y.Relay("confirmation", file)
	denied := func() (n int) {
		for _, row := range m.audit() {
			if row.Event == record.AuthorizationDenied {
				n++
			}
		}
		return n
	}
	// Four wait at most, and the confirmation is one of them until its attempt has begun.
	const most = 3
	for end := time.Now().Add(time.Minute); denied() < most && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	m.Wait()
	if done, res := m.Contract(k.ContractID); done.State != record.Verified {
		t.Errorf("%s %s", done.State, res.Reason)
	}
	if n := denied(); n != most {
		t.Errorf("%d relayed files were looked at", n)
	}
}

package ceremony_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/test/fakepf"
)

func TestAPanicOfTheWriterEndsItAndLeavesNobodyWaiting(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	file := m.Confirmation(k)
	queued := make(chan error, 1)
	m.at["begin before"] = func() {
		go func() {
			_, err := m.Y.Preview(context.Background(), ceremonytest.By, k.RequestID)
			queued <- err
		}()
		time.Sleep(50 * time.Millisecond) // it stands in the line
		panic("a fault of ours")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := m.Y.Confirm(ctx, ceremonytest.By, file); errs.CodeOf(err) != errs.UnknownOutcome {
		t.Errorf("the caller of the step that panicked: %v", err)
	}
	if err := <-queued; errs.Public(err).Class != "stopping" {
		t.Errorf("a caller in the line: %v", err)
	}
	if _, err := m.Y.Observe(ctx, ceremonytest.By, k.ContractID); errs.Public(err).Class != "stopping" {
		t.Errorf("a later caller: %v", err)
	}
	if err := m.Stop(); err == nil {
		t.Error("the writer did not end by it")
	}
	if m.Sends() != 0 {
		t.Errorf("%d sends", m.Sends())
	}
}

// Review 21: the watchdog bites a writer that is stuck, and none that settles what it
// began at the very end of its time.
func TestReview21TheWatchdogLetsAnExchangeEnd(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	file := m.Confirmation(k)
	m.at["send before"] = func() {
		m.Clock.Pass(8*time.Minute + 215*time.Second + 30*time.Second)
		if err := m.Y.Alive(); err != nil {
			t.Errorf("an exchange that began at the end of the step's time: %v", err)
		}
		m.Clock.Pass(2 * time.Minute)
		if m.Y.Alive() == nil {
			t.Error("a writer that is stuck is called alive")
		}
	}
	if _, err := m.Y.Confirm(t.Context(), ceremonytest.By, file); err != nil {
		t.Fatal(err)
	}
	m.Wait()
	if err := m.Y.Alive(); err != nil {
		t.Errorf("idle: %v", err)
	}
}

// Review 21: once the process was asked to end, no attempt begins: it could take longer
// than the end may.
func TestReview21NoAttemptBeginsWhileTheProcessEnds(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	file := m.Confirmation(k)
	m.at["begin before"] = m.End
	if _, err := m.Y.Confirm(t.Context(), ceremonytest.By, file); errs.Public(err).Class != ceremony.ClassNotBegun {
		t.Errorf("%v", err)
	}
	if err := m.Stop(); err != nil {
		t.Error(err)
	}
	if m.Sends() != 0 || m.Counter.Advances() != 0 {
		t.Errorf("%d sends, %d ticks", m.Sends(), m.Counter.Advances())
	}
	m.Open()
	if done, res := m.Contract(k.ContractID); done.State != record.Expired {
		t.Errorf("%s %s", done.State, res.Reason)
	}
}

// What is due is settled although nobody asks for anything.
func TestTheWriterLooksAfterWhatIsDueByItself(t *testing.T) {
	m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) { c.Windows.Tend = time.Millisecond }})
	k := m.Authorized(text)
	m.Clock.Pass(16 * time.Minute)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if done, _ := m.Contract(k.ContractID); done.State == record.Expired {
			return
		} else if time.Now().After(end) {
			t.Fatal(done.State)
		}
	}
}

// 9.2: a poll of a verified change reads the appliance once a minute, however many come.
func TestPollsThatComeTogetherShareOneLook(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.Changed(text)
	m.Clock.Pass(2 * time.Minute)
	m.Tend()
	m.FW.Fault(fakepf.Fault{Kind: fakepf.Delay, Delay: 200 * time.Millisecond, Path: lists, Count: -1})
	reads := len(m.FW.RequestsTo(lists))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Verified {
				t.Errorf("a poll: %s", got)
			}
		})
	}
	all.Wait()
	if n := len(m.FW.RequestsTo(lists)) - reads; n != 1 {
		t.Errorf("%d reads", n)
	}
}

// Another appliance behind the address has not had the change, whatever its texts.
func TestAPollOfAnotherApplianceDoesNotSayVerified(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.Changed(text)
	m.Clock.Pass(2 * time.Minute)
	if err := m.FW.Set("SystemStatus", 0, "netgate_id", "ffffffffffffffffffff"); err != nil {
		t.Fatal(err)
	}
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got == ceremony.Verified {
		t.Error(got)
	}
}

// G7: what a client asks in vain leaves nothing in the store to count it by. It must
// not keep the appliance and the writer busy all the same.
func TestG7RequestsInVainAreBoundedToo(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	reads := len(m.FW.RequestsTo(lists))
	for i := range 40 {
		if got := m.Y.Ask(t.Context(), ceremonytest.UID, fmt.Sprintf("No_such_%d", i), "x"); got != ceremony.Refused {
			t.Fatal(got)
		}
	}
	if n := len(m.FW.RequestsTo(lists)) - reads; n > 6 {
		t.Errorf("one client had the appliance read %d times within a minute", n)
	}
	for i := range 40 {
		m.Y.Ask(t.Context(), uint32(2000+i), "No_such", "x")
	}
	if n := len(m.FW.RequestsTo(lists)) - reads; n > 12 {
		t.Errorf("all clients had the appliance read %d times within a minute", n)
	}
	m.Clock.Pass(time.Minute)
	if state, _ := m.Ask(text); state != ceremony.Requested {
		t.Errorf("a minute later: %s", state)
	}
}

// An operator waits for one look of a client, not for the line of them.
func TestClientsDoNotLineUpBeforeOperators(t *testing.T) {
	const clients = 5
	m := during(t, ceremonytest.Options{})
	looking, goOn := make(chan struct{}), make(chan struct{})
	m.reads.mu.Lock()
	m.reads.before = func() { looking <- struct{}{}; <-goOn }
	m.reads.mu.Unlock()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() { m.Y.Ask(t.Context(), uint32(3000+i), fmt.Sprintf("No_such_%d", i), "x") })
	}
	<-looking                          // the first of them has the writer's turn
	time.Sleep(100 * time.Millisecond) // the others wait
	served := make(chan struct{})
	all.Go(func() {
		if _, err := m.Y.AnchorFile(t.Context(), ceremonytest.By); err != nil {
			t.Error(err)
		}
		close(served)
	})
	time.Sleep(100 * time.Millisecond) // so does the operator
	looks := 1
	for waits := true; waits; {
		goOn <- struct{}{}
		select {
		case <-served:
			waits = false
		case <-looking:
			looks++
			time.Sleep(time.Second) // a busy machine brings the operator late
		}
	}
	go func() {
		for range looking {
			goOn <- struct{}{}
		}
	}()
	all.Wait()
	close(looking)
	if looks == clients {
		t.Error("every client's look came before the operator")
	}
}

// A target that is free again can be wished for again, with the same words too.
func TestAReleasedUndoIsToldForADayAndNoLonger(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k, _ := m.Changed(text)
	c, a := m.Undo(k.ContractID)
	m.at["advance after"] = func() { m.set(ceremonytest.Alias, "descr", "Somebody else's words") }
	if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a); err != nil {
		t.Fatal(err)
	}
	m.Wait()
	if done, _ := m.Contract(k.ContractID); done.State != record.RollbackFailed {
		t.Fatal(done.State)
	}
	m.Clock.Pass(16 * time.Minute)
	o := m.Observe(k.ContractID)
	m.Clock.Pass(time.Second)
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Reconciliation {
		t.Errorf("before the release: %s", got)
	}
	if _, err := m.Y.Release(t.Context(), ceremonytest.By, m.Evidence(o, artifact.OutcomeRollbackNotApplied)); err != nil {
		t.Fatalf("%v: %s", err, m.Last())
	}
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Reconciliation {
		t.Errorf("right after it: %s", got)
	}
	m.Clock.Pass(24 * time.Hour)
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Requested {
		t.Errorf("a day later: %s", got)
	}
}

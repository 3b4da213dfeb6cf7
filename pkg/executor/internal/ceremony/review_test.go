package ceremony_test

import (
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// A value that differed once is a lost history or somebody else's tick, and does not
// become another one by being equal later, or by a counter that cannot be read.
func TestN3AValueThatDifferedIsAQuarantineUntilASignature(t *testing.T) {
	for what, do := range map[string]func(*moments){
		"the value is equal again": func(m *moments) { m.Counter.Set(41) },
		"the counter is away, and comes back equal": func(m *moments) {
			m.Counter.Break(anchortest.Unavailable)
			m.Tend()
			if st := m.Y.Status(); st.Quarantine != "anchor_mismatch" {
				m.T.Errorf("a counter that cannot be read hides the mismatch: %+v", st)
			}
			m.Counter.Break(anchortest.Works)
			m.Counter.Set(41)
		},
		"the clock is wrong meanwhile": func(m *moments) {
			m.Clock.Set(time.Hour)
			m.Tend()
			m.Clock.Set(-time.Hour)
			m.Counter.Set(41)
		},
	} {
		t.Run(what, func(t *testing.T) {
			m := during(t, ceremonytest.Options{})
			m.Counter.Set(43)
			m.Tend()
			do(m)
			m.Tend()
			if st := m.Y.Status(); st.Constructible || st.Quarantine != "anchor_mismatch" {
				t.Errorf("status %+v", st)
			}
			m.Clock.Pass(time.Minute)
			if err := m.Y.Rebaseline(t.Context(), ceremonytest.By, m.rebaseline(artifact.ReasonCounterUsed, nil)); err != nil {
				t.Fatalf("%v: %s", err, m.Last())
			}
			if st := m.Y.Status(); !st.Constructible {
				t.Errorf("after the rebaseline %+v", st)
			}
		})
	}
}

// Another Name is another counter: that the former one shows again proves nothing.
func TestN3ANameThatDifferedIsAQuarantineForThisProcess(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.Counter.OnRead(anchortest.WrongName)
	m.Tend()
	m.Tend()
	if st := m.Y.Status(); st.Quarantine != "anchor_name" {
		t.Errorf("status %+v", st)
	}
}

// Review 3: a lost history may hold the execution of a contract that is prepared here,
// so nobody calls it expired or failed before the counter agrees or a rebaseline says
// what to do.
func TestReview03UnderQuarantineAPreparedContractStaysAsItIs(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	m.Counter.Set(43)
	m.Tend()
	if err := m.Y.CancelContract(t.Context(), ceremonytest.By, k.ContractID); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("a contract was cancelled under quarantine: %v", err)
	}
	m.Clock.Pass(31 * time.Minute)
	m.Tend()
	if done, res := m.Contract(k.ContractID); done.State != record.Prepared {
		t.Errorf("%s %s", done.State, res.Reason)
	}
	if err := m.Y.Rebaseline(t.Context(), ceremonytest.By, m.rebaseline(artifact.ReasonRestored, nil)); err != nil {
		t.Fatalf("%v: %s", err, m.Last())
	}
	if done, _ := m.Contract(k.ContractID); done.State != record.Reconciliation {
		t.Errorf("after the rebaseline: %s", done.State)
	}
}

// A clock that jumped ahead makes nothing expire.
func TestReview22UnderAClockThatJumpedNothingExpires(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	m.Clock.Set(48 * time.Hour)
	m.Tend()
	if st := m.Y.Status(); st.Quarantine != "clock_jump" {
		t.Errorf("status %+v", st)
	}
	m.Clock.Set(-48 * time.Hour)
	m.Tend()
	if done, res := m.Contract(k.ContractID); done.State != record.Prepared {
		t.Errorf("%s %s", done.State, res.Reason)
	}
	if _, err := m.Confirm(k); err != nil {
		t.Errorf("the clock is right again: %v: %s", err, m.Last())
	}
}

package ceremony_test

import (
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Review 22: a jump is not stored, not even by an attempt that it happens to. An outcome
// that was noted under a time that never was could be undone or settled by nobody: what
// is signed afterwards would be older than it.
func TestReview22AClockThatJumpsDuringAnExchangeLeavesNoTimeThatNeverWas(t *testing.T) {
	const years = 2 * 365 * 24 * time.Hour
	for what, jump := range map[string]time.Duration{"forward": years, "back": -years} {
		t.Run("proven, "+what, func(t *testing.T) {
			m := during(t, ceremonytest.Options{})
			m.at["send after"] = func() { m.Clock.Set(jump) }
			k, _ := m.Changed(text)
			m.Clock.Set(-jump)
			m.Tend()
			if st := m.Y.Status(); k.State != record.Verified || !st.Constructible {
				t.Fatalf("%s, %+v", k.State, st)
			}
			m.Clock.Pass(2 * time.Minute)
			if state, id := m.Ask("Other words"); state != ceremony.Requested {
				t.Errorf("asked: %s", state)
			} else if p := m.Preview(id); p != nil {
				if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, m.Authorization(p)); err != nil {
					t.Errorf("two minutes later the target takes no change: %s", m.Last())
				}
			}
		})
		t.Run("undone, "+what, func(t *testing.T) {
			m := during(t, ceremonytest.Options{})
			m.at["send after"] = func() { m.Clock.Set(jump) }
			k, _ := m.Changed(text)
			m.Clock.Set(-jump)
			m.Tend()
			m.Clock.Pass(2 * time.Minute)
			c, a := m.Undo(k.ContractID)
			_, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a)
			m.Wait()
			if done, _ := m.Contract(k.ContractID); err != nil || done.State != record.RolledBack {
				t.Errorf("%s, %v: %s", done.State, err, m.Last())
			}
		})
		t.Run("uncertain, "+what, func(t *testing.T) {
			m := during(t, ceremonytest.Options{})
			m.FW.Fault(lost)
			m.at["send after"] = func() { m.Clock.Set(jump) }
			k, _ := m.Changed(text)
			m.Clock.Set(-jump)
			m.Tend()
			m.FW.LandPending()
			m.Clock.Pass(16 * time.Minute)
			o := m.Observe(k.ContractID)
			m.Clock.Pass(time.Second)
			done, err := m.Y.Reconcile(t.Context(), ceremonytest.By, m.Evidence(o, artifact.OutcomeApplied))
			if err != nil || done.State != record.Verified {
				t.Errorf("%s, %v: %s", done.State, err, m.Last())
			}
		})
	}
}

package ceremony_test

import (
	"os"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Review 1, 3: a disk that is set back into the midst of an attempt agrees with the
// counter and has forgotten that something was sent, and when. What was forgotten may
// still land, as long as what is remembered.
func TestReview01AnImageFromTheMidstOfAnAttemptForgetsNoWriteThatMayLand(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	m.FW.Fault(lost)
	var image []byte
	m.at["advance after"] = func() {
		var err error
		if image, err = os.ReadFile(m.file()); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.Confirm(k); err != nil {
		t.Fatal(err)
	}
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.file(), image, 0o600); err != nil {
		t.Fatal(err)
	}
	m.Clock.Pass(5 * time.Second)
	m.Open()
	left, res := m.Contract(k.ContractID)
	if st := m.Y.Status(); !st.Constructible || left.State != record.Reconciliation || left.Boundary != record.BoundaryNone || res.Reason != record.ReasonInterrupted {
		t.Fatalf("%+v, %s %s %s", st, left.State, left.Boundary, res.Reason)
	}
	settle := func() error {
		m.Clock.Pass(time.Second)
		o := m.Observe(k.ContractID)
		if o.Match != artifact.MatchPre {
			t.Fatalf("observed %s", o.Match)
		}
		m.Clock.Pass(time.Second)
		_, err := m.Y.Reconcile(t.Context(), ceremonytest.By, m.Evidence(o, artifact.OutcomeNotApplied))
		return err
	}
	state, id := m.AskFor(ceremonytest.Other, "Ports of the web shop")
	if state != ceremony.Requested {
		t.Fatalf("asked: %s", state)
	}
	other := func() error {
		m.Clock.Pass(2 * time.Second)
		_, err := m.Y.Authorize(t.Context(), ceremonytest.By, m.Authorization(m.Preview(id)))
		return err
	}
	if settle() == nil {
		t.Error("called not applied while it may still land")
	}
	if other() == nil {
		t.Error("another change was let through while it may still land")
	}
	m.Clock.Pass(16 * time.Minute)
	if err := other(); err != nil {
		t.Errorf("another change after the window: %v: %s", err, m.Last())
	}
	if err := settle(); err != nil {
		t.Errorf("after the window: %v: %s", err, m.Last())
	}
}

package ceremony_test

import (
	"context"
	"os"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// died is a process that ended at a point of an attempt: the store as it was then, the
// counter and the appliance as they are.
func (m *moments) died(point string, play func()) {
	m.T.Helper()
	var image []byte
	var counter int64
	m.at[point] = func() {
		b, err := os.ReadFile(m.file())
		if err != nil {
			m.T.Error(err)
		}
		image, counter = b, m.Counter.Value()
		m.at["connect before"] = m.FW.Close // what would come after the death does not
	}
	play()
	m.Counter.Set(counter)
	_ = m.Stop()
	if err := os.WriteFile(m.file(), image, 0o600); err != nil {
		m.T.Fatal(err)
	}
}

// A start at which the counter is away, or the clock is wrong, settles nothing. What a
// former process left is settled when that is over, by the same table.
func TestS6WhatAProcessLeftIsSettledWhenTheCounterIsBack(t *testing.T) {
	for what, row := range map[string]struct {
		point string
		state record.State
		why   record.Reason
	}{
		"before the attempt":        {"begin before", record.Expired, record.ReasonRestart},
		"before the increment":      {"begin after", record.Failed, record.ReasonBeforeAnchor},
		"after it":                  {"tick after", record.Reconciliation, record.ReasonInterrupted},
		"when the value was stored": {"advance after", record.Reconciliation, record.ReasonInterrupted},
		"when a send was noted":     {"intent after", record.Reconciliation, record.ReasonInterrupted},
	} {
		for _, cause := range []string{"the counter", "the clock"} {
			t.Run(what+", "+cause, func(t *testing.T) {
				m := during(t, ceremonytest.Options{})
				k := m.Authorized(text)
				m.died(row.point, func() { _, _ = m.Confirm(k) })
				if cause == "the counter" {
					m.Counter.Break(anchortest.Unavailable)
				} else {
					m.Clock.Set(10 * time.Minute)
				}
				m.Open()
				if st := m.Y.Status(); st.Constructible || st.Quarantine == "" {
					t.Fatalf("status %+v", st)
				}
				m.Counter.Break(anchortest.Works)
				if cause != "the counter" {
					m.Clock.Set(-10 * time.Minute)
				}
				m.Tend()
				done, res := m.Contract(k.ContractID)
				if done.State != row.state || res.Reason != row.why {
					t.Errorf("%s %s, want %s %s", done.State, res.Reason, row.state, row.why)
				}
				if st := m.Y.Status(); !st.Constructible {
					t.Errorf("status %+v", st)
				}
			})
		}
	}
}

// N4: an increment that was refused and moved the counter all the same proves nothing:
// the contract stays under way, and nothing begins, until people have looked.
func TestN4ACounterThatMovedByMoreThanOneSettlesNothing(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	m.Counter.OnAdvance(anchortest.Twice)
	_, _ = m.Confirm(k)
	for range 2 {
		done, res := m.Contract(k.ContractID)
		if st := m.Y.Status(); done.State != record.Executing || st.Constructible || m.Sends() != 0 || m.Counter.Advances() != 1 {
			t.Errorf("%s %s, %+v, %d sends, %d ticks", done.State, res.Reason, st, m.Sends(), m.Counter.Advances())
		}
		m.Tend()
	}
	m.Clock.Pass(time.Minute)
	if err := m.Y.Rebaseline(t.Context(), ceremonytest.By, m.rebaseline(artifact.ReasonCounterUsed, nil)); err != nil {
		t.Fatalf("%v: %s", err, m.Last())
	}
	if done, _ := m.Contract(k.ContractID); done.State != record.Reconciliation || !m.Y.Status().Constructible {
		t.Errorf("%s, %+v", done.State, m.Y.Status())
	}
}

// landing is a counter whose pending increment lands right after the next read.
type landing struct {
	*anchortest.Fake
	armed bool
}

func (l *landing) Read(ctx context.Context) (int64, error) {
	v, err := l.Fake.Read(ctx)
	if l.armed {
		l.armed = false
		l.Land()
	}
	return v, err
}

// Review 24: an increment that timed out may land after the first read of a new start.
// Only a second read, apart from it, says that nothing happened.
func TestReview24AnIncrementThatLandsBetweenTheTwoReadsOfAStartIsSeen(t *testing.T) {
	for _, lands := range []bool{true, false} {
		late := &landing{}
		m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) {
			late.Fake = c.Counter.(*anchortest.Fake)
			c.Counter = late
		}})
		k := m.Authorized(text)
		m.Counter.OnAdvance(anchortest.Pending)
		_, _ = m.Confirm(k)
		if done, _ := m.Contract(k.ContractID); done.State != record.Executing {
			t.Fatal(done.State)
		}
		_ = m.Stop()
		reads := m.Counter.Reads()
		late.armed = lands
		m.Open()
		if n := m.Counter.Reads() - reads; n < 2 || late.armed {
			t.Errorf("lands %v: %d reads", lands, n)
		}
		want, why := record.Failed, record.ReasonBeforeAnchor
		if lands {
			want, why = record.Reconciliation, record.ReasonInterrupted
		}
		if done, res := m.Contract(k.ContractID); done.State != want || res.Reason != why || m.Sends() != 0 {
			t.Errorf("lands %v: %s %s, %d sends", lands, done.State, res.Reason, m.Sends())
		}
		if st := m.Y.Status(); !st.Constructible {
			t.Errorf("lands %v: %+v", lands, st)
		}
	}
}

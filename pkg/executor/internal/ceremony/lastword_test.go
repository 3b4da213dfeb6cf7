package ceremony_test

import (
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Review 6: the clocks are asked at the very last, when nothing is left to do but to
// write: what stops the process after it was asked would send what nobody has looked at.
func TestReview06WhatStopsTheProcessRightBeforeTheFirstByteSendsNothing(t *testing.T) {
	for what, stop := range map[string]func(*moments){
		"it slept":                   func(m *moments) { m.Clock.Pass(3 * time.Second) },
		"it slept for a day":         func(m *moments) { m.Clock.Pass(24 * time.Hour) },
		"the machine was set up new": func(m *moments) { m.Clock.Reboot() },
	} {
		m := during(t, ceremonytest.Options{})
		m.at["send before"] = func() { stop(m) }
		k, res := m.Changed(text)
		if k.State != record.Failed || res.Reason != record.ReasonNotSent || m.Sends() != 0 || m.Descr() != ceremonytest.Old {
			t.Errorf("%s: %s %s, %d sends", what, k.State, res.Reason, m.Sends())
		}
	}
}

package ceremony_test

import (
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Review 11: a pending change is ours when all aliases stand as our last change left
// them. Somebody else's that came while ours was on its way is not ours, although the
// read that proved ours has seen it.
func TestReview11WhatSomebodyElseChangedWhileOursWasSentIsNotOurs(t *testing.T) {
	for when, at := range map[string]string{"before the answer": "send before", "after it": "send after", "never": ""} {
		m := during(t, ceremonytest.Options{})
		if at != "" {
			m.at[at] = func() { m.set(ceremonytest.Other, "descr", "Somebody else's words") }
		}
		k, _ := m.Changed(text)
		if k.State != record.Verified {
			t.Fatal(k.State)
		}
		m.Clock.Pass(2 * time.Minute)
		m.Tend()
		_, id := m.Ask("Other words")
		_, err := m.Y.Preview(t.Context(), ceremonytest.By, id)
		if busy := class(err) == "appliance_busy"; busy != (at != "") {
			t.Errorf("%s: %v", when, err)
		}
	}
}

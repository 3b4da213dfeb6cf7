package ceremony_test

import (
	"context"
	"testing"

	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
)

// A poll looks at the appliance for all that ask within the minute. A client that does
// not wait for the answer must not make it a refusal for everybody else.
func TestAPollThatNobodyWaitsForSpoilsNobodysAnswer(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.Changed(text)
	gone, leave := context.WithCancel(t.Context())
	leave()
	m.Y.Ask(gone, ceremonytest.UID, ceremonytest.Alias, text)
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Verified {
		t.Errorf("who waits is told %s", got)
	}
}

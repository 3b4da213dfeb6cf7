package trial

import (
	"errors"
	"slices"
	"testing"
)

var (
	_ T = (*testing.T)(nil)
	_ T = (*testing.B)(nil)
)

func TestATrialEndsWhereItFailsAndIsCleanedUpBackwards(t *testing.T) {
	var order []string
	note := func(s string) func() { return func() { order = append(order, s) } }
	err := Run(func(t T) {
		t.Helper()
		t.Cleanup(note("first"))
		t.Cleanup(func() { t.Fatalf("no %s", "end") })
		t.Cleanup(note("last"))
		t.Errorf("goes on")
		t.Fatal("ends", " here")
		note("beyond")()
	})
	if !slices.Equal(order, []string{"last", "first"}) {
		t.Error(order)
	}
	if err == nil || err.Error() != "goes on\nends here\nno end" {
		t.Error(err)
	}
}

func TestATrialThatGoesWellHasNoError(t *testing.T) {
	if err := Run(func(T) {}); err != nil {
		t.Error(err)
	}
}

func TestASkippedTrialSaysSo(t *testing.T) {
	if err := Run(func(t T) { t.Skip("nothing to ", "try") }); !errors.Is(err, ErrSkipped) || err.Error() != "skipped: nothing to try" {
		t.Error(err)
	}
}

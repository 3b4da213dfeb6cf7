package store_test

import (
	"errors"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// ends fails a test whose step does not end.
func ends(t *testing.T, what string, do func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s hangs", what)
	}
}

// A file that grows must be mapped again, for which bbolt waits until no read is under
// way, while reads wait for it: one slow read would stop everything.
func TestNoWriteEverWaitsForARead(t *testing.T) {
	c := storetest.Config(t, storetest.NewClock())
	c.Seam = storetest.Unsynced()
	s := storetest.Create(t, c)
	defer s.Close()
	if err := s.View(func(*store.View) error {
		ends(t, "writing beside an open read", func() error {
			for range 300 { // several times what bbolt would have mapped by itself
				if err := s.Note(record.ClockRegressed, ""); err != nil {
					return err
				}
			}
			return s.View(func(*store.View) error { return nil })
		})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// stuck is a reader of an export that takes nothing until it is let go.
type stuck struct{ asked, free chan struct{} }

func (w *stuck) Write(p []byte) (int, error) {
	select {
	case w.asked <- struct{}{}:
	default:
	}
	<-w.free
	return 0, errors.New("gone")
}

// The end of a process life does not wait for somebody who takes an export slowly.
func TestAnExportThatNobodyTakesHoldsUpNothing(t *testing.T) {
	s := storetest.Create(t, storetest.Config(t, storetest.NewClock()))
	w := &stuck{make(chan struct{}, 1), make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Export(w, 1, func(*artifact.ExportHead) ([]byte, error) { return nil, errors.New("never asked") })
		ended <- err
	}()
	<-w.asked
	ends(t, "closing", s.Close)
	close(w.free)
	if err := <-ended; err == nil {
		t.Error("an export that nobody took succeeded")
	}
}

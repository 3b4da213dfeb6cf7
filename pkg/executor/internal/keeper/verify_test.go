package keeper_test

import (
	"context"
	"sync/atomic"
	"testing"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/store"
)

// slow is a clock at which the next reader stays until it is let go: every look at the
// store begins with a look at the clock.
type slow struct {
	store.Clock
	next         atomic.Bool
	there, letGo chan struct{}
}

func (s *slow) Read() store.Reading {
	if s.next.CompareAndSwap(true, false) {
		close(s.there)
		<-s.letGo
	}
	return s.Clock.Read()
}

// A verification walks the whole store and remembers something of every contract there
// ever was. Many at once would be more than the daemon may take.
func TestOfManyVerificationsOneRunsAtATime(t *testing.T) {
	c := config(t, anchortest.New(41))
	clock := &slow{Clock: c.Store.Clock, there: make(chan struct{}), letGo: make(chan struct{})}
	c.Store.Clock = clock
	founded(t, c)
	k := open(t, c)
	clock.next.Store(true)
	first := make(chan error)
	go func() {
		r, err := k.Verify(context.Background(), "")
		if err == nil && r.Audit == 0 {
			err = errs.New(errs.Internal, "nothing was verified")
		}
		first <- err
	}()
	<-clock.there
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := k.Verify(gone, ""); errs.CodeOf(err) != errs.Expired || errs.Public(err).Class != "busy" {
		t.Errorf("a second one ran beside the first: %v", err)
	}
	second := make(chan error)
	go func() {
		_, err := k.Verify(context.Background(), "")
		second <- err
	}()
	close(clock.letGo)
	for what, done := range map[string]chan error{"the first": first, "the one that waited": second} {
		if err := <-done; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

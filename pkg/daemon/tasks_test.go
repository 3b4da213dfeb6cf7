package daemon

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"pfsensemcp/pkg/errs"
)

func TestTheFirstFailureIsTheCauseForAllOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(slog.New(slog.DiscardHandler))
		first := errs.New(errs.Unavailable, "first")
		var cause error
		g.start(Task{Name: "waits", Run: func(ctx context.Context) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		}})
		g.start(Task{Name: "fails", Run: func(context.Context) error {
			time.Sleep(time.Second)
			return first
		}})
		<-g.ctx.Done()
		if left := g.wait(time.Second); left != nil {
			t.Errorf("still running: %v", left)
		}
		if g.failure() != first || cause != first {
			t.Errorf("failure %v, cause %v", g.failure(), cause)
		}
	})
}

func TestAnEndThatWasAskedForIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(slog.New(slog.DiscardHandler))
		g.start(Task{Name: "waits", Run: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		g.cancel(errStop)
		if left := g.wait(time.Second); left != nil || g.failure() != nil {
			t.Errorf("left %v, failure %v", left, g.failure())
		}
	})
}

func TestAFailureDuringTheEndStillCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(slog.New(slog.DiscardHandler))
		lost := errs.New(errs.Internal, "the last write was lost")
		g.start(Task{Name: "writer", Run: func(ctx context.Context) error {
			<-ctx.Done()
			return lost
		}})
		g.cancel(errStop)
		g.wait(time.Second)
		if g.failure() != lost {
			t.Errorf("failure %v", g.failure())
		}
	})
}

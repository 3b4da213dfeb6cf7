package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
)

// group runs tasks under one canceller: the first that fails is the cause for
// which all others end.
type group struct {
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelCauseFunc

	wg      sync.WaitGroup
	mu      sync.Mutex
	running map[string]int // by name, for the report of those that do not end
	failed  error          // the first failure
}

func newGroup(log *slog.Logger) *group {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &group{log: log, ctx: ctx, cancel: cancel, running: map[string]int{}}
}

// errStop is the cause when the daemon ends because it was asked to.
var errStop = errors.New("asked to stop")

// start runs a task.
func (g *group) start(t Task) {
	g.mu.Lock()
	g.running[t.Name]++
	g.mu.Unlock()
	g.wg.Go(func() {
		err := g.run(t)
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.running[t.Name]--; g.running[t.Name] == 0 {
			delete(g.running, t.Name)
		}
		// What ends because it was cancelled has not failed.
		if err == nil || (g.ctx.Err() != nil && errors.Is(err, context.Canceled)) {
			return
		}
		g.log.LogAttrs(context.WithoutCancel(g.ctx), slog.LevelError, "task failed",
			slog.String(logging.KeyService, t.Name), logging.Err(err))
		if g.failed == nil {
			g.failed = err
		}
		g.cancel(err)
	})
}

// run turns a panic into an error. The value of a panic may quote an outsider
// and is not kept; where it happened is.
func (g *group) run(t Task) (err error) {
	defer func() {
		if recover() == nil {
			return
		}
		g.log.LogAttrs(context.WithoutCancel(g.ctx), slog.LevelError, "panic",
			slog.String(logging.KeyService, t.Name), slog.String(logging.KeyDetail, logging.Panicked()))
		err = errs.New(errs.Internal, "task "+t.Name+" panicked").WithClass("panic").
			WithNext("report the line before this one; the daemon's unit starts it again")
	}()
	return t.Run(g.ctx)
}

// wait waits for all tasks after the group was cancelled, at most d, and
// returns the names of those that go on.
func (g *group) wait(d time.Duration) []string {
	done := make(chan struct{})
	go func() {
		g.wg.Wait()
		close(done)
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-t.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	names := make([]string, 0, len(g.running))
	for n := range g.running {
		names = append(names, n)
	}
	return names
}

// failure returns the first failure, nil when there was none.
func (g *group) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed
}

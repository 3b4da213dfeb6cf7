package ceremony

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/attempt"
	"pfsensemcp/pkg/executor/internal/keeper"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Ceremony is the write path of one process life. Its methods are safe for
// concurrent use.
type Ceremony struct {
	*keeper.Keeper

	jobs     chan job
	stopped  chan struct{}
	ending   func() bool   // the process was asked to end: nothing new is begun; the writer's alone
	deadline atomic.Int64  // boot milliseconds by which the writer's step ends, 0 when idle
	asking   chan struct{} // holds a token while no client's request waits for the writer

	wishes keeper.Pace // reads of the appliance for new requests
	asked  keeper.Pace // key challenges that were answered

	mu      sync.Mutex
	names   map[string]string  // request id to the interface representation of its preview
	polled  map[string]*polled // request id to the last look at a verified change
	relayed int                // relayed files that wait for the writer
}

// Types of the keeper that callers use.
type (
	// Config is what a ceremony works with.
	Config = keeper.Config
	// Windows are the times that only a test build may shorten.
	Windows = keeper.Windows
	// Status is what is known without a read of anything outside.
	Status = keeper.Status
	// Discovery is the evidence of both axes.
	Discovery = keeper.Discovery
	// AnchorState is how far the counter's provisioning has come.
	AnchorState = keeper.AnchorState
	// Event is something that happened.
	Event = keeper.Event
	// Kind names an event.
	Kind = keeper.Kind
)

// The kinds of events.
const (
	KindRequested   = keeper.KindRequested
	KindPreviewed   = keeper.KindPreviewed
	KindDenied      = keeper.KindDenied
	KindAuthorized  = keeper.KindAuthorized
	KindConfirmed   = keeper.KindConfirmed
	KindBegun       = keeper.KindBegun
	KindSent        = keeper.KindSent
	KindSettled     = keeper.KindSettled
	KindObserved    = keeper.KindObserved
	KindLooked      = keeper.KindLooked
	KindExpired     = keeper.KindExpired
	KindQuarantined = keeper.KindQuarantined
	KindReleased    = keeper.KindReleased
)

// DefaultWindows returns the windows as designed.
func DefaultWindows() Windows { return keeper.DefaultWindows() }

// stepTime bounds a writer's step up to the first byte: the looks before it and a counter
// that takes its time to be found out. What began before goes on: the exchange (215 s),
// both reads after it, or the end of an increment. lastTime is for that.
const (
	stepTime = 8 * time.Minute
	lastTime = 5 * time.Minute
)

// tendEvery is how often the writer looks after what is due.
const tendEvery = 5 * time.Second

// Open takes store and counter into use (keeper.Open). Nothing may be served before it
// returns.
func Open(ctx context.Context, c Config) (*Ceremony, error) {
	k, err := keeper.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	y := &Ceremony{
		Keeper: k, jobs: make(chan job), stopped: make(chan struct{}), asking: make(chan struct{}, 1), names: map[string]string{}, polled: map[string]*polled{},
	}
	y.asking <- struct{}{}
	return y, nil
}

// job is one step for the writer, which calls done after it.
type job struct {
	ctx  context.Context
	run  func(context.Context) error
	done func()
}

// hand gives the writer a step. A caller who leaves before it begins takes it along.
func (c *Ceremony) hand(ctx context.Context, j job) error {
	select {
	case c.jobs <- j:
		return nil
	case <-ctx.Done():
		return left(ctx)
	case <-c.stopped:
		return errs.New(errs.Unavailable, "executord is stopping").WithClass("stopping").WithNext("ask again when it has been started; nothing was begun")
	}
}

// left is the answer to a caller who left before the step began, nil for one who is
// there. The writer looks too: of two that can go on, a select takes either.
func left(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return errs.Wrap(ctx.Err(), errs.Expired, "executord is busy with another step").WithClass("busy").WithNext("ask again in a minute; nothing was begun")
}

// broken is the answer when the writer ended in the midst of a step.
func broken() error {
	return errs.New(errs.UnknownOutcome, "executord ended in the midst of the step").WithClass("stopping").
		WithNext("see what became of it when it has been started: mcpctl write list")
}

// late is the answer to a caller who leaves before a step ends: it goes on.
func late(ctx context.Context) error {
	return errs.Wrap(ctx.Err(), errs.Expired, "the step goes on without an answer").WithClass("busy").WithNext("see what became of it: mcpctl write list")
}

// answer is what a step came to.
type answer[A any] struct {
	is  A
	err error
}

// step has the writer run a step and waits for what it makes, which comes through the
// channel and no other way: a caller who leaves early shares nothing with a step that
// goes on.
func step[A any](ctx context.Context, c *Ceremony, run func(context.Context) (A, error)) (A, error) {
	out := make(chan answer[A], 1)
	var made answer[A] // the writer's alone
	err := c.hand(ctx, job{ctx: ctx, done: func() { out <- made }, run: func(turn context.Context) error {
		if made.err = left(ctx); made.err == nil {
			made.is, made.err = run(turn)
		}
		return made.err
	}})
	if err != nil {
		var none A
		return none, err
	}
	got, err := await(ctx, c, out)
	return got.is, cmp.Or(err, got.err)
}

// do is step for one that makes nothing.
func (c *Ceremony) do(ctx context.Context, run func(context.Context) error) error {
	_, err := step(ctx, c, func(ctx context.Context) (struct{}, error) { return struct{}{}, run(ctx) })
	return err
}

// await waits for the answer to a step.
func await[A any](ctx context.Context, c *Ceremony, from <-chan A) (a A, err error) {
	select {
	case a = <-from:
		return a, nil
	case <-ctx.Done():
		err = late(ctx)
	case <-c.stopped:
		err = broken()
	}
	select {
	case a = <-from: // it came at the same time
		return a, nil
	default:
		return a, err
	}
}

// Run is the writer. It returns when ctx ends and the step under way is done, or with
// an error when the process must end because an outcome could not be stored.
func (c *Ceremony) Run(ctx context.Context) error {
	defer close(c.stopped) // in a panic too: who waits gets an answer, and the process ends
	c.ending = func() bool { return ctx.Err() != nil }
	tick := time.NewTicker(cmp.Or(c.Windows.Tend, tendEvery))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return c.end()
		default:
		}
		select {
		case <-ctx.Done():
			return c.end()
		case j := <-c.jobs:
			_ = c.turn(j.ctx, j.run) // done tells
			j.done()
		case <-tick.C:
			_ = c.turn(ctx, c.tend) // what it finds stands in the audit and in the quarantine
		}
		if err := c.Failure(); err != nil {
			return err
		}
	}
}

// turn runs one step with a deadline of its own.
func (c *Ceremony) turn(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTime)
	defer cancel()
	c.deadline.Store(c.Store.Clock.Read().BootMS + stepTime.Milliseconds())
	defer c.deadline.Store(0)
	err := run(ctx)
	c.Wrote(err)
	return err
}

// Alive says whether the writer keeps its deadline, for the watchdog.
func (c *Ceremony) Alive() error {
	if d := c.deadline.Load(); d != 0 && c.Store.Clock.Read().BootMS > d+lastTime.Milliseconds() {
		return errs.New(errs.Internal, "a step of the writer is past its deadline").WithClass("writer_stuck")
	}
	return nil
}

// end is the last of a process life.
func (c *Ceremony) end() error {
	s := c.Loaded()
	if s == nil {
		return nil
	}
	if s.Integrity() == nil && c.Failure() == nil {
		_ = s.Note(record.Shutdown, "") // a start without it tells as much
	}
	return s.Close()
}

func (c *Ceremony) env(s *store.Store) *attempt.Env {
	return &attempt.Env{
		Store: s, Clock: c.Store.Clock, Counter: c.Counter, Reader: c.Reader, Exchanger: c.Exchanger, Settle: c.Windows.Settle, Fresh: c.Windows.Fresh, Point: c.Point,
	}
}

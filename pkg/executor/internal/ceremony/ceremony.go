package ceremony

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/attempt"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Ceremony is the write path of one process life. Its methods are safe for
// concurrent use.
type Ceremony struct {
	Config
	runID  string // drawn anew at each start: what was approved before is void
	policy string // policy_digest
	owners string // authority_set_digest

	jobs     chan *job
	stopped  chan struct{}
	deadline atomic.Int64 // boot milliseconds by which the writer's step ends, 0 when idle

	store      atomic.Pointer[store.Store] // nil until the counter is seeded
	complete   atomic.Bool                 // the provisioning record is there
	quarantine atomic.Pointer[string]

	mu      sync.Mutex
	target  string            // appliance_target_digest as last read
	names   map[string]string // request id to the interface representation of its preview
	polled  map[string]polled // request id to the last look at a verified change
	asked   []time.Time       // key challenges answered within the last minute
	relayed int               // relayed files that wait for the writer
	broken  error             // why the process must end
}

// stepTime bounds a writer's step: the exchange, both reads, the looks before it and
// a counter that takes its time to be found out.
const stepTime = 8 * time.Minute

// tendEvery is how often the writer looks after what is due.
const tendEvery = 5 * time.Second

// Open verifies the store, compares it with the counter and settles what a former
// process left. Nothing may be served before it returns. A store that is damaged or
// disagrees with the counter opens under quarantine; a configuration that does not fit
// the store's founding is an error.
func Open(ctx context.Context, c Config) (*Ceremony, error) {
	run := make([]byte, 16)
	_, _ = rand.Read(run) // it never fails
	y := &Ceremony{
		Config: c, runID: hex.EncodeToString(run), jobs: make(chan *job), stopped: make(chan struct{}),
		names: map[string]string{}, polled: map[string]polled{},
	}
	if y.Log == nil {
		y.Log = slog.New(slog.DiscardHandler)
	}
	none := ""
	y.quarantine.Store(&none)
	var err error
	if y.owners, err = c.Authorities.SetDigest(y.attestation()); err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "the authorities and the attestation key do not go together").WithClass("authority_overlap").
			WithNext("give every owner and executord a key and an id of its own, in authorities.json")
	}
	if y.policy, err = y.policyDigest(); err != nil {
		return nil, err
	}
	exists, err := store.Exists(c.Store)
	if err != nil || !exists {
		return y, err
	}
	s, err := store.Open(c.Store)
	if err != nil && c.Next != nil {
		// A rotation that was committed, and its credential not yet moved into place.
		rotated := c.Store
		rotated.Key = *c.Next
		if again, err2 := store.Open(rotated); err2 == nil {
			s, err = again, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if err := y.adopt(ctx, s); err != nil {
		_ = s.Close() // nothing was written
		return nil, err
	}
	return y, nil
}

func (c *Ceremony) attestation() authority.Key {
	public, _ := c.Attestation.Key.Public().(ed25519.PublicKey)
	return authority.Key{ID: c.Attestation.KeyID, Public: public}
}

// sign attests a file.
func (c *Ceremony) sign(a artifact.Artifact) ([]byte, error) {
	file, err := artifact.Sign(a, c.Attestation.Key)
	if err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "what is to be signed is larger than a file may be, or breaks a rule").WithClass("target_too_large").
			WithNext("change this alias on the appliance itself")
	}
	return file, nil
}

// job is one step for the writer.
type job struct {
	ctx  context.Context
	run  func(context.Context) error
	done chan error
}

// hand gives the writer a step. A caller who leaves before it begins takes it along.
func (c *Ceremony) hand(ctx context.Context, j *job) error {
	select {
	case c.jobs <- j:
		return nil
	case <-ctx.Done():
		return errs.Wrap(ctx.Err(), errs.Expired, "executord is busy with another step").WithClass("busy").WithNext("ask again in a minute; nothing was begun")
	case <-c.stopped:
		return errs.New(errs.Unavailable, "executord is stopping").WithClass("stopping").WithNext("ask again when it has been started; nothing was begun")
	}
}

// late is the answer to a caller who leaves before a step ends: it goes on.
func late(ctx context.Context) error {
	return errs.Wrap(ctx.Err(), errs.Expired, "the step goes on without an answer").WithClass("busy").WithNext("see what became of it: mcpctl write list")
}

// do has the writer run a step and waits for it.
func (c *Ceremony) do(ctx context.Context, run func(context.Context) error) error {
	j := &job{ctx: ctx, run: run, done: make(chan error, 1)}
	if err := c.hand(ctx, j); err != nil {
		return err
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return late(ctx)
	}
}

// Run is the writer. It returns when ctx ends and the step under way is done, or with
// an error when the process must end because an outcome could not be stored.
func (c *Ceremony) Run(ctx context.Context) error {
	defer close(c.stopped)
	tick := time.NewTicker(tendEvery)
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
			j.done <- c.turn(j.ctx, j.run)
		case <-tick.C:
			_ = c.turn(ctx, c.tend) // what it finds stands in the audit and in the quarantine
		}
		if err := c.failure(); err != nil {
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
	c.wrote(err)
	return err
}

// Alive says whether the writer keeps its deadline, for the watchdog.
func (c *Ceremony) Alive() error {
	if d := c.deadline.Load(); d != 0 && c.Store.Clock.Read().BootMS > d+stepTime.Milliseconds()/4 {
		return errs.New(errs.Internal, "a step of the writer is past its deadline").WithClass("writer_stuck")
	}
	return nil
}

// end is the last of a process life.
func (c *Ceremony) end() error {
	s := c.store.Load()
	if s == nil {
		return nil
	}
	if s.Integrity() == nil && c.failure() == nil {
		_ = s.Note(record.Shutdown, "") // a start without it tells as much
	}
	return s.Close()
}

// wrote ends the process when it is not known whether a commit happened, or when the
// outcome of an attempt could not be stored: only a new start can tell.
func (c *Ceremony) wrote(err error) {
	if errs.CodeOf(err) == errs.UnknownOutcome && errs.Public(err).Class != "anchor_unreachable" && err != nil {
		c.fail(err)
	}
}

func (c *Ceremony) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = err
	}
}

func (c *Ceremony) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// open returns the store, or why there is none.
func (c *Ceremony) open() (*store.Store, error) {
	s := c.store.Load()
	if s == nil {
		return nil, errs.New(errs.Unavailable, "the write path has no store yet: its counter is not seeded").WithClass("unprovisioned").
			WithNext("take the next step of provisioning: mcpctl anchor status")
	}
	return s, nil
}

// View runs f over one state of the store.
func (c *Ceremony) View(f func(*store.View) error) error {
	s, err := c.open()
	if err != nil {
		return err
	}
	return s.View(f)
}

func (c *Ceremony) env(s *store.Store) *attempt.Env {
	return &attempt.Env{
		Store: s, Clock: c.Store.Clock, Counter: c.Counter, Reader: c.Reader, Exchanger: c.Exchanger, Settle: c.Windows.Settle, Point: c.Point,
	}
}

// note tells metrics and the journal what happened: ids and words of closed lists.
func (c *Ceremony) note(e Event) {
	if c.Config.Observe != nil {
		c.Config.Observe(e)
	}
}

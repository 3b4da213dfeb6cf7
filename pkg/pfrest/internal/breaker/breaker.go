// Package breaker owns the decision not to send: with a key that was refused,
// because the firewall's login protection then blocks this host's address, and to
// a path that does not answer, because each such request holds a worker there.
// Only pfrest may import it; it imports nothing of ours. It must never send anything
// or start a timer: it is asked.
//
// The attack it stops: our own eagerness used to lock us out or to keep the
// appliance busy, by anybody who can make tools be called.
package breaker

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	slowCount = 2                // time-outs of one path in a row that open its breaker
	firstHold = 60 * time.Second // how long it then stays open
	lastHold  = 10 * time.Minute // each further time-out doubles it up to this
	// After a refused key the firewall may block our address for a time that we
	// cannot know; a connection that gets no answer within this is told so.
	blockTime = 30 * time.Minute
)

// Outcome is what a request says about its path.
type Outcome uint8

// The outcomes.
const (
	Unknown  Outcome = iota // nothing: it was cancelled, or the connection failed
	Answered                // an answer came in time, good or bad
	TimedOut
)

// Breakers keep requests from being made. Safe for concurrent use.
type Breakers struct {
	now func() time.Time

	mu      sync.Mutex
	gen     uint64    // of the key in use
	open    bool      // the key was refused
	refused time.Time // when a key was last refused
	paths   map[string]*path
}

// path is one endpoint that timed out. Paths that answer have no entry.
type path struct {
	late    int
	hold    time.Duration // 0 while closed
	until   time.Time
	probing bool // the hold is over and one request tries it
}

// New returns breakers that are all closed.
func New(now func() time.Time) *Breakers {
	return &Breakers{now: now, paths: make(map[string]*path)}
}

// Decision says whether a request may go out now, and if not, why.
type Decision struct {
	Key   bool          // refused: the key was, At
	At    time.Time     //
	Path  bool          // refused: the path is paused until Until, for another Wait
	Until time.Time     //
	Wait  time.Duration // 0 while one request tries the path
	Probe bool          // allowed, as the one request that tries the path after its pause
}

// Refused says that nothing may be sent.
func (d Decision) Refused() bool { return d.Key || d.Path }

// Enter decides about a request to a path. With reserve the caller is about to
// send it and owes a Leave with what Enter said about Probe.
func (b *Breakers) Enter(name string, reserve bool) Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		return Decision{Key: true, At: b.refused}
	}
	p := b.paths[name]
	if p == nil || p.hold == 0 {
		return Decision{}
	}
	if wait := p.until.Sub(b.now()); wait > 0 || p.probing {
		return Decision{Path: true, Until: p.until, Wait: max(wait, 0)}
	}
	p.probing = reserve
	return Decision{Probe: reserve}
}

// Leave records what came of a request that Enter let through.
func (b *Breakers) Leave(name string, probe bool, o Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.paths[name]
	if probe && p != nil {
		p.probing = false
	}
	switch o {
	case Answered:
		delete(b.paths, name)
	case TimedOut:
		if p == nil {
			p = new(path)
			b.paths[name] = p
		}
		if p.hold > 0 && !probe {
			return // it was under way when the breaker opened
		}
		if p.late++; p.late >= slowCount {
			p.hold = min(max(2*p.hold, firstHold), lastHold)
			p.until = b.now().Add(p.hold)
		}
	}
}

// Refuse opens the breaker of the key. A key that has been replaced meanwhile
// says nothing about the new one.
func (b *Breakers) Refuse(gen uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if gen == b.gen {
		b.open, b.refused = true, b.now()
	}
}

// MaybeBlocked says whether silence of the appliance may be its login protection.
func (b *Breakers) MaybeBlocked() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.refused.IsZero() && b.now().Sub(b.refused) < blockTime
}

// Rekey closes the breaker of the key for the key of generation gen.
func (b *Breakers) Rekey(gen uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gen, b.open = gen, false
}

// Reset closes all breakers.
func (b *Breakers) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = false
	clear(b.paths)
}

// Path is an endpoint that timed out since it last answered.
type Path struct {
	Name     string
	TimeOuts int       // in a row
	Open     bool      // paused
	Until    time.Time // when it may be tried again, while Open
}

// Snapshot returns the state of the key's breaker and the paths that timed out,
// by name. refusedAt is the last refusal of any key, zero for never.
func (b *Breakers) Snapshot() (keyRefused bool, refusedAt time.Time, paths []Path) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, p := range b.paths {
		paths = append(paths, Path{Name: name, TimeOuts: p.late, Open: p.hold > 0, Until: p.until})
	}
	slices.SortFunc(paths, func(x, y Path) int { return strings.Compare(x.Name, y.Name) })
	return b.open, b.refused, paths
}

// Package fair owns the request slots of the appliance client and decides who
// gets the next one. Only pfrest may import it; it imports nothing of ours and
// never starts a goroutine or reads a clock.
//
// Slots are shared by uid first and by session second: a free slot goes to the
// waiting uid that holds the fewest, among its sessions to the one that holds
// the fewest, and within a session to whoever asked first. With an even limit
// that means: no uid is given more than half of the slots while another waits.
//
// The attack it stops: one user, or one client of a user, that asks so much
// that nobody else's question reaches the firewall.
package fair

import (
	"context"
	"slices"
	"sync"
)

// Owner is whom a slot counts for.
type Owner struct {
	UID     uint32
	Session uint64
}

// Slots are a bounded number of permits. Safe for concurrent use.
type Slots struct {
	mu      sync.Mutex
	limit   int
	inUse   int
	waiting int
	turn    uint64 // counts arrivals and grants: the smaller, the longer ago
	uids    map[uint32]*share
}

// share is what one uid holds and waits for; queue the same for one session.
type share struct {
	held     int
	last     uint64 // turn of the last grant, or of the arrival
	sessions map[uint64]*queue
}

type queue struct {
	held    int
	last    uint64
	tickets []*Ticket
}

// Ticket is one wish for one slot. It may wait in the queues of several owners
// who share the answer; the first owner whose turn it is pays for it.
type Ticket struct {
	ready   chan struct{}
	owner   Owner // who pays, once granted
	granted bool
	done    bool // granted or given up: it stands in no queue
	owners  []Owner
}

// New returns limit slots; limit is at least 1.
func New(limit int) *Slots {
	return &Slots{limit: max(limit, 1), uids: make(map[uint32]*share)}
}

// NewTicket returns a ticket that stands in no queue yet.
func NewTicket() *Ticket { return &Ticket{ready: make(chan struct{})} }

// Enlist puts the ticket at the end of an owner's queue. It does nothing when
// the ticket stands there already, has been granted or was given up.
func (s *Slots) Enlist(t *Ticket, o Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.done || slices.Contains(t.owners, o) {
		return
	}
	u := s.uids[o.UID]
	if u == nil {
		u = &share{last: s.tick(), sessions: make(map[uint64]*queue)}
		s.uids[o.UID] = u
	}
	q := u.sessions[o.Session]
	if q == nil {
		q = &queue{last: s.tick()}
		u.sessions[o.Session] = q
	}
	q.tickets = append(q.tickets, t)
	if len(t.owners) == 0 {
		s.waiting++
	}
	t.owners = append(t.owners, o)
	s.grant()
}

// Wait blocks until the ticket is granted or ctx ends; then it returns ctx's
// error and the ticket is given up. After nil the caller owes a Release.
func (s *Slots) Wait(ctx context.Context, t *Ticket) error {
	select {
	case <-t.ready:
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.granted {
		s.release(t) // granted in the same instant: hand it on
	} else if !t.done {
		s.unlist(t)
	}
	return ctx.Err()
}

// Release gives a granted ticket's slot back. A second call does nothing.
func (s *Slots) Release(t *Ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.granted {
		s.release(t)
	}
}

// SetLimit changes the number of slots. A smaller number takes nothing away
// from those who hold one: fewer are granted until enough have come back.
func (s *Slots) SetLimit(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = max(limit, 1)
	s.grant()
}

// Counts returns how many slots are in use, how many tickets wait, and the limit.
func (s *Slots) Counts() (inUse, waiting, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse, s.waiting, s.limit
}

func (s *Slots) tick() uint64 { s.turn++; return s.turn }

// grant hands out free slots while somebody waits.
func (s *Slots) grant() {
	for s.inUse < s.limit && s.waiting > 0 {
		var u *share
		var q *queue
		for _, c := range s.uids {
			if c.waits() && (u == nil || less(c.held, c.last, u.held, u.last)) {
				u = c
			}
		}
		for _, c := range u.sessions {
			if len(c.tickets) > 0 && (q == nil || less(c.held, c.last, q.held, q.last)) {
				q = c
			}
		}
		t := q.tickets[0]
		for _, o := range t.owners {
			if s.uids[o.UID].sessions[o.Session] == q {
				t.owner = o
			}
		}
		q.held++
		u.held++
		u.last = s.tick()
		q.last = u.last
		s.inUse++
		t.granted = true
		s.unlist(t)
		close(t.ready)
	}
}

// waits says whether any session of the uid has a ticket waiting.
func (u *share) waits() bool {
	for _, q := range u.sessions {
		if len(q.tickets) > 0 {
			return true
		}
	}
	return false
}

func less(heldA int, lastA uint64, heldB int, lastB uint64) bool {
	return heldA < heldB || heldA == heldB && lastA < lastB
}

// unlist takes a ticket out of every queue it stands in.
func (s *Slots) unlist(t *Ticket) {
	for _, o := range t.owners {
		q := s.uids[o.UID].sessions[o.Session]
		q.tickets = slices.DeleteFunc(q.tickets, func(x *Ticket) bool { return x == t })
		s.forget(o)
	}
	if len(t.owners) > 0 {
		s.waiting--
	}
	t.owners, t.done = nil, true
}

func (s *Slots) release(t *Ticket) {
	t.granted = false
	u := s.uids[t.owner.UID]
	u.held--
	u.sessions[t.owner.Session].held--
	s.inUse--
	s.forget(t.owner)
	s.grant()
}

// forget drops what is kept of an owner who neither holds nor waits, so that
// the maps never outgrow the calls that are under way.
func (s *Slots) forget(o Owner) {
	u := s.uids[o.UID]
	if q := u.sessions[o.Session]; q.held == 0 && len(q.tickets) == 0 {
		delete(u.sessions, o.Session)
	}
	if u.held == 0 && len(u.sessions) == 0 {
		delete(s.uids, o.UID)
	}
}

package fair

import (
	"slices"
	"sync"
)

// Crowd is everybody who waits for one answer. Their common ticket stands in the
// queue of each, so nobody waits longer for having joined; when the last one
// leaves, the request is cancelled.
type Crowd struct {
	slots  *Slots
	cancel func()

	mu     sync.Mutex
	owners []Owner
	shut   bool    // the last one left: nobody can join any more
	ticket *Ticket // while it waits
}

// NewCrowd returns a crowd of one. cancel is called when the last one leaves.
func NewCrowd(s *Slots, first Owner, cancel func()) *Crowd {
	return &Crowd{slots: s, cancel: cancel, owners: []Owner{first}}
}

// Join adds an owner; false means that it is too late.
func (w *Crowd) Join(o Owner) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut {
		return false
	}
	w.owners = append(w.owners, o)
	if w.ticket != nil {
		w.slots.Enlist(w.ticket, o)
	}
	return true
}

// Leave takes an owner out and cancels the request when it was the last.
func (w *Crowd) Leave(o Owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.owners, o); i >= 0 {
		w.owners = slices.Delete(w.owners, i, i+1)
	}
	if len(w.owners) == 0 {
		w.shut = true
		w.cancel()
	}
}

// Seat puts a ticket into the queue of everybody who waits.
func (w *Crowd) Seat(t *Ticket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ticket = t
	for _, o := range w.owners {
		w.slots.Enlist(t, o)
	}
}

// Unseat forgets the ticket: who joins later does not enlist it.
func (w *Crowd) Unseat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ticket = nil
}

package change

import (
	"context"
	"sync"
)

// laneWidth is how many calls of one uid are with executord at a time. A call
// that opens a request waits for the appliance; the others of its uid wait
// behind four of those, and nobody else's do.
const laneWidth = 4

// lanes bounds the calls in flight by uid. The zero value is ready. It holds
// something only for uids with a call, so sessions bound it.
type lanes struct {
	mu   sync.Mutex
	open map[uint32]*lane
}

type lane struct {
	slots chan struct{}
	users int // that hold or want a slot; guarded by lanes.mu
}

// enter waits for a slot of uid. ok is false when ctx ended first; otherwise
// leave gives the slot back.
func (l *lanes) enter(ctx context.Context, uid uint32) (leave func(), ok bool) {
	l.mu.Lock()
	if l.open == nil {
		l.open = make(map[uint32]*lane)
	}
	mine := l.open[uid]
	if mine == nil {
		mine = &lane{slots: make(chan struct{}, laneWidth)}
		l.open[uid] = mine
	}
	mine.users++
	l.mu.Unlock()

	select {
	case mine.slots <- struct{}{}:
		return func() { <-mine.slots; l.done(uid, mine) }, true
	case <-ctx.Done():
		l.done(uid, mine)
		return nil, false
	}
}

func (l *lanes) done(uid uint32, mine *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(l.open, uid)
	}
}

package logging

import (
	"sync"
	"time"
)

// Quiet lets one line a second pass: whoever can reach a socket could otherwise
// fill the log by connecting to it. The zero value is ready; it is safe for
// concurrent use.
type Quiet struct {
	mu      sync.Mutex
	after   time.Time
	dropped int
}

// Next says whether a line may be written now, and how many were not since the
// last one.
func (q *Quiet) Next(now time.Time) (dropped int, say bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Before(q.after) {
		q.dropped++
		return 0, false
	}
	dropped, q.dropped = q.dropped, 0
	q.after = now.Add(time.Second)
	return dropped, true
}

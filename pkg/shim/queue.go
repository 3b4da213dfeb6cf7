package shim

import (
	"bytes"
	"slices"
	"time"
)

// enqueue keeps a line until there is a connection; false when too much waits.
// A request waits until its deadline: StartWait while mcpd was never there, and
// for a handshake; GapWait later, when a host has better things to do than
// to wait. A subscription waits as long as it must. s.mu is held.
func (s *Shim) enqueue(line []byte, c *call) bool {
	if len(s.queue) >= maxQueued || s.queued+len(line) > maxQueuedBytes {
		return false
	}
	s.queue = append(s.queue, item{bytes.Clone(line), c})
	s.queued += len(line)
	if c != nil {
		s.arm(c)
	}
	return true
}

// arm sets the end of a call's waiting; a call that waits again keeps its
// first deadline. s.mu is held.
func (s *Shim) arm(c *call) {
	if c.method == methodListen {
		return
	}
	if c.deadline.IsZero() {
		wait := s.cfg.StartWait
		if s.started && c.method != methodInitialize {
			wait, c.hasty = s.cfg.GapWait, true
		}
		c.deadline = time.Now().Add(wait)
	}
	c.timer = time.AfterFunc(time.Until(c.deadline), s.expire)
}

// dequeue takes c out of the queue; false when it is not there. s.mu is held.
func (s *Shim) dequeue(c *call) bool {
	i := slices.IndexFunc(s.queue, func(it item) bool { return it.call == c })
	if i < 0 {
		return false
	}
	s.queued -= len(s.queue[i].line)
	s.queue = slices.Delete(s.queue, i, i+1)
	if c.timer != nil {
		c.timer.Stop()
	}
	return true
}

// expire answers the calls that have waited long enough, in the order in which
// they were asked. Those that came together end together.
func (s *Shim) expire() {
	s.mu.Lock()
	s.started = true
	s.mu.Unlock()
	now := time.Now().Add(20 * time.Millisecond)
	s.failQueue(func(c *call) bool { return !c.deadline.IsZero() && c.deadline.Before(now) })
}

// failQueue answers the waiting calls that are chosen.
func (s *Shim) failQueue(chosen func(*call) bool) {
	s.mu.Lock()
	var dead []*call
	for _, it := range slices.Clone(s.queue) {
		if it.call != nil && chosen(it.call) && s.dequeue(it.call) {
			dead = append(dead, it.call)
		}
	}
	s.mu.Unlock()
	for _, c := range dead {
		s.failWaiting(c)
	}
}

// failWaiting answers a call that was never sent.
func (s *Shim) failWaiting(c *call) {
	s.mu.Lock()
	class, text := classRestarting, "mcpd is restarting; this call was not sent, try again in a moment"
	if s.outage != "" {
		text += " (" + s.outage + ")"
	}
	if !s.reached {
		class, text = classUnreachable, s.outage
		if text == "" {
			text = "mcpd does not answer"
		}
	}
	if c.method == methodInitialize {
		// The client may try again from the start; what it said after its
		// handshake makes no sense without one.
		s.hello = handshake{}
		s.queue = slices.DeleteFunc(s.queue, func(it item) bool { return it.call == nil })
	}
	s.mu.Unlock()
	s.fail(c, class, text)
}

// wake makes the connector try now.
func (s *Shim) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

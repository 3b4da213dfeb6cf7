package fakepf

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Held is a request that a test has stopped on its way.
type Held struct {
	Reached      <-chan struct{} // closed when the request is there
	method, path string
	reached      chan struct{}
	goOn         chan struct{}
	once         sync.Once
}

// Go lets the request go on, now or when it comes.
func (h *Held) Go() { h.once.Do(func() { close(h.goOn) }) }

// stops are the requests that tests wait for.
type stops struct {
	mu   sync.Mutex
	list []*Held
}

// Hold stops the next request of a method to a path when it has arrived, before any of
// it is done: what a test does between Reached and Go is done while the client waits.
func (s *Server) Hold(method, path string) *Held {
	reached := make(chan struct{})
	h := &Held{Reached: reached, method: method, path: path, reached: reached, goOn: make(chan struct{})}
	s.stops.mu.Lock()
	defer s.stops.mu.Unlock()
	s.stops.list = append(s.stops.list, h)
	return h
}

func (l *stops) take(method, path string) *Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, h := range l.list {
		if h.method == method && h.path == path {
			l.list = append(l.list[:i:i], l.list[i+1:]...)
			return h
		}
	}
	return nil
}

// stop keeps a request that somebody holds until it may go on.
func (s *Server) stop(ctx context.Context, method, path string) {
	h := s.stops.take(method, path)
	if h == nil {
		return
	}
	close(h.reached)
	select {
	case <-h.goOn:
	case <-ctx.Done():
	case <-s.done:
	}
}

// connections are those on which something may still come or is being done.
type connections struct {
	mu   sync.Mutex
	busy map[net.Conn]bool
}

func (l *connections) turn(c net.Conn, st http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy == nil {
		l.busy = map[net.Conn]bool{}
	}
	if st == http.StateNew || st == http.StateActive {
		l.busy[c] = true
	} else {
		delete(l.busy, c)
	}
}

// Settled says that every connection has ended or waits for another request. Once a
// client's process has ended, what it had sent is then done and in the log.
func (s *Server) Settled() bool {
	s.served.mu.Lock()
	defer s.served.mu.Unlock()
	return len(s.served.busy) == 0
}

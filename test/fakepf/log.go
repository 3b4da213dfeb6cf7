package fakepf

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Request is one request as it came in and what was answered.
type Request struct {
	Seq        int64
	Method     string
	Path       string // as sent
	Query      string // raw
	Header     map[string]string
	User       string // who the credentials were taken for; "" for nobody
	Status     int    // 0 when the connection was cut without an answer
	ResponseID string
	Bytes      int // of the answer's body, before compression
	BodyIn     int64
	Body       string // of a JSON request, its first 8 KiB
	Start      time.Time
	Took       time.Duration // until there was an answer to send
	Fault      string
}

// Counters are totals since the start or the last ResetLog. A request is in Requests
// from when there is an answer to send, and until then in InFlight.
type Counters struct {
	Requests    int64
	Connections int64
	InFlight    int64 // now
	Peak        int64 // the most at one time
	ByPath      map[string]int64
	ByStatus    map[int]int64
}

// requestLog keeps the last requests and counts all of them.
type requestLog struct {
	connections atomic.Int64

	mu       sync.Mutex
	ring     []Request
	next     int
	seq      int64
	inFlight int64
	peak     int64
	byPath   map[string]int64
	byStatus map[int]int64
}

func (l *requestLog) init(size int) {
	l.ring = make([]Request, 0, size)
	l.byPath, l.byStatus = map[string]int64{}, map[int]int64{}
}

// logged are the headers kept of a request. Credentials are kept as what they
// are, not as their value.
func logged() []string {
	return []string{"Accept", "Accept-Encoding", "Content-Type", "Content-Length", "User-Agent", "Prefer", "Cookie", "Referer", "X-Forwarded-For"}
}

func (l *requestLog) begin(r *http.Request, start time.Time) *Request {
	rec := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Start: start, BodyIn: r.ContentLength, Header: map[string]string{"Host": r.Host}}
	for _, h := range logged() {
		if v, ok := r.Header[h]; ok {
			rec.Header[h] = v[0]
		}
	}
	for _, h := range []string{"X-Api-Key", "Authorization"} {
		if _, ok := r.Header[h]; ok {
			rec.Header[h] = "present"
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight++
	l.peak = max(l.peak, l.inFlight)
	return rec
}

func (l *requestLog) end(rec *Request, start time.Time) {
	rec.Took = time.Since(start)
	if rec.Status < 0 {
		rec.Status = 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	l.seq++
	rec.Seq = l.seq
	l.byPath[rec.Method+" "+rec.Path]++
	l.byStatus[rec.Status]++
	if cap(l.ring) == 0 {
		return
	}
	if len(l.ring) < cap(l.ring) {
		l.ring = append(l.ring, *rec)
		return
	}
	l.ring[l.next] = *rec
	l.next = (l.next + 1) % len(l.ring)
}

// Requests returns the kept requests in the order they were answered.
func (s *Server) Requests() []Request {
	l := &s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(append([]Request(nil), l.ring[l.next:]...), l.ring[:l.next]...)
}

// RequestsTo returns the kept requests to one path.
func (s *Server) RequestsTo(path string) []Request {
	var out []Request
	for _, r := range s.Requests() {
		if r.Path == path {
			out = append(out, r)
		}
	}
	return out
}

// Counters returns the totals.
func (s *Server) Counters() Counters {
	l := &s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	c := Counters{Requests: l.seq, Connections: l.connections.Load(), InFlight: l.inFlight, Peak: l.peak, ByPath: map[string]int64{}, ByStatus: map[int]int64{}}
	for k, v := range l.byPath {
		c.ByPath[k] = v
	}
	for k, v := range l.byStatus {
		c.ByStatus[k] = v
	}
	return c
}

// ResetLog forgets the requests and sets the totals to zero.
func (s *Server) ResetLog() {
	l := &s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring, l.next, l.seq, l.peak = l.ring[:0], 0, 0, l.inFlight
	l.byPath, l.byStatus = map[string]int64{}, map[int]int64{}
	l.connections.Store(0)
}

// Package fakepf is the pretend appliance: an HTTPS server on loopback that
// answers as pfREST 2.10.0 does, oddities included, from a small invented
// office firewall kept in memory, and that can be told to misbehave.
//
// It is a test tool. Tests, benches and the demo import it or run the program
// in cmd/fakepf; no daemon may. It never opens anything outside loopback, never
// reads the real appliance's captures, and every secret in it is made up.
// What it is for: a client that only works against a polite server must fail here.
package fakepf

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"pfsensemcp/test/fakepf/data"
	"pfsensemcp/test/loopback"
	"pfsensemcp/test/trial"
)

// Server is one pretend appliance. All methods may be called from any goroutine.
type Server struct {
	opt   Options
	set   *data.Set
	id    *loopback.Identity
	ln    net.Listener
	http  *http.Server
	done  chan struct{} // closed by Close: hanging answers end
	timed sync.WaitGroup

	mu       sync.RWMutex // guards everything below it
	settings Settings
	keys     []Key
	packages map[string]bool
	tables   map[string]*table
	pending  []string // subsystems with changes not applied
	wrecked  bool     // the stored configuration cannot be read: every answer is a 500
	live     revision // the configuration's own revision, not yet in the history
	landing  []func() // writes of "late" faults that wait for LandPending

	lock lockFile

	served  connections
	stops   stops
	hurried chan struct{} // closed: timed faults happen now
	faults  faultList
	log     requestLog
	failed  atomic.Int64 // answers 401 so far
	unplay  atomic.Int64 // allowed writes that this appliance does not play
}

// New starts a pretend appliance. The caller must Close it.
func New(o Options) (*Server, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	if s.ln, err = loopback.Listen(s.opt.Listen); err != nil {
		return nil, err
	}
	s.id, err = loopback.Issue(loopback.Names{
		Authority: "pretend appliance CA", Server: "fw01.office.kestrel.test",
		DNS: []string{"localhost"}, IP: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}, s.opt.Now())
	if err != nil {
		s.ln.Close()
		return nil, err
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{s.id.Leaf}, NextProtos: []string{"http/1.1"}}
	if s.opt.HTTP2 {
		conf.NextProtos = []string{"h2", "http/1.1"}
	}
	s.http = loopback.Server(s, conf, func() { s.log.connections.Add(1) })
	counted := s.http.ConnState
	s.http.ConnState = func(c net.Conn, st http.ConnState) { counted(c, st); s.served.turn(c, st) }
	if !s.opt.HTTP2 {
		s.http.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	go s.http.ServeTLS(s.ln, "", "") //nolint:errcheck // always http.ErrServerClosed after Close
	return s, nil
}

func newServer(o Options) (*Server, error) {
	o.fill()
	set, err := data.Load()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opt: o, set: set, done: make(chan struct{}), hurried: make(chan struct{}), settings: *o.Settings, keys: o.Keys, packages: map[string]bool{},
		live: revision{Time: 1796030500, Description: "marta@10.71.10.5 (Local Database): Firewall: Rules - moved a rule."},
	}
	s.log.init(o.LogSize)
	for _, p := range o.Packages {
		s.packages[p] = true
	}
	s.fillTables()
	return s, nil
}

// Start is New for a test: it ends with the test and fails it when it cannot start.
func Start(t trial.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	return loopback.For(t, s, err)
}

// Close ends the server, hanging answers and timed faults included. It waits
// for them.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
		s.mu.Unlock()
		return
	default:
	}
	close(s.done)
	s.mu.Unlock()
	if s.http != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		s.http.Shutdown(ctx) //nolint:errcheck // Close below ends what is left
		s.http.Close()
	}
	s.timed.Wait()
}

// URL returns the base URL, https://127.0.0.1:PORT.
func (s *Server) URL() string { return "https://" + s.ln.Addr().String() }

// CAPEM returns the certificate of the CA that signed the server's own.
func (s *Server) CAPEM() []byte { return s.id.CAPEM }

// Pin returns the SHA-256 of the server's public key (SPKI), in base64.
func (s *Server) Pin() string { return s.id.Pin }

// after runs f after d unless the server is closed first; d 0 runs it at once.
func (s *Server) after(d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	select {
	case <-s.done:
		return
	default:
	}
	s.timed.Go(func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			f()
		case <-s.hurried:
			f()
		case <-s.done:
		}
	})
}

// wait returns after d, or false when the server or the request ended first.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-s.done:
	}
	return false
}

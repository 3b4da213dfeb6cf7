// Package shim owns `mcpd stdio`: an MCP client's standard input and output on
// one side, mcpd's socket on the other.
//
// Hosts start it, never restart it and read nothing but protocol, so it
// outlives the daemon: it frames the lines itself, keeps the handshake, joins
// the next daemon with it, and answers every request it took exactly once,
// whatever happens behind it. It holds no key, file, port or lock; any number
// of copies may run at once. cmd/mcpd alone imports it; it imports jsonline and
// must never import what serves (the SDK, pfrest): it runs as whoever starts
// the MCP client.
//
// The attacks and accidents it stops: a line that a parser behind it reads
// differently (it refuses what jsonline refuses), a call carried out twice
// because a connection broke (what may have reached mcpd is never sent again),
// and a session killed by one stray byte on standard output.
package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/shim/internal/place"
)

// Config is what a shim needs. The zero durations take their defaults.
type Config struct {
	In      io.Reader // the MCP client's requests
	Out     io.Writer // protocol and nothing else
	Notes   io.Writer // a line for people now and then; nil for none
	Sockets []string  // where mcpd may be, tried in order

	// Dial opens a socket; nil for the real one.
	Dial func(ctx context.Context, path string) (net.Conn, error)

	// StartWait is how long the first requests wait for mcpd to be there before
	// they are answered with an error; default 5 s, well inside the patience of
	// every host.
	StartWait time.Duration
	// GapWait is how long a request waits for a running attempt to join mcpd
	// again; default 1 s. An attempt that fails answers at once.
	GapWait time.Duration
	// Grace is how long outstanding calls may take after the end of input;
	// default 50 s, longer than mcpd's own 45 s a call.
	Grace time.Duration
}

// Bounds of what waits for mcpd. A host sends a handful of lines before it has
// an answer.
const (
	maxQueued      = 256
	maxQueuedBytes = 2 * jsonline.MaxLine
)

// Shim carries one MCP session.
type Shim struct {
	cfg  Config
	out  *output
	kick chan struct{} // wakes the connector
	quit chan struct{} // closed when the session is over
	once sync.Once

	mu      sync.Mutex
	link    *link            // nil while there is no connection ready for requests
	calls   map[string]*call // requests without an answer, by id
	closing int              // calls that left the table and whose answers are being written
	queue   []item           // lines that wait for a connection, in order
	queued  int              // their bytes
	hello   handshake
	started bool   // mcpd was reached once, or StartWait is over
	reached bool   // mcpd was reached once
	outage  string // why mcpd cannot be reached; "" while it can
	ended   bool   // the input is at its end
}

// call is a request that wants its answer.
type call struct {
	id       jsonline.ID
	method   string
	line     []byte // kept only when the call may be sent again
	sent     bool   // it may have reached mcpd
	batch    *batch // nil for a call of its own
	closing  bool   // it left the table and its answer is being written
	deadline time.Time
	timer    *time.Timer // while it waits in the queue
	hasty    bool        // it waits no longer than the next attempt to join mcpd
}

// item is a line that waits; call is nil for notifications/initialized.
type item struct {
	line []byte
	call *call
}

// handshake is what the client agreed on, for the next daemon.
type handshake struct {
	params   []byte // of the client's initialize; nil before it
	answered bool   // the client has the result
	version  string // the protocol version in it
	notified bool   // the client sent notifications/initialized
}

// New returns a shim for one session.
func New(cfg Config) *Shim {
	cfg.StartWait = orDefault(cfg.StartWait, 5*time.Second)
	cfg.GapWait = orDefault(cfg.GapWait, time.Second)
	cfg.Grace = orDefault(cfg.Grace, 50*time.Second)
	if cfg.Dial == nil {
		cfg.Dial = place.Dial
	}
	if cfg.Notes == nil {
		cfg.Notes = io.Discard
	}
	s := &Shim{
		cfg:   cfg,
		kick:  make(chan struct{}, 1),
		quit:  make(chan struct{}),
		calls: make(map[string]*call),
	}
	s.out = newOutput(cfg.Out, s.stop)
	return s
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}

// Run carries the session until the input ends and everything outstanding is
// answered, the output breaks, or ctx ends. It returns an error only when mcpd
// was never reached although something was asked of it. The goroutine that
// reads the input ends with the input, the one that joins mcpd soon after Run.
func (s *Shim) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go s.connect(ctx)
	go s.readInput()
	select {
	case <-ctx.Done():
	case <-s.quit:
	}
	cancel()
	s.out.close()
	s.mu.Lock()
	reached, outage := s.reached, s.outage
	s.mu.Unlock()
	if !reached && outage != "" {
		return errors.New(outage)
	}
	return nil
}

// stop ends the session; it may be called often.
func (s *Shim) stop() { s.once.Do(func() { close(s.quit) }) }

// readInput reads the client's lines until their end.
func (s *Shim) readInput() {
	in := jsonline.NewReader(s.cfg.In)
	for {
		line, err := in.Next()
		switch {
		case err == nil:
			s.fromClient(line)
		case errors.Is(err, jsonline.ErrTooLong):
			s.out.line(jsonline.AppendError(nil, jsonline.ID{}, jsonline.CodeInvalidRequest,
				"the line is longer than 4 MiB and was not read", []byte(`{"class":"too_long","limit_bytes":4194304}`)))
		default:
			s.inputEnded()
			return
		}
	}
}

// inputEnded lets what is outstanding finish, for Grace at most.
func (s *Shim) inputEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.stopIfIdle()
	time.AfterFunc(s.cfg.Grace, s.stop)
}

// stopIfIdle ends the session once the input is at its end and nothing more
// will be answered; s.mu is held. A subscription has no answer to wait for.
func (s *Shim) stopIfIdle() {
	if !s.ended || s.closing > 0 {
		return
	}
	for _, c := range s.calls {
		if c.method != methodListen {
			return
		}
	}
	s.stop()
}

// closeCall takes a call out of the table; its answer must follow. Until that is
// written the session cannot end. s.mu is held.
func (s *Shim) closeCall(c *call) {
	delete(s.calls, c.id.Key())
	c.closing = true
	s.closing++
}

// note writes a line for people.
func (s *Shim) note(format string, args ...any) {
	fmt.Fprintf(s.cfg.Notes, "mcpd stdio: "+format+"\n", args...)
}

// output writes whole lines, one at a time.
type output struct {
	turn   chan struct{} // holds one token; who has it may write
	w      io.Writer
	broken func()
	closed bool // guarded by turn
}

func newOutput(w io.Writer, broken func()) *output {
	o := &output{turn: make(chan struct{}, 1), w: w, broken: broken}
	o.turn <- struct{}{}
	return o
}

// line writes b, which ends in a line end. A client that does not read holds
// us up, and through the socket mcpd; one that is gone ends the session.
func (o *output) line(b []byte) {
	<-o.turn
	defer func() { o.turn <- struct{}{} }()
	if o.closed {
		return
	}
	if _, err := o.w.Write(b); err != nil {
		o.broken()
	}
}

// close lets a line that is being written end, so that the process does not
// exit in the middle of it; a client that does not read is given up.
func (o *output) close() {
	wait := time.NewTimer(time.Second)
	defer wait.Stop()
	select {
	case <-o.turn:
		o.closed = true
		o.turn <- struct{}{}
	case <-wait.C:
	}
}

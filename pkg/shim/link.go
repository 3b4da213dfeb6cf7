package shim

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/shim/internal/place"
)

// Times of the connection. The back-off ends at 2 s: a restarted mcpd is joined
// before anybody notices, and a missing one costs nothing.
const (
	joinTimeout  = 10 * time.Second // for the replayed handshake
	writeTimeout = 10 * time.Second
	firstWait    = 50 * time.Millisecond
	longestWait  = 2 * time.Second
)

// link is one connection to mcpd.
type link struct {
	conn net.Conn
	in   *jsonline.Reader
	path string

	mu  sync.Mutex
	buf []byte

	refusal  refusal // "" unless mcpd refused the session
	useful   bool    // something other than a refusal arrived
	notified bool    // it was sent notifications/initialized; guarded by Shim.mu
}

// send writes one line; false when mcpd cannot have got all of it.
func (l *link) send(line []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(append(l.buf[:0], line...), '\n')
	if err := l.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return false
	}
	n, _ := l.conn.Write(l.buf)
	whole := n == len(l.buf)
	if cap(l.buf) > jsonline.BigLine {
		l.buf = nil
	}
	return whole
}

func (l *link) close() { _ = l.conn.Close() }

// connect keeps a connection to mcpd while one is wanted, until ctx ends.
func (s *Shim) connect(ctx context.Context) {
	var wait time.Duration
	for ctx.Err() == nil {
		if !s.wanted() {
			select {
			case <-ctx.Done():
			case <-s.kick:
			}
			continue
		}
		l, err := s.open(ctx)
		joined := err == nil
		if joined {
			err = s.serve(ctx, l)
			if l.useful {
				wait = 0
			}
		}
		if ctx.Err() != nil {
			return
		}
		s.lost(err, joined && l.useful)
		wait = min(max(2*wait, firstWait), longestWait)
		// Jitter: a host's ten shims must not come back as one.
		timer := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-ctx.Done():
		case <-s.kick:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// wanted says whether a connection has a use: something waits, or a handshake
// must be renewed so that the next request finds a session. mcpd ends a session
// that stays silent, so none is opened for nothing.
func (s *Shim) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0 || s.hello.answered && !s.ended
}

// open finds mcpd and renews the handshake.
func (s *Shim) open(ctx context.Context) (*link, error) {
	conn, path, err := place.Find(ctx, s.cfg.Sockets, s.cfg.Dial)
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, path: path, in: jsonline.NewReader(conn)}
	l.in.Whole = true
	stop := context.AfterFunc(ctx, l.close)
	defer stop()
	s.mu.Lock()
	hello := s.hello
	s.mu.Unlock()
	if !hello.answered {
		return l, nil
	}
	if err := l.join(hello); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// refusal is mcpd's own reason for not taking a session.
type refusal string

func (r refusal) Error() string { return "mcpd refused the session: " + string(r) }

var (
	errJoin    = errors.New("mcpd did not take the session up again")
	errVersion = errors.New("mcpd now speaks another protocol version; restart the MCP client")
)

// join repeats the client's handshake under an id of our own and keeps the
// answer: the client has had it already.
func (l *link) join(hello handshake) error {
	if err := l.conn.SetReadDeadline(time.Now().Add(joinTimeout)); err != nil {
		return errJoin
	}
	id := jsonline.TextID("pfsense-mcp-shim")
	req := jsonline.AppendRequest(nil, id, methodInitialize, hello.params)
	if !l.send(req[:len(req)-1]) {
		return errJoin
	}
	for {
		line, err := l.in.Next()
		if err != nil {
			if l.refusal != "" {
				return l.refusal
			}
			return errJoin
		}
		m, err := jsonline.Parse(line)
		if err != nil {
			return errJoin
		}
		if l.noteRefusal(m) || m.Kind != jsonline.Response || m.ID.Key() != id.Key() {
			continue
		}
		if m.Error != nil {
			return errJoin
		}
		if versionOf(m) != hello.version {
			return errVersion
		}
		break
	}
	if hello.notified && !l.send([]byte(initializedLine)) {
		return errJoin
	}
	l.useful, l.notified = true, hello.notified
	if err := l.conn.SetReadDeadline(time.Time{}); err != nil {
		return errJoin
	}
	return nil
}

// noteRefusal keeps mcpd's reason for not taking the session: an error to
// nobody that says so in its data.
func (l *link) noteRefusal(m jsonline.Message) bool {
	if m.Kind != jsonline.Response || !m.ID.IsZero() || m.Error == nil {
		return false
	}
	data, ok := jsonline.Member(m.Error, "data")
	if !ok {
		return false
	}
	if v, ok := jsonline.Member(data, "session"); !ok || string(v) != `"refused"` {
		return false
	}
	if v, ok := jsonline.Member(m.Error, "message"); ok {
		l.refusal = refusal(jsonline.Text(v))
	}
	return true
}

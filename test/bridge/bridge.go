// Package bridge carries the streamable HTTP of a conformance suite to mcpd's
// socket, one message a line. It is for tests alone: nothing of the suite
// speaks HTTP, and what a scenario says about HTTP is said about this file.
//
// A session of the protocol with a handshake is one connection, from initialize
// to DELETE. A request of the protocol without one has a connection of its own.
package bridge

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
)

// maxBody bounds a message; mcpd takes 4 MiB.
const maxBody = 5 << 20

const sessionHeader = "Mcp-Session-Id"

// withoutHandshake is the first version of the protocol that has none.
const withoutHandshake = "2026-07-28"

// Bridge is the handler.
type Bridge struct {
	socket string

	mu       sync.Mutex
	sessions map[string]*session
}

// New returns a bridge to the socket.
func New(socket string) *Bridge { return &Bridge{socket: socket, sessions: map[string]*session{}} }

// message is what the bridge must know of a line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Token json.RawMessage `json:"progressToken"` // of a progress notification
		Meta  struct {
			Token json.RawMessage `json:"progressToken"` // of a request
		} `json:"_meta"`
	} `json:"params"`
	Error *struct{ Code int } `json:"error"`
}

// session is one connection to mcpd.
type session struct {
	nc net.Conn

	mu      sync.Mutex
	waiting map[string]*waiter // by id, as written
	ended   bool
}

// waiter is one request that waits for its answer.
type waiter struct {
	token string
	lines chan string // closed after the answer, or when the connection ended
}

// open begins a session.
func (b *Bridge) open() (*session, error) {
	nc, err := net.Dial("unix", b.socket)
	if err != nil {
		return nil, err
	}
	s := &session{nc: nc, waiting: map[string]*waiter{}}
	go s.read()
	return s, nil
}

// read gives each line to the request that it belongs to.
func (s *session) read() {
	in := bufio.NewReaderSize(s.nc, 64<<10)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		var m message
		if json.Unmarshal([]byte(line), &m) != nil {
			continue
		}
		s.mu.Lock()
		if m.Method == "" {
			if w := s.waiting[string(m.ID)]; w != nil {
				delete(s.waiting, string(m.ID))
				w.lines <- strings.TrimSuffix(line, "\n")
				close(w.lines)
			}
		} else {
			for _, w := range s.waiting {
				if len(m.Params.Token) == 0 || w.token == string(m.Params.Token) {
					w.lines <- strings.TrimSuffix(line, "\n")
				}
			}
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for id, w := range s.waiting {
		delete(s.waiting, id)
		close(w.lines)
	}
}

var errEnded = errors.New("the connection to mcpd ended")

// ask sends a request and returns what comes for it.
func (s *session) ask(m message, line []byte) (*waiter, error) {
	w := &waiter{token: string(m.Params.Meta.Token), lines: make(chan string, 256)}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, errEnded
	}
	s.waiting[string(m.ID)] = w
	s.mu.Unlock()
	return w, s.send(line)
}

func (s *session) send(line []byte) error {
	_, err := s.nc.Write(append(line, '\n'))
	return err
}

// ServeHTTP implements http.Handler.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !local(r.Host) || r.Header.Get("Origin") != "" && !localURL(r.Header.Get("Origin")) {
		http.Error(w, "this host or origin is not local", http.StatusForbidden)
		return
	}
	switch r.Method {
	case http.MethodPost:
		b.post(w, r)
	case http.MethodDelete:
		b.remove(w, r)
	default:
		// Nothing is sent that nobody asked for.
		http.Error(w, "there is no stream of its own", http.StatusMethodNotAllowed)
	}
}

func (b *Bridge) remove(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	b.mu.Lock()
	s := b.sessions[id]
	delete(b.sessions, id)
	b.mu.Unlock()
	if s == nil {
		http.Error(w, "there is no such session", http.StatusNotFound)
		return
	}
	_ = s.nc.Close()
}

func (b *Bridge) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	}
	line, m, err := oneLine(body)
	if err != nil {
		http.Error(w, "the body is not one message", http.StatusBadRequest)
		return
	}
	s, own, ok := b.sessionFor(w, r, m)
	if !ok {
		return
	}
	if own {
		defer s.nc.Close()
	}
	if m.Method == "" || len(m.ID) == 0 { // an answer or a notification
		if err := s.send(line); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer, err := s.ask(m, line)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	stream(r.Context(), w, answer, own)
}

// sessionFor finds the connection of a request, or makes one; own says that it
// ends with the request.
func (b *Bridge) sessionFor(w http.ResponseWriter, r *http.Request, m message) (s *session, own, ok bool) {
	id := r.Header.Get(sessionHeader)
	if id != "" {
		b.mu.Lock()
		s := b.sessions[id]
		b.mu.Unlock()
		if s == nil {
			http.Error(w, "there is no such session", http.StatusNotFound)
		}
		return s, false, s != nil
	}
	s, err := b.open()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return nil, false, false
	}
	if m.Method != "initialize" || r.Header.Get("Mcp-Protocol-Version") >= withoutHandshake {
		return s, true, true
	}
	id = rand.Text()
	b.mu.Lock()
	b.sessions[id] = s
	b.mu.Unlock()
	w.Header().Set(sessionHeader, id)
	return s, false, true
}

// stream writes what comes for a request: one JSON document when the answer is
// all there is, else events.
func stream(ctx context.Context, w http.ResponseWriter, answer *waiter, stateless bool) {
	events := false
	for {
		select {
		case <-ctx.Done():
			return
		case line, ok := <-answer.lines:
			if !ok {
				if !events {
					http.Error(w, errEnded.Error(), http.StatusBadGateway)
				}
				return
			}
			var m message
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				return
			}
			if m.Method == "" && !events {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status(m, stateless))
				_, _ = io.WriteString(w, line)
				return
			}
			if !events {
				events = true
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(http.StatusOK)
			}
			_, _ = io.WriteString(w, "event: message\ndata: "+line+"\n\n")
			_ = http.NewResponseController(w).Flush()
			if m.Method == "" {
				return
			}
		}
	}
}

// status is how the protocol without a handshake says an error in HTTP.
func status(m message, stateless bool) int {
	if m.Error == nil || !stateless {
		return http.StatusOK
	}
	if m.Error.Code == -32601 {
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// oneLine puts a message on one line.
func oneLine(body []byte) (line []byte, m message, err error) {
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, m, err
	}
	line = append(line, strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' { // only between tokens: in a text they are escaped
			return ' '
		}
		return r
	}, string(body))...)
	return line, m, nil
}

func localURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && local(u.Host)
}

func local(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && ip.IsLoopback()
}

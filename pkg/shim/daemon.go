package shim

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"pfsensemcp/pkg/jsonline"
)

// serve sends what waits, lets new requests through and carries mcpd's lines
// to the client until the connection ends.
func (s *Shim) serve(ctx context.Context, l *link) error {
	stop := context.AfterFunc(ctx, l.close)
	defer stop()
	flushed := make(chan struct{})
	go func() { // beside the reading, so that neither side can hold the other up
		defer close(flushed)
		s.flush(l)
	}()
	err := s.receive(l)
	l.close()
	<-flushed
	s.mu.Lock()
	s.link = nil
	s.mu.Unlock()
	if l.refusal != "" {
		return l.refusal
	}
	return err
}

// flush sends the waiting lines in order, then lets requests through.
func (s *Shim) flush(l *link) {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.link, s.queue, s.queued = l, nil, 0
			s.mu.Unlock()
			return
		}
		it := s.queue[0]
		s.queue = s.queue[1:]
		s.queued -= len(it.line)
		said := false
		switch {
		case it.call == nil:
			said = l.notified // by the renewed handshake
			l.notified = true
		case it.call.timer != nil:
			it.call.timer.Stop()
			fallthrough
		default:
			it.call.sent = true
		}
		s.mu.Unlock()
		if said {
			continue
		}
		if !l.send(it.line) {
			if it.call != nil {
				s.mu.Lock()
				it.call.sent = false
				s.mu.Unlock()
			}
			l.close()
			return
		}
	}
}

var errClosed = errors.New("mcpd closed the connection")

// receive carries mcpd's lines until the connection ends. Only whole, checked
// messages reach the client.
func (s *Shim) receive(l *link) error {
	for {
		line, err := l.in.Next()
		if errors.Is(err, jsonline.ErrTooLong) {
			return errors.New("mcpd sent a line over 4 MiB")
		}
		if err != nil {
			return errClosed
		}
		m, err := jsonline.Parse(line)
		if err != nil {
			return errors.New("what listens at " + l.path + " does not speak MCP")
		}
		if l.noteRefusal(m) {
			continue
		}
		l.useful = true
		s.arrived(l)
		if m.Kind == jsonline.Response && !m.ID.IsZero() {
			s.fromDaemon(line, m)
			continue
		}
		s.out.line(append(bytes.Clone(line), '\n'))
	}
}

// arrived notes that mcpd is there.
func (s *Shim) arrived(l *link) {
	s.mu.Lock()
	back := s.reached && s.outage != ""
	s.reached, s.started, s.outage = true, true, ""
	s.mu.Unlock()
	if back {
		s.note("connected to %s again", l.path)
	}
}

// fromDaemon hands an answer to the call it belongs to. One that nobody waits
// for, because the client gave the call up, is dropped.
func (s *Shim) fromDaemon(line []byte, m jsonline.Message) {
	s.mu.Lock()
	c := s.calls[m.ID.Key()]
	if c == nil {
		s.mu.Unlock()
		return
	}
	s.closeCall(c)
	if c.method == methodInitialize && !s.hello.answered {
		if m.Error == nil {
			s.hello.answered = true
			s.hello.version = versionOf(m)
		} else {
			s.hello = handshake{}
		}
	}
	s.mu.Unlock()
	switch {
	case m.ID.Raw() == c.id.Raw():
		s.answer(c, append(bytes.Clone(line), '\n'))
	case m.Error == nil: // the same id, written differently
		s.answer(c, jsonline.AppendResult(nil, c.id, m.Result))
	default:
		s.answer(c, jsonline.AppendError(nil, c.id, jsonline.CodeInternal, "mcpd answered with an error under another form of the id", nil))
	}
}

// lost answers what was outstanding when a connection ended, or what waited for
// one that could not be made, and keeps what the next daemon can still do.
func (s *Shim) lost(err error, joined bool) {
	s.mu.Lock()
	first := s.outage == ""
	s.outage = plain(err.Error())
	var dead []*call
	for _, c := range s.calls {
		switch {
		case slices.ContainsFunc(s.queue, func(it item) bool { return it.call == c }):
		case c.line != nil:
			s.again(c)
		default:
			dead = append(dead, c)
		}
	}
	text := s.outage
	s.mu.Unlock()
	if first {
		s.note("%s", text)
	}
	for _, c := range dead {
		s.fail(c, classRestarting, "mcpd is restarting; the connection was lost while this call was running, and it was not sent again")
	}
	// A refused session is not worth waiting for; an attempt that failed ends the
	// patience of the hasty. A subscription waits on.
	if _, refused := errors.AsType[refusal](err); !joined || refused {
		s.failQueue(func(c *call) bool { return c.hasty || refused && c.method != methodListen })
	}
}

// again puts a call that may be repeated in front of the queue: the handshake
// first, then subscriptions. s.mu is held.
func (s *Shim) again(c *call) {
	c.sent = false
	front := []item{{c.line, c}}
	at := 0
	if c.method == methodInitialize {
		if s.hello.notified {
			front = append(front, item{[]byte(initializedLine), nil})
		}
	} else if len(s.queue) > 0 && s.queue[0].call != nil && s.queue[0].call.method == methodInitialize {
		at = min(2, len(s.queue))
	}
	for _, it := range front {
		s.queued += len(it.line)
	}
	s.queue = slices.Insert(s.queue, at, front...)
	s.arm(c)
}

// plain makes a peer's words fit for a terminal and a log.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), 300)]
}

// versionOf returns the protocol version in the answer to initialize.
func versionOf(m jsonline.Message) string {
	v, ok := jsonline.Member(m.Result, "protocolVersion")
	if !ok {
		return ""
	}
	return jsonline.Text(v)
}

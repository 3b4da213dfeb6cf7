package shim

import (
	"bytes"
	"errors"

	"pfsensemcp/pkg/jsonline"
)

// The methods that the shim knows; all others are carried as they are.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
	methodPing        = "ping"
	methodListen      = "subscriptions/listen"
)

// initializedLine ends the handshake.
const initializedLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// fromClient takes one line of the client.
func (s *Shim) fromClient(line []byte) {
	members, isBatch, err := jsonline.Split(line)
	if isBatch {
		s.takeBatch(members, err)
		return
	}
	s.takeMessage(line, nil)
}

// takeMessage takes one message, alone or as a member of a batch.
func (s *Shim) takeMessage(line []byte, b *batch) {
	m, err := jsonline.Parse(line)
	if err != nil {
		s.refuse(err, b)
		return
	}
	switch m.Kind {
	case jsonline.Request:
		s.takeRequest(line, m, b)
	case jsonline.Notification:
		s.takeNotification(line, m)
	case jsonline.Response:
		s.mu.Lock()
		l := s.link
		s.mu.Unlock()
		if l != nil { // an answer to a daemon that is gone concerns nobody
			l.send(line)
		}
	}
}

// refuse answers a line that is no message.
func (s *Shim) refuse(err error, b *batch) {
	f, ok := errors.AsType[*jsonline.Fault](err)
	if !ok {
		f = &jsonline.Fault{Code: jsonline.CodeInternal, Text: "internal error"}
	}
	s.answer(&call{id: f.ID, batch: b}, jsonline.AppendError(nil, f.ID, f.Code, f.Text, nil))
}

func (s *Shim) takeRequest(line []byte, m jsonline.Message, b *batch) {
	c := &call{id: m.ID, method: m.Method, batch: b}
	s.mu.Lock()
	if s.calls[m.ID.Key()] != nil {
		s.mu.Unlock()
		// Nobody can tell which of two calls an answer with this id belongs to.
		s.refuse(&jsonline.Fault{Code: jsonline.CodeInvalidRequest, Text: "the id is that of a call without an answer"}, b)
		return
	}
	if m.Method == methodPing && s.link == nil && s.hello.answered {
		s.mu.Unlock()
		// The client asks whether this process lives.
		s.answer(c, jsonline.AppendResult(nil, m.ID, []byte("{}")))
		return
	}
	if m.Method == methodInitialize && !s.hello.answered {
		s.hello = handshake{params: bytes.Clone(m.Params)}
	}
	if m.Method == methodInitialize && !s.hello.answered || m.Method == methodListen {
		c.line = bytes.Clone(line)
	}
	s.calls[m.ID.Key()] = c
	l := s.link
	if l == nil {
		full := !s.enqueue(line, c)
		s.mu.Unlock()
		if full {
			s.fail(c, classBusy, "too much waits for mcpd; wait for an answer before asking more")
			return
		}
		s.wake()
		return
	}
	c.sent = true
	s.mu.Unlock()
	if !l.send(line) {
		s.mu.Lock()
		c.sent = false // an incomplete line is never acted on
		s.mu.Unlock()
		l.close()
	}
}

func (s *Shim) takeNotification(line []byte, m jsonline.Message) {
	var b *batch
	s.mu.Lock()
	l := s.link
	switch m.Method {
	case methodInitialized:
		s.hello.notified = true
		if l == nil {
			s.enqueue(line, nil)
		} else {
			l.notified = true
		}
	case methodCancelled:
		b = s.forget(m)
	}
	s.mu.Unlock()
	if l != nil {
		l.send(line)
	}
	if b != nil {
		s.settle(b, nil)
	}
}

// forget drops the call that the client gave up: it gets no answer. It returns
// the batch that the call came in. s.mu is held.
func (s *Shim) forget(m jsonline.Message) *batch {
	id, ok := cancelledID(m.Params)
	if !ok {
		return nil
	}
	c := s.calls[id.Key()]
	if c == nil || c.method == methodInitialize {
		return nil
	}
	delete(s.calls, id.Key())
	s.dequeue(c)
	s.stopIfIdle()
	return c.batch
}

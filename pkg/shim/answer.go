package shim

import (
	"bytes"
	"encoding/json/jsontext"

	"pfsensemcp/pkg/jsonline"
)

// The classes of the errors that the shim itself answers with, as data.class.
const (
	classRestarting  = "restarting"  // mcpd was there, is not now, and will be
	classUnreachable = "unreachable" // mcpd was never reached
	classBusy        = "busy"
)

// fail answers c with a typed error. outcome tells the client whether the call
// can have been carried out: only what was never sent is safely asked again. A
// call that was answered, or given up by the client, meanwhile gets nothing.
func (s *Shim) fail(c *call, class, text string) {
	s.mu.Lock()
	outcome := "not_sent"
	if c.sent {
		outcome = "unknown"
	}
	if s.calls[c.id.Key()] != c {
		s.mu.Unlock()
		return
	}
	s.closeCall(c)
	s.mu.Unlock()
	data := `{"class":"` + class + `","outcome":"` + outcome + `"}`
	s.answer(c, jsonline.AppendError(nil, c.id, jsonline.CodeUnavailable, text, []byte(data)))
}

// answer gives the client the answer to c, in its batch where it came in one.
func (s *Shim) answer(c *call, line []byte) {
	if c.batch != nil {
		s.settle(c.batch, line)
	} else {
		s.out.line(line)
	}
	s.mu.Lock()
	if c.closing {
		s.closing--
	}
	s.stopIfIdle()
	s.mu.Unlock()
}

// batch is a JSON array of messages, which the client wants answered by one
// array. Only protocol versions before 2025-06-18 know it, so it ends here:
// mcpd takes one message a line.
type batch struct {
	left  int      // members without an answer
	parts [][]byte // answers
}

// takeBatch takes the members of a batch one by one.
func (s *Shim) takeBatch(members []jsontext.Value, err error) {
	s.mu.Lock()
	version := s.hello.version
	s.mu.Unlock()
	if err == nil && (version == "" || version >= "2025-06-18") {
		err = &jsonline.Fault{Code: jsonline.CodeInvalidRequest, Text: "this protocol version has no batches: send one message a line"}
	}
	if err == nil && len(members) > maxQueued {
		err = &jsonline.Fault{Code: jsonline.CodeInvalidRequest, Text: "the batch has more than 256 messages"}
	}
	if err != nil {
		s.refuse(err, nil)
		return
	}
	// One more than members, so that early answers cannot complete it.
	b := &batch{left: 1}
	for _, v := range members {
		m, err := jsonline.Parse(v)
		if err != nil || m.Kind == jsonline.Request {
			s.mu.Lock()
			b.left++
			s.mu.Unlock()
		}
		s.takeMessage(v, b)
	}
	s.settle(b, nil)
}

// settle counts a member as done, with its answer or without, and writes the
// array after the last.
func (s *Shim) settle(b *batch, line []byte) {
	s.mu.Lock()
	b.left--
	if line != nil {
		b.parts = append(b.parts, bytes.TrimSuffix(line, []byte("\n")))
	}
	var out []byte
	if b.left == 0 && len(b.parts) > 0 {
		out = append(out, '[')
		out = append(out, bytes.Join(b.parts, []byte(","))...)
		out = append(out, "]\n"...)
	}
	s.mu.Unlock()
	if out != nil {
		s.out.line(out)
	}
}

// cancelledID returns the id that a cancellation names.
func cancelledID(params jsontext.Value) (jsonline.ID, bool) {
	if params == nil {
		return jsonline.ID{}, false
	}
	v, ok := jsonline.Member(params, "requestId")
	if !ok {
		return jsonline.ID{}, false
	}
	return jsonline.ParseID(v)
}

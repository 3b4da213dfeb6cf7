package session

import (
	"bytes"
	"context"
	"errors"
	"net"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/jsonline"
)

// Error is a protocol error in our own words. Any other error that the SDK
// answers with keeps its code and gets a fixed text: its own text may quote the
// peer or name Go types.
type Error struct {
	Code int
	Text string
	Data []byte // one JSON value on one line; nil for none
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// texts are the messages for the codes of the SDK's own errors.
var texts = map[int64]string{
	jsonline.CodeMethodNotFound:        "this server does not know the method",
	jsonline.CodeInvalidParams:         "the params do not fit the method",
	jsonline.CodeInvalidRequest:        "the request does not fit the session; a session begins with initialize",
	mcp.CodeUnsupportedProtocolVersion: "this protocol version is not supported",
}

var errPeerGone = errors.New("the peer does not read")

// Write sends a message of the SDK: an answer under the id that the client
// wrote, or a notification.
func (c *Conn) Write(_ context.Context, msg jsonrpc.Message) error {
	switch m := msg.(type) {
	case *jsonrpc.Response:
		return c.answer(m)
	case *jsonrpc.Request:
		if m.ID.IsValid() {
			return &Error{Code: jsonline.CodeInternal, Text: "clients are asked nothing"}
		}
		line := jsonline.AppendRequest(nil, jsonline.ID{}, m.Method, m.Params)
		if m.Method == listChanged {
			c.tellChange(line)
			return nil
		}
		return c.writeLine(line)
	}
	return &Error{Code: jsonline.CodeInternal, Text: "internal error"}
}

// listChanged tells a client that tools/list would be answered otherwise now.
const listChanged = "notifications/tools/list_changed"

// tellChange sends the line of a listChanged to a peer that can expect one: it
// has ended its handshake, or has subscribed. It does not wait: the SDK tells
// one session after the other, and a peer that does not read must not keep the
// news from the rest. While one is on its way a second says nothing new.
func (c *Conn) tellChange(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	expects := c.initialized
	for _, call := range c.calls {
		expects = expects || call.Method == "subscriptions/listen"
	}
	if !expects || c.closed || c.telling {
		return
	}
	c.telling = true
	go func() {
		c.wmu.Lock()
		defer c.wmu.Unlock()
		c.mu.Lock()
		c.telling = false // its turn has come: a change from here on is told again
		c.mu.Unlock()
		_ = c.writeLocked(line) // a peer that is gone or stuck loses the session there
	}()
}

// answer writes a response and counts its call out.
func (c *Conn) answer(m *jsonrpc.Response) error {
	call := c.find(m.ID)
	if call == nil {
		// Every request that the SDK saw is in the table until it is answered.
		c.log.Error("an answer belongs to no call")
		return nil
	}
	line := call.render(m)
	c.wmu.Lock()
	defer c.wmu.Unlock()
	// Counted out when its turn to be written has come: answers that wait for a
	// slow reader still count, and a client that has read one may ask again.
	cancelled, last := c.countOut(call)
	if last {
		defer c.Close()
	}
	if cancelled {
		return nil
	}
	return c.writeLocked(line)
}

func (c *Conn) find(id jsonrpc.ID) *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls { // at most MaxCalls
		if call.sdkID == id {
			return call
		}
	}
	return nil
}

// countOut ends a call. cancelled says that its client gave it up, so that it
// gets no answer; last, that it was what a draining session waited for.
func (c *Conn) countOut(call *Call) (cancelled, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[call.ID.Key()] == call {
		delete(c.calls, call.ID.Key())
		if call.big {
			c.seat.giveBig()
		}
	}
	return call.cancelled, c.draining && c.idle()
}

// render returns the line that answers the call.
func (call *Call) render(m *jsonrpc.Response) []byte {
	if m.Error != nil {
		return call.renderError(m.Error)
	}
	if call.body == nil {
		return jsonline.AppendResult(nil, call.ID, m.Result)
	}
	hole := []byte(`"content":[]`)
	if call.Method == "tools/list" {
		hole = []byte(`"tools":[]`)
	}
	before, after, ok := bytes.Cut(m.Result, hole)
	if !ok {
		call.conn.log.Error("the MCP library writes results in another form")
		return call.renderError(errors.New("no hole"))
	}
	line := make([]byte, 0, len(before)+len(call.body)+len(after)+64)
	line = append(line, `{"jsonrpc":"2.0","id":`...)
	line = append(line, call.ID.Raw()...)
	line = append(line, `,"result":`...)
	line = append(line, before...)
	line = append(line, call.body...)
	line = append(line, after...)
	return append(line, "}\n"...)
}

func (call *Call) renderError(err error) []byte {
	if e, ok := errors.AsType[*Error](err); ok {
		return jsonline.AppendError(nil, call.ID, e.Code, e.Text, e.Data)
	}
	w, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || w.Code == 0 { // how the SDK refuses what does not fit the session's state
		w = &jsonrpc.Error{Code: jsonline.CodeInvalidRequest}
	}
	text, ok := texts[w.Code]
	if !ok {
		data := append([]byte(`{"class":"internal","request_id":`), jsonline.AppendText(nil, call.RequestID)...)
		return jsonline.AppendError(nil, call.ID, jsonline.CodeInternal, "internal error", append(data, '}'))
	}
	var data []byte
	if w.Code == mcp.CodeUnsupportedProtocolVersion {
		data = w.Data // the versions; clients choose by them
	}
	return jsonline.AppendError(nil, call.ID, int(w.Code), text, data)
}

func (c *Conn) writeError(id jsonline.ID, code int, text, data string) error {
	var d []byte
	if data != "" {
		d = []byte(data)
	}
	return c.writeLine(jsonline.AppendError(nil, id, code, text, d))
}

// writeLine sends one whole line.
func (c *Conn) writeLine(line []byte) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	return c.writeLocked(line)
}

// writeLocked sends one whole line; a peer that does not take it in time loses
// the session, because half a line can be followed by nothing.
func (c *Conn) writeLocked(line []byte) error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(writeBlocked)); err != nil {
		return errPeerGone
	}
	if _, err := c.nc.Write(line); err != nil {
		_ = c.Close()
		return errPeerGone
	}
	return nil
}

// toolError returns the result of a tool call that was refused here.
func toolError(text, data string) []byte {
	out := []byte(`{"content":[{"type":"text","text":`)
	out = jsonline.AppendText(out, text+"\n"+data)
	return append(out, `}],"isError":true}`...)
}

// Refuse tells a peer why it gets no session and closes the connection. It
// answers no message: the shim and a person with a terminal read it as it is.
func Refuse(nc net.Conn, e *errs.Error) {
	text := e.Msg
	if e.Next != "" {
		text += "; " + e.Next
	}
	data := append([]byte(`{"class":`), jsonline.AppendText(nil, e.Class)...)
	data = append(data, `,"session":"refused"}`...)
	if nc.SetWriteDeadline(time.Now().Add(refuseWithin)) == nil {
		_, _ = nc.Write(jsonline.AppendError(nil, jsonline.ID{}, jsonline.CodeUnavailable, text, data))
	}
	_ = nc.Close()
}

// refuseWithin bounds the farewell: the line fits into any socket's buffer, so that
// only a host too busy to begin with it could come to the end of this.
const refuseWithin = writeBlocked

// Package session owns one MCP session on mcp.sock: the lines, their bounds,
// and the answers as they leave.
//
// It stands between a socket and the SDK: mcp.Connection on one side, jsonline
// on the other. mcpserver alone imports it. It must never hand the SDK
// anything that it has not checked and counted, nor let any text of the SDK or
// of an unexpected error out.
//
// The attacks it stops: a member of the socket's group who skips the shim and
// sends 4 GiB lines, a thousand sessions, calls without end, or nothing at all,
// or who never reads its answers, so that mcpd's memory ends and with it
// everybody's sessions; an answer under another id than the one asked with;
// and a line that means two things to two parsers.
package session

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/rpc"
)

// The bounds of one session.
const (
	MaxCalls     = 8                // requests without an answer
	firstMessage = 30 * time.Second // from the accept to the first message
	halfLine     = 30 * time.Second // from the first byte of a line to its end
	writeBlocked = 10 * time.Second // for a peer that does not read
)

// methods are the requests that are handed to the SDK. Any other is answered
// with -32601 here.
var methods = map[string]bool{
	"initialize":               true,
	"ping":                     true,
	"server/discover":          true,
	"tools/list":               true,
	"tools/call":               true,
	"resources/list":           true,
	"resources/templates/list": true,
	"resources/read":           true,
	"prompts/list":             true,
	"prompts/get":              true,
	"completion/complete":      true,
	"subscriptions/listen":     true,
}

// bare says whether a method that is of no use without params came without. The
// SDK refuses it as it refuses a request at the wrong time, and a client would
// be told to begin with initialize.
func bare(m jsonline.Message) bool {
	switch m.Method {
	case "initialize", "tools/call", "resources/read", "prompts/get", "completion/complete":
		return m.Params == nil
	}
	return false
}

// Conn is one session. It is its own mcp.Transport and mcp.Connection.
type Conn struct {
	// Plain, when set, says whether calls of a tool may come as PlainCall. Set it
	// before the first Read.
	Plain func(tool string) bool

	nc   net.Conn
	in   *jsonline.Reader
	seat *Seat
	log  *slog.Logger

	wmu sync.Mutex // held while a line is written

	mu          sync.Mutex
	calls       map[string]*Call // by id
	initialized bool             // notifications/initialized was passed on
	heard       bool             // a first message came
	draining    bool
	closed      bool
	big         bool // the line being read holds a big slot
	telling     bool // a listChanged waits for its turn to be written
}

// New returns the session of an admitted connection. Leave gives the seat back;
// an error has given it back already.
func New(nc net.Conn, seat *Seat, log *slog.Logger) (*Conn, error) {
	c := &Conn{nc: nc, seat: seat, log: log, in: jsonline.NewReader(nc), calls: make(map[string]*Call)}
	c.in.Whole = true
	c.in.Big = func() bool { c.big = seat.takeBig(); return c.big }
	c.in.Begun = func() { c.readDeadline(halfLine) }
	c.in.Ended = func() { c.readDeadline(0) }
	if err := nc.SetReadDeadline(time.Now().Add(firstMessage)); err != nil {
		c.Leave() // nobody else will
		return nil, err
	}
	return c, nil
}

// Connect implements mcp.Transport.
func (c *Conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements mcp.Connection; our sessions are numbered, and the
// number is for us alone.
func (c *Conn) SessionID() string { return "" }

// readDeadline bounds a half-sent line, or lifts the bound. Until the first
// message came its own deadline stands.
func (c *Conn) readDeadline(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.heard {
		return
	}
	var t time.Time
	if d > 0 {
		t = time.Now().Add(d)
	}
	_ = c.nc.SetReadDeadline(t) // a closed connection says so on the next read
}

// Read returns the next message for the SDK. What is wrong, unknown or too much
// is answered here and does not end the session.
func (c *Conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := c.in.Next()
		if err != nil {
			c.dropBig()
		}
		switch {
		case errors.Is(err, jsonline.ErrTooLong):
			err = c.writeError(jsonline.ID{}, jsonline.CodeInvalidRequest, "the line is longer than 4 MiB and was not read", `{"class":"too_long","limit_bytes":4194304}`)
		case errors.Is(err, jsonline.ErrNoRoom):
			err = c.writeError(jsonline.ID{}, jsonline.CodeUnavailable, "too many large messages are being read; send this one again later", `{"class":"busy"}`)
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = c.writeError(jsonline.ID{}, jsonline.CodeUnavailable, "no whole message came within 30 s; the session ends", `{"class":"timeout"}`)
			return nil, io.EOF
		case err != nil:
			return nil, io.EOF
		default:
			var msg jsonrpc.Message
			if msg, err = c.take(line); msg != nil {
				return msg, nil
			}
		}
		if err != nil {
			return nil, io.EOF
		}
	}
}

// dropBig gives back the slot of a big line that was not read to its end. Only
// the reading goroutine, and Leave after it, may call it.
func (c *Conn) dropBig() {
	if c.big {
		c.big = false
		c.seat.giveBig()
	}
}

// take checks one line. It returns the message for the SDK, or nil when there
// is none, and an error only when the session is over.
func (c *Conn) take(line []byte) (jsonrpc.Message, error) {
	held := c.big
	c.big = false
	defer func() {
		if held {
			c.seat.giveBig()
		}
	}()
	m, err := jsonline.Parse(line)
	if err != nil {
		f, ok := errors.AsType[*jsonline.Fault](err)
		if !ok {
			f = &jsonline.Fault{Code: jsonline.CodeInternal, Text: "internal error"}
		}
		return nil, c.writeError(f.ID, f.Code, f.Text, "")
	}
	c.mu.Lock()
	if !c.heard {
		c.heard = true
		_ = c.nc.SetReadDeadline(time.Time{})
	}
	c.mu.Unlock()
	switch m.Kind {
	case jsonline.Notification:
		return c.notification(m), nil
	case jsonline.Response:
		return nil, nil // we ask the client nothing
	}
	if !methods[m.Method] {
		return nil, c.writeError(m.ID, jsonline.CodeMethodNotFound, "this server does not know the method", "")
	}
	if bare(m) {
		return nil, c.writeError(m.ID, jsonline.CodeInvalidParams, "the params do not fit the method", "")
	}
	call := &Call{
		ID: m.ID, Method: m.Method, RequestID: rpc.NewRequestID(),
		conn: c, sdkID: sdkID(m.ID), params: append([]byte(nil), m.Params...), big: held,
	}
	if code, text, data := c.register(call); code != 0 {
		id := m.ID
		if code == jsonline.CodeInvalidRequest {
			id = jsonline.ID{} // the id belongs to the call that has it
		} else if m.Method == "tools/call" {
			return nil, c.writeLine(jsonline.AppendResult(nil, id, toolError(text, data)))
		}
		return nil, c.writeError(id, code, text, data)
	}
	held = false // the call holds it now
	req := &jsonrpc.Request{
		ID: call.sdkID, Method: m.Method, Params: call.params,
		Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{callKey: call}}},
	}
	if c.Plain != nil && m.Method == "tools/call" {
		if tool, args, ok := plain(call.params); ok && c.Plain(tool) {
			call.Tool, call.Args = tool, args
			req.Method, req.Params = PlainCall, nil
		}
	}
	return req, nil
}

// register counts a call in, or says why not.
func (c *Conn) register(call *Call) (code int, text, data string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.calls[call.ID.Key()] != nil:
		return jsonline.CodeInvalidRequest, "the id is that of a call without an answer", ""
	case c.draining:
		return jsonline.CodeUnavailable, "mcpd is restarting; this call was not carried out, try again in a moment", `{"class":"restarting","outcome":"not_sent"}`
	case len(c.calls) >= MaxCalls:
		return jsonline.CodeUnavailable, "8 calls of this session are running; wait for an answer before asking more", `{"class":"busy","limit":8}`
	}
	c.calls[call.ID.Key()] = call
	return 0, "", ""
}

// notification passes on what the SDK acts on: the end of the handshake, once,
// and the cancellation of a call that is running. The rest could only pile up.
func (c *Conn) notification(m jsonline.Message) jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m.Method {
	case "notifications/initialized":
		if c.initialized {
			return nil
		}
		c.initialized = true
		return &jsonrpc.Request{Method: m.Method}
	case "notifications/cancelled":
		raw, ok := jsonline.Member(m.Params, "requestId")
		if !ok {
			return nil
		}
		id, _ := jsonline.ParseID(raw)
		call := c.calls[id.Key()]
		if call == nil || call.cancelled || call.Method == "initialize" {
			return nil
		}
		call.cancelled = true
		// The SDK looks the call up by the id that it was given.
		return &jsonrpc.Request{Method: m.Method, Params: append(append([]byte(`{"requestId":`), sdkIDText(call.sdkID)...), '}')}
	}
	return nil
}

// Drain ends the session in good order: calls that run get their answers,
// for d at most, new ones are told to come back.
func (c *Conn) Drain(d time.Duration) {
	c.mu.Lock()
	c.draining = true
	idle := c.idle()
	c.mu.Unlock()
	if idle {
		_ = c.Close()
		return
	}
	time.AfterFunc(d, func() { _ = c.Close() })
}

// idle says whether no answer is owed; c.mu is held. A subscription is owed
// none.
func (c *Conn) idle() bool {
	for _, call := range c.calls {
		if call.Method != "subscriptions/listen" {
			return false
		}
	}
	return true
}

// Close implements mcp.Connection.
func (c *Conn) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if !first {
		return nil
	}
	return c.nc.Close()
}

// Leave gives back everything that the session holds. Call it once the SDK is
// done with it.
func (c *Conn) Leave() {
	_ = c.Close()
	c.dropBig()
	c.mu.Lock()
	for key, call := range c.calls {
		delete(c.calls, key)
		if call.big {
			c.seat.giveBig()
		}
	}
	c.mu.Unlock()
	c.seat.leave()
}

package session

import (
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/jsonline"
)

// Call is one request that runs.
type Call struct {
	ID        jsonline.ID
	Method    string
	RequestID string // ours, for logs and other daemons

	Tool string // of a PlainCall
	Args []byte // of a PlainCall: one JSON object; nil when there are none

	conn      *Conn
	sdkID     jsonrpc.ID
	params    []byte
	body      []byte // see Reply
	cancelled bool   // guarded by conn.mu
	big       bool   // it holds one of the slots for big lines
}

const callKey = "call"

// CallOf returns the call that a handler of the SDK serves; nil when the
// request did not come through a Conn.
func CallOf(extra *mcp.RequestExtra) *Call {
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	c, _ := extra.TokenInfo.Extra[callKey].(*Call)
	return c
}

// Reply sets what stands in the result in place of the empty list that the
// handler returns: for tools/call the members from "content" on, for tools/list
// the member "tools". So a result is rendered once, by us, and not decoded and
// encoded again by every layer of the SDK; integers stay what they are.
func (c *Call) Reply(members []byte) { c.body = members }

// Param returns a member of the request's params as it was written.
func (c *Call) Param(name string) ([]byte, bool) { return jsonline.Member(c.params, name) }

// Progress tells the client how far the call is; token is its progress token
// as it was written. A peer that does not read ends the session, not the call.
func (c *Call) Progress(token []byte, done int, text string) {
	line := append([]byte(`{"progressToken":`), token...)
	line = append(line, `,"progress":`...)
	line = strconv.AppendInt(line, int64(done), 10)
	line = append(line, `,"message":`...)
	line = jsonline.AppendText(line, text)
	line = append(line, '}')
	_ = c.conn.writeLine(jsonline.AppendRequest(nil, jsonline.ID{}, "notifications/progress", line))
}

// sdkID returns the id under which the SDK knows a call. Its own ids hold an
// int64 made from a float64, or a text; an integer that would not survive that
// becomes a text that no client's text id equals by accident. What is echoed is
// never this id but the bytes that the client wrote.
func sdkID(id jsonline.ID) jsonrpc.ID {
	const exact = 1 << 53
	var v any = "\x00" + id.Key()
	if n, ok := id.Int(); ok && -exact <= n && n <= exact {
		v = float64(n)
	} else if s, ok := id.Text(); ok {
		v = s
	}
	out, err := jsonrpc.MakeID(v)
	if err != nil {
		return jsonrpc.ID{} // not possible for a float64 or a string
	}
	return out
}

// sdkIDText returns an id of the SDK as JSON.
func sdkIDText(id jsonrpc.ID) []byte {
	switch v := id.Raw().(type) {
	case int64:
		return strconv.AppendInt(nil, v, 10)
	case string:
		return jsonline.AppendText(nil, v)
	}
	return []byte("null")
}

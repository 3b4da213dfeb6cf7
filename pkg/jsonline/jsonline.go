// Package jsonline owns the frame of our JSON-RPC: one message a line, read and
// written the same way by everybody who touches one.
//
// It holds the bounds of a line, the one parser of a message's envelope, the
// request id that is echoed byte for byte, and the encoders of answers. The
// shim, mcpserver and test clients may import it; it imports no package of
// ours, keeps no state between lines and never looks inside params or results.
//
// The attacks it stops: a request that two readers understand differently
// (duplicate keys, a second byte-order mark, a line end inside a frame, an id
// that changes on its way), and a line that costs more memory or stack than
// it is worth. Two parsers that differ in such a point would be a way round
// every check behind the first one, so there is only this one.
package jsonline

// The bounds of every line, in either direction.
const (
	MaxLine  = 4 << 20 // bytes without the line end; the largest honest answer is well under 1 MiB
	MaxDepth = 32      // nesting of objects and arrays; honest calls need under ten
	MaxID    = 1024    // bytes of a request id as written; it is kept and echoed
)

// The error codes of JSON-RPC, and ours from its range for implementations.
const (
	CodeParse          = -32700 // not JSON
	CodeInvalidRequest = -32600 // JSON, but not a message we take
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeUnavailable    = -32050 // cannot be done now; data.class says why
	CodeExpired        = -32051 // did not end in time
)

// Fault says why a line is no message. Text is ours and safe to send back; ID
// is the request id where the line still shows one beyond doubt.
type Fault struct {
	Code int
	Text string
	ID   ID
}

// Error returns the text.
func (f *Fault) Error() string { return f.Text }

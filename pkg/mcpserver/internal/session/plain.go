package session

import (
	"bytes"
	"encoding/json/jsontext"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/jsonline"
)

// PlainCall is the method under which the SDK gets a tools/call that needs nothing
// of its reading: it has no params, and Call.Tool and Call.Args say what is called.
// The SDK keeps what it is there for, the state of the session, the order of
// answers and cancellation. It decodes the params of a call twice, each time into a
// fresh buffer of 32 KiB, and that was 85 % of the bytes that a call allocated. A
// client cannot send this method: methods does not have it.
const PlainCall = "pfsense/plain_tools_call"

// plain reads the params of a tools/call. It reports false for all that is not
// beyond doubt one of a session with a handshake: any member but name, arguments
// and _meta, any other type than theirs, and a _meta that names a protocol
// version. Those are for the SDK to read, and to refuse.
func plain(params jsontext.Value) (name string, args []byte, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(params))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return "", nil, false
	}
	for dec.PeekKind() == '"' {
		member, err := dec.ReadToken()
		if err != nil {
			return "", nil, false
		}
		what := member.String()
		v, err := dec.ReadValue()
		if err != nil {
			return "", nil, false
		}
		switch {
		case what == "name" && v.Kind() == '"':
			name, ok = jsonline.Text(v), true
		case what == "arguments" && v.Kind() == '{':
			args = v // the decoder reads from params themselves
		case what == "_meta" && v.Kind() == '{':
			if _, found := jsonline.Member(v, mcp.MetaKeyProtocolVersion); found {
				return "", nil, false
			}
		default:
			return "", nil, false
		}
	}
	return name, args, ok
}

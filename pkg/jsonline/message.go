package jsonline

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"io"
)

// Kind says what a message is.
type Kind uint8

// The kinds of message.
const (
	Request      Kind = iota // wants an answer
	Notification             // wants none
	Response                 // answers a request
)

// Message is the envelope of one line. The raw values point into the line and
// are valid as long as it is.
type Message struct {
	Kind   Kind
	ID     ID             // of a request or response; zero for a notification and for a response to nobody
	Method string         // of a request or notification
	Params jsontext.Value // nil when absent
	Result jsontext.Value // of a response that is no error
	Error  jsontext.Value // of a response that is one
}

// Parse reads the envelope of one line and checks all of it: one JSON object
// in UTF-8, no duplicate key at any depth, nesting of at most MaxDepth, version
// 2.0, an id that can be echoed. The error is always a *Fault.
func Parse(line []byte) (Message, error) {
	if tooDeep(line) {
		return Message{}, &Fault{CodeInvalidRequest, "the message nests deeper than 32 levels", findID(line)}
	}
	m, version, idRaw, err := scan(line)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return Message{}, &Fault{CodeInvalidRequest, "the message has a duplicate key", findID(line)}
	case errors.Is(err, errNotObject):
		return Message{}, &Fault{Code: CodeInvalidRequest, Text: "a message is one JSON object"}
	case err != nil:
		// A model's text that was cut within a character, say: whoever waits for
		// the answer to that id would wait for ever.
		if id := findID(line); !id.IsZero() && jsontext.Value(line).IsValid(lenient...) {
			return Message{}, &Fault{CodeInvalidRequest, "a text in the message is not whole UTF-8", id}
		}
		return Message{}, &Fault{Code: CodeParse, Text: "the line is not JSON"}
	}
	hasMethod := m.Method != ""
	if idRaw != nil {
		id, ok := ParseID(idRaw)
		// A response to nobody carries null: that is how a peer reports a line
		// whose id it could not read.
		if !ok && (hasMethod || m.Error == nil || string(idRaw) != "null") {
			return Message{}, &Fault{Code: CodeInvalidRequest, Text: "the id must be an integer or a text"}
		}
		m.ID = id
	}
	switch {
	case version != "2.0":
		return Message{}, &Fault{CodeInvalidRequest, `the message lacks "jsonrpc":"2.0"`, m.ID}
	case hasMethod && (m.Result != nil || m.Error != nil):
		return Message{}, &Fault{CodeInvalidRequest, "the message is request and response at once", m.ID}
	case hasMethod && m.Params != nil && m.Params.Kind() != '{':
		return Message{}, &Fault{CodeInvalidRequest, "params must be an object", m.ID}
	case hasMethod && idRaw != nil:
		m.Kind = Request
	case hasMethod:
		m.Kind = Notification
	case (m.Result == nil) == (m.Error == nil) || idRaw == nil:
		return Message{}, &Fault{CodeInvalidRequest, "the message is neither a request nor a response", m.ID}
	default:
		m.Kind = Response
	}
	return m, nil
}

// lenient reads what is JSON but for its names and texts.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

var (
	errNotObject = errors.New("not an object")
	errTrailing  = errors.New("more than one value")
	errType      = errors.New("wrong type")
)

// scan reads the top-level members in one pass; jsontext checks syntax, UTF-8
// and duplicate keys of everything it skips. idRaw is nil when there is no id.
func scan(line []byte) (m Message, version string, idRaw jsontext.Value, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(line))
	if dec.PeekKind() != '{' {
		if err := dec.SkipValue(); err != nil {
			return m, "", nil, err
		}
		return m, "", nil, errNotObject
	}
	if _, err := dec.ReadToken(); err != nil {
		return m, "", nil, err
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return m, "", nil, err
		}
		name := tok.String()
		val, err := dec.ReadValue()
		if err != nil {
			return m, "", nil, err
		}
		// The decoder reads from the line itself (bytes.Buffer), so values stay
		// valid after the next read.
		switch name {
		case "jsonrpc":
			version = Text(val)
		case "id":
			idRaw = val
		case "method":
			if m.Method = Text(val); m.Method == "" {
				m.Method = "\x00" // present and unusable: no method has this name
			}
		case "params":
			if val.Kind() != 'n' {
				m.Params = val
			}
		case "result":
			m.Result = val
		case "error":
			m.Error = val
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return m, "", nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return m, "", nil, errTrailing
	}
	return m, version, idRaw, nil
}

// Text returns the value of a JSON string, "" for anything else.
func Text(v jsontext.Value) string {
	s, err := unquote(v)
	if err != nil {
		return ""
	}
	return s
}

func unquote(v jsontext.Value) (string, error) {
	if v.Kind() != '"' {
		return "", errType
	}
	b, err := jsontext.AppendUnquote(nil, []byte(v))
	return string(b), err
}

// tooDeep says whether the line nests deeper than MaxDepth. It counts brackets
// outside strings before any parser recurses; a line that is not JSON gets its
// verdict from the parser.
func tooDeep(line []byte) bool {
	depth, inText := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// findID looks for the one top-level id of a refused line, so that a client
// waiting for that id hears of the refusal. Two ids, or none, give the zero ID.
func findID(line []byte) (id ID) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(line), lenient...)
	if dec.PeekKind() != '{' {
		return ID{}
	}
	if _, err := dec.ReadToken(); err != nil {
		return ID{}
	}
	seen := false
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return ID{}
		}
		name := tok.String()
		val, err := dec.ReadValue()
		if err != nil || name == "id" && seen {
			return ID{}
		}
		if name == "id" {
			seen = true
			id, _ = ParseID(val)
		}
	}
	return id
}

// Split returns the messages of a batch: a line that is a JSON array. ok is
// false for any other line. The members are not checked: Parse each. A batch
// that is no JSON, nests too deep or has a duplicate key is a *Fault, and so is
// an empty one.
func Split(line []byte) (members []jsontext.Value, ok bool, err error) {
	if len(line) == 0 || line[0] != '[' {
		return nil, false, nil
	}
	if tooDeep(line) {
		return nil, true, &Fault{Code: CodeInvalidRequest, Text: "the batch nests deeper than 32 levels"}
	}
	if v := jsontext.Value(line); !v.IsValid() {
		if v.IsValid(jsontext.AllowDuplicateNames(true)) {
			return nil, true, &Fault{Code: CodeInvalidRequest, Text: "the batch has a duplicate key"}
		}
		return nil, true, &Fault{Code: CodeParse, Text: "the line is not JSON"}
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(line))
	if _, err := dec.ReadToken(); err != nil {
		return nil, true, &Fault{Code: CodeParse, Text: "the line is not JSON"}
	}
	for dec.PeekKind() != ']' {
		val, err := dec.ReadValue()
		if err != nil {
			return nil, true, &Fault{Code: CodeParse, Text: "the line is not JSON"}
		}
		members = append(members, val)
	}
	if len(members) == 0 {
		return nil, true, &Fault{Code: CodeInvalidRequest, Text: "the batch is empty"}
	}
	return members, true, nil
}

// Member returns the value of the first member called name of a JSON object,
// pointing into it; false when there is none or obj is no object.
func Member(obj jsontext.Value, name string) (jsontext.Value, bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(obj))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, false
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		found := tok.String() == name
		val, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		if found {
			return val, true
		}
	}
	return nil, false
}

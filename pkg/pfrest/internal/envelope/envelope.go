// Package envelope owns the outside bytes of an answer: reading them within a
// limit, and checking pfREST's envelope before anybody looks at the data in it.
// Only pfrest may import it; it imports nothing of ours.
//
// It never copies data and never quotes it. The attacks it stops: an answer that
// exhausts our memory; half an answer, two answers, or one that says its status
// twice, taken for data.
package envelope

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"io"
	"slices"
)

// maxMembers bounds the members of an envelope: pfREST sends five or six.
const maxMembers = 16

// linkKey marks a row as made with the HATEOAS setting on, as does a member of
// that name in the envelope. A JSON text cannot contain it outside of a member
// name: its quotes would be escaped there.
const linkKey = `"_links":`

// Envelope is what pfREST wraps around data. Places are offsets [from, to) in the
// parsed body.
type Envelope struct {
	Code  int      // three digits; the caller compares it with the HTTP status
	ID    string   // response_id, of [A-Z0-9_]{1,80}
	Data  [2]int   // an object or a list
	List  bool     // which of them
	Rows  [][2]int // the entries of a list, when split was asked for
	Links bool     // the HATEOAS setting is on
}

// Parser reads envelopes. It is meant to be used again and again; not by two
// goroutines at once.
type Parser struct {
	dec  jsontext.Decoder
	src  bytes.Buffer
	rows [][2]int
}

// errEnvelope is the one cause of every refusal here: what exactly was wrong is
// text of the appliance's body, which nobody sees.
var errEnvelope = errors.New("not an envelope")

// Parse checks the whole body: one JSON object without duplicate or escaped
// member names, with code, status, response_id and data of the right kinds and
// nothing behind it. Duplicates within data are for the decoder of the data.
// With split the entries of a list are found as well. The result shares memory
// with body and, for Rows, with the parser until its next use.
func (p *Parser) Parse(body []byte, split bool) (Envelope, error) {
	p.src = *bytes.NewBuffer(body)
	p.dec.Reset(&p.src, jsontext.AllowDuplicateNames(true))
	env := Envelope{Rows: p.rows[:0]}
	if t, err := p.dec.ReadToken(); err != nil || t.Kind() != '{' {
		return env, errEnvelope
	}
	var names [maxMembers][]byte
	n := 0
	var has struct{ code, status, id, data bool }
	for p.dec.PeekKind() != '}' {
		name, err := p.dec.ReadValue()
		if err != nil || n == maxMembers || bytes.IndexByte(name, '\\') >= 0 ||
			slices.ContainsFunc(names[:n], func(o []byte) bool { return bytes.Equal(o, name) }) {
			return env, errEnvelope
		}
		names[n], n = name, n+1
		ok := true
		switch string(name) {
		case `"code"`:
			env.Code, ok = p.status()
			has.code = true
		case `"status"`:
			v, err := p.dec.ReadValue()
			ok = err == nil && v.Kind() == '"'
			has.status = true
		case `"response_id"`:
			env.ID, ok = p.id()
			has.id = true
		case `"data"`:
			ok = p.data(&env, split)
			has.data = true
		case `"_links"`:
			env.Links = true
			ok = p.dec.SkipValue() == nil
		default:
			ok = p.dec.SkipValue() == nil
		}
		if !ok {
			return env, errEnvelope
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return env, errEnvelope
	}
	if _, err := p.dec.ReadToken(); err != io.EOF { // anything but blanks behind it
		return env, errEnvelope
	}
	p.rows = env.Rows
	if !has.code || !has.status || !has.id || !has.data {
		return env, errEnvelope
	}
	return env, nil
}

// status reads code: exactly three digits.
func (p *Parser) status() (code int, ok bool) {
	v, err := p.dec.ReadValue()
	if err != nil || len(v) != 3 {
		return 0, false
	}
	for _, b := range v {
		if b < '0' || b > '9' {
			return 0, false
		}
		code = code*10 + int(b-'0')
	}
	return code, true
}

// id reads a response_id: 1 to 80 of A-Z, 0-9 and _, which is what may stand in
// a log line.
func (p *Parser) id() (string, bool) {
	v, err := p.dec.ReadValue()
	if err != nil || v.Kind() != '"' || len(v) < 3 || len(v) > 82 {
		return "", false
	}
	v = v[1 : len(v)-1]
	for _, b := range v {
		if (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '_' {
			return "", false
		}
	}
	if string(v) == "SUCCESS" {
		return "SUCCESS", true // without allocating: nearly every answer
	}
	return string(v), true
}

// data reads an object or a list; of a list the place of every entry if asked.
func (p *Parser) data(env *Envelope, split bool) bool {
	k := p.dec.PeekKind()
	env.List = k == '['
	if !env.List && k != '{' {
		return false
	}
	if !env.List || !split {
		v, err := p.dec.ReadValue()
		if err != nil {
			return false
		}
		end := int(p.dec.InputOffset())
		env.Data = [2]int{end - len(v), end}
		return true
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return false
	}
	env.Data[0] = int(p.dec.InputOffset()) - 1
	for p.dec.PeekKind() != ']' {
		v, err := p.dec.ReadValue()
		if err != nil {
			return false
		}
		end := int(p.dec.InputOffset())
		if len(env.Rows) == 0 {
			env.Links = env.Links || bytes.Contains(v, []byte(linkKey))
		}
		env.Rows = append(env.Rows, [2]int{end - len(v), end})
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return false
	}
	env.Data[1] = int(p.dec.InputOffset())
	return true
}

// Cut makes, in place, a list of at most n rows from the offset-th on out of the
// whole list that came because limit and offset were ignored.
func Cut(body []byte, e Envelope, offset, n int) [2]int {
	rows := e.Rows[min(offset, len(e.Rows)):]
	rows = rows[:min(n, len(rows))]
	if len(rows) == 0 {
		body[e.Data[0]+1] = ']'
		return [2]int{e.Data[0], e.Data[0] + 2}
	}
	// Before the first row stands [ or a comma, behind the last a comma or ].
	from, to := rows[0][0]-1, rows[len(rows)-1][1]
	body[from], body[to] = '[', ']'
	return [2]int{from, to + 1}
}

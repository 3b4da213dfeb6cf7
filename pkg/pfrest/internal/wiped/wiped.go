// Package wiped owns what an answer would leave behind in buffers that are not
// ours: the one in which crypto/tls decrypts, and the one in which net/http reads
// heads. Only tlsdial may import it; it imports nothing of ours.
//
// It sees every byte that the appliance sends and must never keep one, change one
// that somebody here reads, or wait for more than was asked.
//
// The attack it stops: a secret that no model names, in an answer or in a header
// of it, that lies in the process's memory long after the call, for whoever gets
// hold of a core image, a swapped page or a snapshot of the machine. What it
// cannot reach is a connection that ends: its two buffers stay as the last answer
// left them until their memory is used again.
package wiped

import (
	"bytes"
	"net"
	"sync/atomic"
)

// ReadBuffer is the size of the read buffer, in bytes, that net/http must have
// on a connection of Answers.
const ReadBuffer = 4 << 10

// recordHeader is type, version and length of a TLS record.
const recordHeader = 5

// records is a connection below TLS.
type records struct {
	net.Conn
	head [recordHeader]byte
	have int // of head
	left int // bytes of the record's content that have not been read
}

// Records returns c for crypto/tls. Each read empties the room that it is given,
// all of which a reader may use: when crypto/tls waits for the next answer that
// is its whole buffer. And it never reads on into the next record: when the
// buffer has to grow, what is left behind is not decrypted yet.
func Records(c net.Conn) net.Conn { return &records{Conn: c} }

func (r *records) Read(p []byte) (int, error) {
	clear(p)
	want := r.left
	if want == 0 {
		want = recordHeader - r.have
	}
	n, err := r.Conn.Read(p[:min(len(p), want)])
	if r.left > 0 {
		r.left -= n
		return n, err
	}
	if r.have += copy(r.head[r.have:], p[:n]); r.have == recordHeader {
		r.have, r.left = 0, int(r.head[3])<<8|int(r.head[4])
	}
	return n, err
}

// part is where in an answer the next byte stands.
type part uint8

const (
	body   part = iota // or before the first request
	status             // the status line
	line               // at the start of a header line
	name
	value
)

// statusKept are the bytes of a status line before its text: HTTP/1.1 200.
const statusKept = 12

// answers is a connection above TLS.
type answers struct {
	net.Conn
	asked atomic.Bool // a request was begun: the next byte read begins an answer

	at   part
	keep bool // the value is one that is read here
	name [24]byte
	n    int // bytes of name, or of the status line
}

// Answers returns c for net/http, which asks one thing at a time on it. Each read
// empties net/http's buffer as Records does crypto/tls's. In heads it blanks the
// status text and every value that nobody here reads: net/http makes strings of
// them, which nothing can wipe.
func Answers(c net.Conn) net.Conn { return &answers{Conn: c} }

func (a *answers) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("GET ")) {
		a.asked.Store(true)
	}
	return a.Conn.Write(p)
}

func (a *answers) Read(p []byte) (int, error) {
	if len(p) <= ReadBuffer { // a longer one is the body's own, wiped by its owner
		clear(p)
	}
	n, err := a.Conn.Read(p)
	if n > 0 && a.asked.CompareAndSwap(true, false) {
		a.at, a.n = status, 0
	}
	for i := 0; i < n && a.at != body; i++ {
		p[i] = a.step(p[i])
	}
	return n, err
}

// step returns what to pass on for the next byte of a head: itself or a blank.
func (a *answers) step(b byte) byte {
	if b == '\n' {
		if a.at == line {
			a.at = body
		} else {
			a.at = line
		}
		return b
	}
	switch a.at {
	case status:
		if a.n++; a.n > statusKept && b != '\r' {
			return ' '
		}
	case line:
		switch b {
		case '\r':
		case ' ', '\t': // the value before goes on
			a.at = value
		default:
			a.at, a.n = name, 0
			a.add(b)
		}
	case name:
		if b != ':' {
			a.add(b)
			break
		}
		a.at, a.keep = value, a.read()
	case value:
		if !a.keep && b != '\r' {
			return ' '
		}
	}
	return b
}

// add appends a byte to the name; one that is too long is none that is read.
func (a *answers) add(b byte) {
	if a.n < len(a.name) {
		a.name[a.n] = b
		a.n++
	}
}

// read says whether the header is one that net/http or pfrest reads.
func (a *answers) read() bool {
	for _, h := range [...]string{"content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "date"} {
		if len(h) == a.n && bytes.EqualFold(a.name[:a.n], []byte(h)) {
			return true
		}
	}
	return false
}

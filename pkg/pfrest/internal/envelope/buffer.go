package envelope

import (
	"errors"
	"io"
)

const (
	minBuffer = 16 << 10
	maxKept   = 1 << 20 // a buffer that grew beyond is not kept
	keptRows  = 4 << 10 // nor are places of more rows
)

// ErrTooLarge says that an answer has more bytes than the limit.
var ErrTooLarge = errors.New("the answer exceeds the limit")

// Wipe overwrites a body, its unused part included. An answer holds whatever the
// appliance sent, also what no model names: nothing of it may outlive its use.
func Wipe(body []byte) { clear(body[:cap(body)]) }

// ReadBody reads all of r into buf from its start, growing it as needed; memory
// that it grows out of is wiped. ErrTooLarge means that there were more than
// limit bytes; what was read is returned with every error.
func ReadBody(buf []byte, r io.Reader, limit int) ([]byte, error) {
	buf = buf[:0]
	for {
		if len(buf) == cap(buf) {
			more := make([]byte, len(buf), cap(buf)+max(minBuffer, len(buf)))
			copy(more, buf)
			Wipe(buf)
			buf = more
		}
		// One byte more than the limit may be read, to see that there are more.
		n, err := r.Read(buf[len(buf):min(cap(buf), limit+1)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit:
			return buf[:limit], ErrTooLarge
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}

// Buffer is the memory of one answer: its bytes and its parser.
type Buffer struct {
	Body   []byte
	Parser Parser
}

// Pool keeps the memory of a few answers, no more than requests in flight: a
// walk over any number of pages uses one.
type Pool struct{ free chan *Buffer }

// NewPool returns a pool that keeps at most n buffers, each of at most 1 MiB.
func NewPool(n int) *Pool { return &Pool{free: make(chan *Buffer, n)} }

// Take returns a buffer, which Give takes back.
func (p *Pool) Take() *Buffer {
	select {
	case b := <-p.free:
		return b
	default:
		return new(Buffer)
	}
}

// Give takes a buffer back and wipes it; nothing of it may be used afterwards.
func (p *Pool) Give(b *Buffer) {
	Wipe(b.Body)
	if cap(b.Body) > maxKept {
		b.Body = nil
	}
	if cap(b.Parser.rows) > keptRows {
		b.Parser.rows = nil
	}
	select {
	case p.free <- b:
	default:
	}
}

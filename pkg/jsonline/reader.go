package jsonline

import (
	"bytes"
	"errors"
	"io"
)

// What Next returns for a line that it skipped. The stream is still good.
var (
	ErrTooLong = errors.New("the line is longer than 4 MiB")
	ErrNoRoom  = errors.New("too many large messages at once")
)

const (
	smallBuf = 4 << 10 // what an idle reader holds

	// BigLine is the size from which a line needs Reader.Big's consent.
	BigLine = 64 << 10
)

// Reader cuts a stream into lines. It holds at most MaxLine bytes and a line
// end, and little while idle.
type Reader struct {
	// Whole drops an unterminated last line. Set it where the peer is a process
	// that can die in the middle of a write; leave it where `printf` may forget
	// the last line end.
	Whole bool
	// Big, when set, is asked once when a line outgrows BigLine; false skips the
	// line as ErrNoRoom. It bounds what many readers hold together. What it
	// grants is the caller's to take back.
	Big func() bool
	// Begun, when set, is called when the first byte of a line is there and the
	// line is not, and Ended when a line begun so is complete or given up: the
	// place for a deadline on half-sent lines.
	Begun, Ended func()

	src        io.Reader
	buf        []byte
	start, end int  // unread bytes
	seen       int  // bytes from start that hold no line end
	begun      bool // Begun was called
	granted    bool // Big was asked for the present line
	skip       bool // the rest of the present line is thrown away
	first      bool // nothing was returned yet
	err        error
}

// NewReader returns a Reader on src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, first: true}
}

// Next returns the next line that is not blank, without its end, valid until
// the next call. A byte-order mark at the very start is dropped, one only. It
// returns ErrTooLong or ErrNoRoom once for a line it will skip, and then the
// source's error, io.EOF at its end.
func (r *Reader) Next() ([]byte, error) {
	r.shrink()
	for {
		if i := bytes.IndexByte(r.buf[r.start+r.seen:r.end], '\n'); i >= 0 {
			line := r.buf[r.start : r.start+r.seen+i]
			r.start += r.seen + i + 1
			skipped, granted := r.skip, r.granted
			r.lineEnded()
			switch {
			case skipped:
				continue
			case len(line) > MaxLine:
				return nil, ErrTooLong
			case len(line) > BigLine && !granted && r.Big != nil && !r.Big():
				return nil, ErrNoRoom
			}
			if line = r.trim(line); len(line) > 0 {
				return line, nil
			}
			continue
		}
		r.seen = r.end - r.start
		if r.skip {
			r.start, r.end, r.seen = 0, 0, 0
			r.shrink() // the rest may take its time to come, without consent for the room
		}
		if r.err != nil {
			return r.last()
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// last returns an unterminated line at the end of the source, then the error.
func (r *Reader) last() ([]byte, error) {
	line, skipped := r.buf[r.start:r.end], r.skip
	r.start, r.end = 0, 0
	r.lineEnded()
	if skipped || r.Whole || !errors.Is(r.err, io.EOF) {
		return nil, r.err
	}
	if line = r.trim(line); len(line) > 0 {
		return line, nil
	}
	return nil, r.err
}

// fill reads once, after making room. It returns only the errors that concern
// one line.
func (r *Reader) fill() error {
	have := r.end - r.start
	if have > 0 && !r.begun && r.Begun != nil {
		r.begun = true
		r.Begun()
	}
	switch {
	case have > MaxLine:
		r.skip = true
		return ErrTooLong
	case have > BigLine && !r.granted && r.Big != nil:
		r.granted = true
		if !r.Big() {
			r.skip = true
			return ErrNoRoom
		}
	}
	if r.start > 0 {
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, have
	}
	if r.end == len(r.buf) {
		size := min(max(2*len(r.buf), smallBuf), MaxLine+2)
		grown := make([]byte, size)
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	// No more than BigLine at a time: what stands behind a big line is then small
	// enough for the buffer to be given back.
	n, err := r.src.Read(r.buf[r.end:min(len(r.buf), r.end+BigLine)])
	r.end += n
	r.err = err
	return nil
}

func (r *Reader) lineEnded() {
	r.seen, r.granted, r.skip = 0, false, false
	if r.begun {
		r.begun = false
		if r.Ended != nil {
			r.Ended()
		}
	}
}

// shrink gives a large buffer back. What is left may be the beginning of the next
// line, and gets a buffer of a size that needs no consent.
func (r *Reader) shrink() {
	left := r.end - r.start
	if len(r.buf) <= BigLine || left > BigLine {
		return
	}
	size := smallBuf
	for size < left {
		size *= 2
	}
	small := make([]byte, size)
	copy(small, r.buf[r.start:r.end])
	r.buf, r.start, r.end = small, 0, left
}

// trim drops blanks on both sides and the byte-order mark that some editors
// and shells put in front of a stream.
func (r *Reader) trim(line []byte) []byte {
	if r.first {
		r.first = false
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return bytes.Trim(line, " \t\r")
}

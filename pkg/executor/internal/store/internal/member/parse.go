package member

import (
	"errors"
	"math"

	"pfsensemcp/pkg/canon"
)

var errForm = errors.New("the row is not in its canonical form")

// maxDepth bounds nesting; rows have two levels.
const maxDepth = 4

// Parse reads the canonical form of a row: what canon.DecodeExact takes, less all
// that no row holds (escapes, text beyond ASCII, deep nesting). It exists because a
// start verifies every row: it costs a fifth of the general decoder.
func Parse(b []byte) (canon.Object, error) {
	p := parser{b: b}
	o := p.object(0)
	if p.bad || p.at != len(b) {
		return nil, errForm
	}
	return o, nil
}

type parser struct {
	b   []byte
	at  int
	bad bool
}

// next takes one byte that must be there.
func (p *parser) next(c byte) {
	if p.at >= len(p.b) || p.b[p.at] != c {
		p.bad = true
		return
	}
	p.at++
}

func (p *parser) peek() byte {
	if p.at >= len(p.b) {
		p.bad = true
		return 0
	}
	return p.b[p.at]
}

func (p *parser) object(depth int) canon.Object {
	o := make(canon.Object, 16)
	last := ""
	if p.next('{'); p.bad || depth >= maxDepth {
		p.bad = true
		return nil
	}
	for first := true; !p.bad; first = false {
		if p.peek() == '}' && first {
			p.at++
			return o
		}
		k := p.text()
		if !first && k <= last {
			p.bad = true // out of order, or twice
		}
		p.next(':')
		if p.bad {
			return nil
		}
		o[k], last = p.value(depth), k
		if p.peek() == ',' {
			p.at++
			continue
		}
		p.next('}')
		return o
	}
	return nil
}

func (p *parser) array(depth int) canon.Array {
	a := canon.Array{}
	if p.next('['); p.bad || depth >= maxDepth {
		p.bad = true
		return nil
	}
	if p.peek() == ']' {
		p.at++
		return a
	}
	for !p.bad {
		a = append(a, p.value(depth))
		if p.peek() == ',' {
			p.at++
			continue
		}
		p.next(']')
		break
	}
	return a
}

func (p *parser) value(depth int) any {
	switch c := p.peek(); {
	case c == '"':
		return p.text()
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.array(depth + 1)
	case c >= '0' && c <= '9':
		return p.number()
	case c == 'n':
		p.word("null")
		return nil
	case c == 't':
		p.word("true")
		return true
	case c == 'f':
		p.word("false")
		return false
	}
	p.bad = true
	return nil
}

func (p *parser) word(w string) {
	for i := range len(w) {
		p.next(w[i])
	}
}

// text takes printable ASCII without quote and backslash.
func (p *parser) text() string {
	p.next('"')
	from := p.at
	for p.at < len(p.b) && p.b[p.at] != '"' {
		if c := p.b[p.at]; c < 0x20 || c >= 0x7f || c == '\\' {
			p.bad = true
			return ""
		}
		p.at++
	}
	s := string(p.b[from:p.at])
	if p.next('"'); len(s) > canon.MaxText {
		p.bad = true
	}
	return s
}

// number takes a number without sign: rows hold no other.
func (p *parser) number() int64 {
	n, from := int64(0), p.at
	for p.at < len(p.b) && p.b[p.at] >= '0' && p.b[p.at] <= '9' {
		d := int64(p.b[p.at] - '0')
		if n > (math.MaxInt64-d)/10 {
			p.bad = true
			return 0
		}
		n = n*10 + d
		p.at++
	}
	if p.b[from] == '0' && p.at > from+1 {
		p.bad = true
	}
	return n
}

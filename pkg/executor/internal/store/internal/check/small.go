package check

import (
	"encoding/hex"
	"strings"

	"pfsensemcp/pkg/executor/internal/store/record"
)

// A verification remembers something of every contract there ever was, in a daemon
// whose memory is bounded: ids and digests are kept as the bytes they stand for, words
// once each.

// name is a random id without its prefix. Ids of one kind have one prefix.
type name [16]byte

// nameOf returns what stands for an id; ok is false for none.
func nameOf(id string) (n name, ok bool) {
	_, digits, _ := strings.Cut(id, "-")
	if len(digits) != 2*len(n) {
		return n, false
	}
	_, err := hex.Decode(n[:], []byte(digits))
	return n, err == nil
}

// digest is a digest; the zero value is none and equals no row's.
type digest [32]byte

func digestOf(s string) (d digest) {
	if len(s) != 2*len(d) {
		return digest{}
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return digest{}
	}
	return d
}

// word returns the one copy of a word of a closed list.
func (c *checker) word(s string) string {
	w, ok := c.words[s]
	if !ok {
		w = strings.Clone(s)
		c.words[w] = w
	}
	return w
}

// seen is what the chain says of one contract, and what became of its rows.
type seen struct {
	state        record.State
	version      int64
	request      name
	digest, send digest // of its row and its row of sends
	target       digest // by its row
	released     bool
	sent         bool // a row of sends is to be met
	known, told  bool // its row and its row of results were met
	unlike       bool // one of them says something else
}

// asked is what the chain says of one request, and what became of its rows.
type asked struct {
	status   string
	previews int64
	known    bool // its row was met
	unlike   bool // it, or its preview's, says something else
}

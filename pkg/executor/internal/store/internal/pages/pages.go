// Package pages owns one question: may bbolt be let loose on this file. It reads
// the pages itself, with bounds, before bbolt maps them.
//
// Only the store's opening calls it. It must never map the file, follow a page
// twice, or read behind the end.
//
// The attack it stops: a page number, size or offset that was changed. bbolt trusts
// them: it would leave its mapping (which ends the process by a signal), walk in a
// circle, overwrite pages that are in use because the list of free ones names them,
// or miss a row because a branch key sends it the wrong way. The content of rows is
// not its concern: that has MACs.
package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
)

const (
	magic      = 0xED0CDAED
	version    = 2
	header     = 16 // page: id 8, flags 2, count 2, overflow 4
	element    = 16 // of a leaf: flags, pos, ksize, vsize; of a branch: pos, ksize, page 8
	bucketHead = 16 // root 8, sequence 8
	metaSize   = 64
	maxDepth   = 64

	flagBranch   = 1
	flagLeaf     = 2
	flagMeta     = 4
	flagFreelist = 16

	noFreelist = 1<<64 - 1
)

var native = binary.NativeEndian

// Damage says which rule the file breaks.
type Damage struct{ Rule string }

// Error returns the rule.
func (d *Damage) Error() string { return d.Rule }

func damaged(rule string) error { return &Damage{rule} }

// Found is what a sound file shows.
type Found struct {
	PageSize int
	Buckets  []string
	Rows     int64 // in all buckets, for who counts how far a walk over them is
	// Fallback says that the newer of the two meta pages is not readable, so that
	// the file stands one transaction back: a write was cut off, or the page was
	// changed.
	Fallback bool
}

// meta is one of the two roots.
type meta struct {
	pageSize             uint32
	root, freelist, high uint64
	txid                 uint64
}

// parseMeta reads a root. Like bbolt it goes by the content alone: a check that chose
// another root than bbolt will would say nothing.
func parseMeta(page []byte) (meta, bool) {
	b := page[header : header+metaSize]
	h := fnv.New64a()
	h.Write(b[:metaSize-8])
	if native.Uint32(b) != magic || native.Uint32(b[4:]) != version || native.Uint64(b[metaSize-8:]) != h.Sum64() {
		return meta{}, false
	}
	return meta{
		pageSize: native.Uint32(b[8:]), root: native.Uint64(b[16:]), freelist: native.Uint64(b[32:]),
		high: native.Uint64(b[40:]), txid: native.Uint64(b[48:]),
	}, true
}

type walker struct {
	r     io.ReaderAt
	size  uint64 // of a page
	high  uint64 // pages in use end here
	seen  []bool
	saw   func(done, total int64) error
	done  int64 // pages that were seen
	found Found
}

// Check reads the file of the given length, in which pages have the given size. A
// broken rule is a *Damage; anything else is a failure to read. Saw, if not nil, is told
// after each page how many of how many were seen, and ends the check with its error.
func Check(r io.ReaderAt, length int64, pageSize int, saw func(done, total int64) error) (Found, error) {
	if length < int64(4*pageSize) || length%int64(pageSize) != 0 {
		return Found{}, damaged("the file is not made of whole pages")
	}
	w := &walker{r: r, size: uint64(pageSize), saw: saw}
	var good []meta
	for id := range uint64(2) {
		p, err := w.read(id*w.size, w.size)
		if err != nil {
			return Found{}, err
		}
		// The header never changes, so no cut-off write can leave another one.
		if native.Uint64(p) != id || native.Uint16(p[8:]) != flagMeta {
			return Found{}, damaged("a root of the file is not where it should be")
		}
		if m, ok := parseMeta(p); ok {
			if uint64(m.pageSize) != w.size {
				return Found{}, damaged("the pages of the file have another size")
			}
			good = append(good, m)
		}
	}
	if len(good) == 0 {
		return Found{}, damaged("no root of the file is readable")
	}
	m := good[0]
	if len(good) == 2 && good[1].txid > m.txid {
		m = good[1]
	}
	if m.high > uint64(length)/w.size || m.high < 3 {
		return Found{}, damaged("the file is shorter than its root says")
	}
	w.found = Found{PageSize: pageSize, Fallback: len(good) < 2}
	w.high, w.seen = m.high, make([]bool, m.high)
	w.seen[0], w.seen[1], w.done = true, true, 2
	if err := w.free(m.freelist); err != nil {
		return Found{}, err
	}
	if err := w.tree(m.root, 0, nil, nil, true); err != nil {
		return Found{}, err
	}
	for _, s := range w.seen {
		if !s {
			return Found{}, damaged("a page is neither in use nor free")
		}
	}
	return w.found, nil
}

func (w *walker) read(at, n uint64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := w.r.ReadAt(b, int64(at)); err != nil {
		return nil, err
	}
	return b, nil
}

// page reads a page with what overflows it and marks it as used.
func (w *walker) page(id uint64) (p []byte, flags, count int, err error) {
	if id < 2 || id >= w.high {
		return nil, 0, 0, damaged("a page number is out of range")
	}
	if p, err = w.read(id*w.size, w.size); err != nil {
		return nil, 0, 0, err
	}
	over := uint64(native.Uint32(p[12:]))
	if native.Uint64(p) != id || over >= w.high || id+over >= w.high {
		return nil, 0, 0, damaged("a page is not the one it should be")
	}
	for i := id; i <= id+over; i++ {
		if w.seen[i] {
			return nil, 0, 0, damaged("a page is used twice")
		}
		w.seen[i] = true
		w.done++
	}
	if w.saw != nil {
		if err := w.saw(w.done, int64(w.high)); err != nil {
			return nil, 0, 0, err
		}
	}
	if over > 0 {
		if p, err = w.read(id*w.size, (over+1)*w.size); err != nil {
			return nil, 0, 0, err
		}
	}
	return p, int(native.Uint16(p[8:])), int(native.Uint16(p[10:])), nil
}

// free reads the list of free pages.
func (w *walker) free(id uint64) error {
	if id == noFreelist {
		return damaged("the list of free pages is missing")
	}
	p, flags, count, err := w.page(id)
	if err != nil {
		return err
	}
	ids, n := p[header:], uint64(count)
	if flags == flagFreelist && count == 0xFFFF {
		n, ids = native.Uint64(ids), ids[8:]
	}
	if flags != flagFreelist || n > uint64(len(ids))/8 {
		return damaged("the list of free pages is malformed")
	}
	for i := range n {
		f := native.Uint64(ids[i*8:])
		if f < 2 || f >= w.high || w.seen[f] {
			return damaged("a page is free and in use")
		}
		w.seen[f] = true
		w.done++
	}
	return nil
}

// tree checks a page and what is below it: keys ascend from least, below most.
func (w *walker) tree(id uint64, depth int, least, most []byte, root bool) error {
	if depth > maxDepth {
		return damaged("the pages are nested too deeply")
	}
	p, flags, count, err := w.page(id)
	if err != nil {
		return err
	}
	return w.elements(p, flags, count, depth, least, most, root)
}

func (w *walker) elements(p []byte, flags, count, depth int, least, most []byte, root bool) error {
	if flags != flagBranch && flags != flagLeaf || flags == flagBranch && count == 0 || header+count*element > len(p) {
		return damaged("a page is of no known kind")
	}
	type one struct {
		key, value []byte
		bucket     bool
		child      uint64
	}
	all := make([]one, count)
	for i := range all {
		at := header + i*element
		e := p[at:]
		var pos, ksize, vsize uint64
		if flags == flagBranch {
			pos, ksize, all[i].child = uint64(native.Uint32(e)), uint64(native.Uint32(e[4:])), native.Uint64(e[8:])
		} else {
			if f := native.Uint32(e); f > 1 || f == 1 && !root {
				return damaged("an entry is of no known kind")
			} else {
				all[i].bucket = f == 1
			}
			pos, ksize, vsize = uint64(native.Uint32(e[4:])), uint64(native.Uint32(e[8:])), uint64(native.Uint32(e[12:]))
		}
		from := uint64(at) + pos
		if pos < element || from+ksize+vsize > uint64(len(p)) || ksize == 0 {
			return damaged("an entry reaches out of its page")
		}
		all[i].key, all[i].value = p[from:from+ksize], p[from+ksize:from+ksize+vsize]
		if i > 0 && bytes.Compare(all[i-1].key, all[i].key) >= 0 ||
			i == 0 && least != nil && bytes.Compare(least, all[0].key) > 0 ||
			most != nil && bytes.Compare(all[i].key, most) >= 0 {
			return damaged("the keys are out of order")
		}
	}
	if flags == flagLeaf && !root {
		w.found.Rows += int64(count)
	}
	for i, e := range all {
		var err error
		switch {
		case flags == flagBranch:
			next := most
			if i+1 < len(all) {
				next = all[i+1].key
			}
			err = w.tree(e.child, depth+1, e.key, next, root)
		case root && !e.bucket:
			err = damaged("a row stands outside of every bucket")
		case e.bucket:
			w.found.Buckets = append(w.found.Buckets, string(e.key))
			err = w.bucket(e.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket checks a bucket, which may be inline.
func (w *walker) bucket(v []byte) error {
	if len(v) < bucketHead {
		return damaged("a bucket has no root")
	}
	if root := native.Uint64(v); root != 0 {
		return w.tree(root, 0, nil, nil, false)
	}
	in := v[bucketHead:]
	if len(in) < header {
		return damaged("a bucket has no page")
	}
	if native.Uint64(in) != 0 || native.Uint16(in[8:]) != flagLeaf || native.Uint32(in[12:]) != 0 {
		return damaged("a bucket has no page of its own")
	}
	return w.elements(in, flagLeaf, int(native.Uint16(in[10:])), 0, nil, nil, false)
}

// IsDamage says whether err is about the file rather than about reading it.
func IsDamage(err error) bool {
	_, ok := errors.AsType[*Damage](err)
	return ok
}

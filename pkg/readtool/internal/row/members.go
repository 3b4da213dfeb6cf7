package row

import (
	"bytes"
	"encoding/json/jsontext"
)

// Members finds members of a row that is not decoded itself: the id and the
// nested list of a parent, the text of a log line. It is not safe for
// concurrent use.
type Members struct {
	dec  *jsontext.Decoder
	src  bytes.Buffer
	opts []jsontext.Options
}

// NewMembers returns a finder.
func NewMembers() *Members {
	m := &Members{opts: []jsontext.Options{jsontext.AllowDuplicateNames(true)}}
	m.dec = jsontext.NewDecoder(&m.src, m.opts...)
	return m
}

// Find returns the JSON text of the first member of each name, nil for one that
// the object lacks, as slices of raw. It reports false for what is no object.
func (m *Members) Find(raw []byte, into [][]byte, names ...string) bool {
	m.src = *bytes.NewBuffer(raw)
	m.dec.Reset(&m.src, m.opts...)
	clear(into)
	if m.dec.PeekKind() != '{' {
		return false
	}
	if _, err := m.dec.ReadToken(); err != nil {
		return false
	}
	for m.dec.PeekKind() != '}' {
		name, err := m.dec.ReadValue()
		if err != nil {
			return false
		}
		at := -1
		for i, n := range names {
			if into[i] == nil && len(name) == len(n)+2 && string(name[1:len(name)-1]) == n {
				at = i
			}
		}
		v, err := m.dec.ReadValue()
		if err != nil {
			return false
		}
		if at >= 0 {
			end := m.dec.InputOffset()
			into[at] = raw[end-int64(len(v)) : end]
		}
	}
	_, err := m.dec.ReadToken()
	return err == nil
}

// Entries calls each with the JSON text of every entry of a list until each
// returns false. It reports false for what is no list.
func (m *Members) Entries(raw []byte, each func([]byte) bool) bool {
	m.src = *bytes.NewBuffer(raw)
	m.dec.Reset(&m.src, m.opts...)
	if m.dec.PeekKind() != '[' {
		return false
	}
	if _, err := m.dec.ReadToken(); err != nil {
		return false
	}
	for m.dec.PeekKind() != ']' {
		v, err := m.dec.ReadValue()
		if err != nil {
			return false
		}
		end := m.dec.InputOffset()
		if !each(raw[end-int64(len(v)) : end]) {
			return true
		}
	}
	_, err := m.dec.ReadToken()
	return err == nil
}

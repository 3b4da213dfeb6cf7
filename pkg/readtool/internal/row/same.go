package row

import (
	"bytes"

	"pfsensemcp/pkg/catalog"
)

// Same says whether two decoders hold the same row: equal in every decoded
// field but id and those that change between two reads of an unchanged row.
// Both must be open and of one shape. It serves the check that a list did not
// move under a paged walk, and tells no caller anything about a value.
func Same(a, b *Decoder) bool {
	return same(a, b, a.shape, top, top)
}

func same(a, b *Decoder, s *Shape, oa, ob int32) bool {
	for i := range s.shown {
		f := &s.fields[i]
		if f.Up == "id" || f.Mark&(catalog.Volatile|catalog.Derived) != 0 {
			continue
		}
		ca, cb := oa+1+int32(i), ob+1+int32(i)
		sa := a.shownState(f, oa, ca)
		if sa != b.shownState(f, ob, cb) {
			return false
		}
		if sa != value {
			continue
		}
		x, y := a.cells[ca], b.cells[cb]
		if f.Kind != catalog.Object {
			if !bytes.Equal(a.span(x), b.span(y)) {
				return false
			}
			continue
		}
		na, nb := x.first, y.first
		for na != 0 && nb != 0 {
			if !same(a, b, f.sub, na, nb) {
				return false
			}
			na, nb = a.cells[na].next, b.cells[nb].next
		}
		if na != nb { // one list is longer
			return false
		}
	}
	return true
}

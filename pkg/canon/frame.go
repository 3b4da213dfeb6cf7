package canon

import "encoding/binary"

// Frames returns each part behind its length in four bytes, big-endian, one after
// the other. There is no delimiter, so no byte can move from one part into the
// next without changing the whole. A part is far below four gigabytes: what is
// framed is bounded by MaxBytes or fixed.
func Frames(parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += 4 + len(p)
	}
	out := make([]byte, 0, n)
	for _, p := range parts {
		out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
		out = append(out, p...)
	}
	return out
}

// inDomain frames the domain constant and the parts.
func inDomain(parts ...[]byte) []byte {
	return Frames(append([][]byte{[]byte(Domain)}, parts...)...)
}

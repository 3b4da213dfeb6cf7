package canon

import (
	"fmt"
	"strings"
	"testing"
)

// row is a value of the size and shape of an audit row: the most frequent one.
func row() Object {
	o := Object{"seq": int64(1234), "from": nil, "version": int64(2), "at": "2026-03-14T09:20:00Z", "anchor_value": int64(41), "event": "state_transition"}
	for i := range 12 {
		o[fmt.Sprintf("digest_of_part_%d", i)] = strings.Repeat(string(rune('a'+i%6)), 64)
	}
	return o
}

func BenchmarkEncode(b *testing.B) {
	v := row()
	text, err := Encode(v)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeExact(b *testing.B) {
	text, err := Encode(row())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeExact(text); err != nil {
			b.Fatal(err)
		}
	}
}

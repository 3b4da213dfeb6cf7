package fakepf

import (
	"testing"
)

// BenchmarkPage is one page of 250 rows out of 100,000, at the end, over TLS.
func BenchmarkPage(b *testing.B) {
	s := Start(b, Options{Rules: 100_000})
	c := client(b, s)
	b.ReportAllocs()
	for b.Loop() {
		if r := do(b, c, s, "GET", "/api/v2/firewall/rules?limit=250&offset=99000", "", "Accept-Encoding", "identity"); r.status != 200 {
			b.Fatal(r.status)
		}
	}
}

// BenchmarkStart is a server with 10,000 states, from nothing to listening.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := New(Options{States: 10_000})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

package pfrest

import (
	"crypto/tls"
	"encoding/json/jsontext"
	"io"
	"net/http"
	"strings"
	"testing"
)

// kilobyte is an object answer of 1 KB.
func kilobyte() string { return success(`{"descr":"` + strings.Repeat("x", 940) + `"}`) }

// BenchmarkGet1KB is one small read through the client, to be read against
// BenchmarkNetHTTP1KB, which is net/http's own cost for the same answer.
func BenchmarkGet1KB(b *testing.B) {
	body := kilobyte()
	a := serve(b, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, body) })
	c := a.client(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Get(b.Context(), Caller{}, version, Page{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNetHTTP1KB(b *testing.B) {
	body := kilobyte()
	a := serve(b, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, body) })
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}, Protocols: new(http.Protocols)}
	tr.Protocols.SetHTTP1(true)
	defer tr.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, a.URL+string(version), nil)
		if err != nil {
			b.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
}

// BenchmarkGetParallel1KB has the four slots busy.
func BenchmarkGetParallel1KB(b *testing.B) {
	body := kilobyte()
	a := serve(b, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, body) })
	c := a.client(b)
	eps := []Endpoint{rules, aliases, version}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if _, err := c.Get(b.Context(), Caller{UID: uint32(i % 4)}, eps[i%3], Page{}); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkWalk10000 is a list of 10,000 rows in 41 pages; the server's work of
// making the pages is included.
func BenchmarkWalk10000(b *testing.B) {
	l := number(10_000)
	a := serve(b, l.handle)
	c := a.client(b)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		w, err := c.Walk(b.Context(), Caller{}, rules, WalkOptions{MaxRows: 20_000}, func(jsontext.Value, int) bool { n++; return true })
		if err != nil || n != 10_000 || !w.Complete {
			b.Fatal(n, w, err)
		}
	}
}

package exchange

import "testing"

func BenchmarkBody(b *testing.B) {
	c := Change{Locator: 7, Name: "web_servers", Descr: "DMZ web servers, “front” and <back>"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Body(); err != nil {
			b.Fatal(err)
		}
	}
}

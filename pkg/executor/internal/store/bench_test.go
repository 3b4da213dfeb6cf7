package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// BenchmarkOpen is what a start costs: the whole file is walked and every row
// verified. The contracts are settled, each played from its request to two good
// reads, two hours apart, with a sweep a day. make bench takes its figures from
// here: the quickest start, because the others say how busy the machine is, and the
// size of the file.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("contracts=%d", n), func(b *testing.B) {
			c, size := settled(b, n)
			best := time.Hour
			for b.Loop() {
				begun := time.Now()
				s, err := store.Open(c)
				if err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(begun))
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
			b.ReportMetric(float64(size)/(1<<20), "file-MiB")
		})
	}
}

// settled makes a store of n settled contracts and returns how to open it and the
// size of its file in bytes.
func settled(b *testing.B, n int) (c store.Config, size int64) {
	b.Helper()
	clock := storetest.NewClock()
	c = storetest.Config(b, clock)
	c.Seam = storetest.Unsynced()
	s := storetest.Create(b, c)
	p := storetest.Play{T: b, S: s, Clock: clock, Witness: storetest.Seed().Value}
	for i := range n {
		if _, err := p.Verified(fmt.Sprintf("alias_%d", i%50), fmt.Sprintf("text %d", i)); err != nil {
			b.Fatalf("contract %d: %v", i, err)
		}
		clock.Pass(2 * time.Hour)
		if i%12 != 0 {
			continue
		}
		if _, err := s.Sweep(); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	c.Seam = nil
	files, err := filepath.Glob(filepath.Join(c.Dir, "*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil {
			b.Fatal(err)
		}
		size = max(size, st.Size()) // beside the store's file there are small ones
	}
	return c, size
}

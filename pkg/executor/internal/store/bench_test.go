package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// BenchmarkOpen is the start-up verification of a store with settled contracts: the
// time to open, and the size of the file. With 10,000 of them, which are minutes to
// play and left out by -short, it is to be at most 4,000 ms and 320 MiB. make bench
// takes its figures from here.
func BenchmarkOpen(b *testing.B) {
	for _, contracts := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("contracts=%d", contracts), func(b *testing.B) {
			if testing.Short() && contracts > 1000 {
				b.Skip("short")
			}
			c, size := settled(b, contracts)
			b.ReportAllocs()
			for b.Loop() {
				s, err := store.Open(c)
				if err != nil || s.Integrity() != nil || s.Report().Contracts != contracts {
					b.Fatalf("%v, %v", err, s.Integrity())
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "open-ms")
			b.ReportMetric(float64(size)/(1<<20), "file-MiB")
		})
	}
}

// settled plays contracts into a store and returns how to open it and the bytes of
// its file.
func settled(b *testing.B, contracts int) (store.Config, int64) {
	b.Helper()
	clock := storetest.NewClock()
	c := storetest.Config(b, clock)
	c.Seam = storetest.Unsynced()
	c.Limits.SendsPerHour, c.Limits.SendsPerDay = 20, 40
	p := &storetest.Play{T: b, Clock: clock, Witness: storetest.Seed().Value}
	p.S = storetest.Create(b, c)
	for i := range contracts {
		k, err := p.Verified("web_servers", "DMZ web servers")
		if err != nil {
			b.Fatalf("contract %d: %v", i, err)
		}
		clock.Pass(40 * time.Minute) // behind the limit of attempts a day
		if err := p.S.Look(k.ContractID, record.LookHeld); err != nil {
			b.Fatal(err)
		}
		if i%20 == 19 { // in earnest every minute
			if _, err := p.S.Sweep(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := p.S.Close(); err != nil {
		b.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(c.Dir, "store.db"))
	if err != nil {
		b.Fatal(err)
	}
	c.Seam = nil
	return c, st.Size()
}

// BenchmarkCommit is the smallest transaction: one audit row and the rows that end every
// transaction, written to the disk, and the same without waiting for the disk.
func BenchmarkCommit(b *testing.B) {
	for _, disk := range []bool{true, false} {
		b.Run(fmt.Sprintf("disk=%v", disk), func(b *testing.B) {
			c := storetest.Config(b, storetest.NewClock())
			if !disk {
				c.Seam = storetest.Unsynced()
			}
			s := storetest.Create(b, c)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Note(record.Startup, ""); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkChange is all transactions of a change, from the wish to its proof, without
// waiting for the disk, on a store with others before it.
func BenchmarkChange(b *testing.B) {
	for _, contracts := range []int{10, 1000} {
		b.Run(fmt.Sprintf("contracts=%d", contracts), func(b *testing.B) {
			c, _ := settled(b, contracts)
			clock := c.Clock.(*storetest.Clock)
			c.Seam = storetest.Unsynced()
			s, err := store.Open(c)
			if err != nil {
				b.Fatal(err)
			}
			p := &storetest.Play{T: b, S: s, Clock: clock, Witness: storetest.Seed().Value + int64(contracts)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Verified("web_servers", "DMZ web servers"); err != nil {
					b.Fatal(err)
				}
				clock.Pass(40 * time.Minute)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

package store_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

var (
	contracts = flag.Int("contracts", 0, "let BenchmarkOpen open a store of so many contracts too")
	stores    = flag.String("stores", "", "`directory` where BenchmarkOpen keeps the stores that it played, for the next time")
)

// BenchmarkOpen is the start-up verification of a store with settled contracts: the
// time to open, the most memory beyond the file that it takes, and the size of the file.
// With 10,000 of them, which are minutes to play and left out by -short, it is to be at
// most 4,000 ms and 320 MiB. make bench takes its figures from here.
func BenchmarkOpen(b *testing.B) {
	sizes := []int{10, 100, 1000, 10_000}
	if *contracts > 0 && !slices.Contains(sizes, *contracts) {
		sizes = append(sizes, *contracts)
	}
	for _, contracts := range sizes {
		b.Run(fmt.Sprintf("contracts=%d", contracts), func(b *testing.B) {
			if testing.Short() && contracts > 1000 {
				b.Skip("short")
			}
			c, size := kept(b, contracts)
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
			b.ReportMetric(float64(peak(b, func() {
				s, err := store.Open(c)
				if err == nil {
					err = s.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			}))/(1<<20), "peak-MiB")
		})
	}
}

// peak returns the most memory of its own, without that of files, that the process had
// while f ran, in bytes. It is sampled.
func peak(b *testing.B, f func()) (most int64) {
	b.Helper()
	debug.FreeOSMemory()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			most = max(most, anon(b))
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most
}

func anon(b *testing.B) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Error(err)
	}
	_, after, _ := strings.Cut(string(status), "\nRssAnon:")
	line, _, _ := strings.Cut(after, "kB")
	kib, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		b.Error(err)
	}
	return kib << 10
}

// kept is settled, or a store that an earlier run kept.
func kept(b *testing.B, contracts int) (store.Config, int64) {
	b.Helper()
	if *stores == "" {
		return settled(b, contracts)
	}
	// Any time after the last change will do.
	c := storetest.Config(b, storetest.ClockAt(time.Now().AddDate(100, 0, 0)))
	c.Dir = filepath.Join(*stores, fmt.Sprintf("contracts-%d", contracts))
	file := filepath.Join(c.Dir, "store.db")
	if _, err := os.Stat(file); err != nil {
		played, _ := settled(b, contracts)
		if err := os.Mkdir(c.Dir, 0o700); err != nil {
			b.Fatal(err)
		}
		bytes, err := os.ReadFile(filepath.Join(played.Dir, "store.db"))
		if err == nil {
			err = os.WriteFile(file, bytes, 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	st, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	return c, st.Size()
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

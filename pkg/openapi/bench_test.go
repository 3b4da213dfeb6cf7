package openapi

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"pfsensemcp/test/fakedocs"
)

// The figures that an index of a document of 4 MB must hold.
const (
	mostMillis = 60
	mostPeak   = 24 << 20 // bytes above idle
	mostKept   = 10 << 20
)

// BenchmarkIndex indexes a document of upstream's size: the real one where it is
// there, and one of ours.
func BenchmarkIndex(b *testing.B) {
	b.Run("real", func(b *testing.B) { benchIndex(b, realDocument(b)) })
	b.Run("pretend", func(b *testing.B) { benchIndex(b, fakedocs.Big()) })
}

func benchIndex(b *testing.B, doc []byte) {
	if len(doc) < 4_000_000 {
		b.Fatalf("the document has %d bytes", len(doc))
	}
	b.SetBytes(int64(len(doc)))
	before := heap()
	debug.FreeOSMemory()
	idle := resident(b, "VmRSS:")
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
	ix, err := Parse(bytes.NewReader(doc))
	if err != nil {
		b.Fatal(err)
	}
	peak := int64(resident(b, "VmHWM:")) - int64(idle)
	kept := int64(heap()) - int64(before)
	runtime.KeepAlive(ix)
	runtime.KeepAlive(doc)
	// The bound is held against the quickest run: the others say how busy the
	// machine is.
	best := time.Hour
	for b.Loop() {
		begun := time.Now()
		if _, err := Parse(bytes.NewReader(doc)); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(begun))
	}
	ms := float64(best.Microseconds()) / 1000
	b.ReportMetric(ms, "best-ms")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	b.ReportMetric(float64(kept)/(1<<20), "kept-MiB")
	if ms > mostMillis || peak > mostPeak || kept > mostKept {
		b.Errorf("%.1f ms, peak %d, kept %d bytes; the bounds are %d, %d and %d", ms, peak, kept, mostMillis, mostPeak, mostKept)
	}
}

// resident returns a figure of /proc/self/status in bytes.
func resident(b *testing.B, name string) uint64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kb, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb << 10
		}
	}
	b.Fatal("no " + name)
	return 0
}

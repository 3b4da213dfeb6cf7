package process

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// residentFile returns the KiB of files that are mapped in.
func residentFile(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc here")
	}
	_, rest, ok := strings.Cut(string(b), "RssFile:")
	if !ok {
		t.Skip("this kernel does not tell")
	}
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTrimGivesPagesBackAndTheProgramGoesOn(t *testing.T) {
	var before, after int
	for range 100 { // the kernel gives and takes pages in its own time too
		before = residentFile(t)
		Trim()
		if after = residentFile(t); after < before {
			return
		}
	}
	t.Errorf("%d KiB before, %d after", before, after)
}

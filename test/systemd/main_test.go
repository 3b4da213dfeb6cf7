package systemd

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pfsensemcp/test/programs"
)

var (
	boot  = flag.Bool("boot", false, "boot a container and try the suite under its systemd")
	built = flag.String("bin", "", "directory with programs that are built already; the tests build their own")

	temporary []string // directories in /tmp that the end of the run removes
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probeWord {
		probe(os.Args[2:])
		return
	}
	code := m.Run()
	for _, dir := range temporary {
		_ = os.RemoveAll(dir) // in /tmp
	}
	os.Exit(code)
}

// build builds the programs as they ship, once a test run.
var build = sync.OnceValues(func() (string, error) {
	if *built != "" {
		return filepath.Abs(*built)
	}
	dir, err := os.MkdirTemp("", "systemd-bin")
	if err != nil {
		return "", err
	}
	temporary = append(temporary, dir)
	// mcpsign is in the package too.
	if err := programs.Build(programs.Shipped, dir, append(programs.Suite(), "cmd/mcpsign")...); err != nil {
		return "", err
	}
	return dir, nil
})

func programsBuilt(t *testing.T) string {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

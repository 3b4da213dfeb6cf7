package systemd

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var (
	boot  = flag.Bool("boot", false, "boot a container and try the suite under its systemd")
	built = flag.String("bin", "", "directory with programs that are built already; the tests build their own")
	made  string // what build made
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probeWord {
		probe(os.Args[2:])
		return
	}
	code := m.Run()
	if made != "" {
		_ = os.RemoveAll(made) // a directory in /tmp
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
	made = dir
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-o", dir+"/",
		"./cmd/mcpd", "./cmd/guidanced", "./cmd/docfetchd", "./cmd/executord", "./cmd/mcpctl", "./test/fakepf/cmd/fakepf")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the programs: %w\n%s", err, out)
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

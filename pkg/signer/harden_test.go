package signer

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

const asHardened = "SIGNER_TEST_AS_HARDENED"

func TestMain(m *testing.M) {
	if os.Getenv(asHardened) == "" {
		os.Exit(m.Run())
	}
	var core unix.Rlimit
	dumpable := -1
	if Harden() == nil && unix.Getrlimit(unix.RLIMIT_CORE, &core) == nil {
		dumpable, _ = unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	}
	if dumpable != 0 || core.Cur != 0 || core.Max != 0 {
		os.Exit(1)
	}
	os.Exit(0)
}

func TestK6TheKeyCannotReachACoreFileOrADebugger(t *testing.T) {
	// In a process of its own, because it cannot be undone.
	c := exec.Command(os.Args[0])
	c.Env = []string{asHardened + "=1"}
	if err := c.Run(); err != nil {
		t.Errorf("the process is open: %v", err)
	}
}

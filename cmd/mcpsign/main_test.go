package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram makes the test binary be the program.
const asProgram = "MCPSIGN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// run runs the program with a home of its own and no terminal.
func run(t *testing.T, home string, args ...string) (out, errs string, code int) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = []string{asProgram + "=1", "HOME=" + home}
	var o, e strings.Builder
	c.Stdout, c.Stderr = &o, &e
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

func TestTheProgramMakesAKeyInTheUsersConfigurationDirectory(t *testing.T) {
	home := t.TempDir()
	out, errs, code := run(t, home, "keygen", "-owner", "confirmation", "-id", "owner-confirm-1", "-no-passphrase")
	if code != 0 || !strings.HasPrefix(out, `{"authority_id":"owner-confirm-1","public_key_hex":"`) || strings.Count(out, "\n") != 1 {
		t.Fatalf("exit %d, %q, %s", code, out, errs)
	}
	if info, err := os.Stat(filepath.Join(home, ".config", "mcpsign", "confirmation.key")); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Errorf("%v %v", info, err)
	}
	if _, errs, code := run(t, home, "sign-confirmation", "-i", "x", "-o", "y"); code != 1 || !strings.Contains(errs, "no terminal") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if out, _, code := run(t, home, "version"); code != 0 || !strings.HasPrefix(out, "mcpsign ") {
		t.Errorf("exit %d, %q", code, out)
	}
	if _, errs, code := run(t, home); code != 2 || !strings.Contains(errs, "sign-authorization") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if _, errs, code := run(t, "", "version"); code != 1 || !strings.Contains(errs, "HOME") {
		t.Errorf("without a home: exit %d, %s", code, errs)
	}
}

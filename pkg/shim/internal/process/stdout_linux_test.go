package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The test runs itself: descriptors 1 and 2 of a test process belong to go test.
func TestNothingButProtocolReachesStandardOutput(t *testing.T) {
	if os.Getenv("SHIM_TEST_CHILD") != "" {
		out, err := TakeStdout()
		if err != nil {
			panic(err)
		}
		fmt.Println("a print")
		fmt.Fprintln(os.Stdout, "another")
		_, _ = out.WriteString("protocol\n")
		panic("on purpose")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "SHIM_TEST_CHILD=1")
	var out, notes bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &notes
	if err := cmd.Run(); err == nil {
		t.Fatal("the child did not panic")
	}
	if out.String() != "protocol\n" {
		t.Errorf("standard output: %q", out.String())
	}
	if !strings.Contains(notes.String(), "a print\nanother\n") || !strings.Contains(notes.String(), "on purpose") {
		t.Errorf("standard error: %q", notes.String())
	}
}

// Package program owns how mcpctl starts a program of the system: by its whole path,
// with a bare environment, a deadline and a bound on what it prints.
//
// opctl's inner packages import it. It must never look a program up in the caller's
// search path, or pass the caller's environment on.
//
// The attack it stops: a program of somebody else's that is found first and started as
// root.
package program

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pfsensemcp/pkg/errs"
)

// dirs are where programs of the system lie.
var dirs = []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"}

// path returns the whole path of one.
func path(name string) (string, error) {
	for _, d := range dirs {
		at := filepath.Join(d, name)
		if fi, err := os.Stat(at); err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0 {
			return at, nil
		}
	}
	return "", errs.New(errs.NotFound, "the program "+name+" is not on this host")
}

// Bounds of a program that is started.
const (
	maxOutput = 64 << 10
	runWithin = 5 * time.Minute // a unit that stops may settle a change first
)

// Command prepares a program of the system. It ends when ctx does.
func Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	at, err := path(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, at, args...)
	cmd.Env = []string{"PATH=" + strings.Join(dirs, ":"), "LC_ALL=C"}
	cmd.WaitDelay = 5 * time.Second
	return cmd, nil
}

// Run starts a program with these bytes on its input and returns its output, of at most
// 64 KiB; a program that fails, says more, or takes longer than five minutes is an error.
func Run(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, runWithin)
	defer cancel()
	cmd, err := Command(ctx, name, args...)
	if err != nil {
		return nil, err
	}
	out := &bounded{}
	cmd.Stdin, cmd.Stdout = bytes.NewReader(stdin), out
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return out.kept.Bytes(), nil
}

// bounded keeps maxOutput bytes and then fails. The buffer is not embedded: its
// ReadFrom would read past the bound.
type bounded struct{ kept bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > maxOutput {
		return 0, io.ErrShortBuffer
	}
	return b.kept.Write(p)
}

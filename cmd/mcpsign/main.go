// Mcpsign is the off-host signer: it shows an owner what the executor prepared, and
// signs it when the owner types yes. It has no network.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"pfsensemcp/pkg/signer"
)

// version is set when a release is built.
var version = ""

func main() {
	if err := signer.Harden(); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "mcpsign: %v\n", err)
		os.Exit(1)
	}
	base, err := os.UserConfigDir()
	if err != nil || !filepath.IsAbs(base) {
		_, _ = fmt.Fprintln(os.Stderr, "mcpsign: the user's configuration directory is unknown\nnext: set HOME to an absolute path")
		os.Exit(1)
	}
	os.Exit(signer.Run(signer.Env{
		In:      os.Stdin,
		Out:     os.Stdout,
		Err:     os.Stderr,
		Dir:     filepath.Join(base, "mcpsign"),
		Version: described(),
		Now:     time.Now,
	}, os.Args[1:]))
}

// described returns the version, or that of the source it was built from.
func described() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

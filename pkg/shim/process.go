package shim

import (
	"os"

	"pfsensemcp/pkg/shim/internal/place"
	"pfsensemcp/pkg/shim/internal/process"
)

// Sockets returns where to look for mcpd, in order: the socket that was named,
// by flag before environment, alone; else the user's own suite, then the
// installed one.
func Sockets(flag, env, runtimeDir string) ([]string, error) {
	return place.Sockets(flag, env, runtimeDir)
}

// TakeStdout keeps standard output for protocol and makes the process as small
// as a shim needs to be. Call it before anything is printed; the result is the
// only way to the client.
func TakeStdout() (*os.File, error) {
	process.Trim()
	return process.TakeStdout()
}

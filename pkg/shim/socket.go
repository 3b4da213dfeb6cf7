package shim

import (
	"path/filepath"

	"pfsensemcp/pkg/errs"
)

// The socket of an installed suite, and where it is below a runtime directory.
const (
	systemSocket = "/run/pfsense-mcp/mcp/mcp.sock"
	belowRuntime = "pfsense-mcp/mcp/mcp.sock"
)

// maxSocketPath is what every Unix can bind, and what all our settings allow.
const maxSocketPath = 100

// Sockets returns where to look for mcpd, in order: the socket that was named,
// by flag before environment, alone; else the user's own suite, then the
// installed one.
func Sockets(flag, env, runtimeDir string) ([]string, error) {
	named, setting := flag, "--socket"
	if named == "" {
		named, setting = env, "PFSENSE_MCP_SOCKET"
	}
	if named != "" {
		if !filepath.IsAbs(named) || len(named) > maxSocketPath {
			return nil, errs.Newf(errs.Invalid, "%s must be an absolute path of at most %d bytes", setting, maxSocketPath)
		}
		return []string{named}, nil
	}
	var paths []string
	if own := filepath.Join(runtimeDir, belowRuntime); filepath.IsAbs(runtimeDir) && len(own) <= maxSocketPath {
		paths = append(paths, own)
	}
	return append(paths, systemSocket), nil
}

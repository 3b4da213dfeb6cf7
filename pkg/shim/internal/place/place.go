// Package place owns where mcpd may be, and what to tell a person when it is
// not there. shim alone imports it. It must never open anything but the sockets it is
// given.
//
// The attack it stops: a socket below a path that other users can write, found first
// because it was near; where it looks is fixed, and the rest a person must name.
package place

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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

// dialTimeout bounds all attempts together.
const dialTimeout = 5 * time.Second

// Find tries the sockets in order and explains the failure that is closest
// to a success.
func Find(ctx context.Context, paths []string, dial func(context.Context, string) (net.Conn, error)) (net.Conn, string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	best, bestRank := "there is no socket to try", -1
	for _, p := range paths {
		conn, err := dial(ctx, p)
		if err == nil {
			return conn, p, nil
		}
		if text, rank := explain(p, err); rank > bestRank {
			best, bestRank = text, rank
		}
	}
	if bestRank == 0 && len(paths) > 1 {
		best = "no mcpd at " + strings.Join(paths, " or ") + "; start it with `systemctl start pfsense-mcp.target` or `mcpctl run`"
	}
	return nil, "", errors.New(best)
}

// Dial opens the socket at path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// explain turns a failed dial into what to do; a higher rank is closer to a
// success.
func explain(path string, err error) (string, int) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no mcpd at " + path + "; start it with `systemctl start pfsense-mcp.target` or `mcpctl run`", 0
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens at " + path + "; see `systemctl status pfsense-mcpd`", 1
	case errors.Is(err, fs.ErrPermission):
		return "this user may not open " + path + "; add it to the group pfsense-mcp and log in again", 2
	case errors.Is(err, context.DeadlineExceeded):
		return "mcpd at " + path + " does not answer", 3
	}
	return "mcpd at " + path + " cannot be reached", 1
}

// Describe says what is at a path, as far as this account may look.
func Describe(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		text, _ := explain(path, err)
		return text
	}
	owner := ""
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = fmt.Sprintf(", uid %d gid %d", st.Uid, st.Gid)
	}
	if info.Mode().Type() != os.ModeSocket {
		return "not a socket" + owner
	}
	return fmt.Sprintf("socket, mode %04o%s", info.Mode().Perm(), owner)
}

package place

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestSocketsAreSearchedInOrder(t *testing.T) {
	for _, tt := range []struct{ flag, env, dir, want string }{
		{"/a", "/b", "/r", "/a"},
		{"", "/b", "/r", "/b"},
		{"", "", "/r", "/r/pfsense-mcp/mcp/mcp.sock " + systemSocket},
		{"", "", "", systemSocket},
		{"", "", "relative", systemSocket},
	} {
		got, err := Sockets(tt.flag, tt.env, tt.dir)
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: %q %v", tt, got, err)
		}
	}
	for _, bad := range []string{"rel", "/" + strings.Repeat("x", 100)} {
		if _, err := Sockets("", bad, ""); err == nil || !strings.Contains(err.Error(), "PFSENSE_MCP_SOCKET") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTheFailureThatIsClosestToASuccessIsExplained(t *testing.T) {
	failing := func(errs map[string]error) func(context.Context, string) (net.Conn, error) {
		return func(_ context.Context, p string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: errs[p]}
		}
	}
	for _, tt := range []struct {
		errs map[string]error
		sub  string
	}{
		{map[string]error{"/a": syscall.ENOENT, "/b": syscall.ENOENT}, "no mcpd at /a or /b"},
		{map[string]error{"/a": syscall.EACCES, "/b": syscall.ENOENT}, "group pfsense-mcp"},
		{map[string]error{"/a": syscall.ECONNREFUSED, "/b": syscall.ENOENT}, "nobody listens at /a"},
		{map[string]error{"/a": syscall.ENOENT, "/b": context.DeadlineExceeded}, "/b does not answer"},
		{map[string]error{"/a": syscall.EIO, "/b": syscall.ENOENT}, "/a cannot be reached"},
	} {
		if _, _, err := Find(t.Context(), []string{"/a", "/b"}, failing(tt.errs)); err == nil || !strings.Contains(err.Error(), tt.sub) {
			t.Errorf("%v: %v", tt.errs, err)
		}
	}
	if _, _, err := Find(t.Context(), nil, Dial); err == nil {
		t.Error("no socket is no error")
	}
}

func TestWhatIsAtAPathIsDescribed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, sub := range map[string]string{file: "not a socket", filepath.Join(dir, "s"): "socket, mode", filepath.Join(dir, "x"): "no mcpd"} {
		if got := Describe(path); !strings.HasPrefix(got, sub) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

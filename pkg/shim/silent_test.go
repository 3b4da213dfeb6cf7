package shim

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
)

// A stopped daemon still has its socket, and the kernel takes the connection.
func TestDoctorTellsADaemonThatSaysNothingFromOneThatLeft(t *testing.T) {
	for want, daemon := range map[string]func(net.Conn){
		"said nothing": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"closed":       func(c net.Conn) { _ = c.Close() },
	} {
		synctest.Test(t, func(t *testing.T) {
			var seen strings.Builder
			err := Doctor(t.Context(), &seen, "v0", []string{"/nowhere/mcp.sock"}, func(context.Context, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go daemon(theirs)
				return ours, nil
			})
			if err == nil || !strings.Contains(seen.String(), want) {
				t.Errorf("%v\n%s", err, seen.String())
			}
		})
	}
}

// Package process owns what a shim does to its own process: standard output
// kept for protocol, and memory given back. shim alone imports it; it is where
// shim's system calls stand. It must never write to standard output itself.
//
// The attack it stops: a text of a library or of a panic on standard output, which the
// client would read as a message of the server.
package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// TakeStdout moves standard output to a descriptor of its own and points
// descriptor 1 at standard error, so that no print of any library, no panic and
// no child can put a byte between two lines of protocol. Call it before
// anything else; the result is the only way to the client.
func TakeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "protocol"), nil
}

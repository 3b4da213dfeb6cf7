// Package systemd tests the files of deploy/systemd: what systemd-analyze says
// of them, and, when asked to by `make test-systemd`, the suite as they install
// it, under a real systemd in a container on this machine.
//
// Only tests are here. The container is an overlay of the machine's own root in
// a private mount namespace: nothing is written to the machine, and everything
// goes when the process that began it goes.
package systemd

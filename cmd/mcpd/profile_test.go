package main

import (
	"flag"
	"testing"
)

// TestServeUnderAProfile is mcpd inside a test binary, for -test.cpuprofile and
// its kind: no shipped program has an endpoint for them. It does nothing unless
// the test binary's command line goes on with a command of mcpd's:
//
//	go test -c -tags grpcnotrace -o /tmp/mcpd.test ./cmd/mcpd
//	go run ./test/bench -only read_small -mcpd '/tmp/mcpd.test -test.run=^TestServeUnderAProfile$ -test.cpuprofile=/tmp/mcpd.cpu'
func TestServeUnderAProfile(t *testing.T) {
	if flag.NArg() == 0 {
		t.Skip("no command of mcpd's was given")
	}
	if code := run(flag.Args()); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

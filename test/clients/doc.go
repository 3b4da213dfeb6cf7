// Package clients tries the suite with MCP clients that other people wrote: the
// MCP inspector, the conformance suite and the TypeScript SDK, which run under
// Node, and the Go SDK. `make test-clients` installs the first three below this
// folder, pinned in package-lock.json, and runs them all; `make test` needs no
// Node and runs the last one alone.
package clients

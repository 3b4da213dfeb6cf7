// Package executor owns the one change that the suite can make, and so far its
// resting state: write is off. It has no secret, opens no file and no
// connection, and tells the truth about that through the two services of
// executor.v1.
//
// Only cmd/executord links it (test/arch). It must never offer the write tool,
// accept an artifact or touch an appliance while there is no write
// configuration.
//
// The attack it stops: an MCP client or an operator's tool that takes silence, a
// missing socket or a half-configured executor for "no write protection needed".
// Off is an answer of its own: not constructible, every request refused, and
// doctor names it.
package executor

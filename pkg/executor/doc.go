// Package executor owns the one change that the suite can make: its composition from
// keys, store, counter, appliance and ceremony, the two services of executor.v1 over
// it, and its resting state, in which write is off.
//
// Only cmd/executord links it (test/arch). Without a write configuration it has no
// secret, opens no file and no connection, and says so: it must never offer the write
// tool, accept an artifact or touch an appliance then.
//
// The attacks it stops: an MCP client or an operator's tool that takes silence, a
// missing socket or a half-configured executor for "no write protection needed" (off
// is an answer of its own), and a write path made of parts that do not belong
// together.
package executor

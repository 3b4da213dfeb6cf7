// Package canary holds the test that no secret can get out of mcpd: it puts a
// unique text wherever the appliance could put something that no model names, at
// every depth, in rows, envelopes, error pages and headers, calls every tool with
// every flag, and then looks for those texts in every byte that came back, in
// the logs and audit lines of all daemons, and in the memory of the process.
//
// Nothing imports this package.
package canary

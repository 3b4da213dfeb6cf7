// Package soak lets many sessions call for long while mcpd is restarted under
// them: each request must be answered once, rightly and under its id, and no
// process may grow. `make test` runs some thousand calls, `make soak` 200,000.
package soak

// Package surface holds the tests of what an MCP client is served, over the
// bytes that the running mcpd sends: the names, the lint that real clients
// force on us, the budgets, the answers against their own schemas, and the
// hints against what a call really does.
//
// Nothing imports this package.
package surface

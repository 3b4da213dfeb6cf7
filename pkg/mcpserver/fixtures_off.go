//go:build !pfsense_fixtures

package mcpserver

// TestBuild says whether the program holds fixtures for tests. What is shipped
// never does.
const TestBuild = false

func (*Server) fixtures() {}

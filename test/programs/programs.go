// Package programs builds our programs for tests, in the one way in which they
// ship, and says how a suite of them is laid out: users, groups, sockets.
//
// Only tests and the benchmark import it. A test that built them otherwise would
// prove something about a program that nobody runs.
package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build tags: of what ships, and of the two test builds.
const (
	Shipped  = "grpcnotrace"
	Demo     = Shipped + ",pfsense_demo"     // the demonstration's docfetchd and executord
	Fixtures = Shipped + ",pfsense_fixtures" // mcpd with what the conformance suite calls by name
)

// Users and groups of the daemons and of their clients under root. They exist
// nowhere but here: the daemons take numbers where names are not known.
const (
	UIDMcpd, UIDGuidanced, UIDDocfetchd, UIDExecutord = 61001, 61002, 61003, 61004
	UIDClient, UIDOperator, UIDNobody                 = 61010, 61011, 61012
	GIDClients, GIDAdmin, GIDMcpd                     = 62001, 62002, 62003
)

// Daemon is how one daemon is started.
type Daemon struct {
	Name    string
	UID     int
	Args    []string
	Sockets map[string]int // the group of each socket's directory, by the socket's name
}

// Daemons returns the four, in the order in which they start.
func Daemons() []Daemon {
	return []Daemon{
		{"guidanced", UIDGuidanced, nil, map[string]int{"guidance": GIDMcpd}},
		{"docfetchd", UIDDocfetchd, nil, map[string]int{"docs": GIDMcpd, "docs-admin": GIDAdmin}},
		{"executord", UIDExecutord, nil, map[string]int{"exec": GIDMcpd, "exec-admin": GIDAdmin}},
		{"mcpd", UIDMcpd, []string{"serve"}, map[string]int{"mcp": GIDClients, "mcpd-admin": GIDAdmin}},
	}
}

// Names returns the names of the four, in the order in which they start.
func Names() []string {
	var out []string
	for _, d := range Daemons() {
		out = append(out, d.Name)
	}
	return out
}

// Named returns the daemon of a name; it panics when there is none.
func Named(name string) Daemon {
	for _, d := range Daemons() {
		if d.Name == name {
			return d
		}
	}
	panic("no daemon is called " + name)
}

// Suite are the packages of the programs that a whole suite is made of, the
// pretend appliance and documentation site among them.
func Suite() []string {
	return []string{"cmd/mcpd", "cmd/guidanced", "cmd/docfetchd", "cmd/executord", "cmd/mcpctl", "cmd/mcpsign", "test/fakepf/cmd/fakepf", "test/fakedocs/cmd/fakedocs"}
}

// Build builds programs, given by their directories below the root of the
// repository, into the directory dir, which is made.
func Build(tags, dir string, packages ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-tags", tags, "-o", dir + string(filepath.Separator)}
	for _, p := range packages {
		args = append(args, "pfsensemcp/"+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %v: %w\n%s", packages, err, out)
	}
	return nil
}

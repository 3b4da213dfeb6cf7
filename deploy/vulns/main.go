// Command vulns asks govulncheck about the programs that ship, without a network
// beside the module proxy: the database is a module, and a module has its files.
// `make check` runs it.
//
// A finding fails, unless a line of accepted.txt names it with the reason why it
// does not matter here; a line that nothing needs any more fails too, so that the
// list stays what is true. Where the database cannot be had it says so, and fails
// only with CI=true: a person without a network can still run the rest.
//
// No daemon imports it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The database: a version of the module golang.org/x/vulndb, and what go.sum
// would say of it (it is no dependency, so no go.sum does). A newer one:
// go mod download -json golang.org/x/vulndb@latest.
const (
	dbModule  = "golang.org/x/vulndb"
	dbVersion = "v0.0.0-20261105234957-e22db6528018"
	dbSum     = "h1:mfngRv0Yoh0VApsXKEN82CjD99kl7mtparN3bs3JnqI="
)

// leastEntries is what a whole database has: fewer are a wrong directory.
const leastEntries = 4000

const acceptedFile = "deploy/vulns/accepted.txt"

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: vulns")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "vulns:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := database()
	if err != nil {
		if os.Getenv("CI") == "true" {
			return err
		}
		fmt.Printf("NOT DONE: the scan for known vulnerabilities. The database cannot be had: %v\n", err)
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "GO-*.json"))
	if err != nil || len(files) < leastEntries {
		return fmt.Errorf("the database in %s has %d entries (%v)", dir, len(files), err)
	}
	accepted, err := readAccepted(acceptedFile)
	if err != nil {
		return err
	}
	found, err := scan(dir, "./cmd/...")
	if err != nil {
		return err
	}
	err = judge(os.Stdout, found, accepted)
	if err == nil {
		fmt.Printf("no known vulnerability is reached, of %d of the database %s\n", len(files), dbVersion)
	}
	return err
}

// database returns the directory of the database's entries.
func database() (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", dbModule+"@"+dbVersion)
	cmd.Dir = os.TempDir() // outside of a module: go.mod is not to name it
	out, err := cmd.Output()
	var m struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &m); jsonErr != nil || m.Error != "" || err != nil {
		return "", fmt.Errorf("%s@%s: %w", dbModule, dbVersion, errors.Join(err, jsonErr, errors.New(m.Error)))
	}
	if m.Sum != dbSum {
		return "", fmt.Errorf("%s@%s has the checksum %s, not the one that was pinned", dbModule, dbVersion, m.Sum)
	}
	return filepath.Join(m.Dir, "data", "osv"), nil
}

// finding is a vulnerability and the call of ours that reaches it.
type finding struct{ id, fixed, where string }

// scan runs govulncheck and returns what the programs call, by identifier. It
// reads a directory of entries as it is; the index of a served database is not
// needed.
func scan(db, packages string) (map[string]finding, error) {
	cmd := exec.Command("go", "tool", "-modfile=deploy/tools.mod", "govulncheck",
		"-db", "file://"+db, "-tags", "grpcnotrace", "-format", "json", packages)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("govulncheck: %w\n%s", err, stderr.Bytes())
	}
	return parse(out)
}

// parse reads govulncheck's stream. A finding without a function is of a module
// or package that is only linked; the ones that count have a trace to a call.
func parse(stream []byte) (map[string]finding, error) {
	found := map[string]finding{}
	scanned := false
	for dec := json.NewDecoder(bytes.NewReader(stream)); ; {
		var m struct {
			SBOM    *struct{ Modules []struct{ Path string } }
			Finding *struct {
				OSV   string `json:"osv"`
				Fixed string `json:"fixed_version"`
				Trace []struct {
					Module, Version, Package, Function, Receiver string
				}
			}
		}
		if err := dec.Decode(&m); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("what govulncheck says: %w", err)
		}
		scanned = scanned || m.SBOM != nil && len(m.SBOM.Modules) > 1
		if m.Finding == nil || len(m.Finding.Trace) == 0 || m.Finding.Trace[0].Function == "" {
			continue
		}
		to, from := m.Finding.Trace[0], m.Finding.Trace[len(m.Finding.Trace)-1]
		found[m.Finding.OSV] = finding{
			id: m.Finding.OSV, fixed: m.Finding.Fixed,
			where: fmt.Sprintf("%s@%s: %s.%s, called from %s.%s", to.Module, to.Version, to.Package, to.Function, from.Package, from.Function),
		}
	}
	if !scanned {
		return nil, errors.New("govulncheck names no modules: it scanned nothing")
	}
	return found, nil
}

// readAccepted reads the accepted findings: identifier, a blank, the reason.
func readAccepted(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(id, "GO-") || len(strings.Fields(reason)) < 5 || out[id] != "" {
			return nil, fmt.Errorf("%s:%d: want an identifier, once, and the reason in a sentence", path, n)
		}
		out[id] = strings.TrimSpace(reason)
	}
	return out, lines.Err()
}

// judge says what is wrong with the findings and with the list of accepted ones.
func judge(w io.Writer, found map[string]finding, accepted map[string]string) error {
	var faults []error
	for _, id := range slices.Sorted(maps.Keys(found)) {
		f := found[id]
		if reason, ok := accepted[id]; ok {
			fmt.Fprintf(w, "accepted: %s, %s\n  because: %s\n", id, f.where, reason)
			continue
		}
		fixed := "no version is without it"
		if f.fixed != "" {
			fixed = "fixed in " + f.fixed
		}
		faults = append(faults, fmt.Errorf("%s (%s): %s", id, fixed, f.where))
	}
	for _, id := range slices.Sorted(maps.Keys(accepted)) {
		if _, ok := found[id]; !ok {
			faults = append(faults, fmt.Errorf("%s: %s is accepted and no longer found: take the line away", acceptedFile, id))
		}
	}
	return errors.Join(faults...)
}

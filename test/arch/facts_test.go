package arch

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	module = "pfsensemcp"
	root   = "../.."
	tags   = "grpcnotrace"
)

var update = flag.Bool("update", false, "rewrite testdata/deps")

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Dir        string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Module     *struct{ Path, Version string }
}

// ours says whether a package is of this module.
func (p listed) ours() bool { return isOurs(p.ImportPath) }

func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// goList runs go list and decodes its stream of objects.
func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-tags", tags, "-json=ImportPath,Dir,Standard,GoFiles,Imports,Module"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v\n%s", args, err, stderr.String())
	}
	var all []listed
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// all returns every package of the module, listed once.
var allOnce struct {
	sync.Once
	pkgs []listed
}

func allPackages(t *testing.T) []listed {
	t.Helper()
	allOnce.Do(func() { allOnce.pkgs = goList(t, "./...") })
	if len(allOnce.pkgs) == 0 {
		t.Fatal("go list found no package")
	}
	return allOnce.pkgs
}

// binaries returns the names of the programs below cmd.
func binaries(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, "cmd"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// closure returns everything a binary links.
func closure(t *testing.T, binary string) []listed {
	t.Helper()
	return goList(t, "-deps", "./cmd/"+binary)
}

// want reports every violation as an error.
func want(t *testing.T, violations []string) {
	t.Helper()
	for _, v := range violations {
		t.Error(v)
	}
}

// mustFail fails unless a rule found a violation that names what.
func mustFail(t *testing.T, violations []string, naming string) {
	t.Helper()
	for _, v := range violations {
		if strings.Contains(v, naming) {
			return
		}
	}
	t.Errorf("the rule found nothing that names %q: %q", naming, violations)
}

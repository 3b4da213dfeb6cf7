package arch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dependencyList is what a binary links, for a person to review: the modules,
// and the packages of the standard library.
func dependencyList(deps []listed) []string {
	seen := map[string]bool{}
	for _, d := range deps {
		switch {
		case d.ours():
		case d.Standard:
			if !strings.Contains(d.ImportPath, "internal/") && !strings.HasPrefix(d.ImportPath, "vendor/") && d.ImportPath != "unsafe" {
				seen["std "+d.ImportPath] = true
			}
		case d.Module != nil:
			seen["mod "+d.Module.Path] = true
		}
	}
	var list []string
	for s := range seen {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

// checkDeps compares a binary's list with the recorded one.
func checkDeps(binary string, got, recorded []string) []string {
	var bad []string
	for _, g := range got {
		if !slices.Contains(recorded, g) {
			bad = append(bad, binary+" newly links "+g+": review it, then go test ./test/arch -update")
		}
	}
	for _, r := range recorded {
		if !slices.Contains(got, r) {
			bad = append(bad, binary+" no longer links "+r+": go test ./test/arch -update")
		}
	}
	return bad
}

func TestDependencyListsAreReviewed(t *testing.T) {
	for _, b := range binaries(t) {
		file := filepath.Join("..", "testdata", "deps", b+".txt")
		got := dependencyList(closure(t, b))
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s has no recorded list: go test ./test/arch -update", b)
			continue
		}
		want(t, checkDeps(b, got, strings.Split(strings.TrimSpace(string(data)), "\n")))
	}
}

func TestTheDependencyRuleCanFail(t *testing.T) {
	mustFail(t, checkDeps("x", []string{"std net/http"}, nil), "newly links")
	mustFail(t, checkDeps("x", nil, []string{"std net/http"}), "no longer")
}

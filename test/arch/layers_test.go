package arch

import (
	"fmt"
	"strings"
	"testing"
)

// levels places every package. An import between our packages goes strictly to
// a lower level. errs stands below the others of the ground floor, because all
// of them return coded errors.
var levels = map[string]int{
	"pkg/errs": 0,

	"pkg/conf": 1, "pkg/jsonline": 1, "pkg/logging": 1, "pkg/sd": 1, "pkg/secretfile": 1, "pkg/textsafe": 1, "pkg/canon": 1,

	"pkg/sandbox": 2, "pkg/rpc": 2, "pkg/pfrest": 2, "pkg/openapi": 2, "pkg/catalog": 2, "pkg/artifact": 2,

	"pkg/daemon": 3, "pkg/readtool": 3, "pkg/guidance": 3, "pkg/docfetch": 3, "pkg/apidocs": 3,

	"pkg/executor/internal/store": 4, "pkg/executor/internal/anchor": 4,
	"pkg/executor/internal/exchange": 4, "pkg/executor/internal/alias": 4,
	"pkg/executor/internal/gate": 5,

	"pkg/mcpserver": 6, "pkg/shim": 6, "pkg/executor": 6, "pkg/opctl": 7, "pkg/install": 6,
	"pkg/supervise": 6, "pkg/signer": 6, "pkg/witness": 6,
}

// level returns a package's level: generated protocol code is below everything,
// programs are above everything. Tests and test programs are outside.
func level(path string) (n int, placed, outside bool) {
	rel := strings.TrimPrefix(path, module+"/")
	switch {
	case strings.HasPrefix(rel, "proto/"):
		return -1, true, false
	case strings.HasPrefix(rel, "cmd/"):
		return 100, true, false
	case strings.HasPrefix(rel, "test/"), strings.HasPrefix(rel, "deploy/"):
		return 0, true, true
	}
	n, placed = levels[rel]
	return n, placed, false
}

// checkLayers finds imports that do not go strictly down, packages that no
// level is written for, and levels of packages that are gone.
func checkLayers(pkgs []listed) []string {
	var bad []string
	for _, p := range pkgs {
		from, placed, outside := level(p.ImportPath)
		if outside {
			continue
		}
		if !placed {
			bad = append(bad, p.ImportPath+" has no level: place it in levels")
			continue
		}
		for _, imp := range p.Imports {
			if !isOurs(imp) {
				continue
			}
			to, placed, outside := level(imp)
			switch {
			case outside:
				bad = append(bad, p.ImportPath+" ships and imports test code: "+imp)
			case placed && to >= from:
				bad = append(bad, fmt.Sprintf("%s (level %d) imports %s (level %d): imports go strictly down", p.ImportPath, from, imp, to))
			}
		}
	}
	return bad
}

func TestImportsGoStrictlyDown(t *testing.T) { want(t, checkLayers(allPackages(t))) }

func TestTheLayerRuleCanFail(t *testing.T) {
	mustFail(t, checkLayers([]listed{{ImportPath: module + "/pkg/rpc", Imports: []string{module + "/pkg/daemon"}}}), "strictly down")
	mustFail(t, checkLayers([]listed{{ImportPath: module + "/pkg/rpc", Imports: []string{module + "/pkg/pfrest"}}}), "strictly down")
	mustFail(t, checkLayers([]listed{{ImportPath: module + "/pkg/util"}}), "no level")
	mustFail(t, checkLayers([]listed{{ImportPath: module + "/pkg/rpc", Imports: []string{module + "/test/fakepf"}}}), "test code")
}

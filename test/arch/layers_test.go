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

	// L0: the ground floor.
	"pkg/nearest": 4, "pkg/conf/internal/check": 5, "pkg/conf/internal/tomldoc": 5, "pkg/logging/internal/rotate": 5,
	"pkg/conf": 10, "pkg/jsonline": 10, "pkg/logging": 10, "pkg/metrics": 10, "pkg/sd": 10,
	"pkg/secretfile": 10, "pkg/textsafe": 10, "pkg/canon": 10, "pkg/pause": 10,

	// L1.
	"pkg/pfrest/internal/fault": 12, "pkg/pfrest/internal/wiped": 12, "pkg/pfrest/internal/envelope": 14, "pkg/pfrest/internal/breaker": 15, "pkg/pfrest/internal/paged": 15,
	"pkg/rpc/internal/sock": 15, "pkg/rpc/internal/admit": 16, "pkg/rpc/internal/codec": 15, "pkg/rpc/internal/node": 15,
	"pkg/rpc/rpctest":             21, // for tests
	"pkg/artifact/internal/field": 15, "pkg/artifact/change": 17, "pkg/artifact/authority": 21,
	"pkg/artifact/artifacttest": 22, // for tests
	"pkg/pfrest/internal/fair":  15, "pkg/pfrest/internal/tlsdial": 15,
	"pkg/openapi/plain": 15, "pkg/openapi/internal/scan": 16, "pkg/openapi/view": 21, "pkg/openapi/contract": 21,
	"pkg/keyfile": 20, "pkg/sandbox": 20, "pkg/rpc": 20, "pkg/pfrest": 20, "pkg/openapi": 20, "pkg/catalog": 20, "pkg/artifact": 20,

	// L2.
	"pkg/readtool/internal/filterlog": 24, "pkg/readtool/internal/row": 25, "pkg/readtool/internal/where": 26, "pkg/readtool/internal/args": 27,
	"pkg/docfetch/internal/site": 25,
	"pkg/daemon":                 30, "pkg/readtool": 30, "pkg/guidance": 30, "pkg/docfetch": 30, "pkg/apidocs": 30,

	// L3.
	"pkg/mcpserver/internal/session": 35, "pkg/mcpserver/internal/suite": 35, "pkg/mcpserver/internal/tool": 35, "pkg/mcpserver/internal/schema": 35, "pkg/mcpserver/internal/about": 35,
	"pkg/mcpserver/internal/guide": 36, "pkg/mcpserver/internal/admin": 36, "pkg/mcpserver/internal/extras": 36, "pkg/mcpserver/internal/change": 36, "pkg/mcpserver/internal/relay": 36,
	"pkg/shim/internal/place": 38, "pkg/shim/internal/process": 38,
	"pkg/executor/internal/store/internal/seam": 22, "pkg/executor/internal/store/internal/member": 22, "pkg/executor/internal/store/internal/pages": 22,
	"pkg/executor/internal/store/record": 23, "pkg/executor/internal/store/internal/place": 23,
	"pkg/executor/internal/store/internal/vault": 24, "pkg/executor/internal/store/internal/sent": 24, "pkg/executor/internal/store/internal/moment": 24, "pkg/executor/internal/store/internal/rows": 25,
	"pkg/executor/internal/store/internal/check": 26, "pkg/executor/internal/store/internal/quota": 26, "pkg/executor/internal/store/internal/step": 27,
	"pkg/executor/internal/store/internal/requests": 28, "pkg/executor/internal/store/internal/attempts": 28, "pkg/executor/internal/store/internal/settling": 28,
	"pkg/executor/internal/store/storetest": 35, // for tests
	"pkg/executor/internal/store":           33, "pkg/executor/internal/anchor": 34,
	"pkg/executor/internal/anchor/internal/chip": 30, "pkg/executor/internal/anchor/internal/mutual": 30, "pkg/witness/wire": 24,
	"pkg/executor/internal/anchor/anchortest": 35, // for tests
	"pkg/executor/internal/exchange":          33, "pkg/executor/internal/alias": 33,
	"pkg/executor/internal/alias/aliastest": 35, // for tests
	"pkg/executor/internal/posture":         35, "pkg/executor/internal/gate": 36,
	"pkg/executor/internal/gate/internal/rule": 34, "pkg/executor/internal/gate/internal/proof": 35,
	"pkg/executor/internal/attempt": 36, "pkg/executor/internal/keeper": 36, "pkg/executor/internal/papers": 37, "pkg/executor/internal/ceremony": 38,
	"pkg/executor/internal/ceremony/ceremonytest": 39,                                     // for tests
	"pkg/executor/internal/show":                  39, "pkg/executor/internal/doctor": 39, // what operators see
	"pkg/executor/internal/watch": 40, "pkg/executor/internal/serve": 41,
	"pkg/install/internal/layout": 35, "pkg/install/internal/accounts": 35, "pkg/install/internal/pair": 35, "pkg/install/internal/place": 35, "pkg/install/internal/peek": 35,
	"pkg/install/internal/peek/peektest": 36, // for tests
	"pkg/install/doctor/internal/derive": 36, "pkg/install/doctor/internal/finding": 36, "pkg/install/doctor/internal/host": 37, "pkg/install/doctor": 38, "pkg/install": 39,
	"pkg/mcpserver": 40, "pkg/shim": 40, "pkg/executor": 42,
	"pkg/textsafe/spelling":      12, // below what signs and what operates
	"pkg/signer/internal/screen": 36, "pkg/signer/internal/vault": 36, "pkg/signer/internal/review": 37,
	"pkg/supervise/internal/pty": 36, "pkg/supervise/internal/process": 36, "pkg/supervise/internal/talk": 36, "pkg/supervise/internal/rehearsal": 38,
	"pkg/supervise": 40, "pkg/signer": 40, "pkg/witness": 40,
	"pkg/opctl/internal/carry": 36, "pkg/opctl/internal/reason": 36, "pkg/opctl/internal/cli": 36, "pkg/opctl/internal/standing": 37, "pkg/opctl/internal/suite": 37,
	"pkg/opctl/internal/program": 36, "pkg/opctl/internal/logview": 37, "pkg/opctl/internal/complete": 38, "pkg/opctl/internal/host": 40,
	"pkg/opctl/internal/admintest": 37, // for tests
	"pkg/opctl/internal/write":     38, "pkg/opctl/internal/custody": 38, "pkg/opctl/internal/posture": 38,
	"pkg/opctl": 41, // the operator's face of supervise and install
}

// protos are the generated packages that others use: statuses stand in the
// operators' service, chunks of a contract too.
var protos = map[string]int{"proto/node/v1": -3, "proto/docs/v1": -2}

// level returns a package's level: generated protocol code is below everything,
// programs are above everything. Tests and test programs are outside.
func level(path string) (n int, placed, outside bool) {
	rel := strings.TrimPrefix(path, module+"/")
	switch {
	case rel == "proto", strings.HasPrefix(rel, "proto/"):
		n, ok := protos[rel]
		if !ok {
			n = -1
		}
		return n, true, false
	case strings.HasPrefix(rel, "cmd/"):
		return 100, true, false
	case strings.HasPrefix(rel, "test/"), strings.HasPrefix(rel, "deploy/"):
		return 0, true, true
	}
	n, placed = levels[rel]
	return n, placed, false
}

// forTests says whether a package is there for tests alone: its name ends in test.
// Such a package may use test code, and nothing that ships may use it: it holds
// private keys that everybody knows, and counters and clocks that are moved by hand.
func forTests(path string) bool { return strings.HasSuffix(path, "test") }

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
			case forTests(imp) && !forTests(p.ImportPath):
				bad = append(bad, p.ImportPath+" ships and imports a package for tests: "+imp)
			case outside && forTests(p.ImportPath):
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
	mustFail(t, checkLayers([]listed{{ImportPath: module + "/pkg/executor", Imports: []string{module + "/pkg/executor/internal/anchor/anchortest"}}}), "for tests")
	mustFail(t, checkLayers([]listed{{ImportPath: module + "/pkg/rpc", Imports: []string{module + "/test/fakepf"}}}), "test code")
}

package arch

import (
	"strings"
	"testing"
)

// changeMay are the packages of ours that mcpd's write tool and its relay may
// link, beside the generated client of executord. None of them can reach an
// appliance or hold a key.
var changeMay = []string{"pkg/mcpserver/internal/change", "pkg/mcpserver/internal/relay", "pkg/catalog", "pkg/errs", "pkg/logging", "pkg/nearest", "proto/executor"}

const (
	changePackage = module + "/pkg/mcpserver/internal/change"
	relayPackage  = module + "/pkg/mcpserver/internal/relay"
)

// checkChange finds what the write tool links of ours and must not.
func checkChange(deps []listed) []string {
	var bad []string
	for _, d := range deps {
		rel, ours := strings.CutPrefix(d.ImportPath, module+"/")
		if ours && !allowed(rel, changeMay) {
			bad = append(bad, "mcpd's write tool links "+d.ImportPath+": it reaches executord and nobody else")
		}
	}
	return bad
}

// checkChangeImports finds packages beside mcpserver that import the write tool,
// and imports of its own that would let it reach somebody.
func checkChangeImports(pkgs []listed) []string {
	var bad []string
	for _, p := range pkgs {
		for _, imp := range p.Imports {
			if (imp == changePackage || imp == relayPackage) && p.ImportPath != module+"/pkg/mcpserver" {
				bad = append(bad, p.ImportPath+" imports "+imp+": mcpserver alone runs it")
			}
			if p.ImportPath == changePackage && (imp == "os" || imp == "net" || strings.HasPrefix(imp, "net/") || imp == "os/exec" || imp == "syscall") {
				bad = append(bad, "mcpd's write tool imports "+imp+": it has a connection to executord and needs no other")
			}
		}
	}
	return bad
}

// G6, the nearer half: mcpd links no executor package (the bans), and within mcpd
// the code that asks for changes shares nothing with the code that reads.
func TestG6McpdsWriteToolReachesExecutordAndNobodyElse(t *testing.T) {
	want(t, checkChange(goList(t, "-deps", "./pkg/mcpserver/internal/change", "./pkg/mcpserver/internal/relay")))
	want(t, checkChangeImports(allPackages(t)))
	want(t, checkBans("mcpd", closure(t, "mcpd")))
}

func TestTheWriteToolRuleCanFail(t *testing.T) {
	for _, path := range []string{"/pkg/pfrest", "/pkg/readtool", "/pkg/mcpserver/internal/tool", "/pkg/rpc", "/pkg/secretfile", "/pkg/executor", "/pkg/executor/internal/exchange"} {
		mustFail(t, checkChange([]listed{{ImportPath: module + path}}), path)
	}
	mustFail(t, checkChangeImports([]listed{{ImportPath: module + "/pkg/mcpserver/internal/extras", Imports: []string{changePackage}}}), "mcpserver alone")
	mustFail(t, checkChangeImports([]listed{{ImportPath: changePackage, Imports: []string{"net/http"}}}), "net/http")
	mustFail(t, checkBans("mcpd", []listed{{ImportPath: module + "/pkg/executor"}}), "change the appliance")
}

package arch

import (
	"strings"
	"testing"
)

// ban says that a package (or a tree, with a trailing slash) may be linked by
// the named binaries alone, and why.
type ban struct {
	path   string
	only   []string
	reason string
}

var bans = []ban{
	{"go.etcd.io/bbolt", []string{"executord"}, "the contract store has one owner"},
	{"github.com/google/go-tpm/", []string{"executord"}, "the counter has one owner"},
	{"github.com/modelcontextprotocol/go-sdk/", []string{"mcpd"}, "one daemon speaks MCP"},
	{module + "/pkg/pfrest", []string{"mcpd", "executord"}, "nobody else may reach the appliance"},
	{module + "/pkg/readtool", []string{"mcpd"}, "READ is mcpd's"},
	{module + "/pkg/mcpserver", []string{"mcpd"}, "one daemon speaks MCP"},
	{module + "/pkg/executor", []string{"executord"}, "no other process holds code that can change the appliance"},
	{module + "/pkg/executor/", []string{"executord"}, "no other process holds code that can change the appliance"},
	{module + "/pkg/docfetch", []string{"docfetchd"}, "one daemon reaches the internet"},
	{module + "/pkg/docfetch/", []string{"docfetchd"}, "one daemon reaches the internet"},
	{module + "/pkg/apidocs", []string{"mcpd", "mcpctl"}, "docfetchd says what its pages say and compares nothing"},
	{module + "/pkg/guidance", []string{"guidanced"}, "the layer answers one tool and decides nothing"},
	{"os/exec", []string{"mcpctl", "mcpd"}, "no daemon starts a process: mcpctl is the supervisor, and the MCP SDK imports it in mcpd, where the symbol rule and seccomp forbid its use"},
	{"html/template", nil, "it switches off the linker's dead-code elimination"},
	{"text/template", nil, "it switches off the linker's dead-code elimination"},
	{"golang.org/x/net/trace", nil, "it brings html/template; build with grpcnotrace"},
	{"expvar", nil, "it registers itself on the default HTTP server"},
	{"net/http/pprof", nil, "it registers itself on the default HTTP server"},
	{"plugin", nil, "no code is loaded at run time"},
}

// guidancedHTTP are the only importers of net/http, crypto/tls and os/exec in
// guidanced: grpc imports net/http itself, and can do nothing with it once the
// linker has dropped what is unreachable (the symbol rule).
var guidancedHTTP = []string{"google.golang.org/grpc", "golang.org/x/net/"}

// signerOurs are the packages of ours that mcpsign may link, signerNot those of
// anybody's that it must not: it runs off the host, where a network, a child process
// or code of a daemon would be a way to the key.
var (
	signerOurs = []string{"pkg/canon", "pkg/textsafe", "pkg/artifact", "pkg/signer", "cmd/mcpsign"}
	signerNot  = []string{"net", "net/", "crypto/tls", "os/exec", "log/syslog", "google.golang.org/", "golang.org/x/net/"}
)

// checkSigner finds what mcpsign links and must not.
func checkSigner(deps []listed) []string {
	var bad []string
	for _, d := range deps {
		if rel, ours := strings.CutPrefix(d.ImportPath, module+"/"); ours && !allowed(rel, signerOurs) {
			bad = append(bad, "mcpsign links "+d.ImportPath+": it links canon and artifact alone")
		}
		for _, n := range signerNot {
			if matches(n, d.ImportPath) {
				bad = append(bad, "mcpsign links "+d.ImportPath+": it has no network and starts nothing")
			}
		}
	}
	return bad
}

// matches says whether a banned path covers an import path.
func matches(banned, path string) bool {
	if tree, ok := strings.CutSuffix(banned, "/"); ok {
		return strings.HasPrefix(path, tree+"/")
	}
	return path == banned
}

// checkBans finds packages that a binary links and must not.
func checkBans(binary string, deps []listed) []string {
	var bad []string
	for _, b := range bans {
		if contains(b.only, binary) {
			continue
		}
		for _, d := range deps {
			if matches(b.path, d.ImportPath) {
				bad = append(bad, binary+" links "+d.ImportPath+": "+b.reason)
			}
		}
	}
	return bad
}

// checkStaleBans finds bans on packages of ours that are gone, which would
// protect nothing without anybody noticing.
func checkStaleBans(bans []ban, pkgs []listed) []string {
	var bad []string
	for _, b := range bans {
		if !isOurs(b.path) {
			continue
		}
		found := false
		for _, p := range pkgs {
			found = found || matches(b.path, p.ImportPath)
		}
		if !found && !planned[b.path] {
			bad = append(bad, "the ban on "+b.path+" names a package that does not exist")
		}
	}
	return bad
}

// planned are packages of the architecture that the bans name before they
// exist, so that the rule is there on the day they are.
var planned = map[string]bool{
	module + "/pkg/executor/": true,
}

// checkGuidanced finds importers of net/http, crypto/tls and os/exec in
// guidanced that are not grpc or x/net.
func checkGuidanced(deps []listed) []string {
	var bad []string
	for _, d := range deps {
		if d.Standard {
			continue
		}
		for _, imp := range d.Imports {
			if imp != "net/http" && imp != "crypto/tls" && imp != "os/exec" {
				continue
			}
			allowed := false
			for _, p := range guidancedHTTP {
				allowed = allowed || d.ImportPath == strings.TrimSuffix(p, "/") || strings.HasPrefix(d.ImportPath, strings.TrimSuffix(p, "/")+"/")
			}
			if !allowed {
				bad = append(bad, "guidanced: "+d.ImportPath+" imports "+imp)
			}
		}
	}
	return bad
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func TestEachBinaryLinksOnlyWhatItMay(t *testing.T) {
	for _, b := range binaries(t) {
		t.Run(b, func(t *testing.T) {
			deps := closure(t, b)
			want(t, checkBans(b, deps))
			if b == "guidanced" {
				want(t, checkGuidanced(deps))
			}
			if b == "mcpsign" {
				want(t, checkSigner(deps))
			}
		})
	}
	want(t, checkStaleBans(bans, allPackages(t)))
}

func TestTheClosureRuleCanFail(t *testing.T) {
	mustFail(t, checkBans("mcpd", []listed{{ImportPath: "go.etcd.io/bbolt"}}), "contract store")
	mustFail(t, checkBans("mcpd", []listed{{ImportPath: module + "/pkg/executor/internal/gate"}}), "change the appliance")
	mustFail(t, checkBans("guidanced", []listed{{ImportPath: module + "/pkg/pfrest"}}), "reach the appliance")
	mustFail(t, checkStaleBans([]ban{{path: module + "/pkg/gone"}}, nil), "does not exist")
	mustFail(t, checkSigner([]listed{{ImportPath: "net"}}), "no network")
	mustFail(t, checkSigner([]listed{{ImportPath: "net/http"}}), "no network")
	mustFail(t, checkSigner([]listed{{ImportPath: "google.golang.org/grpc/status"}}), "no network")
	mustFail(t, checkSigner([]listed{{ImportPath: module + "/pkg/errs"}}), "canon and artifact alone")
	mustFail(t, checkSigner([]listed{{ImportPath: module + "/pkg/artifactory"}}), "canon and artifact alone")
	mustFail(t, checkGuidanced([]listed{{ImportPath: module + "/pkg/guidance", Imports: []string{"net/http"}}}), "net/http")
}

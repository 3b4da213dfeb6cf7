//go:build clients

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pfsensemcp/test/bridge"
	"pfsensemcp/test/suite"
)

// patience bounds one run of a client.
const patience = 10 * time.Minute

// whole starts a suite that the test's own user may use as a client: Node and
// its modules need not be readable by another.
func whole(t *testing.T, o suite.Options) *suite.Suite {
	t.Helper()
	if suite.Root() {
		o.Settings += "operators_may_use_mcp = true\n"
	}
	return suite.New(t, o)
}

// node runs a program of node_modules under the Node that is installed there.
func node(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, ".bin", "node")); err != nil {
		t.Fatal("the clients are not installed: run make test-clients")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(modules, ".bin", "node"), args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(modules, ".bin")+":"+os.Getenv("PATH"), "NO_COLOR=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func bin(name string) string { return filepath.Join("node_modules", ".bin", name) }

func TestTheInspectorListsCallsReadsAndPrompts(t *testing.T) {
	s := whole(t, suite.Options{})
	// The inspector takes every flag for its own, so the socket is told by the
	// environment.
	start := []string{bin("mcp-inspector"), "--cli", "-e", "PFSENSE_MCP_SOCKET=" + s.Socket("mcp"), filepath.Join(s.Bin, "mcpd"), "stdio"}
	for _, tt := range []struct {
		name string
		args []string
		subs []string
	}{
		{"list the tools", []string{"--method", "tools/list"}, []string{`"name": "pfsense_get_firewall_rules"`, `"name": "pfsense_mcp_info"`, `"outputSchema"`}},
		{"call one", []string{"--method", "tools/call", "--tool-name", "pfsense_get_system_version"}, []string{`2.8.1-RELEASE`, `"structuredContent"`}},
		{"call one with arguments", []string{"--method", "tools/call", "--tool-name", "pfsense_get_firewall_rules", "--tool-arg", "limit=2", "--tool-arg", `fields=["descr"]`}, []string{`"returned": 2`}},
		{"list the resources", []string{"--method", "resources/list"}, []string{`"uri": "pfsense://tools"`}},
		{"list the templates", []string{"--method", "resources/templates/list"}, []string{`"uriTemplate": "pfsense://guidance/{capability}"`}},
		{"read one", []string{"--method", "resources/read", "--uri", "pfsense://privileges/auditor"}, []string{"94 privileges", "api-v2-firewall-rules-get"}},
		{"list the prompts", []string{"--method", "prompts/list"}, []string{`"name": "first_look"`}},
		{"get one", []string{"--method", "prompts/get", "--prompt-name", "why_is_this_host_blocked", "--prompt-args", "address=192.0.2.7"}, []string{"ip_address = 192.0.2.7"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errs, err := node(t, append(slices.Clone(start), tt.args...)...)
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, errs, out)
			}
			var v map[string]any
			if err := json.Unmarshal([]byte(out), &v); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			for _, sub := range tt.subs {
				if !strings.Contains(out, sub) {
					t.Errorf("%q is not in %s", sub, out)
				}
			}
		})
	}
}

func TestTheTypeScriptClientHoldsAConversationOverStdio(t *testing.T) {
	s := whole(t, suite.Options{})
	out, errs, err := node(t, "sdk.mjs", filepath.Join(s.Bin, "mcpd"), s.Socket("mcp"))
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, errs, out)
	}
	if !strings.HasSuffix(out, "\nall held\n") {
		t.Errorf("%s\n%s", out, errs)
	}
}

// check is one result of the conformance suite.
type check struct {
	ID, Status, ErrorMessage string
}

// conformance runs the suite for one version and returns what it found, by
// scenario.
func conformance(t *testing.T, url, version string) map[string][]check {
	t.Helper()
	dir := t.TempDir()
	// It exits 1 when anything failed; what may fail is judged here.
	out, errs, err := node(t, bin("conformance"), "server", "--url", url, "--requirements", version, "-o", dir)
	files, _ := filepath.Glob(filepath.Join(dir, "server-*", "checks.json"))
	if len(files) == 0 {
		t.Fatalf("%v\n%s\n%s", err, tail(out, 40), tail(errs, 40))
	}
	found := map[string][]check{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		name := regexp.MustCompile(`^server-(.*)-\d{4}-\d\d-\d\dT`).FindStringSubmatch(filepath.Base(filepath.Dir(f)))
		if name == nil {
			t.Fatalf("%s names no scenario", f)
		}
		found[name[1]] = checks
	}
	return found
}

// expected reads the file of checks that may fail: "version scenario check",
// each below a remark that says why.
func expected(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("expected-failures.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	why := ""
	for line := range strings.Lines(string(raw)) {
		switch line = strings.TrimSpace(line); {
		case line == "":
			why = ""
		case strings.HasPrefix(line, "#"):
			why += line
		case why == "" || len(strings.Fields(line)) != 3:
			t.Errorf("%q has no reason, or is not a version, a scenario and a check", line)
		default:
			out[line] = why
		}
	}
	return out
}

func TestTheConformanceSuiteAgreesInBothEras(t *testing.T) {
	s := whole(t, suite.Options{Fixtures: true})
	web := httptest.NewServer(bridge.New(s.Socket("mcp")))
	defer web.Close()
	may := expected(t)
	failed := map[string]bool{}
	for version, least := range map[string]int{"2025-11-25": 33, "2026-07-28": 50} {
		scenarios, held := conformance(t, web.URL+"/mcp", version), 0
		if len(scenarios) < least {
			t.Errorf("%s: %d scenarios ran, %d are known", version, len(scenarios), least)
		}
		for name, checks := range scenarios {
			if len(checks) == 0 {
				t.Errorf("%s %s checked nothing", version, name)
			}
			for _, c := range checks {
				key := version + " " + name + " " + c.ID
				switch {
				case c.Status != "FAILURE" && c.Status != "WARNING":
					held++
				case may[key] == "":
					t.Errorf("%s: %s", key, c.ErrorMessage)
				default:
					failed[key] = true
				}
			}
		}
		t.Logf("%s: %d scenarios, %d checks held", version, len(scenarios), held)
	}
	for key := range may {
		if !failed[key] {
			t.Errorf("%s is expected to fail and did not: remove it", key)
		}
	}
	t.Logf("%d checks fail for reasons that are written down", len(failed))
}

// tail returns the last n lines.
func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

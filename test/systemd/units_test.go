package systemd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const deploy = "../../deploy/systemd"

// exposure is the most that `systemd-analyze security` may say of a daemon.
var exposure = map[string]float64{"guidanced": 0.5, "docfetchd": 1.3, "mcpd": 1.3, "executord": 1.5, "executord-witness": 1.5}

// named are what ExecStart= and ExecReload= name.
var named = []string{"mcpd", "guidanced", "docfetchd", "executord", "kill"}

// analyze returns systemd-analyze; where it is missing the test is skipped, in
// CI it fails.
func analyze(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("systemd-analyze is missing, and CI=true asks for it (Debian: systemd)")
	}
	t.Skip("systemd-analyze is missing (Debian: systemd)")
	return ""
}

// tree is a root with the units, and something executable for each program.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	units := filepath.Join(root, "usr/lib/systemd/system")
	bin := filepath.Join(root, "usr/bin")
	for _, d := range []string{units, bin} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(units, os.DirFS(filepath.Join(deploy, "units"))); err != nil {
		t.Fatal(err)
	}
	for _, p := range named {
		if err := os.WriteFile(filepath.Join(bin, p), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("usr/bin", filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	return root
}

// dropIn puts an example beside its unit.
func dropIn(t *testing.T, root, unit, example string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(deploy, "examples", example))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "usr/lib/systemd/system", unit+".d")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, example), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// edit replaces a text of a unit, which must be there.
func edit(t *testing.T, root, unit, old, new string) {
	t.Helper()
	path := filepath.Join(root, "usr/lib/systemd/system", unit)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), old) {
		t.Fatalf("%s has no %q", unit, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// verify returns all that `systemd-analyze verify` prints: it exits 0 on unknown
// keys and bad values, so its output is the answer.
func verify(t *testing.T, root string) string {
	t.Helper()
	args := []string{"verify", "--root=" + root, "--man=no", "--recursive-errors=no"}
	entries, err := os.ReadDir(filepath.Join(deploy, "units"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		args = append(args, "/usr/lib/systemd/system/"+e.Name())
	}
	out, err := exec.Command(analyze(t), args...).CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatalf("systemd-analyze verify: %v, and not a word", err)
	}
	return string(out)
}

func TestSystemdHasNothingToSayAboutTheUnits(t *testing.T) {
	root := tree(t)
	if out := verify(t, root); out != "" {
		t.Errorf("systemd-analyze verify:\n%s", out)
	}
	for unit, examples := range dropIns {
		for _, e := range examples {
			dropIn(t, root, unit, e)
		}
	}
	if out := verify(t, root); out != "" {
		t.Errorf("with the example drop-ins:\n%s", out)
	}
}

var dropIns = map[string][]string{
	"pfsense-mcpd.service":              {"mcpd-appliance.conf", "mcpd-encrypted-key.conf"},
	"pfsense-docfetchd.service":         {"docfetchd-resolver.conf"},
	"pfsense-executord.service":         {"executord-write.conf"},
	"pfsense-executord-witness.service": {"executord-witness.conf"},
}

func TestEveryDropInAmongTheExamplesIsTried(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(deploy, "examples", "*.conf"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, f := range files {
		known := false
		for _, examples := range dropIns {
			known = known || slices.Contains(examples, filepath.Base(f))
		}
		if !known {
			t.Errorf("%s is in no test", f)
		}
	}
}

func TestAFaultInAUnitIsSeen(t *testing.T) {
	for _, row := range []struct{ unit, old, new string }{
		{"pfsense-guidanced.service", "PrivateNetwork=yes", "PrivateNetwerk=yes"},
		{"pfsense-guidanced.service", "PrivateNetwork=yes", "PrivateNetwork=maybe"},
		{"pfsense-mcpd.service", "SystemCallFilter=read ", "SystemCallFilter=raed "},
		{"pfsense-mcpd.service", "MemoryMax=256M", "MemoryMax=256X"},
		{"pfsense-docfetchd.socket", "Service=pfsense-docfetchd.service", "Service=pfsense-docfetchd.servise"},
		{"pfsense-executord.service", "/usr/bin/executord", "/usr/bin/executor"},
	} {
		root := tree(t)
		edit(t, root, row.unit, row.old, row.new)
		if verify(t, root) == "" {
			t.Errorf("%s with %s: not a word", row.unit, row.new)
		}
	}
}

var overall = regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`)

// exposed asks how open a daemon's unit is, and holds it to the bound.
func exposed(t *testing.T, root, daemon string) (level float64, err error) {
	t.Helper()
	out, cmdErr := exec.Command(analyze(t), "security", "--root="+root, "--offline=true", "--no-pager",
		"pfsense-"+daemon+".service").CombinedOutput()
	m := overall.FindSubmatch(out)
	if m == nil {
		t.Fatalf("systemd-analyze security: %v\n%s", cmdErr, out)
	}
	if _, err := fmt.Sscanf(string(m[1]), "%f", &level); err != nil {
		t.Fatal(err)
	}
	if level > exposure[daemon] {
		var open []string
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "✗") {
				open = append(open, line)
			}
		}
		return level, fmt.Errorf("the exposure of %s is %.1f, at most %.1f is allowed:\n%s", daemon, level, exposure[daemon], strings.Join(open, ""))
	}
	return level, nil
}

func TestTheDaemonsAreExposedNoMoreThanTheyMayBe(t *testing.T) {
	root, writing := tree(t), tree(t)
	for unit, examples := range dropIns {
		for _, e := range examples {
			dropIn(t, writing, unit, e)
		}
	}
	for daemon := range exposure {
		level, err := exposed(t, root, daemon)
		if err != nil {
			t.Error(err)
		}
		with, err := exposed(t, writing, daemon)
		if err != nil {
			t.Errorf("with its drop-ins: %v", err)
		}
		t.Logf("%s: %.1f, with the example drop-ins %.1f", daemon, level, with)
	}
}

func TestAnExposureAboveTheBoundIsSeen(t *testing.T) {
	for daemon, line := range map[string]string{
		"guidanced": "PrivateNetwork=yes", "docfetchd": "CapabilityBoundingSet=\n",
		"mcpd": "IPAddressDeny=any\n", "executord": "ProtectSystem=strict",
	} {
		root := tree(t)
		unit := "pfsense-" + daemon + ".service"
		edit(t, root, unit, line, "\n")
		edit(t, root, unit, "RestrictNamespaces=yes", "")
		if level, err := exposed(t, root, daemon); err == nil {
			t.Errorf("%s without %q is at %.1f, still allowed", daemon, line, level)
		}
	}
}

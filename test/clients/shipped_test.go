package clients

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

func TestFixturesAreInTheTestBuildAlone(t *testing.T) {
	s := suite.New(t, suite.Options{Fixtures: true})
	shipped, tested := filepath.Join(s.Bin, "mcpd"), filepath.Join(s.Bin, "fixtures", "mcpd")
	for file, want := range map[string]bool{shipped: false, tested: true} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, mark := range []string{"test_simple_text", "test://static-text", "test_prompt_with_arguments"} {
			if bytes.Contains(b, []byte(mark)) != want {
				t.Errorf("%s: %q is there: %t", file, mark, !want)
			}
		}
		out, err := exec.Command(file, "--version").Output()
		if err != nil || strings.Contains(string(out), "TEST BUILD") != want {
			t.Errorf("%s --version: %v %s", file, err, out)
		}
		// A test build takes no appliance but a pretended one.
		settings := filepath.Join(t.TempDir(), "mcpd.toml")
		if err := os.WriteFile(settings, []byte("api_url = \"https://192.0.2.1\"\nidentity = \"x\"\napi_key_file = \"/x\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		check, _ := exec.Command(file, "serve", "--check-config", "--config", settings).CombinedOutput()
		if strings.Contains(string(check), "loopback") != want {
			t.Errorf("%s --check-config: %s", file, check)
		}
	}
	// The fixtures are there to be tested with.
	c := s.Shim()
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
	if res, err := c.Tool("test_simple_text", nil); err != nil || res.IsError {
		t.Errorf("%v %+v", err, res)
	}
}

func TestTheLockPinsEveryPackageAndNamesNoHost(t *testing.T) {
	raw, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "://") {
		t.Error("package-lock.json names a host: run npm install with omit-lockfile-registry-resolved")
	}
	var lock struct {
		Packages map[string]struct {
			Version, Integrity string
			HasInstallScript   bool
		}
	}
	if err := json.Unmarshal(raw, &lock); err != nil {
		t.Fatal(err)
	}
	if len(lock.Packages) < 100 {
		t.Errorf("%d packages", len(lock.Packages))
	}
	for name, p := range lock.Packages {
		if name != "" && (p.Version == "" || !strings.HasPrefix(p.Integrity, "sha512-")) {
			t.Errorf("%s: version %q, integrity %q", name, p.Version, p.Integrity)
		}
	}
}

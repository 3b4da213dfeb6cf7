package install

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pfsensemcp/pkg/install/internal/layout"
)

func TestTheDaemonsTakeTheSettingsThatSetupWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds three programs")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-tags", "grpcnotrace", "-o", bin+"/", "pfsensemcp/cmd/mcpd", "pfsensemcp/cmd/executord", "pfsensemcp/cmd/docfetchd")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := newSite(t, authority)
	s.Roots.AddCert(s.appliance.CA) // strict: no file of the host is named
	o := s.writing()
	o.Plain, o.Pin, o.Profile, o.Toolsets = true, s.pin(t), "auditor", []string{"core", "vpn"}
	s.must(t, o)
	taken := func(toml string, args ...string) {
		t.Helper()
		args = append(args, "--check-config", "--config", filepath.Join(s.Root, toml))
		if out, err := exec.Command(filepath.Join(bin, args[0]), args[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", toml, err, out)
		}
	}
	taken(layout.McpdTOML, "mcpd", "serve")
	taken(layout.ExecutordTOML, "executord")
	taken(layout.DocfetchdTOML, "docfetchd")
	s.identity(t, "ca", time.Hour)
	s.identity(t, "cert", time.Hour)
	o = s.witnessed()
	o.Plain = true
	s.must(t, o)
	taken(layout.ExecutordTOML, "executord")
}

package install

import (
	"os/exec"
	"path/filepath"
	"testing"

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
	for _, tt := range []struct {
		args []string
		toml string
	}{
		{[]string{"mcpd", "serve"}, layout.McpdTOML},
		{[]string{"executord"}, layout.ExecutordTOML},
		{[]string{"docfetchd"}, layout.DocfetchdTOML},
	} {
		args := append(tt.args[1:], "--check-config", "--config", filepath.Join(s.Root, tt.toml))
		if out, err := exec.Command(filepath.Join(bin, tt.args[0]), args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", tt.toml, err, out)
		}
	}
}

package layout

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// directives are the lines of a drop-in that systemd reads, sorted.
func directives(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

func example(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "deploy", "systemd", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheDropInsAreThoseThatTheUnitsWereTriedWith(t *testing.T) {
	v := &Values{Write: true, Sealed: true, Device: true, TSS: true, Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}
	if diff := cmp.Diff(directives(example(t, "executord-write.conf")), directives(v.WriteUnit())); diff != "" {
		t.Errorf("executord's:\n%s", diff)
	}
	if diff := cmp.Diff(directives(example(t, "mcpd-appliance.conf")), directives(v.McpdUnit())); diff != "" {
		t.Errorf("mcpd's:\n%s", diff)
	}
	docs := DocsUnit([]netip.Addr{netip.MustParseAddr("192.168.1.53")})
	if diff := cmp.Diff(directives(example(t, "docfetchd-resolver.conf")), directives(docs)); diff != "" {
		t.Errorf("docfetchd's:\n%s", diff)
	}
	if bare := (&Values{Write: true}).WriteUnit(); strings.Contains(bare, "dev-tpmrm0") || strings.Contains(bare, "tss") || strings.Contains(bare, "Encrypted") {
		t.Errorf("a unit waits for what this host does not have:\n%s", bare)
	}
}

func TestExecutordsSettingsNameTheCredentialsThatItsUnitLoads(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		for _, witness := range []string{"", "https://192.0.2.7:7443"} {
			v := &Values{Write: true, Sealed: sealed, StoreID: "office", Account: "w", URL: "https://192.0.2.1", TLSMode: "strict", TPM: "device:/dev/tpmrm0", Witness: witness}
			toml, unit := v.ExecutordSettings(), v.WriteUnit()
			for _, c := range WriteCredentials(witness != "") {
				named := c.Setting + ` = "` + c.Name + `"`
				if c.Name == WitnessKey {
					named = `client_key = "/run/credentials/pfsense-executord.service/witness-key"`
				}
				if !strings.Contains(toml, named) || !strings.Contains(unit, "="+c.Name+":"+c.Path(sealed)+"\n") {
					t.Errorf("%s: settings and unit differ", c.Name)
				}
			}
			if got := strings.Contains(toml+unit, "nv-auth"); got != (witness == "") {
				t.Errorf("with the counter at %q the secret of one is named: %t", witness, got)
			}
		}
	}
	if off := (&Values{}).ExecutordSettings(); strings.Contains(off, "store_dir") || strings.Contains(off, "[write]") {
		t.Errorf("write is on without being asked for:\n%s", off)
	}
}

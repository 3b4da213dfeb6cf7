package guidance

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pfsensemcp/pkg/catalog"
)

func TestEveryToolHasItsGuidance(t *testing.T) {
	for _, row := range catalog.Tools() {
		g := Guide(row)
		if kindTexts[row.Kind] == "" {
			t.Errorf("%s: the kind %q has no text", row.Name, row.Kind)
		}
		if n := utf8.RuneCountInString(g.Text); n > maxText || row.Interpret == "" || !strings.HasSuffix(g.Text, row.Interpret) {
			t.Errorf("%s: a text of %d characters", row.Name, n)
		}
		if len(g.Related) == 0 || len(g.Related) > 16 || slices.Contains(g.Related, row.Name) {
			t.Errorf("%s: related tools %q", row.Name, g.Related)
		}
		for _, name := range g.Related {
			if _, ok := catalog.Lookup(name); !ok {
				t.Errorf("%s: %s is related and no tool", row.Name, name)
			}
		}
		if len(g.Omitted) > 64 || !slices.IsSorted(g.Omitted) {
			t.Errorf("%s omits %q", row.Name, g.Omitted)
		}
		if (len(g.Omitted) > 0) != (catalog.OmitsSecrets(row.Model) > 0) {
			t.Errorf("%s omits %q, the catalog counts %d", row.Name, g.Omitted, catalog.OmitsSecrets(row.Model))
		}
		if row.List && !g.Empty {
			t.Errorf("%s is a list that may not be empty", row.Name)
		}
	}
}

func TestEmptinessFollowsTheKindForObjects(t *testing.T) {
	for kind, want := range map[string]bool{
		catalog.Configuration: true, catalog.ApplyStatus: true, catalog.DerivedState: true, catalog.History: true,
		catalog.RuntimeStatus: false, catalog.CapabilityList: false, catalog.Identity: false,
	} {
		if got := emptyMeans(&catalog.Tool{Kind: kind}); got != want {
			t.Errorf("an object of %s: %v", kind, got)
		}
		if !emptyMeans(&catalog.Tool{Kind: kind, List: true}) {
			t.Errorf("a list of %s may not be empty", kind)
		}
	}
}

// Nobody keeps this list by hand: it follows from what the models leave out.
func TestSecretsThatAreLeftOut(t *testing.T) {
	omits := map[string][]string{}
	for _, row := range catalog.Tools() {
		if row.Toolset != catalog.SetExtended {
			if o := Guide(row).Omitted; len(o) > 0 {
				omits[row.Name] = o
			}
		}
	}
	for name, field := range map[string]string{
		"pfsense_get_users":                    "password",
		"pfsense_get_auth_keys":                "key",
		"pfsense_get_system_certificates":      "prv",
		"pfsense_get_vpn_openvpn_servers":      "tls",
		"pfsense_get_firewall_virtual_ips":     "password",
		"pfsense_get_system_hasync":            "password",
		"pfsense_get_status_wireguard_tunnels": "peers.preshared_key",
	} {
		if !slices.Contains(omits[name], field) {
			t.Errorf("%s does not say that %s is left out: %q", name, field, omits[name])
		}
	}
	if len(omits) != 14 {
		t.Errorf("%d of the 95 tools leave secrets out: %v", len(omits), omits)
	}
	if o := Guide(must(catalog.Lookup("pfsense_get_firewall_rules"))).Omitted; len(o) != 0 {
		t.Errorf("firewall rules leave out %q", o)
	}
}

func must(t *catalog.Tool, ok bool) *catalog.Tool {
	if !ok {
		panic("no such tool")
	}
	return t
}

package catalog

import "testing"

// unevenOnPurpose are fields whose gate differs from that of the fields of the
// same name in other models, with the reason: the name is the same, the kind of
// data is not.
var unevenOnPurpose = map[string]string{
	"BINDAccessListEntry.value":         "an address or network, elsewhere a number or a setting",
	"BINDZoneRecord.name":               "a host name, elsewhere the name of a stored object",
	"ConfigHistoryRevision.description": "begins with who made the change and from where",
	"FirewallTrafficShaperLimiter.mask": "which address is masked, not a network mask",
	"HAProxyFrontendACL.value":          "host names and addresses to match",
	"PfSenseUser.name":                  "a person's account, elsewhere the name of a stored object",
	"SystemStatus.serial":               "the device's serial number, elsewhere one of a certificate or zone",
	"TrafficShaperLimiterQueue.mask":    "which address is masked, not a network mask",
}

// evenGates holds the decision that a gate follows the kind of data and not the
// tool: what is gated in one model is gated in all.
func evenGates(rows []*Tool, fault faultFunc) {
	gated, shown := map[string]string{}, map[string]string{}
	used := map[string]bool{}
	eachField(rows, func(m *Model, f *Field) {
		full := m.Name + "." + f.Name
		if f.Kind == Object {
			return
		}
		if unevenOnPurpose[full] != "" {
			used[full] = true
			return
		}
		mine, others := shown, gated
		if f.Gate != Shown {
			mine, others = gated, shown
		}
		mine[f.UpName()] = full
		if other := others[f.UpName()]; other != "" {
			fault("%s and %s: one gated, one shown", other, full)
		}
	})
	for full := range unevenOnPurpose {
		if !used[full] {
			fault("%s: an exception for a field that is not there", full)
		}
	}
}

func TestToolsWithAGatedFieldHaveTheFlagAndNoOthers(t *testing.T) {
	nested := &Model{Name: "outer", Fields: []Field{{Name: "rows", Kind: Object, List: true, Model: &Model{
		Name: "inner", Fields: []Field{{Name: "address", Gate: Network}},
	}}}}
	if !HasGate(nested) {
		t.Error("a gate in a nested model is not seen")
	}
	for name, want := range map[string]bool{
		"pfsense_get_firewall_rules":            true,
		"pfsense_get_arp_table":                 true, // shown without a gate before: gated by kind of data
		"pfsense_get_dhcp_servers":              true,
		"pfsense_get_service_status":            false,
		"pfsense_get_firewall_apply_status":     false,
		"pfsense_get_status_logs_firewall":      true,
		"pfsense_get_dns_resolver_settings":     false,
		"pfsense_get_system_version":            false,
		"pfsense_get_firewall_virtual_ips":      true,
		"pfsense_get_dns_resolver_access_lists": true,
	} {
		row, ok := Lookup(name)
		if !ok || HasGate(row.Model) != want {
			t.Errorf("%s: HasGate is not %v", name, want)
		}
	}
}

func TestDescriptionsStayShown(t *testing.T) {
	eachField(Tools(), func(m *Model, f *Field) {
		if f.Name == "descr" && (f.Gate != Shown || f.Mark&FreeText == 0) {
			t.Errorf("%s.descr: free text of administrators stays shown and is marked", m.Name)
		}
	})
}

func TestSecretsLeftOutAreCountedInNestedModelsToo(t *testing.T) {
	for name, want := range map[string]int{
		"pfsense_get_users":                    2,
		"pfsense_get_system_crls":              1, // of the revoked certificates within
		"pfsense_get_firewall_rules":           0,
		"pfsense_get_status_wireguard_tunnels": 1,
		"pfsense_get_vpn_openvpn_clients":      3,
	} {
		row, _ := Lookup(name)
		if got := OmitsSecrets(row.Model); got != want {
			t.Errorf("%s leaves out %d secrets, want %d", name, got, want)
		}
	}
}

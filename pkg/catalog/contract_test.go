package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The facts of the contract that the table must hold.
type contract struct {
	Tools []struct {
		Name, Class, Category, Capability, Privilege string
		Result                                       string   `json:"result_kind"`
		Related                                      []string `json:"related_tools"`
		Packages                                     []string `json:"required_packages"`
		HTTP                                         struct{ Path string }
		Output                                       struct{ Kind, Model string }
		Parameters                                   []struct {
			Name    string
			Maximum int
		}
	}
	Models map[string]struct {
		Origin string
		Fields []struct {
			Name     string
			Upstream string `json:"upstream_name"`
			Gated    bool   `json:"disclosure_gated"`
			Personal bool   `json:"personal_data_without_gate"`
			Embeds   bool   `json:"free_text_may_embed_secret"`
			List     bool
			Type     string
			Secret   string `json:"must_not_be_exposed"`
		}
		Excluded []json.RawMessage `json:"excluded_fields"`
	}
	Capabilities struct {
		Read  []string
		Write []string `json:"write_reserved"`
	}
}

// leftOut are fields of the contract that real answers proved wrong to show.
var leftOut = []string{
	"InterfaceStatus.enable",
	"OpenVpnServer.tls",
	"FirewallNatOutboundMapping.source_hash_key",
	"SystemRestApiVersion.install_version",
	"FirewallState.id",
}

func readContract(t *testing.T) contract {
	t.Helper()
	var c contract
	if err := json.Unmarshal(shared(t, "contract/tools.json"), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheRowsAreThoseOfTheContract(t *testing.T) {
	c := readContract(t)
	var want []string
	for _, tool := range c.Tools {
		if tool.Class == "guidance" {
			if !slices.Contains(GuidanceTools(), tool.Name) {
				t.Errorf("guidance tool %s is not known", tool.Name)
			}
			continue
		}
		want = append(want, tool.Name)
		r, ok := Lookup(tool.Name)
		if !ok {
			continue
		}
		type facts struct {
			Capability, Path, Privilege, Toolset, Kind, Package string
			List                                                bool
		}
		pkg := strings.Join(tool.Packages, ",")
		expect := facts{tool.Capability, tool.HTTP.Path, tool.Privilege, toolsetOf(tool.Name, tool.Category), tool.Result, pkg, tool.Output.Kind == "list"}
		got := facts{r.Capability, r.Path, Privilege(r), r.Toolset, r.Kind, r.Package, r.List}
		if r.Name == InfoTool {
			got.Kind, expect.Kind = "", "" // the contract has none for it
		}
		if diff := cmp.Diff(expect, got); diff != "" {
			t.Errorf("%s (-contract +row):\n%s", tool.Name, diff)
		}
		for _, p := range tool.Parameters {
			if p.Name == "limit" && p.Maximum != r.MaxLimit {
				t.Errorf("%s: limit up to %d, the contract says %d", r.Name, r.MaxLimit, p.Maximum)
			}
			if p.Name == "include_identifying_metadata" && !HasGate(r.Model) {
				t.Errorf("%s: the flag of the contract is gone", r.Name)
			}
		}
		for _, name := range tool.Related {
			if !slices.Contains(r.Related, name) {
				t.Errorf("%s: related tool %s of the contract is missing", r.Name, name)
			}
		}
	}
	var got []string
	for _, r := range Tools() {
		if r.Toolset != SetExtended {
			got = append(got, r.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-contract +table):\n%s", diff)
	}
	if diff := cmp.Diff(c.Capabilities.Read, ReadCapabilities()); diff != "" {
		t.Errorf("read capabilities (-contract +table):\n%s", diff)
	}
	slices.Sort(c.Capabilities.Write)
	if diff := cmp.Diff(c.Capabilities.Write, WriteCapabilities()); diff != "" {
		t.Errorf("write capabilities (-contract +table):\n%s", diff)
	}
}

// toolsetOf is the rule by which a category of the contract becomes a toolset.
func toolsetOf(name, category string) string {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
	}
	switch category {
	case "firewall_nat":
		return SetFirewall
	case "interfaces_routing":
		if has("routing", "gateway") {
			return SetRouting
		}
		return SetInterfaces
	case "dhcp_dns":
		if has("dhcp") {
			return SetDHCP
		}
		return SetDNS
	case "identity", "diagnostics", "server":
		if has("diagnostics_tables") {
			return SetFirewall
		}
		return SetSystem
	default:
		return category
	}
}

func TestTheModelsHoldTheFieldsOfTheContract(t *testing.T) {
	c := readContract(t)
	models := map[string]*Model{}
	eachModel(Tools(), func(m *Model) { models[m.Name] = m })
	for name, m := range c.Models {
		if m.Origin != "read" {
			continue
		}
		mine := models[name]
		if mine == nil {
			t.Errorf("no model %s", name)
			continue
		}
		for _, f := range m.Fields {
			full := name + "." + f.Name
			i := slices.IndexFunc(mine.Fields, func(o Field) bool { return o.Name == f.Name })
			if (i < 0) != slices.Contains(leftOut, full) {
				t.Errorf("%s: shown is %v", full, i >= 0)
			}
			if i < 0 {
				if up := f.Name; !slices.ContainsFunc(mine.Excluded, func(e Exclusion) bool { return e.Field == up }) {
					t.Errorf("%s: left out without a reason", full)
				}
				continue
			}
			got := mine.Fields[i]
			if f.Upstream != "" && f.Upstream != got.UpName() {
				t.Errorf("%s: upstream name %s, the contract says %s", full, got.UpName(), f.Upstream)
			}
			if got.List != f.List {
				t.Errorf("%s: list is %v", full, got.List)
			}
			if gated := f.Gated || f.Personal && f.Name != "descr"; gated && got.Kind != Object && got.Gate == Shown {
				t.Errorf("%s: gated by the contract, shown here", full)
			}
			if f.Embeds && got.Kind != Object && got.Mark&MayEmbed == 0 {
				t.Errorf("%s: may embed a secret by the contract, not marked here", full)
			}
		}
	}
}

func TestTheExtendedRowsAreThoseDecided(t *testing.T) {
	var list struct {
		Endpoints []struct {
			Tool, Path, Kind string
			Packages         []string `json:"required_packages"`
			Result           string   `json:"suggested_result_kind"`
		}
	}
	if err := json.Unmarshal(shared(t, "contract/extended.json"), &list); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pfsense_get_user_auth_servers", "pfsense_get_vpn_ipsec_phase1s", "pfsense_get_vpn_openvpn_clients",
		"pfsense_get_vpn_wireguard_peers", "pfsense_get_vpn_wireguard_tunnels",
	}
	for _, e := range list.Endpoints {
		want = append(want, e.Tool)
		r := mustLookup(t, e.Tool)
		if r.Path != e.Path || r.List != (e.Kind == "list") || r.Package != strings.Join(e.Packages, ",") || r.Kind != e.Result {
			t.Errorf("%s: path, kind, package or result kind differ", e.Tool)
		}
	}
	var got []string
	for _, r := range Tools() {
		if r.Toolset == SetExtended {
			got = append(got, r.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("extended tools (-decided +table):\n%s", diff)
	}
}

package catalog

import "slices"

// The toolsets. Each tool belongs to exactly one of the named areas; core and
// all are views over them. Toolsets narrow a profile and grant nothing.
const (
	SetCore       = "core"
	SetAll        = "all"
	SetFirewall   = "firewall"
	SetInterfaces = "interfaces"
	SetRouting    = "routing"
	SetDNS        = "dns"
	SetDHCP       = "dhcp"
	SetVPN        = "vpn"
	SetSystem     = "system"
	SetServices   = "services"
	SetExtended   = "extended"
)

// Names of tools that are no rows of the table: they belong to other services
// and are known here so that an allow-list can be checked as a whole.
const (
	GuidanceTool    = "pfsense_get_official_guidance"
	APIGuidanceTool = "pfsense_get_api_guidance"
	WriteTool       = "set_firewall_alias_description_v1"
)

// Internal endpoints: read by the server itself to tell an absent package from
// an empty one, to learn how interfaces are named, what the installed version
// can do and which DHCP server answers. All are rows too.
const (
	PathPackages        = "/api/v2/system/packages"
	PathRESTAPISettings = "/api/v2/system/restapi/settings"
	PathRESTAPIVersion  = "/api/v2/system/restapi/version"
	PathServices        = "/api/v2/status/services"
	PathDHCPLeases      = "/api/v2/status/dhcp_server/leases"
)

// Tools returns every row in the order of the table: by toolset, then as
// written. The slice is the caller's; the rows are shared and must not be
// changed.
func Tools() []*Tool {
	return slices.Concat(
		serverRows, firewallRows, interfacesRows, routingRows, dnsRows, dhcpRows,
		vpnRows, systemRows, servicesRows, extendedRows, extendedLogRows,
	)
}

// Lookup returns the row with exactly this name.
func Lookup(name string) (*Tool, bool) {
	for _, t := range Tools() {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// Toolsets returns the names that a list of toolsets may hold.
func Toolsets() []string {
	return []string{
		SetCore, SetFirewall, SetInterfaces, SetRouting, SetDNS, SetDHCP,
		SetVPN, SetSystem, SetServices, SetAll, SetExtended,
	}
}

// GuidanceTools returns the names of the two tools other services answer.
func GuidanceTools() []string { return []string{GuidanceTool, APIGuidanceTool} }

// Endpoints returns every path a row can ask, each once, sorted: those of the
// rows and those of the parents read in their place. An appliance client that
// is built with them refuses everything else.
func Endpoints() []string {
	var out []string
	for _, t := range Tools() {
		if t.Path != "" {
			out = append(out, t.Path)
		}
		if t.Reads != nil {
			out = append(out, t.Reads.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// HasGate reports whether a model or a model nested in it has a gated field. A
// tool takes include_identifying_metadata exactly when this holds.
func HasGate(m *Model) bool {
	return slices.ContainsFunc(m.Fields, func(f Field) bool {
		return f.Gate != Shown || f.Kind == Object && HasGate(f.Model)
	})
}

// OmitsSecrets returns how many upstream fields of a model and of the models
// nested in it are left out because they are or may be secrets.
func OmitsSecrets(m *Model) int {
	n := 0
	for _, e := range m.Excluded {
		if e.Secret {
			n++
		}
	}
	for _, f := range m.Fields {
		if f.Kind == Object {
			n += OmitsSecrets(f.Model)
		}
	}
	return n
}

// UpName returns the field's name in the appliance's answer.
func (f *Field) UpName() string {
	if f.Up != "" {
		return f.Up
	}
	return f.Name
}

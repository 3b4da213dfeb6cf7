// Package layout owns where mcpctl setup puts files, and what stands in those that it
// writes: settings and drop-ins.
//
// install alone imports it. It must never be given a value that was not checked: each ends
// between quotes in a file that root's daemons read, so none may hold a quote, a backslash
// or a line end.
//
// The attack it stops: a unit that reaches more than the appliance, or reads a key from
// where somebody else can write.
package layout

import (
	"net/netip"
	"strings"
)

// The places, all of them fixed: the units and the doctor know them too.
const (
	etc         = "/etc/pfsense-mcp/"
	credentials = etc + "credentials/"
	credstore   = "/etc/credstore.encrypted/"
	Units       = "/etc/systemd/system/"

	McpdTOML      = etc + "mcpd.toml"
	ExecutordTOML = etc + "executord.toml"
	DocfetchdTOML = etc + "docfetchd.toml"
	CAPEM         = etc + "appliance-ca.pem"
	Authorities   = etc + "authorities.json"
	WitnessCA     = etc + "witness-ca.pem"
	WitnessCert   = etc + "witness-client.pem"
	McpdDropIn    = Units + "pfsense-mcpd.service.d/appliance.conf"
	WriteDropIn   = Units + "pfsense-executord.service.d/write.conf"
	DocsDropIn    = Units + "pfsense-docfetchd.service.d/resolver.conf"

	ReadKey       = credentials + "read-api-key"
	SealedReadKey = credstore + "pfsense-mcpd.read-api-key"
	StoreDir      = "/var/lib/pfsense-executord"
)

// made stands on top of every file that setup writes.
const made = "# Written by mcpctl setup. Change it freely: setup leaves a changed file alone.\n"

// Values are what the files say.
type Values struct {
	URL       string
	Identity  string
	TLSMode   string // of the settings: strict, auto or insecure
	CA        bool   // the authorities lie in CAPEM
	Pin       string
	Profile   string // "" leaves the default
	Toolsets  []string
	Operators []string

	Write   bool
	Lab     bool
	StoreID string
	Account string
	TPM     string
	Witness string // URL of the witness host, "" for a TPM of this one

	Addrs  []netip.Addr // that the units may reach
	Sealed bool         // executord's keys are encrypted at rest
	Device bool         // this host has the TPM's device: a unit waits for it
	TSS    bool         // and the group that it belongs to
}

// list renders names as an array of TOML. They hold no quote: they were checked.
func list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = `"` + n + `"`
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// McpdSettings renders mcpd.toml.
func (v *Values) McpdSettings() string {
	var b strings.Builder
	b.WriteString(made + "# All settings, with bounds and defaults: mcpd serve --help-config\n\n")
	b.WriteString(`api_url = "` + v.URL + `"` + "\n")
	b.WriteString(`identity = "` + v.Identity + `"` + "\n")
	b.WriteString("api_key_file = \"/run/credentials/pfsense-mcpd.service/read-api-key\"\n")
	b.WriteString(`tls_mode = "` + v.TLSMode + `"` + "\n")
	if v.CA {
		b.WriteString(`tls_ca_file = "` + CAPEM + `"` + "\n")
	}
	if v.Pin != "" {
		b.WriteString(`tls_pin = "` + v.Pin + `"` + "\n")
	}
	if v.Profile != "" {
		b.WriteString(`profile = "` + v.Profile + `"` + "\n")
	}
	if len(v.Toolsets) > 0 {
		b.WriteString("toolsets = " + list(v.Toolsets) + "\n")
	}
	b.WriteString("operators = " + list(v.Operators) + "\n")
	return b.String()
}

// ExecutordSettings renders executord.toml, with write on or off.
func (v *Values) ExecutordSettings() string {
	var b strings.Builder
	b.WriteString(made + "# All settings, with bounds and defaults: executord --help-config\n\n")
	b.WriteString("operators = " + list(v.Operators) + "\n")
	if !v.Write {
		return b.String()
	}
	if v.Lab {
		b.WriteString("lab = true\n")
	}
	b.WriteString(`store_dir = "` + StoreDir + `"` + "\n" +
		`store_id = "` + v.StoreID + `"` + "\n" +
		`authorities_file = "` + Authorities + `"` + "\n")
	b.WriteString("\n[appliance]\n" +
		`base_url = "` + v.URL + `"` + "\n" +
		`tls_mode = "` + v.TLSMode + `"` + "\n")
	if v.CA {
		b.WriteString(`ca_file = "` + CAPEM + `"` + "\n")
	}
	if v.Pin != "" {
		b.WriteString(`pin = "` + v.Pin + `"` + "\n")
	}
	b.WriteString(`account = "` + v.Account + `"` + "\n")
	b.WriteString("\n[write]\nenabled = true\n")
	if v.Witness == "" {
		b.WriteString("\n[anchor]\nbackend = \"tpm-local\"\n" + `tpm = "` + v.TPM + `"` + "\n")
	} else {
		b.WriteString("\n[anchor]\nbackend = \"tpm-remote\"\n\n[anchor.remote]\n" +
			`url = "` + v.Witness + `"` + "\n" +
			`server_ca = "` + WitnessCA + `"` + "\n" +
			`client_cert = "` + WitnessCert + `"` + "\n" +
			"client_key = \"/run/credentials/pfsense-executord.service/" + WitnessKey + "\"\n")
	}
	b.WriteString("\n[credentials]\n")
	for _, c := range WriteCredentials(v.Witness != "") {
		if c.Setting != "" {
			b.WriteString(c.Setting + ` = "` + c.Name + `"` + "\n")
		}
	}
	return b.String()
}

// Credential is one of executord's keys.
type Credential struct {
	Name    string // as the unit loads it
	Setting string // as executord.toml names it in [credentials]; "" elsewhere
}

// The credentials of executord.
const (
	RootKey        = "root-key"
	AttestationKey = "attestation-key"
	NVAuth         = "nv-auth"
	WriteAPIKey    = "write-api-key"
	WitnessKey     = "witness-key"
)

// WriteCredentials are executord's keys. The secret of a witness host's counter never
// leaves that host; executord has the key of the certificate by which it is known there.
func WriteCredentials(witness bool) []Credential {
	counter := Credential{NVAuth, "nv_auth"}
	if witness {
		counter = Credential{WitnessKey, ""}
	}
	return []Credential{{RootKey, "root_key"}, {AttestationKey, "attestation_key"}, counter, {WriteAPIKey, "api_key"}}
}

// Path is where a credential lies at rest.
func (c Credential) Path(sealed bool) string {
	if sealed {
		return credstore + "pfsense-executord." + c.Name
	}
	return credentials + "executord-" + c.Name
}

// DocfetchdSettings renders docfetchd.toml.
func (v *Values) DocfetchdSettings() string {
	return made + "\noperators = " + list(v.Operators) + "\n"
}

// DocsUnit renders docfetchd's drop-in: the name servers that it may ask.
func DocsUnit(resolvers []netip.Addr) string { return made + "[Service]\n" + allow(resolvers) }

// allow renders the lines that let a unit reach addresses.
func allow(addrs []netip.Addr) string {
	var b strings.Builder
	for _, a := range addrs {
		b.WriteString("IPAddressAllow=" + a.String() + "\n")
	}
	return b.String()
}

// McpdUnit renders mcpd's drop-in.
func (v *Values) McpdUnit() string {
	return made + "# The appliance's addresses, and the name servers' when its URL holds a name.\n[Service]\n" + allow(v.Addrs)
}

// WriteUnit renders executord's drop-in. A unit that waits for a device that never comes
// starts late, one of a group that is none not at all.
func (v *Values) WriteUnit() string {
	var b strings.Builder
	b.WriteString(made)
	after := "network.target"
	if v.Device {
		b.WriteString("[Unit]\nWants=dev-tpmrm0.device\n")
		after = "dev-tpmrm0.device network.target"
	} else {
		b.WriteString("[Unit]\n")
	}
	reached := "The appliance"
	if v.Witness != "" {
		reached += " and the witness host"
	}
	b.WriteString("After=" + after + "\n\n[Service]\n# " + reached + ", and the name servers when a URL holds a name; nothing else.\nRestrictAddressFamilies=AF_INET AF_INET6\n")
	b.WriteString(allow(v.Addrs))
	b.WriteString("# The boot id, which tells a restart of the daemon from one of the machine, is in /proc/sys.\nProcSubset=all\n")
	if v.TSS {
		b.WriteString("# /dev/tpmrm0 belongs to it.\nSupplementaryGroups=tss\n")
	}
	b.WriteString("StateDirectory=pfsense-executord\nStateDirectoryMode=0700\n")
	for _, c := range WriteCredentials(v.Witness != "") {
		kind := "LoadCredential="
		if v.Sealed {
			kind = "LoadCredentialEncrypted="
		}
		b.WriteString(kind + c.Name + ":" + c.Path(v.Sealed) + "\n")
	}
	return b.String()
}

// Shipped says whether a digest is that of a settings file as the package ships it:
// such a file is nobody's edit.
func Shipped(path, digest string) bool {
	for _, f := range []struct{ path, digest string }{
		{McpdTOML, "ce56907b4b133b84ae45d4526d113e0c8bfacf35c0580ea9c32bd7a568535e6b"},
		{ExecutordTOML, "a9e4908b4fd91fee80395888114bba3ef1c803c84636939aca2aab94a21b59b7"},
		{DocfetchdTOML, "d7c9e45899f2050a39e9e934d2d079cf52bdb186064bd2488503b2e337978703"},
	} {
		if f.path == path && f.digest == digest {
			return true
		}
	}
	return false
}

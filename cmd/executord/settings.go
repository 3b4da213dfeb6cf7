package main

import (
	"strings"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/daemon"
)

// settings of executord. The environment sets nothing of the write path: whoever
// can start the program must not be able to move the store or the appliance.
type settings struct {
	daemon.Common
	Lab bool `toml:"lab" default:"false" help:"Let a software TPM stand for the hardware witness. For laboratories; it shows everywhere."`

	StoreDir    string `toml:"store_dir" check:"path" help:"Directory of the contract store."`
	StoreID     string `toml:"store_id" max:"64" help:"Name of the store; begins with lab- exactly when lab is on."`
	Authorities string `toml:"authorities_file" check:"path" help:"The owners' public keys."`

	Appliance struct {
		BaseURL string `toml:"base_url" check:"https_url" help:"The appliance."`
		TLSMode string `toml:"tls_mode" enum:"strict,auto" help:"strict: the system's certificates. auto: the file in ca_file alone."`
		CAFile  string `toml:"ca_file" check:"path" help:"Certificates for tls_mode auto."`
		Account string `toml:"account" max:"64" help:"The appliance's user that the write key belongs to."`
	} `toml:"appliance"`
	Write struct {
		Enabled bool `toml:"enabled" default:"false" help:"Switch the write path on."`
		Relay   bool `toml:"relay" default:"false" help:"Let mcpd pass signed files on."`
	} `toml:"write"`
	Anchor struct {
		Backend string `toml:"backend" enum:"tpm-local,tpm-remote" help:"Where the counter is."`
		TPM     string `toml:"tpm" help:"device:/dev/tpmrm0, or in the lab unix:PATH."`
		NVIndex uint32 `toml:"nv_index" help:"The counter's handle."`
	} `toml:"anchor"`
	Credentials struct {
		RootKey        string `toml:"root_key" max:"64" help:"Name of the credential with the store's root key."`
		AttestationKey string `toml:"attestation_key" max:"64" help:"Name of the credential with the attestation key."`
		NVAuth         string `toml:"nv_auth" max:"64" help:"Name of the credential with the counter's secret."`
		APIKey         string `toml:"api_key" max:"64" help:"Name of the credential with the write API key."`
	} `toml:"credentials"`
}

// needed are the keys without which there is no write path.
var needed = []string{
	"store_dir", "store_id", "authorities_file",
	"appliance.base_url", "appliance.tls_mode", "appliance.account",
	"write.enabled", "anchor.backend",
	"credentials.root_key", "credentials.attestation_key", "credentials.nv_auth", "credentials.api_key",
}

// optional are the other keys of the write path.
var optional = []string{"appliance.ca_file", "write.relay", "anchor.tpm", "anchor.nv_index"}

// Check refuses half a write configuration, naming what lacks: an executord that
// took it for none would look as if it were off by decision.
func (s *settings) Check(r *conf.Report) {
	var given, missing []string
	for _, k := range needed {
		if r.Given(k) {
			given = append(given, k)
		} else {
			missing = append(missing, k)
		}
	}
	for _, k := range optional {
		if r.Given(k) {
			given = append(given, k)
		}
	}
	if r.Given("store_id") && strings.HasPrefix(s.StoreID, "lab-") != s.Lab {
		r.Fault("store_id", "it begins with lab- exactly when lab is on")
	}
	switch {
	case len(given) == 0: // write off
	case len(missing) > 0:
		for _, k := range missing {
			r.Fault(k, "it is missing, and other keys of the write path are there: give all of them or none")
		}
	default:
		r.Fault("write.enabled", "this build of executord has no write path: remove its keys to run with write off")
	}
}

package main

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor"
	"pfsensemcp/pkg/pfrest"
)

// settings of executord. The environment sets nothing of the write path: whoever
// can start the program must not be able to move the store or the appliance.
type settings struct {
	daemon.Common
	Lab bool `toml:"lab" default:"false" help:"Let a software TPM stand for the hardware witness. For laboratories; it shows everywhere."`

	StoreDir    string `toml:"store_dir" check:"path" help:"Directory of the contract store; executord's own, mode 0700."`
	StoreID     string `toml:"store_id" max:"64" help:"Name of the store; begins with lab- exactly when lab is on."`
	Authorities string `toml:"authorities_file" check:"path" help:"The owners' public keys."`
	Charset     string `toml:"description_charset" default:"printable" enum:"printable,stored" help:"printable: what people can see. stored: all that the appliance keeps as it was sent."`

	Appliance struct {
		BaseURL    string `toml:"base_url" check:"https_url" help:"The appliance."`
		APIVersion string `toml:"api_version" default:"v2" enum:"v2" help:"Version of the REST API."`
		TLSMode    string `toml:"tls_mode" enum:"strict,auto" help:"strict: the system's certificates. auto: the file in ca_file alone."`
		CAFile     string `toml:"ca_file" check:"path" help:"Certificates for tls_mode auto."`
		Pin        string `toml:"pin" max:"128" help:"SHA-256 of the certificate's public key (SPKI), checked on top of the mode."`
		Account    string `toml:"account" max:"64" help:"The appliance's user that the write key belongs to."`
	} `toml:"appliance"`
	Write struct {
		Enabled bool `toml:"enabled" default:"false" help:"Switch the write path on."`
		Relay   bool `toml:"relay" default:"false" help:"Let mcpd pass signed files on."`
	} `toml:"write"`
	Anchor struct {
		Backend string `toml:"backend" enum:"tpm-local,tpm-remote" help:"Where the counter is."`
		TPM     string `toml:"tpm" max:"110" help:"tpm-local: device:/dev/tpmrm0, or in the lab unix:PATH."`
		NVIndex uint32 `toml:"nv_index" help:"tpm-local: the counter's handle; the store knows it once it is seeded."`
		Remote  struct {
			URL        string `toml:"url" check:"https_url" help:"tpm-remote: the witness host."`
			ServerCA   string `toml:"server_ca" check:"path" help:"The one authority that the witness host's certificate may be from."`
			ClientCert string `toml:"client_cert" check:"path" help:"Certificate that the witness host knows executord by."`
			ClientKey  string `toml:"client_key" check:"path" help:"Its private key, owner alone."`
		} `toml:"remote"`
	} `toml:"anchor"`
	Credentials struct {
		RootKey        string `toml:"root_key" max:"200" help:"Credential, or path of the file, with the store's root key."`
		AttestationKey string `toml:"attestation_key" max:"200" help:"The same with the attestation key."`
		NVAuth         string `toml:"nv_auth" max:"200" help:"tpm-local: the same with the counter's secret."`
		APIKey         string `toml:"api_key" max:"200" help:"The same with the write API key."`
		NextRootKey    string `toml:"next_root_key" max:"200" help:"The same with the root key that mcpctl keys rotate goes over to."`
	} `toml:"credentials"`
	TTL struct {
		AuthorizationMax int `toml:"authorization_max" default:"1800" min:"60" max:"1800" help:"Longest life of an authorization, in seconds."`
	} `toml:"ttl"`
	Limits limits `toml:"limits"`

	short // a test build's shorter windows; nothing in a shipped one
}

// limits may be tightened, and relaxed to what is compiled in. 0 is the design.
type limits struct {
	OpenPerUID              int `toml:"open_per_uid" help:"Open requests of one MCP user."`
	Open                    int `toml:"open" help:"Open requests in all."`
	RequestsPerMinutePerUID int `toml:"requests_per_minute_per_uid" help:"New requests of one MCP user within a minute."`
	RequestsPerMinute       int `toml:"requests_per_minute" help:"New requests within a minute."`
	RequestsPerDayPerUID    int `toml:"requests_per_day_per_uid" help:"New requests of one MCP user within a day."`
	RequestsPerDay          int `toml:"requests_per_day" help:"New requests within a day."`
	Prepared                int `toml:"prepared" help:"Prepared contracts at a time."`
	SendsPerHour            int `toml:"sends_per_hour" help:"Attempts within an hour."`
	SendsPerDay             int `toml:"sends_per_day" help:"Attempts within a day."`
	Lockout                 int `toml:"lockout" help:"Contracts of unknown outcome that stop everything new."`
	Denials                 int `toml:"denials" help:"Refused files of one operator before a pause."`
	RequestLife             int `toml:"request_life" help:"Seconds that a request stays open."`
	Cooldown                int `toml:"cooldown" help:"Seconds between two changes of one alias."`
}

// bounds returns the limits in force.
func (l limits) bounds() executor.Limits {
	b := executor.DefaultLimits()
	for _, n := range []struct {
		set int
		to  *int
	}{
		{l.OpenPerUID, &b.OpenPerUID},
		{l.Open, &b.Open},
		{l.RequestsPerMinutePerUID, &b.RequestsPerMinutePerUID},
		{l.RequestsPerMinute, &b.RequestsPerMinute},
		{l.RequestsPerDayPerUID, &b.RequestsPerDayPerUID},
		{l.RequestsPerDay, &b.RequestsPerDay},
		{l.Prepared, &b.Prepared},
		{l.SendsPerHour, &b.SendsPerHour},
		{l.SendsPerDay, &b.SendsPerDay},
		{l.Lockout, &b.Lockout},
		{l.Denials, &b.Denials},
	} {
		if n.set != 0 {
			*n.to = n.set
		}
	}
	if l.RequestLife != 0 {
		b.RequestLife = time.Duration(l.RequestLife) * time.Second
	}
	if l.Cooldown != 0 {
		b.Cooldown = time.Duration(l.Cooldown) * time.Second
	}
	return b
}

// needed are the keys without which there is no write path.
var needed = []string{
	"store_dir", "store_id", "authorities_file",
	"appliance.base_url", "appliance.tls_mode", "appliance.account",
	"write.enabled", "anchor.backend",
	"credentials.root_key", "credentials.attestation_key", "credentials.api_key",
}

// more are the other keys of the write path: one of them alone is half of it too.
var more = []string{
	"description_charset", "appliance.api_version", "appliance.ca_file", "appliance.pin", "write.relay", "anchor.tpm", "anchor.nv_index",
	"anchor.remote.url", "anchor.remote.server_ca", "anchor.remote.client_cert", "anchor.remote.client_key",
	"credentials.nv_auth", "credentials.next_root_key", "ttl.authorization_max",
}

// configured says whether there is a write configuration.
func (s *settings) configured() bool { return s.StoreDir != "" }

// Check refuses half a write configuration, naming what lacks: an executord that
// took it for none would look as if it were off by decision.
func (s *settings) Check(r *conf.Report) {
	given := false
	for _, k := range append(append([]string{}, needed...), more...) {
		given = given || r.Given(k)
	}
	if !given {
		return
	}
	for _, k := range needed {
		if !r.Given(k) {
			r.Fault(k, "it is missing, and other keys of the write path are there: give all of them or none")
		}
	}
	if r.Given("store_id") && strings.HasPrefix(s.StoreID, "lab-") != s.Lab {
		r.Fault("store_id", "it begins with lab- exactly when lab is on")
	}
	if (s.Appliance.TLSMode == "auto") != r.Given("appliance.ca_file") {
		r.Fault("appliance.ca_file", "goes with tls_mode auto, and auto needs it")
	}
	s.checkTrust(r)
	if err := s.Limits.bounds().Check(false); err != nil {
		r.Fault("limits", strings.TrimPrefix(errs.Public(err).Msg, "limits: ")+"; a limit may be tightened, and relaxed to what is compiled in")
	}
	switch s.Anchor.Backend {
	case "tpm-local":
		s.local(r)
	case "tpm-remote":
		for _, k := range []string{"anchor.remote.url", "anchor.remote.server_ca", "anchor.remote.client_cert", "anchor.remote.client_key"} {
			if !r.Given(k) {
				r.Fault(k, "backend tpm-remote needs it")
			}
		}
		for _, k := range []string{"anchor.tpm", "anchor.nv_index", "credentials.nv_auth"} {
			if r.Given(k) {
				r.Fault(k, "goes with backend tpm-local: the witness host holds the TPM and its secret")
			}
		}
	}
	s.check(r, s)
}

func (s *settings) local(r *conf.Report) {
	kind, path, _ := strings.Cut(s.Anchor.TPM, ":")
	switch {
	case (kind != "device" && kind != "unix") || !filepath.IsAbs(path):
		r.Fault("anchor.tpm", "device:/dev/tpmrm0, or in the lab unix:PATH with an absolute path")
	case kind == "unix" && !s.Lab:
		r.Fault("anchor.tpm", "a TPM behind a Unix socket is an emulated one: for the lab alone")
	}
	if !r.Given("credentials.nv_auth") {
		r.Fault("credentials.nv_auth", "backend tpm-local needs it")
	}
	for _, k := range []string{"anchor.remote.url", "anchor.remote.server_ca", "anchor.remote.client_cert", "anchor.remote.client_key"} {
		if r.Given(k) {
			r.Fault(k, "goes with backend tpm-remote")
		}
	}
}

// checkTrust finds a pin or a mode that the client would refuse, before anything runs.
func (s *settings) checkTrust(r *conf.Report) {
	if s.Appliance.TLSMode != "strict" || s.Appliance.BaseURL == "" {
		return
	}
	if _, err := pfrest.ClientTLS(pfrest.Config{BaseURL: s.Appliance.BaseURL, TLSMode: "strict", Pin: s.Appliance.Pin}); err != nil {
		r.Fault("appliance.pin", "SHA-256 of the certificate's public key, base64 or hex")
	}
}

// host returns host and port of a URL, and whether the host is a name.
func host(raw string) (name string, port uint16, named bool) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", 0, false
	}
	port = 443
	if p, err := netip.ParseAddrPort("0.0.0.0:" + u.Port()); err == nil {
		port = p.Port()
	}
	_, err = netip.ParseAddr(u.Hostname())
	return u.Hostname(), port, err != nil
}

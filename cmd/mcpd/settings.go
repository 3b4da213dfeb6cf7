package main

import (
	"net/netip"
	"net/url"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/mcpserver"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/sandbox"
)

// settings are those of `mcpd serve`.
type settings struct {
	APIURL     string `toml:"api_url" env:"PFSENSE_API_URL" required:"true" check:"https_url" help:"Base URL of the appliance: https, host, perhaps a port."`
	Identity   string `toml:"identity" env:"PFSENSE_IDENTITY" required:"true" check:"identity" help:"Name of the READ credential, for the audit lines."`
	APIKeyFile string `toml:"api_key_file" env:"PFSENSE_API_KEY_FILE" required:"true" check:"path" help:"File with the READ API key; yours, mode 0600."`

	TLSMode    string `toml:"tls_mode" env:"PFSENSE_TLS_MODE" default:"strict" enum:"strict,auto,insecure" fold:"true" help:"strict: the system's roots. auto: tls_ca_file alone. insecure: nobody is verified, unless tls_pin is set."`
	TLSCAFile  string `toml:"tls_ca_file" env:"PFSENSE_TLS_CA_FILE" check:"path" help:"PEM file with the CA that signed the appliance's certificate; with auto only."`
	TLSPin     string `toml:"tls_pin" env:"PFSENSE_TLS_PIN" min:"1" max:"128" help:"SHA-256 of the certificate's public key (SPKI), base64 or hex; checked on top of the mode."`
	APIVersion string `toml:"api_version" env:"PFSENSE_API_VERSION" default:"v2" enum:"v2" help:"Version of the REST API."`

	Profile      string   `toml:"profile" env:"PFSENSE_PROFILE" default:"auditor" enum:"auditor,engineer,write_protected" help:"What the server may offer at most."`
	AllowedTools []string `toml:"allowed_tools" env:"PFSENSE_ALLOWED_TOOLS" help:"Names of the only tools to offer; an empty list offers none; left out, the profile decides."`
	Toolsets     []string `toml:"toolsets" env:"PFSENSE_TOOLSETS" help:"core, firewall, interfaces, routing, dns, dhcp, vpn, system, services, extended, all; left out: all."`

	OutputSchemas string `toml:"output_schemas" env:"PFSENSE_OUTPUT_SCHEMAS" default:"on" enum:"on,off" help:"Whether tools/list carries output schemas; off saves a model two thirds of the list."`
	ResultBytes   int    `toml:"result_bytes" env:"PFSENSE_RESULT_BYTES" default:"32768" min:"4096" max:"262144" help:"Most bytes of one result."`
	ScanRows      int    `toml:"scan_rows" env:"PFSENSE_SCAN_ROWS" default:"5000" min:"250" max:"200000" help:"Most rows that one filtered call reads."`

	RelayInbox string `toml:"relay_inbox" check:"path" help:"Directory whose signed files (*.authorization.json, *.confirmation.json, *.reconciliation.json) are passed on to executord, each once; with write_protected only. Left out: none is."`

	Sandbox            string   `toml:"sandbox" env:"PFSENSE_SANDBOX" default:"require" enum:"require,available" help:"require: refuse to start without the sandbox. available: go on with what the kernel has, for a trial."`
	SocketDir          string   `toml:"socket_dir" env:"PFSENSE_SOCKET_DIR" default:"/run/pfsense-mcp" check:"socket_dir" help:"Directory below which the sockets of the suite are."`
	Operators          []string `toml:"operators" max:"64" help:"Users who may use the operators' sockets, beside root."`
	OperatorsMayUseMCP bool     `toml:"operators_may_use_mcp" help:"Whether an operator's account may also run MCP clients. A model then acts with an account that may approve."`

	LogLevel    string `toml:"log_level" default:"info" enum:"debug,info,warn,error" help:"Least level that is logged. Audit lines always are."`
	LogMaxBytes int64  `toml:"log_max_bytes" env:"PFSENSE_LOG_MAX_BYTES" default:"5000000" min:"1024" max:"100000000" help:"Size at which the file of --log-file is rotated."`
	LogBackups  int    `toml:"log_backup_count" env:"PFSENSE_LOG_BACKUP_COUNT" default:"5" min:"1" max:"100" help:"Rotated files that are kept."`

	allow []string // AllowedTools; nil when it is not set
}

// Base returns what the daemon's shell needs.
func (s *settings) Base() daemon.Base {
	return daemon.Base{
		Sandbox: sandbox.Mode(s.Sandbox), SocketDir: s.SocketDir, Operators: s.Operators,
		LogLevel: s.LogLevel, LogMaxBytes: s.LogMaxBytes, LogBackups: s.LogBackups,
	}
}

// tls returns the part of the client's settings that decides whom to believe.
func (s *settings) tls() pfrest.Config {
	return pfrest.Config{TLSMode: s.TLSMode, CAFile: s.TLSCAFile, Pin: s.TLSPin}
}

// Check has the rules over more than one setting.
func (s *settings) Check(r *conf.Report) {
	if r.Given("allowed_tools") {
		s.allow = append([]string{}, s.AllowedTools...)
	}
	switch {
	case s.TLSMode == "auto" && s.TLSCAFile == "":
		r.Fault("tls_ca_file", "tls_mode auto needs the file of the appliance's CA")
	case s.TLSMode != "auto" && s.TLSCAFile != "":
		r.Fault("tls_ca_file", "goes with tls_mode auto only")
	default:
		s.checkTLS(r)
	}
	s.checkTestBuild(r)
	if s.RelayInbox != "" && s.Profile != catalog.ProfileWriteProtected {
		r.Fault("relay_inbox", "goes with the profile write_protected only")
	}
	if _, err := catalog.Select(s.Profile, s.allow, nil); err != nil {
		r.Fault("allowed_tools", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if _, err := catalog.Select(s.Profile, nil, s.Toolsets); err != nil {
		r.Fault("toolsets", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// checkTestBuild keeps a program with fixtures away from any real appliance.
func (s *settings) checkTestBuild(r *conf.Report) {
	if !mcpserver.TestBuild {
		return
	}
	if u, err := url.Parse(s.APIURL); err == nil {
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() {
			return
		}
	}
	r.Fault("api_url", "this is a test build: it takes an appliance on a loopback address alone")
}

// checkTLS tries what the client will do with the CA file and the pin. A URL
// that has a fault of its own is not blamed on TLS as well.
func (s *settings) checkTLS(r *conf.Report) {
	if _, err := conf.HTTPSURL(s.APIURL); err != nil {
		return
	}
	c := s.tls()
	c.BaseURL, c.Pin = s.APIURL, ""
	if _, err := pfrest.ClientTLS(c); err != nil {
		setting := "tls_mode"
		if c.CAFile != "" {
			setting = "tls_ca_file"
		}
		r.Fault(setting, err.Error())
		return
	}
	c.Pin = s.TLSPin
	if _, err := pfrest.ClientTLS(c); err != nil {
		r.Fault("tls_pin", err.Error())
	}
}

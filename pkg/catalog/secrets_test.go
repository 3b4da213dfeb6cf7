package catalog

import (
	"slices"
	"strings"
	"testing"
)

// secretFields are the upstream fields that hold a secret, by pfREST's model:
// flagged sensitive there, accepted on a write only, or secret by nature and not
// flagged at all. None of them may be in a model, and a model of ours that
// stands for their model must say that it leaves them out.
//
// The domains of an ACME certificate have well over a hundred such fields; no
// model of ours stands for them, which a test below holds.
var secretFields = map[string]string{
	"ACMEAccountKey":       "accountkey",
	"ACMECertificate":      "keypaste",
	"AuthServer":           "ldap_bindpw radius_secret",
	"BINDSyncRemoteHost":   "password",
	"Certificate":          "prv",
	"CertificateAuthority": "prv",
	"CertificateRevocationListRevokedCertificate": "prv",
	"EmailNotificationSettings":                   "password",
	"FreeRADIUSClient":                            "naspassword secret",
	"FreeRADIUSLDAP":                              "server1_password server2_password",
	"FreeRADIUSUser":                              "motp_pin motp_secret password",
	"HAProxyBackend":                              "haproxy_cookie_dynamic_cookie_key stats_password",
	"HASync":                                      "password",
	"IPsecPhase1":                                 "pre_shared_key",
	"NTPSettings":                                 "serverauthkey",
	"OpenVPNClient":                               "auth_pass proxy_passwd tls",
	"OpenVPNClientExportConfig":                   "pass proxypass",
	"OpenVPNServer":                               "tls",
	"OutboundNATMapping":                          "source_hash_key",
	"RESTAPIJWT":                                  "token",
	"RESTAPIKey":                                  "hash key",
	"RESTAPISettings":                             "ha_sync_password",
	"User":                                        "ipsecpsk password",
	"VirtualIP":                                   "password",
	"WireGuardPeer":                               "presharedkey",
	"WireGuardPeerStatus":                         "preshared_key",
	"WireGuardTunnel":                             "privatekey",
}

// embeddingFields are free texts in which people put secrets. They may be
// modelled, and then the scrubber's strict rules apply to them.
var embeddingFields = map[string]string{
	"ACMECertificateAction":         "command",
	"ACMECertificateIssue":          "result_log",
	"ACMECertificateRenew":          "result_log",
	"AuthLog":                       "text",
	"BINDAccessListEntry":           "value",
	"BINDSettings":                  "bind_custom_options bind_global_settings",
	"BINDView":                      "bind_custom_options",
	"BINDZone":                      "custom customzonerecords updatepolicy",
	"ConfigHistoryRevision":         "description",
	"CronJob":                       "command",
	"DHCPLog":                       "text",
	"DHCPServerCustomOption":        "value",
	"DNSResolverSettings":           "custom_options",
	"FirewallAlias":                 "address",
	"FirewallLog":                   "text",
	"FreeRADIUSEAP":                 "ocsp_url",
	"FreeRADIUSMAC":                 "check_items_additional_options reply_items_additional_options top_additional_options",
	"FreeRADIUSUser":                "check_items_additional_options reply_items_additional_options top_additional_options",
	"HAProxyBackend":                "advanced advanced_backend",
	"HAProxyBackendAction":          "customaction fmt rule",
	"HAProxyBackendServer":          "advanced",
	"HAProxyFile":                   "content",
	"HAProxyFrontend":               "advanced advanced_bind",
	"HAProxyFrontendAction":         "customaction fmt rule",
	"HAProxyFrontendAddress":        "exaddr_advanced",
	"HAProxySettings":               "advanced",
	"NetworkInterface":              "adv_dhcp_option_modifiers adv_dhcp_send_options",
	"OpenVPNClient":                 "custom_options",
	"OpenVPNClientExportConfig":     "advancedoptions",
	"OpenVPNClientSpecificOverride": "custom_options",
	"OpenVPNLog":                    "text",
	"OpenVPNServer":                 "custom_options",
	"RESTAPILog":                    "text",
	"SystemLog":                     "text",
	"SystemTunable":                 "value",
}

// secretName finds a field that is named like a secret, so that one which
// nobody listed is looked at by somebody.
var secretName = []string{
	"passw", "passphrase", "pwd", "secret", "psk", "private", "presharedkey", "preshared_key",
	"pre_shared", "token", "apikey", "api_key", "hash_key", "authkey", "bindpw",
}

func secretFaults(rows []*Tool, fault faultFunc) {
	eachModel(rows, func(m *Model) {
		secret := strings.Fields(secretFields[m.Upstream])
		for i := range m.Fields {
			f := &m.Fields[i]
			if slices.Contains(secret, f.UpName()) || strings.HasPrefix(m.Upstream, "ACMECertificateDomain") {
				fault("%s.%s holds a secret", m.Name, f.Name)
			}
			if slices.Contains(strings.Fields(embeddingFields[m.Upstream]), f.UpName()) && f.Mark&MayEmbed == 0 {
				fault("%s.%s may embed a secret and is not marked so", m.Name, f.Name)
			}
			for _, part := range secretName {
				if strings.Contains(f.UpName(), part) && f.Kind != Boolean {
					fault("%s.%s is named like a secret", m.Name, f.Name)
				}
			}
		}
		for _, name := range secret {
			if !slices.ContainsFunc(m.Excluded, func(e Exclusion) bool { return e.Field == name && e.Secret }) {
				fault("%s does not say that it leaves out %s", m.Name, name)
			}
		}
		for _, e := range m.Excluded {
			if e.Secret != slices.Contains(secret, e.Field) {
				fault("%s: the exclusion of %s and the list of secrets disagree", m.Name, e.Field)
			}
		}
	})
}

func TestNoModelHoldsASecret(t *testing.T) {
	for _, f := range faults(secretFaults, Tools()) {
		t.Error(f)
	}
}

func TestASecretInAModelIsFound(t *testing.T) {
	for what, harm := range map[string]func(m *Model){
		"a listed secret":                    func(m *Model) { m.Fields = append(m.Fields, Field{Name: "tls"}) },
		"a listed secret under another name": func(m *Model) { m.Fields = append(m.Fields, Field{Name: "harmless", Up: "tls"}) },
		"a field named like one":             func(m *Model) { m.Fields = append(m.Fields, Field{Name: "proxy_password"}) },
		"an exclusion that went away":        func(m *Model) { m.Excluded = nil },
		"a mark that went away": func(m *Model) {
			for i := range m.Fields {
				m.Fields[i].Mark = 0
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			row, model := *mustLookup(t, "pfsense_get_vpn_openvpn_servers"), *openVpnServer
			model.Fields = slices.Clone(model.Fields)
			row.Model = &model
			if got := faults(secretFaults, []*Tool{&row}); len(got) != 0 {
				t.Fatalf("before: %v", got)
			}
			harm(&model)
			if len(faults(secretFaults, []*Tool{&row})) == 0 {
				t.Error("not found")
			}
		})
	}
}

func mustLookup(t *testing.T, name string) *Tool {
	t.Helper()
	r, ok := Lookup(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return r
}

// TestTheListOfSecretsIsWhole holds the list above against what was found on a
// real package, where that is at hand.
func TestTheListOfSecretsIsWhole(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(string(shared(t, "contract/secrets.tsv"))), "\n")
	for _, line := range lines[1:] {
		c := strings.Split(line, "\t")
		model, field, kind, read := c[0], c[1], c[3], c[4]
		switch {
		case model == "ACMECertificateDomain", kind == "not a secret", read == "answers, not a read model":
		case read == "no GET of this model":
		case model == "DHCPServer" && field == "numberoptions": // a list: its rows' value is listed
		case kind == "free text that may embed one":
			if !slices.Contains(strings.Fields(embeddingFields[model]), field) {
				t.Errorf("%s.%s is missing among the texts", model, field)
			}
		default:
			if !slices.Contains(strings.Fields(secretFields[model]), field) {
				t.Errorf("%s.%s is missing among the secrets", model, field)
			}
		}
	}
}

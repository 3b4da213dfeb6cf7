package catalog

var acmeSettings = &Model{
	Name:     "AcmeSettings",
	Upstream: "ACMESettings",
	Fields: []Field{
		{Name: "enable", Kind: Boolean},
		{Name: "writecerts", Kind: Boolean},
	},
}

var cronJob = &Model{
	Name:     "CronJob",
	Upstream: "CronJob",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "minute"},
		{Name: "hour"},
		{Name: "mday"},
		{Name: "month"},
		{Name: "wday"},
		{Name: "who", Desc: "system account"},
		{Name: "command", Gate: Personal, Mark: FreeText | MayEmbed},
	},
}

var emailNotificationSettings = &Model{
	Name:     "EmailNotificationSettings",
	Upstream: "EmailNotificationSettings",
	Fields: []Field{
		{Name: "disable", Kind: Boolean, Desc: "true = mail is off"},
		{Name: "ipaddress", Gate: Network, Mark: Address},
		{Name: "port"},
		{Name: "timeout", Kind: Integer, Desc: "seconds"},
		{Name: "ssl", Kind: Boolean},
		{Name: "sslvalidate", Kind: Boolean, Desc: "false = the server certificate is not checked"},
		{Name: "fromaddress", Gate: Personal},
		{Name: "notifyemailaddress", Gate: Personal},
		{Name: "authentication_mechanism", Values: []string{"PLAIN", "LOGIN"}},
		{Name: "username", Gate: Personal},
	},
	Excluded: []Exclusion{
		{Field: "password", Secret: true, Why: "SMTP password, in clear upstream"},
	},
}

var freeRadiusEap = &Model{
	Name:     "FreeRadiusEap",
	Upstream: "FreeRADIUSEAP",
	Fields: []Field{
		{Name: "disable_weak_eap_types", Kind: Boolean},
		{Name: "default_eap_type", Values: []string{"md5", "gtc", "leap", "tls", "ttls", "peap", "mschapv2"}},
		{Name: "timer_expire", Kind: Integer, Desc: "seconds"},
		{Name: "ignore_unknown_eap_types", Kind: Boolean},
		{Name: "cisco_accounting_username_bug", Kind: Boolean},
		{Name: "max_sessions", Kind: Integer},
		{Name: "tls_min_version", Values: []string{"1.0", "1.1", "1.2"}},
		{Name: "ssl_ca_cert"},
		{Name: "ssl_ca_crl"},
		{Name: "ssl_server_cert"},
		{Name: "tls_include_length", Kind: Boolean},
		{Name: "tls_fragment_size", Kind: Integer},
		{Name: "tls_check_cert_issuer", Kind: Boolean},
		{Name: "tls_ca_subject", Gate: Naming},
		{Name: "tls_check_cert_cn", Kind: Boolean},
		{Name: "cache_enable", Kind: Boolean},
		{Name: "cache_lifetime", Kind: Integer, Desc: "hours"},
		{Name: "cache_max_entries", Kind: Integer},
		{Name: "ocsp_enable", Kind: Boolean},
		{Name: "ocsp_override_cert_url", Kind: Boolean},
		{Name: "ocsp_url", Mark: FreeText | MayEmbed},
		{Name: "ttls_default_eap_type", Values: []string{"md5", "gtc", "otp", "tls", "mschapv2"}},
		{Name: "ttls_copy_request_to_tunnel", Kind: Boolean},
		{Name: "ttls_use_tunneled_reply", Kind: Boolean},
		{Name: "ttls_include_length", Kind: Boolean},
		{Name: "peap_default_eap_type", Values: []string{"md5", "gtc", "otp", "tls", "mschapv2"}},
		{Name: "peap_copy_request_to_tunnel", Kind: Boolean},
		{Name: "peap_use_tunneled_reply", Kind: Boolean},
		{Name: "peap_soh_enable", Values: []string{"Disable", "Enable"}},
	},
}

var ntpSettings = &Model{
	Name:     "NtpSettings",
	Upstream: "NTPSettings",
	Fields: []Field{
		{Name: "enable", Kind: Boolean},
		{Name: "interface", List: true, Mark: InterfaceName},
		{Name: "ntpmaxpeers", Kind: Integer},
		{Name: "orphan", Kind: Integer},
		{Name: "ntpminpoll", Values: []string{"", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "omit"}},
		{Name: "ntpmaxpoll", Values: []string{"", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "omit"}},
		{Name: "dnsresolv", Values: []string{"auto", "inet", "inet6"}},
		{Name: "logpeer", Kind: Boolean},
		{Name: "logsys", Kind: Boolean},
		{Name: "clockstats", Kind: Boolean},
		{Name: "loopstats", Kind: Boolean},
		{Name: "peerstats", Kind: Boolean},
		{Name: "statsgraph", Kind: Boolean},
		{Name: "leapsec", Mark: FreeText},
		{Name: "serverauth", Kind: Boolean},
		{Name: "serverauthalgo", Values: []string{"md5", "sha1", "sha256"}},
	},
	Excluded: []Exclusion{
		{Field: "serverauthkey", Secret: true, Why: "NTP authentication key, shown upstream when the exposure setting is on"},
	},
}

var ntpTimeServer = &Model{
	Name:     "NtpTimeServer",
	Upstream: "NTPTimeServer",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "timeserver", Gate: Naming},
		{Name: "type", Values: []string{"server", "pool", "peer"}},
		{Name: "prefer", Kind: Boolean},
		{Name: "noselect", Kind: Boolean, Desc: "null for pools"},
	},
}

var serviceStatus = &Model{
	Name:     "ServiceStatus",
	Upstream: "Service",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key, Desc: "not unique: one row per instance"},
		{Name: "description", Mark: FreeText},
		{Name: "enabled", Kind: Boolean, Desc: "set to run"},
		{Name: "status", Kind: Boolean, Mark: Volatile, Desc: "true = running now"},
	},
	Excluded: []Exclusion{
		{Field: "action", Why: "accepted on a write only"},
	},
}

var sshSettings = &Model{
	Name:     "SshSettings",
	Upstream: "SSH",
	Fields: []Field{
		{Name: "enable", Kind: Boolean},
		{Name: "port", Desc: "null = 22"},
		{Name: "sshdkeyonly", Values: []string{"enabled", "both"}, Desc: "enabled = keys only, both = key and password, null = either"},
		{Name: "sshdagentforwarding", Kind: Boolean},
	},
}

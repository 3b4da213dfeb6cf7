package catalog

var authKey = &Model{
	Name:     "AuthKey",
	Upstream: "RESTAPIKey",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "descr", Mark: FreeText},
		{Name: "username", Gate: Personal},
		{Name: "hash_algo", Values: []string{"sha256", "sha384", "sha512"}},
		{Name: "length_bytes", Kind: Integer},
	},
	Excluded: []Exclusion{
		{Field: "hash", Secret: true, Why: "hash of the API key, shown upstream when the exposure setting is on"},
		{Field: "key", Secret: true, Why: "the API key itself"},
	},
}

var carpStatus = &Model{
	Name:     "CarpStatus",
	Upstream: "CARP",
	Fields: []Field{
		{Name: "enable", Kind: Boolean, Desc: "false = CARP temporarily off on this node"},
		{Name: "maintenance_mode", Kind: Boolean, Desc: "true = kept as backup until it is left"},
	},
}

var configHistoryRevision = &Model{
	Name:     "ConfigHistoryRevision",
	Upstream: "ConfigHistoryRevision",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "time", Kind: Integer, Desc: "Unix seconds"},
		{Name: "description", Gate: Personal, Mark: FreeText | MayEmbed, Desc: "user@address: what was changed"},
		{Name: "version"},
		{Name: "filesize", Kind: Integer, Desc: "bytes"},
	},
}

var logSettings = &Model{
	Name:     "LogSettings",
	Upstream: "LogSettings",
	Fields: []Field{
		{Name: "format", Values: []string{"rfc3164", "rfc5424"}},
		{Name: "reverseorder", Kind: Boolean, Desc: "display only"},
		{Name: "nentries", Kind: Integer, Desc: "lines the web interface shows"},
		{Name: "nologdefaultblock", Kind: Boolean, Desc: "true = default blocks are not logged"},
		{Name: "nologdefaultpass", Kind: Boolean, Desc: "true = default passes are not logged"},
		{Name: "nologbogons", Kind: Boolean},
		{Name: "nologprivatenets", Kind: Boolean},
		{Name: "nolognginx", Kind: Boolean},
		{Name: "rawfilter", Kind: Boolean},
		{Name: "disablelocallogging", Kind: Boolean, Desc: "true = nothing is written on the appliance"},
		{Name: "logconfigchanges", Kind: Boolean},
		{Name: "filterdescriptions", Kind: Integer, Desc: "0 no, 1 column, 2 second row in the web interface"},
		{Name: "logfilesize", Kind: Integer, Desc: "bytes a file before rotation"},
		{Name: "rotatecount", Kind: Integer, Desc: "old files kept"},
		{Name: "logcompressiontype", Values: []string{"bzip2", "gzip", "xz", "zstd", "none"}},
		{Name: "enableremotelogging", Kind: Boolean},
		{Name: "ipprotocol", Values: []string{"ipv4", "ipv6"}},
		{Name: "sourceip", Gate: Network, Mark: InterfaceName, Desc: "interface or address the messages leave from"},
		{Name: "remoteserver", Gate: Network, Mark: Address, Desc: "host:port"},
		{Name: "remoteserver2", Gate: Network, Mark: Address},
		{Name: "remoteserver3", Gate: Network, Mark: Address},
		{Name: "logall", Kind: Boolean, Desc: "null while remote logging is off"},
		{Name: "filter", Kind: Boolean},
		{Name: "dhcp", Kind: Boolean},
		{Name: "auth", Kind: Boolean},
		{Name: "portalauth", Kind: Boolean},
		{Name: "vpn", Kind: Boolean},
		{Name: "dpinger", Kind: Boolean},
		{Name: "hostapd", Kind: Boolean},
		{Name: "system", Kind: Boolean},
		{Name: "resolver", Kind: Boolean},
		{Name: "ppp", Kind: Boolean},
		{Name: "routing", Kind: Boolean},
		{Name: "ntpd", Kind: Boolean},
	},
}

var systemCertificateAuthority = &Model{
	Name:     "SystemCertificateAuthority",
	Upstream: "CertificateAuthority",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "descr", Mark: FreeText},
		{Name: "refid"},
		{Name: "caref", Desc: "refid of the parent CA"},
		{Name: "trust", Kind: Boolean, Desc: "in the trust store of the system"},
		{Name: "randomserial", Kind: Boolean},
		{Name: "serial", Kind: Integer, Mark: Volatile, Desc: "serial the next certificate gets"},
		{Name: "crt", Gate: Naming},
	},
	Excluded: []Exclusion{
		{Field: "prv", Secret: true, Why: "private key, shown upstream when the exposure setting is on"},
	},
}

var systemCertificate = &Model{
	Name:     "SystemCertificate",
	Upstream: "Certificate",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "descr", Mark: FreeText},
		{Name: "refid"},
		{Name: "caref", Desc: "refid of the signing CA"},
		{Name: "type", Values: []string{"server", "user"}},
		{Name: "csr", Gate: Naming, Desc: "pending request; null once signed"},
		{Name: "crt", Gate: Naming, Desc: "null while a request is pending"},
		{Name: "valid_from", Desc: "text, local time"},
		{Name: "valid_until", Desc: "text, local time"},
		{Name: "valid_days_left", Kind: Integer, Mark: Volatile, Desc: "negative = expired"},
	},
	Excluded: []Exclusion{
		{Field: "prv", Secret: true, Why: "private key, shown upstream when the exposure setting is on"},
	},
}

var systemConsole = &Model{
	Name:     "SystemConsole",
	Upstream: "SystemConsole",
	Fields: []Field{
		{Name: "passwd_protect_console", Kind: Boolean},
	},
}

var certificateRevocationList = &Model{
	Name:     "CertificateRevocationList",
	Upstream: "CertificateRevocationList",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "refid"},
		{Name: "caref", Desc: "refid of the CA"},
		{Name: "descr", Mark: FreeText},
		{Name: "method", Values: []string{"existing", "internal"}},
		{Name: "lifetime", Kind: Integer, Desc: "days; null for imported lists"},
		{Name: "serial", Kind: Integer, Mark: Volatile, Desc: "null for imported lists"},
		{Name: "text", Gate: Naming, Desc: "the list as PEM"},
		{Name: "cert", Kind: Object, List: true, Model: certificateRevocationListRevokedCertificate},
	},
}

var certificateRevocationListRevokedCertificate = &Model{
	Name:     "CertificateRevocationListRevokedCertificate",
	Upstream: "CertificateRevocationListRevokedCertificate",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "certref", Desc: "null when only the serial is known"},
		{Name: "serial"},
		{Name: "reason", Kind: Integer, Desc: "RFC 5280 reason code, -1 = none"},
		{Name: "revoke_time", Kind: Integer, Desc: "Unix seconds"},
	},
	Excluded: []Exclusion{
		{Field: "caref", Why: "accepted on a write only"},
		{Field: "descr", Why: "accepted on a write only"},
		{Field: "type", Why: "accepted on a write only"},
		{Field: "crt", Why: "accepted on a write only"},
		{Field: "prv", Secret: true, Why: "private key, accepted on a write only"},
	},
}

var systemDNS = &Model{
	Name:     "SystemDNS",
	Upstream: "SystemDNS",
	Fields: []Field{
		{Name: "dnsallowoverride", Kind: Boolean, Desc: "true = DHCP or PPP may replace the servers"},
		{Name: "dnslocalhost", Values: []string{"local", "remote"}, Desc: "null = local resolver first, then remote"},
		{Name: "dnsserver", List: true, Gate: Network, Mark: Address},
	},
}

var systemHaSync = &Model{
	Name:     "SystemHaSync",
	Upstream: "HASync",
	Fields: []Field{
		{Name: "synchronizetoip", Gate: Network, Mark: Address, Desc: "peer that receives the configuration; null = none"},
		{Name: "pfsyncpeerip", Gate: Network, Mark: Address, Desc: "null = multicast"},
		{Name: "pfsyncinterface", Mark: InterfaceName},
		{Name: "pfhostid", Gate: Device},
		{Name: "username", Gate: Personal},
		{Name: "pfsyncenabled", Kind: Boolean},
		{Name: "adminsync", Kind: Boolean},
		{Name: "synchronizeusers", Kind: Boolean},
		{Name: "synchronizeauthservers", Kind: Boolean},
		{Name: "synchronizecerts", Kind: Boolean},
		{Name: "synchronizerules", Kind: Boolean},
		{Name: "synchronizeschedules", Kind: Boolean},
		{Name: "synchronizealiases", Kind: Boolean},
		{Name: "synchronizenat", Kind: Boolean},
		{Name: "synchronizeipsec", Kind: Boolean},
		{Name: "synchronizeopenvpn", Kind: Boolean},
		{Name: "synchronizedhcpd", Kind: Boolean},
		{Name: "synchronizedhcpdv6", Kind: Boolean},
		{Name: "synchronizekea6", Kind: Boolean},
		{Name: "synchronizewol", Kind: Boolean},
		{Name: "synchronizestaticroutes", Kind: Boolean},
		{Name: "synchronizevirtualip", Kind: Boolean},
		{Name: "synchronizetrafficshaper", Kind: Boolean},
		{Name: "synchronizetrafficshaperlimiter", Kind: Boolean},
		{Name: "synchronizednsforwarder", Kind: Boolean},
		{Name: "synchronizecaptiveportal", Kind: Boolean},
		{Name: "synchronizedhcrelay", Kind: Boolean},
		{Name: "synchronizedhcrelay6", Kind: Boolean},
	},
	Excluded: []Exclusion{
		{Field: "password", Secret: true, Why: "password of the peer, hidden upstream even with the exposure setting on"},
	},
}

var systemHostname = &Model{
	Name:     "SystemHostname",
	Upstream: "SystemHostname",
	Fields: []Field{
		{Name: "hostname", Gate: Naming},
		{Name: "domain", Gate: Naming},
	},
}

var availablePackage = &Model{
	Name:     "AvailablePackage",
	Upstream: "AvailablePackage",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "shortname"},
		{Name: "descr", Mark: FreeText},
		{Name: "version", Mark: Volatile},
		{Name: "installed", Kind: Boolean},
		{Name: "deps", List: true},
	},
}

var systemPackage = &Model{
	Name:     "SystemPackage",
	Upstream: "Package",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "shortname"},
		{Name: "descr", Mark: FreeText},
		{Name: "installed_version"},
		{Name: "latest_version", Mark: Volatile},
		{Name: "update_available", Kind: Boolean, Mark: Volatile},
	},
}

var restapiAccessListEntry = &Model{
	Name:     "RESTAPIAccessListEntry",
	Upstream: "RESTAPIAccessListEntry",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "type", Values: []string{"allow", "deny"}},
		{Name: "weight", Kind: Integer, Desc: "lower is checked first"},
		{Name: "network", Gate: Network, Mark: Address},
		{Name: "users", List: true, Gate: Personal, Desc: "empty = all users"},
		{Name: "sched", Desc: "schedule name; null = always"},
		{Name: "descr", Mark: FreeText},
	},
}

var systemRestApiSettings = &Model{
	Name:     "SystemRestApiSettings",
	Upstream: "RESTAPISettings",
	Fields: []Field{
		{Name: "enabled", Kind: Boolean},
		{Name: "read_only", Kind: Boolean, Desc: "true = the API refuses writes"},
		{Name: "keep_backup", Kind: Boolean},
		{Name: "login_protection", Kind: Boolean},
		{Name: "log_successful_auth", Kind: Boolean},
		{Name: "log_level", Values: []string{"LOG_DEBUG", "LOG_INFO", "LOG_NOTICE", "LOG_WARNING", "LOG_ERR", "LOG_CRIT", "LOG_ALERT", "LOG_EMERG"}},
		{Name: "allow_pre_releases", Kind: Boolean},
		{Name: "allow_development_packages", Kind: Boolean},
		{Name: "hateoas", Kind: Boolean, Desc: "true = every call is far slower"},
		{Name: "expose_sensitive_fields", Kind: Boolean, Desc: "true = the API itself returns secrets; this server still drops them"},
		{Name: "override_sensitive_fields", List: true, Desc: "fields exposed although sensitive"},
		{Name: "allowed_interfaces", List: true, Mark: InterfaceName, Desc: "empty = all"},
		{Name: "represent_interfaces_as", Values: []string{"descr", "id", "if"}, Desc: "how interfaces are named in all answers"},
		{Name: "auth_methods", List: true},
		{Name: "jwt_exp", Kind: Integer, Desc: "seconds"},
		{Name: "ha_sync", Kind: Boolean},
		{Name: "ha_sync_validate_certs", Kind: Boolean},
		{Name: "ha_sync_hosts", List: true, Gate: Network, Mark: Address},
		{Name: "ha_sync_username", Gate: Personal},
	},
	Excluded: []Exclusion{
		{Field: "ha_sync_password", Secret: true, Why: "password, shown upstream when the exposure setting is on"},
	},
}

var systemRestApiVersion = &Model{
	Name:     "SystemRestApiVersion",
	Upstream: "RESTAPIVersion",
	Fields: []Field{
		{Name: "current_version"},
		{Name: "latest_version", Mark: Volatile},
		{Name: "latest_version_release_date", Mark: Volatile},
		{Name: "update_available", Kind: Boolean},
		{Name: "available_versions", List: true},
	},
	Excluded: []Exclusion{
		{Field: "install_version", Why: "accepted on a write only"},
	},
}

var systemStatus = &Model{
	Name:     "SystemStatus",
	Upstream: "SystemStatus",
	Fields: []Field{
		{Name: "platform"},
		{Name: "serial", Gate: Device},
		{Name: "netgate_id", Gate: Device, Mark: TrimEnd},
		{Name: "uptime", Mark: Volatile},
		{Name: "bios_vendor"},
		{Name: "bios_version"},
		{Name: "bios_date"},
		{Name: "kernel_pti", Kind: Boolean, Desc: "page table isolation on"},
		{Name: "mds_mitigation", Desc: "CPU vulnerability mitigation state"},
		{Name: "temp_c", Kind: Number, Mark: Volatile},
		{Name: "temp_f", Kind: Number, Mark: Volatile},
		{Name: "cpu_model"},
		{Name: "cpu_load_avg", Kind: Number, List: true, Mark: Volatile, Desc: "1, 5 and 15 minutes"},
		{Name: "cpu_count", Kind: Integer},
		{Name: "cpu_usage", Kind: Number, Mark: Volatile, Desc: "percent"},
		{Name: "mbuf_usage", Kind: Number, Mark: Volatile, Desc: "percent"},
		{Name: "mem_usage", Kind: Number, Mark: Volatile, Desc: "percent"},
		{Name: "swap_usage", Kind: Number, Mark: Volatile, Desc: "percent"},
		{Name: "disk_usage", Kind: Number, Mark: Volatile, Desc: "percent of the root file system"},
	},
}

var systemTimezone = &Model{
	Name:     "SystemTimezone",
	Upstream: "SystemTimezone",
	Fields: []Field{
		{Name: "timezone"},
	},
}

var systemTunable = &Model{
	Name:     "SystemTunable",
	Upstream: "SystemTunable",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "tunable", Mark: Key},
		{Name: "value", Mark: FreeText | MayEmbed},
		{Name: "descr", Mark: FreeText},
	},
}

var systemVersion = &Model{
	Name:     "SystemVersion",
	Upstream: "SystemVersion",
	Fields: []Field{
		{Name: "version"},
		{Name: "base"},
		{Name: "patch", Desc: "patch level of the release"},
		{Name: "buildtime", Desc: "text, UTC"},
	},
}

var webGUISettings = &Model{
	Name:     "WebGUISettings",
	Upstream: "WebGUISettings",
	Fields: []Field{
		{Name: "protocol", Values: []string{"http", "https"}},
		{Name: "port", Desc: "null = default of the protocol"},
		{Name: "sslcertref", Desc: "refid of the certificate"},
	},
}

var pfSenseUserGroup = &Model{
	Name:     "PfSenseUserGroup",
	Upstream: "UserGroup",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "gid", Kind: Integer},
		{Name: "scope", Values: []string{"local", "remote", "system"}},
		{Name: "description", Mark: FreeText},
		{Name: "member", List: true, Gate: Personal, Desc: "user names"},
		{Name: "priv", List: true},
	},
}

var pfSenseUser = &Model{
	Name:     "PfSenseUser",
	Upstream: "User",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Gate: Personal},
		{Name: "uid", Kind: Integer, Mark: Key},
		{Name: "scope"},
		{Name: "priv", List: true},
		{Name: "disabled", Kind: Boolean},
		{Name: "descr", Mark: FreeText, Desc: "full name"},
		{Name: "expires", Desc: "date; null = never"},
		{Name: "cert", List: true, Desc: "refids of certificates"},
		{Name: "authorizedkeys", Gate: Personal, Desc: "SSH public keys, base64"},
	},
	Excluded: []Exclusion{
		{Field: "password", Secret: true, Why: "password hash, shown upstream when the exposure setting is on"},
		{Field: "ipsecpsk", Secret: true, Why: "pre-shared key, shown upstream when the exposure setting is on"},
	},
}

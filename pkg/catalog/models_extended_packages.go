package catalog

var acmeAccountKeyRegister = &Model{
	Name:     "ACMEAccountKeyRegister",
	Upstream: "ACMEAccountKeyRegister",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "status"},
	},
}

var acmeCertificateIssue = &Model{
	Name:     "ACMECertificateIssue",
	Upstream: "ACMECertificateIssue",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "certificate", Mark: Key},
		{Name: "status", Mark: Volatile},
		{Name: "last_updated", Kind: Integer, Mark: Volatile, Desc: "Unix seconds"},
		{Name: "result_log", Gate: Network, Mark: FreeText | MayEmbed | Volatile},
	},
}

var acmeCertificateRenew = &Model{
	Name:     "ACMECertificateRenew",
	Upstream: "ACMECertificateRenew",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "certificate", Mark: Key},
		{Name: "status", Mark: Volatile},
		{Name: "last_updated", Kind: Integer, Mark: Volatile, Desc: "Unix seconds"},
		{Name: "result_log", Gate: Network, Mark: FreeText | MayEmbed | Volatile},
	},
}

var bindAccessList = &Model{
	Name:     "BINDAccessList",
	Upstream: "BINDAccessList",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "description", Mark: FreeText},
		{Name: "entries", Kind: Object, List: true, Model: bindAccessListEntry},
	},
}

var bindAccessListEntry = &Model{
	Name:     "BINDAccessListEntry",
	Upstream: "BINDAccessListEntry",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "value", Gate: Network, Mark: FreeText | MayEmbed | Address},
		{Name: "description", Mark: FreeText},
	},
}

var bindSyncSettings = &Model{
	Name:     "BINDSyncSettings",
	Upstream: "BINDSyncSettings",
	Fields: []Field{
		{Name: "synconchanges", Values: []string{"disabled", "manual", "auto"}},
		{Name: "synctimeout", Kind: Integer, Desc: "seconds"},
		{Name: "masterip", Gate: Network, Mark: Address},
	},
}

var bindView = &Model{
	Name:     "BINDView",
	Upstream: "BINDView",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "descr", Mark: FreeText},
		{Name: "recursion", Kind: Boolean},
		{Name: "match_clients", List: true, Desc: "access list names"},
		{Name: "allow_recursion", List: true, Desc: "access list names"},
		{Name: "bind_custom_options", Mark: FreeText | MayEmbed},
	},
}

var bindZone = &Model{
	Name:     "BINDZone",
	Upstream: "BINDZone",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "disabled", Kind: Boolean},
		{Name: "name", Mark: Key},
		{Name: "description", Mark: FreeText},
		{Name: "type", Values: []string{"master", "slave", "forward", "redirect"}},
		{Name: "view", List: true},
		{Name: "reversev4", Kind: Boolean},
		{Name: "reversev6", Kind: Boolean},
		{Name: "rpz", Kind: Boolean},
		{Name: "custom", Mark: FreeText | MayEmbed},
		{Name: "dnssec", Kind: Boolean},
		{Name: "backupkeys", Kind: Boolean},
		{Name: "slaveip", Gate: Network, Mark: Address},
		{Name: "forwarders", List: true, Gate: Network, Mark: Address},
		{Name: "ttl", Kind: Integer, Desc: "seconds"},
		{Name: "baseip", Gate: Network, Mark: Address},
		{Name: "nameserver", Gate: Naming},
		{Name: "mail", Gate: Personal},
		{Name: "serial", Kind: Integer, Mark: Volatile},
		{Name: "refresh"},
		{Name: "retry"},
		{Name: "expire"},
		{Name: "minimum"},
		{Name: "enable_updatepolicy", Kind: Boolean},
		{Name: "updatepolicy", Mark: FreeText | MayEmbed},
		{Name: "allowupdate", List: true, Desc: "access list names"},
		{Name: "allowtransfer", List: true, Desc: "access list names"},
		{Name: "allowquery", List: true, Desc: "access list names"},
		{Name: "regdhcpstatic", Kind: Boolean},
		{Name: "customzonerecords", Gate: Naming, Mark: FreeText | MayEmbed},
		{Name: "records", Kind: Object, List: true, Model: bindZoneRecord},
	},
}

var bindZoneRecord = &Model{
	Name:     "BINDZoneRecord",
	Upstream: "BINDZoneRecord",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "name", Gate: Naming},
		{Name: "type", Values: []string{"A", "AAAA", "CNAME", "MX", "NS", "LOC", "PTR", "SRV", "TXT", "SPF"}},
		{Name: "rdata", Gate: Network, Mark: FreeText},
		{Name: "priority", Kind: Integer},
	},
}

var freeRADIUSInterface = &Model{
	Name:     "FreeRADIUSInterface",
	Upstream: "FreeRADIUSInterface",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "addr", Gate: Network, Mark: Address, Desc: "* = all"},
		{Name: "port"},
		{Name: "type", Values: []string{"auth", "acct", "proxy", "detail", "status", "coa"}},
		{Name: "ip_version", Values: []string{"ipaddr", "ipv6addr"}},
		{Name: "description", Mark: FreeText},
	},
}

var freeRADIUSMAC = &Model{
	Name:     "FreeRADIUSMAC",
	Upstream: "FreeRADIUSMAC",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "mac", Gate: Network, Mark: Address},
		{Name: "description", Mark: FreeText},
		{Name: "framed_ip_address", Gate: Network, Mark: Address},
		{Name: "framed_ip_netmask", Gate: Network},
		{Name: "framed_route", Gate: Network, Mark: FreeText},
		{Name: "framed_ipv6_address", Gate: Network, Mark: Address},
		{Name: "framed_ipv6_route", Gate: Network, Mark: FreeText},
		{Name: "vlan_id"},
		{Name: "wispr_redirection_url", Mark: FreeText | MayEmbed},
		{Name: "simultaneous_connect", Kind: Integer},
		{Name: "expiration", Mark: FreeText},
		{Name: "session_timeout", Kind: Integer, Desc: "seconds"},
		{Name: "login_time", Mark: FreeText},
		{Name: "amount_of_time", Kind: Integer},
		{Name: "point_of_time", Values: []string{"Daily", "Weekly", "Monthly", "Forever"}},
		{Name: "max_total_octets", Kind: Integer},
		{Name: "max_total_octets_time_range", Values: []string{"daily", "weekly", "monthly", "forever"}},
		{Name: "max_bandwidth_down", Kind: Integer},
		{Name: "max_bandwidth_up", Kind: Integer},
		{Name: "acct_interim_interval", Kind: Integer},
		{Name: "top_additional_options", List: true, Mark: FreeText | MayEmbed},
		{Name: "check_items_additional_options", List: true, Mark: FreeText | MayEmbed},
		{Name: "reply_items_additional_options", List: true, Mark: FreeText | MayEmbed},
	},
}

var haProxyApply = &Model{
	Name:     "HAProxyApply",
	Upstream: "HAProxyApply",
	Fields: []Field{
		{Name: "applied", Kind: Boolean},
	},
}

var haProxyFile = &Model{
	Name:     "HAProxyFile",
	Upstream: "HAProxyFile",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "type", Values: []string{"luascript", "writetodisk"}},
		{Name: "content", Mark: FreeText | MayEmbed},
	},
}

var haProxyFrontend = &Model{
	Name:     "HAProxyFrontend",
	Upstream: "HAProxyFrontend",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "descr", Mark: FreeText},
		{Name: "status", Values: []string{"active", "disabled"}},
		{Name: "a_extaddr", Kind: Object, List: true, Model: haProxyFrontendAddress},
		{Name: "max_connections", Kind: Integer},
		{Name: "type", Values: []string{"http", "https", "tcp"}},
		{Name: "ha_acls", Kind: Object, List: true, Model: haProxyFrontendACL},
		{Name: "a_actionitems", Kind: Object, List: true, Model: haProxyFrontendAction},
		{Name: "backend_serverpool"},
		{Name: "socket_stats", Kind: Boolean},
		{Name: "dontlognull", Kind: Boolean},
		{Name: "dontlog_normal", Kind: Boolean},
		{Name: "log_separate_errors", Kind: Boolean},
		{Name: "log_detailed", Kind: Boolean},
		{Name: "a_errorfiles", Kind: Object, List: true, Model: haProxyFrontendErrorFile},
		{Name: "client_timeout", Kind: Integer, Desc: "milliseconds"},
		{Name: "forwardfor", Kind: Boolean},
		{Name: "httpclose", Values: []string{"http-keep-alive", "http-tunnel", "httpclose", "http-server-close", "forceclose"}},
		{Name: "advanced_bind", Mark: FreeText | MayEmbed},
		{Name: "advanced", Mark: FreeText | MayEmbed},
		{Name: "ssloffloadcert", Desc: "refid of the certificate"},
		{Name: "ha_certificates", Kind: Object, List: true, Model: haProxyFrontendCertificate},
	},
}

var haProxyFrontendAddress = &Model{
	Name:     "HAProxyFrontendAddress",
	Upstream: "HAProxyFrontendAddress",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "extaddr", Values: []string{"custom", "any_ipv4", "any_ipv6", "localhost_ipv4", "localhost_ipv6"}, Desc: "custom = extaddr_custom holds it"},
		{Name: "extaddr_custom", Gate: Network, Mark: Address},
		{Name: "extaddr_port"},
		{Name: "extaddr_ssl", Kind: Boolean},
		{Name: "exaddr_advanced", Mark: FreeText | MayEmbed},
	},
}

var haProxyFrontendACL = &Model{
	Name:     "HAProxyFrontendACL",
	Upstream: "HAProxyFrontendACL",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "name", Mark: Key},
		{Name: "expression", Values: []string{"host_starts_with", "host_ends_with", "host_matches", "host_regex", "host_contains", "path_starts_with", "path_ends_with", "path_matches", "path_regex", "path_contains", "path_dir", "url_parameter", "ssl_c_verify_code", "ssl_c_verify", "ssl_c_ca_commonname", "source_ip", "backendservercount", "traffic_is_http", "traffic_is_ssl", "ssl_sni_matches", "ssl_sni_contains", "ssl_sni_starts_with", "ssl_sni_ends_with", "ssl_sni_regex", "custom"}},
		{Name: "value", Gate: Naming, Mark: FreeText},
		{Name: "casesensitive", Kind: Boolean},
		{Name: "not", Kind: Boolean},
	},
}

var haProxyFrontendAction = &Model{
	Name:     "HAProxyFrontendAction",
	Upstream: "HAProxyFrontendAction",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "action", Values: []string{"use_backend", "custom", "http-request_allow", "http-request_deny", "http-request_tarpit", "http-request_auth", "http-request_redirect", "http-request_lua", "http-request_use-service", "http-request_add-header", "http-request_set-header", "http-request_del-header", "http-request_replace-header", "http-request_replace-path", "http-request_replace-value", "http-request_set-method", "http-request_set-path", "http-request_set-query", "http-request_set-uri", "http-response_allow", "http-response_deny", "http-response_lua", "http-response_add-header", "http-response_set-header", "http-response_del-header", "http-response_replace-header", "http-response_replace-value", "http-response_set-status", "http-after-response_add-header", "http-after-response_set-header", "http-after-response_del-header", "http-after-response_replace-header", "http-after-response_replace-value", "http-after-response_set-status", "tcp-request_connection_accept", "tcp-request_connection_reject", "tcp-request_content_accept", "tcp-request_content_reject", "tcp-request_content_lua", "tcp-request_content_use-service", "tcp-response_content_accept", "tcp-response_content_close", "tcp-response_content_reject", "tcp-response_content_lua"}},
		{Name: "acl"},
		{Name: "backend"},
		{Name: "customaction", Mark: FreeText | MayEmbed},
		{Name: "deny_status"},
		{Name: "realm", Mark: FreeText},
		{Name: "rule", Mark: FreeText | MayEmbed},
		{Name: "lua_function"},
		{Name: "name", Mark: FreeText},
		{Name: "fmt", Mark: FreeText | MayEmbed},
		{Name: "find", Mark: FreeText},
		{Name: "replace", Mark: FreeText},
		{Name: "path", Mark: FreeText},
		{Name: "status"},
		{Name: "reason", Mark: FreeText},
	},
}

var haProxyFrontendErrorFile = &Model{
	Name:     "HAProxyFrontendErrorFile",
	Upstream: "HAProxyFrontendErrorFile",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "errorcode", Kind: Integer},
		{Name: "errorfile"},
	},
}

var haProxyFrontendCertificate = &Model{
	Name:     "HAProxyFrontendCertificate",
	Upstream: "HAProxyFrontendCertificate",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "ssl_certificate"},
	},
}

var haProxySettings = &Model{
	Name:     "HAProxySettings",
	Upstream: "HAProxySettings",
	Fields: []Field{
		{Name: "enable", Kind: Boolean},
		{Name: "maxconn", Kind: Integer},
		{Name: "nbthread", Kind: Integer},
		{Name: "terminate_on_reload", Kind: Boolean},
		{Name: "hard_stop_after", Mark: FreeText},
		{Name: "carpdev"},
		{Name: "localstatsport"},
		{Name: "localstats_refreshtime", Kind: Integer},
		{Name: "localstats_sticktable_refreshtime", Kind: Integer},
		{Name: "remotesyslog", Gate: Network, Mark: Address},
		{Name: "logfacility", Values: []string{"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "auth2", "ftp", "ntp", "audit", "cron2", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"}},
		{Name: "loglevel", Values: []string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}},
		{Name: "log_send_hostname", Gate: Naming},
		{Name: "dns_resolvers", Kind: Object, List: true, Model: haProxyDNSResolver},
		{Name: "resolver_retries", Kind: Integer},
		{Name: "resolver_timeoutretry"},
		{Name: "resolver_holdvalid"},
		{Name: "email_mailers", Kind: Object, List: true, Model: haProxyEmailMailer},
		{Name: "email_level", Values: []string{"", "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}},
		{Name: "email_myhostname", Gate: Naming},
		{Name: "email_from", Gate: Personal},
		{Name: "email_to", Gate: Personal},
		{Name: "sslcompatibilitymode", Values: []string{"auto", "modern", "intermediate", "old"}},
		{Name: "ssldefaultdhparam", Kind: Integer},
		{Name: "advanced", Mark: FreeText | MayEmbed},
		{Name: "enablesync", Kind: Boolean},
	},
}

var haProxyDNSResolver = &Model{
	Name:     "HAProxyDNSResolver",
	Upstream: "HAProxyDNSResolver",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "server", Gate: Network, Mark: Address},
		{Name: "port"},
	},
}

var haProxyEmailMailer = &Model{
	Name:     "HAProxyEmailMailer",
	Upstream: "HAProxyEmailMailer",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "mailserver", Gate: Naming},
		{Name: "mailserverport"},
	},
}

var serviceWatchdog = &Model{
	Name:     "ServiceWatchdog",
	Upstream: "ServiceWatchdog",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "description", Mark: FreeText},
		{Name: "notify", Kind: Boolean, Desc: "true = mail when it restarts the service"},
		{Name: "enabled", Kind: Boolean},
	},
}

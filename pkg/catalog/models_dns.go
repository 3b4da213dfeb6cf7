package catalog

var bindSettings = &Model{
	Name:     "BindSettings",
	Upstream: "BINDSettings",
	Fields: []Field{
		{Name: "enable_bind", Kind: Boolean},
		{Name: "bind_ip_version", Values: []string{"", "-4", "-6"}},
		{Name: "listenon", List: true, Mark: InterfaceName},
		{Name: "bind_notify", Kind: Boolean},
		{Name: "bind_hide_version", Kind: Boolean},
		{Name: "bind_ram_limit"},
		{Name: "bind_logging", Kind: Boolean},
		{Name: "log_severity", Values: []string{"critical", "error", "warning", "notice", "info", "debug 1", "debug 3", "debug 5", "dynamic"}},
		{Name: "log_options", List: true, Values: []string{"default", "general", "database", "security", "config", "resolver", "xfer-in", "xfer-out", "notify", "client", "unmatched", "queries", "network", "update", "dispatch", "dnssec", "lame-servers"}},
		{Name: "rate_enabled", Kind: Boolean},
		{Name: "rate_limit", Kind: Integer, Desc: "responses a second"},
		{Name: "log_only", Kind: Boolean},
		{Name: "bind_forwarder", Kind: Boolean},
		{Name: "bind_forwarder_ips", List: true, Gate: Network, Mark: Address},
		{Name: "bind_dnssec_validation", Values: []string{"auto", "on", "off"}},
		{Name: "listenport"},
		{Name: "controlport"},
		{Name: "bind_custom_options", Mark: FreeText | MayEmbed},
		{Name: "bind_global_settings", Mark: FreeText | MayEmbed},
	},
}

var dnsForwarderApply = &Model{
	Name:     "DNSForwarderApply",
	Upstream: "DNSForwarderApply",
	Fields: []Field{
		{Name: "applied", Kind: Boolean},
	},
}

var dnsForwarderHostOverride = &Model{
	Name:     "DnsForwarderHostOverride",
	Upstream: "DNSForwarderHostOverride",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "host", Gate: Naming},
		{Name: "domain", Gate: Naming},
		{Name: "ip", Gate: Network, Mark: Address},
		{Name: "descr", Mark: FreeText},
		{Name: "aliases", Kind: Object, List: true, Model: dnsForwarderHostOverrideAlias},
	},
}

var dnsForwarderHostOverrideAlias = &Model{
	Name:     "DNSForwarderHostOverrideAlias",
	Upstream: "DNSForwarderHostOverrideAlias",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "host", Gate: Naming},
		{Name: "domain", Gate: Naming},
		{Name: "description", Mark: FreeText},
	},
}

var dnsResolverAccessList = &Model{
	Name:     "DnsResolverAccessList",
	Upstream: "DNSResolverAccessList",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "action", Values: []string{"allow", "deny", "refuse", "allow snoop", "deny nonlocal", "refuse nonlocal"}},
		{Name: "description", Mark: FreeText},
		{Name: "networks", Kind: Object, List: true, Model: dnsResolverAccessListNetwork},
	},
}

var dnsResolverAccessListNetwork = &Model{
	Name:     "DNSResolverAccessListNetwork",
	Upstream: "DNSResolverAccessListNetwork",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "network", Gate: Network, Mark: Address},
		{Name: "mask", Kind: Integer, Gate: Network},
		{Name: "description", Mark: FreeText},
	},
}

var dnsResolverApply = &Model{
	Name:     "DNSResolverApply",
	Upstream: "DNSResolverApply",
	Fields: []Field{
		{Name: "applied", Kind: Boolean},
	},
}

var dnsResolverDomainOverride = &Model{
	Name:     "DnsResolverDomainOverride",
	Upstream: "DNSResolverDomainOverride",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "domain", Gate: Naming},
		{Name: "ip", Gate: Network, Mark: Address, Desc: "server asked, host@port possible"},
		{Name: "descr", Mark: FreeText},
		{Name: "forward_tls_upstream", Kind: Boolean},
		{Name: "tls_hostname", Gate: Naming},
	},
}

var dnsResolverHostOverride = &Model{
	Name:     "DnsResolverHostOverride",
	Upstream: "DNSResolverHostOverride",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "host", Gate: Naming, Desc: "\"\" = the domain itself"},
		{Name: "domain", Gate: Naming},
		{Name: "ip", List: true, Gate: Network, Mark: Address},
		{Name: "descr", Mark: FreeText},
		{Name: "aliases", Kind: Object, List: true, Model: dnsResolverHostOverrideAlias},
	},
}

var dnsResolverHostOverrideAlias = &Model{
	Name:     "DNSResolverHostOverrideAlias",
	Upstream: "DNSResolverHostOverrideAlias",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "host", Gate: Naming},
		{Name: "domain", Gate: Naming},
		{Name: "descr", Mark: FreeText},
	},
}

var dnsResolverSettings = &Model{
	Name:     "DnsResolverSettings",
	Upstream: "DNSResolverSettings",
	Fields: []Field{
		{Name: "enable", Kind: Boolean},
		{Name: "port", Desc: "null = 53"},
		{Name: "enablessl", Kind: Boolean},
		{Name: "sslcertref"},
		{Name: "tlsport", Desc: "null = 853"},
		{Name: "active_interface", List: true, Mark: InterfaceName},
		{Name: "outgoing_interface", List: true, Mark: InterfaceName},
		{Name: "strictout", Kind: Boolean},
		{Name: "system_domain_local_zone_type", Values: []string{"deny", "refuse", "static", "transparent", "typetransparent", "redirect", "inform", "inform_deny", "nodefault"}},
		{Name: "dnssec", Kind: Boolean},
		{Name: "python", Kind: Boolean},
		{Name: "python_order", Values: []string{"pre_validator", "post_validator"}},
		{Name: "python_script"},
		{Name: "forwarding", Kind: Boolean},
		{Name: "regdhcp", Kind: Boolean},
		{Name: "regdhcpstatic", Kind: Boolean},
		{Name: "regovpnclients", Kind: Boolean},
		{Name: "custom_options", Mark: FreeText | MayEmbed},
	},
}

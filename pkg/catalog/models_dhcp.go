package catalog

var dhcpLease = &Model{
	Name:     "DhcpLease",
	Upstream: "DHCPServerLease",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "ip", Gate: Network, Mark: Address},
		{Name: "mac", Gate: Network, Mark: Address},
		{Name: "hostname", Gate: Naming, Mark: FreeText, Desc: "sent by the client: not to be trusted"},
		{Name: "if_", Up: "if", Mark: InterfaceName},
		{Name: "starts", Mark: Volatile, Desc: "text; \"\" for static mappings"},
		{Name: "ends", Mark: Volatile, Desc: "text; \"\" for static mappings"},
		{Name: "active_status", Mark: Volatile, Desc: "active, expired, static …"},
		{Name: "online_status", Mark: Volatile, Desc: "from the ARP table: says nothing about the lease"},
		{Name: "descr", Mark: FreeText},
	},
}

var dhcpRelay = &Model{
	Name:     "DHCPRelay",
	Upstream: "DHCPRelay",
	Fields: []Field{
		{Name: "enable", Kind: Boolean},
		{Name: "interface", List: true, Mark: InterfaceName},
		{Name: "agentoption", Kind: Boolean},
		{Name: "carpstatusvip", Desc: "relays only while this CARP address is master"},
		{Name: "server", List: true, Gate: Network, Mark: Address},
	},
}

var dhcpServerAddressPool = &Model{
	Name:     "DHCPServerAddressPool",
	Upstream: "DHCPServerAddressPool",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "repeats below another parent: only with parent_id it names a row"},
		{Name: "parent_id"},
		{Name: "range_from", Gate: Network, Mark: Address},
		{Name: "range_to", Gate: Network, Mark: Address},
		{Name: "domain", Gate: Naming},
		{Name: "mac_allow", List: true, Gate: Network, Mark: Address},
		{Name: "mac_deny", List: true, Gate: Network, Mark: Address},
		{Name: "domainsearchlist", List: true, Gate: Naming},
		{Name: "defaultleasetime", Kind: Integer, Desc: "seconds; null = that of the server"},
		{Name: "maxleasetime", Kind: Integer, Desc: "seconds; null = that of the server"},
		{Name: "gateway", Gate: Network, Mark: Address},
		{Name: "dnsserver", List: true, Gate: Network, Mark: Address},
		{Name: "winsserver", List: true, Gate: Network, Mark: Address},
		{Name: "ntpserver", List: true, Gate: Network, Mark: Address},
		{Name: "ignorebootp", Kind: Boolean},
		{Name: "ignoreclientuids", Kind: Boolean},
		{Name: "denyunknown", Values: []string{"enabled", "class"}},
	},
}

var dhcpServerApply = &Model{
	Name:     "DHCPServerApply",
	Upstream: "DHCPServerApply",
	Fields: []Field{
		{Name: "applied", Kind: Boolean},
	},
}

var dhcpServerCustomOption = &Model{
	Name:     "DHCPServerCustomOption",
	Upstream: "DHCPServerCustomOption",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "repeats below another parent"},
		{Name: "parent_id"},
		{Name: "number", Kind: Integer, Desc: "DHCP option number"},
		{Name: "type", Values: []string{"text", "string", "boolean", "unsigned integer 8", "unsigned integer 16", "unsigned integer 32", "signed integer 8", "signed integer 16", "signed integer 32", "ip-address"}},
		{Name: "value", Mark: FreeText | MayEmbed},
	},
}

var dhcpServer = &Model{
	Name:     "DhcpServer",
	Upstream: "DHCPServer",
	Fields: []Field{
		{Name: "id", Mark: Key, Desc: "interface name: lan, opt1"},
		{Name: "interface", Mark: InterfaceName},
		{Name: "enable", Kind: Boolean},
		{Name: "range_from", Gate: Network, Mark: Address},
		{Name: "range_to", Gate: Network, Mark: Address},
		{Name: "domain", Gate: Naming},
		{Name: "failover_peerip", Gate: Network, Mark: Address},
		{Name: "mac_allow", List: true, Gate: Network, Mark: Address},
		{Name: "mac_deny", List: true, Gate: Network, Mark: Address},
		{Name: "domainsearchlist", List: true, Gate: Naming},
		{Name: "defaultleasetime", Kind: Integer, Desc: "seconds; null = default"},
		{Name: "maxleasetime", Kind: Integer, Desc: "seconds; null = default"},
		{Name: "gateway", Gate: Network, Mark: Address},
		{Name: "dnsserver", List: true, Gate: Network, Mark: Address},
		{Name: "winsserver", List: true, Gate: Network, Mark: Address},
		{Name: "ntpserver", List: true, Gate: Network, Mark: Address},
		{Name: "staticarp", Kind: Boolean},
		{Name: "ignorebootp", Kind: Boolean},
		{Name: "ignoreclientuids", Kind: Boolean},
		{Name: "nonak", Kind: Boolean},
		{Name: "disablepingcheck", Kind: Boolean},
		{Name: "dhcpleaseinlocaltime", Kind: Boolean},
		{Name: "statsgraph", Kind: Boolean},
		{Name: "denyunknown", Values: []string{"enabled", "class"}, Desc: "null = any client; enabled = mapped on any interface; class = on this one"},
		{Name: "pool", Kind: Object, List: true, Model: dhcpServerAddressPool},
		{Name: "numberoptions", Kind: Object, List: true, Model: dhcpServerCustomOption},
		{Name: "staticmap", Kind: Object, List: true, Model: dhcpStaticMapping},
	},
}

var dhcpStaticMapping = &Model{
	Name:     "DhcpStaticMapping",
	Upstream: "DHCPServerStaticMapping",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "repeats below another parent"},
		{Name: "parent_id"},
		{Name: "mac", Gate: Network, Mark: Address},
		{Name: "ipaddr", Gate: Network, Mark: Address, Desc: "\"\" or null = the client gets a dynamic address"},
		{Name: "cid", Gate: Naming, Mark: FreeText},
		{Name: "hostname", Gate: Naming, Mark: FreeText},
		{Name: "domain", Gate: Naming},
		{Name: "domainsearchlist", List: true, Gate: Naming},
		{Name: "defaultleasetime", Kind: Integer, Desc: "seconds"},
		{Name: "maxleasetime", Kind: Integer, Desc: "seconds"},
		{Name: "gateway", Gate: Network, Mark: Address},
		{Name: "dnsserver", List: true, Gate: Network, Mark: Address},
		{Name: "winsserver", List: true, Gate: Network, Mark: Address},
		{Name: "ntpserver", List: true, Gate: Network, Mark: Address},
		{Name: "arp_table_static_entry", Kind: Boolean},
		{Name: "descr", Mark: FreeText},
	},
}

package catalog

var arpTableEntry = &Model{
	Name:     "ArpTableEntry",
	Upstream: "ARPTable",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "hostname", Gate: Naming, Mark: FreeText, Desc: "? = not known"},
		{Name: "ip_address", Gate: Network, Mark: Address},
		{Name: "mac_address", Gate: Network, Mark: Address},
		{Name: "interface"},
		{Name: "type"},
		{Name: "permanent", Kind: Boolean, Desc: "true = static entry or own address"},
		{Name: "dnsresolve", Gate: Naming, Mark: FreeText, Desc: "name from reverse DNS; \"\" = none"},
		{Name: "expires", Mark: Volatile, Desc: "text with seconds"},
	},
}

var interfaceApply = &Model{
	Name:     "InterfaceApply",
	Upstream: "InterfaceApply",
	Fields: []Field{
		{Name: "applied", Kind: Boolean},
		{Name: "pending_interfaces", List: true, Mark: InterfaceName, Desc: "changed and not yet applied"},
	},
}

var availableInterface = &Model{
	Name:     "AvailableInterface",
	Upstream: "AvailableInterface",
	Fields: []Field{
		{Name: "id", Mark: Key, Desc: "equals if_"},
		{Name: "if_", Up: "if"},
		{Name: "mac", Gate: Network, Mark: Address},
		{Name: "dmesg", Mark: FreeText},
		{Name: "in_use_by", Desc: "null = free"},
	},
}

var interfaceBridge = &Model{
	Name:     "InterfaceBridge",
	Upstream: "InterfaceBridge",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "members", List: true, Mark: InterfaceName},
		{Name: "descr", Mark: FreeText},
		{Name: "bridgeif"},
	},
}

var interfaceConfig = &Model{
	Name:     "InterfaceConfig",
	Upstream: "NetworkInterface",
	Fields: []Field{
		{Name: "id", Mark: Key, Desc: "internal name: wan, lan, opt1"},
		{Name: "if_", Up: "if", Desc: "real interface"},
		{Name: "enable", Kind: Boolean},
		{Name: "descr", Mark: FreeText},
		{Name: "spoofmac", Gate: Network, Mark: Address},
		{Name: "mtu", Kind: Integer, Desc: "null = default"},
		{Name: "mss", Kind: Integer, Desc: "null = no clamping"},
		{Name: "media"},
		{Name: "mediaopt"},
		{Name: "blockpriv", Kind: Boolean},
		{Name: "blockbogons", Kind: Boolean},
		{Name: "typev4", Values: []string{"static", "dhcp", "none"}, Desc: "none also stands for PPPoE, PPTP, L2TP and PPP"},
		{Name: "ipaddr", Gate: Network, Mark: Address, Desc: "an address, or a word such as dhcp or pppoe"},
		{Name: "subnet", Kind: Integer, Gate: Network, Desc: "bit count"},
		{Name: "gateway", Gate: Naming, Desc: "gateway name"},
		{Name: "dhcphostname", Gate: Naming},
		{Name: "alias_address", Gate: Network, Mark: Address},
		{Name: "alias_subnet", Kind: Integer, Gate: Network},
		{Name: "dhcprejectfrom", List: true, Gate: Network, Mark: Address},
		{Name: "adv_dhcp_config_advanced", Kind: Boolean, Desc: "reads null even when on"},
		{Name: "adv_dhcp_pt_values", Values: []string{"SavedCfg"}},
		{Name: "adv_dhcp_pt_timeout", Kind: Integer},
		{Name: "adv_dhcp_pt_retry", Kind: Integer},
		{Name: "adv_dhcp_pt_select_timeout", Kind: Integer},
		{Name: "adv_dhcp_pt_reboot", Kind: Integer},
		{Name: "adv_dhcp_pt_backoff_cutoff", Kind: Integer},
		{Name: "adv_dhcp_pt_initial_interval", Kind: Integer},
		{Name: "adv_dhcp_send_options", Mark: FreeText | MayEmbed},
		{Name: "adv_dhcp_request_options", Mark: FreeText},
		{Name: "adv_dhcp_required_options", Mark: FreeText},
		{Name: "adv_dhcp_option_modifiers", Mark: FreeText | MayEmbed},
		{Name: "adv_dhcp_config_file_override", Kind: Boolean, Desc: "reads null even when on"},
		{Name: "adv_dhcp_config_file_override_path", Mark: FreeText},
		{Name: "typev6", Values: []string{"staticv6", "dhcp6", "slaac", "6rd", "track6", "6to4", "none"}},
		{Name: "ipaddrv6", Gate: Network, Mark: Address, Desc: "an address, or a word such as dhcp6 or track6"},
		{Name: "subnetv6", Kind: Integer, Gate: Network, Desc: "bit count"},
		{Name: "gatewayv6", Gate: Naming, Desc: "gateway name"},
		{Name: "ipv6usev4iface", Kind: Boolean, Desc: "reads null even when on"},
		{Name: "slaacusev4iface", Kind: Boolean, Desc: "reads null even when on"},
		{Name: "prefix_6rd", Gate: Network, Mark: Address},
		{Name: "gateway_6rd", Gate: Network, Mark: Address},
		{Name: "prefix_6rd_v4plen", Kind: Integer, Gate: Network},
		{Name: "track6_interface", Mark: InterfaceName},
		{Name: "track6_prefix_id_hex"},
	},
}

var interfaceGRE = &Model{
	Name:     "InterfaceGRE",
	Upstream: "InterfaceGRE",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "if_", Up: "if", Mark: InterfaceName},
		{Name: "greif"},
		{Name: "descr", Mark: FreeText},
		{Name: "add_static_route", Kind: Boolean},
		{Name: "remote_addr", Gate: Network, Mark: Address},
		{Name: "tunnel_local_addr", Gate: Network, Mark: Address},
		{Name: "tunnel_remote_addr", Gate: Network, Mark: Address},
		{Name: "tunnel_remote_net", Kind: Integer, Gate: Network},
		{Name: "tunnel_local_addr6", Gate: Network, Mark: Address},
		{Name: "tunnel_remote_addr6", Gate: Network, Mark: Address},
		{Name: "tunnel_remote_net6", Kind: Integer, Gate: Network},
	},
}

var interfaceGroup = &Model{
	Name:     "InterfaceGroup",
	Upstream: "InterfaceGroup",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "ifname", Mark: Key},
		{Name: "members", List: true, Mark: InterfaceName},
		{Name: "descr", Mark: FreeText},
	},
}

var interfaceLAGG = &Model{
	Name:     "InterfaceLAGG",
	Upstream: "InterfaceLAGG",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "laggif"},
		{Name: "descr", Mark: FreeText},
		{Name: "members", List: true},
		{Name: "proto", Values: []string{"lacp", "failover", "loadbalance", "roundrobin", "none"}},
		{Name: "lacptimeout", Values: []string{"slow", "fast"}, Desc: "LACP only"},
		{Name: "lagghash", Values: []string{"l2", "l3", "l4", "l2,l3", "l2,l4", "l3,l4", "l2,l3,l4"}, Desc: "LACP and load balancing only"},
		{Name: "failovermaster", Desc: "failover only"},
	},
}

var interfaceVlan = &Model{
	Name:     "InterfaceVlan",
	Upstream: "InterfaceVLAN",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "if_", Up: "if"},
		{Name: "tag", Kind: Integer},
		{Name: "vlanif"},
		{Name: "pcp", Kind: Integer, Desc: "802.1p priority 0-7; null = unset"},
		{Name: "descr", Mark: FreeText},
	},
}

var interfaceStatus = &Model{
	Name:     "InterfaceStatus",
	Upstream: "InterfaceStats",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key, Desc: "internal name: wan, lan, opt1"},
		{Name: "descr", Mark: FreeText},
		{Name: "hwif", Desc: "real interface"},
		{Name: "macaddr", Gate: Network, Mark: Address},
		{Name: "mtu", Desc: "a string here"},
		{Name: "status", Mark: Volatile, Desc: "up, down, no carrier or associated"},
		{Name: "ipaddr", Gate: Network, Mark: Address},
		{Name: "subnet", Gate: Network, Desc: "dotted mask here, a bit count in interface_configs"},
		{Name: "linklocal", Gate: Network, Mark: Address},
		{Name: "ipaddrv6", Gate: Network, Mark: Address},
		{Name: "subnetv6", Gate: Network},
		{Name: "inerrs", Kind: Integer, Mark: Volatile},
		{Name: "outerrs", Kind: Integer, Mark: Volatile},
		{Name: "collisions", Kind: Integer, Mark: Volatile},
		{Name: "inbytes", Kind: Integer, Mark: Volatile},
		{Name: "inbytespass", Kind: Integer, Mark: Volatile},
		{Name: "outbytes", Kind: Integer, Mark: Volatile},
		{Name: "outbytespass", Kind: Integer, Mark: Volatile},
		{Name: "inpkts", Kind: Integer, Mark: Volatile},
		{Name: "inpktspass", Kind: Integer, Mark: Volatile},
		{Name: "outpkts", Kind: Integer, Mark: Volatile},
		{Name: "outpktspass", Kind: Integer, Mark: Volatile},
		{Name: "dhcplink", Mark: Volatile},
		{Name: "media"},
		{Name: "gateway", Gate: Network, Mark: Address},
		{Name: "gatewayv6", Gate: Network, Mark: Address},
	},
	Excluded: []Exclusion{
		{Field: "enable", Why: "upstream answers false for every interface, enabled or not; interface_configs has the truth"},
	},
}

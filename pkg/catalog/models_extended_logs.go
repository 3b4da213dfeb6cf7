package catalog

var authLog = &Model{
	Name:     "AuthLog",
	Upstream: "AuthLog",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "place in this answer only"},
		{Name: "time", Mark: Derived, Desc: "as the log line has it"},
		{Name: "process", Mark: Derived},
		{Name: "pid", Kind: Integer, Mark: Derived},
		{Name: "text", Gate: Personal, Mark: FreeText | MayEmbed},
	},
}

var dhcpLog = &Model{
	Name:     "DHCPLog",
	Upstream: "DHCPLog",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "place in this answer only"},
		{Name: "time", Mark: Derived, Desc: "as the log line has it"},
		{Name: "process", Mark: Derived},
		{Name: "pid", Kind: Integer, Mark: Derived},
		{Name: "text", Gate: Network, Mark: FreeText | MayEmbed},
	},
}

var firewallLogEntry = &Model{
	Name:     "FirewallLogEntry",
	Upstream: "FirewallLog",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "place in this answer only"},
		{Name: "time", Mark: Derived, Desc: "as the log line has it"},
		{Name: "action", Values: []string{"pass", "block", "reject", "match"}, Mark: Derived},
		{Name: "direction", Values: []string{"in", "out"}, Mark: Derived},
		{Name: "interface", Mark: Derived, Desc: "real interface name"},
		{Name: "reason", Mark: Derived, Desc: "match, or why the packet was odd"},
		{Name: "ip_version", Kind: Integer, Mark: Derived},
		{Name: "protocol", Mark: Derived},
		{Name: "source", Gate: Network, Mark: Address | Derived},
		{Name: "source_port", Kind: Integer, Mark: Derived},
		{Name: "destination", Gate: Network, Mark: Address | Derived},
		{Name: "destination_port", Kind: Integer, Mark: Derived},
		{Name: "rule", Mark: Derived, Desc: "rule number in the loaded rule set, not an id of firewall_rules"},
		{Name: "tracker", Kind: Integer, Mark: Derived, Desc: "tracker of the rule in firewall_rules"},
		{Name: "length", Kind: Integer, Mark: Derived, Desc: "bytes"},
		{Name: "text", Gate: Network, Mark: FreeText | MayEmbed},
	},
}

var openVPNLog = &Model{
	Name:     "OpenVPNLog",
	Upstream: "OpenVPNLog",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "place in this answer only"},
		{Name: "time", Mark: Derived, Desc: "as the log line has it"},
		{Name: "process", Mark: Derived},
		{Name: "pid", Kind: Integer, Mark: Derived},
		{Name: "text", Gate: Personal, Mark: FreeText | MayEmbed},
	},
}

var restapiLog = &Model{
	Name:     "RESTAPILog",
	Upstream: "RESTAPILog",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "place in this answer only"},
		{Name: "time", Mark: Derived, Desc: "as the log line has it"},
		{Name: "process", Mark: Derived},
		{Name: "pid", Kind: Integer, Mark: Derived},
		{Name: "text", Gate: Personal, Mark: FreeText | MayEmbed},
	},
}

var systemLog = &Model{
	Name:     "SystemLog",
	Upstream: "SystemLog",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "place in this answer only"},
		{Name: "time", Mark: Derived, Desc: "as the log line has it"},
		{Name: "process", Mark: Derived},
		{Name: "pid", Kind: Integer, Mark: Derived},
		{Name: "text", Gate: Personal, Mark: FreeText | MayEmbed},
	},
}

package catalog

var diagnosticsTable = &Model{
	Name:     "DiagnosticsTable",
	Upstream: "Table",
	Fields: []Field{
		{Name: "id", Mark: Key},
		{Name: "name", Mark: Key | OrID, Desc: "equal to the id, which older versions alone send"},
		{Name: "entries", List: true, Gate: Network, Mark: Address | Volatile, Desc: "addresses and networks in the pf table now"},
	},
}

var firewallAdvancedSettings = &Model{
	Name:     "FirewallAdvancedSettings",
	Upstream: "FirewallAdvancedSettings",
	Fields: []Field{
		{Name: "aliasesresolveinterval", Kind: Integer, Desc: "seconds"},
		{Name: "checkaliasesurlcert", Kind: Boolean},
	},
}

var firewallAlias = &Model{
	Name:     "FirewallAlias",
	Upstream: "FirewallAlias",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "position; shifts when aliases are added or removed"},
		{Name: "name", Mark: Key},
		{Name: "type", Values: []string{"host", "network", "port", "url", "url_ports", "urltable", "urltable_ports"}, Desc: "what address holds"},
		{Name: "descr", Mark: FreeText},
		{Name: "address", List: true, Gate: Network, Mark: FreeText | MayEmbed | Address, Desc: "for urltable types the URL, for url types what was downloaded"},
		{Name: "detail", List: true, Gate: Naming, Mark: FreeText, Desc: "text per entry of address, same order"},
	},
}

var firewallApplyStatus = &Model{
	Name:     "FirewallApplyStatus",
	Upstream: "FirewallApply",
	Fields: []Field{
		{Name: "applied", Kind: Boolean},
		{Name: "pending_subsystems", List: true, Desc: "which stores changed since the last apply"},
	},
}

var firewallNatOneToOneMapping = &Model{
	Name:     "FirewallNatOneToOneMapping",
	Upstream: "OneToOneNATMapping",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "interface", Mark: InterfaceName},
		{Name: "disabled", Kind: Boolean},
		{Name: "nobinat", Kind: Boolean, Desc: "true = exempts the traffic"},
		{Name: "natreflection", Values: []string{"enable", "disable"}, Desc: "null = the system default"},
		{Name: "ipprotocol", Values: []string{"inet", "inet6"}},
		{Name: "external", Gate: Network, Mark: Address | InterfaceName},
		{Name: "source", Gate: Network, Mark: Address | InterfaceName},
		{Name: "destination", Gate: Network, Mark: Address | InterfaceName},
		{Name: "descr", Mark: FreeText},
	},
}

var firewallNatOutboundMapping = &Model{
	Name:     "FirewallNatOutboundMapping",
	Upstream: "OutboundNATMapping",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "position; the first match translates"},
		{Name: "interface", Mark: InterfaceName},
		{Name: "protocol", Values: []string{"tcp", "udp", "tcp/udp", "icmp", "esp", "ah", "gre", "ipv6", "igmp", "pim", "ospf", "sctp", "carp", "pfsync"}},
		{Name: "disabled", Kind: Boolean},
		{Name: "nonat", Kind: Boolean, Desc: "true = no translation for this traffic"},
		{Name: "nosync", Kind: Boolean, Desc: "true = not copied to the HA peer"},
		{Name: "source", Gate: Network, Mark: Address | InterfaceName},
		{Name: "source_port", Desc: "null = any"},
		{Name: "destination", Gate: Network, Mark: Address | InterfaceName},
		{Name: "destination_port", Desc: "null = any"},
		{Name: "target", Gate: Network, Mark: Address | InterfaceName, Desc: "translation address; \"\" = address of the interface"},
		{Name: "target_subnet", Kind: Integer, Gate: Network, Desc: "128 whenever none is stored: means nothing for IPv4 or interface targets"},
		{Name: "nat_port", Desc: "null = any"},
		{Name: "static_nat_port", Kind: Boolean},
		{Name: "poolopts", Values: []string{"round-robin", "round-robin sticky-address", "random", "random sticky-address", "source-hash", "bitmask", ""}},
		{Name: "descr", Mark: FreeText},
	},
	Excluded: []Exclusion{
		{Field: "source_hash_key", Secret: true, Why: "random key of the installation, in clear upstream"},
	},
}

var firewallNatOutboundMode = &Model{
	Name:     "FirewallNatOutboundMode",
	Upstream: "OutboundNATMode",
	Fields: []Field{
		{Name: "mode", Values: []string{"automatic", "hybrid", "advanced", "disabled"}, Desc: "automatic and disabled ignore the mappings; advanced uses only them; hybrid both"},
	},
}

var firewallNatPortForward = &Model{
	Name:     "FirewallNatPortForward",
	Upstream: "PortForward",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "position; shifts when rows are added, removed or moved"},
		{Name: "interface", Mark: InterfaceName},
		{Name: "ipprotocol", Values: []string{"inet", "inet6", "inet46"}},
		{Name: "protocol", Values: []string{"any", "tcp", "udp", "tcp/udp", "icmp", "esp", "ah", "gre", "ipv6", "igmp", "pim", "ospf", "sctp"}},
		{Name: "source", Gate: Network, Mark: Address | InterfaceName},
		{Name: "source_port"},
		{Name: "destination", Gate: Network, Mark: Address | InterfaceName},
		{Name: "destination_port", Desc: "port or alias seen from outside"},
		{Name: "target", Gate: Network, Mark: Address | InterfaceName, Desc: "host or alias inside"},
		{Name: "local_port", Desc: "first port inside"},
		{Name: "disabled", Kind: Boolean},
		{Name: "nordr", Kind: Boolean, Desc: "true = exempts the traffic from redirection"},
		{Name: "nosync", Kind: Boolean},
		{Name: "descr", Mark: FreeText},
		{Name: "natreflection", Values: []string{"enable", "disable", "purenat"}, Desc: "null = the system default"},
		{Name: "associated_rule_id", Desc: "\"\" or null = no linked rule; pass = passes without a rule"},
		{Name: "created_time", Kind: Integer, Mark: RequestTime, Companion: "created_by", Desc: "Unix seconds; null when none is stored"},
		{Name: "created_by", Gate: Personal},
		{Name: "updated_time", Kind: Integer, Mark: RequestTime, Companion: "updated_by", Desc: "Unix seconds; null when none is stored"},
		{Name: "updated_by", Gate: Personal},
	},
}

var firewallRule = &Model{
	Name:     "FirewallRule",
	Upstream: "FirewallRule",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key, Desc: "position in the rule list; shifts when rules are added, removed or moved"},
		{Name: "type", Values: []string{"pass", "block", "reject", "match"}, Desc: "pass, block, reject; match only marks traffic (floating rules)"},
		{Name: "interface", List: true, Mark: InterfaceName},
		{Name: "ipprotocol", Values: []string{"inet", "inet6", "inet46"}},
		{Name: "protocol", Values: []string{"tcp", "udp", "tcp/udp", "icmp", "esp", "ah", "gre", "ipv6", "igmp", "pim", "ospf", "carp", "pfsync", "etherip", "sctp"}, Desc: "null = any"},
		{Name: "icmptype", List: true, Values: []string{"any", "althost", "dataconv", "echorep", "echoreq", "inforep", "inforeq", "ipv6-here", "ipv6-where", "maskrep", "maskreq", "mobredir", "mobregrep", "mobregreq", "paramprob", "photuris", "redir", "routeradv", "routersol", "skip", "squench", "timerep", "timereq", "timex", "trace", "unreach"}},
		{Name: "source", Gate: Network, Mark: Address | InterfaceName, Desc: "address, network, alias, interface or any; a leading ! inverts"},
		{Name: "source_port", Desc: "null = any"},
		{Name: "destination", Gate: Network, Mark: Address | InterfaceName, Desc: "as source"},
		{Name: "destination_port", Desc: "null = any"},
		{Name: "descr", Mark: FreeText},
		{Name: "disabled", Kind: Boolean},
		{Name: "log", Kind: Boolean},
		{Name: "dscp", Values: []string{"", "af11", "af12", "af13", "af21", "af22", "af23", "af31", "af32", "af33", "af41", "af42", "af43", "VA", "EF", "cs1", "cs2", "cs3", "cs4", "cs5", "cs6", "cs7", "0x01", "0x02", "0x04"}, Desc: "\"\" and null both mean none"},
		{Name: "tag", Mark: FreeText},
		{Name: "statetype", Values: []string{"keep state", "sloppy state", "synproxy state", "none"}},
		{Name: "tcp_flags_any", Kind: Boolean},
		{Name: "tcp_flags_out_of", List: true, Values: []string{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"}},
		{Name: "tcp_flags_set", List: true, Values: []string{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"}},
		{Name: "gateway", Gate: Naming, Desc: "policy routing target; null or \"\" = routing table"},
		{Name: "sched", Desc: "schedule name; the rule acts only inside it"},
		{Name: "dnpipe"},
		{Name: "pdnpipe"},
		{Name: "defaultqueue"},
		{Name: "ackqueue"},
		{Name: "floating", Kind: Boolean},
		{Name: "quick", Kind: Boolean, Desc: "floating rules only; false = last match wins"},
		{Name: "direction", Values: []string{"any", "in", "out"}, Desc: "floating rules only"},
		{Name: "tracker", Kind: Integer, Desc: "id in pf and in the firewall log; not guaranteed unique"},
		{Name: "associated_rule_id"},
		{Name: "created_time", Kind: Integer, Mark: RequestTime, Companion: "created_by", Desc: "Unix seconds; null when the rule stores none"},
		{Name: "created_by", Gate: Personal},
		{Name: "updated_time", Kind: Integer, Mark: RequestTime, Companion: "updated_by", Desc: "Unix seconds; null when the rule stores none"},
		{Name: "updated_by", Gate: Personal},
	},
}

var firewallSchedule = &Model{
	Name:     "FirewallSchedule",
	Upstream: "FirewallSchedule",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "schedlabel"},
		{Name: "name", Mark: Key},
		{Name: "descr", Mark: FreeText},
		{Name: "active", Kind: Boolean, Mark: Volatile, Desc: "true when inside one of its ranges now, by the appliance clock"},
		{Name: "timerange", Kind: Object, List: true, Model: firewallScheduleTimeRange},
	},
}

var firewallScheduleTimeRange = &Model{
	Name:     "FirewallScheduleTimeRange",
	Upstream: "FirewallScheduleTimeRange",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "position", Kind: Integer, List: true, Desc: "weekdays, 1 = Monday; null when month and day are set"},
		{Name: "month", Kind: Integer, List: true, Desc: "pairs with day entry by entry; null when position is set"},
		{Name: "day", Kind: Integer, List: true},
		{Name: "hour", Desc: "from-to, e.g. 8:00-17:59"},
		{Name: "rangedescr", Mark: FreeText},
	},
}

var firewallState = &Model{
	Name:     "FirewallState",
	Upstream: "FirewallState",
	Fields: []Field{
		{Name: "interface", Desc: "real interface name, e.g. igb0, or all"},
		{Name: "protocol"},
		{Name: "direction", Desc: "as seen by the interface"},
		{Name: "source", Gate: Network, Mark: Address, Desc: "host:port, before translation where NAT applies"},
		{Name: "destination", Gate: Network, Mark: Address, Desc: "host:port"},
		{Name: "state", Mark: Volatile, Desc: "one side : other side"},
		{Name: "age", Mark: Volatile, Desc: "hh:mm:ss"},
		{Name: "expires_in", Mark: Volatile, Desc: "hh:mm:ss"},
		{Name: "packets_total", Kind: Integer, Mark: Volatile},
		{Name: "packets_in", Kind: Integer, Mark: Volatile},
		{Name: "packets_out", Kind: Integer, Mark: Volatile},
		{Name: "bytes_total", Kind: Integer, Mark: Volatile},
		{Name: "bytes_in", Kind: Integer, Mark: Volatile},
		{Name: "bytes_out", Kind: Integer, Mark: Volatile},
	},
	Excluded: []Exclusion{
		{Field: "id", Why: "the place in one answer: names no state"},
	},
}

var firewallStatesSize = &Model{
	Name:     "FirewallStatesSize",
	Upstream: "FirewallStatesSize",
	Fields: []Field{
		{Name: "maximumstates", Kind: Integer, Desc: "the limit set; null = the default applies"},
		{Name: "defaultmaximumstates", Kind: Integer, Desc: "default derived from memory"},
		{Name: "currentstates", Kind: Integer, Mark: Volatile},
	},
}

var firewallTrafficShaperLimiter = &Model{
	Name:     "FirewallTrafficShaperLimiter",
	Upstream: "TrafficShaperLimiter",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "number", Kind: Integer},
		{Name: "enabled", Kind: Boolean},
		{Name: "mask", Values: []string{"none", "srcaddress", "dstaddress"}},
		{Name: "maskbits", Kind: Integer},
		{Name: "maskbitsv6", Kind: Integer},
		{Name: "qlimit", Kind: Integer},
		{Name: "ecn", Kind: Boolean, Desc: "reads null here even when it is on"},
		{Name: "description", Mark: FreeText},
		{Name: "aqm", Values: []string{"droptail", "codel", "pie", "red", "gred"}},
		{Name: "sched", Values: []string{"wf2q+", "fifo", "qfq", "rr", "prio", "fq_codel", "fq_pie"}},
		{Name: "param_codel_target", Kind: Integer},
		{Name: "param_codel_interval", Kind: Integer},
		{Name: "param_pie_target", Kind: Integer},
		{Name: "param_pie_tupdate", Kind: Integer},
		{Name: "param_pie_alpha", Kind: Integer},
		{Name: "param_pie_beta", Kind: Integer},
		{Name: "param_pie_max_burst", Kind: Integer},
		{Name: "param_pie_max_ecnth", Kind: Integer},
		{Name: "pie_onoff", Kind: Boolean},
		{Name: "pie_capdrop", Kind: Boolean},
		{Name: "pie_qdelay", Kind: Boolean},
		{Name: "pie_pderand", Kind: Boolean},
		{Name: "param_red_w_q", Kind: Integer},
		{Name: "param_red_min_th", Kind: Integer},
		{Name: "param_red_max_th", Kind: Integer},
		{Name: "param_red_max_p", Kind: Integer},
		{Name: "param_gred_w_q", Kind: Integer},
		{Name: "param_gred_min_th", Kind: Integer},
		{Name: "param_gred_max_th", Kind: Integer},
		{Name: "param_gred_max_p", Kind: Integer},
		{Name: "param_fq_codel_target", Kind: Integer},
		{Name: "param_fq_codel_interval", Kind: Integer},
		{Name: "param_fq_codel_quantum", Kind: Integer},
		{Name: "param_fq_codel_limit", Kind: Integer},
		{Name: "param_fq_codel_flows", Kind: Integer},
		{Name: "param_fq_pie_target", Kind: Integer},
		{Name: "param_fq_pie_tupdate", Kind: Integer},
		{Name: "param_fq_pie_alpha", Kind: Integer},
		{Name: "param_fq_pie_beta", Kind: Integer},
		{Name: "param_fq_pie_max_burst", Kind: Integer},
		{Name: "param_fq_pie_max_ecnth", Kind: Integer},
		{Name: "param_fq_pie_quantum", Kind: Integer},
		{Name: "param_fq_pie_limit", Kind: Integer},
		{Name: "param_fq_pie_flows", Kind: Integer},
		{Name: "delay", Kind: Integer, Desc: "milliseconds"},
		{Name: "plr", Kind: Number, Desc: "packet loss rate to simulate, 0 to 1"},
		{Name: "buckets", Kind: Integer},
		{Name: "bandwidth", Kind: Object, List: true, Model: trafficShaperLimiterBandwidth},
		{Name: "queue", Kind: Object, List: true, Model: trafficShaperLimiterQueue},
	},
}

var trafficShaperLimiterBandwidth = &Model{
	Name:     "TrafficShaperLimiterBandwidth",
	Upstream: "TrafficShaperLimiterBandwidth",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "bw", Kind: Integer},
		{Name: "bwscale", Values: []string{"b", "Kb", "Mb"}},
		{Name: "bwsched", Desc: "schedule name or none"},
	},
}

var trafficShaperLimiterQueue = &Model{
	Name:     "TrafficShaperLimiterQueue",
	Upstream: "TrafficShaperLimiterQueue",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "name", Mark: Key},
		{Name: "number", Kind: Integer},
		{Name: "enabled", Kind: Boolean},
		{Name: "mask", Values: []string{"none", "srcaddress", "dstaddress"}},
		{Name: "maskbits", Kind: Integer},
		{Name: "maskbitsv6", Kind: Integer},
		{Name: "qlimit", Kind: Integer},
		{Name: "ecn", Kind: Boolean},
		{Name: "description", Mark: FreeText},
		{Name: "aqm", Values: []string{"droptail", "codel", "pie", "red", "gred"}},
		{Name: "param_codel_target", Kind: Integer},
		{Name: "param_codel_interval", Kind: Integer},
		{Name: "param_pie_target", Kind: Integer},
		{Name: "param_pie_tupdate", Kind: Integer},
		{Name: "param_pie_alpha", Kind: Integer},
		{Name: "param_pie_beta", Kind: Integer},
		{Name: "param_pie_max_burst", Kind: Integer},
		{Name: "param_pie_max_ecnth", Kind: Integer},
		{Name: "pie_onoff", Kind: Boolean},
		{Name: "pie_capdrop", Kind: Boolean},
		{Name: "pie_qdelay", Kind: Boolean},
		{Name: "pie_pderand", Kind: Boolean},
		{Name: "param_red_w_q", Kind: Integer},
		{Name: "param_red_min_th", Kind: Integer},
		{Name: "param_red_max_th", Kind: Integer},
		{Name: "param_red_max_p", Kind: Integer},
		{Name: "param_gred_w_q", Kind: Integer},
		{Name: "param_gred_min_th", Kind: Integer},
		{Name: "param_gred_max_th", Kind: Integer},
		{Name: "param_gred_max_p", Kind: Integer},
		{Name: "weight", Kind: Integer},
		{Name: "plr", Kind: Number, Desc: "packet loss rate to simulate, 0 to 1"},
		{Name: "buckets", Kind: Integer},
	},
}

var trafficShaper = &Model{
	Name:     "TrafficShaper",
	Upstream: "TrafficShaper",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "enabled", Kind: Boolean},
		{Name: "interface", Mark: InterfaceName},
		{Name: "name", Desc: "equals the interface"},
		{Name: "scheduler", Values: []string{"HFSC", "CBQ", "FAIRQ", "CODELQ", "PRIQ"}},
		{Name: "bandwidthtype", Values: []string{"%", "b", "Kb", "Mb", "Gb"}},
		{Name: "bandwidth", Kind: Integer},
		{Name: "qlimit", Kind: Integer},
		{Name: "tbrconfig", Kind: Integer},
		{Name: "queue", Kind: Object, List: true, Model: trafficShaperQueue},
	},
}

var trafficShaperQueue = &Model{
	Name:     "TrafficShaperQueue",
	Upstream: "TrafficShaperQueue",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "interface", Mark: InterfaceName},
		{Name: "enabled", Kind: Boolean},
		{Name: "name", Mark: Key},
		{Name: "priority", Kind: Integer},
		{Name: "qlimit", Kind: Integer},
		{Name: "description", Mark: FreeText},
		{Name: "default", Kind: Boolean},
		{Name: "red", Kind: Boolean},
		{Name: "rio", Kind: Boolean},
		{Name: "ecn", Kind: Boolean},
		{Name: "codel", Kind: Boolean},
		{Name: "bandwidthtype", Values: []string{"%", "b", "Kb", "Mb", "Gb"}},
		{Name: "bandwidth", Kind: Integer},
		{Name: "buckets", Kind: Integer},
		{Name: "hogs", Kind: Integer},
		{Name: "borrow", Kind: Boolean},
		{Name: "upperlimit", Kind: Boolean},
		{Name: "upperlimit_m1"},
		{Name: "upperlimit_d", Kind: Integer},
		{Name: "upperlimit_m2"},
		{Name: "realtime", Kind: Boolean},
		{Name: "realtime_m1"},
		{Name: "realtime_d", Kind: Integer},
		{Name: "realtime_m2"},
		{Name: "linkshare", Kind: Boolean},
		{Name: "linkshare_m1"},
		{Name: "linkshare_d", Kind: Integer},
		{Name: "linkshare_m2"},
	},
}

var virtualIPApply = &Model{
	Name:     "VirtualIPApply",
	Upstream: "VirtualIPApply",
	Fields: []Field{
		{Name: "applied", Kind: Boolean},
	},
}

var firewallVirtualIp = &Model{
	Name:     "FirewallVirtualIp",
	Upstream: "VirtualIP",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "uniqid"},
		{Name: "mode", Values: []string{"ipalias", "proxyarp", "carp", "other"}},
		{Name: "interface", Mark: InterfaceName},
		{Name: "type", Values: []string{"single", "network"}},
		{Name: "subnet", Gate: Network, Mark: Address, Desc: "the address"},
		{Name: "subnet_bits", Kind: Integer, Gate: Network},
		{Name: "descr", Mark: FreeText},
		{Name: "noexpand", Kind: Boolean},
		{Name: "vhid", Kind: Integer, Desc: "CARP group; must be unique on the segment"},
		{Name: "advbase", Kind: Integer},
		{Name: "advskew", Kind: Integer, Desc: "lower wins the election"},
		{Name: "carp_status", Mark: Volatile, Desc: "MASTER or BACKUP as this node sees it"},
		{Name: "carp_mode", Values: []string{"mcast", "ucast"}},
		{Name: "carp_peer", Gate: Network, Mark: Address},
	},
	Excluded: []Exclusion{
		{Field: "password", Secret: true, Why: "CARP password, shown upstream when the exposure setting is on"},
	},
}

package catalog

var gatewayStatus = &Model{
	Name:     "GatewayStatus",
	Upstream: "RoutingGatewayStatus",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "srcip", Gate: Network, Mark: Address},
		{Name: "monitorip", Gate: Network, Mark: Address},
		{Name: "delay", Kind: Number, Mark: Volatile, Desc: "ms; null = not monitored, not zero"},
		{Name: "stddev", Kind: Number, Mark: Volatile, Desc: "ms; null = not monitored"},
		{Name: "loss", Kind: Number, Mark: Volatile, Desc: "percent; null = not monitored, not zero"},
		{Name: "status", Mark: Volatile},
		{Name: "substatus", Mark: Volatile, Desc: "none, latency, highlatency, loss, highloss, force_down"},
	},
}

var gatewayConfig = &Model{
	Name:     "GatewayConfig",
	Upstream: "RoutingGateway",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "descr", Mark: FreeText},
		{Name: "disabled", Kind: Boolean},
		{Name: "ipprotocol", Values: []string{"inet", "inet6"}},
		{Name: "interface", Mark: InterfaceName},
		{Name: "gateway", Gate: Network, Mark: Address, Desc: "address, or dynamic"},
		{Name: "monitor_disable", Kind: Boolean, Desc: "true = not probed: always counted as up"},
		{Name: "monitor", Gate: Network, Mark: Address, Desc: "null = the gateway itself is probed"},
		{Name: "action_disable", Kind: Boolean},
		{Name: "force_down", Kind: Boolean, Desc: "true = marked down by an administrator"},
		{Name: "dpinger_dont_add_static_route", Kind: Boolean},
		{Name: "gw_down_kill_states", Values: []string{"", "none", "down"}},
		{Name: "nonlocalgateway", Kind: Boolean},
		{Name: "weight", Kind: Integer},
		{Name: "data_payload", Kind: Integer, Desc: "bytes"},
		{Name: "latencylow", Kind: Integer, Desc: "ms"},
		{Name: "latencyhigh", Kind: Integer, Desc: "ms"},
		{Name: "losslow", Kind: Integer, Desc: "percent"},
		{Name: "losshigh", Kind: Integer, Desc: "percent"},
		{Name: "interval", Kind: Integer, Desc: "ms between probes"},
		{Name: "loss_interval", Kind: Integer, Desc: "ms before a probe counts as lost"},
		{Name: "time_period", Kind: Integer, Desc: "ms averaged over"},
		{Name: "alert_interval", Kind: Integer, Desc: "ms between checks"},
	},
}

var routingApply = &Model{
	Name:     "RoutingApply",
	Upstream: "RoutingApply",
	Fields: []Field{
		{Name: "applied", Kind: Boolean},
	},
}

var defaultGateway = &Model{
	Name:     "DefaultGateway",
	Upstream: "DefaultGateway",
	Fields: []Field{
		{Name: "defaultgw4", Gate: Naming, Desc: "\"\" = automatic, - = none; a gateway or group name otherwise"},
		{Name: "defaultgw6", Gate: Naming, Desc: "as defaultgw4"},
	},
}

var routingGatewayGroup = &Model{
	Name:     "RoutingGatewayGroup",
	Upstream: "RoutingGatewayGroup",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "name", Mark: Key},
		{Name: "trigger", Values: []string{"down", "downloss", "downlatency", "downlosslatency"}},
		{Name: "descr", Mark: FreeText},
		{Name: "ipprotocol"},
		{Name: "priorities", Kind: Object, List: true, Model: routingGatewayGroupPriority},
	},
}

var routingGatewayGroupPriority = &Model{
	Name:     "RoutingGatewayGroupPriority",
	Upstream: "RoutingGatewayGroupPriority",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "parent_id", Kind: Integer},
		{Name: "gateway", Gate: Naming},
		{Name: "tier", Kind: Integer, Desc: "lower is preferred; equal tiers share load"},
		{Name: "virtual_ip", Gate: Network, Desc: "address = the interface's own"},
	},
}

var routingStaticRoute = &Model{
	Name:     "RoutingStaticRoute",
	Upstream: "StaticRoute",
	Fields: []Field{
		{Name: "id", Kind: Integer, Mark: Key},
		{Name: "network", Gate: Network, Mark: Address},
		{Name: "gateway", Gate: Naming},
		{Name: "descr", Mark: FreeText},
		{Name: "disabled", Kind: Boolean},
	},
}

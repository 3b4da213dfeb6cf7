package catalog

var routingRows = []*Tool{
	{
		Name:       "pfsense_get_gateways",
		Title:      "Gateways",
		Desc:       "Gateways as stored, dynamic ones included: address, monitor address, thresholds, weight, forced down. No live state.",
		Toolset:    SetRouting,
		Core:       true,
		Capability: "GATEWAY_READ",
		Path:       "/api/v2/routing/gateways",
		List:       true,
		MaxLimit:   100,
		Kind:       Configuration,
		Model:      gatewayConfig,
		Interpret:  "Evidence of settings alone; whether a gateway answers is in pfsense_get_gateway_status, which lists only monitored ones. gateway reads dynamic when DHCP or PPP brings the address. monitor null means the gateway's own address is probed; a gateway that ignores probes then looks down although it forwards. monitor_disable or action_disable true: it counts as up whatever happens. force_down true: an administrator took it out. Thresholds are milliseconds and percent: the low one warns, the high one takes the gateway out of groups that trigger on it. Which gateway is the default is in pfsense_get_routing_gateway_default. Changes wait for pfsense_get_routing_apply_status.",
		Related:    []string{"pfsense_get_gateway_status", "pfsense_get_routing_gateway_default", "pfsense_get_routing_gateway_groups", "pfsense_get_routing_static_routes", "pfsense_get_routing_apply_status"},
	},
	{
		Name:       "pfsense_get_gateway_status",
		Title:      "Gateway status",
		Desc:       "Monitored gateways live: delay, deviation, loss, status. Null delay or loss means not monitored, never zero.",
		Toolset:    SetRouting,
		Core:       true,
		Capability: "GATEWAY_READ",
		Path:       "/api/v2/status/gateways",
		List:       true,
		MaxLimit:   100,
		Kind:       RuntimeStatus,
		Model:      gatewayStatus,
		Interpret:  "Evidence of probes to the monitor address, averaged over the time period set for the gateway: a monitor that drops ICMP looks like a dead line, and a live monitor does not prove that the Internet is reached. delay, stddev and loss null: the gateway is not monitored and its status online is an assumption. loss 100 with delay 0 is no answer at all. substatus tells which threshold was crossed; force_down is an administrator's choice. A gateway that is missing here but present in pfsense_get_gateways is disabled, not monitored or its probe daemon is not running: look at the service dpinger.",
		Related:    []string{"pfsense_get_gateways", "pfsense_get_routing_gateway_groups", "pfsense_get_routing_gateway_default", "pfsense_get_service_status", "pfsense_get_interfaces"},
	},
}

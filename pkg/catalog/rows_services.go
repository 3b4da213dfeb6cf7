package catalog

var servicesRows = []*Tool{
	{
		Name:       "pfsense_get_service_status",
		Title:      "Services",
		Desc:       "Services with enabled and running. Names repeat, one row per instance. Running is not answering.",
		Toolset:    SetServices,
		Core:       true,
		Capability: "SERVICE_READ",
		Path:       "/api/v2/status/services",
		List:       true,
		MaxLimit:   100,
		Kind:       RuntimeStatus,
		Model:      serviceStatus,
		Interpret:  "status true: a process runs at this moment; it says nothing about whether it answers or is set up as meant. status is a boolean, not a word. enabled=true with status=false is a service that should run and does not. A service that is absent is not installed or not set up. Names are not unique: every OpenVPN instance is a row named openvpn, told apart by the description. dpinger is gateway monitoring, unbound the DNS resolver, dnsmasq the forwarder, kea-dhcp4 or dhcpd the DHCP server.",
		Related:    []string{"pfsense_get_system_status", "pfsense_get_system_packages", "pfsense_get_service_watchdogs", "pfsense_get_status_logs_system"},
	},
}

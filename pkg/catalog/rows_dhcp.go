package catalog

var dhcpRows = []*Tool{
	{
		Name:       "pfsense_get_dhcp_leases",
		Title:      "DHCP leases",
		Desc:       "DHCPv4 leases and static mappings now: address, MAC, host name, interface, times, state. Empty can also mean the DHCP back end is not read.",
		Toolset:    SetDHCP,
		Core:       true,
		Capability: "DHCP_LEASE_READ",
		Path:       "/api/v2/status/dhcp_server/leases",
		List:       true,
		MaxLimit:   100,
		Kind:       DerivedState,
		Model:      dhcpLease,
		Interpret:  "Evidence of what the DHCP server handed out, not of who is on line: online_status comes from the ARP table and is idle for a host that is merely silent. active_status static rows are mappings without lease times. Expired leases may still be listed. hostname is what the client said and may be anything. An empty list does not prove that there are no leases: when the Kea control socket is gone, or the back end was switched to ISC, the appliance answers an empty list and static mappings vanish with it. Compare with pfsense_get_service_status and pfsense_get_dhcp_servers. DHCPv6 is not covered.",
		Related:    []string{"pfsense_get_dhcp_servers", "pfsense_get_dhcp_static_mappings", "pfsense_get_arp_table", "pfsense_get_service_status"},
	},
	{
		Name:       "pfsense_get_dhcp_servers",
		Title:      "DHCP servers",
		Desc:       "DHCPv4 server per interface as stored: range, pools, options, static mappings, DNS, gateway, lease times. One row per interface, on or off.",
		Toolset:    SetDHCP,
		Core:       true,
		Capability: "DHCP_SERVER_READ",
		Path:       "/api/v2/services/dhcp_servers",
		List:       true,
		MaxLimit:   100,
		Kind:       Configuration,
		Model:      dhcpServer,
		Interpret:  "Evidence of settings; whether the server runs is in pfsense_get_service_status, who has an address in pfsense_get_dhcp_leases. A row exists for every static IPv4 interface even with enable=false. Empty gateway and dnsserver mean the appliance offers its own address, not none. Null, an empty text and an empty list all mean unset and mix within one answer. denyunknown null serves any client. mac_allow and mac_deny are prefixes; a non-empty allow list shuts out everybody else. pool holds further ranges with settings of their own, staticmap the reservations: an address of a reservation should lie outside every range. numberoptions is null when none is stored. Changes wait for pfsense_get_dhcp_server_apply_status.",
		Related:    []string{"pfsense_get_dhcp_leases", "pfsense_get_dhcp_static_mappings", "pfsense_get_dhcp_server_address_pools", "pfsense_get_dhcp_server_custom_options", "pfsense_get_dhcp_server_apply_status", "pfsense_get_interface_configs"},
	},
}

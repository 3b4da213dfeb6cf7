package catalog

var vpnRows = []*Tool{
	{
		Name:       "pfsense_get_status_openvpn_servers",
		Title:      "OpenVPN server status",
		Desc:       "OpenVPN servers that run, with connected clients and their routes. A server that is down or has no management socket shows no clients.",
		Toolset:    SetVPN,
		Core:       true,
		Capability: "STATUS_OPENVPN_SERVER_READ",
		Path:       "/api/v2/status/openvpn/servers",
		List:       true,
		MaxLimit:   100,
		Kind:       RuntimeStatus,
		Model:      openVpnServerStatus,
		Interpret:  "Evidence of sessions at this moment. conns empty: nobody is connected, or the daemon could not be asked; check the openvpn rows of pfsense_get_service_status. A disabled server is not listed. name is description, protocol and port together. remote_host is the outer address with port, virtual_addr the address inside the tunnel. bytes_recv and bytes_sent are seen from the server and run from connect_time. user_name is UNDEF or empty without user authentication. For a peer-to-peer server the peer shows as a connection only while it is up. Settings are in pfsense_get_vpn_openvpn_servers, matched by vpnid.",
		Related:    []string{"pfsense_get_vpn_openvpn_servers", "pfsense_get_status_openvpn_server_connections", "pfsense_get_status_openvpn_server_routes", "pfsense_get_status_openvpn_clients", "pfsense_get_service_status"},
	},
	{
		Name:       "pfsense_get_status_ipsec_sas",
		Title:      "IPsec SAs",
		Desc:       "IKE SAs up or negotiating, with child SAs, traffic selectors and counters. A configured tunnel without an SA is absent.",
		Toolset:    SetVPN,
		Core:       true,
		Capability: "STATUS_IPSEC_SA_READ",
		Path:       "/api/v2/status/ipsec/sas",
		List:       true,
		MaxLimit:   100,
		Kind:       RuntimeStatus,
		Model:      ipsecSaStatus,
		Interpret:  "Evidence of negotiated tunnels. No row for a tunnel means it is down now: on-demand tunnels come up with the first packet, so compare with pfsense_get_vpn_ipsec_phase2s before calling it a fault; all rows missing can also mean that the IPsec service is off. ESTABLISHED without an INSTALLED child passes no traffic: the phase 2 proposals or selectors do not agree. bytes_out growing while bytes_in stands still means the far side does not answer or its packets are lost. Two SAs for one peer appear around a rekey and are normal then. con_id is con and the ikeid of phase 1. integ_alg null is right for AEAD ciphers; dh_group null on a child is right until its first rekey. Times are seconds from now.",
		Related:    []string{"pfsense_get_vpn_ipsec_phase2s", "pfsense_get_status_ipsec_child_sas", "pfsense_get_ipsec_apply_status", "pfsense_get_service_status", "pfsense_get_firewall_states"},
	},
}

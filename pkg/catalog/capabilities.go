package catalog

import "slices"

// The profiles. A profile is the outer bound of what a server may offer;
// allow-list and toolsets only narrow it.
const (
	ProfileAuditor        = "auditor"         // every read capability; the default
	ProfileEngineer       = "engineer"        // nothing
	ProfileWriteProtected = "write_protected" // every read capability and AliasWrite
)

// The write capabilities. Only AliasWrite has an operation behind it; the other
// two names are reserved so that nobody gives them another meaning.
const (
	FirewallWrite = "FIREWALL_WRITE"
	AliasWrite    = "ALIAS_WRITE"
	ServiceWrite  = "SERVICE_WRITE"
)

// ExtendedRead owns the tools of the toolset extended. It is not one of the
// read capabilities of the contract and has no guidance of its own.
const ExtendedRead = "EXTENDED_READ"

// ReadCapabilities returns the closed list of read capabilities, in the order of
// the contract. Every one owns at least one tool and every tool outside the
// toolset extended is owned by exactly one.
func ReadCapabilities() []string { return slices.Clone(readCapabilities) }

// WriteCapabilities returns the reserved write capabilities, sorted.
func WriteCapabilities() []string {
	return []string{AliasWrite, FirewallWrite, ServiceWrite}
}

// Profiles returns the names of the profiles, the default first.
func Profiles() []string {
	return []string{ProfileAuditor, ProfileEngineer, ProfileWriteProtected}
}

// Grants returns the capabilities a profile grants, reads first; nil for
// engineer and for a name that is no profile.
func Grants(profile string) []string {
	switch profile {
	case ProfileAuditor:
		return append(ReadCapabilities(), ExtendedRead)
	case ProfileWriteProtected:
		return append(ReadCapabilities(), ExtendedRead, AliasWrite)
	default:
		return nil
	}
}

var readCapabilities = []string{
	"SYSTEM_READ",
	"INTERFACE_READ",
	"GATEWAY_READ",
	"FIREWALL_READ",
	"ALIAS_READ",
	"SERVICE_READ",
	"SYSTEM_INFO_READ",
	"INTERFACE_CONFIG_READ",
	"FIREWALL_NAT_READ",
	"USER_READ",
	"SYSTEM_CERTIFICATE_READ",
	"USER_GROUP_READ",
	"DHCP_LEASE_READ",
	"DHCP_STATIC_MAPPING_READ",
	"DHCP_SERVER_READ",
	"INTERFACE_VIRTUAL_READ",
	"STATUS_CARP_READ",
	"SYSTEM_RESTAPI_SETTINGS_READ",
	"SYSTEM_HA_SYNC_READ",
	"SERVICES_DNS_RESOLVER_READ",
	"DIAGNOSTICS_ARP_READ",
	"FIREWALL_TRAFFIC_SHAPER_READ",
	"FIREWALL_ADVANCED_SETTINGS_READ",
	"SYSTEM_PACKAGE_READ",
	"SYSTEM_TUNABLE_READ",
	"SYSTEM_NOTIFICATIONS_READ",
	"SERVICES_BIND_READ",
	"SERVICES_NTP_READ",
	"SERVICES_SSH_READ",
	"SERVICES_CRON_READ",
	"SERVICES_ACME_READ",
	"SERVICES_FREERADIUS_READ",
	"DIAGNOSTICS_TABLES_READ",
	"AUTH_KEYS_READ",
	"SERVER_INFO_READ",
	"INTERFACE_VLAN_READ",
	"ROUTING_STATIC_ROUTE_READ",
	"INTERFACE_GROUP_READ",
	"FIREWALL_SCHEDULE_READ",
	"SYSTEM_RESTAPI_VERSION_READ",
	"FIREWALL_VIRTUAL_IP_READ",
	"SYSTEM_CERTIFICATE_AUTHORITY_READ",
	"STATUS_IPSEC_SA_READ",
	"STATUS_IPSEC_CHILD_SA_READ",
	"STATUS_WIREGUARD_TUNNEL_READ",
	"STATUS_WIREGUARD_PEER_READ",
	"STATUS_OPENVPN_SERVER_READ",
	"STATUS_OPENVPN_CLIENT_READ",
	"STATUS_OPENVPN_SERVER_CONNECTION_READ",
	"STATUS_OPENVPN_SERVER_ROUTE_READ",
	"DNS_FORWARDER_HOST_OVERRIDE_READ",
	"DNS_RESOLVER_DOMAIN_OVERRIDE_READ",
	"DNS_RESOLVER_ACCESS_LIST_READ",
	"INTERFACE_AVAILABLE_INTERFACE_READ",
	"INTERFACE_GRE_READ",
	"INTERFACE_LAGG_READ",
	"ROUTING_GATEWAY_GROUP_READ",
	"ROUTING_GATEWAY_DEFAULT_READ",
	"DHCP_RELAY_READ",
	"DHCP_SERVER_ADDRESS_POOL_READ",
	"DHCP_SERVER_CUSTOM_OPTION_READ",
	"SYSTEM_HOSTNAME_READ",
	"SYSTEM_TIMEZONE_READ",
	"SYSTEM_DNS_READ",
	"SYSTEM_CONSOLE_READ",
	"SYSTEM_WEBGUI_SETTINGS_READ",
	"SYSTEM_RESTAPI_ACCESS_LIST_READ",
	"SYSTEM_CRLS_READ",
	"SYSTEM_PACKAGE_AVAILABLE_READ",
	"FIREWALL_TRAFFIC_SHAPERS_READ",
	"VPN_IPSEC_PHASE2_READ",
	"VPN_IPSEC_PHASE1_ENCRYPTION_READ",
	"VPN_IPSEC_PHASE2_ENCRYPTION_READ",
	"VPN_OPENVPN_SERVER_READ",
	"VPN_OPENVPN_CSO_READ",
	"DIAGNOSTICS_CONFIG_HISTORY_REVISION_READ",
	"STATUS_LOGS_SETTINGS_READ",
	"FIREWALL_VIRTUAL_IP_APPLY_READ",
	"INTERFACE_APPLY_READ",
	"ROUTING_APPLY_READ",
	"DHCP_SERVER_APPLY_READ",
	"DNS_FORWARDER_APPLY_READ",
	"DNS_RESOLVER_APPLY_READ",
	"VPN_IPSEC_APPLY_READ",
	"VPN_WIREGUARD_APPLY_READ",
	"VPN_WIREGUARD_TUNNEL_ADDRESS_READ",
}

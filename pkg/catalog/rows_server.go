package catalog

// InfoTool is the one tool that asks no appliance: it is answered by the front
// daemon about itself and stands in every toolset.
const InfoTool = "pfsense_mcp_info"

var serverRows = []*Tool{
	{
		Name:       InfoTool,
		Title:      "This server",
		Desc:       "This server itself: version, profile, toolsets, registered tools, state of its daemons. Asks no appliance.",
		Toolset:    "system",
		Core:       true,
		Capability: "SERVER_INFO_READ",
		Kind:       Identity,
		Model:      serverInfo,
		Interpret:  "Says what this server is and may do, nothing about the firewall. A tool that is not counted here was removed by profile, allow-list or toolsets, not by the appliance. A daemon with reachable=false was not reached when the call was made: the tools that need it say so, all others work. sandbox_missing names protections the kernel could not give that daemon. active_write_capabilities empty means no tool of this server can change anything.",
		Related:    []string{"pfsense_get_system_version", "pfsense_get_system_restapi_version"},
	},
}

// serverInfo and daemonInfo are ours: no upstream model stands behind them.
var serverInfo = &Model{
	Name: "ServerInfo",
	Fields: []Field{
		{Name: "server_version"},
		{Name: "build_id"},
		{Name: "mcp_transport"},
		{Name: "active_profile", Values: []string{ProfileAuditor, ProfileEngineer, ProfileWriteProtected}},
		{Name: "active_toolsets", List: true},
		{Name: "registered_tool_count", Kind: Integer},
		{Name: "registered_read_tool_count", Kind: Integer, Desc: "without the extended ones"},
		{Name: "registered_extended_tool_count", Kind: Integer},
		{Name: "registered_write_tool_count", Kind: Integer},
		{Name: "registered_guidance_tool_count", Kind: Integer},
		{Name: "active_capability_set", List: true, Desc: "sorted"},
		{Name: "active_write_capabilities", List: true},
		{Name: "active_write_endpoint_count", Kind: Integer},
		{Name: "daemons", Kind: Object, List: true, Model: daemonInfo},
	},
}

var daemonInfo = &Model{
	Name: "DaemonInfo",
	Fields: []Field{
		{Name: "name", Mark: Key},
		{Name: "reachable", Kind: Boolean},
		{Name: "version", Desc: "null when not reached"},
		{Name: "build_id"},
		{Name: "started_at", Desc: "RFC 3339, UTC"},
		{Name: "sandbox_enforced", List: true},
		{Name: "sandbox_missing", List: true, Desc: "what this kernel cannot enforce"},
		{Name: "sealed", Kind: Boolean, Desc: "executord only: no write configuration, nothing can be written"},
	},
}

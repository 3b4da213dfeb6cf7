package mcpserver

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"sync"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/mcpserver/internal/suite"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/proto/admin/v1"
)

// serverInfo is what pfsense_mcp_info shows; its fields are those of the
// catalog's model ServerInfo, in its order.
type serverInfo struct {
	ServerVersion     string       `json:"server_version"`
	BuildID           string       `json:"build_id"`
	Transport         string       `json:"mcp_transport"`
	Profile           string       `json:"active_profile"`
	Toolsets          []string     `json:"active_toolsets"`
	Tools             int          `json:"registered_tool_count"`
	ReadTools         int          `json:"registered_read_tool_count"`
	ExtendedTools     int          `json:"registered_extended_tool_count"`
	WriteTools        int          `json:"registered_write_tool_count"`
	GuidanceTools     int          `json:"registered_guidance_tool_count"`
	Capabilities      []string     `json:"active_capability_set"`
	WriteCapabilities []string     `json:"active_write_capabilities"`
	WriteEndpoints    int          `json:"active_write_endpoint_count"`
	Daemons           []daemonInfo `json:"daemons"`
}

// daemonInfo is one daemon; nil is a value that is not known.
type daemonInfo struct {
	Name      string   `json:"name"`
	Reachable bool     `json:"reachable"`
	Version   *string  `json:"version"`
	BuildID   *string  `json:"build_id"`
	StartedAt *string  `json:"started_at"`
	Enforced  []string `json:"sandbox_enforced"`
	Missing   []string `json:"sandbox_missing"`
	Sealed    *bool    `json:"sealed"`
}

// info answers pfsense_mcp_info from what is true at the time of the call. It
// asks the other daemons and never the appliance.
func (s *Server) info(ctx context.Context, _ pfrest.Caller, args []byte, _ func(int)) (Answer, error) {
	if err := noArguments(args); err != nil {
		return Answer{}, err
	}
	var members []*adminpb.Member
	var constructible, known bool
	var asked sync.WaitGroup
	asked.Go(func() { members = s.cfg.Suite.Status(ctx) })
	asked.Go(func() { constructible, known = s.cfg.Suite.WriteState(ctx) })
	asked.Wait()

	extended := s.extended()
	out := serverInfo{
		ServerVersion: s.cfg.Version, Transport: "stdio", Profile: s.cfg.Profile,
		Toolsets: s.cfg.Toolsets,
		Tools:    len(s.tools), ReadTools: s.count(Read) - extended, ExtendedTools: extended,
		GuidanceTools: s.count(Guidance), Capabilities: s.capabilities(),
	}
	if len(out.Toolsets) == 0 {
		out.Toolsets = []string{catalog.SetAll}
	}
	if s.offered() { // as it is listed; executord's sealed is as it says now
		out.Tools++
		out.WriteTools, out.WriteEndpoints = 1, 1
		out.WriteCapabilities = []string{s.write.tool.Capability()}
	}
	for _, m := range members {
		d := daemonInfo{Name: m.GetName(), Reachable: m.GetReachable()}
		if st := m.GetStatus(); st != nil {
			started := time.Unix(st.GetStartedAt(), 0).UTC().Format(time.RFC3339)
			d.Version, d.BuildID, d.StartedAt = &st.Version, &st.BuildId, &started
			d.Enforced, d.Missing = st.GetSandbox().GetEnforced(), st.GetSandbox().GetMissing()
		}
		switch m.GetName() {
		case suite.Mcpd:
			out.BuildID = m.GetStatus().GetBuildId()
		case suite.Executord:
			if sealed := !constructible; known {
				d.Sealed = &sealed
			}
		}
		out.Daemons = append(out.Daemons, d)
	}
	object, err := json.Marshal(struct {
		Object serverInfo `json:"object"`
		Notes  []string   `json:"notes"`
	}{Object: out})
	if err != nil {
		return Answer{}, errs.Wrap(err, errs.Internal, "internal error")
	}
	return Answer{JSON: object, Rows: 1}, nil
}

// noArguments refuses arguments for a tool that takes none.
func noArguments(args []byte) error {
	switch string(bytes.TrimSpace(args)) {
	case "", "{}", "null":
		return nil
	}
	var v map[string]any
	if err := json.Unmarshal(args, &v); err == nil && len(v) == 0 {
		return nil
	}
	return errs.New(errs.Invalid, "this tool takes no arguments").WithClass("request_validation").WithNext("call it with {}")
}

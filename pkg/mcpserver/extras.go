package mcpserver

import (
	"context"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/mcpserver/internal/extras"
	"pfsensemcp/pkg/mcpserver/internal/suite"
	"pfsensemcp/proto/guidance/v1"
)

// extras returns the resources, prompts and completions that go with the
// READ and guidance tools, and with more of them.
func (s *Server) extras(more ...extras.Tool) *extras.Set {
	rows := map[string]*catalog.Tool{}
	for _, r := range catalog.Tools() {
		rows[r.Name] = r
	}
	tools := make([]extras.Tool, 0, len(s.tools))
	for _, t := range s.tools {
		tools = append(tools, extras.Tool{Name: t.name, Desc: t.desc, Row: rows[t.name], Input: t.input})
	}
	tools = append(tools, more...)
	pages := guidancepb.NewGuidanceClient(s.cfg.Suite.Conn(suite.Guidanced))
	return extras.New(tools, func(ctx context.Context, capability string) (*guidancepb.LookupResponse, error) {
		return pages.Lookup(ctx, &guidancepb.LookupRequest{Capability: capability})
	})
}

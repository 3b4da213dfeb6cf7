package mcpserver

import (
	"context"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/mcpserver/internal/change"
	"pfsensemcp/pkg/mcpserver/internal/extras"
	"pfsensemcp/pkg/mcpserver/internal/session"
	"pfsensemcp/pkg/mcpserver/internal/suite"
	"pfsensemcp/pkg/rpc"
)

// write is the tool that asks for a change, in a server whose settings leave it.
// It is not among the server's tools and has no Handler.
type write struct {
	tool  *change.Tool
	hints mcp.ToolAnnotations
	list  []byte // the member "tools" of tools/list, with the tool
}

// chooseWrite settles whether there can be a write tool: the profile grants its
// capability, the compiled table has it, and allow-list and toolsets leave it.
// Whether it is offered is executord's to say, every time somebody asks.
func (s *Server) chooseWrite() {
	for _, w := range catalog.SelectWrites(s.cfg.Profile, s.cfg.Allow, s.cfg.Toolsets) {
		destructive, open := false, true
		s.write = &write{
			tool: change.New(w, s.cfg.Suite.Conn(suite.Executord), s.cfg.Log, s.writeChanged),
			// It opens a request that people decide about: it destroys nothing, and the
			// same content asked again is the same request.
			hints: mcp.ToolAnnotations{DestructiveHint: &destructive, IdempotentHint: true, OpenWorldHint: &open},
		}
	}
}

// enlistWrite renders the list with the write tool in it.
func (s *Server) enlistWrite() error {
	if s.write == nil {
		return nil
	}
	s.write.list = append([]byte(nil), s.list...)
	return s.enlist(&s.write.list, s.write.tool.Name(), change.Desc, []byte(change.Input), []byte(change.Output()), s.write.hints)
}

// offered says whether the write tool is registered at this moment.
func (s *Server) offered() bool { return s.write != nil && s.write.tool.Offered() }

// isWrite says whether a name is that of the write tool, in a server that can
// have it.
func (s *Server) isWrite(name string) bool { return s.write != nil && s.write.tool.Name() == name }

// writeChanged keeps the SDK's tools equal to the registered ones: it tells the
// sessions then, in the way of each protocol era, that the list has changed.
func (s *Server) writeChanged(offered bool) {
	name := s.write.tool.Name()
	if !offered {
		s.mcp.RemoveTools(name)
		return
	}
	s.mcp.AddTool(plainTool(name), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errs.New(errs.Internal, "the call came by no session") // writeMethod answers the others
	})
}

// sets returns what goes with the largest set of tools, and what gives the set
// of this moment.
func (s *Server) sets() (all *extras.Set, now func() *extras.Set) {
	read := s.extras()
	if s.write == nil {
		return read, func() *extras.Set { return read }
	}
	both := s.extras(extras.Tool{Name: s.write.tool.Name(), Desc: change.Desc, Input: []byte(change.Input)})
	return both, func() *extras.Set {
		if s.offered() {
			return both
		}
		return read
	}
}

// look asks executord whether the tool may be offered, for the session of ctx.
// It takes two seconds at most.
func (s *Server) look(ctx context.Context) bool {
	ok := s.write.tool.Look(ctx)
	if ok {
		stateOf(ctx).sawWrite.Store(true)
	}
	return ok
}

// served returns the list of tools for the session of ctx. READ tools are in it
// whatever executord does.
func (s *Server) served(ctx context.Context) []byte {
	if s.write != nil && s.look(ctx) {
		return s.write.list
	}
	return s.list
}

// writeMethod answers what is different in a server that can have a write tool:
// the beginning of a session, and the tool's calls. done is false for the rest.
func (s *Server) writeMethod(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) (res mcp.Result, err error, done bool) {
	if r, ok := req.(*mcp.CallToolRequest); ok {
		if r.Params == nil || !s.isWrite(r.Params.Name) {
			return nil, nil, false
		}
		call := session.CallOf(r.Extra)
		if call == nil {
			return nil, errs.New(errs.Internal, "the call came by no session"), true
		}
		res, err = s.runWrite(ctx, call, r.Params.Arguments)
		return res, err, true
	}
	if method != "initialize" && method != "server/discover" {
		return nil, nil, false
	}
	s.look(ctx)
	res, err = next(ctx, method, req)
	switch r := res.(type) {
	case *mcp.InitializeResult:
		if err == nil {
			r.Instructions = s.instructions()
		}
	case *mcp.DiscoverResult:
		if err == nil {
			r.Instructions = s.instructions()
		}
	}
	return res, err, true
}

// runWrite carries one call of the write tool from its first audit line to its
// last. For a session to which the tool was never offered there is no such tool;
// one that saw it gets a state, refused when it is not offered any more.
func (s *Server) runWrite(ctx context.Context, call *session.Call, args []byte) (mcp.Result, error) {
	name := s.write.tool.Name()
	if !stateOf(ctx).sawWrite.Load() && !s.look(ctx) {
		return nil, s.unknownTool(name)
	}
	peer, _ := rpc.PeerFrom(ctx)
	ctx = rpc.WithRequestID(ctx, call.RequestID)
	began := time.Now()
	record := logging.Record{
		Tool: name, CallerUID: peer.UID, Identity: s.cfg.Identity, Outcome: "invoked",
		RequestID: call.RequestID, Seq: s.auditSeq.Add(1),
	}
	logging.Audit(ctx, s.cfg.Log, record)

	state, err := s.guardWrite(ctx, peer.UID, args)

	record.Seq, record.Duration, record.Outcome = s.auditSeq.Add(1), time.Since(began), string(state)
	if err != nil {
		record.Outcome, record.Class, record.Code = "failed", "request_validation", errs.Invalid.String()
	}
	logging.Audit(ctx, s.cfg.Log, record)
	s.counts.call(name, record)
	if err != nil {
		return nil, &session.Error{Code: jsonline.CodeInvalidParams, Text: err.Error(), Data: []byte(`{"class":"request_validation"}`)}
	}
	call.Reply(content(state.JSON()))
	return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
}

// guardWrite makes the call; a panic in it is one refusal more.
func (s *Server) guardWrite(ctx context.Context, uid uint32, args []byte) (state change.State, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.cfg.Log.LogAttrs(ctx, slog.LevelError, "a call panicked",
				slog.String(logging.KeyTool, s.write.tool.Name()), slog.String(logging.KeyDetail, logging.Panicked()),
				slog.String(logging.KeyRequestID, rpc.RequestID(ctx)))
			state, err = change.Refused, nil
		}
	}()
	return s.write.tool.Call(ctx, uid, args)
}

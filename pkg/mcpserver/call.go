package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/mcpserver/internal/session"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
)

// callDeadline bounds a call: hosts give up at 60 s, and an answer that says so
// is worth more than silence.
const callDeadline = 45 * time.Second

// progressEvery is the least time between two progress notifications of a call.
const progressEvery = 200 * time.Millisecond

var errDeadline = errors.New("the call's own deadline")

// middleware serves the list as it was rendered, and answers for a tool that is
// not registered in our words.
func (s *Server) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == session.PlainCall {
			return s.plainCall(ctx, req)
		}
		if s.write != nil {
			if res, err, done := s.writeMethod(ctx, method, req, next); done {
				return res, err
			}
		}
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
			if call := session.CallOf(r.Extra); call != nil {
				if r.Params != nil && r.Params.Cursor != "" {
					return nil, &session.Error{Code: jsonline.CodeInvalidParams, Text: "there is one page of tools: ask without a cursor"}
				}
				call.Reply(s.served(ctx))
				return &mcp.ListToolsResult{Tools: []*mcp.Tool{}, Cacheable: mcp.Cacheable{CacheScope: cachePrivate}}, nil
			}
		case *mcp.CallToolRequest:
			if r.Params != nil && !s.has(r.Params.Name) {
				return nil, s.unknownTool(r.Params.Name)
			}
		}
		return next(ctx, method, req)
	}
}

func (s *Server) has(name string) bool { return s.tool(name) != nil }

// tool returns a registered READ or guidance tool; nil when there is none of the
// name.
func (s *Server) tool(name string) *entry {
	for i := range s.tools { // at most some 120
		if s.tools[i].name == name {
			return &s.tools[i]
		}
	}
	return nil
}

// plain says whether calls of a tool need nothing of the SDK's reading of them.
func (s *Server) plain(name string) bool {
	t := s.tool(name)
	return t != nil && t.answer != nil || s.isWrite(name)
}

// noParams are the params of session.PlainCall.
type noParams struct{ mcp.ParamsBase }

// registerPlain makes session.PlainCall a method of the server. The middleware
// answers it: a handler of a custom method is not given what came with the call.
func (s *Server) registerPlain() error {
	return mcp.AddReceivingCustomMethod(s.mcp, session.PlainCall,
		func(context.Context, *mcp.ServerSession, *noParams) (*mcp.CallToolResult, error) {
			return nil, errs.New(errs.Internal, "the call came by no session")
		})
}

// plainCall runs a call that the session has read.
func (s *Server) plainCall(ctx context.Context, req mcp.Request) (mcp.Result, error) {
	call := session.CallOf(req.GetExtra())
	if call == nil {
		return nil, errs.New(errs.Internal, "the call came by no session")
	}
	if s.isWrite(call.Tool) {
		return s.runWrite(ctx, call, call.Args)
	}
	t := s.tool(call.Tool)
	if t == nil {
		return nil, s.unknownTool(call.Tool)
	}
	return s.run(ctx, *t, call, call.Args), nil
}

// unknownTool says what is wrong with a name. It tells a name that this
// server's settings left out from one that nobody has.
func (s *Server) unknownTool(name string) error {
	text := "there is no tool of this name"
	if _, ok := catalog.Lookup(name); ok || name == catalog.WriteTool && s.write == nil {
		text = "this server's profile, allow-list or toolsets leave this tool out; tools/list says which there are"
	} else if name == catalog.WriteTool {
		text = "this tool is not offered now; tools/list says what is"
	} else if near := s.nearest(name); related(strings.ToLower(name[:min(len(name), 128)]), near) {
		text += "; the nearest is " + near
	} else {
		text += "; tools/list says which there are"
	}
	return &session.Error{Code: jsonline.CodeInvalidParams, Text: text, Data: []byte(`{"class":"unknown_tool"}`)}
}

// related says whether two names have a word in common beyond those that all
// tools share: without one the nearest name is a guess that misleads.
func related(name, near string) bool {
	words := strings.Split(near, "_")
	for w := range strings.SplitSeq(name, "_") {
		if w == "pfsense" || w == "get" || len(w) < 3 {
			continue
		}
		for _, n := range words {
			if strings.HasPrefix(n, w) || strings.HasPrefix(w, n) {
				return true
			}
		}
	}
	return false
}

// handler runs the calls of one tool.
func (s *Server) handler(t entry) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		call := session.CallOf(req.Extra)
		if call == nil {
			return nil, errs.New(errs.Internal, "the call came by no session")
		}
		return s.run(ctx, t, call, req.Params.Arguments), nil
	}
}

// run carries one call from its first audit line to its last.
func (s *Server) run(ctx context.Context, t entry, call *session.Call, args []byte) *mcp.CallToolResult {
	peer, _ := rpc.PeerFrom(ctx)
	ctx = rpc.WithRequestID(ctx, call.RequestID)
	began := time.Now()
	record := logging.Record{
		Tool: t.name, CallerUID: peer.UID, Identity: s.cfg.Identity, Outcome: "invoked",
		RequestID: call.RequestID, Seq: s.auditSeq.Add(1),
	}
	logging.Audit(ctx, s.cfg.Log, record)

	ctx, cancel := context.WithTimeoutCause(ctx, callDeadline, errDeadline)
	answer, err := s.guard(ctx, t, pfrest.Caller{UID: peer.UID, Session: stateOf(ctx).number}, args, progress(call))
	cause := context.Cause(ctx)
	cancel()
	if err != nil {
		err = deadlineOr(err, cause)
	}

	record.Seq, record.Duration = s.auditSeq.Add(1), time.Since(began)
	record.Rows, record.Drift, record.Truncated = answer.Rows, answer.Drift, answer.Truncated
	record.Outcome = "succeeded"
	if err != nil {
		e := errs.Public(err)
		record.Outcome, record.Class, record.Code = "failed", e.Class, e.Code.String()
		if e.Code == errs.Internal {
			s.cfg.Log.LogAttrs(ctx, slog.LevelError, "a call failed inside", logging.Err(err),
				slog.String(logging.KeyTool, t.name), slog.String(logging.KeyRequestID, call.RequestID))
		}
	}
	logging.Audit(ctx, s.cfg.Log, record)
	s.counts.call(t.name, record)

	if err != nil {
		call.Reply(errorContent(err, call.RequestID))
		return &mcp.CallToolResult{Content: []mcp.Content{}, IsError: true}
	}
	call.Reply(content(answer.JSON))
	return &mcp.CallToolResult{Content: []mcp.Content{}}
}

// guard runs the tool; a panic in one call must not end everybody's sessions.
func (s *Server) guard(ctx context.Context, t entry, caller pfrest.Caller, args []byte, progress func(int)) (a Answer, err error) {
	defer func() {
		if r := recover(); r != nil {
			// The value may quote an outsider; where it happened does not.
			s.cfg.Log.LogAttrs(ctx, slog.LevelError, "a call panicked",
				slog.String(logging.KeyTool, t.name), slog.String(logging.KeyDetail, logging.Panicked()),
				slog.String(logging.KeyRequestID, rpc.RequestID(ctx)))
			a, err = Answer{}, errs.New(errs.Internal, "internal error").WithClass("panic")
		}
	}()
	return t.answer(ctx, caller, args, progress)
}

// deadlineOr replaces whatever a call failed with when its time was over, or
// its client had left.
func deadlineOr(err, cause error) error {
	switch {
	case errors.Is(cause, errDeadline):
		return errs.Wrap(err, errs.Expired, "the answer was not complete within 45 s, and the call was ended").WithClass("timeout").
			WithNext("ask for less: a smaller limit, or another tool; pfsense_mcp_info and mcpctl status show whether a daemon is missing")
	case cause != nil:
		return errs.Wrap(err, errs.Expired, "the call was cancelled").WithClass("cancelled")
	}
	return err
}

// progress returns what tells the client how far its call is; nil when it did
// not ask. A token is an integer or a text, as an id is.
func progress(call *session.Call) func(int) {
	meta, ok := call.Param("_meta")
	if !ok {
		return nil
	}
	token, ok := jsonline.Member(meta, "progressToken")
	if !ok {
		return nil
	}
	if _, ok := jsonline.ParseID(token); !ok {
		return nil
	}
	var last time.Time
	sent := -1
	return func(rows int) {
		if now := time.Now(); rows > sent && now.Sub(last) >= progressEvery {
			last, sent = now, rows
			call.Progress(token, rows, "rows read")
		}
	}
}

// content returns the members of a result: the same data as text, for hosts
// that show no structured content, and as it is.
func content(object []byte) []byte {
	out := make([]byte, 0, 2*len(object)+len(object)/4+128)
	out = append(out, `"content":[{"type":"text","text":`...)
	out = jsonline.AppendText(out, string(object))
	out = append(out, `}],"structuredContent":`...)
	return append(out, object...)
}

// errorContent returns the members of a failed result: what failed, the next
// step, and how to find it in the log.
func errorContent(err error, requestID string) []byte {
	e := errs.Public(err)
	text := e.Msg
	if e.Next != "" {
		text += "\nnext: " + e.Next
	}
	class := e.Class
	if class == "" {
		class = e.Code.String()
	}
	text += "\nerror class: " + class + ", request " + requestID
	out := append([]byte(nil), `"content":[{"type":"text","text":`...)
	return append(jsonline.AppendText(out, text), `}]`...)
}

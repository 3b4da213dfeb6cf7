// Package extras owns what a session has beside tools: resources, prompts and
// completion. mcpserver alone imports it.
//
// All three follow from the registered tools: they are made from the same list
// and never from a second one. It must never ask the appliance, show a text of
// it, or offer a plan over a tool that is not there. A value that a client
// writes becomes part of a plan only when it is one of ours or has a form that
// needs no escaping.
//
// The attacks it stops: a gate that holds for tools and is walked around through
// a resource, a prompt or a completion; appliance values leaking into a list of
// suggestions; and a prompt's argument that carries instructions of its own.
package extras

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/mcpserver/internal/session"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/guidance/v1"
)

// guidanceWithin bounds the question to guidanced: it sits on the same host and
// looks into a compiled table. The rest is for a host that is busy.
const guidanceWithin = 10 * time.Second

// Tool is a registered tool.
type Tool struct {
	Name, Desc string
	Row        *catalog.Tool // nil for a tool that is no row
	Input      []byte
}

// Lookup asks for the official pages of one capability. It is given no identity
// of the appliance: a resource needs none.
type Lookup func(ctx context.Context, capability string) (*guidancepb.LookupResponse, error)

// Set is what goes with a list of registered tools. It is made once and only
// read afterwards.
type Set struct {
	tools     []Tool // sorted by name
	prompts   []*catalog.Prompt
	templates []template
	names     map[catalog.NameSet][]string // sorted
	lookup    Lookup
}

// New returns what goes with the tools; without tools there is nothing.
func New(tools []Tool, lookup Lookup) *Set {
	s := &Set{tools: slices.Clone(tools), names: map[catalog.NameSet][]string{}, lookup: lookup}
	slices.SortFunc(s.tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	if len(s.tools) == 0 {
		return s
	}
	documented := catalog.ReadCapabilities() // those that the guidance tool takes
	for _, t := range s.tools {
		s.add(catalog.OfTools, t.Name)
		if t.Row == nil {
			continue
		}
		if slices.Contains(documented, t.Row.Capability) {
			s.add(catalog.OfCapability, t.Row.Capability)
		}
		s.add(catalog.OfModel, t.Row.Model.Upstream)
	}
	if s.has(catalog.APIGuidanceTool) {
		s.names[catalog.OfTopic] = catalog.Topics()
	}
	s.names[catalog.OfProfile] = catalog.Profiles()
	for set := range s.names {
		slices.Sort(s.names[set])
		s.names[set] = slices.Compact(s.names[set])
	}
	for _, p := range catalog.Prompts() {
		if !slices.ContainsFunc(p.Steps, func(st catalog.Step) bool { return !s.has(st.Tool) }) {
			s.prompts = append(s.prompts, p)
		}
	}
	s.templates = s.chooseTemplates()
	return s
}

func (s *Set) add(set catalog.NameSet, name string) {
	if name != "" {
		s.names[set] = append(s.names[set], name)
	}
}

// find returns the registered tool of this name; nil when there is none.
func (s *Set) find(name string) *Tool {
	i, ok := slices.BinarySearchFunc(s.tools, name, func(t Tool, name string) int { return cmp.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return &s.tools[i]
}

func (s *Set) has(name string) bool { return s.find(name) != nil }

// Options adds what the set offers to what a session is promised: that there are
// resources, prompts and completions, none of which is promised to change. now
// returns the set of the tools that are registered at the time of a request: s
// itself, or one that lacks a tool of it which no prompt uses.
func (s *Set) Options(o *mcp.ServerOptions, now func() *Set) {
	if len(s.tools) == 0 {
		return
	}
	o.CompletionHandler = func(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		return now().complete(ctx, req)
	}
	c := o.Capabilities
	c.Resources = &mcp.ResourceCapabilities{}
	c.Completions = &mcp.CompletionCapabilities{}
	if len(s.prompts) > 0 {
		c.Prompts = &mcp.PromptCapabilities{}
	}
}

// Register hands resources and prompts to the SDK; now is as for Options.
func (s *Set) Register(m *mcp.Server, now func() *Set) {
	if len(s.tools) == 0 {
		return
	}
	read := func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return now().read(ctx, req)
	}
	m.AddResource(&mcp.Resource{
		URI: toolsURI, Name: "tools", Title: "Tools of this server", MIMEType: markdown,
		Description: "Reference of the registered tools: what each shows and takes. pfsense://tools/{tool} has one tool's fields.",
	}, read)
	for _, t := range s.templates {
		m.AddResourceTemplate(&mcp.ResourceTemplate{
			URITemplate: t.uri(), Name: t.name, Title: t.title, Description: t.desc, MIMEType: markdown,
		}, read)
	}
	for _, p := range s.prompts {
		out := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Desc}
		for _, a := range p.Args {
			out.Arguments = append(out.Arguments, &mcp.PromptArgument{Name: a.Name, Description: argDesc(a), Required: a.Required})
		}
		m.AddPrompt(out, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return now().prompt(p)(ctx, req)
		})
	}
}

// Middleware answers in our words for a resource or prompt that is not there:
// the SDK's own would be lost on the way. What our own handlers refuse is in our
// words already.
func (s *Set) Middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if w, ok := errors.AsType[*jsonrpc.Error](err); !ok || w.Code != jsonline.CodeInvalidParams {
			return res, err
		}
		switch r := req.(type) {
		case *mcp.ReadResourceRequest:
			err = noResource(r)
		case *mcp.GetPromptRequest:
			err = invalid("there is no prompt of this name; prompts/list shows what there is")
		}
		return res, err
	}
}

// maxEcho bounds the URI that goes back to whoever asked for it.
const maxEcho = 256

// noResource says that there is no resource of a URI, and which URI that was.
func noResource(req *mcp.ReadResourceRequest) error {
	e := &session.Error{
		Code: jsonline.CodeInvalidParams,
		Text: "there is no resource of this URI; resources/list and resources/templates/list show what there is",
	}
	if req.Params != nil && len(req.Params.URI) <= maxEcho {
		e.Data = append(jsonline.AppendText([]byte(`{"uri":`), req.Params.URI), '}')
	}
	return e
}

// invalid is a protocol error about what a request names.
func invalid(text string) error {
	return &session.Error{Code: jsonline.CodeInvalidParams, Text: text}
}

// withID gives ctx the request id of the call, for guidanced's log.
func withID(ctx context.Context, extra *mcp.RequestExtra) context.Context {
	if call := session.CallOf(extra); call != nil {
		return rpc.WithRequestID(ctx, call.RequestID)
	}
	return ctx
}

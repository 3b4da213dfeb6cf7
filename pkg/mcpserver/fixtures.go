//go:build pfsense_fixtures

package mcpserver

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/pause"
	"pfsensemcp/pkg/pfrest"
)

// TestBuild says whether the program holds fixtures for tests.
const TestBuild = true

// The smallest picture and the shortest sound there are.
const (
	fixtureImage = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	fixtureSound = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

const noArgs = `{"type":"object","properties":{},"additionalProperties":false}`

// fixtures registers the tools, resources and prompts that the conformance suite
// calls by name. Those that can go the way of our own tools do: registration,
// audit, deadline and rendering are then under test too.
func (s *Server) fixtures() {
	s.fixture(entry{name: "test_simple_text", desc: "A text.", answer: func(context.Context, pfrest.Caller, []byte, func(int)) (Answer, error) {
		return Answer{JSON: []byte(`{"text":"This is a simple text response for testing."}`)}, nil
	}}, nil)
	s.fixture(entry{name: "test_error_handling", desc: "A failure.", answer: func(context.Context, pfrest.Caller, []byte, func(int)) (Answer, error) {
		return Answer{}, errs.New(errs.Unavailable, "This tool intentionally returns an error for testing")
	}}, nil)
	s.fixture(entry{name: "test_tool_with_progress", desc: "Three steps of progress.", answer: func(ctx context.Context, _ pfrest.Caller, _ []byte, progress func(int)) (Answer, error) {
		for _, n := range []int{0, 50, 100} {
			if progress != nil {
				progress(n)
			}
			_ = pause.For(ctx, progressEvery+50*time.Millisecond)
		}
		return Answer{JSON: []byte(`{"done":true}`)}, nil
	}}, nil)
	s.fixture(entry{name: "json_schema_2020_12_tool", desc: "A schema with much in it.", input: []byte(fixtureSchema), answer: func(context.Context, pfrest.Caller, []byte, func(int)) (Answer, error) {
		return Answer{JSON: []byte(`{}`)}, nil
	}}, nil)

	text := &mcp.TextContent{Text: "Multiple content types test:"}
	image := &mcp.ImageContent{Data: fixtureBytes(fixtureImage), MIMEType: "image/png"}
	embedded := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content."}}
	s.fixture(entry{name: "test_image_content", desc: "A picture."}, []mcp.Content{image})
	s.fixture(entry{name: "test_audio_content", desc: "A sound."}, []mcp.Content{&mcp.AudioContent{Data: fixtureBytes(fixtureSound), MIMEType: "audio/wav"}})
	s.fixture(entry{name: "test_embedded_resource", desc: "A resource."}, []mcp.Content{embedded})
	s.fixture(entry{name: "test_multiple_content_types", desc: "All of them."}, []mcp.Content{text, image, embedded})

	s.mcp.AddResource(&mcp.Resource{URI: "test://static-text", Name: "static-text", Description: "A text.", MIMEType: "text/plain"},
		fixtureResource(&mcp.ResourceContents{Text: "This is the content of the static text resource."}))
	s.mcp.AddResource(&mcp.Resource{URI: "test://static-binary", Name: "static-binary", Description: "Bytes.", MIMEType: "image/png"},
		fixtureResource(&mcp.ResourceContents{Blob: fixtureBytes(fixtureImage)}))
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", Description: "A family.", MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			text := append(jsonline.AppendText([]byte(`{"templateTest":true,"id":`), id), '}')
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: string(text)}}}, nil
		})

	s.mcp.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "A plan without arguments."},
		fixturePrompt(func(map[string]string) mcp.Content {
			return &mcp.TextContent{Text: "This is a simple prompt for testing."}
		}))
	s.mcp.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_arguments", Description: "A plan with arguments.", Arguments: []*mcp.PromptArgument{
		{Name: "arg1", Description: "the first", Required: true}, {Name: "arg2", Description: "the second", Required: true},
	}}, fixturePrompt(func(a map[string]string) mcp.Content {
		return &mcp.TextContent{Text: "Prompt with arguments: arg1='" + a["arg1"] + "', arg2='" + a["arg2"] + "'"}
	}))
	s.mcp.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "A plan with a resource.", Arguments: []*mcp.PromptArgument{
		{Name: "resourceUri", Description: "its URI", Required: true},
	}}, fixturePrompt(func(a map[string]string) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: a["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}}
	}))
	s.mcp.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "A plan with a picture."},
		fixturePrompt(func(map[string]string) mcp.Content { return image }))

	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CompleteRequest); ok && r.Params != nil && r.Params.Ref != nil && r.Params.Ref.Name == "test_prompt_with_arguments" {
				return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"test"}, Total: 1}}, nil
			}
			return next(ctx, method, req)
		}
	})
}

// fixture adds a tool to the list. Its answer is the entry's, or, given content,
// that: nothing of ours answers with pictures.
func (s *Server) fixture(t entry, answer []mcp.Content) {
	if t.input == nil {
		t.input = []byte(noArgs)
	}
	t.hints = hints(false)
	s.tools = append(s.tools, t)
	if err := s.enlist(&s.list, t.name, t.desc, t.input, nil, t.hints); err != nil {
		panic(err)
	}

	handler := s.handler(t)
	if answer != nil {
		handler = func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: answer}, nil
		}
	}
	s.mcp.AddTool(plainTool(t.name), handler)
}

func fixtureBytes(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func fixtureResource(c *mcp.ResourceContents) mcp.ResourceHandler {
	return func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		own := *c // the SDK fills in what is left out
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&own}}, nil
	}
}

func fixturePrompt(content func(args map[string]string) mcp.Content) mcp.PromptHandler {
	return func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: content(req.Params.Arguments)}}}, nil
	}
}

// fixtureSchema has what our own schemas may not have: the list must carry it
// unchanged all the same.
const fixtureSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},` +
	`"additionalProperties":false}`

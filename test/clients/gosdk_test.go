package clients

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/test/suite"
)

func TestTheGoClientHoldsAConversationOverStdioInBothEras(t *testing.T) {
	s := suite.New(t, suite.Options{})
	for _, version := range []string{"", "2025-11-25"} { // "": what the client picks by itself
		cmd := exec.Command(filepath.Join(s.Bin, "mcpd"), "stdio", "--socket", s.Socket("mcp"))
		cmd.SysProcAttr = s.ClientProc()
		client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
		cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatalf("%q: %v", version, err)
		}
		tools := 0
		for tool, err := range cs.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatalf("%q: %v", version, err)
			}
			tools++
			if tool.InputSchema == nil || tool.OutputSchema == nil {
				t.Errorf("%s has a schema missing", tool.Name)
			}
		}
		if tools != 97 {
			t.Errorf("%q: %d tools", version, tools)
		}
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "pfsense_get_firewall_rules", Arguments: map[string]any{"limit": 1}})
		if err != nil || res.IsError || res.StructuredContent.(map[string]any)["returned"] != 1.0 {
			t.Errorf("%q: %v %+v", version, err, res)
		}
		if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool", Arguments: map[string]any{}}); err == nil {
			t.Errorf("%q: a tool that is not there can be called", version)
		}
		page, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "pfsense://guidance/GATEWAY_READ"})
		if err != nil || !strings.Contains(page.Contents[0].Text, "- page: https://") {
			t.Errorf("%q: %v %+v", version, err, page)
		}
		prompts := 0
		for _, err := range cs.Prompts(t.Context(), nil) {
			if err != nil {
				t.Fatalf("%q: %v", version, err)
			}
			prompts++
		}
		if prompts != 6 {
			t.Errorf("%q: %d prompts", version, prompts)
		}
		got, err := cs.Complete(t.Context(), &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "how_to_read"}, Argument: mcp.CompleteParamsArgument{Name: "topic", Value: "sw"},
		})
		if err != nil || strings.Join(got.Completion.Values, " ") != "SWAGGER_AND_OPENAPI" {
			t.Errorf("%q: %v %+v", version, err, got)
		}
		if err := cs.Close(); err != nil {
			t.Errorf("%q: %v", version, err)
		}
	}
}

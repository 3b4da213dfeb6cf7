package transcript

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

// step is one call of a plan as a model reads it.
var step = regexp.MustCompile(`(?m)^\d+\. (\S+) (\{.*\})$`)

// The plans are played as a model would: the text of the prompt is read, and
// each call in it is made. Every one must be answered.
func TestEveryPlanOfAPromptCanBeFollowedToItsEnd(t *testing.T) {
	s := suite.New(t, suite.Options{Settings: "toolsets = [\"all\", \"extended\"]\n"})
	c := s.Shim()
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
	r, err := c.Call("prompts/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Prompts []struct {
			Name      string
			Arguments []struct{ Name string }
		}
	}
	if err := json.Unmarshal(r.Result, &list); err != nil || len(list.Prompts) < 7 {
		t.Fatalf("%v %s", err, r.Line)
	}
	values := map[string]string{
		"address": "192.0.2.10", "days": "30", "tunnel": "branch", "tool": "pfsense_get_gateways",
		"capability": "GATEWAY_READ", "model": "FirewallRule", "topic": "WORKING_WITH_OBJECT_IDS",
	}
	for _, p := range list.Prompts {
		args := map[string]string{}
		for _, a := range p.Arguments {
			args[a.Name] = values[a.Name]
		}
		r, err := c.Call("prompts/get", map[string]any{"name": p.Name, "arguments": args})
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		var got struct {
			Messages []struct{ Content struct{ Text string } }
		}
		if err := json.Unmarshal(r.Result, &got); err != nil || len(got.Messages) != 1 {
			t.Fatalf("%s: %v", p.Name, err)
		}
		steps := step.FindAllStringSubmatch(got.Messages[0].Content.Text, -1)
		if len(steps) == 0 {
			t.Errorf("%s has no step: %s", p.Name, got.Messages[0].Content.Text)
		}
		for _, st := range steps {
			res, err := c.Tool(st[1], json.RawMessage(st[2]))
			// docfetchd has no network here: what it cannot fetch is its to say.
			if err != nil || res.IsError && !strings.Contains(res.Text(), "docfetchd") {
				t.Errorf("%s: %s %s: %v %s", p.Name, st[1], st[2], err, res.Text())
			}
		}
	}
}

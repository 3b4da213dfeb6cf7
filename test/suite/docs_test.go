package suite

import (
	"encoding/json"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/fakepf"
)

// guidance is what the story reads of the tool's answer.
type guidance struct {
	Guidance struct {
		Evidence  []struct{ Provenance, Freshness string }
		Conflicts []string
		Notes     []string `json:"applicability_notes"`
	}
}

func TestAPIGuidanceGoesOnWithoutTheDocumentation(t *testing.T) {
	s := New(t, Options{Appliance: fakepf.Options{}})
	c := s.Shim()
	begin(t, c)
	ask := func(args map[string]any) (g guidance) {
		t.Helper()
		r, err := c.Tool(catalog.APIGuidanceTool, args)
		if err != nil || r.IsError {
			t.Fatalf("%v: %v %s", args, err, r.Text())
		}
		if err := json.Unmarshal(r.Structured, &g); err != nil {
			t.Fatal(err)
		}
		return g
	}
	s.Kill("docfetchd")
	for want, args := range map[string]map[string]any{
		"LIVE_APPLIANCE_SCHEMA":                  {"query_mode": "endpoint", "endpoint_path": "/api/v2/firewall/aliases", "endpoint_method": "GET"},
		"LIVE_APPLIANCE_SCHEMA ":                 {"query_mode": "model", "model_name": "FirewallAlias"},
		"PROJECT_AUTHORED LIVE_APPLIANCE_SCHEMA": {"query_mode": "tool", "tool_name": "pfsense_get_firewall_aliases"},
	} {
		g := ask(args)
		var got []string
		for _, e := range g.Guidance.Evidence {
			got = append(got, e.Provenance)
			if e.Freshness != "fresh" && e.Freshness != "not_applicable" {
				t.Errorf("%v: %s is %s", args, e.Provenance, e.Freshness)
			}
		}
		if strings.Join(got, " ") != strings.TrimSpace(want) || len(g.Guidance.Conflicts) != 0 {
			t.Errorf("%v: %v, conflicts %q", args, got, g.Guidance.Conflicts)
		}
		if notes := strings.Join(g.Guidance.Notes, "|"); !strings.Contains(notes, "docfetchd is not reachable") {
			t.Errorf("%v: what is missing is not said: %q", args, notes)
		}
	}
	r, err := c.Tool(catalog.APIGuidanceTool, map[string]any{"query_mode": "topic", "topic": "ENDPOINT_TYPES"})
	if err != nil || !r.IsError || !strings.Contains(r.Text(), "docfetchd") {
		t.Errorf("a topic without docfetchd: %v %s", err, r.Text())
	}
	if r, err := c.Tool("pfsense_get_firewall_aliases", map[string]any{}); err != nil || r.IsError {
		t.Errorf("%v %s", err, r.Text())
	}
	// The appliance's document was read once for all of it, and without the key.
	if n := len(s.Appliance.RequestsTo("/api/v2/schema/openapi")); n != 1 {
		t.Errorf("the document was read %d times", n)
	}
	for _, q := range s.Appliance.RequestsTo("/api/v2/schema/openapi") {
		for name := range q.Header {
			if strings.EqualFold(name, "X-API-Key") || strings.EqualFold(name, "Authorization") {
				t.Errorf("%s was sent for a public document", name)
			}
		}
	}
}

package extras

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/proto/guidance/v1"
)

// full is a set over every tool that can be registered.
func full(lookup Lookup) *Set {
	var tools []Tool
	for _, r := range catalog.Tools() {
		tools = append(tools, Tool{Name: r.Name, Desc: r.Desc, Row: r, Input: []byte(`{"type":"object"}`)})
	}
	for _, name := range catalog.GuidanceTools() {
		tools = append(tools, Tool{Name: name, Desc: "d", Input: []byte(`{"type":"object"}`)})
	}
	return New(tools, lookup)
}

func readURI(t *testing.T, s *Set, uri string) string {
	t.Helper()
	res, err := s.read(t.Context(), &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: uri}})
	if err != nil {
		t.Fatal(err)
	}
	return res.Contents[0].Text
}

func TestGuidanceIsAskedWithoutTheApplianceAndItsLossIsNamed(t *testing.T) {
	var asked string
	answer := &guidancepb.LookupResponse{
		Disclaimer: "the disclaimer",
		Guidance:   []*guidancepb.Item{{Title: "a page", ContentExcerpt: "an excerpt", CanonicalUrl: "a link", Applicability: "version_unconfirmed"}},
	}
	var fail error
	s := full(func(ctx context.Context, capability string) (*guidancepb.LookupResponse, error) {
		if d, ok := ctx.Deadline(); !ok || time.Until(d) > guidanceWithin {
			t.Error("the question has no deadline")
		}
		asked = capability
		return answer, fail
	})
	for _, tt := range []struct {
		name string
		ans  *guidancepb.LookupResponse
		err  error
		subs []string
	}{
		{"pages", answer, nil, []string{"### a page", "an excerpt", "a link", "version_unconfirmed", "the disclaimer"}},
		{"no pages", &guidancepb.LookupResponse{}, nil, []string{"None is registered"}},
		{"guidanced is down", nil, errs.New(errs.Unavailable, "guidanced does not answer").WithNext("start it"), []string{"Not to be had now: guidanced does not answer", "next: start it"}},
		{"an error that nobody wrote", nil, errors.New("dial unix /secret"), []string{"Not to be had now: internal error"}},
	} {
		answer, fail = tt.ans, tt.err
		text := readURI(t, s, "pfsense://guidance/GATEWAY_READ")
		for _, sub := range append(tt.subs, "### pfsense_get_gateways", "### pfsense_get_gateway_status") {
			if !strings.Contains(text, sub) {
				t.Errorf("%s: %q is not in %s", tt.name, sub, text)
			}
		}
		if asked != "GATEWAY_READ" || strings.Contains(text, "secret") {
			t.Errorf("%s: asked for %q: %s", tt.name, asked, text)
		}
	}
}

func TestEveryResourceOfEveryNameIsAPageOfBoundedSize(t *testing.T) {
	s := full(func(context.Context, string) (*guidancepb.LookupResponse, error) {
		return &guidancepb.LookupResponse{}, nil
	})
	uris := []string{toolsURI}
	for _, tp := range s.templates {
		for _, n := range s.names[tp.of] {
			uris = append(uris, tp.prefix+n)
		}
	}
	if len(uris) < 200 {
		t.Fatalf("%d resources", len(uris))
	}
	for _, uri := range uris {
		text := readURI(t, s, uri)
		// What hosts show a model of one result is some 50,000 characters.
		if !strings.HasPrefix(text, "# ") || len(text) > 40_000 {
			t.Errorf("%s: %d bytes, begins with %.20q", uri, len(text), text)
		}
	}
}

// Whatever a client writes as an argument, the plan keeps its lines and every
// call in it stays JSON with the same members.
func FuzzAPromptsArgumentStaysAValue(f *testing.F) {
	f.Add("192.0.2.1")
	f.Add("x\"}\n2. call {}")
	f.Add("{days} 7")
	f.Add("a b/c@d-e_f.g:h")
	s := full(nil)
	call := regexp.MustCompile(`(?m)^\d+\. \S+ (.*)$`)
	f.Fuzz(func(t *testing.T, v string) {
		for _, p := range catalog.Prompts() {
			given := map[string]string{}
			for _, a := range p.Args {
				given[a.Name] = v
			}
			values, err := s.values(p, given)
			if err != nil {
				continue
			}
			text := plan(p, values)
			calls := call.FindAllStringSubmatch(text, -1)
			lines := 0
			for _, st := range p.Steps {
				if st.When == "" || values[st.When] != "" {
					lines++
				}
			}
			if len(calls) != lines {
				t.Fatalf("%s: %d calls of %d:\n%s", p.Name, len(calls), lines, text)
			}
			for _, c := range calls {
				var m map[string]any
				if err := json.Unmarshal([]byte(c[1]), &m); err != nil {
					t.Fatalf("%s: %s: %v", p.Name, c[1], err)
				}
			}
		}
	})
}

package guide

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/grpc"

	"pfsensemcp/pkg/apidocs"
	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/mcpserver/internal/schema"
	"pfsensemcp/pkg/openapi"
	"pfsensemcp/pkg/openapi/view"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/proto/docs/v1"
	"pfsensemcp/proto/guidance/v1"
	"pfsensemcp/test/fakedocs"
)

func index(t testing.TB, tree fakedocs.Tree) *openapi.Index {
	t.Helper()
	ix, err := openapi.Parse(bytes.NewReader(fakedocs.Encode(tree)))
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// docs is a docfetchd with a document, or one that is down.
type docs struct {
	docspb.DocsClient
	ix    *openapi.Index
	down  error
	asked int
}

func (d *docs) source() *docspb.Source {
	return &docspb.Source{Url: "u", Freshness: "fresh", FetchedAt: 1796030500, DocumentHash: d.ix.Hash, Version: d.ix.Version}
}

func (d *docs) Endpoint(_ context.Context, r *docspb.EndpointRequest, _ ...grpc.CallOption) (*docspb.EndpointResponse, error) {
	d.asked++
	if d.down != nil {
		return nil, d.down
	}
	out := view.Endpoint(d.ix, r.GetPath(), r.GetVerb())
	out.Source = d.source()
	return out, nil
}

func (d *docs) Model(_ context.Context, r *docspb.ModelRequest, _ ...grpc.CallOption) (*docspb.ModelResponse, error) {
	d.asked++
	if d.down != nil {
		return nil, d.down
	}
	out := view.Model(d.ix, r)
	out.Source = d.source()
	return out, nil
}

func (d *docs) Topic(_ context.Context, r *docspb.TopicRequest, _ ...grpc.CallOption) (*docspb.TopicResponse, error) {
	d.asked++
	if d.down != nil {
		return nil, d.down
	}
	return &docspb.TopicResponse{Source: d.source(), Topic: r.GetTopic(), Excerpt: "An excerpt."}, nil
}

// guided is a guidanced, or one that is down.
type guided struct {
	guidancepb.GuidanceClient
	down  error
	asked int
}

func (g *guided) ToolGuidance(_ context.Context, r *guidancepb.ToolGuidanceRequest, _ ...grpc.CallOption) (*guidancepb.ToolGuidanceResponse, error) {
	g.asked++
	if g.down != nil {
		return nil, g.down
	}
	return &guidancepb.ToolGuidanceResponse{ToolName: r.GetToolName(), ResultKind: "configuration", Interpretation: "What it means."}, nil
}

// appliance gives a document, or fails.
type appliance struct {
	doc   []byte
	err   error
	asked int
}

func (a *appliance) Schema(context.Context, pfrest.Caller) (io.ReadCloser, error) {
	a.asked++
	if a.err != nil {
		return nil, a.err
	}
	return io.NopCloser(bytes.NewReader(a.doc)), nil
}

// three are the sources of one answer.
type three struct {
	docs *docs
	own  *guided
	app  *appliance
	tool apiTool
}

func sources(t testing.TB) *three {
	x := &three{docs: &docs{ix: index(t, fakedocs.Small())}, own: &guided{}, app: &appliance{doc: fakedocs.Encode(fakedocs.Small())}}
	x.tool = apiTool{guidance: x.own, docs: x.docs, doc: schema.New(x.app)}
	return x
}

// ask asks and holds the answer against the tool's own schema.
func (x *three) ask(t testing.TB, args string) apiResult {
	t.Helper()
	a, err := x.tool.answer(t.Context(), pfrest.Caller{UID: 61010}, []byte(args), nil)
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(apiOutput), &s); err != nil {
		t.Fatal(err)
	}
	checked, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(a.JSON, &value); err != nil {
		t.Fatal(err)
	}
	if err := checked.Validate(value); err != nil {
		t.Errorf("%v in %s", err, a.JSON)
	}
	var out apiResult
	if err := json.Unmarshal(a.JSON, &out, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if out.Disclaimer != apidocs.Disclaimer || a.Rows != len(out.Guidance.Evidence) || bytes.IndexByte(a.JSON, '\n') >= 0 {
		t.Errorf("%s", a.JSON)
	}
	return out
}

func (x *three) asked() int { return x.docs.asked + x.own.asked + x.app.asked }

func provenances(r apiResult) string {
	var out []string
	for _, e := range r.Guidance.Evidence {
		out = append(out, e.Provenance)
	}
	return strings.Join(out, " ")
}

const (
	endpointArgs = `{"query_mode":"endpoint","endpoint_path":"/api/v2/firewall/aliases","endpoint_method":"get"}`
	modelArgs    = `{"query_mode":"model","model_name":"FirewallAlias","offset":1,"name_contains":"E"}`
	toolArgs     = `{"query_mode":"tool","tool_name":"pfsense_get_firewall_aliases"}`
	topicArgs    = `{"query_mode":"topic","topic":"ENDPOINT_TYPES"}`
)

func TestEachModeShowsItsSources(t *testing.T) {
	x := sources(t)
	for args, want := range map[string]struct {
		provenances string
		query       map[string]string
	}{
		endpointArgs: {"PFREST_UPSTREAM LIVE_APPLIANCE_SCHEMA", map[string]string{"query_mode": "endpoint", "endpoint_path": "/api/v2/firewall/aliases", "endpoint_method": "GET"}},
		modelArgs:    {"PFREST_UPSTREAM LIVE_APPLIANCE_SCHEMA", map[string]string{"query_mode": "model", "model_name": "FirewallAlias", "offset": "1", "name_contains": "E"}},
		toolArgs:     {"PROJECT_AUTHORED PFREST_UPSTREAM LIVE_APPLIANCE_SCHEMA", map[string]string{"query_mode": "tool", "tool_name": "pfsense_get_firewall_aliases"}},
		topicArgs:    {"PFREST_UPSTREAM", map[string]string{"query_mode": "topic", "topic": "ENDPOINT_TYPES"}},
	} {
		r := x.ask(t, args)
		if d := cmp.Diff(want.query, r.Guidance.Query); provenances(r) != want.provenances || d != "" || len(r.Guidance.Conflicts) != 0 {
			t.Errorf("%s: %s, conflicts %q, query %s", args, provenances(r), r.Guidance.Conflicts, d)
		}
	}
	if x.app.asked != 1 {
		t.Errorf("the appliance's document was read %d times", x.app.asked)
	}
	r := x.ask(t, `{"query_mode":"tool","tool_name":"pfsense_mcp_info"}`)
	if provenances(r) != "PROJECT_AUTHORED" || len(r.Guidance.Notes) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestADaemonThatIsDownIsANoteAndTheOthersAnswer(t *testing.T) {
	down := errs.New(errs.Unavailable, "docfetchd is not reachable").WithClass("service").WithNext("start it")
	x := sources(t)
	x.docs.down = down
	for args, want := range map[string]string{
		endpointArgs: "LIVE_APPLIANCE_SCHEMA", modelArgs: "LIVE_APPLIANCE_SCHEMA", toolArgs: "PROJECT_AUTHORED LIVE_APPLIANCE_SCHEMA",
	} {
		r := x.ask(t, args)
		if provenances(r) != want || len(r.Guidance.Conflicts) != 0 || !strings.Contains(strings.Join(r.Guidance.Notes, "|"), "docfetchd is not reachable") {
			t.Errorf("%s: %s, %+v", args, provenances(r), r.Guidance)
		}
	}
	if _, err := x.tool.answer(t.Context(), pfrest.Caller{}, []byte(topicArgs), nil); !errors.Is(err, down) {
		t.Errorf("a topic without its one source: %v", err)
	}
	// All three are out: still an answer, which says so.
	x = sources(t)
	x.docs.down, x.own.down = down, errs.New(errs.Unavailable, "guidanced is not reachable")
	x.app.err = errs.New(errs.Unavailable, "the appliance does not answer").WithClass("connection")
	r := x.ask(t, toolArgs)
	for _, want := range []string{"docfetchd is not reachable", "guidanced is not reachable", "the appliance does not answer"} {
		if !strings.Contains(strings.Join(r.Guidance.Notes, "|"), want) {
			t.Errorf("%q is not said in %q", want, r.Guidance.Notes)
		}
	}
	if len(r.Guidance.Evidence) != 0 || len(r.Guidance.Conflicts) != 0 {
		t.Errorf("%+v", r.Guidance)
	}
	// Without a document of the appliance the published one answers.
	x = sources(t)
	x.tool.doc = nil
	if r := x.ask(t, endpointArgs); provenances(r) != "PFREST_UPSTREAM" || len(r.Guidance.Conflicts) != 0 {
		t.Errorf("%+v", r.Guidance)
	}
}

func TestConflictsReachTheAnswer(t *testing.T) {
	x := sources(t)
	tree := fakedocs.Small()
	delete(fakedocs.At(tree, "components", "schemas", "FirewallAlias", "properties"), "detail")
	x.docs.ix = index(t, tree)
	r := x.ask(t, `{"query_mode":"model","model_name":"FirewallAlias"}`)
	if len(r.Guidance.Conflicts) != 1 || !strings.Contains(r.Guidance.Conflicts[0], "detail") {
		t.Errorf("%q", r.Guidance.Conflicts)
	}
}

func TestWhatCannotBeLookedUpIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	x := sources(t)
	for args, want := range map[string]string{
		``:                            "the arguments are",
		`{}`:                          "query_mode is",
		`{"query_mode":"Tool"}`:       "query_mode is",
		`{"query_mode":"tool"}`:       "needs tool_name",
		`{"query_mode":"tool","x":1}`: "the arguments are",
		`{"query_mode":"tool","tool_name":"pfsense_get_firewall_rule"}`:                                     "no READ tool has the name",
		`{"query_mode":"tool","tool_name":"pfsense_get_api_guidance"}`:                                      "no READ tool has the name",
		`{"query_mode":"tool","tool_name":"pfsense_get_firewall_rules","topic":"ENDPOINT_TYPES"}`:           "does not take topic",
		`{"query_mode":"tool","tool_name":""}`:                                                              "1 to 300",
		`{"query_mode":"tool","tool_name":"` + strings.Repeat("x", 301) + `"}`:                              "1 to 300",
		`{"query_mode":"endpoint","endpoint_path":"/api/v2/x"}`:                                             "needs endpoint_method",
		`{"query_mode":"endpoint","endpoint_method":"GET"}`:                                                 "needs endpoint_path",
		`{"query_mode":"endpoint","endpoint_path":"/api/v2/x","endpoint_method":"HEAD"}`:                    "endpoint_method is",
		`{"query_mode":"endpoint","endpoint_path":"/api/v2/x?y=z","endpoint_method":"GET"}`:                 "endpoint_path is",
		`{"query_mode":"endpoint","endpoint_path":"https://evil.example/api/v2/x","endpoint_method":"GET"}`: "endpoint_path is",
		`{"query_mode":"endpoint","endpoint_path":"/api/v2/X","endpoint_method":"GET"}`:                     "endpoint_path is",
		`{"query_mode":"endpoint","endpoint_path":"/api/v2/x","endpoint_method":"GET","offset":0}`:          "offset",
		`{"query_mode":"model"}`:                                                                    "needs model_name",
		`{"query_mode":"model","model_name":"a/b"}`:                                                 "model_name is",
		`{"query_mode":"model","model_name":"` + strings.Repeat("x", 65) + `"}`:                     "model_name is",
		`{"query_mode":"model","model_name":"A","offset":10001}`:                                    "offset",
		`{"query_mode":"model","model_name":"A","offset":-1}`:                                       "the arguments are",
		`{"query_mode":"model","model_name":"A","name_contains":"` + strings.Repeat("x", 65) + `"}`: "name_contains",
		`{"query_mode":"model","model_name":"A","tool_name":"pfsense_get_firewall_rules"}`:          "does not take tool_name",
		`{"query_mode":"topic"}`:                                                                    "needs topic",
		`{"query_mode":"topic","topic":"INSTALL_AND_CONFIG"}`:                                       "no such topic",
		`{"query_mode":"topic","topic":"endpoint_types"}`:                                           "no such topic",
		`{"query_mode":"topic","topic":"../api-docs/x"}`:                                            "no such topic",
		`{"query_mode":"topic","topic":"ENDPOINT_TYPES","name_contains":"x"}`:                       "does not take name_contains",
	} {
		_, err := x.tool.answer(t.Context(), pfrest.Caller{}, []byte(args), nil)
		if errs.CodeOf(err) != errs.Invalid || !strings.Contains(err.Error(), want) || errs.Public(err).Next == "" && want != "" {
			t.Errorf("%s: %v", args, err)
		}
	}
	if x.asked() != 0 {
		t.Errorf("%d questions were asked", x.asked())
	}
}

func TestTheToolIsDescribedWithinItsBounds(t *testing.T) {
	if len(apiDesc) > 250 {
		t.Errorf("the description has %d characters", len(apiDesc))
	}
	for _, topic := range catalog.Topics() {
		if _, err := parseAPIArgs([]byte(`{"query_mode":"topic","topic":"` + topic + `"}`)); err != nil {
			t.Errorf("%s: %v", topic, err)
		}
	}
	for mode, m := range modes {
		if _, err := parseAPIArgs([]byte(m.example)); err != nil {
			t.Errorf("the example of %s: %v", mode, err)
		}
	}
}

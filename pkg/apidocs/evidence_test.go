package apidocs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pfsensemcp/pkg/openapi"
	"pfsensemcp/pkg/openapi/view"
	docspb "pfsensemcp/proto/docs/v1"
	guidancepb "pfsensemcp/proto/guidance/v1"
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

// source is where an index comes from.
func source(ix *openapi.Index, freshness string) *docspb.Source {
	return &docspb.Source{Url: "u", Freshness: freshness, FetchedAt: 1796030500, DocumentHash: ix.Hash, Version: ix.Version}
}

func endpoint(ix *openapi.Index, freshness, path, verb string) Side[*docspb.EndpointResponse] {
	r := view.Endpoint(ix, path, verb)
	r.Source = source(ix, freshness)
	return Side[*docspb.EndpointResponse]{Answer: r}
}

func modelOf(ix *openapi.Index, req *docspb.ModelRequest) Side[*docspb.ModelResponse] {
	r := view.Model(ix, req)
	r.Source = source(ix, Fresh)
	return Side[*docspb.ModelResponse]{Answer: r}
}

const path = "/api/v2/firewall/alias"

var asked = map[string]string{"query_mode": "endpoint", "endpoint_path": path, "endpoint_method": "GET"}

// wellFormed holds every bound of an answer.
func wellFormed(t testing.TB, g Guidance) {
	t.Helper()
	if len(g.Evidence) > MaxEvidence || len(g.Conflicts) > MaxConflicts || len(g.Notes) > MaxNotes || g.Evidence == nil || g.Conflicts == nil || g.Notes == nil {
		t.Errorf("%d records, %d conflicts, %d notes", len(g.Evidence), len(g.Conflicts), len(g.Notes))
	}
	for _, e := range g.Evidence {
		if len(e.Facts) > MaxFacts || len(e.Caveats) > MaxCaveats || utf8.RuneCountInString(e.Source) > MaxSource || utf8.RuneCountInString(e.Subject) > MaxSubject || len(e.EvidenceHash) != 64 {
			t.Errorf("a record is out of bounds: %+v", e)
		}
		for _, f := range e.Facts {
			if utf8.RuneCountInString(f) > MaxFact || f == "" {
				t.Errorf("a fact of %d characters", utf8.RuneCountInString(f))
			}
		}
		for _, c := range e.Caveats {
			if utf8.RuneCountInString(c) > MaxCaveat {
				t.Errorf("a caveat of %d characters", utf8.RuneCountInString(c))
			}
		}
	}
}

func one(t testing.TB, lines []string, part string) {
	t.Helper()
	n := 0
	for _, l := range lines {
		if strings.Contains(l, part) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%q stands in %d of %q", part, n, lines)
	}
}

func provenances(g Guidance) string {
	var out []string
	for _, e := range g.Evidence {
		out = append(out, e.Provenance)
	}
	return strings.Join(out, " ")
}

func TestAgreementIsANoteAndNoConflict(t *testing.T) {
	ix := index(t, fakedocs.Small())
	g := Endpoint(asked, endpoint(ix, Fresh, path, "GET"), endpoint(ix, Fresh, path, "GET"))
	wellFormed(t, g)
	if provenances(g) != "PFREST_UPSTREAM LIVE_APPLIANCE_SCHEMA" || len(g.Conflicts) != 0 {
		t.Errorf("%s, %q", provenances(g), g.Conflicts)
	}
	one(t, g.Notes, "is in both documents")
	up := g.Evidence[0]
	if *up.Version != fakedocs.Version || *up.FetchedAt != "2026-11-30T09:21:40Z" || *up.DocumentHash != ix.Hash || up.EvidenceHash == ix.Hash || up.Freshness != Fresh {
		t.Errorf("%+v", up)
	}
	one(t, up.Facts, "allowed privileges, one of them is enough: page-all, api-v2-firewall-alias-get")
	one(t, up.Facts, "parameter id (query, integer or string, required): Which object.")
}

func TestWhatOneSideAloneHasIsAConflictAndTheApplianceRules(t *testing.T) {
	whole, less := index(t, fakedocs.Small()), fakedocs.Small()
	delete(fakedocs.At(less, "paths"), path)
	part := index(t, less)
	g := Endpoint(asked, endpoint(whole, Fresh, path, "GET"), endpoint(part, Fresh, path, "GET"))
	wellFormed(t, g)
	one(t, g.Conflicts, "for this appliance its own document rules, it is not there")
	g = Endpoint(asked, endpoint(part, Fresh, path, "GET"), endpoint(whole, Fresh, path, "GET"))
	one(t, g.Conflicts, "for this appliance its own document rules, it is there")
	// The appliance alone has something to say: it says all of it.
	one(t, g.Evidence[1].Facts, "parameter id")
	g = Endpoint(asked, endpoint(part, Fresh, path, "GET"), endpoint(part, Fresh, path, "GET"))
	if len(g.Conflicts) != 0 {
		t.Errorf("%q", g.Conflicts)
	}
	one(t, g.Notes, "is in neither document")
	g = Endpoint(asked, endpoint(whole, Fresh, path, "PUT"), endpoint(whole, Fresh, path, "PUT"))
	one(t, g.Evidence[0].Facts, "the path has DELETE, GET, PATCH, POST")
}

func TestASourceThatIsOutIsANoteAndNoConflict(t *testing.T) {
	ix := index(t, fakedocs.Small())
	good := endpoint(ix, Fresh, path, "GET")
	out := []Side[*docspb.EndpointResponse]{
		{Problem: "docfetchd does not answer"},
		{Answer: &docspb.EndpointResponse{Source: &docspb.Source{Freshness: "upstream_unavailable", Failure: "network"}}},
		{Answer: &docspb.EndpointResponse{Source: &docspb.Source{Freshness: "corrupt", Failure: "corrupt"}}},
		{Answer: &docspb.EndpointResponse{Source: &docspb.Source{Freshness: "miss"}}},
		{Answer: &docspb.EndpointResponse{}},
	}
	for i, o := range out {
		g := Endpoint(asked, o, good)
		wellFormed(t, g)
		if len(g.Conflicts) != 0 || provenances(g) != LiveApplianceSchema {
			t.Errorf("%d: %s, %q", i, provenances(g), g.Conflicts)
		}
		one(t, g.Notes, "the published documentation is not compared: ")
		one(t, g.Evidence[0].Facts, "parameter id") // the appliance says it all
		g = Endpoint(asked, good, o)
		if len(g.Conflicts) != 0 || provenances(g) != PfRESTUpstream {
			t.Errorf("%d: %s, %q", i, provenances(g), g.Conflicts)
		}
		one(t, g.Notes, "the appliance's own document is not compared: ")
		g = Endpoint(asked, o, o)
		if len(g.Conflicts) != 0 || len(g.Evidence) != 0 || len(g.Notes) != 2 {
			t.Errorf("%d: %+v", i, g)
		}
	}
	g := Endpoint(asked, out[1], good)
	one(t, g.Notes, "it cannot be had now (network)")
}

func TestAStaleCopyIsLabelled(t *testing.T) {
	ix := index(t, fakedocs.Small())
	g := Endpoint(asked, endpoint(ix, Stale, path, "GET"), endpoint(ix, Fresh, path, "GET"))
	if g.Evidence[0].Freshness != Stale || g.Evidence[1].Freshness != Fresh {
		t.Errorf("%+v", g.Evidence)
	}
	one(t, g.Evidence[0].Caveats, "older copy")
}

func TestDifferencesAreStatedBesideBothSources(t *testing.T) {
	theirs := fakedocs.Small()
	op := fakedocs.At(theirs, "paths", path, "get")
	op["description"] = fakedocs.Details("Other words.", "Plural", "Other", "page-all, api-v2-other", "pfSense-pkg-x", "Yes")
	op["operationId"] = "another"
	fakedocs.At(theirs, "info")["version"] = "v2.11.0"
	g := Endpoint(asked, endpoint(index(t, theirs), Fresh, path, "GET"), endpoint(index(t, fakedocs.Small()), Fresh, path, "GET"))
	wellFormed(t, g)
	for _, part := range []string{"operation id:", "endpoint type:", "associated model:", "allowed privileges:", "applies immediately:"} {
		one(t, g.Conflicts, part)
	}
	for _, c := range g.Conflicts {
		if !strings.HasSuffix(c, "for this appliance its own document rules") {
			t.Errorf("nobody rules in %q", c)
		}
	}
	one(t, g.Notes, "is of version v2.11.0, the appliance's own document of version v2.10.0")
	// Words that differ are no contradiction; what one side does not state is none either.
	if len(g.Conflicts) != 5 {
		t.Errorf("%q", g.Conflicts)
	}
}

func TestAModelIsComparedFieldByField(t *testing.T) {
	theirs := fakedocs.Small()
	props := fakedocs.At(theirs, "components", "schemas", "FirewallAlias", "properties")
	props["named"] = props["name"]
	delete(props, "name")
	fakedocs.At(props, "type")["enum"] = []any{"host", "port"}
	fakedocs.At(props, "descr")["nullable"] = true
	q := map[string]string{"query_mode": "model", "model_name": "FirewallAlias"}
	req := &docspb.ModelRequest{Name: "FirewallAlias"}
	g := Model(q, 0, modelOf(index(t, theirs), req), modelOf(index(t, fakedocs.Small()), req))
	wellFormed(t, g)
	one(t, g.Conflicts, "fields in the published documentation alone: named; for this appliance its own document rules, they are not there")
	one(t, g.Conflicts, "fields in the appliance's own document alone: name; for this appliance its own document rules, they are there")
	one(t, g.Conflicts, "values of type: the published documentation says host, port")
	one(t, g.Conflicts, "whether descr is nullable: the published documentation says yes")
	if len(g.Conflicts) != 4 {
		t.Errorf("%q", g.Conflicts)
	}
	one(t, g.Evidence[0].Facts, "model FirewallAlias has 5 fields; 1 to 5 are shown, the last of them")
	one(t, g.Evidence[0].Facts, "outside the model: id (integer)")
	one(t, g.Evidence[0].Facts, "type: string, required on creation, at most 1024 characters; one of host, port. What its entries are.")
	one(t, g.Evidence[1].Facts, "is there, with 5 fields")
}

func TestALargeModelIsReadInPartsWithoutALoss(t *testing.T) {
	tree := fakedocs.Small()
	fakedocs.Large(tree, "Large", 297)
	// Some fields take two facts.
	for i := range 40 {
		f := fakedocs.At(tree, "components", "schemas", "Large", "properties", fmt.Sprintf("option_%03d", i*7))
		f["enum"] = []any{strings.Repeat("a", 60), strings.Repeat("b", 60), strings.Repeat("c", 60), strings.Repeat("d", 60), strings.Repeat("e", 60)}
	}
	ix := index(t, tree)
	q := map[string]string{"query_mode": "model", "model_name": "Large"}
	seen, calls := map[string]bool{}, 0
	for offset := uint32(0); offset < 297; calls++ {
		req := &docspb.ModelRequest{Name: "Large", Offset: offset}
		g := Model(q, offset, modelOf(ix, req), modelOf(ix, req))
		wellFormed(t, g)
		if calls > 30 || len(g.Evidence[0].Caveats) != 0 {
			t.Fatalf("after %d calls: %q", calls, g.Evidence[0].Caveats)
		}
		for _, f := range g.Evidence[0].Facts[2:] {
			if name, _, ok := strings.Cut(f, ": string"); ok {
				seen[name] = true
			}
		}
		var from, to uint32
		head := g.Evidence[0].Facts[0]
		if _, err := fmt.Sscanf(head, "model Large has 297 fields; %d to %d are shown", &from, &to); err != nil || from != offset+1 {
			t.Fatalf("%q: %v", head, err)
		}
		if to < 297 && !strings.Contains(head, fmt.Sprintf("go on with offset %d", to)) {
			t.Fatalf("%q", head)
		}
		offset = to
	}
	if len(seen) != 297 {
		t.Errorf("%d fields were seen in %d calls", len(seen), calls)
	}
}

func TestATopicIsPartedIntoFacts(t *testing.T) {
	q := map[string]string{"query_mode": "topic", "topic": "ENDPOINT_TYPES"}
	text := strings.TrimSpace(strings.Repeat("A sentence of the guide. ", 60))
	g := Topic(q, Side[*docspb.TopicResponse]{Answer: &docspb.TopicResponse{
		Source: &docspb.Source{Url: "https://pfrest.org/ENDPOINT_TYPES/", Freshness: Fresh, FetchedAt: 1, DocumentHash: strings.Repeat("a", 64)}, Excerpt: text, Omitted: 77,
	}})
	wellFormed(t, g)
	e := g.Evidence[0]
	if strings.Join(e.Facts, " ") != text || e.Version != nil || e.Source != "https://pfrest.org/ENDPOINT_TYPES/" || len(e.Facts) < 4 {
		t.Errorf("%+v", e)
	}
	one(t, e.Caveats, "77 more characters")
	g = Topic(q, Side[*docspb.TopicResponse]{Problem: "docfetchd does not answer"})
	if len(g.Evidence) != 0 || len(g.Notes) != 1 {
		t.Errorf("%+v", g)
	}
}

func TestAToolIsExplainedByThisProjectAndCompared(t *testing.T) {
	ix := index(t, fakedocs.Small())
	q := map[string]string{"query_mode": "tool", "tool_name": "pfsense_get_firewall_aliases"}
	own := ToolGuidance{Answer: &guidancepb.ToolGuidanceResponse{
		ToolName: "pfsense_get_firewall_aliases", ResultKind: "configuration", Interpretation: strings.Repeat("What it means. ", 100),
		RelatedTools: []string{"pfsense_get_firewall_rules"}, SecretsIntentionallyOmitted: []string{"x"},
	}}
	const p = "/api/v2/firewall/aliases"
	g := Tool(q, own, "GET "+p, endpoint(ix, Fresh, p, "GET"), endpoint(ix, Fresh, p, "GET"))
	wellFormed(t, g)
	if provenances(g) != "PROJECT_AUTHORED PFREST_UPSTREAM LIVE_APPLIANCE_SCHEMA" || g.Evidence[0].DocumentHash != nil || g.Evidence[0].FetchedAt != nil || g.Evidence[0].Freshness != NotApplicable {
		t.Errorf("%s %+v", provenances(g), g.Evidence[0])
	}
	one(t, g.Evidence[0].Facts, "an empty result does not say that there is none")
	g = Tool(q, own, "", Side[*docspb.EndpointResponse]{}, Side[*docspb.EndpointResponse]{})
	one(t, g.Notes, "asks no endpoint")
	g = Tool(q, ToolGuidance{Problem: "guidanced does not answer"}, "GET "+p, Side[*docspb.EndpointResponse]{Problem: "docfetchd does not answer"}, endpoint(ix, Fresh, p, "GET"))
	if provenances(g) != LiveApplianceSchema || len(g.Notes) != 2 {
		t.Errorf("%+v", g)
	}
}

func TestNothingOfTheBoundsCanBeExceeded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringN(0, 3000, -1)
		facts := rapid.SliceOfN(text, 0, 60).Draw(rt, "facts")
		e := newEvidence(Evidence{Source: text.Draw(rt, "source"), Subject: text.Draw(rt, "subject")}, facts, rapid.SliceOfN(text, 0, 20).Draw(rt, "caveats"))
		g := bounded(Guidance{Evidence: []Evidence{e, e, e, e, e, e, e, e, e}, Conflicts: facts, Notes: facts})
		wellFormed(t, g)
		if len(facts) > MaxConflicts && !strings.Contains(g.Conflicts[MaxConflicts-1], "more are left out") {
			rt.Errorf("nothing says that conflicts are left out: %q", g.Conflicts)
		}
	})
}

func TestWhatIsLeftOutIsSaid(t *testing.T) {
	var facts []string
	for i := range 26 {
		facts = append(facts, fmt.Sprintf("fact %d", i))
	}
	e := newEvidence(Evidence{}, facts, nil)
	if d := cmp.Diff([]string{"2 more facts, 14 characters, are left out of this record"}, e.Caveats); d != "" || len(e.Facts) != 24 {
		t.Error(d)
	}
	e = newEvidence(Evidence{}, []string{strings.Repeat("word ", 200)}, nil)
	if len(e.Facts) != 3 || strings.Join(e.Facts, " ") != strings.TrimSpace(strings.Repeat("word ", 200)) {
		t.Errorf("%q", e.Facts)
	}
	e = newEvidence(Evidence{}, []string{"see https://evil.example/x and \u202ethis"}, []string{"and www.evil.example"})
	if e.Facts[0] != "see [link removed] and this" || e.Caveats[0] != "and [link removed]" {
		t.Errorf("%+v", e)
	}
}

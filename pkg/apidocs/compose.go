package apidocs

import (
	"fmt"
	"slices"
	"strings"

	"pfsensemcp/pkg/openapi/plain"
	docspb "pfsensemcp/proto/docs/v1"
	guidancepb "pfsensemcp/proto/guidance/v1"
)

// Side is one source's answer. Problem says in our words why there is none; with
// a problem, Answer is not looked at.
type Side[T any] struct {
	Answer  T
	Problem string
}

// The names of the two documents, as sources and in notes.
const (
	upstreamName  = "https://pfrest.org/api-docs/openapi.json"
	applianceName = "/api/v2/schema/openapi of this appliance"
)

// who is a source of one answer, ready to be compared.
type who struct {
	name    string // in sentences
	problem string // why it says nothing; "" when it does
	found   bool
	version string
}

func upstream(src *docspb.Source, problem string, found bool) who {
	return side("the published documentation", src, problem, found)
}

func appliance(src *docspb.Source, problem string, found bool) who {
	return side("the appliance's own document", src, problem, found)
}

func side(name string, src *docspb.Source, problem string, found bool) who {
	w := who{name: name, problem: problem, found: found, version: src.GetVersion()}
	if problem == "" && !usable(src) {
		w.problem = "it cannot be had now"
		if src.GetFailure() != "" {
			w.problem += " (" + src.GetFailure() + ")"
		}
	}
	return w
}

// presence says what the two sources say of the existence of a thing, and who
// rules. A source that cannot be had has said nothing: that is a note, never a
// conflict.
func (g *Guidance) presence(what string, up, app who) {
	for _, w := range []who{up, app} {
		if w.problem != "" {
			g.Notes = append(g.Notes, w.name+" is not compared: "+w.problem)
		}
	}
	if up.problem != "" || app.problem != "" {
		return
	}
	if up.version != "" && app.version != "" && up.version != app.version {
		g.Notes = append(g.Notes, fmt.Sprintf("%s is of version %s, %s of version %s: differences may come from that", up.name, up.version, app.name, app.version))
	}
	switch {
	case up.found && app.found:
		g.Notes = append(g.Notes, what+" is in both documents")
	case up.found:
		g.Conflicts = append(g.Conflicts, what+" is in "+up.name+" and not in "+app.name+": for this appliance its own document rules, it is not there")
	case app.found:
		g.Conflicts = append(g.Conflicts, what+" is in "+app.name+" and not in "+up.name+": for this appliance its own document rules, it is there")
	default:
		g.Notes = append(g.Notes, what+" is in neither document")
	}
}

// differ adds a conflict when both sources state something and not the same.
func (g *Guidance) differ(what, up, app string) {
	if up != "" && app != "" && up != app {
		up, app = short(up), short(app)
		g.Conflicts = append(g.Conflicts, what+": the published documentation says "+up+", the appliance's own document says "+app+"; for this appliance its own document rules")
	}
}

// short bounds one side of a conflict line, so that the line says to its end who
// rules.
func short(s string) string {
	const max = 110
	head, left := plain.Cut(s, max)
	if left > 0 {
		head += " …"
	}
	return head
}

// Endpoint puts side by side what is said of one operation.
func Endpoint(query map[string]string, up, app Side[*docspb.EndpointResponse]) Guidance {
	g := Guidance{Query: query}
	g.endpoint(query["endpoint_method"]+" "+query["endpoint_path"], up, app)
	return bounded(g)
}

func (g *Guidance) endpoint(what string, up, app Side[*docspb.EndpointResponse]) {
	u := upstream(up.Answer.GetSource(), up.Problem, up.Answer.GetFound())
	a := appliance(app.Answer.GetSource(), app.Problem, app.Answer.GetFound())
	if u.problem == "" {
		g.Evidence = append(g.Evidence, endpointRecord(PfRESTUpstream, upstreamName, what, up.Answer, true))
	}
	if a.problem == "" {
		// What the published documentation says already is not said twice.
		g.Evidence = append(g.Evidence, endpointRecord(LiveApplianceSchema, applianceName, what, app.Answer, u.problem != "" || !u.found))
	}
	g.presence(what, u, a)
	if u.problem != "" || a.problem != "" || !u.found || !a.found {
		return
	}
	x, y := up.Answer.GetEndpoint(), app.Answer.GetEndpoint()
	g.differ("operation id", x.GetOperationId(), y.GetOperationId())
	g.differ("endpoint type", x.GetEndpointType(), y.GetEndpointType())
	g.differ("associated model", x.GetModel(), y.GetModel())
	g.differ("parent model", x.GetParentModel(), y.GetParentModel())
	g.differ("requires authentication", x.GetAuthRequired(), y.GetAuthRequired())
	g.differ("authentication modes", set(x.GetAuthModes()), set(y.GetAuthModes()))
	g.differ("allowed privileges", set(x.GetPrivileges()), set(y.GetPrivileges()))
	g.differ("required packages", set(x.GetPackages()), set(y.GetPackages()))
	g.differ("applies immediately", x.GetAppliesImmediately(), y.GetAppliesImmediately())
	g.differ("parameters", parameterSet(x), parameterSet(y))
}

// endpointRecord makes the record of one document; whole says whether it tells
// everything or only that the operation is there.
func endpointRecord(provenance, name, what string, r *docspb.EndpointResponse, whole bool) Evidence {
	var facts []string
	switch e := r.GetEndpoint(); {
	case !r.GetFound() && len(r.GetOtherVerbs()) > 0:
		facts = []string{"there is no " + what + "; the path has " + strings.Join(r.GetOtherVerbs(), ", ")}
	case !r.GetFound():
		facts = []string{"there is no " + what + ", nor the path with another method"}
	case whole:
		facts = endpointFacts(e)
	default:
		facts = []string{
			what + " is there; operation id: " + orElse(e.GetOperationId(), "not stated") + "; associated model: " + orElse(e.GetModel(), "none"),
			"allowed privileges, one of them is enough: " + more(list(e.GetPrivileges()), len(e.GetPrivileges()), e.GetPrivilegesTotal()),
		}
	}
	head := from(provenance, name, r.GetSource())
	head.Subject = what
	return newEvidence(head, facts, caveatsOf(r.GetSource()))
}

// Model puts side by side what is said of one model. offset is that of the
// question.
func Model(query map[string]string, offset uint32, up, app Side[*docspb.ModelResponse]) Guidance {
	g := Guidance{Query: query}
	what := "model " + query["model_name"]
	u := upstream(up.Answer.GetSource(), up.Problem, up.Answer.GetFound())
	a := appliance(app.Answer.GetSource(), app.Problem, app.Answer.GetFound())
	if u.problem == "" {
		g.Evidence = append(g.Evidence, modelRecord(PfRESTUpstream, upstreamName, what, up.Answer, offset, true))
	}
	if a.problem == "" {
		g.Evidence = append(g.Evidence, modelRecord(LiveApplianceSchema, applianceName, what, app.Answer, offset, u.problem != "" || !u.found))
	}
	g.presence(what, u, a)
	if u.problem == "" && a.problem == "" && u.found && a.found {
		g.fields(up.Answer.GetModel(), app.Answer.GetModel())
	}
	return bounded(g)
}

func modelRecord(provenance, name, what string, r *docspb.ModelResponse, offset uint32, whole bool) Evidence {
	var facts []string
	switch m := r.GetModel(); {
	case !r.GetFound() && len(r.GetNear()) > 0:
		facts = []string{"there is no " + what + "; names like it: " + strings.Join(r.GetNear(), ", ")}
	case !r.GetFound():
		facts = []string{"there is no " + what}
	case whole:
		facts = modelFacts(m, offset)
	default:
		facts = []string{fmt.Sprintf("%s is there, with %d fields", what, m.GetFieldsTotal())}
	}
	head := from(provenance, name, r.GetSource())
	head.Subject = what
	return newEvidence(head, facts, caveatsOf(r.GetSource()))
}

// maxNames bounds the field names of one conflict line, in characters.
const maxNames = 260

// fields compares the names of all fields, and what is said of the ones that both
// parts show.
func (g *Guidance) fields(up, app *docspb.Model) {
	g.onlyOne(up.GetFieldNames(), app.GetFieldNames(), "the published documentation", "they are not there")
	g.onlyOne(app.GetFieldNames(), up.GetFieldNames(), "the appliance's own document", "they are there")
	others := map[string]*docspb.Field{}
	for _, f := range app.GetFields() {
		others[f.GetName()] = f
	}
	for _, f := range up.GetFields() {
		o := others[f.GetName()]
		if o == nil {
			continue
		}
		g.differ("type of "+f.GetName(), typeOf(f), typeOf(o))
		if f.Required != nil && o.Required != nil {
			g.differ("whether "+f.GetName()+" is required", yes(f.GetRequired()), yes(o.GetRequired()))
		}
		g.differ("whether "+f.GetName()+" is nullable", yes(f.GetNullable()), yes(o.GetNullable()))
		if f.GetEnumTotal() == uint32(len(f.GetEnumValues())) && o.GetEnumTotal() == uint32(len(o.GetEnumValues())) {
			g.differ("values of "+f.GetName(), orElse(set(f.GetEnumValues()), "any"), orElse(set(o.GetEnumValues()), "any"))
		}
	}
}

// onlyOne says which names stand on one side alone.
func (g *Guidance) onlyOne(these, those []string, who, so string) {
	var only []string
	size, left := 0, 0
	for _, n := range these {
		if _, both := slices.BinarySearch(those, n); both {
			continue
		}
		if size += len(n) + 2; size > maxNames {
			left++
			continue
		}
		only = append(only, n)
	}
	if len(only) == 0 {
		return
	}
	g.Conflicts = append(g.Conflicts, "fields in "+who+" alone: "+more(strings.Join(only, ", "), 0, uint32(left))+"; for this appliance its own document rules, "+so)
}

// Topic shows the excerpt of a guide page. How pfREST works in general is for the
// published documentation to say; there is nothing to compare.
func Topic(query map[string]string, up Side[*docspb.TopicResponse]) Guidance {
	g := Guidance{Query: query}
	t := up.Answer
	if u := upstream(t.GetSource(), up.Problem, true); u.problem != "" {
		g.Notes = append(g.Notes, u.name+" is not shown: "+u.problem)
		return bounded(g)
	}
	head := from(PfRESTUpstream, t.GetSource().GetUrl(), t.GetSource())
	head.Subject = "topic " + query["topic"]
	caveats := caveatsOf(t.GetSource())
	if n := t.GetOmitted(); n > 0 {
		caveats = append(caveats, fmt.Sprintf("an excerpt: %d more characters are on the page", n))
	}
	g.Evidence = append(g.Evidence, newEvidence(head, []string{t.GetExcerpt()}, caveats))
	return bounded(g)
}

// ToolGuidance is what a tool's record needs beside guidanced's answer.
type ToolGuidance = Side[*guidancepb.ToolGuidanceResponse]

// Tool puts together what this project says of one of its tools and what the two
// documents say of its endpoint. endpoint is "GET /api/v2/…", or "" for a tool that
// asks no endpoint; then up and app are not looked at.
func Tool(query map[string]string, own ToolGuidance, endpoint string, up, app Side[*docspb.EndpointResponse]) Guidance {
	g := Guidance{Query: query}
	if own.Problem != "" {
		g.Notes = append(g.Notes, "this project's own guidance is not shown: "+own.Problem)
	} else {
		g.Evidence = append(g.Evidence, toolRecord(own.Answer))
	}
	if endpoint == "" {
		g.Notes = append(g.Notes, "the tool asks no endpoint of the appliance: there is nothing to compare")
		return bounded(g)
	}
	g.endpoint(endpoint, up, app)
	return bounded(g)
}

func toolRecord(t *guidancepb.ToolGuidanceResponse) Evidence {
	empty := "an empty result says something: there is none"
	if !t.GetEmptyResultIsMeaningful() {
		empty = "an empty result does not say that there is none"
	}
	facts := []string{
		"result kind: " + t.GetResultKind(), t.GetInterpretation(), empty,
		"left out as secrets: " + list(t.GetSecretsIntentionallyOmitted()),
		"related tools: " + list(t.GetRelatedTools()),
	}
	return newEvidence(Evidence{
		Provenance: ProjectAuthored, Source: "pfsense-mcp", Subject: "tool " + t.GetToolName(), Freshness: NotApplicable,
	}, facts, nil)
}

func typeOf(f *docspb.Field) string {
	return strings.TrimSpace(strings.Join([]string{f.GetType(), f.GetItemType(), f.GetModel()}, " "))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// set returns a list as a set in words; "" when nothing is stated.
func set(items []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(items))), ", ")
}

func parameterSet(e *docspb.Endpoint) string {
	var out []string
	for _, p := range e.GetParameters() {
		s := p.GetName() + " (" + p.GetPlace()
		if p.GetRequired() {
			s += ", required"
		}
		out = append(out, s+")")
	}
	return set(out)
}

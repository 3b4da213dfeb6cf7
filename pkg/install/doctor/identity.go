package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pfsensemcp/pkg/apidocs"
	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/openapi/contract"
	adminpb "pfsensemcp/proto/admin/v1"
)

// readIdentity checks what the READ key may do, and what the appliance has.
func (x *examination) readIdentity() {
	if x.facts == nil {
		return // appliance.reachable says why
	}
	x.schema()
	x.probes()
	x.excess()
}

// everything is the privilege that holds all others.
const everything = "page-all"

// maxNamed is how many names stand in one detail; --json has them all.
const maxNamed = 6

func names(list []string) string {
	if len(list) > maxNamed {
		return strings.Join(list[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(list)-maxNamed)
	}
	return strings.Join(list, ", ")
}

// offered are the tools that mcpd offers, by the privileges that it named.
func (x *examination) offered() []*catalog.Tool {
	var out []*catalog.Tool
	for _, t := range catalog.Tools() {
		if t.Path != "" && slices.Contains(x.facts.GetPrivileges(), catalog.Privilege(t)) {
			out = append(out, t)
		}
	}
	return out
}

// schema compares the table with the appliance's own document: an endpoint that an
// older package does not have, and a privilege that it names otherwise.
func (x *examination) schema() {
	const what = "the appliance's API has what the tools ask, under the privileges that are granted"
	c, err := x.contract()
	if err != nil {
		detail, next := problem(err)
		x.Add("schema.differences", what, Unknown, detail, next)
		return
	}
	var absent, other []string
	for _, row := range apidocs.CrossCheck(x.offered(), c, nil).Rows {
		switch row.Verdict {
		case apidocs.Explained:
			absent = append(absent, row.Tool)
		case apidocs.PinnedDisagreement:
			other = append(other, row.Tool)
		}
	}
	switch {
	case len(other) > 0:
		x.Add("schema.differences", what, Warn, "other privileges are named for "+names(other), "mcpctl privilege-crosscheck shows both; grant what the appliance names")
	case len(absent) > 0:
		x.Add("schema.differences", what, Warn, "this version of the package does not have or state the endpoints of "+names(absent), "these tools answer that it has not; a newer package has them")
	default:
		x.Add("schema.differences", what, Pass, "", "")
	}
}

// contract asks once for the normalised document of the appliance.
func (x *examination) contract() (*contract.Contract, error) {
	if x.doc == nil && x.docErr == nil {
		ctx, cancel := context.WithTimeout(x.ctx, slow)
		defer cancel()
		x.doc, x.docErr = fetch(ctx, x.Mcpd)
	}
	return x.doc, x.docErr
}

func fetch(ctx context.Context, mcpd adminpb.McpdClient) (*contract.Contract, error) {
	stream, err := mcpd.ApplianceContract(ctx, &adminpb.ApplianceContractRequest{})
	if err != nil {
		return nil, err
	}
	b, _, err := contract.Receive(stream.Recv)
	if err != nil {
		return nil, err
	}
	return contract.Decode(b)
}

// closed are the classes after which no further privilege is asked for: the answer
// would be the same, and a refused key must not be tried again.
var closed = []string{"authentication", "policy", "api_disabled", "not_rest_api", "rest_api_not_installed", "tls", "connection", "package_updating"}

// maxSilent is how many probes in a row may end without a verdict.
const maxSilent = 2

// probes asks for every privilege that the offered tools need, each once at most.
func (x *examination) probes() {
	const id, what = "privileges.read", "the READ key may read what the tools ask"
	needed := x.facts.GetPrivileges()
	if !x.Probes || x.facts.GetKeyRefused() {
		why := "not asked"
		if x.facts.GetKeyRefused() {
			why = "not asked: the key is refused"
		}
		x.Add(id, what, Unknown, why, "mcpctl doctor suite asks for each once")
		return
	}
	verdicts := map[string]adminpb.ProbeResponse_Verdict{}
	var missing, unknown []string
	why := ""
	for i, p := range needed {
		if x.Progress != nil {
			x.Progress(i, len(needed))
		}
		v, class := x.probe(p)
		verdicts[p] = v
		switch v {
		case adminpb.ProbeResponse_VERDICT_GRANTED:
			unknown = nil
		case adminpb.ProbeResponse_VERDICT_MISSING:
			unknown, missing = nil, append(missing, p)
		default:
			unknown, why = append(unknown, p), class
		}
		if slices.Contains(closed, class) || len(unknown) >= maxSilent {
			break
		}
	}
	if x.Progress != nil {
		x.Progress(len(needed), len(needed))
	}
	x.perTool(verdicts)
	asked := 0
	for _, v := range verdicts {
		if v == adminpb.ProbeResponse_VERDICT_GRANTED || v == adminpb.ProbeResponse_VERDICT_MISSING {
			asked++
		}
	}
	switch {
	case len(missing) > 0:
		x.Add(id, what, Fail, fmt.Sprintf("%d of %d are missing: %s", len(missing), len(needed), names(missing)),
			"grant them to the READ user (mcpctl privileges prints all), or offer fewer tools: toolsets or allowed_tools in mcpd.toml")
	case asked < len(needed):
		x.Add(id, what, Unknown, fmt.Sprintf("%d of %d could not be asked for: %s", len(needed)-asked, len(needed), why), "see appliance.reachable and key.accepted")
	default:
		x.Add(id, what, Pass, fmt.Sprintf("all %d", asked), "")
	}
}

// probe asks for one privilege.
func (x *examination) probe(privilege string) (adminpb.ProbeResponse_Verdict, string) {
	ctx, cancel := context.WithTimeout(x.ctx, slow)
	defer cancel()
	r, err := x.Mcpd.Probe(ctx, &adminpb.ProbeRequest{Privilege: privilege})
	if err != nil {
		return adminpb.ProbeResponse_VERDICT_UNKNOWN, "no_answer"
	}
	return r.GetVerdict(), r.GetProblem()
}

// perTool turns the verdicts into one for each tool.
func (x *examination) perTool(verdicts map[string]adminpb.ProbeResponse_Verdict) {
	for _, t := range x.offered() {
		row := Tool{Name: t.Name, Verdict: "allowed"}
		for _, p := range catalog.Privileges(t) {
			switch v, ok := verdicts[p]; {
			case ok && v == adminpb.ProbeResponse_VERDICT_MISSING:
				row.Verdict, row.Missing = "missing", append(row.Missing, p)
			case (!ok || v != adminpb.ProbeResponse_VERDICT_GRANTED) && row.Verdict == "allowed":
				row.Verdict = "unknown"
			}
		}
		x.tools = append(x.tools, row)
	}
}

// excess checks that the READ user can read, and nothing else.
func (x *examination) excess() {
	const id, what = "privileges.read_only", "the READ user may do nothing but read"
	r, detail := x.account("")
	if r == nil {
		x.Add(id, what, Unknown, detail, "grant api-v2-users-get and api-v2-user-groups-get to the READ user, and set identity in mcpd.toml to its name")
		return
	}
	var changes, pages []string
	for _, p := range r.GetPrivileges() {
		switch {
		case p == everything || strings.HasPrefix(p, "api-v2-") && !strings.HasSuffix(p, "-get"):
			changes = append(changes, p)
		case !strings.HasPrefix(p, "api-v2-"):
			pages = append(pages, p)
		}
	}
	switch {
	case r.GetAdministrator():
		x.Add(id, what, Fail, "it is an administrator: whoever gets the key can change everything", "make a user of its own for reading, and grant what mcpctl privileges prints")
	case len(changes) > 0:
		x.Add(id, what, Fail, "it may change: "+names(changes), "take these privileges away; reading needs none of them")
	case r.GetGroupsUnreadable() || r.GetCut():
		x.Add(id, what, Unknown, "not all of its privileges can be read", "grant api-v2-user-groups-get to the READ user")
	case len(pages) > 0:
		x.Add(id, what, Warn, "it may also use the web interface or a VPN: "+names(pages), "take these privileges away; reading needs none of them")
	default:
		x.Add(id, what, Pass, "", "")
	}
}

// account asks what a user may do, "" for the READ user; nil with the reason when
// that cannot be told.
func (x *examination) account(name string) (*adminpb.AccountPrivilegesResponse, string) {
	ctx, cancel := context.WithTimeout(x.ctx, slow)
	defer cancel()
	r, err := x.Mcpd.AccountPrivileges(ctx, &adminpb.AccountPrivilegesRequest{Account: name})
	switch {
	case err != nil:
		detail, _ := problem(err)
		return nil, detail
	case r.GetFound() == adminpb.Known_KNOWN_NO:
		return nil, "the appliance has no user of this name"
	case r.GetFound() != adminpb.Known_KNOWN_YES:
		return nil, "the list of users cannot be read: " + r.GetProblem()
	case r.GetAmbiguous():
		return nil, "the appliance has several users of this name"
	}
	return r, ""
}

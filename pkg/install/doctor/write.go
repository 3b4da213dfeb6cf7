package doctor

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"slices"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/install/doctor/internal/derive"
	adminpb "pfsensemcp/proto/admin/v1"
	executorpb "pfsensemcp/proto/executor/v1"
)

// statuses are executord's words for the outcomes; every other number is unknown.
var statuses = map[executorpb.Check_Status]Status{
	executorpb.Check_STATUS_PASS: Pass, executorpb.Check_STATUS_WARN: Warn, executorpb.Check_STATUS_FAIL: Fail,
	executorpb.Check_STATUS_UNKNOWN: Unknown, executorpb.Check_STATUS_NOT_CONFIGURED: NotConfigured,
}

// ours are the checks that are seen from here alone: executord cannot know that it is
// reachable, who else has its key, or what its user may do.
var ours = []string{"executor.reachable", "executor.version_match", "privileges.write_identity", "privileges.read_identity_distinct", "privileges.evidence"}

// maxChecks bounds what executord may say.
const maxChecks = 64

// write checks whether a change could be asked for and carried out.
func (x *examination) write() {
	const reached = "executord answers operators"
	if x.Executor == nil {
		x.Add("executor.reachable", reached, Unknown, "not asked", "")
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, slow)
	defer cancel()
	r, err := x.Executor.Doctor(ctx, &executorpb.DoctorRequest{})
	if err != nil {
		detail, next := problem(err)
		x.Add("executor.reachable", reached, Fail, detail, next)
		return
	}
	checks := r.GetChecks()[:min(len(r.GetChecks()), maxChecks)]
	for _, c := range checks {
		if c.GetCheckId() == "config.complete" && c.GetStatus() == executorpb.Check_STATUS_NOT_CONFIGURED {
			x.Add("config.complete", "writing is configured", NotConfigured, "write is off", "")
			return
		}
	}
	x.Add("executor.reachable", reached, Pass, "", "")
	x.sameVersion()
	for _, c := range checks {
		if slices.Contains(ours, c.GetCheckId()) {
			continue
		}
		s, ok := statuses[c.GetStatus()]
		detail, next := c.GetDetail(), c.GetNext()
		if !ok {
			s, detail = Unknown, "executord gave no status that this program knows"
		}
		if s == Fail && next == "" {
			next = "journalctl -u pfsense-executord, and mcpctl audit verify"
		}
		x.Add(id(c.GetCheckId()), c.GetDescription(), s, detail, next)
	}
	d, err := x.discover()
	x.writeIdentity(d, err)
	x.evidence()
	x.distinct()
	x.facing()
	if x.Host != nil && d.GetAnchor().GetBackend() != "tpm-remote" { // a witness host's TPM is that host's
		x.Host.Device(&x.List)
	}
}

// id is the name of a check of executord's, which exit codes depend on: letters,
// digits, dots and underscores.
func id(s string) string {
	if len(s) > 64 || s == "" || strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '_'
	}) {
		return "executor.unnamed"
	}
	return s
}

func (x *examination) sameVersion() {
	const id, what = "executor.version_match", "executord is of the version of mcpctl"
	m := x.members[executord]
	switch v := m.GetStatus().GetVersion(); {
	case !m.GetReachable():
		x.Add(id, what, Unknown, "mcpd does not reach it", "see executord.reachable")
	case v != x.Version:
		x.Add(id, what, Warn, "executord is "+v+", mcpctl is "+x.Version, "systemctl restart pfsense-executord")
	default:
		x.Add(id, what, Pass, v, "")
	}
}

// discover asks executord what it is set up with.
func (x *examination) discover() (*executorpb.DiscoverResponse, error) {
	ctx, cancel := context.WithTimeout(x.ctx, within)
	defer cancel()
	return x.Executor.Discover(ctx, &executorpb.DiscoverRequest{})
}

// writeIdentity compares what the write user may do with the seven privileges. The
// READ key reads it: the write key may not list users.
func (x *examination) writeIdentity(d *executorpb.DiscoverResponse, err error) {
	const id, what = "privileges.write_identity", "the write user may do exactly what executord needs"
	const recipe = "mcpctl privileges --profile executor prints the seven; mcpctl setup --write prints the recipe"
	account := d.GetIdentity().GetApplianceAccount()
	switch {
	case err != nil:
		detail, next := problem(err)
		x.Add(id, what, Unknown, detail, next)
		return
	case account == "":
		x.Add(id, what, Unknown, "appliance.account is not set", "set it in executord.toml to the name of the write user")
		return
	case x.Mcpd == nil:
		x.Add(id, what, Unknown, "mcpd does not answer", "the READ key reads it: start mcpd")
		return
	}
	r, detail := x.account(account)
	if r == nil {
		x.Add(id, what, Unknown, detail, "grant api-v2-users-get and api-v2-user-groups-get to the READ user; check appliance.account")
		return
	}
	missing, extra := Drift(catalog.ExecutorPrivileges(), r.GetPrivileges())
	switch {
	case r.GetAdministrator():
		x.Add(id, what, Fail, "it is an administrator: a stolen key could change everything", recipe)
	case r.GetDisabled():
		x.Add(id, what, Fail, "the user is disabled", "enable it on the appliance")
	case len(missing)+len(extra) > 0:
		var parts []string
		if len(missing) > 0 {
			parts = append(parts, "missing: "+names(missing))
		}
		if len(extra) > 0 {
			parts = append(parts, "too many: "+names(extra))
		}
		x.Add(id, what, Fail, strings.Join(parts, "; "), recipe)
	case r.GetGroupsUnreadable() || r.GetCut():
		x.Add(id, what, Unknown, "not all of its privileges can be read", "grant api-v2-user-groups-get to the READ user")
	default:
		x.Add(id, what, Pass, "all seven and no other", "")
	}
}

// evidence asks the appliance's own document whether the seven privileges are those
// which guard the seven endpoints. Without it the list is this project's word alone.
func (x *examination) evidence() {
	const id, what = "privileges.evidence", "the appliance's document names the same seven privileges"
	if x.facts == nil {
		x.Add(id, what, Unknown, "mcpd does not answer", "the READ side has the document: start mcpd")
		return
	}
	c, err := x.contract()
	if err != nil {
		detail, next := problem(err)
		x.Add(id, what, Unknown, detail, next)
		return
	}
	var bad []string
	for _, e := range catalog.ExecutorEndpoints() {
		if p, why := derive.Privilege(c, e.Path, e.Method); p == "" {
			bad = append(bad, e.Method+" "+e.Path+" ("+why+")")
		}
	}
	if len(bad) > 0 {
		x.Add(id, what, Warn, "not so: "+names(bad), "compare with mcpctl schema-diff --a upstream --b appliance before anything is granted")
		return
	}
	x.Add(id, what, Pass, "all seven", "")
}

// Drift compares two lists of privileges: what is expected and not observed, and what
// is observed and not expected, each sorted.
func Drift(expected, observed []string) (missing, extra []string) {
	less := func(a, b []string) []string {
		var out []string
		for _, p := range a {
			if !slices.Contains(b, p) {
				out = append(out, p)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return less(expected, observed), less(observed, expected)
}

// distinct asks both daemons the same riddle: equal answers mean one key in two
// places, and then the wall between reading and writing is none.
func (x *examination) distinct() {
	const id, what = "privileges.read_identity_distinct", "executord's key is not mcpd's"
	if x.Mcpd == nil {
		x.Add(id, what, Unknown, "mcpd does not answer", "")
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, within)
	defer cancel()
	challenge := make([]byte, 32)
	_, _ = rand.Read(challenge) // never fails: the runtime ends the process instead
	a, errA := x.Mcpd.KeyChallenge(ctx, &adminpb.KeyChallengeRequest{Challenge: challenge})
	b, errB := x.Executor.KeyChallenge(ctx, &executorpb.KeyChallengeRequest{Challenge: challenge})
	for _, err := range []error{errA, errB} {
		if err != nil {
			detail, next := problem(err)
			x.Add(id, what, Unknown, detail, next)
			return
		}
	}
	switch {
	case len(a.GetHmac()) != 32 || len(b.GetHmac()) != 32:
		x.Add(id, what, Unknown, "an answer is no answer to the challenge", "are both programs of this version?")
	case hmac.Equal(a.GetHmac(), b.GetHmac()):
		x.Add(id, what, Fail, "both hold the same key", "make two users on the appliance with a key each: mcpctl setup --write prints the recipe")
	default:
		x.Add(id, what, Pass, "", "")
	}
}

// facing checks what only the READ identity sees of the appliance that is written to.
func (x *examination) facing() {
	if x.facts == nil {
		return
	}
	switch x.facts.GetReadOnly() {
	case adminpb.Known_KNOWN_YES:
		x.Add("appliance.read_only", "the REST API takes changes", Fail, "it is in read-only mode", "switch read-only off, when changes shall be made: System, REST API, Settings")
	case adminpb.Known_KNOWN_NO:
		x.Add("appliance.read_only", "the REST API takes changes", Pass, "", "")
	default:
		x.Add("appliance.read_only", "the REST API takes changes", Unknown, "it could not be read", unread(x.facts, "grant api-v2-system-restapi-settings-get to the READ user"))
	}
	const id, what = "appliance.carp", "the appliance is the node that keeps a change"
	const next = "point executord at the master of the pair; executord itself does not read the CARP state"
	switch {
	case x.facts.GetCarpBackup() == adminpb.Known_KNOWN_YES:
		x.Add(id, what, Fail, "it shares addresses by CARP and is not their master: a change made here is lost at the next synchronisation", next)
	case x.facts.GetCarp() == adminpb.Known_KNOWN_YES:
		x.Add(id, what, Warn, "it shares addresses by CARP and is their master now", next)
	case x.facts.GetCarp() == adminpb.Known_KNOWN_NO:
		x.Add(id, what, Pass, "it shares no address by CARP", "")
	default:
		x.Add(id, what, Unknown, "its virtual addresses could not be read", unread(x.facts, "grant api-v2-firewall-virtual-ips-get to the READ user"))
	}
}

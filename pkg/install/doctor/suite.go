package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	adminpb "pfsensemcp/proto/admin/v1"
)

// The daemons, in the order in which they are shown.
var daemons = []string{"mcpd", "guidanced", "docfetchd", "executord"}

const executord = "executord"

// ask puts the two questions whose answers several checks read.
func (x *examination) ask() {
	if x.Mcpd == nil {
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, within)
	defer cancel()
	r, err := x.Mcpd.Suite(ctx, &adminpb.SuiteRequest{})
	if err != nil {
		detail, next := problem(err)
		x.members["mcpd"] = &adminpb.Member{Name: "mcpd", Problem: detail, Next: next}
		return
	}
	for _, m := range r.GetMembers() {
		x.members[m.GetName()] = m
	}
	ctx, cancel = context.WithTimeout(x.ctx, slow)
	defer cancel()
	if f, err := x.Mcpd.ApplianceFacts(ctx, &adminpb.ApplianceFactsRequest{}); err == nil {
		x.facts = f
	}
}

// daemons checks that each daemon answers, and what holds it in.
func (x *examination) daemons() {
	for _, name := range daemons {
		x.daemon(name, x.members[name])
	}
	x.versions()
}

func (x *examination) daemon(name string, m *adminpb.Member) {
	what := name + " answers"
	switch {
	case m == nil:
		x.Add(name+".reachable", what, Unknown, "mcpd did not say", "start mcpd first: systemctl start pfsense-mcpd")
		return
	case !m.GetReachable():
		next := m.GetNext()
		if next == "" {
			next = "systemctl status pfsense-" + name
		}
		x.Add(name+".reachable", what, Fail, m.GetProblem(), next)
		return
	}
	st := m.GetStatus()
	up := x.Now().Sub(time.Unix(st.GetStartedAt(), 0)).Round(time.Second)
	detail := "version " + st.GetVersion() + ", for " + up.String()
	switch {
	case st.GetTestBuild():
		x.Add(name+".reachable", what, Warn, "TEST BUILD, "+detail, "install the packaged program: a test build has shorter windows or other hosts")
	case st.GetLab():
		x.Add(name+".reachable", what, Warn, "LAB, "+detail, "a software TPM may stand for the hardware witness: nothing of this may run in production")
	default:
		x.Add(name+".reachable", what, Pass, detail, "")
	}
	box := st.GetSandbox()
	walls := "enforced: " + strings.Join(box.GetEnforced(), " ")
	id, what := "sandbox."+name, name+" is held in by its sandbox"
	switch {
	case len(box.GetMissing()) > 0:
		next := "a newer kernel closes the gap; until then the unit's IPAddressDeny and RestrictAddressFamilies must"
		if slices.Contains(box.GetMissing(), "no_capabilities") {
			next = "it runs as root: start it as a user of its own, as the package's units do"
		}
		x.Add(id, what, Warn, walls+"; not enforced: "+strings.Join(box.GetMissing(), " "), next)
	case box.GetMode() != "require":
		x.Add(id, what, Warn, walls+"; the setting is "+box.GetMode(), `set sandbox = "require" in /etc/pfsense-mcp/`+name+".toml")
	case len(box.GetEnforced()) == 0:
		x.Add(id, what, Fail, "nothing is enforced", "restart the daemon, and see its log")
	default:
		x.Add(id, what, Pass, walls, "")
	}
	if name == executord {
		return // its one notice without a write configuration is the write part's line
	}
	for _, n := range st.GetNotices() {
		x.Add("notice."+name, name+" has nothing to warn of", Warn, n, "see its settings: "+name+".toml")
	}
}

// versions checks that an upgrade reached all programs.
func (x *examination) versions() {
	seen := []string{x.Version}
	for _, name := range daemons {
		if m := x.members[name]; m.GetReachable() && !slices.Contains(seen, m.GetStatus().GetVersion()) {
			seen = append(seen, m.GetStatus().GetVersion())
		}
	}
	if len(seen) > 1 {
		x.Add("versions.equal", "all programs are of one version", Warn, "there are "+strings.Join(seen, ", "), "systemctl restart pfsense-mcp.target after an upgrade")
		return
	}
	x.Add("versions.equal", "all programs are of one version", Pass, seen[0], "")
}

// Limits of the clock and the certificate.
const (
	clockLimit = 2 * time.Minute // beyond it, times in logs and in the appliance's answers cannot be joined
	certSoon   = 30 * 24 * time.Hour
)

// tested are the versions of the REST API package that this was tried with.
var tested = [2][3]int{{2, 7, 1}, {2, 10, 0}}

// appliance checks what mcpd knows of the appliance.
func (x *examination) appliance() {
	f := x.facts
	if f == nil {
		x.Add("appliance.reachable", "mcpd reads the appliance", Unknown, "mcpd did not say what it knows of the appliance", "see mcpd.reachable above; journalctl -u pfsense-mcpd")
		return
	}
	x.reached(f)
	x.tls(f)
	x.clock(f)
	x.document(f)
	x.settings(f)
}

func (x *examination) reached(f *adminpb.ApplianceFactsResponse) {
	switch {
	case f.GetKeyRefused():
		x.Add("key.accepted", "the appliance accepts the READ key", Fail, "the key was refused and is not sent again, so that login protection does not lock this host out",
			"put a valid key in place: mcpctl rotate-key --key-file FILE; when the key itself is right: mcpctl reset")
	case f.GetLastClass() == "authorization" || f.GetLastClass() == "":
		x.Add("key.accepted", "the appliance accepts the READ key", Pass, "", "")
	default:
		x.Add("key.accepted", "the appliance accepts the READ key", Unknown, "the newest request failed: "+f.GetLastClass(), "see appliance.reachable")
	}
	next := map[string]string{
		"tls":                    "compare the certificate on the appliance's console, then mcpctl setup again",
		"connection":             "check address, port and the unit's IPAddressAllow (appliance.conf); on the appliance: may this host reach the web port, and is it in the block table of login protection?",
		"timeout":                "check the appliance's load, and whether it blocks this host",
		"policy":                 "add this host to the REST API's access list, or allow the interface, on the appliance",
		"api_disabled":           "switch the REST API on: System, REST API, Settings",
		"not_rest_api":           "api_url is not where the REST API answers: check it and the package",
		"rest_api_not_installed": "install the REST API package on the appliance, or correct api_url",
	}
	switch c := f.GetLastClass(); {
	case next[c] != "":
		x.Add("appliance.reachable", "mcpd reads the appliance", Fail, "the newest request failed: "+c, next[c])
	case c == "" || c == "authorization" || c == "authentication":
		x.Add("appliance.reachable", "mcpd reads the appliance", Pass, f.GetPfsenseVersion(), "")
	default:
		x.Add("appliance.reachable", "mcpd reads the appliance", Warn, "the newest request failed: "+c, "journalctl -u pfsense-mcpd has the request")
	}
}

func (x *examination) tls(f *adminpb.ApplianceFactsResponse) {
	const what = "the appliance is authenticated before the key is sent"
	switch {
	case f.GetTlsMode() == "insecure" && !f.GetPinned():
		x.Add("tls.verified", what, Fail, "tls_mode is insecure and there is no pin: the key goes to whoever answers", "mcpctl setup shows the certificate to compare, and writes a pin")
	case f.GetTlsMode() == "insecure":
		x.Add("tls.verified", what, Warn, "by the pin alone: name and validity are not checked", "give the appliance a certificate for its name, and use tls_mode strict or auto")
	default:
		x.Add("tls.verified", what, Pass, "tls_mode "+f.GetTlsMode(), "")
	}
	const valid = "the appliance's certificate is valid for another 30 days"
	if f.GetCertificateNotAfter() == 0 {
		x.Add("tls.certificate", valid, Unknown, "no connection was made yet", "")
		return
	}
	end := time.Unix(f.GetCertificateNotAfter(), 0).UTC()
	detail := "it ends " + end.Format("2006-01-02") + ", pin " + f.GetPin()
	switch left := end.Sub(x.Now()); {
	case left < 0 && f.GetTlsMode() != "insecure":
		x.Add("tls.certificate", valid, Fail, detail, "renew it on the appliance; a pin stays good when its key stays")
	case left < certSoon:
		x.Add("tls.certificate", valid, Warn, detail, "renew it on the appliance; a pin stays good when its key stays")
	default:
		x.Add("tls.certificate", valid, Pass, detail, "")
	}
}

func (x *examination) clock(f *adminpb.ApplianceFactsResponse) {
	const what = "the appliance's clock agrees with this host's"
	ahead := time.Duration(f.GetClockAheadMs()) * time.Millisecond
	switch {
	case !f.GetClockSeen():
		x.Add("clock.appliance", what, Unknown, "no answer of the appliance was seen yet", "")
	case ahead.Abs() > clockLimit:
		x.Add("clock.appliance", what, Warn, "the appliance is "+ahead.Round(time.Second).String()+" ahead", "set up NTP on both")
	default:
		x.Add("clock.appliance", what, Pass, "to "+ahead.Abs().Round(time.Second).String(), "")
	}
}

func (x *examination) document(f *adminpb.ApplianceFactsResponse) {
	const what = "the REST API package is of a version that this was tried with"
	v := f.GetPackageVersion()
	n, ok := version(v)
	between := fmt.Sprintf("%s to %s", dotted(tested[0]), dotted(tested[1]))
	switch {
	case v == "":
		x.Add("appliance.package_version", what, Unknown, f.GetDocumentProblem(), "mcpctl schema-diff --a appliance shows why the document cannot be had")
	case !ok || slices.Compare(n[:], tested[0][:]) < 0 || slices.Compare(n[:], tested[1][:]) > 0:
		x.Add("appliance.package_version", what, Warn, v+" is not among "+between, "mcpctl schema-diff --a upstream --b appliance shows what differs")
	default:
		x.Add("appliance.package_version", what, Pass, v, "")
	}
	if f.GetDocumentPublic() == adminpb.Known_KNOWN_YES {
		x.Add("appliance.document_public", "who can read the appliance's API document is known", Pass,
			"anybody who reaches its web port: pfREST asks for no key there", "")
	}
}

// version reads three numbers with dots between, and a v before them or none.
func version(s string) (n [3]int, ok bool) {
	parts := strings.Split(strings.TrimPrefix(s, "v"), ".")
	if len(parts) != 3 {
		return n, false
	}
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 {
			return n, false
		}
		n[i] = v
	}
	return n, true
}

func dotted(n [3]int) string { return fmt.Sprintf("%d.%d.%d", n[0], n[1], n[2]) }

// unread is the next step after what could not be read: grant while the appliance
// answers, else what is wrong with the whole connection comes first.
func unread(f *adminpb.ApplianceFactsResponse, grant string) string {
	switch {
	case f.GetKeyRefused():
		return "see key.accepted above"
	case f.GetLastClass() != "" && f.GetLastClass() != "authorization":
		return "see appliance.reachable above"
	}
	return grant
}

// settings checks the REST API's own settings.
func (x *examination) settings(f *adminpb.ApplianceFactsResponse) {
	rows := []struct {
		id, what string
		fact     adminpb.Known
		good     adminpb.Known
		status   Status
		detail   string
		next     string
	}{
		{"appliance.hateoas", "HATEOAS is off", f.GetHateoas(), adminpb.Known_KNOWN_NO, Fail, "it is on: every call is far slower", "switch HATEOAS off: System, REST API, Settings"},
		{"appliance.login_protection", "login protection is on", f.GetLoginProtection(), adminpb.Known_KNOWN_YES, Warn, "it is off: keys can be guessed without end", "switch it on: System, REST API, Settings"},
		{"appliance.sensitive_fields", "the REST API keeps its secrets", f.GetExposesSecrets(), adminpb.Known_KNOWN_NO, Warn, "it returns sensitive fields; this suite drops them, others would not", "switch the exposure off: System, REST API, Settings"},
		{"appliance.carp_maintenance", "the appliance is not in CARP maintenance", f.GetCarpMaintenance(), adminpb.Known_KNOWN_NO, Warn, "it is, and stays backup: what is read here may not be what forwards", "leave the maintenance mode, or read the other node"},
	}
	for _, r := range rows {
		switch r.fact {
		case r.good:
			x.Add(r.id, r.what, Pass, "", "")
		case adminpb.Known_KNOWN_UNSPECIFIED:
			x.Add(r.id, r.what, Unknown, "it could not be read", unread(f, "the READ key needs the privileges that mcpctl privileges prints"))
		default:
			x.Add(r.id, r.what, r.status, r.detail, r.next)
		}
	}
	const names = "how the appliance names interfaces is known"
	if f.GetInterfaceNames() == "" {
		x.Add("appliance.interface_names", names, Unknown, "it could not be read; results say so", unread(f, "grant api-v2-system-restapi-settings-get to the READ user"))
	} else {
		x.Add("appliance.interface_names", names, Pass, "by "+f.GetInterfaceNames(), "")
	}
}

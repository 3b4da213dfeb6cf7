package admin

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/mcpserver/internal/schema"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/proto/admin/v1"
	"pfsensemcp/test/fakedocs"
)

// answers is an appliance that gives each endpoint its data; one without is refused
// with 403.
type answers struct {
	data  map[pfrest.Endpoint]string
	state pfrest.State
	asked []pfrest.Endpoint
	pages []pfrest.Page
}

func (a *answers) Get(_ context.Context, _ pfrest.Caller, e pfrest.Endpoint, p pfrest.Page) (pfrest.Answer, error) {
	a.asked, a.pages = append(a.asked, e), append(a.pages, p)
	d, ok := a.data[e]
	if !ok {
		return pfrest.Answer{}, errs.New(errs.Denied, "x").WithClass(pfrest.ClassAuthorization)
	}
	return pfrest.Answer{Data: jsontext.Value(d)}, nil
}
func (a *answers) State() pfrest.State { return a.state }
func (*answers) ResetBreakers()        {}

const (
	settingsPath = pfrest.Endpoint(catalog.PathRESTAPISettings)
	usersPath    = pfrest.Endpoint("/api/v2/users")
	vipsPath     = pfrest.Endpoint("/api/v2/firewall/virtual_ips")
	groupsPath   = pfrest.Endpoint("/api/v2/user/groups")
)

func facts(t *testing.T, a *answers, doc *schema.Cache, about About) *adminpb.ApplianceFactsResponse {
	t.Helper()
	out, err := New(nil, a, nil, doc, about).ApplianceFacts(t.Context(), &adminpb.ApplianceFactsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheFactsAreReadOffTheApplianceAndTheConnection(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	a := &answers{
		data: map[pfrest.Endpoint]string{
			settingsPath:             `{"hateoas":true,"read_only":false,"login_protection":true,"expose_sensitive_fields":false,"override_sensitive_fields":[],"represent_interfaces_as":"descr"}`,
			"/api/v2/status/carp":    `{"enable":true,"maintenance_mode":false}`,
			vipsPath:                 `[{"mode":"ipalias"},{"mode":"carp","carp_status":"MASTER"},{"mode":"carp","carp_status":"BACKUP"}]`,
			"/api/v2/system/version": `{"base":"2.8.1"}`,
		},
		state: pfrest.State{Pin: "cGlu", NotAfter: at, ClockAt: at, Clock: -90 * time.Second},
	}
	row, _ := catalog.Lookup("pfsense_get_firewall_rules")
	out := facts(t, a, schema.New(document{body: fakedocs.Encode(fakedocs.Small())}),
		About{TLSMode: "auto", Pinned: true, Identity: "reader", Tools: []*catalog.Tool{row, row}})
	got, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"tls_mode":"auto"`, `"pinned":true`, `"pin":"cGlu"`, `"certificate_not_after":"1800000000"`, `"clock_ahead_ms":"-90000"`, `"clock_seen":true`,
		`"pfsense_version":"2.8.1"`, `"package_version":"` + fakedocs.Version + `"`, `"document_public":"KNOWN_YES"`,
		`"hateoas":"KNOWN_YES"`, `"interface_names":"descr"`, `"read_only":"KNOWN_NO"`, `"login_protection":"KNOWN_YES"`, `"exposes_secrets":"KNOWN_NO"`,
		`"carp":"KNOWN_YES"`, `"carp_backup":"KNOWN_YES"`, `"carp_maintenance":"KNOWN_NO"`, `"privileges":["api-v2-firewall-rules-get"]`, `"identity":"reader"`,
	} {
		if !strings.Contains(strings.ReplaceAll(string(got), ": ", ":"), want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if out := facts(t, a, nil, About{}); out.GetLastClass() != "" || out.GetDocumentPublic() != adminpb.Known_KNOWN_UNSPECIFIED || out.GetDocumentProblem() == "" {
		t.Errorf("no document: %v", out)
	}
}

func TestWhatCannotBeReadIsUnknownAndNoTextOfTheApplianceIsPassedOn(t *testing.T) {
	if out := facts(t, &answers{}, nil, About{}); out.GetHateoas()+out.GetCarp()+out.GetReadOnly()+out.GetLoginProtection()+out.GetExposesSecrets() != 0 || out.GetClockSeen() || out.GetCertificateNotAfter() != 0 {
		t.Errorf("%v", out)
	}
	if out := facts(t, &answers{}, schema.New(document{body: fakedocs.Encode(fakedocs.Small())}), About{}); out.GetLastClass() != pfrest.ClassAuthorization {
		t.Errorf("a document that anybody gets hides that nothing else is answered: %v", out)
	}
	const evil = "canary\x1b[31m"
	for _, settings := range []string{`{"hateoas":"canary","represent_interfaces_as":"canary"}`, `[]`, `"canary"`, `null`, `{"hateoas":{"canary":true},"represent_interfaces_as":["id"]}`} {
		out := facts(t, &answers{data: map[pfrest.Endpoint]string{
			settingsPath: settings, "/api/v2/system/version": `{"base":"` + evil + `"}`, "/api/v2/status/carp": settings,
		}}, schema.New(document{body: fakedocs.Encode(fakedocs.Small())}), About{})
		if s := fmt.Sprint(out); strings.Contains(s, "canary") || out.GetHateoas() != 0 || out.GetInterfaceNames() != "" {
			t.Errorf("%s: %s", settings, s)
		}
	}
	if out := facts(t, &answers{data: map[pfrest.Endpoint]string{settingsPath: `{"expose_sensitive_fields":false,"override_sensitive_fields":["key"]}`}}, nil, About{}); out.GetExposesSecrets() != adminpb.Known_KNOWN_YES {
		t.Error("one exposed field is not told")
	}
}

const (
	users = `[{"name":"admin","uid":0,"priv":["user-shell-access"]},
		{"name":"reader","uid":2000,"disabled":false,"priv":["b-get","a-get","b-get"]},
		{"name":"gone","uid":2001,"disabled":true,"priv":null},
		{"name":"twin","uid":2002,"priv":["a-get"]},{"name":"twin","uid":2003,"priv":[]},
		{"name":"strange","uid":2004,"priv":["canary\u001b[31m","ok-get"]},
		{"name":"broken","uid":2005,"priv":"page-all"}]`
	groups = `[{"name":"all","member":["admin"],"priv":["everybody-get"]},
		{"name":"ops","member":["reader"],"priv":["c-get"]},
		{"name":"admins","member":["admin","boss"],"priv":["page-all"]},
		{"name":"other","member":["somebody"],"priv":["d-get"]}]`
)

func TestAnAccountHasItsOwnPrivilegesAndThoseOfItsGroups(t *testing.T) {
	ask := func(a *answers, name string) *adminpb.AccountPrivilegesResponse {
		t.Helper()
		out, err := New(nil, a, nil, nil, About{Identity: "reader"}).AccountPrivileges(t.Context(), &adminpb.AccountPrivilegesRequest{Account: name})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(fmt.Sprint(out), "canary") {
			t.Errorf("text of the appliance: %v", out)
		}
		return out
	}
	whole := &answers{data: map[pfrest.Endpoint]string{usersPath: users, groupsPath: groups}}
	for _, tt := range []struct {
		account string
		want    string
	}{
		{"reader", "yes [a-get b-get c-get everybody-get]"},
		{"", "yes [a-get b-get c-get everybody-get]"}, // mcpd's own
		{"admin", "yes [everybody-get page-all user-shell-access] administrator"},
		{"gone", "yes [everybody-get] disabled"},
		{"twin", "yes [] ambiguous"},
		{"strange", "yes [everybody-get ok-get] cut"},
		{"broken", "yes [everybody-get] cut"},
		{"reade", "no []"},
		{"READER", "no []"},
		{"x/../users?limit=1", "no []"},
	} {
		if got := told(ask(whole, tt.account)); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.account, got, tt.want)
		}
	}
	for i, e := range whole.asked {
		if e != usersPath && e != groupsPath || whole.pages[i] != (pfrest.Page{Limit: maxListed}) {
			t.Errorf("asked %s %v", e, whole.pages[i])
		}
	}
	if got := told(ask(&answers{}, "reader")); got != "unknown [] authorization" {
		t.Errorf("no list of users: %s", got)
	}
	if got := told(ask(&answers{data: map[pfrest.Endpoint]string{usersPath: users}}, "reader")); got != "yes [a-get b-get] groups_unreadable" {
		t.Errorf("no list of groups: %s", got)
	}
	for _, data := range []string{`{}`, `null`, `["canary"]`, `[1,{"name":1}]`, `[{"name":"reader"}]`} {
		out := ask(&answers{data: map[pfrest.Endpoint]string{usersPath: data, groupsPath: data}}, "reader")
		if out.GetFound() == adminpb.Known_KNOWN_YES && !out.GetCut() {
			t.Errorf("%s is taken for a whole list: %v", data, out)
		}
	}
	many := "[" + strings.Repeat(`{"name":"x"},`, maxListed-1) + `{"name":"x"}]`
	if got := told(ask(&answers{data: map[pfrest.Endpoint]string{usersPath: many, groupsPath: groups}}, "reader")); got != "unknown [] too_many_users" {
		t.Errorf("a list that goes on: %s", got)
	}
	for _, identity := range []string{"", "mcpctl run"} {
		out, err := New(nil, whole, nil, nil, About{Identity: identity}).AccountPrivileges(t.Context(), &adminpb.AccountPrivilegesRequest{})
		if err != nil || told(out) != "unknown [] identity_is_no_account" {
			t.Errorf("identity %q: %v %v", identity, out, err)
		}
	}
	for _, name := range []string{"a b", "ä", strings.Repeat("a", 65), "a\x00"} {
		if _, err := New(nil, whole, nil, nil, About{}).AccountPrivileges(t.Context(), &adminpb.AccountPrivilegesRequest{Account: name}); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// told is an answer in words.
func told(r *adminpb.AccountPrivilegesResponse) string {
	words := []string{"unknown", "yes", "no"}[r.GetFound()]
	words += fmt.Sprintf(" %v", append([]string{}, r.GetPrivileges()...))
	for _, w := range []struct {
		set  bool
		word string
	}{
		{r.GetDisabled(), "disabled"},
		{r.GetGroupsUnreadable(), "groups_unreadable"},
		{r.GetCut(), "cut"},
		{r.GetAdministrator(), "administrator"},
		{r.GetAmbiguous(), "ambiguous"},
		{r.GetProblem() != "", r.GetProblem()},
	} {
		if w.set {
			words += " " + w.word
		}
	}
	return words
}

func TestTheFactsNameEndpointsThatTheTableHas(t *testing.T) {
	for _, tool := range []string{versionTool, carpTool, vipsTool, usersTool, groupsTool} {
		if path := pathOf(tool); !slices.Contains(catalog.Endpoints(), string(path)) {
			t.Errorf("%s is no row", tool)
		}
	}
}

func FuzzAnAccountOutOfAnyList(f *testing.F) {
	f.Add(users, groups)
	f.Add(`[{"name":"reader","priv":["a"],"priv":["b"]}]`, `[{}]`)
	f.Fuzz(func(t *testing.T, u, g string) {
		if !jsontext.Value(u).IsValid() || !jsontext.Value(g).IsValid() {
			t.Skip("the client lets no other through")
		}
		out, err := New(nil, &answers{data: map[pfrest.Endpoint]string{usersPath: u, groupsPath: g}}, nil, nil, About{}).
			AccountPrivileges(t.Context(), &adminpb.AccountPrivilegesRequest{Account: "reader"})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range out.GetPrivileges() {
			if !privilege(p) {
				t.Errorf("%q is passed on", p)
			}
		}
	})
}

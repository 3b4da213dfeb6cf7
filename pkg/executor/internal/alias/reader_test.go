package alias_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/alias/aliastest"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/fakepf/php"
)

const (
	aliases  = "/api/v2/firewall/aliases"
	status   = "/api/v2/status/system"
	hasync   = "/api/v2/system/hasync"
	apply    = "/api/v2/firewall/apply"
	history  = "/api/v2/diagnostics/config_history/revisions"
	settings = "/api/v2/system/restapi/settings"
)

// office is the pretend appliance, read as executord reads.
func office(t *testing.T, o fakepf.Options, change ...func(*pfrest.Config)) (*fakepf.Server, *pfrest.Client, *alias.Reader) {
	t.Helper()
	s := fakepf.Start(t, o)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	c := pfrest.Config{
		BaseURL: s.URL(), Key: secretfile.New([]byte(fakepf.WriteKey)), TLSMode: "auto", CAFile: ca,
		Endpoints: alias.Endpoints(), Authoritative: true,
	}
	for _, f := range change {
		f(&c)
	}
	cl, err := pfrest.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	r, err := alias.New(alias.Config{Client: cl, BaseURL: s.URL(), TLSMode: "auto", CADigest: aliastest.CADigest})
	if err != nil {
		t.Fatal(err)
	}
	return s, cl, r
}

func class(err error) string {
	if err == nil {
		return ""
	}
	return errs.Public(err).Class
}

// ok returns the value of a call that must not fail.
func ok[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%v (%s, %v)", err, class(err), errors.Unwrap(err))
		}
		return v
	}
}

func TestP4TheSevenPrivilegesCompleteEveryReadAndAnEighthEndpointIsRefused(t *testing.T) {
	if want := catalog.ExecutorPrivileges(); !slices.Equal(alias.Privileges(), want) {
		t.Fatalf("%v are not %v", alias.Privileges(), want)
	}
	derived := []string{catalog.PrivilegeFor("/api/v2/firewall/alias", "PATCH")}
	for _, ep := range alias.Endpoints() {
		derived = append(derived, catalog.PrivilegeFor(string(ep), "GET"))
	}
	if slices.Sort(derived); !slices.Equal(derived, alias.Privileges()) {
		t.Errorf("the endpoints need %v", derived)
	}
	if got := fakepf.WritePrivileges(); !slices.Equal(got, alias.Privileges()) {
		t.Fatalf("the pretend write identity has %v", got)
	}

	s, _, r := office(t, fakepf.Options{}, func(c *pfrest.Config) {
		c.Endpoints = append(c.Endpoints, "/api/v2/firewall/rules", "/api/v2/firewall/alias", "/api/v2/users")
	})
	if _, err := r.Survey(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, q := range s.Requests() {
		asked[q.Path] = true
		if q.Status != 200 || q.Method != "GET" {
			t.Errorf("%s %s: %d", q.Method, q.Path, q.Status)
		}
	}
	for _, ep := range alias.Endpoints() {
		if !asked[string(ep)] && ep != hasync { // asked for only where there is no Netgate id
			t.Errorf("%s was not read", ep)
		}
	}
	if err := s.Set("SystemStatus", 0, "netgate_id", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("HASync", 0, "pfhostid", "b1a5c0de"); err != nil {
		t.Fatal(err)
	}
	if l := ok[*alias.List](t)(r.List(t.Context())); l.Appliance.IdentityKind != "pfhostid" || l.Appliance.Identity != "b1a5c0de" {
		t.Errorf("%+v", l)
	}
	for _, ep := range []pfrest.Endpoint{"/api/v2/firewall/rules", "/api/v2/firewall/alias", "/api/v2/users"} {
		_, cl, _ := office(t, fakepf.Options{}, func(c *pfrest.Config) { c.Endpoints = append(c.Endpoints, ep) })
		if _, err := cl.Get(t.Context(), pfrest.Caller{}, ep, pfrest.Page{Limit: 1}); class(err) != pfrest.ClassAuthorization {
			t.Errorf("%s is not refused: %v", ep, err)
		}
	}
}

func TestReview05EveryReadIsItsOwnConnectionAndNoneIsSharedOrRemembered(t *testing.T) {
	s, _, r := office(t, fakepf.Options{})
	ok[*alias.Survey](t)(r.Survey(t.Context()))
	n := s.Counters()
	if n.Requests != 6 || n.Connections != 6 {
		t.Errorf("%d requests on %d connections", n.Requests, n.Connections) // schema, settings, apply, history, status, aliases
	}
	// The youngest is the list, and it is one GET of that form.
	last := s.Requests()[5]
	if last.Path != aliases || last.Query != "limit=500" {
		t.Errorf("%+v", last)
	}
	// Two at the same time are two requests, although the first one still hangs when
	// the second begins.
	s.ResetLog()
	held := s.Hold("GET", aliases)
	first := make(chan error, 1)
	go func() { _, err := r.List(context.Background()); first <- err }()
	<-held.Reached
	began := time.Now()
	if err := s.Set("FirewallAlias", 1, "descr", "changed meanwhile"); err != nil {
		t.Fatal(err)
	}
	second := ok[*alias.List](t)(r.List(t.Context()))
	if second.Began.Before(began) || second.Ended.Before(second.Began) {
		t.Error("the times of a list are not those of its call")
	}
	if f := ok[alias.Found](t)(second.Find("Bad_Senders")); f.State.Descr != "changed meanwhile" {
		t.Errorf("a read that began after the change does not show it: %+v", f)
	}
	held.Go()
	if err := <-first; err != nil {
		t.Error(err)
	}
	if got := s.Counters(); got.ByPath["GET "+aliases] != 2 || got.Connections != got.Requests {
		t.Errorf("%+v", got)
	}
}

func TestReview05AListThatIsNotWholeOrNotReadableIsNone(t *testing.T) {
	for name, f := range map[string]fakepf.Fault{
		"a row that is null":             {Kind: fakepf.NullRow, Row: 1},
		"a row that is a text":           {Kind: fakepf.ScalarRow, Row: 1, Value: `"x"`},
		"a row without a name":           {Kind: fakepf.DropField, Row: 1, Field: "name"},
		"a row without a position":       {Kind: fakepf.DropField, Row: 1, Field: "id"},
		"a position that is a text":      {Kind: fakepf.Field, Row: 1, Field: "id", Value: `"1"`},
		"a position that is false":       {Kind: fakepf.Field, Row: 1, Field: "id", Value: `false`},
		"a position with a fraction":     {Kind: fakepf.Field, Row: 1, Field: "id", Value: `1.5`},
		"a position that stands twice":   {Kind: fakepf.Field, Row: 1, Field: "id", Value: `0`},
		"a position out of range":        {Kind: fakepf.Field, Row: 1, Field: "id", Value: `2147483648`},
		"a negative position":            {Kind: fakepf.Field, Row: 0, Field: "id", Value: `-1`},
		"a name that is a number":        {Kind: fakepf.Field, Row: 1, Field: "name", Value: `7`},
		"a member that stands twice":     {Kind: fakepf.DuplicateKeys, Row: 1, Field: "name"},
		"a number with a fraction":       {Kind: fakepf.Field, Row: 1, Field: "descr", Value: `1.5`},
		"no list":                        {Kind: fakepf.DataKind, Value: `{}`},
		"a row that the API cannot show": {Kind: fakepf.BadRow, Row: 1},
		"an empty body (case 19)":        {Kind: fakepf.BadRow, Row: 1, Value: "empty"},
		"a warning in front (case 20)":   {Kind: fakepf.Warning},
		"the login page (case 8)":        {Kind: fakepf.Login},
		"half of it":                     {Kind: fakepf.Truncate, Bytes: 200},
		"a reset":                        {Kind: fakepf.Reset, Bytes: 200},
		"an error":                       {Kind: fakepf.Status, Status: 500},
		"out of memory":                  {Kind: fakepf.OutOfMemory},
	} {
		s, _, r := office(t, fakepf.Options{})
		f.Path = aliases
		s.Fault(f)
		_, err := r.List(t.Context())
		if class(err) != "read" || errs.CodeOf(err) != errs.Unavailable {
			t.Errorf("%s: %v (%s)", name, err, class(err))
		}
		if n := s.Counters().ByPath["GET "+aliases]; n > 1 { // a cut answer is counted a moment later
			t.Errorf("%s: asked %d times", name, n)
		}
		if _, err := r.List(t.Context()); err != nil {
			t.Errorf("%s: the next read is not its own: %v", name, err)
		}
	}
	// 499 rows are a whole list, 500 may not be.
	s, _, r := office(t, fakepf.Options{})
	grow := func(n int) {
		s.Clear("FirewallAlias")
		for i := range n {
			if err := s.Insert("FirewallAlias", i, php.Object{{Key: "name", Value: fmt.Sprintf("a%d", i)}, {Key: "type", Value: "host"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	grow(499)
	if _, err := r.List(t.Context()); err != nil {
		t.Error("499 rows are refused:", err)
	}
	for _, n := range []int{500, 501} {
		grow(n)
		if _, err := r.List(t.Context()); class(err) != "read" {
			t.Errorf("%d rows: %v", n, err)
		}
	}
}

func TestReview07AnUnprovenVersionIsRefusedAndOnlyTheHeadIsRead(t *testing.T) {
	doc := func(version string) []byte {
		return []byte(`{"openapi":"3.0.0","servers":[{"url":"\/"}],"info":{"title":"t","version":` + version + `,"description":"x"},"paths":{"` + strings.Repeat("/p", 2<<20) + `":{}}}`)
	}
	for version, want := range map[string]string{
		`"v2.10.0"`: "", `"2.10.0"`: "", `"v2.10.1"`: "appliance_version", `"v2.9.9"`: "appliance_version", `"v2.10.0-dev"`: "appliance_version",
		`"vv2.10.0"`: "appliance_version", `""`: "appliance_version", `"canary"`: "appliance_version", `null`: "read", `2.10`: "read", `{}`: "read",
	} {
		s, _, r := office(t, fakepf.Options{OpenAPI: doc(version)})
		v, err := r.Survey(t.Context())
		if class(err) != want {
			t.Errorf("%s: %v", version, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Error("the document's text is in the error")
		}
		if want == "" && v.Version != "2.10.0" {
			t.Errorf("%s became %q", version, v.Version)
		}
		for path := range s.Counters().ByPath {
			if want != "" && path != "GET "+string(pfrest.SchemaEndpoint) {
				t.Errorf("%s: it read on: %s", version, path)
			}
		}
	}
	for name, bad := range map[string]string{
		"no info": `{"openapi":"3.0.0"}`, "no version": `{"info":{"title":"x"}}`, "no JSON": `<html>`, "a list": `[]`, "nothing": ``, "cut short": `{"info":{"version`,
		"a member that stands twice": `{"openapi":"1","openapi":"2","info":{"version":"v2.10.0"}}`,
		"too far behind":             `{"paths":{"` + strings.Repeat("x", 64<<10) + `":1},"info":{"version":"v2.10.0"}}`,
	} {
		_, _, r := office(t, fakepf.Options{OpenAPI: []byte(bad)})
		if _, err := r.Survey(t.Context()); class(err) != "read" {
			t.Errorf("%s: %v", name, err)
		}
	}
	fw := aliastest.New()
	r := ok[*alias.Reader](t)(alias.New(alias.Config{Client: fw, BaseURL: aliastest.BaseURL, TLSMode: "auto", CADigest: aliastest.CADigest, Versions: []string{"3.0.0"}}))
	if _, err := r.Survey(t.Context()); class(err) != "appliance_version" {
		t.Error("another list of versions is not used:", err)
	}
}

func TestTheVersionOfTheRealDocumentIsFound(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "shared", "appliance", "openapi.json"))
	if err != nil {
		t.Skip("the captured document is not beside the repository")
	}
	_, _, r := office(t, fakepf.Options{OpenAPI: doc})
	if v := ok[*alias.Survey](t)(r.Survey(t.Context())); v.Version != "2.10.0" {
		t.Error(v.Version)
	}
}

func TestTheDigestsAreThoseOfTheDesign(t *testing.T) {
	fw := aliastest.New()
	fw.Change(func(s *aliastest.State) {
		s.Rows = []aliastest.Row{
			{Raw: `{"id":3,"name":"db_servers","type":"host","descr":"","address":["192.0.2.40"],"detail":["x"]}`},
			{Raw: `{"detail":["a","b"],"id":7,"name":"web_servers","type":"host","descr":"Old text","address":["192.0.2.10","192.0.2.11"]}`},
		}
	})
	l := ok[*alias.List](t)(fw.Reader(t, nil).List(t.Context()))
	f, err := l.Find("web_servers")
	if err != nil {
		t.Fatal(err)
	}
	if l.Target != "b7e4b5a7d3f073690b8f2ccf5afb5afa5a5a428198b7ecebca1cecf17e6eb5ea" || f.Locator != 7 ||
		f.Fingerprint != "d5092f154728afeb81f7fe46f412e8c0b7e4a77883feefbfc8d7cc95e78e4e8f" ||
		f.Collection != "6733d8921f83b3bebedd83481358f9ce089d66eb923e45e297dc0a221412cbae" {
		t.Errorf("%s %+v", l.Target, f)
	}
	if len(l.Target) != 64 || l.Appliance != (change.Appliance{BaseURL: aliastest.BaseURL, TLSMode: "auto", CADigest: aliastest.CADigest, IdentityKind: "netgate_id", Identity: "0123456789abcdef0123"}) {
		t.Errorf("%+v", l.Appliance)
	}
	f.State.Address[0] = "changed by a caller"
	if again, err := l.Find("web_servers"); err != nil || again.State.Address[0] != "192.0.2.10" {
		t.Error("a list can be changed through what it found")
	}
}

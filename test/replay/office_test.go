package replay

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/test/fakepf"
)

// office returns a client of a pretend appliance.
func office(t *testing.T, o fakepf.Options) (*fakepf.Server, *pfrest.Client) {
	t.Helper()
	s := fakepf.Start(t, o)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	var eps []pfrest.Endpoint
	for _, p := range catalog.Endpoints() {
		eps = append(eps, pfrest.Endpoint(p))
	}
	c, err := pfrest.New(pfrest.Config{BaseURL: s.URL(), Key: secretfile.New([]byte(fakepf.ReadKey)), TLSMode: "auto", CAFile: ca, Pin: s.Pin(), Endpoints: eps})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return s, c
}

// TestEveryToolReadsTheOfficeAndNoSecretGetsOut runs every tool over the
// pretend appliance, whose secrets all begin with "canary-", as it is and with
// its exposure setting on.
func TestEveryToolReadsTheOfficeAndNoSecretGetsOut(t *testing.T) {
	for _, exposed := range []bool{false, true} {
		st := fakepf.DefaultSettings()
		st.ExposeSensitive = exposed
		s, c := office(t, fakepf.Options{Settings: &st})
		r := reader(t, c)
		for _, tool := range catalog.Tools() {
			if tool.Path == "" {
				continue
			}
			args := "{"
			if tool.List {
				args += `"limit":` + strconv.Itoa(tool.MaxLimit)
			}
			if catalog.HasGate(tool.Model) {
				args += `,"include_identifying_metadata":true`
			}
			args = strings.Replace(args+"}", "{,", "{", 1)
			v, got := run(t, r, tool, args)
			if got.Drift != 0 {
				t.Errorf("%s: %q", tool.Name, v.Notes)
			}
			if strings.Contains(string(got.JSON), "canary-") {
				t.Errorf("%s (exposed: %t) lets a secret out: %s", tool.Name, exposed, around(string(got.JSON), "canary-"))
			}
		}
		for _, q := range s.Requests() {
			if q.Method != "GET" || q.Header["Content-Type"] != "" || q.Header["Authorization"] != "" || q.Header["Accept"] != "application/json" || q.Status != 200 || q.Header["Cookie"] != "" {
				t.Errorf("a request that should not have been made: %+v", q)
			}
			for part := range strings.SplitSeq(q.Query, "&") {
				if name, _, _ := strings.Cut(part, "="); name != "" && name != "limit" && name != "offset" {
					t.Errorf("%s: %q went upstream", q.Path, part)
				}
			}
		}
		if n := s.Counters().Peak; n > 4 {
			t.Errorf("%d requests at one time", n)
		}
	}
}

func around(s, what string) string {
	i := strings.Index(s, what)
	return s[max(0, i-60):min(len(s), i+60)]
}

// TestAListThatChangesWhileItIsReadIsReadAgain shifts the rules between two pages.
func TestAListThatChangesWhileItIsReadIsReadAgain(t *testing.T) {
	s, c := office(t, fakepf.Options{Rules: 700})
	s.Fault(fakepf.Fault{Kind: fakepf.DeleteRow, Row: 3, Path: "/api/v2/firewall/rules", Nth: 2})
	tool, _ := catalog.Lookup("pfsense_get_firewall_rules")
	v, _ := run(t, reader(t, c), tool, `{"limit":100,"where":["descr contains generated"]}`)
	if v.Matched == nil || *v.Matched != 700 || len(v.Notes) == 0 || !strings.Contains(strings.Join(v.Notes, " "), "changed") {
		t.Errorf("matched %v of 700 after the list changed: %q", v.Matched, v.Notes)
	}
}

// TestABadRowIsNamedAndTheOthersAreRead plays the list that one row kills.
func TestABadRowIsNamedAndTheOthersAreRead(t *testing.T) {
	s, c := office(t, fakepf.Options{Rules: 300})
	total := s.Rows("FirewallRule")
	tool, _ := catalog.Lookup("pfsense_get_firewall_rules")
	for _, value := range []string{"", "empty"} {
		id := s.Fault(fakepf.Fault{Kind: fakepf.BadRow, Row: 77, Value: value, Path: "/api/v2/firewall/rules", Count: -1})
		v, _ := run(t, reader(t, c), tool, `{"limit":1,"where":["descr startswith generated"]}`)
		if v.Scanned != total-1 || !strings.Contains(strings.Join(v.Notes, " "), "77") || v.Complete {
			t.Errorf("scanned %d of %d, complete %t: %q", v.Scanned, total, v.Complete, v.Notes)
		}
		s.RemoveFault(id)
	}
}

package fakepf

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"pfsensemcp/test/fakepf/php"
	"pfsensemcp/test/loopback"
)

// client is an HTTPS client that trusts the server's own CA and nothing else.
func client(t testing.TB, s *Server) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(s.CAPEM()) {
		t.Fatal("no CA")
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

type reply struct {
	status int
	header http.Header
	body   string
	env    php.Object
	err    error
}

func (r reply) id() string { v, _ := r.env.Get("response_id"); return php.Text(v) }

func (r reply) data() any { v, _ := r.env.Get("data"); return v }

func (r reply) rows(t testing.TB) []any {
	t.Helper()
	l, ok := r.data().([]any)
	if !ok {
		t.Fatalf("data is no list: %.300s", r.body)
	}
	return l
}

func field(row any, name string) any {
	o, _ := row.(php.Object)
	v, _ := o.Get(name)
	return v
}

// do sends a request; header values "-" leave the header out.
func do(t testing.TB, c *http.Client, s *Server, method, path, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		req.Body = http.NoBody
	}
	req.Header.Set("X-API-Key", ReadKey)
	req.Header.Set("Accept", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "-" {
			req.Header.Del(headers[i])
		}
	}
	resp, err := c.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	r := reply{status: resp.StatusCode, header: resp.Header, body: string(b), err: err}
	if v, derr := php.Decode(bytes.TrimSpace(b)); derr == nil {
		r.env, _ = v.(php.Object)
	}
	return r
}

func TestEveryEndpointAnswersItsGET(t *testing.T) {
	s := Start(t, Options{})
	c := client(t, s)
	for path, e := range s.set.Endpoints {
		if !e.Has("GET") || !e.Many && s.set.Models[e.Model].ID != '-' {
			continue
		}
		r := do(t, c, s, "GET", path, "")
		if r.err != nil || r.status != 200 || r.id() != "SUCCESS" {
			t.Errorf("%s: %v %d %s", path, r.err, r.status, r.body)
			continue
		}
		if _, list := r.data().([]any); list != e.Many {
			t.Errorf("%s: data is a list: %t", path, list)
		}
		if strings.Contains(r.body, `"@now"`) {
			t.Errorf("%s shows the marker of the request's time", path)
		}
	}
}

func TestHiddenFieldsAreHiddenUntilExposed(t *testing.T) {
	s := Start(t, Options{})
	c := client(t, s)
	hidden := map[string]string{
		"/api/v2/users": "password", "/api/v2/vpn/ipsec/phase1s": "pre_shared_key", "/api/v2/vpn/openvpn/servers": "tls",
		"/api/v2/status/wireguard/peers": "preshared_key", "/api/v2/status/wireguard/tunnels": "preshared_key", "/api/v2/system/certificates": "prv",
		"/api/v2/services/ntp/settings": "serverauthkey", "/api/v2/firewall/virtual_ips": "password",
	}
	for path, f := range hidden {
		if r := do(t, c, s, "GET", path, ""); strings.Contains(r.body, `"`+f+`":`) {
			t.Errorf("%s shows %s", path, f)
		}
	}
	st := s.Settings()
	st.ExposeSensitive = true
	s.SetSettings(st)
	for path, f := range hidden {
		if r := do(t, c, s, "GET", path, ""); !strings.Contains(r.body, `"`+f+`":"canary-`) {
			t.Errorf("%s hides %s although it is exposed", path, f)
		}
	}
	if r := do(t, c, s, "GET", "/api/v2/system/hasync", ""); strings.Contains(r.body, "canary-hasync") {
		t.Error("a write-only field is shown")
	}
	st.ExposeSensitive, st.OverrideSensitive = false, []string{"User:ipsecpsk"}
	s.SetSettings(st)
	if r := do(t, c, s, "GET", "/api/v2/users", ""); !strings.Contains(r.body, "canary-user-psk") || strings.Contains(r.body, "canary-hash-marta") {
		t.Error("the override does not name its own field alone")
	}
}

func TestKeysAndPrivilegesGate(t *testing.T) {
	s := Start(t, Options{Keys: []Key{
		{Secret: ReadKey, User: "r", Privileges: []string{"api-v2-firewall-aliases-get"}},
		{Secret: "off", User: "o", Disabled: true, Privileges: []string{"page-all"}},
		{Secret: "all", User: "a", Privileges: []string{"page-all"}},
	}})
	c := client(t, s)
	basic := "Basic YWRtaW46a2VzdHJlbA==" // admin:kestrel
	for _, x := range []struct {
		name, method, path string
		headers            []string
		status             int
		id                 string
	}{
		{"good key", "GET", "/api/v2/firewall/aliases", nil, 200, "SUCCESS"},
		{"no privilege", "GET", "/api/v2/users", nil, 403, "AUTH_AUTHORIZATION_FAILED"},
		{"no privilege, and no such method", "PUT", "/api/v2/firewall/alias", nil, 403, "AUTH_AUTHORIZATION_FAILED"},
		{"all privileges, and no such method", "PUT", "/api/v2/firewall/alias", []string{"X-API-Key", "all"}, 405, "ENDPOINT_METHOD_NOT_ALLOWED"},
		{"no key", "GET", "/api/v2/firewall/aliases", []string{"X-API-Key", "-"}, 401, "AUTH_AUTHENTICATION_FAILED"},
		{"wrong key", "GET", "/api/v2/firewall/aliases", []string{"X-API-Key", "nope"}, 401, "AUTH_AUTHENTICATION_FAILED"},
		{"disabled user", "GET", "/api/v2/firewall/aliases", []string{"X-API-Key", "off"}, 401, "AUTH_AUTHENTICATION_FAILED"},
		{"good key beaten by a wrong Basic", "GET", "/api/v2/firewall/aliases", []string{"Authorization", "Basic eDp5"}, 401, "AUTH_AUTHENTICATION_FAILED"},
		{"good key beaten by a junk Bearer", "GET", "/api/v2/firewall/aliases", []string{"Authorization", "Bearer x"}, 401, "AUTH_AUTHENTICATION_FAILED"},
		{"wrong key, good Basic", "GET", "/api/v2/users", []string{"X-API-Key", "nope", "Authorization", basic}, 200, "SUCCESS"},
	} {
		r := do(t, c, s, x.method, x.path, "", x.headers...)
		if r.err != nil || r.status != x.status || r.id() != x.id {
			t.Errorf("%s: %v %d %s", x.name, r.err, r.status, r.id())
		}
	}
}

func TestKeysCanBeChanged(t *testing.T) {
	s := Start(t, Options{})
	c := client(t, s)
	s.SetKeys([]Key{{Secret: "new", User: "n", Privileges: []string{"page-all"}}})
	if r := do(t, c, s, "GET", "/api/v2/system/version", ""); r.status != 401 {
		t.Error("the old key:", r.status)
	}
	if r := do(t, c, s, "GET", "/api/v2/system/version", "", "X-API-Key", "new"); r.status != 200 {
		t.Error("the new key:", r.status)
	}
}

func TestAForeignCAIsNotTrusted(t *testing.T) {
	a, b := Start(t, Options{}), Start(t, Options{})
	if r := do(t, client(t, a), b, "GET", "/api/v2/system/version", ""); r.err == nil {
		t.Fatal("a certificate of another CA was taken")
	}
	if a.Pin() == b.Pin() || len(a.Pin()) != 44 {
		t.Error("pins", a.Pin(), b.Pin())
	}
}

func TestPagesKeepTheirPlaces(t *testing.T) {
	s := Start(t, Options{Rules: 600})
	c := client(t, s)
	n := s.Rows("FirewallRule")
	at := 0
	for at < n {
		rows := do(t, c, s, "GET", "/api/v2/firewall/rules?limit=250&offset="+php.Text(int64(at)), "").rows(t)
		for i, r := range rows {
			if field(r, "id") != int64(at+i) {
				t.Fatalf("row %d has id %v", at+i, field(r, "id"))
			}
		}
		at += len(rows)
	}
	if rows := do(t, c, s, "GET", "/api/v2/firewall/rules?offset=5", "").rows(t); field(rows[0], "id") != int64(0) || len(rows) != n-5 {
		t.Error("an offset without a limit is numbered from 0 upstream")
	}
	if rows := do(t, c, s, "GET", "/api/v2/firewall/rules?limit=2&reverse=true", "").rows(t); field(rows[0], "id") != int64(n-1) {
		t.Error("reverse")
	}
	if rows := do(t, c, s, "GET", "/api/v2/firewall/states", "").rows(t); len(rows) != 64 {
		t.Error("states", len(rows))
	}
	logs := do(t, c, s, "GET", "/api/v2/status/logs/system?limit=3", "").rows(t)
	all := do(t, c, s, "GET", "/api/v2/status/logs/system", "").rows(t)
	if field(logs[2], "text") != field(all[len(all)-1], "text") || field(logs[0], "id") != int64(0) {
		t.Error("a log's limit does not take the newest lines")
	}
	oldest := do(t, c, s, "GET", "/api/v2/status/logs/system?limit=1&reverse=true", "").rows(t)
	if field(oldest[0], "text") != field(all[0], "text") {
		t.Error("a log's reversed limit does not take the oldest line")
	}
}

func TestSettingsChangeWhatIsShown(t *testing.T) {
	s := Start(t, Options{})
	c := client(t, s)
	for as, want := range map[string][2]any{"id": {"lan", "!lan"}, "descr": {"OFFICE", "!OFFICE"}, "if": {"igc1", "!igc1"}} {
		st := s.Settings()
		st.InterfacesAs = as
		s.SetSettings(st)
		rows := do(t, c, s, "GET", "/api/v2/firewall/rules", "").rows(t)
		if l, _ := field(rows[0], "interface").([]any); len(l) != 1 || l[0] != want[0] || field(rows[0], "source") != want[0] || field(rows[7], "destination") != want[1] {
			t.Errorf("%s: %v %v %v", as, field(rows[0], "interface"), field(rows[0], "source"), field(rows[7], "destination"))
		}
		fwd := do(t, c, s, "GET", "/api/v2/firewall/nat/port_forwards", "").rows(t)
		if w := map[string]string{"id": "wan:ip", "descr": "FIBRE:ip", "if": "igc0:ip"}[as]; field(fwd[0], "destination") != w {
			t.Errorf("%s: %v", as, field(fwd[0], "destination"))
		}
	}
	st := DefaultSettings()
	st.HATEOAS = true
	s.SetSettings(st)
	r := do(t, c, s, "GET", "/api/v2/firewall/rules?limit=2", "")
	if field(r.rows(t)[0], "_links") == nil || field(r.env, "_links") == nil {
		t.Error("no links")
	}
	if l := field(do(t, c, s, "GET", "/api/v2/firewall/rule?id=2", "").env, "_links"); len(l.([]any)) != 0 {
		t.Error("links of a single object are no empty list")
	}
	for name, change := range map[string]func(*Settings){
		"ENDPOINT_REST_API_IS_NOT_ENABLED":   func(s *Settings) { s.Enabled = false },
		"ENDPOINT_INTERFACE_NOT_ALLOWED":     func(s *Settings) { s.InterfaceAllowed = false },
		"ENDPOINT_CLIENT_NOT_ALLOWED_BY_ACL": func(s *Settings) { s.ClientAllowed = false },
		"AUTH_AUTHENTICATION_FAILED":         func(s *Settings) { s.KeyAuth = false },
	} {
		st := DefaultSettings()
		change(&st)
		s.SetSettings(st)
		if r := do(t, c, s, "GET", "/api/v2/firewall/aliases", ""); r.id() != name {
			t.Errorf("%s: %s", name, r.id())
		}
		if r := do(t, c, s, "GET", "/api/v2/schema/openapi", "", "X-API-Key", "-"); r.status != 200 || !strings.Contains(r.body, Version) {
			t.Errorf("the schema document is not served: %d", r.status)
		}
	}
}

func TestPackagesAppearAndGo(t *testing.T) {
	s := Start(t, Options{})
	c := client(t, s)
	if err := s.SetPackage("pfSense-pkg-WireGuard", false); err != nil {
		t.Fatal(err)
	}
	if r := do(t, c, s, "GET", "/api/v2/status/wireguard/peers", ""); r.status != 404 || r.id() != "MODEL_MISSING_REQUIRED_PACKAGE" {
		t.Error(r.status, r.id())
	}
	if r := do(t, c, s, "GET", "/api/v2/vpn/wireguard/tunnel/addresses", ""); r.status != 200 || len(r.rows(t)) != 2 {
		t.Error("addresses are configuration: they stay")
	}
	if strings.Contains(do(t, c, s, "GET", "/api/v2/system/packages", "").body, "WireGuard") {
		t.Error("the package is still listed")
	}
	if err := s.SetPackage("pfSense-pkg-WireGuard", true); err != nil {
		t.Fatal(err)
	}
	if r := do(t, c, s, "GET", "/api/v2/status/wireguard/peers", ""); r.status != 200 {
		t.Error(r.status)
	}
}

func TestRequestsAreLoggedWithoutTheKey(t *testing.T) {
	s := Start(t, Options{LogSize: 4})
	c := client(t, s)
	for range 6 {
		do(t, c, s, "GET", "/api/v2/system/version?limit=1", "")
	}
	got := s.Requests()
	if len(got) != 4 || got[3].Seq != 6 || got[0].Seq != 3 {
		t.Fatalf("%+v", got)
	}
	r := got[3]
	if r.Query != "limit=1" || r.User != "api-reader" || r.Status != 200 || r.Header["X-Api-Key"] != "present" || r.Header["Accept"] != "application/json" || r.Header["Content-Type"] != "" {
		t.Errorf("%+v", r)
	}
	if n := s.Counters(); n.Requests != 6 || n.ByPath["GET /api/v2/system/version"] != 6 || n.Peak < 1 {
		t.Errorf("%+v", n)
	}
	s.ResetLog()
	if len(s.Requests()) != 0 || s.Counters().Requests != 0 {
		t.Error("the log is not empty")
	}
}

func TestCloseEndsWhatHangs(t *testing.T) {
	s := Start(t, Options{})
	c := client(t, s)
	s.Fault(Fault{Kind: Hang, Count: -1})
	done := make(chan reply)
	go func() { done <- do(t, c, s, "GET", "/api/v2/system/version", "") }()
	eventually(t, func() bool { return s.Counters().InFlight == 1 })
	s.Close()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a hanging answer outlived Close")
	}
}

func TestLoopbackOnly(t *testing.T) {
	if _, err := New(Options{Listen: "0.0.0.0:0"}); !errors.Is(err, loopback.ErrOutside) {
		t.Fatal(err)
	}
}

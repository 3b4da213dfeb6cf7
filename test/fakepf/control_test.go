package fakepf

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheControlSteersAndTheAPIListenerDoesNot(t *testing.T) {
	s := Start(t, Options{})
	c := client(t, s)
	h := s.Control()
	steer := func(method, path, body string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		b, err := io.ReadAll(w.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Code, string(b)
	}
	if code, b := steer("POST", "/faults", `{"Kind":"status","Status":403,"Path":"/api/v2/users","Count":-1,"Delay":"1ms"}`); code != 200 || !strings.Contains(b, `"id":1`) {
		t.Fatal(code, b)
	}
	if r := do(t, c, s, "GET", "/api/v2/users", ""); r.status != 403 {
		t.Error(r.status)
	}
	steer("DELETE", "/faults?id=1", "")
	if r := do(t, c, s, "GET", "/api/v2/users", ""); r.status != 200 {
		t.Error(r.status)
	}
	for _, x := range []struct{ method, path, body string }{
		{"POST", "/set", `{"Model":"FirewallAlias","Row":0,"Field":"descr","Value":"steered"}`},
		{"POST", "/insert", `{"Model":"FirewallAlias","Row":0,"Value":{"name":"First"}}`},
		{"POST", "/delete", `{"Model":"FirewallAlias","Row":2}`},
		{"PUT", "/settings", `{"InterfacesAs":"descr"}`},
		{"POST", "/package", `{"Name":"pfSense-pkg-haproxy","Installed":true}`},
		{"POST", "/lock?held=true", ""},
		{"POST", "/lock?held=false", ""},
		{"POST", "/land", ""},
		{"POST", "/record?label=somebody", ""},
		{"GET", "/requests", ""},
		{"GET", "/counters", ""},
		{"GET", "/settings", ""},
		{"DELETE", "/requests", ""},
	} {
		if code, b := steer(x.method, x.path, x.body); code != 200 {
			t.Errorf("%s %s: %d %s", x.method, x.path, code, b)
		}
	}
	rows := do(t, c, s, "GET", "/api/v2/firewall/aliases?limit=2", "").rows(t)
	if field(rows[0], "name") != "First" || field(rows[1], "descr") != "steered" {
		t.Error(rows)
	}
	if l, _ := field(do(t, c, s, "GET", "/api/v2/firewall/rules?limit=1", "").rows(t)[0], "interface").([]any); l[0] != "OFFICE" {
		t.Error(l)
	}
	for _, x := range []struct{ method, path, body string }{
		{"POST", "/faults", `{"Kind":"no such"}`},
		{"POST", "/faults", `{"Kind":"delay","Delay":"soon"}`},
		{"POST", "/faults", `{"Nonsense":1}`},
		{"POST", "/set", `{"Model":"Nope","Field":"x","Value":1}`},
		{"POST", "/insert", `{"Model":"FirewallAlias","Value":7}`},
		{"POST", "/insert", `{"Model":"FirewallAlias","Value":{"nope":1}}`},
		{"POST", "/delete", `{"Model":"FirewallAlias","Row":999}`},
		{"POST", "/package", `{"Name":"x"}`},
	} {
		if code, _ := steer(x.method, x.path, x.body); code != 400 {
			t.Errorf("%s %s is answered %d", x.path, x.body, code)
		}
	}
	for _, path := range []string{"/faults", "/requests", "/settings", "/api/v2/faults"} {
		if r := do(t, c, s, http.MethodPost, path, "{}"); r.status != 404 {
			t.Errorf("the API listener knows %s: %d", path, r.status)
		}
	}
}

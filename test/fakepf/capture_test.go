package fakepf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/test/fakepf/php"
)

// capture is one recorded exchange with the real package.
type capture struct {
	Request struct {
		Method, Path, Key string
		Body              json.RawMessage
		Headers           map[string]*string
	}
	Status  int
	Headers map[string]string
	Bytes   int
	Body    json.RawMessage
}

const captures = "../../../shared/appliance/responses"

func readCapture(t *testing.T, name string) capture {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, name))
	if err != nil {
		t.Skipf("the recorded answers of a real appliance are not here (%s): %v", captures, err)
	}
	var c capture
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(name, err)
	}
	return c
}

// like returns a server that holds the rows of the recorded appliance, so that
// whole answers can be compared.
func like(t *testing.T) *Server {
	t.Helper()
	s := Start(t, Options{
		Keys: []Key{
			{Secret: "admin", User: "admin", Privileges: []string{"page-all"}},
			{Secret: "low", User: "apireader", Privileges: []string{"api-v2-firewall-aliases-get", "api-v2-status-system-get"}},
			{Secret: "disabled user", User: "disabledguy", Disabled: true},
		},
		Users: map[string]string{"admin": "pfsense"},
	})
	for model, file := range map[string]string{"FirewallAlias": "GET_api_v2_firewall_aliases.json", "FirewallRule": "GET_api_v2_firewall_rules.json"} {
		v, err := php.Decode(readCapture(t, file).Body)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := v.(php.Object).Get("data")
		if err := s.Clear(model); err != nil {
			t.Fatal(err)
		}
		for i, r := range data.([]any) {
			o := r.(php.Object)
			if err := s.Insert(model, i, o[1:]); err != nil { // without its id
				t.Fatal(err)
			}
		}
	}
	return s
}

// TestAnswersAreTheRecordedOnes sends the recorded requests again and compares
// status, headers and the whole body, byte for byte.
func TestAnswersAreTheRecordedOnes(t *testing.T) {
	if _, err := os.Stat(captures); err != nil {
		t.Skipf("the recorded answers of a real appliance are not here: %v", err)
	}
	files, err := filepath.Glob(captures + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	skip := map[string]string{
		"ERR_400_addr": "POST", "ERR_400_detail_more": "POST", "ERR_400_dup": "POST", "ERR_400_name": "POST", "ERR_400_required": "POST",
		"ERR_rule_iface": "POST", "ERR_rule_iface_str": "POST", "GQL": "GraphQL", "OK_jwt_create": "JWT", "OK_jwt_use": "JWT",
		"ERR_delete_in_use": "DELETE", "ERR_delete_unknown": "DELETE", "ERR_delete_plural_noquery": "DELETE", "HDR_gzip": "the recorded body is not text",
		"PATCH_unknown_field": "a description of another moment", "ERR_json_scalar": "a trace", "OK_options": "a trace", "OK_low_status_system": "other values",
		"FILTER_rule_bool": "rules of another moment", "FILTER_rule_iface": "rules of another moment", "FILTER_floating": "rules of another moment", "FILTER_type_match": "rules of another moment",
	}
	n := 0
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		family, _, _ := strings.Cut(name, "_")
		if family == "GET" || family == "VAR" || family == "WRITE" || skip[name] != "" {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) {
			s := like(t)
			c := readCapture(t, filepath.Base(f))
			compare(t, s, c)
		})
	}
	if n < 80 {
		t.Errorf("only %d recorded exchanges", n)
	}
}

// send repeats a recorded request.
func send(t *testing.T, s *Server, c capture) reply {
	t.Helper()
	headers := []string{"X-API-Key", c.Request.Key}
	switch c.Request.Key {
	case "none", "wrong", "other":
		headers[1] = "-"
		if c.Request.Key == "wrong" {
			headers[1] = "nope"
		}
	case "wrong+basic":
		headers[1] = "nope"
	}
	body := ""
	if b := c.Request.Body; len(b) > 0 && string(b) != "null" {
		body = string(b)
		var text string
		if json.Unmarshal(b, &text) == nil { // b'…' is a body that was no JSON
			body = strings.TrimSuffix(strings.TrimPrefix(text, "b'"), "'")
		}
		headers = append(headers, "Content-Type", "application/json")
	}
	headers = append(headers, "Accept", "application/json")
	for k, v := range c.Request.Headers {
		if v == nil {
			headers = append(headers, k, "-")
		} else {
			headers = append(headers, k, *v)
		}
	}
	return do(t, client(t, s), s, c.Request.Method, c.Request.Path, body, headers...)
}

func compare(t *testing.T, s *Server, c capture) {
	t.Helper()
	r := send(t, s, c)
	if r.err != nil || r.status != c.Status {
		t.Fatalf("%v: status %d, recorded %d: %.200s", r.err, r.status, c.Status, r.body)
	}
	for _, h := range []string{"content-type", "retry-after", "www-authenticate", "strict-transport-security", "x-content-type-options", "cache-control", "pragma", "expires"} {
		if got := r.header.Get(h); got != c.Headers[h] && !(c.Request.Key == "none" && h != "content-type") {
			t.Errorf("%s is %q, recorded %q", h, got, c.Headers[h])
		}
	}
	var text string
	if json.Unmarshal(c.Body, &text) == nil { // HTML: our own words
		if (text == "") != (r.body == "") {
			t.Errorf("body %q", r.body)
		}
		return
	}
	v, err := php.Decode(c.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := string(php.Append(nil, v)) + "\n"; r.body != want || len(want) != c.Bytes {
		t.Errorf("body differs (%d bytes, recorded %d)\n got %.400s\nwant %.400s", len(r.body), c.Bytes, r.body, want)
	}
}

// TestVariantsAreTheRecordedOnes does the same for the changed settings.
func TestVariantsAreTheRecordedOnes(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"VAR_readonly_patch":    func(s *Settings) { s.ReadOnly = true },
		"VAR_readonly_get":      func(s *Settings) { s.ReadOnly = true },
		"VAR_readonly_jwt":      func(s *Settings) { s.ReadOnly = true },
		"VAR_disabled_get":      func(s *Settings) { s.Enabled = false },
		"VAR_disabled_wrongkey": func(s *Settings) { s.Enabled = false },
		"VAR_hateoas_list":      func(s *Settings) { s.HATEOAS = true },
		"VAR_key_method_off":    func(s *Settings) { s.KeyAuth = false },
		"VAR_iface_not_allowed": func(s *Settings) { s.InterfaceAllowed = false },
		"VAR_enum":              func(s *Settings) {},
	} {
		t.Run(name, func(t *testing.T) {
			c := readCapture(t, name+".json")
			s := like(t)
			st := s.Settings()
			change(&st)
			s.SetSettings(st)
			compare(t, s, c)
		})
	}
}

// TestAWriteGoesAsRecorded plays the recorded change of an alias step by step.
func TestAWriteGoesAsRecorded(t *testing.T) {
	first := readCapture(t, "WRITE_1_get_before.json")
	s := like(t)
	if err := s.Delete("FirewallAlias", 0); err != nil { // the recording deleted an alias before
		t.Fatal(err)
	}
	if err := s.Delete("FirewallAlias", 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Insert("FirewallAlias", 0, php.Object{{Key: "name", Value: "Blocked_Nets"}, {Key: "type", Value: "network"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("FirewallAlias", 1, "descr", "form encoded"); err != nil {
		t.Fatal(err)
	}
	compare(t, s, first)
	s.SetPending("aliases", "natconf", "shaper")
	for _, name := range []string{"WRITE_2_dry_run", "WRITE_3_get_after_dry", "WRITE_4_prefer_dry", "WRITE_5_get", "WRITE_6_patch", "WRITE_7_get_back", "WRITE_8_apply_status", "WRITE_9_apply", "WRITE_10_apply_status_now"} {
		compare(t, s, readCapture(t, name+".json"))
	}
	if got := s.Unplayed(); got != 0 {
		t.Errorf("%d writes were not played", got)
	}
}

// TestRowsHaveTheRecordedKeys compares the keys of every answer, nested rows
// included, with the recorded ones: same names, same order.
func TestRowsHaveTheRecordedKeys(t *testing.T) {
	if _, err := os.Stat(captures); err != nil {
		t.Skipf("the recorded answers of a real appliance are not here: %v", err)
	}
	files, err := filepath.Glob(captures + "/GET_api*.json")
	if err != nil {
		t.Fatal(err)
	}
	s := Start(t, Options{})
	c := client(t, s)
	compared := 0
	for _, f := range files {
		rec := readCapture(t, filepath.Base(f))
		path, query, _ := strings.Cut(rec.Request.Path, "?")
		if rec.Status != 200 {
			continue
		}
		v, err := php.Decode(rec.Body)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := v.(php.Object).Get("data")
		e := s.set.Endpoints[path]
		if e.Many {
			query = ""
		} else if m := s.set.Models[e.Model]; m.ID == 's' {
			query = "id=" + m.Rows[0].ID
		} else if strings.Contains(query, "parent_id=") && s.set.Models[e.Parent].ID == 's' {
			query = "id=0&parent_id=" + s.set.Models[e.Parent].Rows[0].ID
		}
		r := do(t, c, s, "GET", path+"?"+query, "")
		if r.status != 200 {
			t.Errorf("%s?%s: %d %s", path, query, r.status, r.id())
			continue
		}
		compared += sameKeys(t, path, want, r.data())
	}
	if compared < 150 {
		t.Errorf("only %d objects were compared", compared)
	}
}

// sameKeys compares the first rows of two answers.
func sameKeys(t *testing.T, at string, want, got any) int {
	t.Helper()
	if w, ok := want.([]any); ok {
		g, ok := got.([]any)
		if got != nil && !ok {
			t.Errorf("%s is no list", at)
		}
		if len(w) == 0 || len(g) == 0 {
			return 0
		}
		return sameKeys(t, at+"[]", w[0], g[0])
	}
	w, ok := want.(php.Object)
	if !ok {
		return 0
	}
	g, ok := got.(php.Object)
	if !ok {
		if got != nil {
			t.Errorf("%s is no object", at)
		}
		return 0
	}
	var wk, gk []string
	n := 1
	for _, m := range w {
		wk = append(wk, m.Key)
		x, _ := g.Get(m.Key)
		n += sameKeys(t, at+"."+m.Key, m.Value, x)
	}
	for _, m := range g {
		gk = append(gk, m.Key)
	}
	if a, b := strings.Join(wk, " "), strings.Join(gk, " "); a != b {
		t.Errorf("%s has the keys\n %s\nrecorded\n %s", at, b, a)
	}
	return n
}

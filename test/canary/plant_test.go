package canary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/fakepf/data"
)

// token is the form of a planted text. Nothing else in the suite looks like it.
var token = regexp.MustCompile(`zqcanary[0-9a-f]{6}q`)

// mode says what a planter does with the answers of the pretend appliance.
type mode int

const (
	unmodelled mode = iota // in every field that no model names
	wrongTypes             // in modelled fields, as values of another type
	gated                  // in modelled fields that are hidden without the flag
	shown                  // in modelled fields that are shown: must be found
	failing                // in error answers
)

// planter stands between mcpd and the pretend appliance.
type planter struct {
	inner  http.Handler
	models map[string]*catalog.Model // by path
	set    *data.Set

	mu     sync.Mutex
	mode   mode
	fail   int     // which of failures, in mode failing
	peer   string  // the connection that is being answered
	places []place // where the n-th token was put
	ended  map[string]bool
}

// place is where a token was put.
type place struct {
	what string
	peer string // the connection's other end
}

func newPlanter(inner http.Handler) (*planter, error) {
	set, err := data.Load()
	p := &planter{inner: inner, set: set, models: map[string]*catalog.Model{}, ended: map[string]bool{}}
	for _, r := range catalog.Tools() {
		if r.Path != "" {
			p.models[r.Path] = r.Model
		}
	}
	return p, err
}

func (p *planter) turn(m mode, fail int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode, p.fail = m, fail
}

// plant returns a new token. Caller holds mu.
func (p *planter) plant(format string, a ...any) string {
	p.places = append(p.places, place{fmt.Sprintf(format, a...), p.peer})
	return fmt.Sprintf("zqcanary%06xq", len(p.places)-1)
}

// find says where a token was put, and whether the connection that carried it
// has ended.
func (p *planter) find(tok string) (what string, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var n int
	if _, err := fmt.Sscanf(tok, "zqcanary%06xq", &n); err != nil || n >= len(p.places) {
		return "?", false
	}
	return p.places[n].what, p.ended[p.places[n].peer]
}

// planted returns what tokens were put into, each with how many.
func (p *planter) planted() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	into := map[string]int{}
	for _, w := range p.places {
		into[w.what]++
	}
	return into
}

// watch notes the connections that end.
func (p *planter) watch(c net.Conn, s http.ConnState) {
	if s != http.StateClosed {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended[c.RemoteAddr().String()] = true
}

func (p *planter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peer = r.RemoteAddr
	for _, h := range []string{"Set-Cookie", "Server", "Www-Authenticate", "Link", "Etag", "X-Secret", "Location", "Retry-After", "Content-Disposition"} {
		w.Header().Set(h, p.plant("header %s", h))
	}
	if p.mode == failing {
		f := failures[p.fail]
		w.Header().Set("Content-Type", f.ctype)
		w.WriteHeader(f.status)
		tok := p.plant("error %d %s", f.status, f.name)
		_, _ = w.Write([]byte(strings.ReplaceAll(f.body, "TOKEN", tok)))
		return
	}
	rec := httptest.NewRecorder()
	p.inner.ServeHTTP(rec, r)
	body := rec.Body.Bytes()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var env map[string]any
	if m := p.models[r.URL.Path]; m != nil && d.Decode(&env) == nil {
		p.data(m, env["data"])
		env["message"] = p.plant("envelope message")
		env["status"] = p.plant("envelope status")
		env["zz_more"] = map[string]any{"a": []any{p.plant("envelope, deep")}}
		body, _ = json.Marshal(env)
	}
	w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body)
}

func (p *planter) data(m *catalog.Model, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			p.data(m, e)
		}
	case map[string]any:
		p.object(m, v)
	}
}

// object plants into one object of a model and into the objects below it.
func (p *planter) object(m *catalog.Model, o map[string]any) {
	known := map[string]*catalog.Field{}
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Mark&catalog.Derived == 0 {
			known[f.UpName()] = f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if v, ok := o[name]; ok {
			o[name] = p.value(m, known[name], v)
		}
	}
	if p.mode != unmodelled {
		return
	}
	// What the appliance sends, what its document knows beyond that (secrets that
	// it hides until a setting is changed), and what no version has yet.
	names := slices.Collect(maps.Keys(o))
	if up := p.set.Models[m.Upstream]; up != nil {
		for _, f := range up.Fields {
			names = append(names, f.Name)
		}
	}
	for _, x := range m.Excluded {
		names = append(names, x.Field)
	}
	names = append(names, "zz_new", "zz_list", "zz_deep")
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		leftOut := slices.ContainsFunc(m.Excluded, func(x catalog.Exclusion) bool { return x.Field == name })
		if known[name] != nil || !leftOut && (name == "id" || name == "parent_id") {
			continue
		}
		t := p.plant("%s.%s", m.Name, name)
		switch name {
		case "zz_list":
			o[name] = []any{t}
		case "zz_deep":
			o[name] = map[string]any{"a": []any{map[string]any{t: t}}}
		default:
			o[name] = t
		}
	}
}

// value returns what the mode makes of the value of a modelled field.
func (p *planter) value(m *catalog.Model, f *catalog.Field, v any) any {
	switch {
	case f.Kind == catalog.Object:
		if p.mode == wrongTypes && f.Mark&catalog.Key == 0 {
			if list, ok := v.([]any); ok {
				return append(list, p.plant("%s.%s entry", m.Name, f.Name))
			}
		}
		p.data(f.Model, v)
	case p.mode == wrongTypes && f.Mark&catalog.Key == 0:
		t := p.plant("%s.%s", m.Name, f.Name)
		switch {
		case f.List:
			return []any{map[string]any{"a": t}, []any{t}}
		case f.Kind == catalog.String:
			return map[string]any{"a": t}
		}
		return t
	case p.mode == gated && f.Gate != catalog.Shown && f.Mark&catalog.Key == 0, p.mode == shown && f.Gate == catalog.Shown && f.Mark&catalog.Key == 0:
		if f.Kind == catalog.String {
			t := p.plant("%s.%s", m.Name, f.Name)
			if f.List {
				return []any{t}
			}
			return t
		}
	}
	return v
}

// failures are the ways in which an answer can be an error that quotes a secret.
var failures = []struct {
	name   string
	status int
	ctype  string
	body   string
}{
	{"rejected value", 400, "application/json", `{"code":400,"status":"bad request","response_id":"FIELD_INVALID","message":"Field ` + "`password`" + ` value TOKEN","data":{"password":"TOKEN"}}`},
	{"rows in an error", 409, "application/json", `{"code":409,"status":"conflict","response_id":"MODEL_CANNOT_BE_DELETED_WHILE_REFERENCED","message":"TOKEN","data":[{"psk":"TOKEN"}]}`},
	{"id that is none", 500, "application/json", `{"code":500,"status":"TOKEN","response_id":"TOKEN","message":"TOKEN","data":[]}`},
	{"trace", 500, "application/json", `{"code":500,"status":"internal server error","response_id":"ENDPOINT_RECEIVED_UNEXPECTED_ERROR","message":"#0 TOKEN","data":[]}`},
	{"PHP page", 500, "text/html", `<pre>PHP ERROR: Type: 1, Message: TOKEN</pre>`},
	{"privilege", 403, "application/json", `{"code":403,"status":"TOKEN","response_id":"AUTH_AUTHORIZATION_FAILED","message":"TOKEN","data":[]}`},
	{"not found", 404, "application/json", `{"code":404,"status":"x","response_id":"MODEL_OBJECT_NOT_FOUND","message":"TOKEN","data":[]}`},
	{"nginx", 404, "text/html", `<html>TOKEN</html>`},
	{"busy", 503, "application/json", `{"code":503,"status":"x","response_id":"ENDPOINT_UNAVAILABLE","message":"TOKEN","data":[]}`},
	{"redirect", 302, "text/html", `TOKEN`},
	{"login page", 200, "text/html", `<!DOCTYPE html><title>pfSense - Login</title><input value="TOKEN">`},
	{"warning", 200, "application/json", `<br /><b>Warning</b>: TOKEN` + "\n" + `{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":[]}`},
	{"half", 200, "application/json", `{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":[{"name":"TOKEN`},
	{"more behind", 200, "application/json", `{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":[]}TOKEN`},
	{"data of another kind", 200, "application/json", `{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":"TOKEN"}`},
	{"rows that are none", 200, "application/json", `{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":["TOKEN",["TOKEN"],null]}`},
	{"a twice-named member", 200, "application/json", `{"code":200,"code":200,"status":"ok","response_id":"SUCCESS","message":"TOKEN","data":[]}`},
	{"bad key", 401, "application/json", `{"code":401,"status":"x","response_id":"AUTH_AUTHENTICATION_FAILED","message":"TOKEN","data":[]}`},
}

package pfrest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/secretfile"
)

func TestARequestIsExactlyWhatPfRESTUnderstands(t *testing.T) {
	var got string
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, func(http.ResponseWriter, *http.Request) {})
	tln := tlsListener(ln, a.Server)
	defer tln.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := tln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, 4096)
		n, _ := c.Read(buf)
		got = string(buf[:n])
		body := success(`[]`)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		_, _ = c.Read(buf)
	}()
	c := a.client(t, func(c *Config) { c.BaseURL = "https://" + ln.Addr().String() + "/" })
	if _, err := c.Get(within(t), Caller{}, rules, Page{Limit: 250, Offset: 249}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	<-done
	want := "GET /api/v2/firewall/rules?limit=250&offset=249 HTTP/1.1\r\n" +
		"Host: " + ln.Addr().String() + "\r\n" +
		"User-Agent: pfsense-mcp\r\nAccept: application/json\r\nX-Api-Key: " + key1 + "\r\n\r\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the bytes on the wire differ (-want +got):\n%s", diff)
	}
}

func TestNothingOfACallerReachesTheURL(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, success(`[]`)) })
	c := a.client(t)
	for _, ep := range []Endpoint{
		"", "/api/v2/firewall/rules?name__startswith=a", "/api/v2/firewall/rules/", "/api/v2/firewall/rules/../users",
		"/api/v2/users", "https://evil.example/api/v2/users", "//evil.example", "/api/v2/firewall/rules#", "/api/v2/firewall/Rules",
	} {
		_, err := c.Get(within(t), Caller{}, ep, Page{})
		wantBug(t, err)
		_, err = c.Walk(within(t), Caller{}, ep, WalkOptions{MaxRows: 1}, nil)
		wantBug(t, err)
	}
	for _, p := range []Page{{Limit: -1}, {Limit: 5001}, {Offset: -1, Limit: 1}, {Offset: 1}, {Limit: 1, Offset: maxOffset + 1}} {
		_, err := c.Get(within(t), Caller{}, rules, p)
		wantBug(t, err)
	}
	if n := a.requests.Load(); n != 0 {
		t.Fatalf("%d requests were made", n)
	}
	for _, ep := range []Endpoint{"/api/v2/a?b=c", "/api/v2/", "/api/v2/a//b", "/api/v2/a/../b", "/api/v1/a", "/api/v2/a%2fb", "/api/v2/a b", "/api/v2/a\n", "/"} {
		if _, err := New(Config{BaseURL: "https://fw", Key: secretfile.New([]byte("k")), Endpoints: []Endpoint{ep}}); err == nil {
			t.Errorf("New took the endpoint %q", ep)
		}
	}
}

func wantBug(t *testing.T, err error) {
	t.Helper()
	if got := fmt.Sprintf("%v", err); err == nil || strings.Contains(got, "evil") || strings.Contains(got, "startswith") {
		t.Fatalf("got %v", err)
	}
}

func TestSettingsAreCheckedAtTheStart(t *testing.T) {
	ok := Config{BaseURL: "https://fw.example:8443", Key: secretfile.New([]byte("k")), Endpoints: []Endpoint{rules}}
	if _, err := New(ok); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no URL":           func(c *Config) { c.BaseURL = "" },
		"plain HTTP":       func(c *Config) { c.BaseURL = "http://fw" },
		"a path":           func(c *Config) { c.BaseURL = "https://fw/api" },
		"a query":          func(c *Config) { c.BaseURL = "https://fw/?x=1" },
		"an empty query":   func(c *Config) { c.BaseURL = "https://fw/?" },
		"user info":        func(c *Config) { c.BaseURL = "https://u:secret@fw" },
		"a fragment":       func(c *Config) { c.BaseURL = "https://fw#x" },
		"no host":          func(c *Config) { c.BaseURL = "https://:443" },
		"no key":           func(c *Config) { c.Key = secretfile.Secret{} },
		"a key with a CR":  func(c *Config) { c.Key = secretfile.New([]byte("secret\r")) },
		"a long key":       func(c *Config) { c.Key = secretfile.New([]byte(strings.Repeat("k", 4097))) },
		"five in flight":   func(c *Config) { c.MaxInFlight = 5 },
		"a tiny body":      func(c *Config) { c.MaxBody = 1024 },
		"a huge body":      func(c *Config) { c.MaxBody = MaxBody + 1 },
		"an unknown mode":  func(c *Config) { c.TLSMode = "lax" },
		"auto without CAs": func(c *Config) { c.TLSMode = "auto" },
	} {
		cfg := ok
		change(&cfg)
		_, err := New(cfg)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnswersAreClassed(t *testing.T) {
	ct := func(typ string, status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", typ)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	js := func(status int, body string) http.HandlerFunc { return ct("application/json", status, body) }
	const page = "<!DOCTYPE html><html><head><title>secret - Login</title>"
	cases := map[string]struct {
		handle http.HandlerFunc
		want   string
	}{
		"bad key":                               {js(401, failure(401, "AUTH_AUTHENTICATION_FAILED")), ClassAuthentication},
		"401 of something else":                 {ct("text/html", 401, page), ClassAuthentication},
		"401 whose body breaks":                 {hangUp(401, "application/json", 500), ClassAuthentication},
		"privilege missing":                     {js(403, failure(403, "AUTH_AUTHORIZATION_FAILED")), ClassAuthorization},
		"access list":                           {js(403, failure(403, "ENDPOINT_CLIENT_NOT_ALLOWED_BY_ACL")), ClassPolicy},
		"interface":                             {js(403, failure(403, "ENDPOINT_INTERFACE_NOT_ALLOWED")), ClassPolicy},
		"another 403":                           {js(403, failure(403, "SOMETHING_NEW")), ClassAPI},
		"403 of a proxy":                        {ct("text/html", 403, page), ClassNotREST},
		"switched off":                          {js(503, failure(503, "ENDPOINT_REST_API_IS_NOT_ENABLED")), ClassAPIDisabled},
		"updating":                              {js(503, failure(503, "ENDPOINT_UNAVAILABLE")), ClassUpdating},
		"queue full":                            {js(503, failure(503, "DISPATCHER_TOO_MANY_QUEUED_PROCESSES")), ClassBusy},
		"locked":                                {js(503, failure(503, "MODEL_WRITE_CONFIG_LOCKED")), ClassBusy},
		"nginx busy":                            {ct("text/html", 503, page), ClassBusy},
		"gateway":                               {ct("text/html", 502, page), ClassAPI},
		"package absent":                        {js(404, failure(404, "MODEL_MISSING_REQUIRED_PACKAGE")), ClassPackageAbsent},
		"no object":                             {js(404, failure(404, "MODEL_OBJECT_NOT_FOUND")), ClassNotFound},
		"404 with an empty JSON body":           {js(404, "\n"), ClassNotFound},
		"REST package gone":                     {ct("text/html", 404, page), ClassNotInstalled},
		"unknown operator":                      {js(404, failure(404, "QUERY_FILTER_NOT_FOUND")), ClassClientBug},
		"stored integer":                        {js(500, failure(500, "INTEGER_FIELD_WITH_NON_INTEGER_INTERNAL_VALUE")), ClassUnreadable},
		"stored float":                          {js(500, failure(500, "FLOAT_FIELD_WITH_NON_FLOAT_INTERNAL_VALUE")), ClassUnreadable},
		"an id with another status":             {js(500, failure(500, "AUTH_AUTHORIZATION_FAILED")), ClassAPI},
		"an id whose code is another":           {js(403, failure(500, "AUTH_AUTHORIZATION_FAILED")), ClassAPI},
		"an id in half an envelope":             {js(403, `{"code":403,"response_id":"AUTH_AUTHORIZATION_FAILED"`), ClassAPI},
		"trace":                                 {js(500, failure(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR")), ClassAPI},
		"PHP fatal":                             {ct("text/html", 500, "<pre>PHP ERROR: Type: 1, File: secret"), ClassAPI},
		"not acceptable":                        {js(406, failure(406, "CONTENT_HANDLER_ENCODE_NOT_FOUND")), ClassClientBug},
		"method":                                {js(405, failure(405, "ENDPOINT_METHOD_NOT_ALLOWED")), ClassClientBug},
		"limit":                                 {js(400, failure(400, "ENDPOINT_LIMIT_FIELD_INVALID_TYPE")), ClassClientBug},
		"another 400":                           {js(400, failure(400, "FIELD_INVALID_CHOICE")), ClassAPI},
		"redirect":                              {redirect, ClassNotREST},
		"another 2xx":                           {js(206, success(`[]`)), ClassShape},
		"login page":                            {ct("text/html; charset=UTF-8", 200, page), ClassNotREST},
		"empty body":                            {js(200, ""), ClassEncoding},
		"one newline":                           {js(200, "\n"), ClassEncoding},
		"PHP warning":                           {js(200, "<br />\n<b>Warning</b>: secret\n"+success(`[]`)), ClassShape},
		"plain text":                            {ct("text/plain", 200, success(`[]`)), ClassShape},
		"no type":                               {ct("", 200, success(`[]`)), ClassShape},
		"compressed":                            {compressed, ClassShape},
		"cut JSON":                              {js(200, success(`[]`)[:40]), ClassShape},
		"something behind":                      {js(200, success(`[]`)+"x"), ClassShape},
		"two answers":                           {js(200, success(`[]`)+success(`[]`)), ClassShape},
		"a list":                                {js(200, `[]`), ClassShape},
		"null":                                  {js(200, `null`), ClassShape},
		"no data":                               {js(200, `{"code":200,"status":"ok","response_id":"SUCCESS"}`), ClassShape},
		"no code":                               {js(200, `{"status":"ok","response_id":"SUCCESS","data":[]}`), ClassShape},
		"code as text":                          {js(200, `{"code":"200","status":"ok","response_id":"SUCCESS","data":[]}`), ClassShape},
		"another code":                          {js(200, failure(403, "AUTH_AUTHORIZATION_FAILED")), ClassShape},
		"code twice":                            {js(200, `{"code":403,"code":200,"status":"ok","response_id":"SUCCESS","data":[]}`), ClassShape},
		"an escaped member name":                {js(200, `{"code":200,"status":"ok","response_id":"SUCCESS","d\u0061ta":{},"data":[]}`), ClassShape},
		"an id in lower case":                   {js(200, `{"code":200,"status":"ok","response_id":"secret","data":[]}`), ClassShape},
		"data is text":                          {js(200, success(`"x"`)), ClassShape},
		"data is null":                          {js(200, success(`null`)), ClassShape},
		"data is an object where a list is due": {js(200, success(`{}`)), ClassShape},
		"bad UTF-8":                             {js(200, success("[\"\xe9\"]")), ClassShape},
		"cut body":                              {hangUp(200, "application/json", 500), ClassConnection},
		"too large":                             {js(200, success(`["`+strings.Repeat("x", 70<<10)+`"]`)), ClassShape},
		"huge header":                           {hugeHeader, ClassConnection},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := serve(t, c.handle)
			var log lines
			cl := a.client(t, func(c *Config) { c.MaxBody = 64 << 10; c.Log = log.logger() })
			_, err := cl.Get(within(t), Caller{}, rules, Page{Limit: 5})
			wantClass(t, err, c.want)
			if n := a.requests.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
			if s := log.String(); strings.Contains(s, "secret") || strings.Contains(s, key1) || strings.Count(s, "\n") != 1 || !strings.Contains(s, c.want) {
				t.Errorf("the log says:\n%s", s)
			}
			if s := cl.State(); s.LastClass != c.want || s.Failed != 1 || s.Requests != 1 || !s.LastSuccess.IsZero() {
				t.Errorf("state %+v", s)
			}
		})
	}
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "https://"+r.Host+"/index.php", http.StatusFound)
}

func compressed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	reply(w, 200, "\x1f\x8b\x08\x00")
}

func hugeHeader(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Large", strings.Repeat("x", 2*maxHeader))
	reply(w, 200, success(`[]`))
}

// hangUp promises n bytes and closes after some.
func hangUp(status int, typ string, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n{\"code\"", status, typ, n)
		c.Close()
	}
}

func TestAGoodAnswerIsTheDataAndNothingElse(t *testing.T) {
	body := `{"code":200,"status":"ok","response_id":"SUCCESS","message":"m","data":{"a":[1,{"b":"é"}]},"_links":[],"new":1}`
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, body+"\n ") })
	var log lines
	c := a.client(t, func(c *Config) {
		c.Log = log.logger()
		c.RequestID = func(context.Context) string { return "req-1" }
	})
	ans, err := c.Get(within(t), Caller{}, version, Page{})
	if err != nil {
		t.Fatal(err)
	}
	if string(ans.Data) != `{"a":[1,{"b":"é"}]}` || !ans.Links || ans.Bytes != len(body)+2 || ans.IgnoredLimit {
		t.Fatalf("%+v %s", ans, ans.Data)
	}
	for _, want := range []string{`"outcome":"response"`, `"path":"/api/v2/system/version"`, `"status":200`, `"response_id":"SUCCESS"`, `"request_id":"req-1"`, `"duration_ms":`, `"bytes":`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, log.String())
		}
	}
	if s := c.State(); s.LastSuccess.IsZero() || s.Slots != 4 || s.InFlight != 0 {
		t.Errorf("state %+v", s)
	}
}

func TestAnIgnoredLimitIsCutAndSaid(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, success("[ {\"id\":0} ,\n{\"id\":1},{\"id\":2}, null ]"))
	})
	c := a.client(t)
	for p, want := range map[Page]string{
		{Limit: 2}:            `[{"id":0},{"id":1}]`,
		{Limit: 1, Offset: 1}: `[{"id":1}]`,
		{Limit: 2, Offset: 2}: `[{"id":2},null]`,
		{Limit: 1, Offset: 9}: `[]`,
		{Limit: 4}:            `[{"id":0},{"id":1},{"id":2},null]`,
	} {
		ans, err := c.Get(within(t), Caller{}, rules, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := ans.Data.Compact(); err != nil || string(ans.Data) != want || ans.IgnoredLimit != (p.Limit < 4) {
			t.Errorf("%v: %s %v %v", p, ans.Data, ans.IgnoredLimit, err)
		}
	}
}

func TestNoRequestIsEverSentTwice(t *testing.T) {
	// The first request is answered and its connection kept; the second arrives
	// on it and is met by a hang-up without a byte: net/http alone would send it
	// again on a new connection.
	var n int
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 2 {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Close()
			}
			return
		}
		reply(w, 200, success(`{}`))
	})
	c := a.client(t)
	if _, err := c.Get(within(t), Caller{}, version, Page{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Get(within(t), Caller{}, version, Page{})
	wantClass(t, err, ClassConnection)
	if got := a.requests.Load(); got != 2 {
		t.Fatalf("the appliance saw %d requests for 2 calls", got)
	}
	if _, err := c.Get(within(t), Caller{}, version, Page{}); err != nil {
		t.Fatalf("the call after it: %v", err)
	}
}

func TestConnectionsAreKeptUnlessReadsAreAuthoritative(t *testing.T) {
	for _, authoritative := range []bool{false, true} {
		conns := map[string]bool{}
		a := serve(t, func(w http.ResponseWriter, r *http.Request) {
			conns[r.RemoteAddr] = true
			reply(w, 200, success(`{}`))
		})
		c := a.client(t, func(c *Config) { c.Authoritative = authoritative })
		for range 3 {
			if _, err := c.Get(within(t), Caller{}, version, Page{}); err != nil {
				t.Fatal(err)
			}
		}
		want := 1
		if authoritative {
			want = 3
		}
		if len(conns) != want {
			t.Errorf("authoritative %v: %d connections for 3 reads", authoritative, len(conns))
		}
	}
}

func TestTheProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, success(`{}`)) })
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	defer proxy.Close()
	for _, v := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		t.Setenv(v, proxy.URL)
	}
	if c := a.client(t); c.transport.Proxy != nil {
		t.Fatal("a proxy function is set") // loopback is never proxied, so the request alone proves little
	} else if _, err := c.Get(within(t), Caller{}, version, Page{}); err != nil {
		t.Fatal(err)
	}
}

func TestTheKeyGoesToNobodyWhoIsNotBelieved(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, success(`{}`)) })
	for name, change := range map[string]func(*Config){
		"strict":                  func(c *Config) { c.TLSMode, c.CAFile = "strict", "" },
		"auto with another pin":   func(c *Config) { c.Pin = strings.Repeat("ab", 32) },
		"insecure, another pin":   func(c *Config) { c.TLSMode, c.CAFile, c.Pin = "insecure", "", strings.Repeat("ab", 32) },
		"a name it does not have": func(c *Config) { c.BaseURL = strings.Replace(c.BaseURL, "127.0.0.1", "localhost", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			c := a.client(t, change)
			_, err := c.Get(within(t), Caller{}, version, Page{})
			e := wantClass(t, err, ClassTLS)
			if !strings.Contains(e.Next, "has the pin ") {
				t.Errorf("no pin to compare: %s", e.Next)
			}
		})
	}
	if n := a.requests.Load(); n != 0 {
		t.Fatalf("%d requests arrived", n)
	}
}

func TestAnUnreachableApplianceIsSaidToBeThat(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	a := serve(t, nil)
	c := a.client(t, func(c *Config) { c.BaseURL = "https://" + addr })
	_, err = c.Get(within(t), Caller{}, version, Page{})
	wantClass(t, err, ClassConnection)
}

func TestIdenticalGetsAreOneRequest(t *testing.T) {
	unblock := make(chan struct{})
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-unblock
		reply(w, 200, success(`{"a":1}`))
	})
	c := a.client(t)
	var wg sync.WaitGroup
	leaver, leave := context.WithCancel(within(t))
	gone := make(chan error, 1)
	go func() {
		_, err := c.Get(leaver, Caller{UID: 1}, version, Page{})
		gone <- err
	}()
	waitFor(t, func() bool { return a.requests.Load() == 1 })
	for i := range 8 {
		wg.Go(func() {
			ans, err := c.Get(within(t), Caller{UID: uint32(i)}, version, Page{})
			if err != nil || string(ans.Data) != `{"a":1}` {
				t.Errorf("%s %v", ans.Data, err)
			}
		})
	}
	waitFor(t, func() bool { return c.State().Joined == 8 })
	leave() // the one who began it
	wantClass(t, <-gone, ClassCancelled)
	close(unblock)
	wg.Wait()
	if n := a.requests.Load(); n != 1 {
		t.Fatalf("%d requests", n)
	}
}

func TestAnAnswerIsWipedWhenEverybodyHasReadIt(t *testing.T) {
	unblock := make(chan struct{})
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-unblock
		reply(w, 200, success(`{"psk":"secret"}`))
	})
	c := a.client(t)
	answers := make(chan Answer, 3)
	for i := range 3 {
		go func() {
			ans, err := c.Get(t.Context(), Caller{Session: uint64(i)}, version, Page{})
			if err != nil {
				t.Error(err)
			}
			answers <- ans
		}()
	}
	waitFor(t, func() bool { return c.State().Joined == 2 })
	// A fourth who leaves before the answer holds nothing of it.
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := c.Get(ctx, Caller{Session: 9}, version, Page{})
		left <- err
	}()
	waitFor(t, func() bool { return c.State().Joined == 3 })
	leave()
	if <-left == nil {
		t.Fatal("who left got an answer")
	}
	close(unblock)
	all := [3]Answer{<-answers, <-answers, <-answers}
	for i, ans := range all {
		if string(ans.Data) != `{"psk":"secret"}` {
			t.Fatalf("%d have let go, and the others read %q", i, ans.Data)
		}
		ans.Release()
	}
	if got := all[0].Data; len(bytes.Trim(got, "\x00")) > 0 {
		t.Errorf("in memory is %q", got)
	}
	alone := a.client(t, func(cfg *Config) { cfg.Authoritative = true })
	ans, err := alone.Get(t.Context(), Caller{}, version, Page{})
	if err != nil {
		t.Fatal(err)
	}
	ans.Release()
	if len(bytes.Trim(ans.Data, "\x00")) > 0 {
		t.Errorf("in memory is %q", ans.Data)
	}
	Answer{}.Release() // one that no request made
}

func TestTheLastOneWhoLeavesCancelsTheRequest(t *testing.T) {
	cancelled := make(chan struct{})
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(cancelled)
	})
	c := a.client(t)
	ctx, cancel := context.WithCancel(within(t))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			_, err := c.Get(ctx, Caller{}, version, Page{})
			wantClass(t, err, ClassCancelled)
		})
	}
	waitFor(t, func() bool { return a.requests.Load() == 1 && c.State().Joined == 1 })
	cancel()
	wg.Wait()
	select {
	case <-cancelled:
	case <-time.After(time.Minute):
		t.Fatal("the request goes on although nobody waits")
	}
}

func TestAuthoritativeReadsShareNothing(t *testing.T) {
	var mu sync.Mutex
	both := make(chan struct{})
	n := 0
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if n++; n == 2 {
			close(both)
		}
		mu.Unlock()
		<-both
		reply(w, 401, failure(401, "AUTH_AUTHENTICATION_FAILED"))
	})
	c := a.client(t, func(c *Config) { c.Authoritative = true })
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			_, err := c.Get(within(t), Caller{}, aliases, Page{Limit: 500})
			wantClass(t, err, ClassAuthentication)
		})
	}
	wg.Wait()
	if _, err := c.Get(within(t), Caller{}, aliases, Page{Limit: 500}); err == nil || a.requests.Load() != 3 {
		t.Fatalf("%d requests: a breaker answered for the appliance", a.requests.Load())
	}
	if _, err := c.Walk(within(t), Caller{}, aliases, WalkOptions{MaxRows: 10}, nil); err == nil || a.requests.Load() != 3 {
		t.Fatal("an authoritative client walked")
	}
}

func TestTheSchemaIsStreamedWithoutAKey(t *testing.T) {
	var header http.Header
	doc := strings.Repeat(`{"x":1} `, 1<<17)
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		reply(w, 200, doc)
	})
	var log lines
	c := a.client(t, func(c *Config) { c.Log = log.logger() })
	s, err := c.Schema(within(t), Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if st := c.State(); st.InFlight != 1 {
		t.Errorf("the stream holds %d slots", st.InFlight)
	}
	got, err := io.ReadAll(s)
	if err != nil || string(got) != doc {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	s.Close()
	s.Close()
	if st := c.State(); st.InFlight != 0 || st.Requests != 1 || st.Slots != 1 {
		t.Errorf("after it: %+v", st)
	}
	if _, has := header[keyHeader]; has || header.Get("Accept") != "application/json" {
		t.Errorf("headers %v", header)
	}
	if a.uris()[0] != "GET /api/v2/schema/openapi" || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("log: %s", log.String())
	}
}

func TestASchemaThatIsNotOneIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		class  string
	}{
		"login page": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}, ClassNotREST},
		"missing": {http.NotFound, ClassNotInstalled},
		"cut":     {hangUp(200, "application/json", 500), ClassConnection},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			chunk := make([]byte, 1<<20)
			for range 34 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, ClassShape},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, c.handle)
			cl := a.client(t)
			s, err := cl.Schema(within(t), Caller{})
			if err == nil {
				_, err = io.Copy(io.Discard, s)
				s.Close()
			}
			wantClass(t, err, c.class)
			if st := cl.State(); st.InFlight != 0 {
				t.Errorf("a slot was lost: %+v", st)
			}
		})
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := a.client(t)
	got := make(chan error, 1)
	go func() {
		_, err := c.Get(within(t), Caller{}, version, Page{})
		got <- err
	}()
	waitFor(t, func() bool { return a.requests.Load() == 1 })
	c.Close()
	wantClass(t, <-got, ClassCancelled)
}

func TestTheBaseURLKeepsItsPortAndBrackets(t *testing.T) {
	for in, want := range map[string]string{"https://[::1]:8443/": "[::1]:8443", "https://fw": "fw"} {
		u, err := baseURL(in)
		if err != nil || u.Host != want || (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String() != "https://"+want {
			t.Errorf("%s: %v %v", in, u, err)
		}
	}
}

package fakepf

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestEveryFaultDoesWhatItsNameSays(t *testing.T) {
	const list = "/api/v2/firewall/aliases"
	for _, x := range []struct {
		f     Fault
		path  string
		check func(r reply) bool
	}{
		{Fault{Kind: Status, Status: 403}, list, func(r reply) bool { return r.status == 403 && r.id() == "AUTH_AUTHORIZATION_FAILED" }},
		{Fault{Kind: Status, Status: 503, ResponseID: "X"}, list, func(r reply) bool { return r.status == 503 && r.id() == "X" && r.header.Get("Retry-After") == "5" }},
		{Fault{Kind: Login}, list, func(r reply) bool {
			return r.status == 200 && strings.HasPrefix(r.body, "<!DOCTYPE html>") && strings.Contains(r.body, "Login")
		}},
		{Fault{Kind: NotInstalled}, list, func(r reply) bool { return r.status == 404 && r.env == nil }},
		{Fault{Kind: GatewayTimeout}, list, func(r reply) bool { return r.status == 504 }},
		{Fault{Kind: OutOfMemory}, list, func(r reply) bool { return r.status == 500 && strings.Contains(r.body, "PHP ERROR") }},
		{Fault{Kind: Redirect, Value: "https://127.0.0.1:1/"}, list, func(r reply) bool { return r.status == 302 && r.header.Get("Location") == "https://127.0.0.1:1/" }},
		{Fault{Kind: InsertRow, Row: 1}, list + "?limit=3", func(r reply) bool { l := r.data().([]any); return field(l[0], "name") == field(l[1], "name") }},
		{Fault{Kind: DeleteRow, Row: 0}, list, func(r reply) bool { return field(r.data().([]any)[0], "name") == "Bad_Senders" }},
		{Fault{Kind: IgnoreLimit}, list + "?limit=1", func(r reply) bool { return len(r.data().([]any)) == 8 }},
		{Fault{Kind: BadRow, Row: 3}, list, func(r reply) bool { return r.status == 500 && r.id() == "ENDPOINT_RECEIVED_UNEXPECTED_ERROR" }},
		{Fault{Kind: BadRow, Row: 3}, list + "?limit=3", func(r reply) bool { return r.status == 200 }},
		{Fault{Kind: BadRow, Row: 3}, list + "?limit=3&offset=4", func(r reply) bool { return r.status == 200 }},
		{Fault{Kind: BadRow, Row: 3, Value: "empty"}, list + "?limit=3&offset=3", func(r reply) bool { return r.status == 200 && r.body == "\n" }},
		{Fault{Kind: TooMany, Row: 5}, list, func(r reply) bool { return r.status == 500 && r.env == nil }},
		{Fault{Kind: TooMany, Row: 5}, list + "?limit=5", func(r reply) bool { return r.status == 200 }},
		{Fault{Kind: Field, Row: 2, Field: "descr", Value: "17"}, list + "?limit=1&offset=2", func(r reply) bool { return field(r.data().([]any)[0], "descr") == int64(17) }},
		{Fault{Kind: Field, Row: 0, Field: "canary_new", Value: `{"deep":["canary"]}`}, list, func(r reply) bool { return field(r.data().([]any)[0], "canary_new") != nil }},
		{Fault{Kind: Field, Row: 0, Field: "descr", Value: "\"\xe9\""}, list, func(r reply) bool { return strings.Contains(r.body, "\"\xe9\"") }},
		{Fault{Kind: Field, Field: "hostname", Value: "null"}, "/api/v2/system/hostname", func(r reply) bool { return field(r.data(), "hostname") == nil }},
		{Fault{Kind: DropField, Row: 1, Field: "name"}, list, func(r reply) bool { return field(r.data().([]any)[1], "name") == nil }},
		{Fault{Kind: NullRow, Row: 2}, list, func(r reply) bool { return r.data().([]any)[2] == nil }},
		{Fault{Kind: ScalarRow, Row: 2, Value: `"x"`}, list, func(r reply) bool { return r.data().([]any)[2] == "x" }},
		{Fault{Kind: DataKind, Value: `{}`}, list, func(r reply) bool { _, l := r.data().([]any); return !l && r.data() != nil }},
		{Fault{Kind: NoData}, list, func(r reply) bool { _, ok := r.env.Get("data"); return !ok && r.id() == "SUCCESS" }},
		{Fault{Kind: DuplicateKeys}, list, func(r reply) bool { return strings.Count(r.body, `"status":"ok"`) == 2 }},
		{Fault{Kind: DuplicateKeys, Row: 1, Field: "name"}, list, func(r reply) bool { return strings.Count(r.body, `"name":"Bad_Senders"`) == 2 }},
		{Fault{Kind: Warning}, list, func(r reply) bool { return strings.HasPrefix(r.body, "<br />") && strings.HasSuffix(r.body, "}\n") }},
		{Fault{Kind: EmptyBody}, list, func(r reply) bool { return r.status == 200 && r.body == "" }},
		{Fault{Kind: Trailing, Value: "{}"}, list, func(r reply) bool { return strings.HasSuffix(r.body, "}\n{}") }},
		{Fault{Kind: ContentType, Value: "text/html"}, list, func(r reply) bool { return r.header.Get("Content-Type") == "text/html" && r.env != nil }},
		{Fault{Kind: ContentType}, list, func(r reply) bool { _, ok := r.header["Content-Type"]; return !ok }},
		{Fault{Kind: Huge, Bytes: 1 << 20}, list, func(r reply) bool { return len(r.body) == 1<<20 && r.id() == "SUCCESS" }},
		{Fault{Kind: WholeBody, Value: "[]"}, list, func(r reply) bool { return r.body == "[]" }},
		{Fault{Kind: Reset}, list, func(r reply) bool { return r.err != nil && r.status == 0 }},
		{Fault{Kind: Reset, Bytes: 20}, list, func(r reply) bool { return r.err != nil }},
		{Fault{Kind: Truncate, Bytes: 40}, list, func(r reply) bool { return r.err != nil && len(r.body) == 40 }},
		{Fault{Kind: Drip, Bytes: 600, Delay: time.Millisecond}, list, func(r reply) bool { return r.err == nil && r.id() == "SUCCESS" }},
		{Fault{Kind: Delay, Delay: 30 * time.Millisecond}, list, func(r reply) bool { return r.id() == "SUCCESS" }},
	} {
		s := Start(t, Options{})
		x.f.Count = -1
		s.Fault(x.f)
		begin := time.Now()
		r := do(t, client(t, s), s, "GET", x.path, "")
		if !x.check(r) {
			t.Errorf("%+v: %v %d %.200q", x.f, r.err, r.status, r.body)
		}
		if x.f.Kind == Delay && time.Since(begin) < x.f.Delay {
			t.Error("the delay was not kept")
		}
	}
}

func TestARuleHitsOnlyWhatItNames(t *testing.T) {
	s := Start(t, Options{})
	c := client(t, s)
	id := s.Fault(Fault{Kind: Status, Status: 500, Path: "/api/v2/firewall/*", Query: "offset=2", Nth: 2, Count: 2})
	status := func(path string) int { return do(t, c, s, "GET", path, "").status }
	for i, want := range []int{200, 500, 500, 200} {
		if got := status("/api/v2/firewall/aliases?limit=1&offset=2"); got != want {
			t.Errorf("request %d: %d", i, got)
		}
		if status("/api/v2/firewall/aliases?limit=1") != 200 || status("/api/v2/system/version?offset=2") != 200 {
			t.Error("a request that the rule does not name was hit")
		}
	}
	s.RemoveFault(id)
	s.Fault(Fault{Kind: Login, Path: "/api/v2/system/**", Count: -1})
	if do(t, c, s, "GET", "/api/v2/system/restapi/version", "").env != nil {
		t.Error("** does not reach below")
	}
	s.ClearFaults()
	if status("/api/v2/system/version") != 200 {
		t.Error("a cleared rule still hits")
	}
	if _, err := s.AddFault(Fault{Kind: "no such"}); err == nil {
		t.Error("an unknown kind was taken")
	}
	if _, err := s.AddFault(Fault{Kind: Delay, Path: "["}); err == nil {
		t.Error("a bad glob was taken")
	}
	for _, r := range s.RequestsTo("/api/v2/system/restapi/version") {
		if r.Fault != string(Login) {
			t.Errorf("%+v", r)
		}
	}
}

func TestAHangEndsWithItsClient(t *testing.T) {
	s := Start(t, Options{})
	c := client(t, s)
	s.Fault(Fault{Kind: Hang})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for s.Counters().InFlight == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL()+"/api/v2/system/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(req); err == nil {
		t.Fatal("it answered")
	}
	if r := do(t, c, s, "GET", "/api/v2/system/version", ""); r.status != 401 && r.status != 200 {
		t.Fatal(r.err, r.status)
	}
}

func TestLoginProtectionCutsAfterTooManyWrongKeys(t *testing.T) {
	s := Start(t, Options{BlockAfter: 2})
	c := client(t, s)
	for range 2 {
		if r := do(t, c, s, "GET", "/api/v2/system/version", "", "X-API-Key", "nope"); r.status != 401 {
			t.Fatal(r.status)
		}
	}
	if r := do(t, c, s, "GET", "/api/v2/system/version", ""); r.err == nil {
		t.Fatal("a blocked client got an answer")
	}
}

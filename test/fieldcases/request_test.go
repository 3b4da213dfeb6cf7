package fieldcases

import (
	"context"
	"io"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/test/fakepf"
)

// A Content-Type on a GET makes pfREST drop the query and answer every row.
func TestCase1NoRequestCarriesAContentTypeAndAnIgnoredLimitIsCutAndSaid(t *testing.T) {
	r := appliance(t, fakepf.Options{Rules: 200})
	tools(func(tool *catalog.Tool) { r.run(tool, `{}`).good(t) })
	for _, q := range r.Requests() {
		if _, has := q.Header["Content-Type"]; has || q.BodyIn > 0 {
			t.Errorf("%s was asked with the content type %q and %d bytes", q.Path, q.Header["Content-Type"], q.BodyIn)
		}
	}
	a := r.call("firewall_rules", `{"limit":1}`).good(t)
	if len(a.Rows) != 1 || a.Complete {
		t.Errorf("%d rows for a limit of 1", len(a.Rows))
	}
	r.Fault(fakepf.Fault{Kind: fakepf.IgnoreLimit, Path: "/api/v2/firewall/rules"})
	a = r.call("firewall_rules", `{"limit":1}`).good(t)
	if len(a.Rows) != 1 || a.note("ignored the page size") == "" {
		t.Errorf("%d rows, notes %q", len(a.Rows), a.Notes)
	}
}

// pfREST compares Accept as one literal: a library's usual list gets 406.
func TestCase2AcceptIsOneTypeAndA406IsOurFault(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	tools(func(tool *catalog.Tool) { r.run(tool, `{}`).good(t) })
	for _, q := range r.Requests() {
		if q.Header["Accept"] != "application/json" {
			t.Fatalf("%s: Accept is %q", q.Path, q.Header["Accept"])
		}
	}
	r.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 406, ResponseID: "CONTENT_HANDLER_ENCODE_NOT_FOUND"})
	e := r.call("system_version", `{}`).refused(t, pfrest.ClassClientBug)
	if !strings.Contains(e.Next, "report both versions") {
		t.Errorf("the next step is %q", e.Next)
	}
}

// Observed 3, 4, 5, N4: whatever pfREST does not know as a parameter is a filter,
// and a filter inverts, coerces, matches everything, or reads hidden secrets.
func TestCase3NothingOfACallerReachesAQuery(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	tools(func(tool *catalog.Tool) {
		if !tool.List {
			return
		}
		r.run(tool, `{"limit":7,"offset":3}`)
		for _, f := range tool.Model.Fields {
			if f.Gate == catalog.Shown && f.Kind == catalog.String {
				r.run(tool, `{"limit":2,"where":["`+f.Name+` contains vpn"],"fields":["`+f.Name+`"]}`).good(t)
				break
			}
		}
	})
	if e := r.call("firewall_rules", `{"where":["descrip contains vpn"]}`).refused(t, "request_validation"); !strings.Contains(e.Next, "descr") {
		t.Errorf("a mistyped field is refused without the right one: %v, %s", e, e.Next)
	}
	r.call("firewall_rules", `{"descr__contains":"vpn"}`).refused(t, "request_validation")
	for _, q := range r.Requests() {
		for part := range strings.SplitSeq(q.Query, "&") {
			if name, value, _ := strings.Cut(part, "="); part != "" && (name != "limit" && name != "offset" || strings.Trim(value, "0123456789") != "") {
				t.Errorf("%s?%s", q.Path, q.Query)
			}
		}
	}
}

// N20: a stray Authorization header beats a good key. N22: the document is public.
func TestObservedN20NothingIsAddedToTheKeyAndN22TheDocumentNeedsNone(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	tools(func(tool *catalog.Tool) { r.run(tool, `{}`).good(t) })
	for _, q := range r.Requests() {
		if q.Header["Authorization"] != "" || q.Header["Cookie"] != "" || q.Header["X-Api-Key"] == "" {
			t.Fatalf("%s: %v", q.Path, q.Header)
		}
	}
	r.SetKeys(nil) // no key is good any more
	doc, err := r.client.Schema(context.Background(), me)
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Close()
	if n, err := io.Copy(io.Discard, doc); err != nil || n < 1000 {
		t.Errorf("%d bytes: %v", n, err)
	}
	q := r.RequestsTo(string(pfrest.SchemaEndpoint))
	if len(q) != 1 || q[0].Header["X-Api-Key"] != "" {
		t.Errorf("%+v", q)
	}
}

// N21: a limit of 0 means all, and -1, 1.5 or text are refused upstream.
func TestObservedN21ALimitOutOfBoundsIsRefusedBeforeAnyRequest(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	tools(func(tool *catalog.Tool) {
		if !tool.List {
			return
		}
		for _, bad := range []string{"0", "-1", "1.5", `"abc"`, "true", "1e2", "null", "501", "[1]"} {
			if e := r.run(tool, `{"limit":`+bad+`}`).refused(t, "request_validation"); !strings.Contains(e.Msg, "limit") {
				t.Errorf("%s: %v", tool.Name, e)
			}
		}
	})
	if n := len(r.Requests()); n != 0 {
		t.Errorf("%d requests were made", n)
	}
	r.call("firewall_aliases", `{}`).good(t)
	for _, q := range r.Requests() {
		if q.Query == "" || strings.Contains(q.Query, "limit=0") {
			t.Errorf("a list was asked for whole: %q", q.Query)
		}
	}
}

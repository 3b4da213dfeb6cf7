package readtool

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
)

func TestAListIsPagedFilteredAndCounted(t *testing.T) {
	for name, c := range map[string]struct {
		n, scan  int
		args     string
		first    string // name of the first row, "" for none
		returned int
		matched  string
		scanned  int
		complete bool
		note     string
	}{
		"everything":                       {n: 3, args: `{}`, first: "row0", returned: 3, matched: "3", scanned: 3, complete: true},
		"no arguments at all":              {n: 3, args: ``, first: "row0", returned: 3, matched: "3", scanned: 3, complete: true},
		"null as arguments":                {n: 3, args: `null`, first: "row0", returned: 3, matched: "3", scanned: 3, complete: true},
		"nothing":                          {n: 0, args: `{}`, matched: "0", complete: true},
		"exactly the limit":                {n: 5, args: `{"limit":5}`, first: "row0", returned: 5, matched: "5", scanned: 5, complete: true},
		"one more than the limit":          {n: 6, args: `{"limit":5}`, first: "row0", returned: 5, matched: "null", scanned: 6, note: "more rows with offset 5"},
		"an offset":                        {n: 9, args: `{"limit":5,"offset":4}`, first: "row4", returned: 5, matched: "9", scanned: 9, complete: true},
		"an offset beyond the end":         {n: 3, args: `{"offset":7}`, matched: "3", scanned: 3, complete: true, note: "offset 7 is behind the last of 3 rows that match"},
		"the walk stops early":             {n: 90, args: `{"limit":5,"offset":2}`, first: "row2", returned: 5, matched: "null", scanned: 8, note: "more rows with offset 7"},
		"a filter counts every match":      {n: 90, args: `{"limit":2,"where":["bytes >= 500"]}`, first: "row50", returned: 2, matched: "40", scanned: 90, note: "more rows with offset 2"},
		"offset counts matches":            {n: 90, args: `{"limit":2,"offset":38,"where":["bytes >= 500"]}`, first: "row88", returned: 2, matched: "40", scanned: 90, complete: true},
		"a filter without a match":         {n: 9, args: `{"where":["name = x"]}`, matched: "0", scanned: 9, complete: true},
		"a filter stops at the scan bound": {n: 400, scan: 300, args: `{"where":["bytes = 10"]}`, first: "row1", returned: 1, matched: "null", scanned: 300, note: "without where, they begin at offset 300"},
		"the last offset there is":         {n: 100_002, args: `{"limit":1,"offset":100000}`, first: "row100000", returned: 1, matched: "null", scanned: 100_002, note: "more rows, which no offset reaches: add where"},
		"a limit sent as text is taken":    {n: 9, args: `{"limit":"2"}`, first: "row0", returned: 2, matched: "null", scanned: 3, note: "limit was sent as text"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{data: map[string]string{testPath: rows(c.n)}}
			a, res := run(t, reader(t, Config{Client: f, ScanRows: c.scan}), testTool(), c.args)
			matched, first := "null", ""
			if a.Matched != nil {
				matched = fmt.Sprint(*a.Matched)
			}
			if len(a.Rows) > 0 {
				first = strings.Trim(string(a.Rows[0]["name"]), `"`)
			}
			if first != c.first || a.Returned != c.returned || len(a.Rows) != c.returned || matched != c.matched || a.Scanned != c.scanned || a.Complete != c.complete {
				t.Fatalf("first %q returned %d matched %s scanned %d complete %v", first, a.Returned, matched, a.Scanned, a.Complete)
			}
			if c.note != "" && !hasNote(a.Notes, c.note) || c.complete && hasNote(a.Notes, "more rows") {
				t.Fatalf("notes %q", a.Notes)
			}
			if res.Rows != a.Returned || res.Scanned != a.Scanned || res.Truncated == a.Complete {
				t.Fatalf("%+v", res)
			}
		})
	}
}

func TestTheResultHasExactlyTheseMembersInThisOrder(t *testing.T) {
	f := &fake{data: map[string]string{testPath: `[{"conns":[{"port":1,"user":"al"}],"id":1,"name":"a","_links":{},"address":"192.0.2.1","type":"urltable"}]`}}
	r := reader(t, Config{Client: f, InterfaceNames: func(context.Context, pfrest.Caller) string { return "descr" }})
	_, res := run(t, r, testTool(), `{}`)
	want := `{"rows":[{"id":1,"name":"a","type":"urltable","address":null,"conns":[{"user":null,"port":1}]}],"returned":1,"matched":1,"scanned":1,"complete":true,` +
		`"notes":["values outside the set this server knows, passed on: type (1)","2 fields hidden: include_identifying_metadata","interface_names: descr","fields this appliance does not send: interface, bytes, options"]}`
	if d := cmp.Diff(want, string(res.JSON)); d != "" {
		t.Fatal(d)
	}
	tool := testTool()
	tool.List, tool.MaxLimit = false, 0
	f.data[testPath] = `{"id":1,"name":"a"}`
	_, res = run(t, r, tool, `{"include_identifying_metadata":true}`)
	want = `{"object":{"id":1,"name":"a"},"notes":["interface_names: descr","fields this appliance does not send: type, interface, address, bytes, options, conns"]}`
	if d := cmp.Diff(want, string(res.JSON)); d != "" {
		t.Fatal(d)
	}
}

func TestBadArgumentsAreRefusedBeforeAnyRequest(t *testing.T) {
	f := &fake{data: map[string]string{testPath: rows(1)}}
	r := reader(t, Config{Client: f})
	for args, want := range map[string]string{
		`[]`:                                     "must be a JSON object",
		`{`:                                      "not valid JSON",
		`{"limit":1}{}`:                          "not valid JSON",
		`{"limit":1,"limit":2}`:                  "named twice",
		`{"limit":0}`:                            "limit must be from 1 to 100, got 0",
		`{"limit":101}`:                          "limit must be from 1 to 100, got 101",
		`{"limit":-1}`:                           "got -1",
		`{"limit":1.5}`:                          "whole number",
		`{"limit":1e1}`:                          "whole number",
		`{"limit":"ten"}`:                        "whole number",
		`{"limit":" 5"}`:                         "whole number",
		`{"limit":true}`:                         "whole number",
		`{"limit":null}`:                         "whole number",
		`{"limit":99999999999999999999}`:         "a number of 20 digits",
		`{"offset":100001}`:                      "offset must be from 0 to 100000, got 100001",
		`{"offset":-1}`:                          "got -1",
		`{"fields":"name"}`:                      "list of texts",
		`{"fields":[1]}`:                         "list of texts",
		`{"fields":[]}`:                          "1 to 100 fields",
		`{"fields":["nmae"]}`:                    "no field of this tool",
		`{"fields":["address"]}`:                 "identifying metadata",
		`{"fields":["conns.user"]}`:              "identifying metadata",
		`{"where":["address = 10.0.0.1"]}`:       "identifying metadata",
		`{"where":["conns.user = al"]}`:          "identifying metadata",
		`{"where":{}}`:                           "list of texts",
		`{"where":["nmae = x"]}`:                 "unknown field",
		`{"include_identifying_metadata":"yes"}`: "must be true or false",
		`{"include_identifying_metadata":1}`:     "must be true or false",
		`{"limt":5}`:                             "unknown argument; allowed: limit, offset, fields, where, include_identifying_metadata",
		`{"where":["name = ` + strings.Repeat("x", 70000) + `"]}`: "at most 65536 bytes",
	} {
		e := fails(t, r, testTool(), args)
		if e.Code != errs.Invalid || e.Class != "request_validation" || !strings.Contains(e.Msg, want) || e.Next == "" {
			t.Errorf("%.60s: %s %q %q", args, e.Class, e.Msg, e.Next)
		}
	}
	if len(f.requests) != 0 {
		t.Fatalf("requests were sent: %q", f.requests)
	}
	if e := fails(t, r, testTool(), `{"limt":5}`); !strings.Contains(e.Next, `did you mean limit? example: {"limit": 50}`) {
		t.Errorf("no nearest match: %q", e.Next)
	}
	if e := fails(t, r, testTool(), `{"fields":["adress"]}`); !strings.Contains(e.Next, "did you mean address?") {
		t.Errorf("no nearest match: %q", e.Next)
	}
	plain := testTool()
	plain.Model = &catalog.Model{Name: "Plain", Fields: []catalog.Field{{Name: "id", Kind: catalog.Integer}}}
	if e := fails(t, r, plain, `{"include_identifying_metadata":true}`); !strings.Contains(e.Msg, "unknown argument; allowed: limit, offset, fields, where") {
		t.Errorf("the flag is taken where nothing is gated: %q", e.Msg)
	}
	plain.List = false
	if e := fails(t, r, plain, `{"limit":1}`); !strings.Contains(e.Msg, "takes none") {
		t.Errorf("an object tool takes a limit: %q", e.Msg)
	}
}

func TestNothingOfACallerReachesTheRequest(t *testing.T) {
	f := &fake{data: map[string]string{testPath: rows(3)}}
	run(t, reader(t, Config{Client: f}), testTool(), `{"limit":2,"where":["name contains canary"],"fields":["name"],"include_identifying_metadata":true}`)
	if d := cmp.Diff([]string{testPath}, f.requests); d != "" {
		t.Fatal(d)
	}
	if o := f.opts[0]; o.PageSize != 250 || o.MaxRows != DefaultScanRows {
		t.Fatalf("walk options %+v", o)
	}
}

func TestAShortListIsAskedForInOneShortPage(t *testing.T) {
	f := &fake{data: map[string]string{testPath: rows(3)}}
	run(t, reader(t, Config{Client: f}), testTool(), `{"limit":5}`)
	if o := f.opts[0]; o.PageSize != 6 {
		t.Fatalf("page size %d, want 6", o.PageSize)
	}
}

func TestBadRowsAreLeftOutAndNamed(t *testing.T) {
	f := &fake{
		data:   map[string]string{testPath: `[{"id":1,"name":"a","type":7},null,{"id":2},{"id":3,"name":"c","zz":1}]`},
		walked: pfrest.Walked{Bad: []int{17, 4}, Links: true, IgnoredLimit: true},
	}
	a, res := run(t, reader(t, Config{Client: f}), testTool(), `{}`)
	if a.Returned != 2 || a.Scanned != 2 || a.Complete || res.Drift != 2 {
		t.Fatalf("%+v %+v", a, res)
	}
	for _, want := range []string{"by position: 4, 17", "2 rows left out", "unexpected type, shown as null: type (1)", "1 value under names", "HATEOAS", "ignored the page size", "interface_names: unknown"} {
		if !hasNote(a.Notes, want) {
			t.Errorf("no note %q in %q", want, a.Notes)
		}
	}
	if strings.Contains(string(res.JSON), "zz") {
		t.Error("an unknown name is quoted")
	}
}

// What is said of a list that was not read whole is what happened to it.
func TestTheReasonThatAListIsNotWholeIsTheRightOne(t *testing.T) {
	const bound, change, again, stuck = "the bound of one call", "rows may be missing", "read again from its start", "too many rows could not be read"
	for name, c := range map[string]struct {
		walked pfrest.Walked
		scan   int
		args   string
		want   string // the one of the notes above
	}{
		"a bad row, read to the end":               {pfrest.Walked{Bad: []int{4}}, 0, `{"where":["bytes >= 0"]}`, ""},
		"bad rows beyond what is tried":            {pfrest.Walked{Bad: []int{1, 3}, Stuck: true}, 0, `{"where":["bytes >= 0"]}`, stuck},
		"a change in both readings":                {pfrest.Walked{Changed: true, Moved: true}, 0, `{"where":["bytes >= 0"]}`, change},
		"a change, and enough rows the next time":  {pfrest.Walked{Changed: true}, 0, `{"limit":3}`, again},
		"a change, and a bad row":                  {pfrest.Walked{Changed: true, Bad: []int{4}}, 0, `{"where":["bytes >= 0"]}`, again},
		"more rows than one call reads":            {pfrest.Walked{}, 300, `{"where":["bytes >= 0"]}`, bound},
		"more rows, and one of them cannot be had": {pfrest.Walked{Bad: []int{4}}, 300, `{"where":["bytes >= 0"]}`, bound},
	} {
		f := &fake{data: map[string]string{testPath: rows(400)}, walked: c.walked}
		a, _ := run(t, reader(t, Config{Client: f, ScanRows: c.scan}), testTool(), c.args)
		for _, note := range []string{bound, change, again, stuck} {
			if hasNote(a.Notes, note) != (note == c.want) {
				t.Errorf("%s: %q, want %q alone", name, a.Notes, c.want)
			}
		}
		if a.Complete {
			t.Errorf("%s: complete", name)
		}
	}
}

func TestMoreThanHalfUnusableIsAnError(t *testing.T) {
	f := &fake{data: map[string]string{testPath: `[{"id":1,"name":"a"},1,2]`}}
	if e := fails(t, reader(t, Config{Client: f}), testTool(), `{}`); e.Class != "response_shape" {
		t.Fatalf("%+v", e)
	}
	f.data[testPath] = `[{"id":1,"name":"a"},1]`
	run(t, reader(t, Config{Client: f}), testTool(), `{}`)
	tool := testTool()
	tool.List = false
	f.data[testPath] = `[]`
	if e := fails(t, reader(t, Config{Client: f}), tool, `{}`); e.Class != "response_shape" {
		t.Fatalf("%+v", e)
	}
}

func TestAListThatChangedIsCountedFromItsNewStart(t *testing.T) {
	f := &fake{data: map[string]string{testPath: rows(20)}, changes: 1, walked: pfrest.Walked{Changed: true}}
	f.data[testPath] = strings.Replace(rows(20), `"type":"host"`, `"type":7`, 1)
	a, res := run(t, reader(t, Config{Client: f}), testTool(), `{"where":["bytes >= 0"]}`)
	if res.Drift != 1 {
		t.Fatalf("drift of a reading that is void is counted: %d", res.Drift)
	}
	if a.Scanned != 20 || *a.Matched != 20 || len(a.Rows) != 20 || !a.Complete || !hasNote(a.Notes, "read again from its start") {
		t.Fatalf("scanned %d matched %d rows %d complete %v %q", a.Scanned, *a.Matched, len(a.Rows), a.Complete, a.Notes)
	}
}

func TestAReadingThatStoppedEarlyDoesNotShortenTheNextOne(t *testing.T) {
	f := &fake{data: map[string]string{testPath: rows(20)}, changes: 1, walked: pfrest.Walked{Changed: true}}
	a, _ := run(t, reader(t, Config{Client: f}), testTool(), `{"limit":2}`)
	if len(a.Rows) != 2 || a.Scanned != 3 || a.Complete {
		t.Fatalf("rows %d scanned %d complete %v, expected 2, 3 and false", len(a.Rows), a.Scanned, a.Complete)
	}
}

func TestSameRowIsJudgedByTheModel(t *testing.T) {
	f := &fake{data: map[string]string{testPath: rows(1)}}
	run(t, reader(t, Config{Client: f}), testTool(), `{}`)
	same := f.opts[0].Same
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"id":1,"name":"a","bytes":1}`, `{"id":9,"name":"a","bytes":2}`, true},
		{`{"id":1,"name":"a","address":"x"}`, `{"id":1,"name":"a","address":"y"}`, false},
		{`null`, `null`, true},
		{`null`, `{"id":1}`, false},
	} {
		if got := same(jsontext.Value(c.a), jsontext.Value(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

func TestAResultKeepsItsByteBudget(t *testing.T) {
	for _, budget := range []int{MinResultBytes, DefaultResultBytes, MaxResultBytes} {
		f := &fake{data: map[string]string{testPath: rows(3000)}}
		tool := testTool()
		tool.MaxLimit = 3000
		r := reader(t, Config{Client: f, ResultBytes: budget})
		got, offset := 0, 0
		for range 3000 {
			a, res := run(t, r, tool, fmt.Sprintf(`{"limit":3000,"offset":%d}`, offset))
			if len(res.JSON) > budget {
				t.Fatalf("%d bytes, budget %d", len(res.JSON), budget)
			}
			if want := fmt.Sprintf(`"row%d"`, offset); string(a.Rows[0]["name"]) != want {
				t.Fatalf("starts with %s, want %s", a.Rows[0]["name"], want)
			}
			got += a.Returned
			offset += a.Returned
			if a.Complete {
				break
			}
			if !hasNote(a.Notes, fmt.Sprintf("more rows with offset %d", offset)) {
				t.Fatalf("no way on: %q", a.Notes)
			}
		}
		if got != 3000 {
			t.Fatalf("%d rows in all, want 3000", got)
		}
	}
}

func TestARowOverTheBudgetIsCutAndSaysSo(t *testing.T) {
	long := strings.Repeat("lorem ipsum ", 4000)
	f := &fake{data: map[string]string{testPath: `[{"id":1,"name":"a","options":"` + long + `"},{"id":2,"name":"b"}]`}}
	a, res := run(t, reader(t, Config{Client: f, ResultBytes: MinResultBytes}), testTool(), `{}`)
	if len(res.JSON) > MinResultBytes || len(a.Rows) != 2 || !hasNote(a.Notes, "the row at offset 0 is too large: 1 text or list cut") {
		t.Fatalf("%d bytes, %d rows, %q", len(res.JSON), len(a.Rows), a.Notes)
	}
	if !strings.Contains(string(a.Rows[0]["options"]), `\{cut}`) {
		t.Fatal("the cut does not show in the value")
	}
	tool := testTool()
	tool.List = false
	f.data[testPath] = `{"id":1,"name":"a","options":"` + long + `","conns":[` + strings.Repeat(`{"port":1},`, 5000) + `{"port":2}]}`
	a, res = run(t, reader(t, Config{Client: f, ResultBytes: MinResultBytes}), tool, `{}`)
	if len(res.JSON) > MinResultBytes || a.Object["id"] == nil || !hasNote(a.Notes, "the object is too large: 2 texts or lists cut") {
		t.Fatalf("%d bytes %q", len(res.JSON), a.Notes)
	}
}

func TestAListOfManyEntriesIsCutToFit(t *testing.T) {
	tool := testTool()
	tool.Model = &catalog.Model{Name: "Alias", Fields: []catalog.Field{{Name: "name", Mark: catalog.Key}, {Name: "address", List: true}}}
	f := &fake{data: map[string]string{testPath: `[{"name":"a","address":[` + strings.Repeat(`"198.51.100.1",`, 50_000) + `"x"]}]`}}
	a, res := run(t, reader(t, Config{Client: f}), tool, `{}`)
	if len(a.Rows) != 1 || len(res.JSON) > DefaultResultBytes || !hasNote(a.Notes, "1 text or list cut") {
		t.Fatalf("%d bytes %q", len(res.JSON), a.Notes)
	}
	if n := cap(res.JSON); n > 4*DefaultResultBytes {
		t.Fatalf("%d bytes taken", n)
	}
}

func TestALargeRowInTheMiddleIsNotLost(t *testing.T) {
	long := strings.Repeat("x", 6000)
	f := &fake{data: map[string]string{testPath: `[{"id":1,"name":"a"},{"id":2,"name":"b","options":"` + long + `"},{"id":3,"name":"c"}]`}}
	r := reader(t, Config{Client: f, ResultBytes: MinResultBytes})
	a, _ := run(t, r, testTool(), `{}`)
	if a.Returned != 1 || !hasNote(a.Notes, "more rows with offset 1") {
		t.Fatalf("%+v", a)
	}
	a, _ = run(t, r, testTool(), `{"offset":1}`)
	if a.Returned != 2 || string(a.Rows[0]["id"]) != "2" || !a.Complete {
		t.Fatalf("%+v", a)
	}
}

func TestErrorsSayWhatTheTableKnows(t *testing.T) {
	tool := testTool()
	tool.Package = "pfSense-pkg-bind"
	f := &fake{errs: map[string]error{testPath: errs.New(errs.Denied, "x").WithClass(pfrest.ClassAuthorization)}}
	r := reader(t, Config{Client: f})
	if e := fails(t, r, tool, `{}`); !strings.Contains(e.Msg, "api-v2-test-rows-get") || e.Code != errs.Denied {
		t.Errorf("%+v", e)
	}
	f.errs[testPath] = errs.New(errs.NotFound, "x").WithClass(pfrest.ClassPackageAbsent)
	if e := fails(t, r, tool, `{}`); !strings.Contains(e.Msg, "pfSense-pkg-bind is not installed") {
		t.Errorf("%+v", e)
	}
	tool.Reads = &catalog.Via{Path: "/api/v2/test/parents", Field: "conns"}
	f.errs["/api/v2/test/parents"] = errs.New(errs.Denied, "x").WithClass(pfrest.ClassAuthorization)
	if e := fails(t, r, tool, `{}`); !strings.Contains(e.Msg, "api-v2-test-parents-get") {
		t.Errorf("%+v", e)
	}
	f.errs[testPath] = errs.New(errs.Unavailable, "gone").WithClass(pfrest.ClassConnection)
	tool.Reads = nil
	if e := fails(t, r, tool, `{}`); e.Msg != "gone" {
		t.Errorf("%+v", e)
	}
}

func TestNestedRowsOfAParentAreFlattenedWithItsId(t *testing.T) {
	const parents = "/api/v2/test/parents"
	tool := &catalog.Tool{
		Name: "pfsense_get_test_children", Path: testPath, List: true, MaxLimit: 100, Reads: &catalog.Via{Path: parents, Field: "conns"},
		Model: &catalog.Model{Name: "Child", Fields: []catalog.Field{
			{Name: "parent_id", Kind: catalog.Integer, Mark: catalog.Key},
			{Name: "id", Kind: catalog.Integer, Mark: catalog.Key},
			{Name: "port"},
		}},
	}
	f := &fake{data: map[string]string{parents: `[{"id":7,"conns":[{"id":0,"port":"a"},{"parent_id":99,"id":1,"port":"b"}]},{"id":8,"conns":null},{"id":9,"conns":[{"id":0,"port":"c"}]},{"id":10}]`}}
	r := reader(t, Config{Client: f})
	_, res := run(t, r, tool, `{}`)
	want := `{"rows":[{"parent_id":7,"id":0,"port":"a"},{"parent_id":7,"id":1,"port":"b"},{"parent_id":9,"id":0,"port":"c"}],"returned":3,"matched":3,"scanned":3,"complete":true,"notes":[]}`
	if d := cmp.Diff(want, string(res.JSON)); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff([]string{parents}, f.requests); d != "" {
		t.Fatal(d)
	}
	a, _ := run(t, r, tool, `{"where":["parent_id = 9"]}`)
	if *a.Matched != 1 {
		t.Fatalf("%+v", a)
	}
	a, _ = run(t, r, tool, `{"limit":1}`)
	if a.Matched != nil || a.Returned != 1 || !hasNote(a.Notes, "more rows with offset 1") {
		t.Fatalf("%+v", a)
	}
	f.data[parents] = `[{"id":1,"conns":{}},{"id":2,"conns":[]},3]`
	if e := fails(t, r, tool, `{}`); e.Class != "response_shape" {
		t.Fatalf("%+v", e)
	}
}

func TestPackageStateIsLookedUpAndNeverInferred(t *testing.T) {
	tool := testTool()
	tool.Package = "pfSense-pkg-Cron"
	object := testTool()
	object.Package, object.List = tool.Package, false
	const list = `[{"name":"pfSense-pkg-sudo"},{"name":"pfSense-pkg-%s"}]`
	for name, c := range map[string]struct {
		tool       *catalog.Tool
		rows, pkgs string
		err        error
		note       string
	}{
		"installed with rows":       {tool, rows(1), fmt.Sprintf(list, "Cron"), nil, "package_state: installed: pfSense-pkg-Cron"},
		"a development build":       {tool, rows(1), fmt.Sprintf(list, "Cron-devel"), nil, "package_state: installed"},
		"installed and empty":       {tool, `[]`, fmt.Sprintf(list, "Cron"), nil, "nothing configured here"},
		"absent with rows":          {tool, rows(1), fmt.Sprintf(list, "Cronus"), nil, "package_state: absent: pfSense-pkg-Cron is not installed; these rows are stored"},
		"absent and empty":          {tool, `[]`, `[]`, nil, "the empty list says nothing else"},
		"absent with an object":     {object, `{"id":1,"name":"x"}`, `[]`, nil, "these are defaults"},
		"no privilege":              {tool, rows(1), ``, errs.New(errs.Denied, "x"), "package_state: unknown"},
		"no privilege and empty":    {tool, `[]`, ``, errs.New(errs.Denied, "x"), "does not tell an absent pfSense-pkg-Cron from one"},
		"a list with unusable rows": {tool, rows(1), `[{"name":null},{"name":"x"}]`, nil, "package_state: unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{data: map[string]string{testPath: c.rows, catalog.PathPackages: c.pkgs}, errs: map[string]error{}}
			if c.err != nil {
				f.errs[catalog.PathPackages] = c.err
			}
			now := time.Unix(1e9, 0)
			r := reader(t, Config{Client: f, Now: func() time.Time { return now }})
			a, _ := run(t, r, c.tool, `{}`)
			if !hasNote(a.Notes, c.note) {
				t.Fatalf("notes %q", a.Notes)
			}
			if c.tool.List && len(a.Rows) != len(split(c.rows)) {
				t.Fatalf("%d rows shown", len(a.Rows))
			}
			before := len(f.requests)
			run(t, r, c.tool, `{}`)
			if len(f.requests) != before+1 {
				t.Fatal("the package list is read again at once")
			}
			now = now.Add(packageAge)
			run(t, r, c.tool, `{}`)
			if len(f.requests) != before+3 {
				t.Fatal("the package list is kept for more than its age")
			}
		})
	}
}

func TestAnEmptyLeaseListSaysWhatItDoesNotTell(t *testing.T) {
	tool := testTool()
	tool.Path = catalog.PathDHCPLeases
	f := &fake{data: map[string]string{catalog.PathDHCPLeases: `[]`}}
	if a, _ := run(t, reader(t, Config{Client: f}), tool, `{}`); !hasNote(a.Notes, "an empty lease list does not tell") {
		t.Fatalf("%q", a.Notes)
	}
	if real, ok := catalog.Lookup("pfsense_get_dhcp_leases"); ok && real.Path != catalog.PathDHCPLeases {
		t.Fatalf("the catalog's leases are at %s", real.Path)
	}
}

func TestMaskedTextsAreCountedAndCannotBeSearched(t *testing.T) {
	f := &fake{data: map[string]string{testPath: `[{"id":1,"name":"a","options":"x\npassword hunter2\ny"}]`}}
	r := reader(t, Config{Client: f})
	a, res := run(t, r, testTool(), `{}`)
	if strings.Contains(string(res.JSON), "hunter2") || !hasNote(a.Notes, "1 text with something that may be a secret: masked") {
		t.Fatalf("%s", res.JSON)
	}
	if a, _ := run(t, r, testTool(), `{"where":["options contains hunter2"]}`); *a.Matched != 0 {
		t.Fatal("a masked secret can be searched")
	}
}

func TestProgressIsPassedOnAndACancelledWalkEnds(t *testing.T) {
	f := &fake{data: map[string]string{testPath: rows(600)}}
	r := reader(t, Config{Client: f})
	var seen []int
	args := []byte(`{"where":["bytes >= 0"]}`)
	if _, err := r.Run(t.Context(), pfrest.Caller{}, testTool(), args, func(n int) { seen = append(seen, n) }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int{250, 500}, seen); d != "" {
		t.Fatal(d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := r.Run(ctx, pfrest.Caller{}, testTool(), args, func(int) { cancel() }); err == nil {
		t.Fatal("a cancelled call is answered")
	}
}

func TestSettingsOutOfBoundsAndLocalToolsAreRefused(t *testing.T) {
	for _, c := range []Config{{}, {Client: &fake{}, ResultBytes: 100}, {Client: &fake{}, ResultBytes: 1 << 20}, {Client: &fake{}, ScanRows: 1}, {Client: &fake{}, ScanRows: 1 << 20}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	info, _ := catalog.Lookup(catalog.InfoTool)
	if _, err := reader(t, Config{Client: &fake{}}).Run(t.Context(), pfrest.Caller{}, info, nil, nil); err == nil {
		t.Error("a tool without a path is run")
	}
}

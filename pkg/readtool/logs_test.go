package readtool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
)

func logTool(t testing.TB) *catalog.Tool {
	tool, ok := catalog.Lookup("pfsense_get_status_logs_firewall")
	if !ok || !tool.Log {
		t.Fatal("the catalog has no firewall log")
	}
	return tool
}

const (
	oldLine = `{"id":0,"text":"Jan  3 01:00:00 fw filterlog[1]: 5,,,1000,igb0,match,block,in,4,0x0,,64,1,0,DF,6,tcp,60,10.0.0.10,1.1.1.1,4000,443,0,S,1,,1,,"}`
	newLine = `{"id":1,"text":"Jun  9 12:00:00 fw filterlog[1]: 6,,,1001,igb0,match,block,in,4,0x0,,64,1,0,DF,17,udp,80,10.0.0.1,1.1.1.1,4001,53,60"}`
)

func TestALogIsNewestFirstAndSaysWhatItCovers(t *testing.T) {
	tool := logTool(t)
	f := &fake{data: map[string]string{tool.Path: "[" + oldLine + "," + newLine + "]"}}
	r := reader(t, Config{Client: f})
	a, _ := run(t, r, tool, `{"include_identifying_metadata":true}`)
	if len(a.Rows) != 2 || string(a.Rows[0]["source"]) != `"10.0.0.1"` || string(a.Rows[0]["source_port"]) != "4001" || string(a.Rows[0]["tracker"]) != "1001" || !a.Complete {
		t.Fatalf("%v", a.Rows)
	}
	if a.Coverage == nil || a.Coverage.Lines != 2 || *a.Coverage.First != "Jan  3 01:00:00" || *a.Coverage.Last != "Jun  9 12:00:00" {
		t.Fatalf("%+v", a.Coverage)
	}
	// Field case 10: an address is compared as one, and the newest line is found.
	a, _ = run(t, r, tool, `{"limit":1,"include_identifying_metadata":true,"where":["source = 10.0.0.1"]}`)
	if len(a.Rows) != 1 || string(a.Rows[0]["destination_port"]) != "53" || *a.Matched != 1 {
		t.Fatalf("%+v", a)
	}
	if d := cmp.Diff([]string{tool.Path + "?101", tool.Path + "?5000"}, f.requests); d != "" {
		t.Fatal(d)
	}
}

func TestAHiddenLogLineStillGivesItsShownParts(t *testing.T) {
	tool := logTool(t)
	f := &fake{data: map[string]string{tool.Path: "[" + newLine + "]"}}
	a, res := run(t, reader(t, Config{Client: f}), tool, `{}`)
	if strings.Contains(string(res.JSON), "10.0.0.1") || string(a.Rows[0]["action"]) != `"block"` || string(a.Rows[0]["source"]) != "null" || string(a.Rows[0]["text"]) != "null" {
		t.Fatalf("%s", res.JSON)
	}
}

func TestOlderLinesThatWereNotReadAreSaid(t *testing.T) {
	tool := logTool(t)
	lines := make([]string, 400)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":%d,"text":"Jun  9 12:%02d:%02d fw filterlog[1]: x"}`, i, i/60, i%60)
	}
	f := &fake{data: map[string]string{tool.Path: "[" + strings.Join(lines, ",") + "]"}}
	r := reader(t, Config{Client: f, ScanRows: 300})
	a, _ := run(t, r, tool, `{"limit":5}`)
	if a.Complete || a.Matched != nil || a.Returned != 5 || string(a.Rows[0]["time"]) != `"Jun  9 12:06:39"` || !hasNote(a.Notes, "read the newest 6 lines; older ones were not looked at") {
		t.Fatalf("%+v", a)
	}
	a, _ = run(t, r, tool, `{"where":["time contains 12:00:"]}`)
	if a.Complete || a.Matched != nil || a.Scanned != 300 || !hasNote(a.Notes, "read the newest 300 lines") {
		t.Fatalf("%+v", a)
	}
}

func TestALineThatCannotBeEncodedHidesOnlyOlderLines(t *testing.T) {
	tool := logTool(t)
	calls := 0
	f := &fake{get: func(_ string, p pfrest.Page) (pfrest.Answer, error) {
		calls++
		if p.Limit > 3 {
			return pfrest.Answer{}, errs.New(errs.Unavailable, "empty").WithClass(pfrest.ClassEncoding)
		}
		return pfrest.Answer{Data: []byte("[" + oldLine + "," + newLine + "," + newLine + "]")}, nil
	}}
	a, _ := run(t, reader(t, Config{Client: f}), tool, `{}`)
	if len(a.Rows) != 3 || a.Complete || !hasNote(a.Notes, "only the newest 3 lines could be read") || calls > maxLogTries {
		t.Fatalf("%d calls: %+v", calls, a)
	}
	f.get = func(string, pfrest.Page) (pfrest.Answer, error) {
		calls++
		return pfrest.Answer{}, errs.New(errs.Unavailable, "empty").WithClass(pfrest.ClassEncoding)
	}
	calls = 0
	if e := fails(t, reader(t, Config{Client: f}), tool, `{"where":["time = x"]}`); e.Class != pfrest.ClassEncoding || calls > maxLogTries {
		t.Fatalf("%d calls: %+v", calls, e)
	}
}

func TestALimitThatTheApplianceIgnoredIsSaid(t *testing.T) {
	tool := logTool(t)
	f := &fake{get: func(string, pfrest.Page) (pfrest.Answer, error) {
		return pfrest.Answer{Data: []byte("[" + oldLine + "]"), IgnoredLimit: true}, nil
	}}
	if a, _ := run(t, reader(t, Config{Client: f}), tool, `{}`); a.Complete || !hasNote(a.Notes, "oldest lines") {
		t.Fatalf("%+v", a)
	}
}

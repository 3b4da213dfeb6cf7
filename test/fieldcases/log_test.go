package fieldcases

import (
	"fmt"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/fakepf"
)

// Observed 9: any filter, sort or missing limit makes PHP read the whole log, and
// 120,000 lines kill it.
func TestCase9LogsAreReadWithALimitAlone(t *testing.T) {
	r := appliance(t, fakepf.Options{LogLines: 60})
	logs := 0
	tools(func(tool *catalog.Tool) {
		if !tool.Log {
			return
		}
		logs++
		for _, args := range []string{`{}`, `{"limit":5,"offset":7}`, `{"where":["time != null"],"limit":3}`} {
			r.run(tool, args).good(t)
		}
		for _, q := range r.queries(tool.Path) {
			if n := strings.TrimPrefix(q, "limit="); n == q || strings.Trim(n, "0123456789") != "" {
				t.Errorf("%s?%s", tool.Path, q)
			}
		}
	})
	if logs < 5 {
		t.Errorf("only %d logs were read", logs)
	}
}

// The search began at the oldest end and took 10.0.0.10 for 10.0.0.1.
func TestCase10ALogSearchIsNewestFirstByAddressAndSaysWhatItLookedAt(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	line := func(when, src string) string {
		return when + " fw filterlog[1]: 5,,,1000,igb0,match,block,in,4,0x0,,64,1,0,DF,6,tcp,60," + src + ",1.1.1.1,4000,443,0,S,1,,1,,"
	}
	r.clear("FirewallLog")
	r.insert("FirewallLog", fields("text", line("Jan  3 01:00:00", "10.0.0.1")))
	for i := range 300 {
		r.insert("FirewallLog", fields("text", line(fmt.Sprintf("Jun  9 11:%02d:%02d", i/60, i%60), "10.0.0.10")))
	}
	r.insert("FirewallLog", fields("text", line("Jun  9 12:00:00", "10.0.0.1")), fields("text", line("Jun  9 12:00:01", "110.0.0.1")))
	find := func(args string) answer {
		return r.call("status_logs_firewall", `{"include_identifying_metadata":true,`+args+`}`).good(t)
	}
	a := find(`"where":["source = 10.0.0.1"],"limit":1`)
	same(t, a.column("time"), "Jun  9 12:00:00")
	if a.Coverage == nil || a.Coverage.Lines != 303 || a.Coverage.First != "Jan  3 01:00:00" || a.Coverage.Last != "Jun  9 12:00:01" {
		t.Errorf("%+v", a.Coverage)
	}
	same(t, find(`"where":["source = 10.0.0.1"]`).column("time"), "Jun  9 12:00:00", "Jan  3 01:00:00")
	// What was not looked at is said: the log goes on before the first line read.
	a = find(`"limit":2`)
	same(t, a.column("source"), "110.0.0.1", "10.0.0.1")
	if a.Complete || a.note("older ones were not looked at") == "" {
		t.Errorf("complete %t, notes %q", a.Complete, a.Notes)
	}
}

// Observed 19: a byte that is no UTF-8 loses the whole page of a log.
func TestCase19ALogLineThatCannotBeEncodedHidesOnlyWhatIsOlder(t *testing.T) {
	r := appliance(t, fakepf.Options{LogLines: 200})
	r.Fault(fakepf.Fault{Kind: fakepf.EmptyBody, Value: "\n", Path: "/api/v2/status/logs/firewall", Count: 2})
	a := r.call("status_logs_firewall", `{"limit":100}`).good(t)
	if len(a.Rows) != 25 || a.Complete || a.note("cannot encode") == "" {
		t.Errorf("%d rows, complete %t, notes %q", len(a.Rows), a.Complete, a.Notes)
	}
}

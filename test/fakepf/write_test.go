package fakepf

import (
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/test/fakepf/php"
)

const alias = "/api/v2/firewall/alias"

func patch(t testing.TB, s *Server, body string, headers ...string) reply {
	t.Helper()
	return do(t, client(t, s), s, "PATCH", alias, body, append([]string{"X-API-Key", WriteKey, "Content-Type", "application/json"}, headers...)...)
}

func descr(s *Server, pos int) string {
	v, _ := s.Row("FirewallAlias", pos).Get("descr")
	return php.Text(v)
}

func TestAChangeIsStoredPendingAndInTheHistory(t *testing.T) {
	s := Start(t, Options{})
	before := s.Rows("ConfigHistoryRevision")
	r := patch(t, s, `{"id":1,"name":"Bad_Senders","descr":"June and July","apply":false}`)
	if r.status != 200 || field(r.data(), "id") != int64(1) || field(r.data(), "descr") != "June and July" {
		t.Fatal(r.status, r.body)
	}
	if descr(s, 1) != "June and July" || s.Rows("ConfigHistoryRevision") != before+1 {
		t.Error("not stored, or no history")
	}
	if p := s.Pending(); len(p) != 1 || p[0] != "aliases" {
		t.Error(p)
	}
	// The list holds versions that were replaced: the new one comes with the next write.
	if d, _ := s.Row("ConfigHistoryRevision", 0).Get("description"); strings.Contains(php.Text(d), "Modified Firewall Alias") {
		t.Error("the live revision is in the list already")
	}
	if detail, _ := s.Row("FirewallAlias", 1).Get("detail"); len(detail.([]any)) != 3 {
		t.Error("a list that was not sent changed")
	}
}

func TestAChangeIsRefusedAsUpstreamRefuses(t *testing.T) {
	s := Start(t, Options{})
	for body, id := range map[string]string{
		`{"descr":"x"}`:                                       "MODEL_REQUIRES_ID",
		`{"id":99,"descr":"x"}`:                               "MODEL_OBJECT_NOT_FOUND",
		`{"id":"01","descr":"x"}`:                             "MODEL_OBJECT_NOT_FOUND",
		`{"id":1,"name":"Print_Servers","descr":"x"}`:         "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE",
		`{"id":1,"descr":5}`:                                  "FIELD_INVALID_TYPE",
		`{"id":5,"descr":"x"}`:                                "FIELD_INVALID_CHOICE", // a URL table
		`{"id":1,"descr":"` + strings.Repeat("ä", 513) + `"}`: "LENGTH_VALIDATOR_MAXIMUM_CONSTRAINT",
		`{"id":1,"detail":["a","b","c","d"]}`:                 "TOO_MANY_ALIAS_DETAILS",
		`{"id":1,"descr":"x","async":"no"}`:                   "ENDPOINT_ASYNC_FIELD_INVALID_TYPE",
		`{"id":1,"descr":"x","dry_run":"yes"}`:                "ENDPOINT_DRY_RUN_FIELD_INVALID_TYPE",
		`{"id":1,`:                                            "JSON_CONTENT_HANDLER_COULD_NOT_DECODE_JSON",
	} {
		if r := patch(t, s, body); r.id() != id {
			t.Errorf("%.60s: %d %s", body, r.status, r.id())
		}
	}
	if descr(s, 1) != "Blocked after the June phishing wave" || len(s.Pending()) != 0 {
		t.Error("something was written")
	}
	if r := patch(t, s, `{"id":1,"descr":"`+strings.Repeat("ä", 512)+`"}`); r.status != 200 {
		t.Error("1,024 bytes are allowed:", r.id())
	}
	if r := patch(t, s, `{"id":1,"descr":"x"}`, "X-API-Key", ReadKey); r.status != 403 {
		t.Error("the read key may write:", r.status)
	}
	if r := do(t, client(t, s), s, "POST", alias, `{}`, "Content-Type", "application/json", "Authorization", "Basic YWRtaW46a2VzdHJlbA=="); r.status != 500 || s.Unplayed() != 1 {
		t.Error("a write that is not played:", r.status, s.Unplayed())
	}
}

func TestTheEchoIsNotWhatIsStored(t *testing.T) {
	s := Start(t, Options{})
	for sent, kept := range map[string]string{`" "`: "", `"\t\t"`: "", `"x\n"`: "x", `" x "`: " x ", `null`: ""} {
		if r := patch(t, s, `{"id":1,"descr":`+sent+`}`); r.status != 200 {
			t.Fatal(r.id())
		}
		if got := descr(s, 1); got != kept {
			t.Errorf("%s is kept as %q", sent, got)
		}
	}
	before := descr(s, 1)
	r := patch(t, s, `{"id":1,"descr":"a\u0001b"}`)
	if r.status != 200 || field(r.data(), "descr") != "a\x01b" || descr(s, 1) != before || len(s.Pending()) == 0 {
		t.Error("a text no XML file can hold is not lost behind a 200")
	}
	if r := patch(t, s, `{"id":"1","descr":"text id"}`); field(r.data(), "id") != "1" {
		t.Error("a text id is not echoed as text")
	}
	if r := patch(t, s, `{"id":false,"descr":"z"}`); r.status != 200 || !s.Wrecked() {
		t.Fatal("a false id does not wreck the appliance")
	}
	if r := do(t, client(t, s), s, "GET", "/api/v2/system/version", ""); r.status != 500 || r.env != nil {
		t.Error("a wrecked appliance answers", r.status)
	}
	s.Repair()
}

func TestDryRunsWriteNothingAndNullIsNoDryRun(t *testing.T) {
	s := Start(t, Options{})
	s.HoldLock() // a dry run does not even look at it
	for _, x := range [][]string{{`{"id":1,"descr":"dry","dry_run":true}`}, {`{"id":1,"descr":"dry"}`, "Prefer", "dry-run"}, {`{"id":1,"descr":"dry","dry_run":false}`, "Prefer", "respond-async, DRY-RUN"}} {
		if r := patch(t, s, x[0], x[1:]...); r.status != 200 || field(r.data(), "descr") != "dry" || descr(s, 1) == "dry" {
			t.Error(x, r.status)
		}
	}
	s.ReleaseLock()
	for i, x := range [][]string{{`{"id":1,"descr":"real0","dry_run":null}`}, {`{"id":1,"descr":"real1"}`, "Prefer", "dry-run=true"}, {`{"id":1,"descr":"real2"}`, "Prefer", "dry-run; x=1"}} {
		patch(t, s, x[0], x[1:]...)
		if descr(s, 1) != "real"+php.Text(int64(i)) {
			t.Error(x, "did not write")
		}
	}
}

func TestAHeldLockStopsWritersAndLosesWhatHappenedMeanwhile(t *testing.T) {
	s := Start(t, Options{LockWait: 50 * time.Millisecond})
	s.HoldLock()
	r := patch(t, s, `{"id":1,"descr":"locked out"}`)
	if r.status != 503 || r.id() != "MODEL_WRITE_CONFIG_LOCKED" || r.header.Get("Retry-After") != "5" || descr(s, 1) == "locked out" {
		t.Fatal(r.status, r.id())
	}
	s2 := Start(t, Options{})
	s2.HoldLock()
	var wg sync.WaitGroup
	wg.Go(func() { patch(t, s2, `{"id":1,"descr":"waited"}`) })
	eventually(t, func() bool { // the writer reads the configuration before it asks for the lock
		s2.lock.mu.Lock()
		defer s2.lock.mu.Unlock()
		return s2.lock.met > 0
	})
	if err := s2.Set("FirewallRule", 0, "descr", "saved in the web interface"); err != nil {
		t.Fatal(err)
	}
	s2.ReleaseLock()
	wg.Wait()
	if v, _ := s2.Row("FirewallRule", 0).Get("descr"); descr(s2, 1) != "waited" || v == "saved in the web interface" {
		t.Error("the other change was not lost:", v)
	}
}

func TestWriteFaults(t *testing.T) {
	s := Start(t, Options{ApplyTime: time.Millisecond})
	s.Fault(Fault{Kind: Late})
	if r := patch(t, s, `{"id":1,"descr":"late"}`); r.err == nil || descr(s, 1) == "late" {
		t.Fatal("not cut, or landed already")
	}
	if r := patch(t, s, `{"id":0,"descr":"in between"}`); r.status != 200 || descr(s, 0) != "in between" {
		t.Error(r.status)
	}
	if n := s.LandPending(); n != 1 || descr(s, 1) != "late" || descr(s, 0) == "in between" {
		t.Error("a late write does not undo what was written in between:", n, descr(s, 1), descr(s, 0))
	}
	s.Fault(Fault{Kind: Late, Delay: 5 * time.Millisecond, Value: "timeout"})
	if r := patch(t, s, `{"id":1,"descr":"late again"}`); r.status != 504 {
		t.Error(r.status)
	}
	eventually(t, func() bool { return descr(s, 1) == "late again" })
	s.Fault(Fault{Kind: Rollback, Delay: time.Hour})
	if r := patch(t, s, `{"id":1,"descr":"gone soon"}`); r.status != 200 || descr(s, 1) != "gone soon" {
		t.Error(r.status, descr(s, 1))
	}
	close(s.hurried)
	eventually(t, func() bool { return descr(s, 1) == "late again" })
	s.Fault(Fault{Kind: Lost})
	if r := patch(t, s, `{"id":1,"descr":"lost"}`); r.status != 200 || descr(s, 1) != "late again" {
		t.Error(r.status, descr(s, 1))
	}
	s.Fault(Fault{Kind: IDType})
	if r := patch(t, s, `{"id":1,"descr":"text id"}`); field(r.data(), "id") != "1" {
		t.Error(r.body)
	}
	s.Fault(Fault{Kind: QueueFull})
	if r := patch(t, s, `{"id":1,"descr":"written all the same","apply":true}`); r.status != 503 || r.header.Get("Retry-After") != "300" || descr(s, 1) != "written all the same" {
		t.Error(r.status, descr(s, 1))
	}
	s.Fault(Fault{Kind: Locked, Delay: time.Millisecond})
	if r := patch(t, s, `{"id":1,"descr":"no"}`); r.status != 503 || descr(s, 1) == "no" {
		t.Error(r.status)
	}
}

func TestAnApplyClearsWhatIsPendingLater(t *testing.T) {
	s := Start(t, Options{ApplyTime: time.Hour})
	s.SetPending("aliases", "natconf")
	auth := []string{"Authorization", "Basic YWRtaW46a2VzdHJlbA==", "Content-Type", "application/json"}
	r := do(t, client(t, s), s, "POST", "/api/v2/firewall/apply", `{}`, auth...)
	if field(r.data(), "applied") != false || len(s.Pending()) == 0 {
		t.Error("the answer of an apply is not the old state:", r.body)
	}
	close(s.hurried)
	eventually(t, func() bool { return len(s.Pending()) == 0 })
	s = Start(t, Options{ApplyTime: time.Millisecond})
	s.SetPending("aliases")
	if r := do(t, client(t, s), s, "POST", "/api/v2/firewall/apply", `{"async":false}`, auth...); field(r.data(), "applied") != true {
		t.Error(r.body)
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came")
		}
	}
}

func TestThePastOfTheApplianceIsNeverInTheFuture(t *testing.T) {
	early := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	s := Start(t, Options{Now: func() time.Time { return early }})
	newest, _ := s.Row("ConfigHistoryRevision", 0).Get("time")
	if at, ok := newest.(int64); !ok || at >= early.Unix() {
		t.Error(newest)
	}
	s.Record("a change") // the version that it replaces comes into the history
	if newest, _ = s.Row("ConfigHistoryRevision", 0).Get("time"); newest.(int64) >= early.Unix() {
		t.Error(newest)
	}
	later := Start(t, Options{Now: func() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }})
	if newest, _ := later.Row("ConfigHistoryRevision", 0).Get("time"); newest != int64(1796030112) {
		t.Error("the history of a later clock was moved:", newest)
	}
}

func TestTheBodyOfAChangeIsKept(t *testing.T) {
	s := Start(t, Options{})
	body := `{"id":1,"name":"Bad_Senders","descr":"kept","apply":false}`
	patch(t, s, body)
	if got := s.RequestsTo(alias); len(got) != 1 || got[0].Body != body {
		t.Error(got)
	}
}

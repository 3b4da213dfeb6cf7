package exchange

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/fakepf/php"
)

const path = "/api/v2/firewall/alias"

// bad is the alias at position 1 of the pretend office.
var bad = Change{Locator: 1, Name: "Bad_Senders", Descr: "June and July"}

func office(t *testing.T, o fakepf.Options) (*fakepf.Server, *Exchanger) {
	t.Helper()
	s := fakepf.Start(t, o)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config(t, s.URL(), ca)
	c.Key = secretfile.New([]byte(fakepf.WriteKey))
	return s, exchanger(t, c)
}

func descr(s *fakepf.Server, row int) string {
	v, _ := s.Row("FirewallAlias", row).Get("descr")
	return php.Text(v)
}

func TestOneChangeAsThePretendApplianceTakesIt(t *testing.T) {
	s, x := office(t, fakepf.Options{})
	c, err := x.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := c.Send(t.Context(), bad)
	if r.Effect() != Accepted || descr(s, 1) != bad.Descr {
		t.Fatalf("%+v, stored %q", r, descr(s, 1))
	}
	seen := s.Requests()
	if len(seen) != 1 || seen[0].Method != "PATCH" || seen[0].Path != path || seen[0].Query != "" || seen[0].Body != `{"id":1,"name":"Bad_Senders","descr":"June and July","apply":false}` {
		t.Fatalf("%+v", seen)
	}
	for _, h := range []string{"Authorization", "Cookie", "Prefer", "Accept-Encoding", "Referer"} {
		if v, there := seen[0].Header[h]; there {
			t.Errorf("the header %s is sent: %s", h, v)
		}
	}
	if seen[0].Header["Accept"] != "application/json" || seen[0].Header["Content-Type"] != "application/json" || seen[0].Header["X-Api-Key"] != "present" {
		t.Errorf("%v", seen[0].Header)
	}
}

func TestCase43TheNameStopsAChangeOfAShiftedPosition(t *testing.T) {
	s, x := office(t, fakepf.Options{})
	if err := s.Delete("FirewallAlias", 0); err != nil {
		t.Fatal(err)
	}
	before := descr(s, 1)
	c, err := x.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Send(t.Context(), bad); r.Effect() != Shifted || descr(s, 1) != before || descr(s, 0) == bad.Descr {
		t.Errorf("%+v", r)
	}
}

// Every fault of the pretend appliance: what the exchange says, what was written,
// and that there was one request.
func TestX1EveryFaultMeetsOneRequest(t *testing.T) {
	for name, x := range map[string]struct {
		fault   fakepf.Fault
		want    Effect
		written bool // at once
		lands   int
	}{
		"reset without an answer":         {fakepf.Fault{Kind: fakepf.Reset}, Ambiguous, true, 0},
		"reset within the answer":         {fakepf.Fault{Kind: fakepf.Reset, Bytes: 20}, Ambiguous, true, 0},
		"cut within the answer":           {fakepf.Fault{Kind: fakepf.Truncate, Bytes: 20}, Ambiguous, true, 0},
		"dripping":                        {fakepf.Fault{Kind: fakepf.Drip, Bytes: 100, Delay: time.Millisecond}, Accepted, true, 0},
		"hanging before the write":        {fakepf.Fault{Kind: fakepf.Hang}, Ambiguous, false, 0},
		"late after a reset":              {fakepf.Fault{Kind: fakepf.Late, Value: "reset"}, Ambiguous, false, 1},
		"late after a 504":                {fakepf.Fault{Kind: fakepf.Late, Value: "timeout"}, Ambiguous, false, 1},
		"late and hanging":                {fakepf.Fault{Kind: fakepf.Late, Value: "hang"}, Ambiguous, false, 1},
		"locked":                          {fakepf.Fault{Kind: fakepf.Locked, Delay: time.Millisecond}, Locked, false, 0},
		"queue full":                      {fakepf.Fault{Kind: fakepf.QueueFull}, Ambiguous, true, 0},
		"an id of another type":           {fakepf.Fault{Kind: fakepf.IDType}, Ambiguous, true, 0},
		"lost under another's write":      {fakepf.Fault{Kind: fakepf.Lost}, Accepted, false, 0},
		"rolled back at once":             {fakepf.Fault{Kind: fakepf.Rollback}, Accepted, false, 0},
		"500 with a trace":                {fakepf.Fault{Kind: fakepf.Status, Status: 500}, Ambiguous, false, 0},
		"503 of a stranger":               {fakepf.Fault{Kind: fakepf.Status, Status: 503}, Ambiguous, false, 0},
		"403":                             {fakepf.Fault{Kind: fakepf.Status, Status: 403}, Rejected, false, 0},
		"406":                             {fakepf.Fault{Kind: fakepf.Status, Status: 406}, Ambiguous, false, 0},
		"a login page":                    {fakepf.Fault{Kind: fakepf.Login}, Ambiguous, false, 0},
		"nginx's 404":                     {fakepf.Fault{Kind: fakepf.NotInstalled}, Ambiguous, false, 0},
		"nginx's 504":                     {fakepf.Fault{Kind: fakepf.GatewayTimeout}, Ambiguous, false, 0},
		"out of memory":                   {fakepf.Fault{Kind: fakepf.OutOfMemory}, Ambiguous, false, 0},
		"a redirect":                      {fakepf.Fault{Kind: fakepf.Redirect, Value: path}, Ambiguous, false, 0},
		"a warning in front":              {fakepf.Fault{Kind: fakepf.Warning}, Ambiguous, true, 0},
		"an empty body":                   {fakepf.Fault{Kind: fakepf.EmptyBody}, Ambiguous, true, 0},
		"a key that stands twice":         {fakepf.Fault{Kind: fakepf.DuplicateKeys, Field: "name"}, Ambiguous, true, 0},
		"no data":                         {fakepf.Fault{Kind: fakepf.NoData}, Ambiguous, true, 0},
		"text behind":                     {fakepf.Fault{Kind: fakepf.Trailing, Value: "{}"}, Ambiguous, true, 0},
		"another content type":            {fakepf.Fault{Kind: fakepf.ContentType, Value: "text/plain"}, Ambiguous, true, 0},
		"over 1 MiB":                      {fakepf.Fault{Kind: fakepf.Huge, Bytes: 1<<20 + 1}, Ambiguous, true, 0},
		"exactly 1 MiB":                   {fakepf.Fault{Kind: fakepf.Huge, Bytes: 1 << 20}, Accepted, true, 0},
		"a row that comes in before":      {fakepf.Fault{Kind: fakepf.InsertRow, Row: 0}, Shifted, false, 0},
		"a row that goes before":          {fakepf.Fault{Kind: fakepf.DeleteRow, Row: 0}, Shifted, false, 0},
		"the name of another in the echo": {fakepf.Fault{Kind: fakepf.Field, Row: 1, Field: "name", Value: `"Print_Servers"`}, Ambiguous, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ex := office(t, fakepf.Options{})
			if strings.HasPrefix(name, "hanging") || strings.HasSuffix(name, "hanging") {
				ex.response, ex.overall = 200*time.Millisecond, 300*time.Millisecond
			}
			x.fault.Method = "PATCH"
			s.Fault(x.fault)
			c, err := ex.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r := c.Send(t.Context(), bad)
			if r.Effect() != x.want {
				t.Errorf("%s, %+v %v", r.Effect(), r, r.Err)
			}
			if got := descr(s, 1) == bad.Descr; got != x.written {
				t.Errorf("written at once: %v", got)
			}
			// A request that was given up may reach the appliance later still.
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if n := s.Counters(); n.Requests+n.InFlight > 0 {
					break
				}
			}
			landed := s.LandPending()
			for end := time.Now().Add(time.Minute); landed < x.lands && time.Now().Before(end); time.Sleep(time.Millisecond) {
				landed += s.LandPending()
			}
			if landed != x.lands || landed > 0 && descr(s, 1) != bad.Descr {
				t.Errorf("%d writes land later, and leave %q", landed, descr(s, 1))
			}
			time.Sleep(20 * time.Millisecond) // a second request would have come by now
			if n := s.Counters(); n.Connections != 1 || n.Requests+n.InFlight != 1 {
				t.Errorf("%+v", n)
			}
		})
	}
}

func TestCase52AStaleLockIsAnsweredAndNotWritten(t *testing.T) {
	s, x := office(t, fakepf.Options{LockWait: 1600 * time.Millisecond})
	s.HoldLock()
	before := descr(s, 1)
	c, err := x.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := c.Send(t.Context(), bad)
	if r.Effect() != Locked || !r.Contended() || descr(s, 1) != before {
		t.Errorf("%+v", r)
	}
	s.ReleaseLock()
	if descr(s, 1) != before {
		t.Error("written after the answer")
	}
}

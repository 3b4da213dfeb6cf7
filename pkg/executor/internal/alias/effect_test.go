package alias_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/test/fakepf"
)

// bad is the change that these tests send: the alias at position 1.
var bad = exchange.Change{Locator: 1, Name: "Bad_Senders", Descr: "June and July"}

// exchanger sends to the pretend appliance with the write identity's key.
func exchanger(t *testing.T, s *fakepf.Server) *exchange.Exchanger {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	tls, err := pfrest.ClientTLS(pfrest.Config{BaseURL: s.URL(), TLSMode: "auto", CAFile: ca})
	if err != nil {
		t.Fatal(err)
	}
	x, err := exchange.New(exchange.Config{BaseURL: s.URL(), TLS: tls, Key: secretfile.New([]byte(fakepf.WriteKey)), Response: 2 * time.Second, Overall: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// sight is what one list says of an alias.
type sight struct {
	alias.Found
	all string
}

func see(t *testing.T, r *alias.Reader, name string) sight {
	t.Helper()
	l := ok[*alias.List](t)(r.List(t.Context()))
	return sight{ok[alias.Found](t)(l.Find(name)), ok[string](t)(l.All())}
}

func set(t *testing.T, s *fakepf.Server, row int, descr string) {
	t.Helper()
	if err := s.Set("FirewallAlias", row, "descr", descr); err != nil {
		t.Fatal(err)
	}
}

// What an exchange says and what the reads before and after it say, for each way in
// which the two can differ. One request each, whatever happens.
func TestX5X6X9TheReadsTellWhatTheAnswerCannot(t *testing.T) {
	gone := func(t *testing.T, s *fakepf.Server) {
		if err := s.Delete("FirewallAlias", 0); err != nil {
			t.Fatal(err)
		}
	}
	for name, x := range map[string]struct {
		fault         fakepf.Fault
		before, after func(*testing.T, *fakepf.Server) // of the exchange; the pre-read comes first
		effect        exchange.Effect
		target        string // pre, post, neither or moved
		others        bool   // unchanged
	}{
		"200 and done": {effect: exchange.Accepted, target: "post", others: true},
		"200 but unchanged (N11)": {
			fault: fakepf.Fault{Kind: fakepf.Rollback}, effect: exchange.Accepted, target: "pre", others: true,
		},
		"200 under another's write (N6)": {
			fault: fakepf.Fault{Kind: fakepf.Lost}, effect: exchange.Accepted, target: "pre", others: true,
		},
		"200 and another alias changed": {
			after:  func(t *testing.T, s *fakepf.Server) { set(t, s, 2, "theirs") },
			effect: exchange.Accepted, target: "post", others: false,
		},
		"200 and overwritten by another text": {
			after:  func(t *testing.T, s *fakepf.Server) { set(t, s, 1, "theirs") },
			effect: exchange.Accepted, target: "neither", others: true,
		},
		"a position that shifts before the exchange (N2)": {
			before: gone, effect: exchange.Shifted, target: "moved", others: false,
		},
		"a position that shifts after it": {
			after: gone, effect: exchange.Accepted, target: "moved", others: false,
		},
		"400 and unchanged": {
			fault: fakepf.Fault{Kind: fakepf.Status, Status: 400, ResponseID: "FIELD_INVALID_CHOICE"}, effect: exchange.Rejected, target: "pre", others: true,
		},
		"400 but changed all the same": {
			fault:  fakepf.Fault{Kind: fakepf.Status, Status: 400, ResponseID: "FIELD_INVALID_CHOICE"},
			after:  func(t *testing.T, s *fakepf.Server) { set(t, s, 1, bad.Descr) },
			effect: exchange.Rejected, target: "post", others: true,
		},
		"400 and another alias changed": {
			fault:  fakepf.Fault{Kind: fakepf.Status, Status: 400, ResponseID: "FIELD_INVALID_CHOICE"},
			after:  func(t *testing.T, s *fakepf.Server) { set(t, s, 0, "theirs") },
			effect: exchange.Rejected, target: "pre", others: false,
		},
		"500 and unchanged": {
			fault: fakepf.Fault{Kind: fakepf.Status, Status: 500}, effect: exchange.Ambiguous, target: "pre", others: true,
		},
		"503 although written (case 42)": {
			fault: fakepf.Fault{Kind: fakepf.QueueFull}, effect: exchange.Ambiguous, target: "post", others: true,
		},
		"a reset after the write": {
			fault: fakepf.Fault{Kind: fakepf.Reset}, effect: exchange.Ambiguous, target: "post", others: true,
		},
		"a reset, and it lands later (case 6)": {
			fault: fakepf.Fault{Kind: fakepf.Late, Value: "reset"}, effect: exchange.Ambiguous, target: "pre", others: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, r := office(t, fakepf.Options{})
			pre := see(t, r, bad.Name)
			if x.before != nil {
				x.before(t, s)
			}
			if x.fault.Kind != "" {
				x.fault.Method = "PATCH"
				s.Fault(x.fault)
			}
			c, err := exchanger(t, s).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			result := c.Send(t.Context(), bad)
			if result.Effect() != x.effect {
				t.Errorf("%s: %+v", result.Effect(), result)
			}
			if x.after != nil {
				x.after(t, s)
			}
			now := see(t, r, bad.Name)
			post := pre.State
			post.Descr = bad.Descr
			expected := ok[string](t)(post.Fingerprint())
			target := "neither"
			switch {
			case now.Locator != pre.Locator:
				target = "moved"
			case now.Fingerprint == pre.Fingerprint:
				target = "pre"
			case now.Fingerprint == expected:
				target = "post"
			}
			if target != x.target || (now.Collection == pre.Collection) != x.others {
				t.Errorf("the target is %s, the others the same: %v", target, now.Collection == pre.Collection)
			}
			if s.LandPending() > 0 {
				if late := see(t, r, bad.Name); late.Fingerprint != expected || late.all == now.all {
					t.Error("a late landing is not seen")
				}
			}
			if n := len(s.RequestsTo("/api/v2/firewall/alias")); n > 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestP4TheSevenPrivilegesCompleteAWriteAndItsPendingMarkIsOurs(t *testing.T) {
	s, _, r := office(t, fakepf.Options{})
	before := ok[*alias.Survey](t)(r.Survey(t.Context()))
	if err := before.Busy(""); err != nil {
		t.Fatal(err)
	}
	c, err := exchanger(t, s).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Send(t.Context(), bad); got.Effect() != exchange.Accepted {
		t.Fatalf("%+v", got)
	}
	after := ok[*alias.Survey](t)(r.Survey(t.Context()))
	all := ok[string](t)(after.All())
	if !after.Pending || after.Busy(all) != nil || after.Busy("") == nil {
		t.Errorf("pending %v, ours %v", after.Pending, after.Busy(all))
	}
	for _, q := range s.Requests() {
		if q.Status != 200 || q.User != "api-writer" && q.Path != string(pfrest.SchemaEndpoint) {
			t.Errorf("%s %s: %d as %q", q.Method, q.Path, q.Status, q.User)
		}
	}
	if writes := s.RequestsTo(string(exchange.Allowed()[0].Path)); len(writes) != 1 {
		t.Errorf("%d writes", len(writes))
	}
}

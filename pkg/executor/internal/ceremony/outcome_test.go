package ceremony_test

import (
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/test/fakepf"
)

const (
	text  = "Printers of the first floor"
	patch = "/api/v2/firewall/alias"
)

// lost is a change that the appliance takes, and makes when it lands; no answer comes.
var lost = fakepf.Fault{Kind: fakepf.Late, Value: "reset", Path: patch, Method: "PATCH"}

func TestX1EveryFaultOfTheExchangeIsOneRequestAndItsProvenOutcome(t *testing.T) {
	for name, row := range map[string]struct {
		fault fakepf.Fault
		state record.State
		why   []record.Reason
		sends int
		descr string // on the appliance afterwards
	}{
		"no fault at all":                            {fakepf.Fault{}, record.Verified, []record.Reason{""}, 1, text},
		"X3 reset before the answer":                 {fakepf.Fault{Kind: fakepf.Late, Value: "reset"}, record.Reconciliation, []record.Reason{"ambiguous_send", "ambiguous_response"}, 1, ceremonytest.Old},
		"X4 no answer in time":                       {fakepf.Fault{Kind: fakepf.Late, Value: "hang"}, record.Reconciliation, []record.Reason{"ambiguous_send", "ambiguous_response"}, 1, ceremonytest.Old},
		"X4 a gateway's time-out":                    {fakepf.Fault{Kind: fakepf.Late, Value: "timeout"}, record.Reconciliation, []record.Reason{"ambiguous_response"}, 1, ceremonytest.Old},
		"X3 reset in the answer":                     {fakepf.Fault{Kind: fakepf.Reset, Bytes: 20}, record.Reconciliation, []record.Reason{"ambiguous_response"}, 1, text},
		"X3 cut answer":                              {fakepf.Fault{Kind: fakepf.Truncate, Bytes: 20}, record.Reconciliation, []record.Reason{"ambiguous_response"}, 1, text},
		"X6 refused and unchanged":                   {fakepf.Fault{Kind: fakepf.Status, Status: 400, ResponseID: "FIELD_INVALID_CHOICE"}, record.Failed, []record.Reason{"rejected"}, 1, ceremonytest.Old},
		"X6 a server's error":                        {fakepf.Fault{Kind: fakepf.Status, Status: 500, ResponseID: "X"}, record.Reconciliation, []record.Reason{"ambiguous_response"}, 1, ceremonytest.Old},
		"case 42 the lock":                           {fakepf.Fault{Kind: fakepf.Locked, Delay: time.Millisecond}, record.Failed, []record.Reason{"locked"}, 1, ceremonytest.Old},
		"case 42 the queue, although written":        {fakepf.Fault{Kind: fakepf.QueueFull}, record.Reconciliation, []record.Reason{"ambiguous_response"}, 1, text},
		"N6 somebody's older configuration comes in": {fakepf.Fault{Kind: fakepf.Lost}, record.Reconciliation, []record.Reason{"readback_mismatch", "collateral_suspected"}, 1, ceremonytest.Old},
		"N11 an apply takes it back after an answer": {fakepf.Fault{Kind: fakepf.Rollback, Delay: time.Millisecond}, record.Reconciliation, []record.Reason{"readback_mismatch", "collateral_suspected"}, 1, ceremonytest.Old},
		"X7 a redirect":                              {fakepf.Fault{Kind: fakepf.Redirect, Value: "https://example.invalid/"}, record.Reconciliation, []record.Reason{"ambiguous_response"}, 1, ceremonytest.Old},
		"X8 a login page":                            {fakepf.Fault{Kind: fakepf.Login}, record.Reconciliation, []record.Reason{"ambiguous_response"}, 1, ceremonytest.Old},
	} {
		t.Run(name, func(t *testing.T) {
			var o ceremonytest.Options
			if row.fault.Value == "hang" {
				o.Times = func(c *exchange.Config) { c.Response = 300 * time.Millisecond }
			}
			h := during(t, o)
			if row.fault.Kind != "" {
				row.fault.Path, row.fault.Method = patch, "PATCH"
				h.FW.Fault(row.fault)
			}
			if row.fault.Kind == fakepf.Rollback { // it comes between the two reads at the latest
				h.at["send after"] = func() {
					h.onceRead(func() {
						for h.Descr() != ceremonytest.Old {
							time.Sleep(time.Millisecond)
						}
					})
				}
			}
			k, res := h.Changed(text)
			for end := time.Now().Add(time.Minute); h.Sends() < row.sends && time.Now().Before(end); {
				time.Sleep(time.Millisecond) // what was given up may reach the appliance later
			}
			if k.State != row.state || !contains(row.why, res.Reason) || h.Sends() != row.sends || h.Descr() != row.descr {
				t.Errorf("%s %s, %d sends, %q", k.State, res.Reason, h.Sends(), h.Descr())
			}
			if n := h.Counter.Advances(); n != 1 {
				t.Errorf("%d ticks", n)
			}
			want := map[record.State]string{
				record.Verified: ceremony.Verified, record.Failed: ceremony.Refused, record.Reconciliation: ceremony.Reconciliation,
			}[k.State]
			if got := h.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != want {
				t.Errorf("the poll says %s", got)
			}
		})
	}
}

func contains(all []record.Reason, r record.Reason) bool {
	for _, one := range all {
		if one == r {
			return true
		}
	}
	return false
}

// A late write is the worst of it: nobody may call the change undone while it can
// still land.
func TestReview01AnAmbiguousChangeWaitsForTheLandingWindow(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	h.FW.Fault(lost)
	k, _ := h.Changed(text)
	early := h.Observe(k.ContractID)
	if early.Match != artifact.MatchPre || early.SecondsSinceSend == nil {
		t.Fatalf("observed %s", early.Match)
	}
	h.Clock.Pass(time.Second)
	if _, err := h.Y.Reconcile(t.Context(), ceremonytest.By, h.Evidence(early, artifact.OutcomeNotApplied)); err == nil {
		t.Fatal("an early observation settled it")
	}
	// Nothing new is begun meanwhile, not even for another alias.
	state, id := h.AskFor(ceremonytest.Other, "Ports of the web shop")
	if state != ceremony.Requested {
		t.Fatalf("asking meanwhile: %s", state)
	}
	h.Clock.Pass(2 * time.Second)
	if _, err := h.Y.Authorize(t.Context(), ceremonytest.By, h.Authorization(h.Preview(id))); err == nil {
		t.Fatal("a change was authorized while another may still land")
	}
	h.FW.LandPending()
	h.Clock.Pass(15 * time.Minute)
	o := h.Observe(k.ContractID)
	if o.Match != artifact.MatchExpectedPost {
		t.Fatalf("observed %s after it landed", o.Match)
	}
	h.Clock.Pass(time.Second)
	if _, err := h.Y.Reconcile(t.Context(), ceremonytest.By, h.Evidence(o, artifact.OutcomeNotApplied)); err == nil {
		t.Error("evidence against what is there was taken")
	}
	done, err := h.Y.Reconcile(t.Context(), ceremonytest.By, h.Evidence(o, artifact.OutcomeApplied))
	if err != nil || done.State != record.Verified {
		t.Fatalf("%s, %v: %s", done.State, err, h.Last())
	}
	if h.Sends() != 1 {
		t.Errorf("%d sends", h.Sends())
	}
}

func TestR7AChangeIsUndoneByTwoSignatures(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	k, _ := h.Changed(text)
	h.Clock.Pass(time.Hour) // long after the contract's own end
	c, a := h.Undo(k.ContractID)
	if _, err := h.Y.Rollback(t.Context(), ceremonytest.By, c, c); err == nil {
		t.Fatal("one signature undid a change")
	}
	began, err := h.Y.Rollback(t.Context(), ceremonytest.By, c, a)
	h.Wait()
	done, res := h.Contract(k.ContractID)
	if err != nil || began.State != record.RollingBack || done.State != record.RolledBack || h.Descr() != ceremonytest.Old || h.Sends() != 2 {
		t.Fatalf("%s then %s %s, %v, %q, %d sends: %s", began.State, done.State, res.Reason, err, h.Descr(), h.Sends(), h.Last())
	}
	if n := h.Counter.Advances(); n != 2 {
		t.Errorf("%d ticks for a change and its undo", n)
	}
}

func TestR5ADriftedChangeIsNotUndone(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	k, _ := h.Changed(text)
	h.Clock.Pass(time.Hour)
	c, a := h.Undo(k.ContractID)
	if err := h.FW.Set("FirewallAlias", 0, "descr", "Somebody else's words"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Y.Rollback(t.Context(), ceremonytest.By, c, a); err == nil {
		t.Error("somebody's later words were overwritten")
	}
	h.Wait()
	if done, _ := h.Contract(k.ContractID); done.State != record.Verified || h.Sends() != 1 || h.Counter.Advances() != 1 {
		t.Errorf("%s, %d sends, %d ticks", done.State, h.Sends(), h.Counter.Advances())
	}
}

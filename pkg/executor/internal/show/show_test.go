package show

import (
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/proto/executor/v1"
)

func play(t *testing.T) *storetest.Play {
	t.Helper()
	clock := storetest.NewClock()
	s := storetest.Create(t, storetest.Config(t, clock))
	t.Cleanup(func() { _ = s.Close() })
	return &storetest.Play{T: t, S: s, Clock: clock, Witness: storetest.Seed().Value}
}

// contract shows one contract as it is now.
func contract(t *testing.T, p *storetest.Play, id string) *executorpb.Contract {
	t.Helper()
	var m *executorpb.Contract
	if err := p.S.View(func(v *store.View) error {
		c, _, err := v.Contract(id)
		if err == nil {
			m, err = Contract(v, c, Around{Limits: store.DefaultLimits()})
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return m
}

// says checks the sentence for an operator.
func says(t *testing.T, where, next string, parts ...string) {
	t.Helper()
	if len(next) > 300 {
		t.Errorf("%s: %d bytes", where, len(next))
	}
	for _, p := range parts {
		if !strings.Contains(next, p) {
			t.Errorf("%s: %q lacks %q", where, next, p)
		}
	}
	if len(parts) == 0 && next != "" {
		t.Errorf("%s: %q", where, next)
	}
}

func TestAContractIsShownThroughItsWholeLife(t *testing.T) {
	p := play(t)
	c, err := p.Authorize("web", "one")
	if err != nil {
		t.Fatal(err)
	}
	m := contract(t, p, c.ContractID)
	if m.GetState() != executorpb.State_STATE_PREPARED || m.GetSettledAt() != 0 || m.GetConfirmedAt() != 0 || m.GetLook() != "" || m.GetLandingWindowUntil() != 0 {
		t.Errorf("prepared: %v", m)
	}
	says(t, "prepared", m.GetNext(), "mcpctl write pending "+c.ContractID, "mcpctl write confirm")
	if c, err = p.Confirm(c); err != nil {
		t.Fatal(err)
	}
	says(t, "confirmed", contract(t, p, c.ContractID).GetNext(), "mcpctl write resume "+c.ContractID)
	if c, err = p.S.BeginExecution(c.At(), p.Witness); err != nil {
		t.Fatal(err)
	}
	says(t, "executing", contract(t, p, c.ContractID).GetNext(), "under way")
	if err := p.Advance(c); err != nil {
		t.Fatal(err)
	}
	if c, err = p.S.SendIntent(c.At(), c.Collection); err != nil {
		t.Fatal(err)
	}
	if until := contract(t, p, c.ContractID).GetLandingWindowUntil(); until != p.Clock.Read().Wall.Add(900*time.Second).Unix() {
		t.Errorf("just sent: it may land until %d", until)
	}
	post := storetest.Post(t, "web", "one")
	if c, err = p.S.MarkExecutionVerified(c.At(), post, post, p.Answered()); err != nil {
		t.Fatal(err)
	}
	m = contract(t, p, c.ContractID)
	if m.GetLook() != "due" || m.GetSettledAt() == 0 || m.GetLandingWindowUntil() != 0 || m.GetRollbackUntil() != p.Clock.Read().Wall.Add(24*time.Hour).Unix() {
		t.Errorf("verified: %v", m)
	}
	says(t, "verified", m.GetNext(), "once more", "mcpctl write rollback-request "+c.ContractID)
	p.Clock.Pass(24 * time.Hour)
	if m = contract(t, p, c.ContractID); m.GetRollbackUntil() != 0 || strings.Contains(m.GetNext(), "rollback") {
		t.Errorf("a day later: %v", m)
	}
}

func TestTheLandingWindowStandsAtTheContractThatOpensIt(t *testing.T) {
	p := play(t)
	c, err := p.Sent("web", "one")
	if err != nil {
		t.Fatal(err)
	}
	if c, err = p.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}); err != nil {
		t.Fatal(err)
	}
	p.Clock.Pass(100 * time.Second)
	m := contract(t, p, c.ContractID)
	if want := p.Clock.Read().Wall.Add(800 * time.Second).Unix(); m.GetLandingWindowUntil() != want || m.GetUncertaintyOrigin() != "executing" {
		t.Errorf("%v, want until %d", m, want)
	}
	says(t, "inside", m.GetNext(), "wait until the time that is shown as may land", "mcpctl write observe "+c.ContractID, "mcpctl write reconcile")
	p.Clock.Pass(900 * time.Second)
	m = contract(t, p, c.ContractID)
	if m.GetLandingWindowUntil() != 0 || strings.Contains(m.GetNext(), "wait") {
		t.Errorf("outside: %v", m)
	}
}

// What an interrupted attempt sent, if it sent anything, is not known: it may land as long
// as what is known to have been sent.
func TestReview01AnInterruptedAttemptMayLandToo(t *testing.T) {
	p := play(t)
	c, err := p.Authorize("web", "one")
	if err == nil {
		c, err = p.Confirm(c)
	}
	if err == nil {
		c, err = p.S.BeginExecution(c.At(), p.Witness)
	}
	if err == nil {
		err = p.Advance(c)
	}
	if err == nil {
		_, err = p.S.Restart(p.Witness)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Clock.Pass(100 * time.Second)
	m := contract(t, p, c.ContractID)
	if want := p.Clock.Read().Wall.Add(800 * time.Second).Unix(); m.GetLandingWindowUntil() != want {
		t.Errorf("%v, want until %d", m, want)
	}
	says(t, "inside", m.GetNext(), "wait until the time that is shown as may land")
}

func TestReview16WhatTheLookAndTheExchangeShowedIsTold(t *testing.T) {
	l, now := store.DefaultLimits(), time.Unix(1_700_000_000, 0)
	for _, row := range []struct {
		name  string
		s     sight
		parts []string
	}{
		{"reverted", sight{send: &record.Send{Look: record.LookReverted}}, []string{"is gone"}},
		{"contended", sight{send: &record.Send{Look: record.LookHeld, Contended: true}, undo: now}, []string{"recent change", "rollback-request"}},
		{"attested", sight{res: &record.Result{AttestedOnly: true}, send: &record.Send{}}, []string{"attestation", "never be rolled back"}},
		{"held and old", sight{send: &record.Send{Look: record.LookHeld}}, nil},
	} {
		row.s.c, row.s.now, row.s.around.Limits = &record.Contract{ContractID: "wc-1", State: record.Verified}, now, l
		if row.s.res == nil {
			row.s.res = &record.Result{}
		}
		says(t, row.name, row.s.next(), row.parts...)
	}
}

func TestOnlyTheLatestChangeThatWasSeenInPlaceCanBeUndone(t *testing.T) {
	p := play(t)
	first, err := p.Verified("web", "one")
	if err != nil {
		t.Fatal(err)
	}
	if until := contract(t, p, first.ContractID).GetRollbackUntil(); until == 0 {
		t.Error("the first cannot be undone")
	}
	p.Clock.Pass(2 * time.Minute)
	second, err := p.Verified("web", "two")
	if err != nil {
		t.Fatal(err)
	}
	if m := contract(t, p, first.ContractID); m.GetRollbackUntil() != 0 || strings.Contains(m.GetNext(), "rollback") {
		t.Errorf("a later change touched the target: %v", m)
	}
	if until := contract(t, p, second.ContractID).GetRollbackUntil(); until == 0 {
		t.Error("the second cannot be undone")
	}
	// One that is settled by a signature alone.
	c, err := p.Sent("db", "three")
	if err != nil {
		t.Fatal(err)
	}
	if c, err = p.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}); err != nil {
		t.Fatal(err)
	}
	p.Clock.Pass(901 * time.Second)
	digest, err := p.Observe(c, artifact.MatchNeither)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := p.Evidence(c, artifact.OutcomeApplied, digest)
	in := storetest.Intent("db", "three")
	if a.VerifiedFingerprint, err = in.ExpectedPost(); err != nil {
		t.Fatal(err)
	}
	file := artifacttest.File(t, a, artifacttest.KeyR())
	if c, err = p.S.Reconcile(c.At(), file, a, true, storetest.By); err != nil {
		t.Fatal(err)
	}
	if m := contract(t, p, c.ContractID); !m.GetAttestedOnly() || m.GetRollbackUntil() != 0 || m.GetState() != executorpb.State_STATE_VERIFIED {
		t.Errorf("settled by attestation: %v", m)
	}
}

func TestEveryStateAndEveryObstacleHasASentence(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	id := "wc-" + strings.Repeat("f", 32)
	for _, st := range record.States() {
		for _, begin := range []string{"", "in_flight", "landing_window", "lockout", "unknown"} {
			for _, quarantine := range []bool{false, true} {
				s := sight{
					c: &record.Contract{ContractID: id, State: st, Confirmation: "x", ExpiresAt: now.Add(time.Minute)}, res: &record.Result{},
					begin: begin, now: now, landing: time.Second, undo: now, around: Around{Quarantine: quarantine}, send: &record.Send{Contended: true},
				}
				next := s.next()
				if len(next) > 300 || (next == "") != (st == record.RolledBack) {
					t.Errorf("%s, %s: %d bytes, %q", st, begin, len(next), next)
				}
			}
		}
	}
	released := sight{c: &record.Contract{State: record.RollbackFailed}, res: &record.Result{Released: true}}
	says(t, "released", released.next())
	late := sight{c: &record.Contract{State: record.Prepared, ExpiresAt: now}, now: now}
	says(t, "late", late.next(), "expires by itself")
}

func TestARequestSaysWhatToDoWithIt(t *testing.T) {
	p := play(t)
	uid := int64(1001)
	r, err := p.S.OpenRequest(store.NewRequest{AliasName: "web", Description: "one", UID: &uid, By: record.MCP(1001)})
	if err != nil {
		t.Fatal(err)
	}
	shown := func(quarantine bool) *executorpb.Request {
		var m *executorpb.Request
		if err := p.S.View(func(v *store.View) error {
			q, err := v.Request(r.RequestID)
			if err == nil {
				m, err = Request(v, q, "requested", quarantine)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := shown(false)
	if m.Uid == nil || m.GetUid() != 1001 || m.GetOrigin() != "mcp" || m.GetAliasName() != "web" || m.GetProjected() != executorpb.WriteState_WRITE_STATE_REQUESTED {
		t.Errorf("%v", m)
	}
	says(t, "open", m.GetNext(), "mcpctl write preview "+r.RequestID, "mcpctl write authorize")
	says(t, "quarantine", shown(true).GetNext(), "quarantine")
	if _, err := p.Preview(r, "web", "one"); err != nil {
		t.Fatal(err)
	}
	says(t, "previewed", shown(false).GetNext(), "mcpctl write authorize", "new preview")
	if err := p.S.CancelRequest(r.RequestID, record.Cancelled, storetest.By); err != nil {
		t.Fatal(err)
	}
	m = shown(false)
	if m.GetStatus() != executorpb.RequestStatus_REQUEST_STATUS_CANCELLED || m.GetConcludedAt() == 0 || m.GetResult() != "operator_cancel" {
		t.Errorf("%v", m)
	}
	says(t, "cancelled", m.GetNext())
	// After retention the name is gone and the rest stays.
	p.Clock.Pass(25 * time.Hour)
	if _, err := p.S.Sweep(); err != nil {
		t.Fatal(err)
	}
	if m = shown(false); m.GetAliasName() != "" || m.GetRequestId() != r.RequestID {
		t.Errorf("%v", m)
	}
}

func TestWithoutAFilterOnlyUnsettledContractsAreListed(t *testing.T) {
	p := play(t)
	if _, err := p.Verified("web", "one"); err != nil {
		t.Fatal(err)
	}
	open, err := p.Authorize("db", "two")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		states []record.State
		n      int
	}{{nil, 1}, {[]record.State{record.Verified}, 1}, {record.States(), 2}, {[]record.State{record.Failed}, 0}} {
		if err := p.S.View(func(v *store.View) error {
			all, total, err := Contracts(v, row.states, Page{})
			if len(all) != row.n || total != row.n || row.states == nil && all[0].ContractID != open.ContractID {
				t.Errorf("%v: %d contracts", row.states, len(all))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFiltersAndPagesRefuseWhatTheyDoNotKnow(t *testing.T) {
	for _, s := range record.States() {
		got, err := States([]executorpb.State{State(s)})
		if err != nil || len(got) != 1 || got[0] != s || State(s) == 0 {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, asked := range [][]executorpb.State{{0}, {99}, {-1}, make([]executorpb.State, 10)} {
		if _, err := States(asked); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%v: %v", asked, err)
		}
	}
	if got, err := Statuses([]executorpb.RequestStatus{executorpb.RequestStatus_REQUEST_STATUS_EXPIRED}); err != nil || got[0] != record.Lapsed {
		t.Errorf("%v, %v", got, err)
	}
	for _, row := range []struct {
		p          Page
		from, most int
	}{{Page{0, 0}, 0, 100}, {Page{500, 0}, 0, 500}, {Page{1, 5000}, 5000, 1}, {Page{500, 100_000}, 100_000, 500}} {
		if from, most, err := row.p.bounds(); err != nil || from != row.from || most != row.most {
			t.Errorf("%v: %d from %d on, %v", row.p, most, from, err)
		}
	}
	for _, p := range []Page{{501, 0}, {1, 100_001}, {1 << 31, 0}} {
		if _, _, err := p.bounds(); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%v: %v", p, err)
		}
	}
	if Answer("authorized") != executorpb.WriteState_WRITE_STATE_REFUSED || Answer("reverted") != executorpb.WriteState_WRITE_STATE_REVERTED {
		t.Error("a word that is none is not a refusal")
	}
}

func TestEveryStepOfProvisioningNamesItsCommand(t *testing.T) {
	value := int64(41)
	for s, part := range map[anchor.State]string{
		anchor.Nothing: "mcpctl anchor plan", anchor.Selected: "mcpctl setup", anchor.Sealed: "mcpctl anchor provision --handle 0x01500000",
		anchor.Defined: "mcpctl anchor provision --handle 0x01500000", anchor.Read: "mcpctl anchor seed --value 41 --handle 0x01500000",
		anchor.Seeded: "again", anchor.Agreed: "again", anchor.Recorded: "mcpctl anchor status",
	} {
		says(t, s.String(), AfterStep(s, 0x01500000, &value), part)
		if back, ok := Expected(Step(s)); !ok || back != s {
			t.Errorf("%s is not what a person saw", s)
		}
	}
	says(t, "operational", AfterStep(anchor.Operational, 0x01500000, &value))
	for _, n := range []executorpb.AnchorStep{0, 12, -1} {
		if _, ok := Expected(n); ok {
			t.Errorf("%d is a step", n)
		}
	}
	if Step(anchor.State(42)) != 0 {
		t.Error("an unknown state has a number")
	}
}

package signer

import (
	"strings"
	"testing"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/canon"
)

func TestReview02ARollbackIsSignedByBothOwnersUnderTheirRoles(t *testing.T) {
	request := at.File(t, at.RollbackRequest(at.Intent(), plan(t)), at.KeyX())
	c := newMachine(t, authority.Confirmation, at.KeyC(), "11:00:00")
	a := newMachine(t, authority.Authorization, at.KeyA(), "11:04:00")
	outC, outA := c.out(), a.out()
	shown := c.run(sayYes, "sign-rollback", "-i", c.file(request), "-o", outC)
	rc, err := artifact.ParseRollback(c.signs(shown, outC), canon.RoleRollback)
	if err != nil {
		t.Fatal(err)
	}
	ra, err := artifact.ParseRollback(a.signs(a.run(sayYes, "sign-rollback", "-i", a.file(request), "-o", outA), outA), canon.RoleRollbackAuthorization)
	if err != nil {
		t.Fatal(err)
	}
	want, err := at.RollbackRequest(at.Intent(), plan(t)).Undo()
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Owners().VerifyRollback(want, rc, ra); err != nil {
		t.Error(err)
	}
	for _, s := range []string{"the confirmation owner's half", `Text now      "DMZ web servers"`, `Text then     "Old text"`, "version 3", at.StoreID, "41 in store and witness"} {
		if !strings.Contains(shown.shown, s) {
			t.Errorf("the screen does not show %q:\n%s", s, shown.shown)
		}
	}
	again := c.out()
	c.refuses("the same request again", c.run(sayYes, "sign-rollback", "-i", c.file(request), "-o", again), again, "was signed here", false)

	r := newMachine(t, authority.Reconciliation, at.KeyR(), "11:00:00")
	out := r.out()
	r.refuses("the reconciliation owner", r.run(sayYes, "sign-rollback", "-i", r.file(request), "-o", out), out, "not here", false)

	old := at.RollbackRequest(at.Intent(), plan(t))
	old.VerifiedAt = at.At("10:59:59").AddDate(0, 0, -1)
	out = c.out()
	c.refuses("verified more than a day ago", c.run(sayYes, "sign-rollback", "-i", c.file(at.File(t, old, at.KeyX())), "-o", out), out, "older than a day", false)
}

// observation makes an observation file.
func observation(t testing.TB, alter func(*artifact.Observation)) []byte {
	t.Helper()
	o := at.Observation(t)
	if alter != nil {
		alter(o)
	}
	return at.File(t, o, at.KeyX())
}

func fingerprints(t testing.TB) (pre, post string) {
	t.Helper()
	in := at.Intent()
	post, err := in.ExpectedPost()
	if err != nil {
		t.Fatal(err)
	}
	if pre, err = in.Target.Fingerprint(); err != nil {
		t.Fatal(err)
	}
	return pre, post
}

func TestAReconciliationIsShownWithTheChangeAndSigned(t *testing.T) {
	m := newMachine(t, authority.Reconciliation, at.KeyR(), "10:05:00")
	out := m.out()
	in := m.file(observation(t, nil))
	r := m.run(sayYes, "sign-reconciliation", "-i", in, "-pending", m.file(pending(t)), "-outcome", artifact.OutcomeApplied, "-o", out)
	e, err := artifact.ParseReconciliation(m.signs(r, out))
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Owners().Verify(e); err != nil {
		t.Error(err)
	}
	digest, err := at.Observation(t).Digest()
	_, post := fingerprints(t)
	if err != nil || e.ObservationDigest != digest || e.VerifiedFingerprint != post || *e.VerifiedLocator != 7 || e.StateVersion != 3 || !e.IssuedAt.Equal(at.At("10:05:00")) {
		t.Errorf("%+v, %v", e, err)
	}
	for _, s := range []string{
		"expected_post, at position 7", "in doubt: the change", "sent 2026-03-14T09:31:42Z, 1770 s before", `"Old text"`, `"DMZ web servers"`, "the new text stands on the appliance", at.ContractID, at.StoreID, pin().ApplianceTarget, "executor-1",
	} {
		if !strings.Contains(r.shown, s) {
			t.Errorf("the screen does not show %q:\n%s", s, r.shown)
		}
	}
	second := m.out()
	m.refuses("another statement over one observation", m.run(sayYes, "sign-reconciliation", "-i", in, "-outcome", artifact.OutcomeApplied, "-o", second), second, "was signed here", false)
	// Without the pending file digests alone can be shown, and it says so.
	third := m.out()
	r = m.run(sayYes, "sign-reconciliation", "-i", m.file(observation(t, func(o *artifact.Observation) { o.ObservedAt = at.At("10:02:00") })), "-outcome", artifact.OutcomeApplied, "-o", third)
	m.signs(r, third)
	if !strings.Contains(r.shown, "*** WARNING: without the contract's pending file") {
		t.Errorf("no warning:\n%s", r.shown)
	}
}

func TestReview01NothingIsStatedAsNotAppliedWithinTheLandingWindow(t *testing.T) {
	pre, _ := fingerprints(t)
	early := func(seconds int64) func(*artifact.Observation) {
		return func(o *artifact.Observation) {
			o.Match, o.TargetFingerprint, o.SecondsSinceSend = artifact.MatchPre, pre, at.Number(seconds)
		}
	}
	m := newMachine(t, authority.Reconciliation, at.KeyR(), "10:05:00")
	for _, seconds := range []int64{0, 210, 899} {
		out := m.out()
		m.refuses("early", m.run(sayYes, "sign-reconciliation", "-i", m.file(observation(t, early(seconds))), "-outcome", artifact.OutcomeNotApplied, "-o", out), out, "a write may still arrive", false)
	}
	out := m.out()
	r := m.run(sayYes, "sign-reconciliation", "-i", m.file(observation(t, early(900))), "-outcome", artifact.OutcomeNotApplied, "-o", out)
	m.signs(r, out)
	if !strings.Contains(r.shown, "ASSUMPTION: a write that was sent arrives within 900 s or never") {
		t.Errorf("the assumption is not said:\n%s", r.shown)
	}
	rolling := func(o *artifact.Observation) {
		o.UncertaintyOrigin, o.Match, o.SecondsSinceSend = artifact.OriginRollingBack, artifact.MatchPre, at.Number(899)
	}
	out = m.out()
	m.refuses("early rollback", m.run(sayYes, "sign-reconciliation", "-i", m.file(observation(t, rolling)), "-outcome", artifact.OutcomeRollbackNotApplied, "-o", out), out, "a write may still arrive", false)
	// A laboratory's executor may have a shorter window: then it warns.
	lab := pin()
	lab.StoreID = "lab-1"
	m.put("pins.json", pinsFile(t, lab))
	out = m.out()
	r = m.run(sayYes, "sign-reconciliation", "-i", m.file(observation(t, early(20))), "-outcome", artifact.OutcomeNotApplied, "-o", out)
	m.signs(r, out)
	if !strings.Contains(r.shown, "only 20 s after the send") || !strings.Contains(r.shown, "*** LABORATORY") {
		t.Errorf("no warning:\n%s", r.shown)
	}
}

func TestReview14AStatementThatTheObservationContradictsIsRefused(t *testing.T) {
	pre, post := fingerprints(t)
	other := strings.Repeat("9", 64)
	state := func(origin, match, fingerprint string) func(*artifact.Observation) {
		return func(o *artifact.Observation) {
			o.UncertaintyOrigin, o.Match, o.TargetFingerprint = origin, match, fingerprint
			if match == artifact.MatchAbsent {
				o.TargetPresent, o.Locator = false, nil
			}
		}
	}
	m := newMachine(t, authority.Reconciliation, at.KeyR(), "10:05:00")
	full := m.file(pending(t))
	for name, c := range map[string]struct {
		state   func(*artifact.Observation)
		outcome string
		because string // "" when it is signed
		says    string
	}{
		"applied, seen":               {state("executing", "expected_post", post), artifact.OutcomeApplied, "", ""},
		"applied, old text seen":      {state("executing", "pre", pre), artifact.OutcomeApplied, "contradicts", ""},
		"not applied, old text seen":  {state("executing", "pre", pre), artifact.OutcomeNotApplied, "", "ASSUMPTION"},
		"not applied, new text seen":  {state("executing", "expected_post", post), artifact.OutcomeNotApplied, "contradicts", ""},
		"applied, neither":            {state("executing", "neither", other), artifact.OutcomeApplied, "", "can never be rolled back"},
		"not applied, neither":        {state("executing", "neither", other), artifact.OutcomeNotApplied, "", "can never be rolled back"},
		"applied, absent":             {state("executing", "absent", ""), artifact.OutcomeApplied, "absent", ""},
		"not applied, absent":         {state("executing", "absent", ""), artifact.OutcomeNotApplied, "", "can never be rolled back"},
		"rollback word for a change":  {state("executing", "pre", pre), artifact.OutcomeRollbackNotApplied, "does not fit", ""},
		"change word for a rollback":  {state("rolling_back", "expected_post", pre), artifact.OutcomeApplied, "does not fit", ""},
		"rolled back, seen":           {state("rolling_back", "expected_post", pre), artifact.OutcomeRollbackApplied, "", ""},
		"rolled back, new text seen":  {state("rolling_back", "pre", post), artifact.OutcomeRollbackApplied, "contradicts", ""},
		"not rolled back":             {state("rolling_back", "pre", post), artifact.OutcomeRollbackNotApplied, "", "ASSUMPTION"},
		"release, any match":          {state("", "neither", other), artifact.OutcomeRollbackNotApplied, "", "waits for release"},
		"release, old text seen":      {state("", "expected_post", pre), artifact.OutcomeRollbackNotApplied, "", "waits for release"},
		"release with another word":   {state("", "pre", post), artifact.OutcomeRollbackApplied, "the one statement", ""},
		"lying match":                 {state("executing", "expected_post", pre), artifact.OutcomeApplied, "by the contract it is pre", ""},
		"lying neither":               {state("executing", "neither", post), artifact.OutcomeApplied, "by the contract it is expected_post", ""},
		"others changed":              {func(o *artifact.Observation) { o.OthersUnchanged = false }, artifact.OutcomeApplied, "", "other aliases changed"},
		"another appliance":           {func(o *artifact.Observation) { o.ApplianceTarget = other }, artifact.OutcomeApplied, "another appliance", ""},
		"another contract's pending":  {func(o *artifact.Observation) { o.ContractID = "wc-" + strings.Repeat("0", 32) }, artifact.OutcomeApplied, "another contract's", ""},
		"an observation of yesterday": {func(o *artifact.Observation) { o.ObservedAt = o.ObservedAt.AddDate(0, 0, -1) }, artifact.OutcomeApplied, "older than a day", ""},
	} {
		// Every observation is another one, so that none counts as signed before.
		alter := func(o *artifact.Observation) {
			m.n++
			o.SentAt = o.SentAt.Add(-1e9 * 60 * 60)
			o.StateVersion = int64(m.n)
			c.state(o)
		}
		out := m.out()
		r := m.run(sayYes, "sign-reconciliation", "-i", m.file(observation(t, alter)), "-pending", full, "-outcome", c.outcome, "-o", out)
		if c.because != "" {
			m.refuses(name, r, out, c.because, false)
			continue
		}
		if r.code != 0 || !strings.Contains(r.shown, c.says) {
			t.Errorf("%s: exit %d, %s, no %q:\n%s", name, r.code, r.errs, c.says, r.shown)
		}
	}
	out := m.out()
	m.refuses("applied, neither, without the pending file", m.run(sayYes, "sign-reconciliation", "-i", m.file(observation(t, state("executing", "neither", other))), "-outcome", artifact.OutcomeApplied, "-o", out), out, "-pending FILE", false)
	forged := at.Observation(t)
	out = m.out()
	m.refuses("a foreign attestation", m.run(sayYes, "sign-reconciliation", "-i", m.file(at.File(t, forged, at.Seed(0x99))), "-outcome", artifact.OutcomeApplied, "-o", out), out, "no pinned executor", false)
}

func TestARebaselineIsShownAndSigned(t *testing.T) {
	status := func(alter func(*artifact.AnchorStatus)) []byte {
		s := at.AnchorStatus()
		s.AuthoritySet = plan(t).Executor.AuthoritySet
		if alter != nil {
			alter(s)
		}
		return at.File(t, s, at.KeyX())
	}
	m := newMachine(t, authority.Reconciliation, at.KeyR(), "12:05:00")
	in, out := m.file(status(nil)), m.out()
	r := m.run(sayYes, "sign-rebaseline", "-i", in, "-reason", artifact.ReasonRestored, "-o", out)
	b, err := artifact.ParseRebaseline(m.signs(r, out))
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Owners().Verify(b); err != nil {
		t.Error(err)
	}
	if b.StoreValue != 41 || b.WitnessValue != 43 || b.StoreID != at.StoreID || b.NVIndexName != at.NVIndexName || b.Reason != artifact.ReasonRestored || b.ExpiresAt.Sub(b.IssuedAt) != rebaselineLife {
		t.Errorf("%+v", b)
	}
	for _, s := range []string{"store 41, witness 43", at.AnchorStatus().AuditHead, "anchor_mismatch", "restored from a copy", "Every approval signed before becomes void", at.StoreID} {
		if !strings.Contains(r.shown, s) {
			t.Errorf("the screen does not show %q:\n%s", s, r.shown)
		}
	}
	for name, c := range map[string]struct {
		alter           func(*artifact.AnchorStatus)
		reason, because string
	}{
		"again":             {nil, artifact.ReasonRestored, "was signed here"},
		"nothing to do":     {func(s *artifact.AnchorStatus) { s.WitnessValue, s.Quarantine = 41, "" }, artifact.ReasonRestored, "the same value"},
		"no such doubt":     {func(s *artifact.AnchorStatus) { s.WitnessValue, s.Quarantine = 41, "anchor_unreachable" }, artifact.ReasonCounterUsed, "the same value"},
		"another store":     {func(s *artifact.AnchorStatus) { s.StoreID = "other" }, artifact.ReasonRestored, "does not pin"},
		"an unpinned lab":   {func(s *artifact.AnchorStatus) { s.StoreID = "lab-1" }, artifact.ReasonRestored, "does not pin"},
		"another index":     {func(s *artifact.AnchorStatus) { s.NVIndexName = "000b" + strings.Repeat("0", 64) }, artifact.ReasonRestored, "nv_index_name"},
		"other authorities": {func(s *artifact.AnchorStatus) { s.AuthoritySet = strings.Repeat("0", 64) }, artifact.ReasonRestored, "authority_set_digest"},
		"from the future":   {func(s *artifact.AnchorStatus) { s.GeneratedAt = at.At("12:06:00") }, artifact.ReasonRestored, "future"},
	} {
		out := m.out()
		m.refuses(name, m.run(sayYes, "sign-rebaseline", "-i", m.file(status(c.alter)), "-reason", c.reason, "-o", out), out, c.because, false)
	}
	// A backup from after the latest attempt has the counter's value, and takes nothing
	// but a rebaseline; so does a counter that differed once.
	for _, word := range []string{"restored_backup", "anchor_mismatch"} {
		out = m.out()
		m.signs(m.run(sayYes, "sign-rebaseline", "-i", m.file(status(func(s *artifact.AnchorStatus) { s.WitnessValue, s.Quarantine = 41, word })), "-reason", artifact.ReasonRestored, "-o", out), out)
	}
	// Review item 22: a poisoned clock is mended with equal values.
	out = m.out()
	m.signs(m.run(sayYes, "sign-rebaseline", "-i", m.file(status(func(s *artifact.AnchorStatus) { s.WitnessValue, s.Quarantine = 41, "clock_jump" })), "-reason", artifact.ReasonClockPoisoned, "-o", out), out)
	out = m.out()
	r = m.run(sayYes, "sign-rebaseline", "-i", m.file(status(func(s *artifact.AnchorStatus) { s.WitnessValue = 40 })), "-reason", artifact.ReasonCounterUsed, "-o", out)
	m.signs(r, out)
	if !strings.Contains(r.shown, "this may be another TPM") {
		t.Errorf("no warning:\n%s", r.shown)
	}
}

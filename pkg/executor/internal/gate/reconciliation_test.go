package gate

import (
	"context"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/alias/aliastest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/pkg/pfrest"
)

func storetestPost(t *testing.T) store.Seen {
	t.Helper()
	return storetest.Post(t, name, text)
}

// stating is a contract whose outcome is unknown, with evidence over it.
type stating struct {
	*world
	c       record.Contract
	draft   *draft
	file    []byte
	release bool
	read    func(context.Context) ([2]*alias.List, error)
}

// unsettled plays a contract into reconciliation: forward, or on its way back.
func unsettled(t *testing.T, back bool) *stating {
	t.Helper()
	w := newWorld(t)
	if !back {
		return &stating{world: w, c: w.reconciling(t, name, store.Exchange{})}
	}
	c := must[record.Contract](t)(w.Verified(name, text))
	w.appliance.SetDescr(name, text)
	return &stating{world: w, c: w.rolling(t, c, record.Reconciliation)}
}

// rolling plays an undo to its outcome.
func (w *world) rolling(t *testing.T, c record.Contract, to record.State) record.Contract {
	t.Helper()
	confirmation, authorization := w.Undo(c)
	c = must[record.Contract](t)(w.S.BeginRollback(c.At(), confirmation, authorization, w.Witness, "operator:0"))
	if err := w.Advance(c); err != nil {
		t.Fatal(err)
	}
	c = must[record.Contract](t)(w.S.SendIntent(c.At(), c.Collection))
	x := store.Exchange{}
	if to == record.RollbackFailed {
		x = store.Exchange{Answered: true, Took: time.Second}
	}
	return must[record.Contract](t)(w.S.Settle(c.At(), to, "ambiguous_response", x))
}

// state puts the appliance into one of the four states and observes it.
func (s *stating) state(t *testing.T, match string) string {
	t.Helper()
	s.show(match)
	if match != artifact.MatchAbsent {
		return must[string](t)(s.Observe(s.c, match))
	}
	o, now := artifacttest.Observation(t), s.Clock.Read()
	o.ContractID, o.OperationID, o.StateVersion, o.UncertaintyOrigin = s.c.ContractID, s.c.OperationID, s.c.Version, string(s.c.Origin)
	o.SendBoundary, o.Match, o.ObservedAt = string(s.c.Boundary), match, now.Wall
	o.TargetPresent, o.TargetFingerprint, o.Locator = false, "", nil
	artifacttest.File(t, o, artifacttest.KeyX())
	if err := s.S.Observed(o, now, "operator:0"); err != nil {
		t.Fatal(err)
	}
	return must[string](t)(o.Digest())
}

// show puts the target where a match says.
func (s *stating) show(match string) {
	back := s.c.Origin == record.RollingBack || s.c.State == record.RollbackFailed
	switch {
	case match == artifact.MatchExpectedPost && !back, match == artifact.MatchPre && back:
		s.appliance.SetDescr(name, text)
	case match == artifact.MatchPre, match == artifact.MatchExpectedPost:
		s.appliance.SetDescr(name, "Old text")
	case match == artifact.MatchNeither:
		s.appliance.SetDescr(name, "A third text")
	default:
		s.drop(name)
	}
}

// sign signs evidence over an observation.
func (s *stating) sign(t *testing.T, outcome, observation string) {
	t.Helper()
	a, _ := s.Evidence(s.c, outcome, observation)
	if outcome == artifact.OutcomeApplied {
		in := storetest.Intent(name, text)
		a.VerifiedFingerprint = must[string](t)(in.ExpectedPost())
	}
	s.draft = of(t, a, artifacttest.KeyR())
}

func (s *stating) submit(t *testing.T) (*Evidence, *Denied) {
	t.Helper()
	file := s.file
	if file == nil {
		file = s.draft.sign(t)
	}
	s.calls = nil
	s.appliance.Forget()
	live := s.live
	if s.read != nil {
		live = s.read
	}
	if s.release {
		return Release(t.Context(), s.world, file, live)
	}
	return Reconciliation(t.Context(), s.world, file, live)
}

func submitStating(t *testing.T, s *stating) *Denied {
	t.Helper()
	_, d := s.submit(t)
	if d == nil {
		return nil
	}
	var allowed []string
	switch d.Reason {
	case "r_form":
	case "r_quarantine":
		allowed = []string{"quarantine"}
	case "r_authority", "r_signature":
		allowed = []string{"quarantine", "authorities"}
	case "r_read", "r_identity", "r_contradicted":
		allowed = []string{"quarantine", "authorities", "view", "policy", "live"}
	default:
		allowed = []string{"quarantine", "authorities", "view"}
	}
	asked(t, s.world, string(d.Reason), allowed...)
	return d
}

// applied is evidence that the change is in place, which it is.
func applied(t *testing.T) *stating {
	t.Helper()
	s := unsettled(t, false)
	s.Clock.Pass(time.Minute)
	observation := s.state(t, artifact.MatchExpectedPost)
	s.Clock.Pass(10 * time.Second)
	s.sign(t, artifact.OutcomeApplied, observation)
	return s
}

func evidenceFaults() []fault[*stating] {
	return []fault[*stating]{
		{"a member too many", "r_form", func(_ *testing.T, s *stating) { s.draft.set("comment", "x") }},
		{"quarantine", "r_quarantine", func(_ *testing.T, s *stating) { s.quarantine = "anchor_mismatch" }},
		{"an authority of another role", "r_authority", func(_ *testing.T, s *stating) { s.draft.set("authority_id", artifacttest.ConfirmationID) }},
		{"another key", "r_signature", func(_ *testing.T, s *stating) { s.draft.key = artifacttest.Seed(0x77) }},
		{"no such contract", "r_contract", func(_ *testing.T, s *stating) { s.draft.set("contract_id", change.NewID(change.PrefixContract)) }},
		{"another operation", "r_version", func(_ *testing.T, s *stating) { s.draft.set("operation_id", change.NewID(change.PrefixOperation)) }},
		{"an outcome of the other way", "r_outcome", func(_ *testing.T, s *stating) {
			s.draft.set("outcome", artifact.OutcomeRollbackApplied)
			s.draft.set("verified_target_fingerprint", nil)
		}},
		{"a clock that jumped", "r_clock", func(_ *testing.T, s *stating) { s.Clock.Set(2 * time.Minute) }},
		{"issued in the future", "r_time", func(_ *testing.T, s *stating) { s.draft.at("issued_at", s.Clock.Read().Wall.Add(31*time.Second)) }},
		{"an unknown observation", "r_observation", func(_ *testing.T, s *stating) { s.draft.set("observation_digest", strings.Repeat("9", 64)) }},
		{"another position claimed", "r_locator", func(_ *testing.T, s *stating) { s.draft.set("verified_lifecycle_locator", int64(8)) }},
		{"another state claimed", "r_fingerprint", func(_ *testing.T, s *stating) {
			if s.draft.payload["verified_target_fingerprint"] != nil {
				s.draft.set("verified_target_fingerprint", strings.Repeat("9", 64))
			}
		}},
		{"an appliance that does not answer", "r_read", func(_ *testing.T, s *stating) {
			s.appliance.Change(func(st *aliastest.State) {
				st.Fail = map[pfrest.Endpoint]error{"/api/v2/firewall/aliases": errs.New(errs.Unavailable, "no answer").WithClass("connection")}
			})
		}},
		{"another appliance", "r_identity", func(_ *testing.T, s *stating) {
			s.appliance.Change(func(st *aliastest.State) { st.NetgateID = "ffffffffffffffffffff" })
		}},
		{"the former text", "r_contradicted", func(_ *testing.T, s *stating) { s.appliance.SetDescr(name, "Old text") }},
	}
}

func TestR2EveryFaultOfEvidenceIsDeniedAtItsPlace(t *testing.T) {
	single(t, evidenceFaults(), applied, submitStating)
	pairs(t, evidenceFaults(), applied, submitStating)
}

func TestR2EveryMemberOfEvidenceIsSigned(t *testing.T) {
	base := applied(t)
	whole := must[any](t)(canon.Decode(base.draft.sign(t)))
	leaves(whole, "", func(path string, v any, set func(any)) {
		set(other(v))
		file := must[[]byte](t)(canon.Encode(whole))
		set(v)
		want := record.Reason("r_signature")
		if _, err := artifact.ParseReconciliation(file); err != nil {
			want = "r_form"
		} else if path == "/authority_id" {
			want = "r_authority"
		}
		base.file = file
		check(t, path, want, submitStating(t, base))
	})
}

// TestR1 tries every outcome for every origin against every state, of the observation
// and of now.
func TestR1Review14OutcomesFollowWhatIsThere(t *testing.T) {
	matches := []string{artifact.MatchExpectedPost, artifact.MatchPre, artifact.MatchNeither, artifact.MatchAbsent}
	for _, back := range []bool{false, true} {
		for _, outcome := range []string{artifact.OutcomeApplied, artifact.OutcomeNotApplied, artifact.OutcomeRollbackApplied, artifact.OutcomeRollbackNotApplied} {
			for _, seen := range matches {
				for _, now := range matches {
					what := strings.Join([]string{outcome, seen, now, map[bool]string{false: "forward", true: "back"}[back]}, " ")
					s := unsettled(t, back)
					s.Clock.Pass(901 * time.Second)
					observation := s.state(t, seen)
					s.Clock.Pass(10 * time.Second)
					s.sign(t, outcome, observation)
					if seen == artifact.MatchAbsent && now != seen {
						continue // what is gone does not come back in this test
					}
					s.show(now)
					isApplied := outcome == artifact.OutcomeApplied || outcome == artifact.OutcomeRollbackApplied
					legal := back == (outcome == artifact.OutcomeRollbackApplied || outcome == artifact.OutcomeRollbackNotApplied)
					against := map[bool]string{true: artifact.MatchPre, false: artifact.MatchExpectedPost}[isApplied]
					ok, d := s.submit(t)
					switch {
					case !legal:
						check(t, what, "r_outcome", d)
					case seen == against || now == against:
						check(t, what, "r_contradicted", d)
					case d != nil:
						t.Errorf("%s: %v", what, d)
					default:
						third := func(m string) bool { return m == artifact.MatchNeither || m == artifact.MatchAbsent }
						if want := third(seen) || third(now); ok.AttestedOnly != want {
							t.Errorf("%s: attested only %v", what, ok.AttestedOnly)
						}
						c := must[record.Contract](t)(s.S.Reconcile(ok.Contract.At(), ok.File, ok.Artifact, ok.AttestedOnly, "operator:0"))
						if c.State == record.Reconciliation {
							t.Errorf("%s: %s", what, c.State)
						}
					}
				}
			}
		}
	}
}

func TestReview01NotAppliedNeedsALookThatWasMadeLateEnough(t *testing.T) {
	for _, back := range []bool{false, true} {
		outcome := map[bool]string{false: artifact.OutcomeNotApplied, true: artifact.OutcomeRollbackNotApplied}[back]
		s := unsettled(t, back)
		s.Clock.Pass(899 * time.Second)
		early := s.state(t, artifact.MatchPre)
		// The early look does not become better by waiting.
		s.Clock.Pass(time.Hour)
		s.sign(t, outcome, early)
		check(t, "seen after 899 s", "r_landing", submitStating(t, s))
		late := s.state(t, artifact.MatchPre)
		s.sign(t, outcome, late)
		if d := submitStating(t, s); d != nil {
			t.Errorf("seen later: %v", d)
		}

		// A clock that jumps forward, and a machine that was started again, let no
		// time pass.
		s = unsettled(t, back)
		s.Clock.Pass(time.Minute)
		s.Clock.Set(time.Hour)
		jumped := s.state(t, artifact.MatchPre)
		s.Clock.Set(-time.Hour)
		s.sign(t, outcome, jumped)
		check(t, "a jump", "r_landing", submitStating(t, s))
	}
	// Applied needs no such time.
	if d := submitStating(t, applied(t)); d != nil {
		t.Errorf("applied: %v", d)
	}
}

func TestReview17EvidenceNeedsTwoReadsThatDifferInTime(t *testing.T) {
	one := func(s *stating) *alias.List {
		l, err := s.reader.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for what, row := range map[string]struct {
		read func(*stating) ([2]*alias.List, error)
		want record.Reason
	}{
		"one read twice": {func(s *stating) ([2]*alias.List, error) { l := one(s); return [2]*alias.List{l, l}, nil }, "r_read"},
		"five seconds apart": {func(s *stating) ([2]*alias.List, error) {
			first := one(s)
			s.Clock.Pass(5 * time.Second)
			return [2]*alias.List{first, one(s)}, nil
		}, "r_read"},
		"the other way round": {func(s *stating) ([2]*alias.List, error) {
			first := one(s)
			s.Clock.Pass(6 * time.Second)
			return [2]*alias.List{one(s), first}, nil
		}, "r_read"},
		"the first is missing":  {func(s *stating) ([2]*alias.List, error) { return [2]*alias.List{nil, one(s)}, nil }, "r_read"},
		"the second is missing": {func(s *stating) ([2]*alias.List, error) { return [2]*alias.List{one(s), nil}, nil }, "r_read"},
		"the second disagrees": {func(s *stating) ([2]*alias.List, error) {
			first := one(s)
			s.Clock.Pass(6 * time.Second)
			s.appliance.SetDescr(name, "Old text")
			return [2]*alias.List{first, one(s)}, nil
		}, "r_contradicted"},
		"another appliance the second time": {func(s *stating) ([2]*alias.List, error) {
			first := one(s)
			s.Clock.Pass(6 * time.Second)
			s.appliance.Change(func(st *aliastest.State) { st.NetgateID = "ffffffffffffffffffff" })
			return [2]*alias.List{first, one(s)}, nil
		}, "r_identity"},
	} {
		s := applied(t)
		s.read = func(context.Context) ([2]*alias.List, error) { return row.read(s) }
		_, d := s.submit(t)
		check(t, what, row.want, d)
	}
	// A shorter window is a policy, which only a test build has.
	s := applied(t)
	s.policy.Settle = time.Second
	s.read = func(context.Context) ([2]*alias.List, error) {
		first := one(s)
		s.Clock.Pass(time.Second)
		return [2]*alias.List{first, one(s)}, nil
	}
	if _, d := s.submit(t); d != nil {
		t.Errorf("%v", d)
	}
}

func TestATargetThatMovedSettlesNothingByItself(t *testing.T) {
	s := applied(t)
	s.drop("a3")
	ok, d := s.submit(t)
	if d != nil || !ok.AttestedOnly {
		t.Errorf("%+v, %v", ok, d)
	}
}

func TestR2EvidenceHasItsTimeAndItsVersion(t *testing.T) {
	s := applied(t)
	entered := read(t, s.world, func(v *store.View) (*record.Result, error) {
		_, r, err := v.Contract(s.c.ContractID)
		return r, err
	})
	s.draft.at("issued_at", entered.At.Add(-time.Second))
	check(t, "older than the question", "r_time", submitStating(t, s))
	s.draft.at("issued_at", entered.At)
	if d := submitStating(t, s); d != nil {
		t.Errorf("as old as the question: %v", d)
	}
	s = applied(t)
	s.Clock.Pass(24 * time.Hour)
	if d := submitStating(t, s); d != nil {
		t.Errorf("a day old: %v", d)
	}
	s = applied(t)
	s.Clock.Pass(24*time.Hour + time.Second)
	check(t, "older than a day", "r_time", submitStating(t, s))

	s = applied(t)
	s.draft.set("observed_state_version", s.c.Version-1)
	check(t, "an older version", "r_version", submitStating(t, s))

	// An observation of another contract.
	s = applied(t)
	s.Clock.Pass(15 * time.Minute) // of the landing window
	other := s.reconciling(t, "a0", store.Exchange{Answered: true, Took: time.Second})
	s.draft.set("observation_digest", must[string](t)(s.Observe(other, artifact.MatchExpectedPost)))
	check(t, "another contract's observation", "r_observation", submitStating(t, s))

	// A contract that is settled.
	s = applied(t)
	ok, d := s.submit(t)
	if d != nil {
		t.Fatal(d)
	}
	must[record.Contract](t)(s.S.Reconcile(ok.Contract.At(), ok.File, ok.Artifact, ok.AttestedOnly, "operator:0"))
	check(t, "again", "r_state", submitStating(t, s))
}

func TestReview15EvidenceFromBeforeARebaselineIsVoid(t *testing.T) {
	s := applied(t)
	a, file := s.Rebaseline(artifact.ReasonRestored)
	if err := s.S.Rebaseline(file, a, s.Witness, "operator:0"); err != nil {
		t.Fatal(err)
	}
	check(t, "signed before", "r_floor", submitStating(t, s))
}

func TestReview14ANeverSentContractAfterARebaselineCannotBeClaimedVerified(t *testing.T) {
	w := newWorld(t)
	c := must[record.Contract](t)(w.Authorize(name, text))
	a, file := w.Rebaseline(artifact.ReasonRestored)
	if err := w.S.Rebaseline(file, a, w.Witness, "operator:0"); err != nil {
		t.Fatal(err)
	}
	moved := read(t, w, func(v *store.View) (*record.Contract, error) {
		c, _, err := v.Contract(c.ContractID)
		return c, err
	})
	s := &stating{world: w, c: *moved}
	w.Clock.Pass(time.Minute)
	observation := s.state(t, artifact.MatchPre)
	s.sign(t, artifact.OutcomeApplied, observation)
	check(t, "applied, with the former text there", "r_contradicted", submitStating(t, s))
	observation = s.state(t, artifact.MatchNeither)
	s.sign(t, artifact.OutcomeApplied, observation)
	ok, d := s.submit(t)
	if d != nil || !ok.AttestedOnly {
		t.Errorf("a third text: %+v, %v", ok, d)
	}
	// Its history may be lost, so that it was not sent is not certain at once.
	observation = s.state(t, artifact.MatchPre)
	s.sign(t, artifact.OutcomeNotApplied, observation)
	check(t, "not applied, at once", "r_landing", submitStating(t, s))
	w.Clock.Pass(15 * time.Minute)
	observation = s.state(t, artifact.MatchPre)
	s.sign(t, artifact.OutcomeNotApplied, observation)
	if ok, d := s.submit(t); d != nil || ok.AttestedOnly {
		t.Errorf("not applied, later: %+v, %v", ok, d)
	}
}

// failedUndo is a rollback that failed, with evidence for its release.
func failedUndo(t *testing.T) *stating {
	t.Helper()
	w := newWorld(t)
	c := must[record.Contract](t)(w.Verified(name, text))
	w.appliance.SetDescr(name, text)
	s := &stating{world: w, c: w.rolling(t, c, record.RollbackFailed), release: true}
	w.Clock.Pass(901 * time.Second)
	observation := s.state(t, artifact.MatchNeither)
	s.sign(t, artifact.OutcomeRollbackNotApplied, observation)
	return s
}

func TestReview23R6AFailedRollbackIsReleasedByEvidenceThatAgreesWithWhatIsThere(t *testing.T) {
	for _, match := range []string{artifact.MatchExpectedPost, artifact.MatchPre, artifact.MatchNeither, artifact.MatchAbsent} {
		s := failedUndo(t)
		observation := s.state(t, match)
		s.sign(t, artifact.OutcomeRollbackNotApplied, observation)
		ok, d := s.submit(t)
		if d != nil {
			t.Errorf("%s: %v", match, d)
			continue
		}
		if err := s.S.Release(ok.Contract.At(), ok.File, ok.Artifact, "operator:0"); err != nil {
			t.Errorf("%s: %v", match, err)
		}
		check(t, match+" again", "r_state", submitStating(t, s))
	}
	for what, row := range map[string]struct {
		spoil func(*stating)
		want  record.Reason
	}{
		"something else is there now": {func(s *stating) { s.appliance.SetDescr(name, "Old text") }, "r_contradicted"},
		"the two reads differ": {func(s *stating) {
			s.read = func(ctx context.Context) (l [2]*alias.List, err error) {
				if l[0], err = s.reader.List(ctx); err != nil {
					return l, err
				}
				s.Clock.Pass(6 * time.Second)
				s.appliance.SetDescr(name, "A fourth text")
				l[1], err = s.reader.List(ctx)
				return l, err
			}
		}, "r_contradicted"},
		"another outcome":  {func(s *stating) { s.sign(t, artifact.OutcomeNotApplied, s.state(t, artifact.MatchNeither)) }, "r_outcome"},
		"an older version": {func(s *stating) { s.draft.set("observed_state_version", int64(1)) }, "r_version"},
		"as evidence":      {func(s *stating) { s.release = false }, "r_state"},
	} {
		s := failedUndo(t)
		row.spoil(s)
		_, d := s.submit(t)
		check(t, what, row.want, d)
	}
	s := applied(t)
	s.release = true
	check(t, "a contract in reconciliation", "r_state", submitStating(t, s))
}

package artifact_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
)

func TestReview18APreviewSaysWhoAsked(t *testing.T) {
	p := at.Preview()
	for name, c := range map[string]struct {
		origin string
		uid    *int64
		ok     bool
	}{
		"mcp with its claim": {artifact.OriginMCP, at.Number(1001), true}, "operator": {artifact.OriginOperator, nil, true}, "mcp without": {artifact.OriginMCP, nil, false},
		"operator with": {artifact.OriginOperator, at.Number(0), false}, "nobody": {artifact.OriginMCP, at.Number(1<<32 - 1), false}, "negative": {artifact.OriginMCP, at.Number(-1), false}, "other": {"cron", at.Number(1), false},
	} {
		p.Origin, p.AskedBy = c.origin, c.uid
		b, err := artifact.Sign(p, at.KeyX())
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if c.ok && c.uid != nil && !bytes.Contains(b, []byte(`"asked_by_uid":1001`)) {
			t.Errorf("%s: the uid is not in the file", name)
		}
	}
}

func TestReview25APreviewSaysThatItIsOfATestBuild(t *testing.T) {
	p := at.Preview()
	p.TestBuild = true
	b, err := artifact.Sign(p, at.KeyX())
	if err != nil || !bytes.Contains(b, []byte(`"test_build":true`)) {
		t.Errorf("%v", err)
	}
}

func TestReview08APendingCarriesThePlanThatWasAuthorized(t *testing.T) {
	p := at.Pending(t, at.Intent(), at.Plan())
	b, err := artifact.Sign(p, at.KeyX())
	if err != nil || !bytes.Contains(b, []byte(`"schema_version":4`)) || !bytes.Contains(b, []byte(`"posture_plan":{`)) {
		t.Fatal(err)
	}
	p.Plan.Evidence.Baseline, p.Plan.Evidence.Witness = at.Number(42), at.Number(42)
	if _, err := artifact.Sign(p, at.KeyX()); artifact.ClassOf(err) != artifact.Binding {
		t.Errorf("another plan than the authorized one: %v", err)
	}
	if x := (&change.Executor{StoreID: at.StoreID}); x.Lab() {
		t.Error("a production store counts as laboratory")
	}
	if x := (&change.Executor{StoreID: "lab-1"}); !x.Lab() {
		t.Error("a laboratory store does not count as one")
	}
}

func TestReview01AnObservationSaysHowLongAgoTheSendWas(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*artifact.Observation)
		ok     bool
	}{
		"after a send": {func(*artifact.Observation) {}, true},
		"nothing sent": {func(o *artifact.Observation) {
			o.SentAt, o.SecondsSinceSend, o.SendBoundary = time.Time{}, nil, artifact.BoundaryNone
		}, true},
		"intent without a time":     {func(o *artifact.Observation) { o.SentAt, o.SecondsSinceSend = time.Time{}, nil }, false},
		"sent without seconds":      {func(o *artifact.Observation) { o.SecondsSinceSend = nil }, false},
		"negative":                  {func(o *artifact.Observation) { o.SecondsSinceSend = at.Number(-1) }, false},
		"absent with a fingerprint": {func(o *artifact.Observation) { o.TargetPresent = false }, false},
		"absent": {func(o *artifact.Observation) {
			o.TargetPresent, o.TargetFingerprint, o.Locator, o.Match = false, "", nil, artifact.MatchAbsent
		}, true},
		"absent with another match":    {func(o *artifact.Observation) { o.TargetPresent, o.TargetFingerprint, o.Locator = false, "", nil }, false},
		"present that matches absence": {func(o *artifact.Observation) { o.Match = artifact.MatchAbsent }, false},
		"waiting for release":          {func(o *artifact.Observation) { o.UncertaintyOrigin = "" }, true},
	} {
		o := at.Observation(t)
		c.change(o)
		if _, err := artifact.Sign(o, at.KeyX()); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestR1AnOutcomeCarriesExactlyItsProofs(t *testing.T) {
	for outcome, want := range map[string][2]bool{
		artifact.OutcomeApplied: {true, true}, artifact.OutcomeNotApplied: {false, false}, artifact.OutcomeRollbackApplied: {false, true}, artifact.OutcomeRollbackNotApplied: {false, false},
		"confirmed_unknown": {}, "retry": {},
	} {
		for _, has := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			r := at.Reconciliation(t, strings.Repeat("8", 64))
			r.Outcome = outcome
			if !has[0] {
				r.VerifiedFingerprint = ""
			}
			if !has[1] {
				r.VerifiedLocator = nil
			}
			_, err := artifact.Sign(r, at.KeyR())
			if ok := has == want && strings.HasPrefix(outcome, "confirmed_") && outcome != "confirmed_unknown"; (err == nil) != ok {
				t.Errorf("%s with fingerprint, locator %v: %v", outcome, has, err)
			}
		}
	}
}

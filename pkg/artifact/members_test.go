package artifact

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"pfsensemcp/pkg/canon"
)

// intents draws prepared changes.
func intents() *rapid.Generator[Intent] {
	text := rapid.Map(rapid.StringN(0, 30, 60), norm.NFC.String).Filter(canon.Normal)
	return rapid.Custom(func(t *rapid.T) Intent {
		n := rapid.IntRange(0, 4).Draw(t, "addresses")
		in := Intent{
			Target: AliasState{
				Name:    rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_]{0,31}`).Draw(t, "name"),
				Type:    rapid.SampledFrom([]string{"host", "network", "port"}).Draw(t, "type"),
				Descr:   text.Draw(t, "descr"),
				Address: rapid.SliceOfN(text, n, n).Draw(t, "address"),
				Detail:  rapid.SliceOfN(text, 0, n).Draw(t, "detail"),
			},
			NewDescription: text.Filter(func(s string) bool { return storable(s) == "" }).Draw(t, "new"),
			Appliance:      strings.Repeat("ab", 32),
		}
		if in.NewDescription == in.Target.Descr {
			t.Skip("no change")
		}
		return in
	})
}

func TestE4WhatIsSealedOpensToTheSameChange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := intents().Draw(rt, "intent")
		m, err := in.Members()
		if err != nil {
			rt.Fatal(err)
		}
		back, err := m.Open()
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(&in, back); d != "" {
			rt.Fatal(d)
		}
		swapped := Members{m.Identity, m.Snapshot, m.Intent}
		if _, err := swapped.Open(); err == nil {
			rt.Fatal("members are taken in each other's place")
		}
	})
}

func TestE4EveryPreviewReadsBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := examplePreview()
		p.Intent = intents().Draw(rt, "intent")
		p.Plan.Executor.ApplianceTarget = p.Intent.Appliance
		b, err := Sign(p, keyX)
		if err != nil {
			rt.Fatal(err)
		}
		back, err := ParsePreview(b)
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(p, back); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestASealedMemberOfAnotherAliasDoesNotOpen(t *testing.T) {
	in := exampleIntent()
	m, err := in.Members()
	if err != nil {
		t.Fatal(err)
	}
	other := exampleIntent()
	other.Target.Name = "db_servers"
	o, err := other.Members()
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]Members{
		"identity": {o.Identity, m.Intent, m.Snapshot}, "intent": {m.Identity, o.Intent, m.Snapshot}, "snapshot": {m.Identity, m.Intent, o.Snapshot},
		"not canonical": {append([]byte(" "), m.Identity...), m.Intent, m.Snapshot}, "not an object": {[]byte("1"), m.Intent, m.Snapshot}, "nothing": {},
	} {
		if _, err := bad.Open(); err == nil {
			t.Errorf("another %s opens", name)
		}
	}
}

func TestReview18APreviewSaysWhoAsked(t *testing.T) {
	p := examplePreview()
	for name, c := range map[string]struct {
		origin string
		uid    *int64
		ok     bool
	}{
		"mcp with its claim": {OriginMCP, number(1001), true}, "operator": {OriginOperator, nil, true}, "mcp without": {OriginMCP, nil, false},
		"operator with": {OriginOperator, number(0), false}, "nobody": {OriginMCP, number(1<<32 - 1), false}, "negative": {OriginMCP, number(-1), false}, "other": {"cron", number(1), false},
	} {
		p.Origin, p.AskedBy = c.origin, c.uid
		b, err := Sign(p, keyX)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if c.ok && c.uid != nil && !bytes.Contains(b, []byte(`"asked_by_uid":1001`)) {
			t.Errorf("%s: the uid is not in the file", name)
		}
	}
}

func TestReview25APreviewSaysThatItIsOfATestBuild(t *testing.T) {
	p := examplePreview()
	p.TestBuild = true
	b, err := Sign(p, keyX)
	if err != nil || !bytes.Contains(b, []byte(`"test_build":true`)) {
		t.Errorf("%v", err)
	}
}

func TestReview08APendingCarriesThePlanThatWasAuthorized(t *testing.T) {
	p := examplePending(t)
	b, err := Sign(p, keyX)
	if err != nil || !bytes.Contains(b, []byte(`"schema_version":4`)) || !bytes.Contains(b, []byte(`"posture_plan":{`)) {
		t.Fatal(err)
	}
	p.Plan.Evidence.Baseline, p.Plan.Evidence.Witness = number(42), number(42)
	if _, err := Sign(p, keyX); ClassOf(err) != Binding {
		t.Errorf("another plan than the authorized one: %v", err)
	}
	if x := (&Executor{StoreID: storeID}); x.Lab() {
		t.Error("a production store counts as laboratory")
	}
	if x := (&Executor{StoreID: "lab-1"}); !x.Lab() {
		t.Error("a laboratory store does not count as one")
	}
}

func TestReview01AnObservationSaysHowLongAgoTheSendWas(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Observation)
		ok     bool
	}{
		"after a send":              {func(*Observation) {}, true},
		"nothing sent":              {func(o *Observation) { o.SentAt, o.SecondsSinceSend, o.SendBoundary = time.Time{}, nil, BoundaryNone }, true},
		"intent without a time":     {func(o *Observation) { o.SentAt, o.SecondsSinceSend = time.Time{}, nil }, false},
		"sent without seconds":      {func(o *Observation) { o.SecondsSinceSend = nil }, false},
		"negative":                  {func(o *Observation) { o.SecondsSinceSend = number(-1) }, false},
		"absent with a fingerprint": {func(o *Observation) { o.TargetPresent = false }, false},
		"absent": {func(o *Observation) {
			o.TargetPresent, o.TargetFingerprint, o.Locator, o.Match = false, "", nil, MatchAbsent
		}, true},
		"absent with another match":    {func(o *Observation) { o.TargetPresent, o.TargetFingerprint, o.Locator = false, "", nil }, false},
		"present that matches absence": {func(o *Observation) { o.Match = MatchAbsent }, false},
		"waiting for release":          {func(o *Observation) { o.UncertaintyOrigin = "" }, true},
	} {
		o := exampleObservation(t)
		c.change(o)
		if _, err := Sign(o, keyX); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestR1AnOutcomeCarriesExactlyItsProofs(t *testing.T) {
	for outcome, want := range map[string][2]bool{
		OutcomeApplied: {true, true}, OutcomeNotApplied: {false, false}, OutcomeRollbackApplied: {false, true}, OutcomeRollbackNotApplied: {false, false},
		"confirmed_unknown": {}, "retry": {},
	} {
		for _, has := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			r := exampleReconciliation(t)
			r.Outcome = outcome
			if !has[0] {
				r.VerifiedFingerprint = ""
			}
			if !has[1] {
				r.VerifiedLocator = nil
			}
			_, err := Sign(&r, keyR)
			if ok := has == want && strings.HasPrefix(outcome, "confirmed_") && outcome != "confirmed_unknown"; (err == nil) != ok {
				t.Errorf("%s with fingerprint, locator %v: %v", outcome, has, err)
			}
		}
	}
}

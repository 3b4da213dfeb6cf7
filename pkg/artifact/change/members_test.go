package change_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
)

// intents draws prepared changes.
func intents() *rapid.Generator[change.Intent] {
	text := rapid.Map(rapid.StringN(0, 30, 60), norm.NFC.String).Filter(canon.Normal)
	return rapid.Custom(func(t *rapid.T) change.Intent {
		n := rapid.IntRange(0, 4).Draw(t, "addresses")
		in := change.Intent{
			Target: change.AliasState{
				Name:    rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_]{0,31}`).Draw(t, "name"),
				Type:    rapid.SampledFrom([]string{"host", "network", "port"}).Draw(t, "type"),
				Descr:   text.Draw(t, "descr"),
				Address: rapid.SliceOfN(text, n, n).Draw(t, "address"),
				Detail:  rapid.SliceOfN(text, 0, n).Draw(t, "detail"),
			},
			NewDescription: text.Filter(func(s string) bool { return storable(s) }).Draw(t, "new"),
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
		swapped := change.Members{m.Identity, m.Snapshot, m.Intent}
		if _, err := swapped.Open(); err == nil {
			rt.Fatal("members are taken in each other's place")
		}
	})
}

func TestASealedMemberOfAnotherAliasDoesNotOpen(t *testing.T) {
	in := at.Intent()
	m, err := in.Members()
	if err != nil {
		t.Fatal(err)
	}
	other := at.Intent()
	other.Target.Name = "db_servers"
	o, err := other.Members()
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]change.Members{
		"identity": {o.Identity, m.Intent, m.Snapshot}, "intent": {m.Identity, o.Intent, m.Snapshot}, "snapshot": {m.Identity, m.Intent, o.Snapshot},
		"not canonical": {append([]byte(" "), m.Identity...), m.Intent, m.Snapshot}, "not an object": {[]byte("1"), m.Intent, m.Snapshot}, "nothing": {},
	} {
		if _, err := bad.Open(); err == nil {
			t.Errorf("another %s opens", name)
		}
	}
}

func storable(s string) bool {
	got, err := change.Description(s, change.Stored)
	return err == nil && got == s
}

func TestE4EveryPreviewReadsBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := at.Preview()
		p.Intent = intents().Draw(rt, "intent")
		p.Plan.Executor.ApplianceTarget = p.Intent.Appliance
		b, err := artifact.Sign(p, at.KeyX())
		if err != nil {
			rt.Fatal(err)
		}
		back, err := artifact.ParsePreview(b)
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(p, back); d != "" {
			rt.Fatal(d)
		}
	})
}

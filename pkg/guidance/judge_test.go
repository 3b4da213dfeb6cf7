package guidance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// scene is one input of the decision table: an entry, overlays and an
// appliance, chosen so that edition, version and overlay status come out as the
// table's row says.
type scene struct {
	edition, version, overlay string
	want                      State
	chain                     []string
}

// The 18 inputs of guidance.md section 4, with evidence that caps nothing.
var scenes = []scene{
	{"match", "match", "none", Applicable, nil},
	{"match", "match", "caveated", PartiallyApplicable, []string{"late"}},
	{"match", "match", "superseded", Stale, []string{"late"}},
	{"match", "unconfirmed", "none", VersionUnconfirmed, nil},
	{"match", "unconfirmed", "caveated", VersionUnconfirmed, nil},
	{"match", "unconfirmed", "superseded", Stale, []string{"late"}},
	{"unconfirmed", "match", "none", VersionUnconfirmed, nil},
	{"unconfirmed", "match", "caveated", VersionUnconfirmed, nil},
	{"unconfirmed", "match", "superseded", Stale, []string{"late"}},
	{"unconfirmed", "unconfirmed", "none", VersionUnconfirmed, nil},
	{"unconfirmed", "unconfirmed", "caveated", VersionUnconfirmed, nil},
	{"unconfirmed", "unconfirmed", "superseded", Stale, []string{"late"}},
	{"mismatch", "match", "none", EditionMismatch, nil},
	{"mismatch", "match", "caveated", EditionMismatch, nil},
	{"mismatch", "match", "superseded", EditionMismatch, nil},
	{"mismatch", "unconfirmed", "none", EditionMismatch, nil},
	{"mismatch", "unconfirmed", "caveated", EditionMismatch, nil},
	{"mismatch", "unconfirmed", "superseded", EditionMismatch, nil},
}

// build returns the scene's registry and appliance.
func (s scene) build(t *testing.T, evidence string) (*Registry, Observed) {
	t.Helper()
	over := map[string]string{"evidence_level": quote(evidence)}
	seen := Observed{Edition: KnownCE, Version: "2.8.1"}
	switch s.edition {
	case "match":
		over["pfsense_edition"] = quote(EditionCE)
	case "unconfirmed":
		over["pfsense_edition"] = quote(EditionCE)
		seen = Observed{Edition: Unknown}
	case "mismatch":
		over["pfsense_edition"] = quote(EditionPlus)
	}
	if s.version == "unconfirmed" {
		over["version_applicability"] = quote("2.7.2")
		if s.edition == "mismatch" {
			over["version_applicability"] = quote("25.07")
		}
	}
	parts := []string{entryText("one", over), covering("one")}
	switch s.overlay {
	case "caveated":
		parts = append(parts, overlayText("late", "", nil))
	case "superseded":
		parts = append(parts, overlayText("late", "one", nil))
	}
	return mustLoad(t, parts...), seen
}

func TestTheDecisionTable(t *testing.T) {
	if len(scenes) != 18 {
		t.Fatalf("%d inputs", len(scenes))
	}
	for _, s := range scenes {
		t.Run(fmt.Sprintf("edition %s, version %s, overlay %s", s.edition, s.version, s.overlay), func(t *testing.T) {
			r, seen := s.build(t, ExplicitUnversioned)
			judged, overall := r.Lookup(capA, seen)
			if len(judged) != 1 {
				t.Fatalf("%d entries", len(judged))
			}
			if judged[0].State != s.want || overall != s.want {
				t.Errorf("state %s, overall %s, want %s", judged[0].State, overall, s.want)
			}
			if !slices.Equal(judged[0].Chain, s.chain) {
				t.Errorf("chain %q, want %q", judged[0].Chain, s.chain)
			}
		})
	}
}

// Weak evidence turns the two best states into version_unconfirmed and nothing
// else into anything.
func TestTheEvidenceCap(t *testing.T) {
	for _, evidence := range []string{ExplicitVersionScoped, ExplicitUnversioned, Inferred, UnknownEvidence} {
		for _, s := range scenes {
			t.Run(fmt.Sprintf("%s: edition %s, version %s, overlay %s", evidence, s.edition, s.version, s.overlay), func(t *testing.T) {
				want, chain := s.want, s.chain
				weak := evidence == Inferred || evidence == UnknownEvidence
				if weak && (want == Applicable || want == PartiallyApplicable) {
					want, chain = VersionUnconfirmed, nil
				}
				r, seen := s.build(t, evidence)
				judged, _ := r.Lookup(capA, seen)
				if judged[0].State != want || !slices.Equal(judged[0].Chain, chain) {
					t.Errorf("%s %q, want %s %q", judged[0].State, judged[0].Chain, want, chain)
				}
			})
		}
	}
}

func TestOnlyOverlaysOfTheObservedApplianceSpeak(t *testing.T) {
	ce := map[string]string{"applies_to_edition": quote("CE")}
	plus := map[string]string{"applies_to_edition": quote("Plus")}
	other := map[string]string{"applies_to_version": quote("2.7.2")}
	same := map[string]string{"applies_to_version": quote("2.8.1")}
	for name, c := range map[string]struct {
		over map[string]string
		seen Observed
		want State
	}{
		"for its edition":                {ce, Observed{KnownCE, "2.8.1"}, Stale},
		"for the other edition":          {plus, Observed{KnownCE, "2.8.1"}, Applicable},
		"for an edition nobody observed": {ce, Observed{Edition: Unknown}, Applicable},
		"for both":                       {nil, Observed{Edition: Unknown}, Stale},
		"for its version":                {same, Observed{KnownCE, "2.8.1"}, Stale},
		"for another version":            {other, Observed{KnownCE, "2.8.1"}, Applicable},
		"for a version nobody observed":  {other, Observed{Edition: Unknown}, Applicable},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustLoad(t, entryText("one", nil), covering("one"), overlayText("late", "one", c.over))
			if _, got := r.Lookup(capA, c.seen); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestAnOverlayConcernsItsOwnCapability(t *testing.T) {
	r := mustLoad(t,
		entryText("one", nil),
		table("coverage", map[string]string{"capability": quote(capA), "sources": `["one"]`}, nil),
		table("coverage", map[string]string{"capability": quote(capB), "sources": `["one"]`}, nil),
		overlayText("late", "one", nil),
	)
	if _, got := r.Lookup(capA, Observed{Edition: Unknown}); got != Stale {
		t.Errorf("its own: %s", got)
	}
	if _, got := r.Lookup(capB, Observed{Edition: Unknown}); got != Applicable {
		t.Errorf("another that shares the entry: %s", got)
	}
}

func TestAStaleChainEndsWithTheCurrentTruth(t *testing.T) {
	r := mustLoad(t, entryText("one", nil), covering("one"),
		overlayText("zzz", "one", nil), overlayText("mmm", "zzz", nil), overlayText("aaa", "mmm", nil))
	judged, _ := r.Lookup(capA, Observed{Edition: Unknown})
	if want := []string{"zzz", "mmm", "aaa"}; !slices.Equal(judged[0].Chain, want) {
		t.Errorf("chain %q, want %q", judged[0].Chain, want)
	}
}

func TestAStaleChainNamesOnlyWhatSupersedesAndSpeaks(t *testing.T) {
	// mmm speaks of another version: the chain runs through it, and it is not named.
	r := mustLoad(t, entryText("one", nil), covering("one"),
		overlayText("mmm", "one", map[string]string{"applies_to_version": quote("2.7.2")}),
		overlayText("aaa", "mmm", nil),
		overlayText("zzz", "", map[string]string{"applies_to_version": quote("2.8.1")}))
	judged, overall := r.Lookup(capA, Observed{KnownCE, "2.8.1"})
	if want := []string{"aaa"}; overall != Stale || !slices.Equal(judged[0].Chain, want) {
		t.Errorf("%s, chain %q, want %q", overall, judged[0].Chain, want)
	}
}

func TestCaveatsAreNamedInOrder(t *testing.T) {
	r := mustLoad(t, entryText("one", nil), covering("one"),
		overlayText("zzz", "", nil),
		overlayText("aaa", "", map[string]string{"applies_to_version": quote("2.8.1")}))
	judged, overall := r.Lookup(capA, Observed{KnownCE, "2.8.1"})
	if want := []string{"aaa", "zzz"}; overall != PartiallyApplicable || !slices.Equal(judged[0].Chain, want) {
		t.Errorf("%s, chain %q, want %q", overall, judged[0].Chain, want)
	}
}

func TestVersionMismatchNeedsTwoVersionsThatDiffer(t *testing.T) {
	for _, c := range []struct {
		entry string
		seen  Observed
		want  bool
	}{
		{Unversioned, Observed{KnownCE, "2.8.1"}, false},
		{"2.8.1", Observed{KnownCE, "2.8.1"}, false},
		{"2.8.0", Observed{KnownCE, "2.8.1"}, true},
		{"2.8.1", Observed{Edition: Unknown}, false},
		{"2.8.1", Observed{KnownPlus, "25.07"}, true},
	} {
		r := mustLoad(t, entryText("one", map[string]string{"version_applicability": quote(c.entry)}), covering("one"))
		if judged, _ := r.Lookup(capA, c.seen); judged[0].Mismatch != c.want {
			t.Errorf("entry %s, observed %v: %v", c.entry, c.seen, judged[0].Mismatch)
		}
	}
}

func TestNoEntryIsNoGuidance(t *testing.T) {
	r := mustLoad(t, entryText("one", nil), covering("one"))
	for _, capability := range []string{capB, "EXTENDED_READ", ""} {
		if judged, overall := r.Lookup(capability, Observed{Edition: Unknown}); len(judged) != 0 || overall != NoGuidance {
			t.Errorf("%q: %d entries, %s", capability, len(judged), overall)
		}
	}
}

func TestTheOverallStateIsTheWorst(t *testing.T) {
	plus := map[string]string{"pfsense_edition": quote("Plus")}
	weak := map[string]string{"evidence_level": quote(Inferred)}
	for name, c := range map[string]struct {
		parts []string
		want  State
	}{
		"all fit":               {[]string{entryText("one", nil), entryText("two", nil)}, Applicable},
		"one is weak":           {[]string{entryText("one", nil), entryText("two", weak)}, VersionUnconfirmed},
		"the first is weak":     {[]string{entryText("one", weak), entryText("two", nil)}, VersionUnconfirmed},
		"one is superseded":     {[]string{entryText("one", nil), entryText("two", weak), overlayText("late", "one", nil)}, Stale},
		"one is of the other":   {[]string{entryText("one", plus), entryText("two", nil)}, EditionMismatch},
		"stale and other":       {[]string{entryText("one", plus), entryText("two", nil), overlayText("late", "two", nil)}, EditionMismatch},
		"caveated and not weak": {[]string{entryText("one", nil), entryText("two", nil), overlayText("late", "", nil)}, PartiallyApplicable},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustLoad(t, append(c.parts, covering("one", "two"))...)
			judged, got := r.Lookup(capA, Observed{KnownCE, "2.8.1"})
			if got != c.want || len(judged) != 2 {
				t.Errorf("%s of %d entries, want %s", got, len(judged), c.want)
			}
		})
	}
}

// A walk along a chain ends even where a check has not looked yet.
func TestAChainInACircleEndsTheWalk(t *testing.T) {
	a := &Overlay{ID: "a", Supersedes: "b"}
	b := &Overlay{ID: "b", Supersedes: "a"}
	r := &Registry{overlays: map[string]*Overlay{"a": a, "b": b}}
	if r.reaches(a, "c") || !r.reaches(a, "a") {
		t.Error("reaches")
	}
	if d := r.depth(a); d > 3 {
		t.Errorf("depth %d", d)
	}
	if got := r.oldestFirst([]*Overlay{b, a}); len(got) != 2 {
		t.Errorf("order %q", got)
	}
}

func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	r := bundledRegistry(t)
	for capability := range r.coverage {
		for _, seen := range []Observed{{KnownCE, "2.8.1"}, {KnownPlus, "25.07"}, {Edition: Unknown}} {
			one, s1 := r.Lookup(capability, seen)
			two, s2 := r.Lookup(capability, seen)
			if s1 != s2 || !cmp.Equal(one, two) {
				t.Errorf("%s, %v: answers differ", capability, seen)
			}
			if s1 != VersionUnconfirmed {
				t.Errorf("%s, %v: %s, while every page is undated", capability, seen, s1)
			}
		}
	}
}

// Whatever chains and scopes overlays have, a lookup returns every entry once,
// and its chain holds known ids, each once, and is there exactly for two states.
func TestAnyRegistryThatLoadsJudgesSanely(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		editions := rapid.SampledFrom([]string{"CE", "Plus", "both"})
		evidence := rapid.SampledFrom([]string{ExplicitVersionScoped, ExplicitUnversioned, Inferred, UnknownEvidence})
		var parts, ids []string
		n := rapid.IntRange(1, 3).Draw(rt, "entries")
		for i := range n {
			id := fmt.Sprintf("entry_%d", i)
			ids = append(ids, id)
			parts = append(parts, entryText(id, map[string]string{
				"pfsense_edition": quote(editions.Draw(rt, "edition")), "evidence_level": quote(evidence.Draw(rt, "evidence")),
			}))
		}
		parts = append(parts, covering(ids...))
		for i := range rapid.IntRange(0, 5).Draw(rt, "overlays") {
			id := fmt.Sprintf("late_%d", i)
			parts = append(parts, overlayText(id, rapid.SampledFrom(append([]string{""}, ids...)).Draw(rt, "supersedes"), map[string]string{
				"applies_to_edition": quote(editions.Draw(rt, "applies to")),
			}))
			ids = append(ids, id)
		}
		r, err := loadText(parts...)
		if err != nil {
			return // a conflict: that is what the load is for
		}
		seen := rapid.SampledFrom([]Observed{{KnownCE, "2.8.1"}, {KnownPlus, "25.07"}, {Edition: Unknown}}).Draw(rt, "seen")
		judged, overall := r.Lookup(capA, seen)
		if len(judged) != n {
			rt.Fatalf("%d of %d entries", len(judged), n)
		}
		for i, j := range judged {
			if j.Entry.SourceID != ids[i] || worse(j.State, overall) {
				rt.Fatalf("entry %d is %s with %s, overall %s", i, j.Entry.SourceID, j.State, overall)
			}
			if chained := j.State == Stale || j.State == PartiallyApplicable; chained != (len(j.Chain) > 0) {
				rt.Fatalf("%s with the chain %q", j.State, j.Chain)
			}
			sorted := slices.Sorted(slices.Values(j.Chain))
			if len(slices.Compact(sorted)) != len(j.Chain) {
				rt.Fatalf("an overlay twice in %q", j.Chain)
			}
			for _, id := range j.Chain {
				if r.overlays[id] == nil {
					rt.Fatalf("%q is no overlay", id)
				}
			}
		}
	})
}

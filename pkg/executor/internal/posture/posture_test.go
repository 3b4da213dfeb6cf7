package posture

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
)

func n(v int64) *int64 { return &v }

// healthy are the facts of the golden example: counter 41, provisioned, write on.
func healthy() Facts {
	return Facts{
		Configured: true, ConfigValid: true, StoreExists: true, Seeded: true, Complete: true, WitnessConfigured: true, WitnessReachable: true,
		Assurance: change.AssuranceHardware, Baseline: n(41), Witness: n(41), ProvisionedAt: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC),
		WriteGranted: true, Endpoints: 1,
	}
}

func TestE1TheSteadyPlanHasTheGoldenDigest(t *testing.T) {
	p := Steady(Observe(healthy()), artifacttest.Plan().Executor)
	d, err := p.Digest()
	if err != nil || d != "eea8881e06f1354d823553ba80069210092b276fbfb61c237b6553916879d3b1" {
		t.Errorf("digest %s, %v", d, err)
	}
	if diff := cmp.Diff(artifacttest.Plan(), p); diff != "" {
		t.Error(diff)
	}
	if err := p.Executable(); err != nil {
		t.Error(err)
	}
}

func TestTheFirstRowOfTheDecisionTableThatFitsWins(t *testing.T) {
	// Each row spoils one more fact than the one below it, so every row also shows
	// that it comes before all that follow.
	type spoil func(*Facts)
	rows := []struct {
		spoil             spoil
		anchor, assurance string
	}{
		{func(f *Facts) { f.ConfigValid = false }, change.EvidenceInvalid, change.AssuranceUnknown},
		{func(f *Facts) { f.StoreExists = false }, change.EvidenceNotCreated, change.AssuranceNone},
		{func(f *Facts) { f.StoreBroken = true }, change.EvidenceStoreError, change.AssuranceUnknown},
		{func(f *Facts) { f.Seeded = false }, change.EvidenceUnprovisioned, change.AssuranceNone},
		{func(f *Facts) { f.Complete = false }, change.EvidenceUnprovisioned, change.AssuranceNone},
		{func(f *Facts) { f.WitnessConfigured = false }, change.EvidenceUnverified, change.AssuranceHardware},
		{func(f *Facts) { f.WitnessReachable = false }, change.EvidenceUnreachable, change.AssuranceHardware},
		{func(f *Facts) { f.Witness = n(42) }, change.EvidenceMismatch, change.AssuranceHardware},
		{func(*Facts) {}, change.EvidenceVerified, change.AssuranceHardware},
	}
	for i, row := range rows {
		alone, all := healthy(), healthy()
		row.spoil(&alone)
		for _, later := range rows[i:] {
			later.spoil(&all)
		}
		for _, f := range []Facts{alone, all} {
			if ev := Observe(f); ev.Anchor != row.anchor || ev.Assurance != row.assurance {
				t.Errorf("row %d: %s, %s; want %s, %s", i, ev.Anchor, ev.Assurance, row.anchor, row.assurance)
			}
		}
	}
	if ev := Observe(Facts{}); ev.Anchor != change.EvidenceUnconfigured || ev.Assurance != change.AssuranceNone || ev.Posture != change.PostureReadOnly {
		t.Errorf("nothing at all: %+v", ev)
	}
	unread := healthy()
	unread.Witness = nil
	if ev := Observe(unread); ev.Anchor != change.EvidenceUnreachable {
		t.Errorf("a counter without a value: %+v", ev)
	}
}

func TestEvidenceHoldsOnlyWhatItsStateKnows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Facts{
			Configured: rapid.Bool().Draw(t, "configured"), ConfigValid: rapid.Bool().Draw(t, "valid"), StoreExists: rapid.Bool().Draw(t, "exists"),
			StoreBroken: rapid.Bool().Draw(t, "broken"), Seeded: rapid.Bool().Draw(t, "seeded"), Complete: rapid.Bool().Draw(t, "complete"),
			WitnessConfigured: rapid.Bool().Draw(t, "witness"), WitnessReachable: rapid.Bool().Draw(t, "reachable"), Lab: rapid.Bool().Draw(t, "lab"),
			Assurance: rapid.SampledFrom([]string{"", "none", "software", "hardware_witness", "unknown", "odd"}).Draw(t, "assurance"),
			Baseline:  rapid.Ptr(rapid.Int64Range(0, 3), true).Draw(t, "baseline"), Witness: rapid.Ptr(rapid.Int64Range(0, 3), true).Draw(t, "value"),
			ProvisionedAt: artifacttest.At("08:00:00"), WriteGranted: rapid.Bool().Draw(t, "granted"), Endpoints: rapid.IntRange(0, 1).Draw(t, "endpoints"),
		}
		ev := Observe(f)
		p := Steady(ev, artifacttest.Plan().Executor)
		if _, err := p.Digest(); err != nil {
			t.Fatalf("%+v has no digest: %v", ev, err)
		}
		if (ev.Posture == change.PostureWriteProtected) != (f.WriteGranted && f.Endpoints > 0) {
			t.Fatal("posture")
		}
		// What may be written on is exactly: everything there, equal, hardware or a
		// laboratory, and granted.
		stands := f.Assurance == change.AssuranceHardware || f.Assurance == change.AssuranceSoftware && f.Lab
		whole := f.Configured && f.ConfigValid && f.StoreExists && !f.StoreBroken && f.Seeded && f.Complete && f.WitnessConfigured && f.WitnessReachable &&
			f.Baseline != nil && f.Witness != nil && *f.Baseline == *f.Witness
		if got, want := p.Executable() == nil, whole && stands && f.WriteGranted && f.Endpoints > 0; got != want {
			t.Fatalf("executable %v, want %v: %+v", got, want, f)
		}
	})
}

func TestN6ASoftwareCounterStandsForAWitnessInALaboratoryAlone(t *testing.T) {
	for _, row := range []struct {
		assurance string
		lab       bool
		want      string
	}{
		{change.AssuranceHardware, false, change.AssuranceHardware},
		{change.AssuranceHardware, true, change.AssuranceHardware},
		{change.AssuranceSoftware, false, change.AssuranceSoftware},
		{change.AssuranceSoftware, true, change.AssuranceHardware},
		{"", true, change.AssuranceUnknown},
		{change.AssuranceNone, true, change.AssuranceUnknown},
	} {
		f := healthy()
		f.Assurance, f.Lab = row.assurance, row.lab
		ev := Observe(f)
		p := Steady(ev, artifacttest.Plan().Executor)
		if ev.Assurance != row.want || (p.Executable() == nil) != (row.want == change.AssuranceHardware) {
			t.Errorf("%q, lab %v: %s, %v", row.assurance, row.lab, ev.Assurance, p.Executable())
		}
	}
}

func TestA10AnUnhealthyPlanIsNeverExecutable(t *testing.T) {
	for name, spoil := range map[string]func(*Facts){
		"mismatch":       func(f *Facts) { f.Witness = n(42) },
		"unreachable":    func(f *Facts) { f.WitnessReachable = false },
		"unverified":     func(f *Facts) { f.WitnessConfigured = false },
		"write off":      func(f *Facts) { f.WriteGranted = false },
		"no endpoint":    func(f *Facts) { f.Endpoints = 0 },
		"unprovisioned":  func(f *Facts) { f.Complete = false },
		"damaged store":  func(f *Facts) { f.StoreBroken = true },
		"bad settings":   func(f *Facts) { f.ConfigValid = false },
		"software alone": func(f *Facts) { f.Assurance = change.AssuranceSoftware },
	} {
		f := healthy()
		spoil(&f)
		if p := Steady(Observe(f), artifacttest.Plan().Executor); p.Executable() == nil {
			t.Errorf("%s is executable", name)
		}
	}
}

// at returns evidence of a posture and an assurance.
func at(capability, assurance string) change.Evidence {
	ev := change.Evidence{Posture: capability, Assurance: assurance, Anchor: change.EvidenceUnconfigured}
	switch assurance {
	case change.AssuranceHardware, change.AssuranceSoftware:
		ev.Anchor, ev.Baseline, ev.Witness, ev.ProvisionedAt = change.EvidenceVerified, n(41), n(41), artifacttest.At("08:00:00")
	case change.AssuranceUnknown:
		ev.Anchor = change.EvidenceStoreError
	}
	return ev
}

func TestThePlannerFollowsItsSixRules(t *testing.T) {
	const (
		ro, wp                   = change.PostureReadOnly, change.PostureWriteProtected
		none, soft, hard, unsure = change.AssuranceNone, change.AssuranceSoftware, change.AssuranceHardware, change.AssuranceUnknown
	)
	for _, row := range []struct {
		ev                    change.Evidence
		capability, assurance string
		validity, status      string
		safe                  bool
		way                   Transitions
		steps                 string // blocked ones marked
	}{
		{at(ro, none), ro, none, Valid, StatusSatisfied, true, Transitions{"no_change", "no_change"}, "a.no_change c.no_change"},
		{
			at(ro, none), wp, hard, Valid, StatusGenerated, true,
			Transitions{"upgrade", "upgrade"},
			"a.provision_hardware_witness_anchor a.deploy_witness_daemon c.populate_write_endpoints c.set_profile_engineer c.milestone_9_activation!",
		},
		{at(ro, none), ro, hard, Valid, StatusGenerated, true, Transitions{"no_change", "upgrade"}, "a.provision_hardware_witness_anchor a.deploy_witness_daemon c.no_change"},
		{at(ro, none), wp, none, Combination, StatusTarget, false, Transitions{"no_change", "no_change"}, ""},
		{at(wp, hard), wp, none, Combination, StatusTarget, false, Transitions{"no_change", "no_change"}, ""},
		{at(ro, none), wp, soft, NotImplemented, StatusImplementation, false, Transitions{"no_change", "no_change"}, ""},
		{at(ro, unsure), ro, soft, NotImplemented, StatusImplementation, false, Transitions{"no_change", "no_change"}, ""},
		{at(wp, hard), wp, soft, NotImplemented, StatusImplementation, false, Transitions{"no_change", "lateral"}, "a.deactivate_current_anchor a.provision_software_witness_anchor! c.no_change c.milestone_9_activation!"},
		{at(wp, unsure), wp, hard, Valid, StatusIndeterminate, true, Transitions{"no_change", "no_change"}, ""},
		{at(wp, unsure), ro, none, Valid, StatusIndeterminate, true, Transitions{"no_change", "no_change"}, ""},
		{at(wp, hard), wp, hard, Valid, StatusSatisfied, true, Transitions{"no_change", "no_change"}, "a.no_change c.no_change c.milestone_9_activation!"},
		{at(ro, hard), wp, hard, Valid, StatusGenerated, true, Transitions{"upgrade", "no_change"}, "a.no_change c.populate_write_endpoints c.set_profile_engineer c.milestone_9_activation!"},
		{at(wp, hard), ro, hard, Valid, StatusGenerated, true, Transitions{"downgrade", "no_change"}, "a.no_change c.deactivate_write_protection"},
		// A joint downgrade takes the capability first.
		{at(wp, hard), ro, none, Valid, StatusGenerated, true, Transitions{"downgrade", "downgrade"}, "c.deactivate_write_protection a.deactivate_anchor"},
		{at(ro, hard), ro, none, Valid, StatusGenerated, true, Transitions{"no_change", "downgrade"}, "a.deactivate_anchor c.no_change"},
		{
			at(wp, soft), wp, hard, Valid, StatusGenerated, true,
			Transitions{"no_change", "lateral"},
			"a.deactivate_current_anchor a.provision_hardware_witness_anchor a.deploy_witness_daemon c.no_change c.milestone_9_activation!",
		},
	} {
		p, steps, way, err := Analyse(row.ev, row.capability, row.assurance, artifacttest.Plan().Executor)
		name := fmt.Sprintf("%s/%s -> %s/%s", row.ev.Posture, row.ev.Assurance, row.capability, row.assurance)
		if err != nil || p.TargetValidity != row.validity || p.Status != row.status || p.SafeToProceed != row.safe || way != row.way {
			t.Errorf("%s: %s, %s, %v, %v, %v", name, p.TargetValidity, p.Status, p.SafeToProceed, way, err)
		}
		if got := line(steps); got != row.steps {
			t.Errorf("%s: %s, want %s", name, got, row.steps)
		}
		if _, err := p.Digest(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// line prints steps shortly.
func line(steps []Explained) string {
	var all []string
	for _, s := range steps {
		id := strings.NewReplacer("anchor_assurance.", "a.", "capability_posture.", "c.").Replace(s.ID)
		if s.Blocked {
			id += "!"
		}
		all = append(all, id)
	}
	return strings.Join(all, " ")
}

func TestACounterThatDisagreesBlocksEveryChangingStep(t *testing.T) {
	ev := at(change.PostureWriteProtected, change.AssuranceHardware)
	ev.Anchor, ev.Witness = change.EvidenceMismatch, n(42)
	for _, to := range [][2]string{
		{change.PostureWriteProtected, change.AssuranceHardware},
		{change.PostureReadOnly, change.AssuranceNone},
		{change.PostureReadOnly, change.AssuranceSoftware},
	} {
		p, steps, _, err := Analyse(ev, to[0], to[1], artifacttest.Plan().Executor)
		if err != nil || p.Status != StatusAnomaly || p.SafeToProceed {
			t.Errorf("%v: %s, %v, %v", to, p.Status, p.SafeToProceed, err)
		}
		for _, s := range steps {
			if s.Blocked != (s.MutationClass != "none") {
				t.Errorf("%v: %s blocked %v", to, s.ID, s.Blocked)
			}
		}
	}
}

func TestAWishThatIsNoWordIsAUsageError(t *testing.T) {
	for _, to := range [][2]string{
		{"unknown", "none"}, {"read_only", "unknown"}, {"", ""}, {"write_protected", "Hardware_Witness"},
	} {
		if _, _, _, err := Analyse(at(change.PostureReadOnly, change.AssuranceNone), to[0], to[1], change.Executor{}); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%v: %v", to, err)
		}
	}
}

func TestEveryPlanIsWholeAndTheActivationAlwaysBlocked(t *testing.T) {
	postures := []string{change.PostureReadOnly, change.PostureWriteProtected}
	states := []string{
		change.EvidenceInvalid, change.EvidenceUnconfigured, change.EvidenceNotCreated, change.EvidenceStoreError, change.EvidenceUnprovisioned,
		change.EvidenceUnverified, change.EvidenceUnreachable, change.EvidenceVerified, change.EvidenceMismatch,
	}
	for _, from := range postures {
		for _, has := range []string{change.AssuranceNone, change.AssuranceSoftware, change.AssuranceHardware, change.AssuranceUnknown} {
			for _, state := range states {
				for _, to := range postures {
					for _, wants := range []string{change.AssuranceNone, change.AssuranceSoftware, change.AssuranceHardware} {
						ev := change.Evidence{Posture: from, Assurance: has, Anchor: state}
						p, steps, _, err := Analyse(ev, to, wants, artifacttest.Plan().Executor)
						if err != nil {
							t.Fatal(err)
						}
						if _, err := p.Digest(); err != nil {
							t.Fatalf("%v -> %s/%s: %v", ev, to, wants, err)
						}
						if p.SafeToProceed != (p.TargetValidity == Valid && state != change.EvidenceMismatch) {
							t.Errorf("%v -> %s/%s: safe %v", ev, to, wants, p.SafeToProceed)
						}
						last := slices.ContainsFunc(steps, func(s Explained) bool { return s.ID == change.StepID })
						if len(steps) > 0 && last != (to == change.PostureWriteProtected) {
							t.Errorf("%v -> %s/%s: the last step is %s", ev, to, wants, line(steps))
						}
						for i, s := range steps {
							if s.Order != i+1 || p.Steps[i] != s.Step || s.Text == "" || s.ID == change.StepID && (!s.Blocked || i != len(steps)-1) {
								t.Errorf("%v -> %s/%s: step %+v", ev, to, wants, s)
							}
						}
					}
				}
			}
		}
	}
}

func TestAPlanSharesNothingWithTheEvidence(t *testing.T) {
	f := healthy()
	ev := Observe(f)
	*f.Baseline = 7
	p := Steady(ev, change.Executor{})
	*ev.Witness = 8
	if *ev.Baseline != 41 || *p.Evidence.Witness != 41 {
		t.Errorf("%d, %d", *ev.Baseline, *p.Evidence.Witness)
	}
}

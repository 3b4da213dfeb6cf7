package change_test

import (
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
)

func TestA10AnUnhealthyPlanIsNotExecutableHoweverItsDigest(t *testing.T) {
	good := at.Plan()
	if err := good.Executable(); err != nil {
		t.Fatal(err)
	}
	for name, alter := range map[string]func(*change.Plan){
		"unsafe": func(p *change.Plan) { p.SafeToProceed = false }, "read only": func(p *change.Plan) { p.TargetPosture = change.PostureReadOnly },
		"software": func(p *change.Plan) { p.TargetAssurance = change.AssuranceSoftware }, "invalid": func(p *change.Plan) { p.TargetValidity = "valid_not_implemented" },
		"blocked":          func(p *change.Plan) { p.Status = "blocked_anomaly_detected" },
		"unreachable":      func(p *change.Plan) { p.Evidence.Anchor = change.EvidenceUnreachable; p.Evidence.Witness = nil },
		"mismatch":         func(p *change.Plan) { p.Evidence.Anchor = change.EvidenceMismatch },
		"other value":      func(p *change.Plan) { p.Evidence.Witness = at.Number(42) },
		"no baseline":      func(p *change.Plan) { p.Evidence.Baseline = nil },
		"no witness":       func(p *change.Plan) { p.Evidence.Witness = nil },
		"not provisioned":  func(p *change.Plan) { p.Evidence.ProvisionedAt = time.Time{} },
		"observed posture": func(p *change.Plan) { p.Evidence.Posture = change.PostureReadOnly },
		"observed level":   func(p *change.Plan) { p.Evidence.Assurance = change.AssuranceSoftware },
		"no step":          func(p *change.Plan) { p.Steps = p.Steps[:2] },
		"weaker step":      func(p *change.Plan) { p.Steps[2].Level = change.LevelConfigure },
		"forbidden step":   func(p *change.Plan) { p.Steps[2].Level = change.LevelDeprovision },
		"other class":      func(p *change.Plan) { p.Steps[2].MutationClass = "deactivation" },
	} {
		p := at.Plan()
		alter(&p)
		if artifact.ClassOf(p.Executable()) != artifact.Binding {
			t.Errorf("%s: %v", name, p.Executable())
		}
	}
}

func TestA5AStepMayNotStandTwiceNorOutOfOrder(t *testing.T) {
	p := at.Plan()
	p.Steps[1] = p.Steps[2]
	if _, err := p.Digest(); artifact.ClassOf(err) != artifact.Structure {
		t.Errorf("a step twice: %v", err)
	}
	p = at.Plan()
	p.Steps[0].Axis = change.AxisCapability
	if _, err := p.Digest(); artifact.ClassOf(err) != artifact.Structure {
		t.Errorf("a step of another axis: %v", err)
	}
}

func TestA9APlanDiesWithWhateverItIsBoundTo(t *testing.T) {
	good := at.Plan()
	want, err := good.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for name, alter := range map[string]func(*change.Plan){
		"counter": func(p *change.Plan) { p.Evidence.Baseline, p.Evidence.Witness = at.Number(42), at.Number(42) },
		"posture": func(p *change.Plan) { p.Evidence.Posture = change.PostureReadOnly }, "store": func(p *change.Plan) { p.Executor.StoreID = "lab-1" },
		"index": func(p *change.Plan) { p.Executor.NVIndexName = "000b" + strings.Repeat("0", 64) }, "policy": func(p *change.Plan) { p.Executor.PolicyDigest = strings.Repeat("0", 64) },
		"authorities": func(p *change.Plan) { p.Executor.AuthoritySet = strings.Repeat("0", 64) }, "binary": func(p *change.Plan) { p.Executor.BuildID = "sha256:" + strings.Repeat("0", 64) },
		"appliance": func(p *change.Plan) { p.Executor.ApplianceTarget = strings.Repeat("0", 64) },
	} {
		p := at.Plan()
		alter(&p)
		if got, err := p.Digest(); err != nil || got == want {
			t.Errorf("another %s has the same digest: %v", name, err)
		}
	}
	a := at.Appliance()
	a.CADigest = strings.Repeat("cd", 32)
	if d, err := a.Digest(); err != nil || d == at.Intent().Appliance {
		t.Errorf("another CA has the same digest: %v", err)
	}
}

func TestC4AConsistentForgeryChangesEveryDigest(t *testing.T) {
	// Changing the preimage everywhere gives a file that parses: then the digests
	// are those of the other change, and the screen shows it.
	p := at.Preview()
	before, err := p.Intent.Digests(7)
	if err != nil {
		t.Fatal(err)
	}
	p.Intent.Target.Address[1] = "192.0.2.12"
	after, err := p.Intent.Digests(7)
	if err != nil {
		t.Fatal(err)
	}
	if before.ExecutionIntent == after.ExecutionIntent || before.TargetFingerprint == after.TargetFingerprint || before.Intent == after.Intent || before.Snapshot == after.Snapshot {
		t.Error("a digest does not cover the members of the alias")
	}
	if moved, err := p.Intent.Digests(8); err != nil || moved.Intent == after.Intent || moved.ExecutionIntent != after.ExecutionIntent {
		t.Errorf("the position is not where it belongs: %v", err)
	}
}

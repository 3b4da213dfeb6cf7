package artifact

import (
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/canon"
)

// attest signs an object as the executor would, whatever it says: a stolen
// attestation key must still not be able to show one change and have another
// signed.
func attest(t *testing.T, r canon.Role, o canon.Object) []byte {
	t.Helper()
	delete(o, "attestation")
	m, err := canon.SigMessage(r, o)
	if err != nil {
		t.Fatal(err)
	}
	o["attestation"] = base64.StdEncoding.EncodeToString(ed25519.Sign(keyX, m))
	b, err := canon.Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// edit changes one member, by its path.
func edit(t *testing.T, b []byte, path string, to any) canon.Object {
	t.Helper()
	v, err := canon.DecodeExact(b)
	if err != nil {
		t.Fatal(err)
	}
	o := v.(canon.Object)
	holder := o
	keys := strings.Split(path, ".")
	for _, k := range keys[:len(keys)-1] {
		holder = holder[k].(canon.Object)
	}
	if _, ok := holder[keys[len(keys)-1]]; !ok {
		t.Fatalf("no member %s", path)
	}
	holder[keys[len(keys)-1]] = to
	return o
}

func TestC4AnEditedFileIsRefusedThoughItsAttestationIsGood(t *testing.T) {
	hex := strings.Repeat("0", 64)
	target := canon.Object{"name": "web_servers", "type": "host", "descr": "Old text", "address": canon.Array{"192.0.2.66"}, "detail": canon.Array{"a"}}
	common := map[string]any{
		"alias_name": "db_servers", "previous_description": "harmless", "requested_description": "harmless",
		"prepared_execution_intent.normalized_mutation_intent.new_description":            "Other text",
		"prepared_execution_intent.normalized_mutation_intent.raw_target_hint.alias_name": "db_servers",
		"prepared_execution_intent.normalized_mutation_intent.appliance_target_digest":    hex,
		"prepared_execution_intent.resource_target.alias_name":                            "db_servers",
		"prepared_execution_intent.target_precondition.name":                              "db_servers",
		"prepared_execution_intent.target_precondition.descr":                             "Older text",
		"prepared_execution_intent.rollback_snapshot.descr":                               "Older text",
		"prepared_execution_intent.rollback_snapshot":                                     target,
		"prepared_execution_intent.target_precondition":                                   target,
		"execution_intent_digest":                                                         hex,
		"posture_plan.executor_binding.appliance_target_digest":                           hex,
		"posture_plan.executor_binding.store_id":                                          "other-store",
		"posture_plan.evidence_fingerprint.anchor_baseline":                               int64(42),
		"posture_plan.safe_to_proceed":                                                    false,
	}
	for name, only := range map[string]map[string]any{
		"preview": {"requested_plan_digest": hex},
		"pending": {
			"lifecycle_locator": int64(8), "target_identity_digest": hex, "target_fingerprint": hex, "intent_digest": hex, "snapshot_digest": hex,
			"expires_at": "2026-03-14T09:41:54Z", "request_id": "req-" + strings.Repeat("0", 32), "authorization.plan_digest": hex,
			"authorization.request_id": "req-" + strings.Repeat("0", 32), "authorization.expires_at": "2026-03-14T09:41:54Z",
			"authorization.authorized_executions":                canon.Array{canon.Object{"step_id": StepID, "execution_intent_digest": hex}},
			"authorization.evidence_fingerprint.anchor_baseline": int64(40),
		},
		"rollback request": {"verified_target_fingerprint": hex, "snapshot_digest": hex, "plan_digest": hex},
	} {
		for _, k := range kinds() {
			if k.name != name {
				continue
			}
			b := k.file(t)
			for _, edits := range []map[string]any{common, only} {
				for path, to := range edits {
					forged := attest(t, k.make(t).Role(), edit(t, b, path, to))
					a, err := k.parse(forged)
					if ClassOf(err) != Binding {
						t.Errorf("%s with another %s: %v %v", name, path, a, err)
					}
				}
			}
		}
	}
}

func TestC4AConsistentForgeryChangesEveryDigest(t *testing.T) {
	// Changing the preimage everywhere gives a file that parses: then the digests
	// are those of the other change, and the screen shows it.
	p := examplePreview()
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

func TestC5AnAttestationIsThePinnedKeysUnderThePinnedName(t *testing.T) {
	for _, k := range kinds() {
		a := k.make(t)
		x, ok := a.(attested)
		if !ok {
			continue
		}
		k.file(t)
		if _, err := Sign(a, keyX); err != nil {
			t.Fatal(err)
		}
		for name, pinned := range map[string]Authority{
			"a foreign key": {"executor-1", public(keyA)}, "another name": {"executor-2", public(keyX)}, "no key": {"executor-1", nil},
		} {
			if ClassOf(VerifyAttestation(x, pinned)) != Signature {
				t.Errorf("%s: %s is taken", k.name, name)
			}
		}
		if err := VerifyAttestation(x, Authority{"executor-1", public(keyX)}); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
		*a.signature() = nil
		if VerifyAttestation(x, Authority{"executor-1", public(keyX)}) == nil {
			t.Errorf("%s: no attestation is taken", k.name)
		}
	}
}

func TestC1AConfirmationOfAnotherContractHasAnotherPayload(t *testing.T) {
	// Every digest, id and expiry altered singly, then signed again by the owner:
	// the file is good, so the gate must compare. Here: nothing of it is lost.
	want := exampleConfirmation(t)
	for name, change := range map[string]func(*Confirmation){
		"contract": func(a *Confirmation) { a.ContractID = "wc-" + strings.Repeat("0", 32) }, "operation": func(a *Confirmation) { a.OperationID = "wo-" + strings.Repeat("0", 32) },
		"identity": func(a *Confirmation) { a.Digests.TargetIdentity = strings.Repeat("0", 64) }, "fingerprint": func(a *Confirmation) { a.Digests.TargetFingerprint = strings.Repeat("0", 64) },
		"intent": func(a *Confirmation) { a.Digests.Intent = strings.Repeat("0", 64) }, "snapshot": func(a *Confirmation) { a.Digests.Snapshot = strings.Repeat("0", 64) },
		"execution": func(a *Confirmation) { a.Digests.ExecutionIntent = strings.Repeat("0", 64) }, "expiry": func(a *Confirmation) { a.ExpiresAt = at("09:41:54") },
	} {
		a := want
		change(&a)
		b, err := Sign(&a, keyC)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseConfirmation(b)
		if err != nil || got.Digests == want.Digests && got.ContractID == want.ContractID && got.OperationID == want.OperationID && got.ExpiresAt.Equal(want.ExpiresAt) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

func TestA10AnUnhealthyPlanIsNotExecutableHoweverItsDigest(t *testing.T) {
	good := examplePlan()
	if err := good.Executable(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Plan){
		"unsafe": func(p *Plan) { p.SafeToProceed = false }, "read only": func(p *Plan) { p.TargetPosture = PostureReadOnly },
		"software": func(p *Plan) { p.TargetAssurance = AssuranceSoftware }, "invalid": func(p *Plan) { p.TargetValidity = "valid_not_implemented" },
		"blocked":          func(p *Plan) { p.Status = "blocked_anomaly_detected" },
		"unreachable":      func(p *Plan) { p.Evidence.Anchor = EvidenceUnreachable; p.Evidence.Witness = nil },
		"mismatch":         func(p *Plan) { p.Evidence.Anchor = EvidenceMismatch },
		"other value":      func(p *Plan) { p.Evidence.Witness = number(42) },
		"no baseline":      func(p *Plan) { p.Evidence.Baseline = nil },
		"no witness":       func(p *Plan) { p.Evidence.Witness = nil },
		"not provisioned":  func(p *Plan) { p.Evidence.ProvisionedAt = time.Time{} },
		"observed posture": func(p *Plan) { p.Evidence.Posture = PostureReadOnly },
		"observed level":   func(p *Plan) { p.Evidence.Assurance = AssuranceSoftware },
		"no step":          func(p *Plan) { p.Steps = p.Steps[:2] },
		"weaker step":      func(p *Plan) { p.Steps[2].Level = LevelConfigure },
		"forbidden step":   func(p *Plan) { p.Steps[2].Level = LevelDeprovision },
		"other class":      func(p *Plan) { p.Steps[2].MutationClass = "deactivation" },
	} {
		p := examplePlan()
		change(&p)
		if ClassOf(p.Executable()) != Binding {
			t.Errorf("%s: %v", name, p.Executable())
		}
	}
}

func TestA5AStepMayNotStandTwiceNorOutOfOrder(t *testing.T) {
	p := examplePlan()
	p.Steps[1] = p.Steps[2]
	if _, err := p.Digest(); ClassOf(err) != Structure {
		t.Errorf("a step twice: %v", err)
	}
	p = examplePlan()
	p.Steps[0].Axis = AxisCapability
	if _, err := p.Digest(); ClassOf(err) != Structure {
		t.Errorf("a step of another axis: %v", err)
	}
}

func TestA6AnAuthorizationIsForOneRequestChangeAndPlan(t *testing.T) {
	a := exampleAuthorization(t)
	in, plan := exampleIntent(), examplePlan()
	if err := a.For(requestID, &in, &plan); err != nil {
		t.Fatal(err)
	}
	if ClassOf(a.For("req-"+strings.Repeat("0", 32), &in, &plan)) != Binding {
		t.Error("another request fits")
	}
	in.NewDescription = "Other"
	if ClassOf(a.For(requestID, &in, &plan)) != Binding {
		t.Error("another change fits")
	}
	in = exampleIntent()
	plan.Evidence.Baseline, plan.Evidence.Witness = number(42), number(42)
	if ClassOf(a.For(requestID, &in, &plan)) != Binding {
		t.Error("another counter fits")
	}
	a.Evidence = plan.Evidence
	if ClassOf(a.For(requestID, &in, &plan)) != Binding {
		t.Error("another plan fits when the evidence does")
	}
	plan = examplePlan()
	if ClassOf(a.For(requestID, &in, &plan)) != Binding {
		t.Error("other evidence fits when the plan does")
	}
}

func TestA9APlanDiesWithWhateverItIsBoundTo(t *testing.T) {
	good := examplePlan()
	want, err := good.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Plan){
		"counter": func(p *Plan) { p.Evidence.Baseline, p.Evidence.Witness = number(42), number(42) },
		"posture": func(p *Plan) { p.Evidence.Posture = PostureReadOnly }, "store": func(p *Plan) { p.Executor.StoreID = "lab-1" },
		"index": func(p *Plan) { p.Executor.NVIndexName = "000b" + strings.Repeat("0", 64) }, "policy": func(p *Plan) { p.Executor.PolicyDigest = strings.Repeat("0", 64) },
		"authorities": func(p *Plan) { p.Executor.AuthoritySet = strings.Repeat("0", 64) }, "binary": func(p *Plan) { p.Executor.BuildID = "sha256:" + strings.Repeat("0", 64) },
		"appliance": func(p *Plan) { p.Executor.ApplianceTarget = strings.Repeat("0", 64) },
	} {
		p := examplePlan()
		change(&p)
		if got, err := p.Digest(); err != nil || got == want {
			t.Errorf("another %s has the same digest: %v", name, err)
		}
	}
	a := exampleAppliance()
	a.CADigest = strings.Repeat("cd", 32)
	if d, err := a.Digest(); err != nil || d == exampleIntent().Appliance {
		t.Errorf("another CA has the same digest: %v", err)
	}
}

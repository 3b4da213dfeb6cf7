package artifact_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
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
	o["attestation"] = base64.StdEncoding.EncodeToString(ed25519.Sign(at.KeyX(), m))
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
			"authorization.authorized_executions":                canon.Array{canon.Object{"step_id": change.StepID, "execution_intent_digest": hex}},
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
					if artifact.ClassOf(err) != artifact.Binding {
						t.Errorf("%s with another %s: %v %v", name, path, a, err)
					}
				}
			}
		}
	}
}

func TestC1AConfirmationOfAnotherContractHasAnotherPayload(t *testing.T) {
	// Every digest, id and expiry altered singly, then signed again by the owner:
	// the file is good, so the gate must compare. Here: nothing of it is lost.
	want := at.Confirmation(t)
	for name, alter := range map[string]func(*artifact.Confirmation){
		"contract": func(a *artifact.Confirmation) { a.ContractID = "wc-" + strings.Repeat("0", 32) }, "operation": func(a *artifact.Confirmation) { a.OperationID = "wo-" + strings.Repeat("0", 32) },
		"identity": func(a *artifact.Confirmation) { a.Digests.TargetIdentity = strings.Repeat("0", 64) }, "fingerprint": func(a *artifact.Confirmation) { a.Digests.TargetFingerprint = strings.Repeat("0", 64) },
		"intent": func(a *artifact.Confirmation) { a.Digests.Intent = strings.Repeat("0", 64) }, "snapshot": func(a *artifact.Confirmation) { a.Digests.Snapshot = strings.Repeat("0", 64) },
		"execution": func(a *artifact.Confirmation) { a.Digests.ExecutionIntent = strings.Repeat("0", 64) }, "expiry": func(a *artifact.Confirmation) { a.ExpiresAt = at.At("09:41:54") },
	} {
		a := *want
		alter(&a)
		b, err := artifact.Sign(&a, at.KeyC())
		if err != nil {
			t.Fatal(err)
		}
		got, err := artifact.ParseConfirmation(b)
		if err != nil || got.Digests == want.Digests && got.ContractID == want.ContractID && got.OperationID == want.OperationID && got.ExpiresAt.Equal(want.ExpiresAt) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

func TestA6AnAuthorizationIsForOneRequestChangeAndPlan(t *testing.T) {
	a := at.Authorization(t, at.Intent(), at.Plan())
	in, plan := at.Intent(), at.Plan()
	if err := a.For(at.RequestID, &in, &plan); err != nil {
		t.Fatal(err)
	}
	if artifact.ClassOf(a.For("req-"+strings.Repeat("0", 32), &in, &plan)) != artifact.Binding {
		t.Error("another request fits")
	}
	in.NewDescription = "Other"
	if artifact.ClassOf(a.For(at.RequestID, &in, &plan)) != artifact.Binding {
		t.Error("another change fits")
	}
	in = at.Intent()
	plan.Evidence.Baseline, plan.Evidence.Witness = at.Number(42), at.Number(42)
	if artifact.ClassOf(a.For(at.RequestID, &in, &plan)) != artifact.Binding {
		t.Error("another counter fits")
	}
	a.Evidence = plan.Evidence
	if artifact.ClassOf(a.For(at.RequestID, &in, &plan)) != artifact.Binding {
		t.Error("another plan fits when the evidence does")
	}
	plan = at.Plan()
	if artifact.ClassOf(a.For(at.RequestID, &in, &plan)) != artifact.Binding {
		t.Error("other evidence fits when the plan does")
	}
}

func TestC4AChangeForOneApplianceUnderThePlanOfAnotherIsRefused(t *testing.T) {
	// Consistent in itself: every digest is the true one of what the file carries.
	p := at.Preview()
	p.Plan.Executor.ApplianceTarget = strings.Repeat("0", 64)
	if _, err := artifact.Sign(p, at.KeyX()); artifact.ClassOf(err) != artifact.Binding {
		t.Errorf("%v", err)
	}
}

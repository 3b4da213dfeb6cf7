package artifact

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/canon"
)

// vectors reads the golden values of the write path.
func vectors(t testing.TB) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../canon/testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		all[name] = strings.TrimLeft(value, " ")
	}
	return all
}

// The keys of the vectors: one byte, 32 times.
func seed(b byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, 32)) }

var (
	keyA = seed(0xa1)
	keyC = seed(0xc2)
	keyR = seed(0xd3)
	keyX = seed(0xe4)
)

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// at reads a time of day of the examples.
func at(clock string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-03-14T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

func number(n int64) *int64 { return &n }

const (
	requestID   = "req-3f6c1d0e9a7b4c528e1f60718293a4b5"
	contractID  = "wc-5b0e7c7ad1f94b8f9f2d3c4b5a697887"
	operationID = "wo-c1a2b3c4d5e6f708192a3b4c5d6e7f80"
	storeID     = "prod-write-store-1"
)

var nvIndexName = "000b" + strings.Repeat("5e", 32)

func exampleAppliance() Appliance {
	return Appliance{
		BaseURL: "https://fw-edge.example.invalid", TLSMode: "auto", CADigest: strings.Repeat("ab", 32),
		IdentityKind: "netgate_id", Identity: "0123456789abcdef0123",
	}
}

func exampleIntent() Intent {
	return Intent{
		Target: AliasState{
			Name: "web_servers", Type: "host", Descr: "Old text",
			Address: []string{"192.0.2.10", "192.0.2.11"}, Detail: []string{"a", "b"},
		},
		NewDescription: "DMZ web servers",
		Appliance:      "b7e4b5a7d3f073690b8f2ccf5afb5afa5a5a428198b7ecebca1cecf17e6eb5ea",
	}
}

func examplePlan() Plan {
	return Plan{
		TargetPosture: PostureWriteProtected, TargetAssurance: AssuranceHardware, TargetValidity: "valid",
		Steps: []Step{
			{"anchor_assurance.no_change", AxisAnchor, "none", LevelNone},
			{"capability_posture.no_change", AxisCapability, "none", LevelNone},
			{StepID, AxisCapability, "activation", LevelActivation},
		},
		Evidence: Evidence{
			Posture: PostureWriteProtected, Assurance: AssuranceHardware, Anchor: EvidenceVerified,
			Baseline: number(41), Witness: number(41), ProvisionedAt: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC),
		},
		Status: "already_satisfied", SafeToProceed: true,
		Executor: Executor{
			StoreID: storeID, NVIndexName: nvIndexName, PolicyDigest: strings.Repeat("1", 64), AuthoritySet: strings.Repeat("2", 64),
			BuildID: "sha256:" + strings.Repeat("3", 64), ApplianceTarget: exampleIntent().Appliance,
		},
	}
}

func exampleAuthorization(t testing.TB) Authorization {
	plan := examplePlan()
	digest, err := plan.Digest()
	if err != nil {
		t.Fatal(err)
	}
	in := exampleIntent()
	change, err := in.executionDigest()
	if err != nil {
		t.Fatal(err)
	}
	return Authorization{
		ID: "authz-9d2c41f07be64a3fa1c5d8e2b7064f13", RequestID: requestID, PlanDigest: digest, ExecutionIntent: change,
		AuthorityID: "owner-authz-1", IssuedAt: at("09:26:53"), ExpiresAt: at("09:41:53"), Evidence: plan.Evidence,
	}
}

func exampleConfirmation(t testing.TB) Confirmation {
	in := exampleIntent()
	d, err := in.Digests(7)
	if err != nil {
		t.Fatal(err)
	}
	return Confirmation{
		AuthorityID: "owner-confirm-1", Nonce: "9f0c2b7d51e84a66b3c1d0e2f4a59788", ContractID: contractID, OperationID: operationID,
		Digests: d, IssuedAt: at("09:31:00"), ExpiresAt: at("09:41:53"),
	}
}

func exampleReconciliation(t testing.TB) Reconciliation {
	in := exampleIntent()
	post, err := in.ExpectedPost()
	if err != nil {
		t.Fatal(err)
	}
	return Reconciliation{
		AuthorityID: "owner-reconcile-1", ContractID: contractID, OperationID: operationID, StateVersion: 3, Outcome: OutcomeApplied,
		IssuedAt: at("10:05:00"), ObservationDigest: vectors(t)["observation_digest"], VerifiedFingerprint: post, VerifiedLocator: number(7),
	}
}

// proof signs and returns the signature in base64.
func proof(t *testing.T, a Artifact, k ed25519.PrivateKey) string {
	t.Helper()
	if _, err := Sign(a, k); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(*a.signature())
}

func TestE1EveryVectorOfTheFilesReproduces(t *testing.T) {
	want := vectors(t)
	check := func(name string, got string, err error) {
		t.Helper()
		if err != nil || want[name] != got {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, want[name])
		}
	}
	hash := func(name string, a Artifact) {
		t.Helper()
		m, err := message(a)
		check(name, canon.Hash(m), err)
	}
	d, err := exampleAppliance().Digest()
	check("appliance_target_digest", d, err)
	in := exampleIntent()
	digests, err := in.Digests(7)
	check("execution_intent_digest", digests.ExecutionIntent, err)
	check("target_identity_digest", digests.TargetIdentity, err)
	check("target_fingerprint", digests.TargetFingerprint, err)
	check("intent_digest", digests.Intent, err)
	check("snapshot_digest", digests.Snapshot, err)
	d, err = in.ExpectedPost()
	check("verified_target_fingerprint", d, err)
	other := AliasState{Name: "db_servers", Type: "host", Address: []string{"192.0.2.40"}, Detail: []string{"x"}}
	fp, err := other.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	d, err = CollectionDigest([]Neighbour{{3, other.Name, fp}})
	check("collection_digest(others)", d, err)
	d, err = IdempotencyKey(requestID, digests, 7)
	check("idempotency_key", d, err)
	d, err = RequestKey("web_servers", "DMZ web servers")
	check("request_key", d, err)

	plan := examplePlan()
	d, err = plan.Digest()
	check("plan_digest schema 2", d, err)

	authorization := exampleAuthorization(t)
	payload, err := Payload(&authorization)
	if err != nil {
		t.Fatal(err)
	}
	b, err := canon.Encode(payload)
	check("authorization canonical len", strconv.Itoa(len(b)), err)
	hash("authorization msg sha256", &authorization)
	check("authorization proof", proof(t, &authorization, keyA), nil)

	confirmation := exampleConfirmation(t)
	hash("confirmation msg sha256", &confirmation)
	check("confirmation proof", proof(t, &confirmation, keyC), nil)
	d, err = confirmation.Digest()
	check("confirmation_digest", d, err)

	reconciliation := exampleReconciliation(t)
	hash("reconciliation msg sha256", &reconciliation)
	check("reconciliation proof", proof(t, &reconciliation, keyR), nil)
	d, err = reconciliation.Digest()
	check("reconciliation_digest", d, err)
}

// The older forms are vectors of encoder, digest and signature alone: no parser
// takes them.
func TestE1TheVectorsOfOlderFormsReproduce(t *testing.T) {
	want := vectors(t)
	attest := func(r canon.Role, o canon.Object) string {
		t.Helper()
		m, err := canon.SigMessage(r, o)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(ed25519.Sign(keyX, m))
	}

	p := Preview{RequestID: requestID, Origin: OriginOperator, Intent: exampleIntent(), Plan: examplePlan(), GeneratedAt: at("09:20:00"), KeyID: "executor-1"}
	preview, err := Payload(&p)
	if err != nil {
		t.Fatal(err)
	}
	preview["schema_version"] = int64(2)
	for _, later := range []string{"origin", "asked_by_uid", "test_build"} {
		delete(preview, later)
	}
	b, err := canon.Encode(preview)
	if err != nil || strconv.Itoa(len(b)) != want["preview canonical len"] || attest(canon.RolePreview, preview) != want["preview attestation"] {
		t.Errorf("the preview of schema 2: %v, %d bytes", err, len(b))
	}

	plan := examplePlan()
	all, err := plan.object()
	if err != nil {
		t.Fatal(err)
	}
	all["schema_version"] = int64(1)
	delete(all, "executor_binding")
	if d, err := canon.Plan.Digest(all); err != nil || d != want["plan_digest schema 1"] {
		t.Errorf("the plan of schema 1: %s, %v", d, err)
	}

	o := Observation{
		ContractID: contractID, OperationID: operationID, StateVersion: 3, UncertaintyOrigin: OriginExecuting, SendBoundary: BoundaryIntent,
		TargetPresent: true, TargetFingerprint: want["verified_target_fingerprint"], Locator: number(7), Match: MatchExpectedPost, OthersUnchanged: true,
		ApplianceTarget: want["appliance_target_digest"], ObservedAt: at("10:01:12"), SentAt: at("09:31:42"), SecondsSinceSend: number(1770), KeyID: "executor-1",
	}
	observation, err := Payload(&o)
	if err != nil {
		t.Fatal(err)
	}
	observation["schema_version"] = int64(1)
	delete(observation, "sent_at")
	delete(observation, "seconds_since_send")
	if d, err := canon.Observation.Digest(observation); err != nil || d != want["observation_digest"] {
		t.Errorf("the observation of schema 1: %s, %v", d, err)
	}
	if attest(canon.RoleObservation, observation) != want["observation attestation"] {
		t.Error("the attestation of the observation of schema 1")
	}

	for _, old := range []struct {
		o     canon.Object
		parse func([]byte) error
	}{
		{preview, func(b []byte) error { _, err := ParsePreview(b); return err }},
		{observation, func(b []byte) error { _, err := ParseObservation(b); return err }},
	} {
		old.o["attestation"] = want["preview attestation"]
		b, err := canon.Encode(old.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := old.parse(b); ClassOf(got) != Structure {
			t.Errorf("an older form is parsed: %v", got)
		}
	}
}

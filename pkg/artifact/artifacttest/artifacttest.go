// Package artifacttest owns one example of every file of the ceremony, with the
// keys, ids and times of the golden vectors. Tests and their tools alone import it.
// It must never be linked into a program: the private keys are public knowledge.
package artifacttest

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
)

// T is as much of a test as is needed here: a program that signs as tests do has one too.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// The ids of the examples.
const (
	RequestID   = "req-3f6c1d0e9a7b4c528e1f60718293a4b5"
	ContractID  = "wc-5b0e7c7ad1f94b8f9f2d3c4b5a697887"
	OperationID = "wo-c1a2b3c4d5e6f708192a3b4c5d6e7f80"
	StoreID     = "prod-write-store-1"
	NVIndexName = "000b5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e"

	AuthorizationID = "owner-authz-1"
	ConfirmationID  = "owner-confirm-1"
	ReconcileID     = "owner-reconcile-1"
	ExecutorID      = "executor-1"
)

// Seed returns the key of a seed of one byte, 32 times.
func Seed(b byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, 32)) }

// The keys of the authorization, confirmation and reconciliation owner and of the
// executor.
func KeyA() ed25519.PrivateKey { return Seed(0xa1) }
func KeyC() ed25519.PrivateKey { return Seed(0xc2) }
func KeyR() ed25519.PrivateKey { return Seed(0xd3) }
func KeyX() ed25519.PrivateKey { return Seed(0xe4) }

// Public returns the public half.
func Public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// At returns a time of day such as 09:20:00 on the examples' day.
func At(clock string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-03-14T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

// Number returns a pointer to n.
func Number(n int64) *int64 { return &n }

// Owners returns the pinned keys of the three owners.
func Owners() *authority.Set {
	return &authority.Set{
		Authorization:  []authority.Key{{ID: AuthorizationID, Public: Public(KeyA())}},
		Confirmation:   []authority.Key{{ID: ConfirmationID, Public: Public(KeyC())}},
		Reconciliation: []authority.Key{{ID: ReconcileID, Public: Public(KeyR())}},
	}
}

// Executor returns the pinned attestation key.
func Executor() authority.Key { return authority.Key{ID: ExecutorID, Public: Public(KeyX())} }

// Appliance returns the example's appliance.
func Appliance() change.Appliance {
	return change.Appliance{
		BaseURL: "https://fw-edge.example.invalid", TLSMode: "auto", CADigest: strings.Repeat("ab", 32),
		IdentityKind: "netgate_id", Identity: "0123456789abcdef0123",
	}
}

// Intent returns the example's change: the description of web_servers.
func Intent() change.Intent {
	return change.Intent{
		Target: change.AliasState{
			Name: "web_servers", Type: "host", Descr: "Old text",
			Address: []string{"192.0.2.10", "192.0.2.11"}, Detail: []string{"a", "b"},
		},
		NewDescription: "DMZ web servers",
		Appliance:      "b7e4b5a7d3f073690b8f2ccf5afb5afa5a5a428198b7ecebca1cecf17e6eb5ea",
	}
}

// Plan returns the example's plan, counter 41. Its authority set is a placeholder.
func Plan() change.Plan {
	return change.Plan{
		TargetPosture: change.PostureWriteProtected, TargetAssurance: change.AssuranceHardware, TargetValidity: "valid",
		Steps: []change.Step{
			{ID: "anchor_assurance.no_change", Axis: change.AxisAnchor, MutationClass: "none", Level: change.LevelNone},
			{ID: "capability_posture.no_change", Axis: change.AxisCapability, MutationClass: "none", Level: change.LevelNone},
			{ID: change.StepID, Axis: change.AxisCapability, MutationClass: "activation", Level: change.LevelActivation},
		},
		Evidence: change.Evidence{
			Posture: change.PostureWriteProtected, Assurance: change.AssuranceHardware, Anchor: change.EvidenceVerified,
			Baseline: Number(41), Witness: Number(41), ProvisionedAt: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC),
		},
		Status: "already_satisfied", SafeToProceed: true,
		Executor: change.Executor{
			StoreID: StoreID, NVIndexName: NVIndexName, PolicyDigest: strings.Repeat("1", 64), AuthoritySet: strings.Repeat("2", 64),
			BuildID: "sha256:" + strings.Repeat("3", 64), ApplianceTarget: Intent().Appliance,
		},
	}
}

// Preview returns a preview of the change, asked for by uid 1001.
func Preview() *artifact.Preview {
	return &artifact.Preview{
		RequestID: RequestID, Origin: artifact.OriginMCP, AskedBy: Number(1001), Intent: Intent(), Plan: Plan(),
		GeneratedAt: At("09:20:00"), KeyID: ExecutorID,
	}
}

// Authorization returns the authorization of a change under a plan.
func Authorization(t T, in change.Intent, plan change.Plan) *artifact.Authorization {
	t.Helper()
	return &artifact.Authorization{
		ID: "authz-9d2c41f07be64a3fa1c5d8e2b7064f13", RequestID: RequestID,
		PlanDigest: must(t, plan.Digest), ExecutionIntent: must(t, in.ExecutionDigest),
		AuthorityID: AuthorizationID, IssuedAt: At("09:26:53"), ExpiresAt: At("09:41:53"), Evidence: plan.Evidence,
	}
}

// Pending returns the pending confirmation of the change, the authorization in it
// signed.
func Pending(t T, in change.Intent, plan change.Plan) *artifact.Pending {
	t.Helper()
	a := Authorization(t, in, plan)
	File(t, a, KeyA())
	return &artifact.Pending{
		ContractID: ContractID, OperationID: OperationID, RequestID: RequestID, Intent: in, Locator: 7, Plan: plan,
		ExpiresAt: a.ExpiresAt, ExpectedAuthority: ConfirmationID, Authorization: *a, GeneratedAt: At("09:28:30"), KeyID: ExecutorID,
	}
}

// Confirmation returns the confirmation of the example's contract.
func Confirmation(t T) *artifact.Confirmation {
	t.Helper()
	in := Intent()
	d, err := in.Digests(7)
	if err != nil {
		t.Fatal(err)
	}
	return &artifact.Confirmation{
		AuthorityID: ConfirmationID, Nonce: "9f0c2b7d51e84a66b3c1d0e2f4a59788", ContractID: ContractID, OperationID: OperationID,
		Digests: d, IssuedAt: At("09:31:00"), ExpiresAt: At("09:41:53"),
	}
}

// Observation returns an observation of the example's contract with the change in
// place.
func Observation(t T) *artifact.Observation {
	t.Helper()
	in := Intent()
	return &artifact.Observation{
		ContractID: ContractID, OperationID: OperationID, StateVersion: 3, UncertaintyOrigin: artifact.OriginExecuting, SendBoundary: artifact.BoundaryIntent,
		TargetPresent: true, TargetFingerprint: must(t, in.ExpectedPost), Locator: Number(7), Match: artifact.MatchExpectedPost, OthersUnchanged: true,
		ApplianceTarget: in.Appliance, ObservedAt: At("10:01:12"), SentAt: At("09:31:42"), SecondsSinceSend: Number(1770), KeyID: ExecutorID,
	}
}

// Reconciliation returns evidence over an observation digest.
func Reconciliation(t T, observation string) *artifact.Reconciliation {
	t.Helper()
	in := Intent()
	return &artifact.Reconciliation{
		AuthorityID: ReconcileID, ContractID: ContractID, OperationID: OperationID, StateVersion: 3, Outcome: artifact.OutcomeApplied,
		IssuedAt: At("10:05:00"), ObservationDigest: observation, VerifiedFingerprint: must(t, in.ExpectedPost), VerifiedLocator: Number(7),
	}
}

// RollbackRequest returns the request to undo the example's change.
func RollbackRequest(in change.Intent, plan change.Plan) *artifact.RollbackRequest {
	return &artifact.RollbackRequest{
		ContractID: ContractID, OperationID: OperationID, RequestID: RequestID, StateVersion: 3, Intent: in, Locator: 7,
		Plan: plan, VerifiedAt: At("09:31:50"), GeneratedAt: At("10:59:00"), KeyID: ExecutorID,
	}
}

// Rollback returns one of the two signatures of the undo, unsigned.
func Rollback(t T, by canon.Role, id, nonce string) *artifact.Rollback {
	t.Helper()
	u, err := RollbackRequest(Intent(), Plan()).Undo()
	if err != nil {
		t.Fatal(err)
	}
	return &artifact.Rollback{By: by, AuthorityID: id, Nonce: nonce, Undo: u, IssuedAt: At("11:00:00"), ExpiresAt: At("11:10:00")}
}

// AnchorStatus returns an anchor status with the counter two ahead of the store.
func AnchorStatus() *artifact.AnchorStatus {
	return &artifact.AnchorStatus{
		StoreID: StoreID, NVIndexName: NVIndexName, StoreValue: 41, WitnessValue: 43, AuditHead: strings.Repeat("7", 64), Quarantine: "anchor_mismatch",
		AuthoritySet: strings.Repeat("2", 64), BuildID: "sha256:" + strings.Repeat("3", 64), GeneratedAt: At("12:00:00"), KeyID: ExecutorID,
	}
}

// Rebaseline returns the acceptance of that counter.
func Rebaseline() *artifact.Rebaseline {
	return &artifact.Rebaseline{
		AuthorityID: ReconcileID, Nonce: strings.Repeat("4", 32), StoreID: StoreID, NVIndexName: NVIndexName, StoreValue: 41, WitnessValue: 43,
		AuditHead: strings.Repeat("7", 64), Reason: artifact.ReasonRestored, IssuedAt: At("12:00:00"), ExpiresAt: At("12:10:00"),
	}
}

// ExportHead returns the head of an audit export.
func ExportHead() *artifact.ExportHead {
	return &artifact.ExportHead{
		StoreID: StoreID, Seq: 3, Generation: 212, Head: strings.Repeat("7", 64), AnchorValue: Number(41), GeneratedAt: At("12:00:00"), KeyID: ExecutorID,
	}
}

// File signs the artifact and returns the file.
func File(t T, a artifact.Artifact, k ed25519.PrivateKey) []byte {
	t.Helper()
	b, err := artifact.Sign(a, k)
	if err != nil {
		t.Fatalf("signing as %s: %v", a.Role(), err)
	}
	return b
}

func must(t T, f func() (string, error)) string {
	t.Helper()
	s, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

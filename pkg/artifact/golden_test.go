package artifact_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
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

// proof signs and returns the file's proof.
func proof(t *testing.T, a artifact.Artifact, k ed25519.PrivateKey) string {
	t.Helper()
	return member(t, at.File(t, a, k), "proof").(string)
}

// member returns a member of a file.
func member(t *testing.T, b []byte, key string) any {
	t.Helper()
	v, err := canon.DecodeExact(b)
	if err != nil {
		t.Fatal(err)
	}
	return v.(canon.Object)[key]
}

// The vectors "rollback proof" and "rebaseline proof" are absent here: the nonces (and
// the second one's times) that they were made with are written down nowhere, so
// nobody can make them again. TestA7 and TestReview02 hold the two files to their
// rules instead.
func TestE1EveryVectorOfTheFilesReproduces(t *testing.T) {
	want := vectors(t)
	check := func(name string, got string, err error) {
		t.Helper()
		if err != nil || want[name] != got {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, want[name])
		}
	}
	hash := func(name string, a artifact.Artifact) {
		t.Helper()
		payload, err := artifact.Payload(a)
		if err != nil {
			t.Fatal(err)
		}
		m, err := canon.SigMessage(a.Role(), payload)
		check(name, canon.Hash(m), err)
	}
	d, err := at.Appliance().Digest()
	check("appliance_target_digest", d, err)
	in := at.Intent()
	digests, err := in.Digests(7)
	check("execution_intent_digest", digests.ExecutionIntent, err)
	check("target_identity_digest", digests.TargetIdentity, err)
	check("target_fingerprint", digests.TargetFingerprint, err)
	check("intent_digest", digests.Intent, err)
	check("snapshot_digest", digests.Snapshot, err)
	d, err = in.ExpectedPost()
	check("verified_target_fingerprint", d, err)
	other := change.AliasState{Name: "db_servers", Type: "host", Address: []string{"192.0.2.40"}, Detail: []string{"x"}}
	fp, err := other.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	d, err = change.CollectionDigest([]change.Neighbour{{Locator: 3, Name: other.Name, Fingerprint: fp}})
	check("collection_digest(others)", d, err)
	d, err = change.IdempotencyKey(at.RequestID, digests, 7)
	check("idempotency_key", d, err)
	d, err = change.RequestKey("web_servers", "DMZ web servers")
	check("request_key", d, err)

	plan := at.Plan()
	d, err = plan.Digest()
	check("plan_digest schema 2", d, err)

	authorization := at.Authorization(t, in, plan)
	payload, err := artifact.Payload(authorization)
	if err != nil {
		t.Fatal(err)
	}
	b, err := canon.Encode(payload)
	check("authorization canonical len", strconv.Itoa(len(b)), err)
	hash("authorization msg sha256", authorization)
	check("authorization proof", proof(t, authorization, at.KeyA()), nil)

	confirmation := at.Confirmation(t)
	hash("confirmation msg sha256", confirmation)
	check("confirmation proof", proof(t, confirmation, at.KeyC()), nil)
	d, err = confirmation.Digest()
	check("confirmation_digest", d, err)

	reconciliation := at.Reconciliation(t, want["observation_digest"])
	hash("reconciliation msg sha256", reconciliation)
	check("reconciliation proof", proof(t, reconciliation, at.KeyR()), nil)
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
		return base64.StdEncoding.EncodeToString(ed25519.Sign(at.KeyX(), m))
	}

	p := at.Preview()
	preview, err := artifact.Payload(p)
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

	all, ok := preview["posture_plan"].(canon.Object)
	if !ok {
		t.Fatal("no plan")
	}
	all = maps.Clone(all)
	all["schema_version"] = int64(1)
	delete(all, "executor_binding")
	if d, err := canon.Plan.Digest(all); err != nil || d != want["plan_digest schema 1"] {
		t.Errorf("the plan of schema 1: %s, %v", d, err)
	}

	observation, err := artifact.Payload(at.Observation(t))
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
		{preview, func(b []byte) error { _, err := artifact.ParsePreview(b); return err }},
		{observation, func(b []byte) error { _, err := artifact.ParseObservation(b); return err }},
	} {
		old.o["attestation"] = want["preview attestation"]
		b, err := canon.Encode(old.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := old.parse(b); artifact.ClassOf(got) != artifact.Structure {
			t.Errorf("an older form is parsed: %v", got)
		}
	}
}

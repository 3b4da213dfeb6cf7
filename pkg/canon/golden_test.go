package canon

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// vectors reads the golden values: a name, two or more blanks, a value.
func vectors(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok {
			t.Fatalf("a vector without a value: %q", line)
		}
		all[name] = strings.TrimLeft(value, " ")
	}
	return all
}

// root is the root key of the vectors: 00 01 … 1f.
func root() []byte {
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func key(t *testing.T, l Label) []byte {
	t.Helper()
	k, err := Derive(root(), l)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func object(t *testing.T, text string) Object {
	t.Helper()
	v, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(Object)
}

const store = "prod-write-store-1"

func TestE1EveryVectorOfThisPackageReproduces(t *testing.T) {
	want := vectors(t)
	check := func(name, got string) {
		t.Helper()
		if want[name] != got {
			t.Errorf("%s\n got %s\nwant %s", name, got, want[name])
		}
	}
	mac := func(name string, l Label, label string, parts ...[]byte) string {
		t.Helper()
		m, err := MAC(key(t, l), label, parts...)
		if err != nil {
			t.Fatal(err)
		}
		check(name, hex.EncodeToString(m))
		if !CheckMAC(m, key(t, l), label, parts...) {
			t.Errorf("%s does not check", name)
		}
		return hex.EncodeToString(m)
	}

	check("V0 canonical", string(encode(t, Object{"b": int64(1), "a": "e\u0301<&>\u2028\u0001", "c": Array{nil, true}})))
	d, err := Plan.Digest(Object{"a": int64(1)})
	if err != nil {
		t.Fatal(err)
	}
	check("V0 digest(plan)", d)
	check("hkdf record-mac", hex.EncodeToString(key(t, KeyRecord)))
	check("hkdf artifact-enc", hex.EncodeToString(key(t, KeyArtifact)))
	for name, seed := range map[string]byte{"authz pub": 0xa1, "confirm pub": 0xc2, "reconcile pub": 0xd3, "executor attest pub": 0xe4} {
		k := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32))
		check(name, hex.EncodeToString(k.Public().(ed25519.PublicKey)))
	}

	check("audit genesis", AuditGenesis(store))
	prev := want["audit genesis"]
	for _, row := range []struct{ name, event, from, to, at, version string }{
		{"audit seq 1 mac", "contract_created", "null", `"prepared"`, "2026-03-14T09:28:10Z", "0"},
		{"audit seq 2 mac", "contract_confirmed", `"prepared"`, `"prepared"`, "2026-03-14T09:31:40Z", "1"},
		{"audit seq 3 mac", "state_transition", `"prepared"`, `"executing"`, "2026-03-14T09:31:41Z", "2"},
	} {
		rec := object(t, `{"seq":`+row.name[10:11]+`,"prev":"`+prev+`","store_id":"`+store+`","at":"`+row.at+`","event":"`+row.event+`","actor":"executord",
			"request_id":"req-3f6c1d0e9a7b4c528e1f60718293a4b5","contract_id":"wc-5b0e7c7ad1f94b8f9f2d3c4b5a697887","operation_id":"wo-c1a2b3c4d5e6f708192a3b4c5d6e7f80",
			"capability":"ALIAS_WRITE","endpoint_symbol":"FIREWALL_ALIAS_DESCRIPTION","http_method":"PATCH",
			"target_identity_digest":"`+want["target_identity_digest"]+`","intent_digest":"`+want["intent_digest"]+`","from":`+row.from+`,"to":`+row.to+`,
			"state_version":`+row.version+`,"reason":null,"anchor_value":41,"record_digest":"`+strings.Repeat("5", 64)+`","key_id":"k1"}`)
		prev = mac(row.name, KeyAudit, "audit", encode(t, rec))
	}

	consumed := object(t, `{"authorization_id":"authz-9d2c41f07be64a3fa1c5d8e2b7064f13","authority_id":"owner-authz-1","consumed_at":"2026-03-14T09:28:10Z",
		"contract_id":"wc-5b0e7c7ad1f94b8f9f2d3c4b5a697887","expires_at":"2026-03-14T09:41:53Z"}`)
	mac("consumption mac", KeyConsumption, "consumption", []byte(store), encode(t, consumed))

	anchor := Object{
		"schema_version": int64(1), "store_id": store, "nv_index": "0x01500000", "nv_index_name": "000b" + strings.Repeat("5e", 32),
		"value": int64(41), "generation": int64(212), "audit_head": strings.Repeat("7", 64), "pending": nil,
	}
	mac("anchor mac (steady)", KeyAnchor, "anchor", encode(t, anchor))
	anchor["pending"] = Object{
		"from": int64(41), "to": int64(42), "contract_id": "wc-5b0e7c7ad1f94b8f9f2d3c4b5a697887", "state_version": int64(2), "purpose": "forward",
	}
	mac("anchor mac (pending)", KeyAnchor, "anchor", encode(t, anchor))

	contract := object(t, `{"schema_version":1,"contract_id":"wc-5b0e7c7ad1f94b8f9f2d3c4b5a697887","operation_id":"wo-c1a2b3c4d5e6f708192a3b4c5d6e7f80","request_id":"req-3f6c1d0e9a7b4c528e1f60718293a4b5",
		"idempotency_key":"`+want["idempotency_key"]+`","capability":"ALIAS_WRITE","endpoint_symbol":"FIREWALL_ALIAS_DESCRIPTION","http_method":"PATCH",
		"target_identity_digest":"`+want["target_identity_digest"]+`","target_fingerprint":"`+want["target_fingerprint"]+`","lifecycle_locator":7,"intent_digest":"`+want["intent_digest"]+`","snapshot_digest":"`+want["snapshot_digest"]+`",
		"collection_digest":"`+want["collection_digest(others)"]+`","rollback_plan_version":"firewall-alias-description-rollback-v1",
		"created_at":"2026-03-14T09:28:10Z","expires_at":"2026-03-14T09:41:53Z","state":"prepared","state_version":0,"send_boundary":"none","uncertainty_origin":null,
		"confirmation_digest":null,"confirmed_at":null,"verified_target_fingerprint":null,
		"authorization_provenance":{"schema_version":2,"authorization_id":"authz-9d2c41f07be64a3fa1c5d8e2b7064f13","authority_id":"owner-authz-1","plan_authorization_schema_version":2,
		"plan_digest":"`+want["plan_digest schema 2"]+`","step_id":"capability_posture.milestone_9_activation","execution_intent_digest":"`+want["execution_intent_digest"]+`","authorization_issued_at":"2026-03-14T09:26:53Z",
		"authorization_expires_at":"2026-03-14T09:41:53Z","appliance_target_digest":"`+want["appliance_target_digest"]+`"}}`)
	mac("contract mac (no artifacts)", KeyRecord, "contract", []byte(store), encode(t, contract))

	p := Place{StoreID: store, Contract: "wc-5b0e7c7ad1f94b8f9f2d3c4b5a697887", Role: "intent", KeyID: "k1"}
	sub, err := p.subkey(key(t, KeyArtifact))
	if err != nil {
		t.Fatal(err)
	}
	check("artifact subkey", hex.EncodeToString(sub))
	intent := encode(t, object(t, `{"operation":"set_firewall_alias_description_v1","raw_target_hint":{"alias_name":"web_servers"},"new_description":"DMZ web servers","appliance_target_digest":"`+want["appliance_target_digest"]+`"}`))
	block, err := aes.NewCipher(sub)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	sealed := gcm.Seal(bytes.Clone(nonce), nonce, intent, p.associated())
	check("artifact ct sha256", Hash(sealed))
	plain, err := p.Open(key(t, KeyArtifact), sealed)
	if err != nil || !bytes.Equal(plain, intent) {
		t.Errorf("the sealed vector opens as %q, %v", plain, err)
	}
}

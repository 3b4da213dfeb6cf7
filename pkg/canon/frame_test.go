package canon

import (
	"bytes"
	"crypto/ed25519"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestE5AByteMovedBetweenNeighboursChangesTheFrame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 6), 2, 5).Draw(rt, "parts")
		i := rapid.IntRange(0, len(parts)-2).Draw(rt, "i")
		if len(parts[i]) == 0 {
			rt.Skip("nothing to move")
		}
		moved := append([][]byte{}, parts...)
		cut := len(parts[i]) - 1
		moved[i] = parts[i][:cut]
		moved[i+1] = append([]byte{parts[i][cut]}, parts[i+1]...)
		if bytes.Equal(Frames(parts...), Frames(moved...)) {
			rt.Fatal("the frames are equal")
		}
		if CheckMAC(must(MAC(root(), "l", moved...)), root(), "l", parts...) {
			rt.Fatal("the MACs are equal")
		}
	})
	a, _ := digest("ab", []string{"c"}, nil)
	b, _ := digest("a", []string{"bc"}, nil)
	c, _ := digest("ab", []string{"c", ""}, nil)
	if a == b || a == c {
		t.Fatal("a digest does not know where its purpose ends")
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestE6NoDigestOfOnePurposeIsOneOfAnother(t *testing.T) {
	v := Object{"alias_name": "web_servers"}
	seen := map[string]int{}
	for p := range purposes {
		d, err := Purpose(p).Digest(v)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[d]; twice {
			t.Errorf("purposes %d and %d give one digest", p, other)
		}
		seen[d] = p
	}
	for _, bucket := range []string{"requests", "contracts", "consumed"} {
		d, err := RecordDigest(bucket, v)
		if _, twice := seen[d]; err != nil || twice {
			t.Errorf("the record digest of %s: %v", bucket, err)
		}
		seen[d] = -1
	}
	if _, err := Purpose(len(purposes)).Digest(v); err == nil {
		t.Error("a purpose outside the set has a digest")
	}
	if _, err := Plan.Digest(1.5); err == nil {
		t.Error("a float has a digest")
	}
}

func TestK3ASignatureOfOneRoleFailsInEveryOther(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	payload := Object{"schema_version": int64(1), "authority_id": "owner"}
	roles := []Role{
		RolePlanAuthorization, RoleConfirmation, RoleReconciliation, RoleRollback, RoleRollbackAuthorization, RoleRebaseline,
		RolePreview, RolePending, RoleObservation, RoleExport, RoleRollbackRequest, RoleAnchorStatus,
	}
	for _, signed := range roles {
		m := must(SigMessage(signed, payload))
		sig := ed25519.Sign(key, m)
		for _, shown := range roles {
			if ok := ed25519.Verify(key.Public().(ed25519.PublicKey), must(SigMessage(shown, payload)), sig); ok != (signed == shown) {
				t.Errorf("signed as %s, shown as %s: %v", signed, shown, ok)
			}
		}
	}
	if _, err := SigMessage("executor", payload); err == nil {
		t.Error("a role outside the set can be signed")
	}
}

func TestASignatureCoversAllButItself(t *testing.T) {
	bare := Object{"a": int64(1)}
	full := maps.Clone(bare)
	full["proof"], full["attestation"] = "x", "y"
	if !bytes.Equal(must(SigMessage(RoleRollback, bare)), must(SigMessage(RoleRollback, full))) {
		t.Error("the message holds its own signature")
	}
	if len(full) != 3 {
		t.Error("the payload was changed")
	}
}

func TestK4AWrongKeyOrPlaceOpensNothing(t *testing.T) {
	k := key(t, KeyArtifact)
	at := Place{StoreID: store, Contract: "wc-1", Role: "intent", KeyID: "k1"}
	sealed := must(at.Seal(k, []byte("text")))
	if plain, err := at.Open(k, sealed); err != nil || string(plain) != "text" {
		t.Fatalf("%q, %v", plain, err)
	}
	if bytes.Equal(sealed, must(at.Seal(k, []byte("text")))) {
		t.Error("two sealings are equal: the nonce is not random")
	}
	for name, p := range map[string]Place{
		"store": {"other", "wc-1", "intent", "k1"}, "contract": {store, "wc-2", "intent", "k1"},
		"role": {store, "wc-1", "snapshot", "k1"}, "key id": {store, "wc-1", "intent", "k2"},
		"moved bytes": {store, "wc-1intent", "", "k1"},
	} {
		if _, err := p.Open(k, sealed); err == nil {
			t.Errorf("another %s opens it", name)
		}
	}
	if _, err := at.Open(key(t, KeyRecord), sealed); err == nil {
		t.Error("another key opens it")
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := at.Open(k, bad); err == nil {
			t.Errorf("byte %d does not matter", i)
		}
	}
	for _, short := range [][]byte{nil, sealed[:11], sealed[:12], sealed[:27], sealed[:len(sealed)-1]} {
		if _, err := at.Open(k, short); err == nil {
			t.Errorf("%d bytes open", len(short))
		}
	}
}

func TestK4AMACHoldsForItsKeyLabelAndPartsAlone(t *testing.T) {
	k := key(t, KeyRecord)
	m := must(MAC(k, "contract", []byte(store), []byte("{}")))
	other := bytes.Clone(m)
	other[31] ^= 1
	switch {
	case !CheckMAC(m, k, "contract", []byte(store), []byte("{}")):
		t.Error("the MAC does not check")
	case CheckMAC(other, k, "contract", []byte(store), []byte("{}")), CheckMAC(m[:31], k, "contract", []byte(store), []byte("{}")), CheckMAC(nil, k, "contract"):
		t.Error("a changed MAC checks")
	case CheckMAC(m, key(t, KeyAudit), "contract", []byte(store), []byte("{}")):
		t.Error("another key checks")
	case CheckMAC(m, k, "requests", []byte(store), []byte("{}")), CheckMAC(m, k, "contract", []byte("other"), []byte("{}")):
		t.Error("another label or store checks")
	}
}

func TestShortKeysAndUnknownLabelsAreRefused(t *testing.T) {
	if _, err := Derive(root()[:31], KeyRecord); err == nil {
		t.Error("31 bytes derive a key")
	}
	if _, err := Derive(root(), "other"); err == nil {
		t.Error("an unknown label derives a key")
	}
	if _, err := MAC(root()[:31], "l"); err == nil {
		t.Error("31 bytes make a MAC")
	}
	if CheckMAC(nil, nil, "l") {
		t.Error("no key checks no MAC")
	}
	seen := map[string]bool{}
	for _, l := range []Label{KeyRecord, KeyAudit, KeyAnchor, KeyConsumption, KeyArtifact} {
		seen[string(key(t, l))] = true
	}
	if len(seen) != 5 {
		t.Error("two labels give one key")
	}
}

func TestTheDomainBeginsEveryFrame(t *testing.T) {
	m := must(SigMessage(RoleRollback, Object{}))
	if !strings.HasPrefix(string(m[4:]), Domain) || AuditGenesis("a") == AuditGenesis("b") {
		t.Error("no domain, or a genesis without the store")
	}
}

package authority_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"strings"
	"testing"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
)

func TestAnAuthoritiesFileReadsBackInItsOneOrder(t *testing.T) {
	l := at.Owners()
	l.Confirmation = append(l.Confirmation, authority.Key{ID: "a-second", Public: at.Public(at.Seed(0x55))})
	b, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := authority.Parse(b)
	if err != nil || got.Confirmation[0].ID != "a-second" || !got.Confirmation[1].Public.Equal(at.Public(at.KeyC())) {
		t.Fatalf("%+v, %v", got, err)
	}
	d1, err1 := l.SetDigest(at.Executor())
	d2, err2 := got.SetDigest(at.Executor())
	if err1 != nil || err2 != nil || d1 != d2 {
		t.Errorf("the digest depends on the order: %v %v", err1, err2)
	}
	l.Confirmation = l.Confirmation[:1]
	if d3, err := l.SetDigest(at.Executor()); err != nil || d3 == d1 {
		t.Errorf("the digest does not cover every key: %v", err)
	}
	if d4, err := at.Owners().SetDigest(authority.Key{ID: "executor-2", Public: at.Public(at.KeyX())}); err != nil || d4 == d1 {
		t.Errorf("the digest does not cover the executor: %v", err)
	}
}

func TestK1AKeyOrAnIDInTwoRolesIsRefused(t *testing.T) {
	shared := at.Seed(0x77)
	for name, change := range map[string]func(*authority.Set){
		"same key in two roles": func(l *authority.Set) { l.Confirmation[0].Public = at.Public(at.KeyA()) },
		"same id in two roles":  func(l *authority.Set) { l.Confirmation[0].ID = "owner-authz-1" },
		"same key in one role": func(l *authority.Set) {
			l.Reconciliation = append(l.Reconciliation, authority.Key{ID: "x", Public: at.Public(at.KeyR())})
		},
		"same id in one role": func(l *authority.Set) {
			l.Reconciliation = append(l.Reconciliation, authority.Key{ID: "owner-reconcile-1", Public: at.Public(shared)})
		},
		"the first and the last one": func(l *authority.Set) { l.Reconciliation[0].Public = at.Public(at.KeyA()) },
	} {
		l := at.Owners()
		change(l)
		if _, err := l.Encode(); artifact.ClassOf(err) != artifact.Keys {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := l.SetDigest(at.Executor()); artifact.ClassOf(err) != artifact.Keys {
			t.Errorf("%s: digest: %v", name, err)
		}
	}
	for name, x := range map[string]authority.Key{
		"attestation key of an owner": {ID: "executor-1", Public: at.Public(at.KeyA())}, "attestation id of an owner": {ID: "owner-confirm-1", Public: at.Public(at.KeyX())},
		"attestation key of small order": {ID: "executor-1", Public: make([]byte, 32)},
	} {
		if _, err := at.Owners().SetDigest(x); artifact.ClassOf(err) != artifact.Keys {
			t.Errorf("%s: %v", name, err)
		}
	}
	same := `{"authority_id":"a","public_key_hex":"` + hex.EncodeToString(at.Public(at.KeyA())) + `"}`
	file := `{"authorization":[` + same + `],"confirmation":[` + strings.Replace(same, `"a"`, `"c"`, 1) + `],"reconciliation":[{"authority_id":"r","public_key_hex":"` + hex.EncodeToString(at.Public(at.KeyR())) + `"}]}`
	if _, err := authority.Parse([]byte(file)); artifact.ClassOf(err) != artifact.Keys || !strings.Contains(err.Error(), "authority_overlap") {
		t.Errorf("a file with one key in two roles: %v", err)
	}
}

func TestK2NoOwnerCanSignForAnother(t *testing.T) {
	ids := map[authority.Owner]string{authority.Authorization: "owner-authz-1", authority.Confirmation: "owner-confirm-1", authority.Reconciliation: "owner-reconcile-1"}
	keys := map[authority.Owner]ed25519.PrivateKey{authority.Authorization: at.KeyA(), authority.Confirmation: at.KeyC(), authority.Reconciliation: at.KeyR()}
	pairs := 0
	for _, needed := range authority.Owners() {
		for _, by := range authority.Owners() {
			// Under the signer's own name, and under the name of the owner it plays.
			for _, id := range []string{ids[by], ids[needed]} {
				var a artifact.Signed
				switch needed {
				case authority.Authorization:
					x := *at.Authorization(t, at.Intent(), at.Plan())
					x.AuthorityID, a = id, &x
				case authority.Confirmation:
					x := *at.Confirmation(t)
					x.AuthorityID, a = id, &x
				default:
					x := *at.Reconciliation(t, strings.Repeat("8", 64))
					x.AuthorityID, a = id, &x
				}
				if _, err := artifact.Sign(a, keys[by]); err != nil {
					t.Fatal(err)
				}
				err := at.Owners().Verify(a)
				if needed == by && err != nil || needed != by && artifact.ClassOf(err) != artifact.Signature {
					t.Errorf("%s signed by %s as %s: %v", needed, by, id, err)
				}
				if needed != by {
					pairs++
				}
			}
		}
	}
	if pairs != 12 {
		t.Errorf("%d cross-role cases were tried", pairs)
	}
}

func TestReview02AnUndoNeedsTheSignaturesOfTwoOwners(t *testing.T) {
	want, err := at.RollbackRequest(at.Intent(), at.Plan()).Undo()
	if err != nil {
		t.Fatal(err)
	}
	sign := func(by canon.Role, id, nonce string, k ed25519.PrivateKey, change func(*artifact.Rollback)) *artifact.Rollback {
		r := at.Rollback(t, by, id, nonce)
		if change != nil {
			change(r)
		}
		b, err := artifact.Sign(r, k)
		if err != nil {
			t.Fatal(err)
		}
		got, err := artifact.ParseRollback(b, by)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	n1, n2 := strings.Repeat("1", 32), strings.Repeat("2", 32)
	c := sign(canon.RoleRollback, "owner-confirm-1", n1, at.KeyC(), nil)
	a := sign(canon.RoleRollbackAuthorization, "owner-authz-1", n2, at.KeyA(), nil)
	if err := at.Owners().VerifyRollback(want, c, a); err != nil {
		t.Fatal(err)
	}
	moved := want
	moved.StateVersion++
	for name, try := range map[string]error{
		"one owner for both":       at.Owners().VerifyRollback(want, c, c),
		"the other owner for both": at.Owners().VerifyRollback(want, a, a),
		"the two exchanged":        at.Owners().VerifyRollback(want, a, c),
		"another undo":             at.Owners().VerifyRollback(moved, c, a),
		"another snapshot": at.Owners().VerifyRollback(want, c, sign(canon.RoleRollbackAuthorization, "owner-authz-1", n2, at.KeyA(), func(r *artifact.Rollback) {
			r.Undo.Snapshot = strings.Repeat("0", 64)
		})),
		"one nonce twice":                 at.Owners().VerifyRollback(want, c, sign(canon.RoleRollbackAuthorization, "owner-authz-1", n1, at.KeyA(), nil)),
		"the confirmation key in both":    at.Owners().VerifyRollback(want, c, sign(canon.RoleRollbackAuthorization, "owner-authz-1", n2, at.KeyC(), nil)),
		"the confirmation owner in both":  at.Owners().VerifyRollback(want, c, sign(canon.RoleRollbackAuthorization, "owner-confirm-1", n2, at.KeyC(), nil)),
		"a confirmation's signature role": at.Owners().VerifyRollback(want, sign(canon.RoleRollbackAuthorization, "owner-confirm-1", n1, at.KeyC(), nil), a),
	} {
		if try == nil {
			t.Errorf("%s is enough", name)
		}
	}
	// The bytes are the same for both roles but for id, nonce and proof: only the
	// frame tells them apart.
	b, err := artifact.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	as, err := artifact.ParseRollback(b, canon.RoleRollbackAuthorization)
	if err != nil || artifact.Verify(as, at.Public(at.KeyC())) == nil {
		t.Errorf("a signature of one role verifies in the other: %v", err)
	}
	if _, err := artifact.ParseRollback(b, canon.RoleConfirmation); err == nil {
		t.Error("a rollback is parsed for a role that has none")
	}
}

func TestC5OneOwnerCannotApproveTwice(t *testing.T) {
	a, c := *at.Authorization(t, at.Intent(), at.Plan()), *at.Confirmation(t)
	if err := at.Owners().Distinct(&a, &c); err != nil {
		t.Error(err)
	}
	c.AuthorityID = "owner-authz-1"
	if at.Owners().Distinct(&a, &c) == nil {
		t.Error("the authorization owner confirms")
	}
	l := at.Owners()
	l.Confirmation[0].Public = at.Public(at.KeyA()) // as if the list had not been checked
	c.AuthorityID = "owner-confirm-1"
	if l.Distinct(&a, &c) == nil {
		t.Error("the authorization key confirms under another name")
	}
}

func TestK5AnAuthoritiesFileIsExact(t *testing.T) {
	b, err := at.Owners().Encode()
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(string(b), "\n")
	key := hex.EncodeToString(at.Public(at.KeyA()))
	for name, in := range map[string]string{
		"empty": "", "two lines": strings.Replace(line, ",", ",\n", 1), "two line ends": line + "\n\n", "trailing bytes": line + "x",
		"windows": line + "\r\n", "oversize": line + strings.Repeat(" ", 4096), "a list": "[" + line + "]",
		"extra field":     strings.Replace(line, `{"authority_id"`, `{"note":"x","authority_id"`, 1),
		"extra list":      strings.Replace(line, `{"authorization"`, `{"attestation":[],"authorization"`, 1),
		"missing list":    `{"authorization":[],"confirmation":[]}`,
		"empty list":      `{"authorization":[],"confirmation":[],"reconciliation":[]}`,
		"duplicate field": strings.Replace(line, `{"authority_id"`, `{"authority_id":"x","authority_id"`, 1),
		"short key":       strings.Replace(line, key, key[2:], 1), "upper case": strings.Replace(line, key, strings.ToUpper(key), 1),
		"null key": strings.Replace(line, `"`+key+`"`, "null", 1), "bad id": strings.Replace(line, "owner-authz-1", "owner authz", 1),
		"five": strings.Replace(line, `"authorization":[`, `"authorization":[`+strings.Repeat(`{"authority_id":"x","public_key_hex":"`+key+`"},`, 4), 1),
	} {
		if _, err := authority.Parse([]byte(in)); artifact.ClassOf(err) != artifact.Structure {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := authority.Parse([]byte(strings.ReplaceAll(line, ",", ", ") + "\n")); err != nil {
		t.Errorf("blanks that a person writes: %v", err)
	}
}

func TestPinsReadBackAndHoldOneExecutor(t *testing.T) {
	plan := at.Plan()
	pin := authority.Pin{Name: "edge", StoreID: at.StoreID, NVIndexName: at.NVIndexName, ApplianceTarget: plan.Executor.ApplianceTarget, Attestation: at.Executor(), Authorities: *at.Owners()}
	pins := &authority.Pins{Executors: []authority.Pin{pin}}
	b, err := pins.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := authority.ParsePins([]byte(strings.ReplaceAll(string(b), ",", ",\n  ")))
	if err != nil {
		t.Fatal(err)
	}
	p, ok := got.Store(at.StoreID)
	if !ok {
		t.Fatal("no entry")
	}
	if plan.Executor.AuthoritySet, err = p.AuthoritySet(); err != nil {
		t.Fatal(err)
	}
	if err := p.Holds(&plan.Executor); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*change.Executor){
		"store": func(x *change.Executor) { x.StoreID = "lab-1" }, "index": func(x *change.Executor) { x.NVIndexName = "000b" + strings.Repeat("0", 64) },
		"appliance": func(x *change.Executor) { x.ApplianceTarget = strings.Repeat("0", 64) }, "authorities": func(x *change.Executor) { x.AuthoritySet = strings.Repeat("0", 64) },
	} {
		x := plan.Executor
		change(&x)
		if artifact.ClassOf(p.Holds(&x)) != artifact.Binding {
			t.Errorf("another %s is held", name)
		}
	}
	p.BuildID = "sha256:" + strings.Repeat("0", 64)
	if artifact.ClassOf(p.Holds(&plan.Executor)) != artifact.Binding {
		t.Error("another build is held though one is pinned")
	}
	if b, err = got.Encode(); err != nil || !bytes.Contains(b, []byte(p.BuildID)) {
		t.Errorf("a pinned build is lost: %v", err)
	}
	for name, two := range map[string]func(*authority.Pin){
		"store twice": func(x *authority.Pin) {
			x.Attestation = authority.Key{ID: "executor-2", Public: at.Public(at.Seed(0x66))}
		}, "key twice": func(x *authority.Pin) { x.StoreID = "other" },
		"key of an owner": func(x *authority.Pin) { x.StoreID, x.Attestation.Public = "other", at.Public(at.KeyA()) },
	} {
		second := pin
		two(&second)
		if _, err := (&authority.Pins{Executors: []authority.Pin{pin, second}}).Encode(); artifact.ClassOf(err) != artifact.Keys {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := got.Store("other"); ok {
		t.Error("an unknown store has an entry")
	}
	if _, err := authority.ParsePins(bytes.Repeat([]byte(" "), authority.MaxPins+1)); artifact.ClassOf(err) != artifact.Structure {
		t.Errorf("an oversize file: %v", err)
	}
	o := at.Observation(t)
	if _, err := artifact.Sign(o, at.KeyX()); err != nil {
		t.Fatal(err)
	}
	if found, err := got.Attesting(o); err != nil || found.StoreID != at.StoreID {
		t.Errorf("the attesting executor: %v", err)
	}
	o.StateVersion++
	if _, err := got.Attesting(o); artifact.ClassOf(err) != artifact.Signature {
		t.Errorf("a changed observation: %v", err)
	}
}

func TestC5AnAttestationIsThePinnedKeysUnderThePinnedName(t *testing.T) {
	for _, a := range []artifact.Attested{
		at.Preview(), at.Pending(t, at.Intent(), at.Plan()), at.Observation(t), at.RollbackRequest(at.Intent(), at.Plan()), at.AnchorStatus(), at.ExportHead(),
	} {
		if authority.VerifyAttestation(a, at.Executor()) == nil {
			t.Errorf("%s: no attestation is taken", a.Role())
		}
		at.File(t, a, at.KeyX())
		if err := authority.VerifyAttestation(a, at.Executor()); err != nil {
			t.Errorf("%s: %v", a.Role(), err)
		}
		for name, pinned := range map[string]authority.Key{
			"a foreign key": {ID: "executor-1", Public: at.Public(at.KeyA())}, "another name": {ID: "executor-2", Public: at.Public(at.KeyX())}, "no key": {ID: "executor-1"},
		} {
			if artifact.ClassOf(authority.VerifyAttestation(a, pinned)) != artifact.Signature {
				t.Errorf("%s: %s is taken", a.Role(), name)
			}
		}
	}
}

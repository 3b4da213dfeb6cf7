package artifact

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"math/big"
	"strings"
	"testing"

	"pfsensemcp/pkg/canon"
)

// owners are the pinned keys of the examples.
func owners() *Authorities {
	return &Authorities{
		Authorization:  []Authority{{"owner-authz-1", public(keyA)}},
		Confirmation:   []Authority{{"owner-confirm-1", public(keyC)}},
		Reconciliation: []Authority{{"owner-reconcile-1", public(keyR)}},
	}
}

var executorKey = Authority{"executor-1", public(keyX)}

func TestAnAuthoritiesFileReadsBackInItsOneOrder(t *testing.T) {
	l := owners()
	l.Confirmation = append(l.Confirmation, Authority{"a-second", public(seed(0x55))})
	b, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseAuthorities(b)
	if err != nil || got.Confirmation[0].ID != "a-second" || !got.Confirmation[1].Key.Equal(public(keyC)) {
		t.Fatalf("%+v, %v", got, err)
	}
	d1, err1 := l.SetDigest(executorKey)
	d2, err2 := got.SetDigest(executorKey)
	if err1 != nil || err2 != nil || d1 != d2 {
		t.Errorf("the digest depends on the order: %v %v", err1, err2)
	}
	l.Confirmation = l.Confirmation[:1]
	if d3, err := l.SetDigest(executorKey); err != nil || d3 == d1 {
		t.Errorf("the digest does not cover every key: %v", err)
	}
	if d4, err := owners().SetDigest(Authority{"executor-2", public(keyX)}); err != nil || d4 == d1 {
		t.Errorf("the digest does not cover the executor: %v", err)
	}
}

func TestK1AKeyOrAnIDInTwoRolesIsRefused(t *testing.T) {
	shared := seed(0x77)
	for name, change := range map[string]func(*Authorities){
		"same key in two roles": func(l *Authorities) { l.Confirmation[0].Key = public(keyA) },
		"same id in two roles":  func(l *Authorities) { l.Confirmation[0].ID = "owner-authz-1" },
		"same key in one role":  func(l *Authorities) { l.Reconciliation = append(l.Reconciliation, Authority{"x", public(keyR)}) },
		"same id in one role": func(l *Authorities) {
			l.Reconciliation = append(l.Reconciliation, Authority{"owner-reconcile-1", public(shared)})
		},
		"the first and the last one": func(l *Authorities) { l.Reconciliation[0].Key = public(keyA) },
	} {
		l := owners()
		change(l)
		if _, err := l.Encode(); ClassOf(err) != Keys {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := l.SetDigest(executorKey); ClassOf(err) != Keys {
			t.Errorf("%s: digest: %v", name, err)
		}
	}
	for name, x := range map[string]Authority{
		"attestation key of an owner": {"executor-1", public(keyA)}, "attestation id of an owner": {"owner-confirm-1", public(keyX)},
		"attestation key of small order": {"executor-1", make([]byte, 32)},
	} {
		if _, err := owners().SetDigest(x); ClassOf(err) != Keys {
			t.Errorf("%s: %v", name, err)
		}
	}
	same := `{"authority_id":"a","public_key_hex":"` + hex.EncodeToString(public(keyA)) + `"}`
	file := `{"authorization":[` + same + `],"confirmation":[` + strings.Replace(same, `"a"`, `"c"`, 1) + `],"reconciliation":[{"authority_id":"r","public_key_hex":"` + hex.EncodeToString(public(keyR)) + `"}]}`
	if _, err := ParseAuthorities([]byte(file)); ClassOf(err) != Keys || !strings.Contains(err.Error(), "authority_overlap") {
		t.Errorf("a file with one key in two roles: %v", err)
	}
}

func TestK2NoOwnerCanSignForAnother(t *testing.T) {
	ids := map[Owner]string{OwnerAuthorization: "owner-authz-1", OwnerConfirmation: "owner-confirm-1", OwnerReconciliation: "owner-reconcile-1"}
	keys := map[Owner]ed25519.PrivateKey{OwnerAuthorization: keyA, OwnerConfirmation: keyC, OwnerReconciliation: keyR}
	pairs := 0
	for role := range Owners() {
		for signer := range Owners() {
			needed, by := Owners()[role], Owners()[signer]
			// Under the signer's own name, and under the name of the owner it plays.
			for _, id := range []string{ids[by], ids[needed]} {
				var a signed
				switch needed {
				case OwnerAuthorization:
					x := exampleAuthorization(t)
					x.AuthorityID, a = id, &x
				case OwnerConfirmation:
					x := exampleConfirmation(t)
					x.AuthorityID, a = id, &x
				default:
					x := exampleReconciliation(t)
					x.AuthorityID, a = id, &x
				}
				if _, err := Sign(a, keys[by]); err != nil {
					t.Fatal(err)
				}
				err := owners().Verify(a)
				if needed == by && err != nil || needed != by && ClassOf(err) != Signature {
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
	want := exampleUndo(t)
	sign := func(by canon.Role, id, nonce string, k ed25519.PrivateKey, change func(*Rollback)) *Rollback {
		r := exampleRollback(t, by, id, nonce)
		if change != nil {
			change(r)
		}
		b, err := Sign(r, k)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseRollback(b, by)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	n1, n2 := strings.Repeat("1", 32), strings.Repeat("2", 32)
	c := sign(canon.RoleRollback, "owner-confirm-1", n1, keyC, nil)
	a := sign(canon.RoleRollbackAuthorization, "owner-authz-1", n2, keyA, nil)
	if err := owners().VerifyRollback(want, c, a); err != nil {
		t.Fatal(err)
	}
	moved := want
	moved.StateVersion++
	for name, try := range map[string]error{
		"one owner for both":       owners().VerifyRollback(want, c, c),
		"the other owner for both": owners().VerifyRollback(want, a, a),
		"the two exchanged":        owners().VerifyRollback(want, a, c),
		"another undo":             owners().VerifyRollback(moved, c, a),
		"another snapshot": owners().VerifyRollback(want, c, sign(canon.RoleRollbackAuthorization, "owner-authz-1", n2, keyA, func(r *Rollback) {
			r.Undo.Snapshot = strings.Repeat("0", 64)
		})),
		"one nonce twice":                 owners().VerifyRollback(want, c, sign(canon.RoleRollbackAuthorization, "owner-authz-1", n1, keyA, nil)),
		"the confirmation key in both":    owners().VerifyRollback(want, c, sign(canon.RoleRollbackAuthorization, "owner-authz-1", n2, keyC, nil)),
		"the confirmation owner in both":  owners().VerifyRollback(want, c, sign(canon.RoleRollbackAuthorization, "owner-confirm-1", n2, keyC, nil)),
		"a confirmation's signature role": owners().VerifyRollback(want, sign(canon.RoleRollbackAuthorization, "owner-confirm-1", n1, keyC, nil), a),
	} {
		if try == nil {
			t.Errorf("%s is enough", name)
		}
	}
	// The bytes are the same for both roles but for id, nonce and proof: only the
	// frame tells them apart.
	b, err := Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	as, err := ParseRollback(b, canon.RoleRollbackAuthorization)
	if err != nil || Verify(as, public(keyC)) == nil {
		t.Errorf("a signature of one role verifies in the other: %v", err)
	}
	if _, err := ParseRollback(b, canon.RoleConfirmation); err == nil {
		t.Error("a rollback is parsed for a role that has none")
	}
}

func TestC5OneOwnerCannotApproveTwice(t *testing.T) {
	a, c := exampleAuthorization(t), exampleConfirmation(t)
	if err := owners().Distinct(&a, &c); err != nil {
		t.Error(err)
	}
	c.AuthorityID = "owner-authz-1"
	if owners().Distinct(&a, &c) == nil {
		t.Error("the authorization owner confirms")
	}
	l := owners()
	l.Confirmation[0].Key = public(keyA) // as if the list had not been checked
	c.AuthorityID = "owner-confirm-1"
	if l.Distinct(&a, &c) == nil {
		t.Error("the authorization key confirms under another name")
	}
}

func TestK5AnAuthoritiesFileIsExact(t *testing.T) {
	b, err := owners().Encode()
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(string(b), "\n")
	key := hex.EncodeToString(public(keyA))
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
		if _, err := ParseAuthorities([]byte(in)); ClassOf(err) != Structure {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseAuthorities([]byte(strings.ReplaceAll(line, ",", ", ") + "\n")); err != nil {
		t.Errorf("blanks that a person writes: %v", err)
	}
}

func TestUnusablePublicKeysAreRefused(t *testing.T) {
	le := func(n *big.Int, sign byte) []byte {
		b := make([]byte, 32)
		n.FillBytes(b)
		for i, j := 0, 31; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
		b[31] |= sign
		return b
	}
	p, _ := curve()
	add := func(d int64) *big.Int { return new(big.Int).Add(p, big.NewInt(d)) }
	order8, _ := hex.DecodeString("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
	other8, _ := hex.DecodeString("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
	for name, k := range map[string][]byte{
		"nothing": nil, "31 bytes": make([]byte, 31), "33 bytes": make([]byte, 33),
		"neutral": le(big.NewInt(1), 0), "neutral, signed": le(big.NewInt(1), 0x80), "order 2": le(add(-1), 0), "order 4": le(big.NewInt(0), 0), "order 4, signed": le(big.NewInt(0), 0x80),
		"order 8": order8, "order 8, other": other8, "order 8, signed": append(bytes.Clone(order8[:31]), order8[31]|0x80),
		"y = p": le(p, 0), "y = p+1": le(add(1), 0), "y = p+2": le(add(2), 0x80), "all ones": bytes.Repeat([]byte{0xff}, 32),
		"off the curve": le(big.NewInt(2), 0),
	} {
		if ClassOf(CheckPublicKey(k)) != Keys {
			t.Errorf("%s is accepted", name)
		}
	}
	for b := range 64 {
		if err := CheckPublicKey(public(seed(byte(b)))); err != nil {
			t.Errorf("seed %d: %v", b, err)
		}
	}
}

func TestPinsReadBackAndHoldOneExecutor(t *testing.T) {
	plan := examplePlan()
	pin := Pin{StoreID: storeID, NVIndexName: nvIndexName, ApplianceTarget: plan.Executor.ApplianceTarget, Attestation: executorKey, Authorities: *owners()}
	pins := &Pins{Executors: []Pin{pin}}
	b, err := pins.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParsePins([]byte(strings.ReplaceAll(string(b), ",", ",\n  ")))
	if err != nil {
		t.Fatal(err)
	}
	p, ok := got.Store(storeID)
	if !ok {
		t.Fatal("no entry")
	}
	if plan.Executor.AuthoritySet, err = p.AuthoritySet(); err != nil {
		t.Fatal(err)
	}
	if err := p.Holds(&plan.Executor); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Executor){
		"store": func(x *Executor) { x.StoreID = "lab-1" }, "index": func(x *Executor) { x.NVIndexName = "000b" + strings.Repeat("0", 64) },
		"appliance": func(x *Executor) { x.ApplianceTarget = strings.Repeat("0", 64) }, "authorities": func(x *Executor) { x.AuthoritySet = strings.Repeat("0", 64) },
	} {
		x := plan.Executor
		change(&x)
		if ClassOf(p.Holds(&x)) != Binding {
			t.Errorf("another %s is held", name)
		}
	}
	p.BuildID = "sha256:" + strings.Repeat("0", 64)
	if ClassOf(p.Holds(&plan.Executor)) != Binding {
		t.Error("another build is held though one is pinned")
	}
	if b, err = got.Encode(); err != nil || !bytes.Contains(b, []byte(p.BuildID)) {
		t.Errorf("a pinned build is lost: %v", err)
	}
	for name, two := range map[string]func(*Pin){
		"store twice": func(x *Pin) { x.Attestation = Authority{"executor-2", public(seed(0x66))} }, "key twice": func(x *Pin) { x.StoreID = "other" },
		"key of an owner": func(x *Pin) { x.StoreID, x.Attestation.Key = "other", public(keyA) },
	} {
		second := pin
		two(&second)
		if _, err := (&Pins{Executors: []Pin{pin, second}}).Encode(); ClassOf(err) != Keys {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := got.Store("other"); ok {
		t.Error("an unknown store has an entry")
	}
	if _, err := ParsePins(bytes.Repeat([]byte(" "), MaxPins+1)); ClassOf(err) != Structure {
		t.Errorf("an oversize file: %v", err)
	}
	o := exampleObservation(t)
	if _, err := Sign(o, keyX); err != nil {
		t.Fatal(err)
	}
	if found, err := got.Attesting(o); err != nil || found.StoreID != storeID {
		t.Errorf("the attesting executor: %v", err)
	}
	o.StateVersion++
	if _, err := got.Attesting(o); ClassOf(err) != Signature {
		t.Errorf("a changed observation: %v", err)
	}
}

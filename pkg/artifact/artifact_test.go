package artifact

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/canon"
)

// kind is one kind of file, for tests that hold all of them to the same rules.
type kind struct {
	name  string
	make  func(testing.TB) Artifact
	parse func([]byte) (Artifact, error)
	key   ed25519.PrivateKey
}

func as[T any, P interface {
	*T
	Artifact
}](parse func([]byte) (*T, error)) func([]byte) (Artifact, error) {
	return func(b []byte) (Artifact, error) {
		t, err := parse(b)
		if err != nil {
			return nil, err
		}
		return P(t), nil
	}
}

func exampleUndo(t testing.TB) Undo {
	r := exampleRollbackRequest()
	u, err := r.Undo()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func exampleRollbackRequest() RollbackRequest {
	return RollbackRequest{
		ContractID: contractID, OperationID: operationID, RequestID: requestID, StateVersion: 3, Intent: exampleIntent(), Locator: 7,
		Plan: examplePlan(), VerifiedAt: at("09:31:50"), GeneratedAt: at("10:59:00"), KeyID: "executor-1",
	}
}

func exampleRollback(t testing.TB, by canon.Role, id, nonce string) *Rollback {
	return &Rollback{By: by, AuthorityID: id, Nonce: nonce, Undo: exampleUndo(t), IssuedAt: at("11:00:00"), ExpiresAt: at("11:10:00")}
}

func examplePending(t testing.TB) *Pending {
	authorization := exampleAuthorization(t)
	if _, err := Sign(&authorization, keyA); err != nil {
		t.Fatal(err)
	}
	return &Pending{
		ContractID: contractID, OperationID: operationID, RequestID: requestID, Intent: exampleIntent(), Locator: 7, Plan: examplePlan(),
		ExpiresAt: authorization.ExpiresAt, ExpectedAuthority: "owner-confirm-1", Authorization: authorization, GeneratedAt: at("09:28:30"), KeyID: "executor-1",
	}
}

func examplePreview() *Preview {
	return &Preview{RequestID: requestID, Origin: OriginMCP, AskedBy: number(1001), Intent: exampleIntent(), Plan: examplePlan(), GeneratedAt: at("09:20:00"), KeyID: "executor-1"}
}

func exampleObservation(t testing.TB) *Observation {
	return &Observation{
		ContractID: contractID, OperationID: operationID, StateVersion: 3, UncertaintyOrigin: OriginExecuting, SendBoundary: BoundaryIntent,
		TargetPresent: true, TargetFingerprint: vectors(t)["verified_target_fingerprint"], Locator: number(7), Match: MatchExpectedPost, OthersUnchanged: true,
		ApplianceTarget: exampleIntent().Appliance, ObservedAt: at("10:01:12"), SentAt: at("09:31:42"), SecondsSinceSend: number(1770), KeyID: "executor-1",
	}
}

func kinds() []kind {
	nonce := "9f0c2b7d51e84a66b3c1d0e2f4a59788"
	return []kind{
		{"preview", func(testing.TB) Artifact { return examplePreview() }, as(ParsePreview), keyX},
		{"authorization", func(t testing.TB) Artifact { a := exampleAuthorization(t); return &a }, as(ParseAuthorization), keyA},
		{"pending", func(t testing.TB) Artifact { return examplePending(t) }, as(ParsePending), keyX},
		{"confirmation", func(t testing.TB) Artifact { a := exampleConfirmation(t); return &a }, as(ParseConfirmation), keyC},
		{"observation", func(t testing.TB) Artifact { return exampleObservation(t) }, as(ParseObservation), keyX},
		{"reconciliation", func(t testing.TB) Artifact { a := exampleReconciliation(t); return &a }, as(ParseReconciliation), keyR},
		{"rollback request", func(testing.TB) Artifact { r := exampleRollbackRequest(); return &r }, as(ParseRollbackRequest), keyX},
		{"rollback", func(t testing.TB) Artifact { return exampleRollback(t, canon.RoleRollback, "owner-confirm-1", nonce) },
			as(func(b []byte) (*Rollback, error) { return ParseRollback(b, canon.RoleRollback) }), keyC},
		{"rollback authorization", func(t testing.TB) Artifact {
			return exampleRollback(t, canon.RoleRollbackAuthorization, "owner-authz-1", nonce)
		},
			as(func(b []byte) (*Rollback, error) { return ParseRollback(b, canon.RoleRollbackAuthorization) }), keyA},
		{"anchor status", func(testing.TB) Artifact {
			return &AnchorStatus{
				StoreID: storeID, NVIndexName: nvIndexName, StoreValue: 41, WitnessValue: 43, AuditHead: strings.Repeat("7", 64), Quarantine: "anchor_mismatch",
				AuthoritySet: strings.Repeat("2", 64), BuildID: "sha256:" + strings.Repeat("3", 64), GeneratedAt: at("12:00:00"), KeyID: "executor-1",
			}
		}, as(ParseAnchorStatus), keyX},
		{"rebaseline", func(testing.TB) Artifact {
			return &Rebaseline{
				AuthorityID: "owner-reconcile-1", Nonce: nonce, StoreID: storeID, NVIndexName: nvIndexName, StoreValue: 41, WitnessValue: 43,
				AuditHead: strings.Repeat("7", 64), Reason: ReasonRestored, IssuedAt: at("12:00:00"), ExpiresAt: at("12:10:00"),
			}
		}, as(ParseRebaseline), keyR},
		{"export head", func(testing.TB) Artifact {
			return &ExportHead{StoreID: storeID, Seq: 3, Generation: 212, Head: strings.Repeat("7", 64), AnchorValue: number(41), GeneratedAt: at("12:00:00"), KeyID: "executor-1"}
		}, as(ParseExportHead), keyX},
	}
}

func (k kind) file(t testing.TB) []byte {
	t.Helper()
	b, err := Sign(k.make(t), k.key)
	if err != nil {
		t.Fatalf("%s: %v", k.name, err)
	}
	return b
}

// accepted says whether a receiver would take the file.
func (k kind) accepted(b []byte) bool {
	a, err := k.parse(b)
	return err == nil && Verify(a, public(k.key)) == nil
}

func TestEveryFileReadsBackAsItWasWritten(t *testing.T) {
	for _, k := range kinds() {
		b := k.file(t)
		a, err := k.parse(b)
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		want := k.make(t)
		*want.signature() = *a.signature()
		if d := cmp.Diff(want, a); d != "" {
			t.Errorf("%s: %s", k.name, d)
		}
		if again, err := Encode(a); err != nil || !bytes.Equal(b, again) {
			t.Errorf("%s: encodes again to something else, %v", k.name, err)
		}
		if err := Verify(a, public(k.key)); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

// walk visits every member of a canonical value: at may return another value.
func walk(v any, path string, at func(path string, holder canon.Object, key string)) {
	switch v := v.(type) {
	case canon.Object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at(path+"."+key, v, key)
			walk(v[key], path+"."+key, at)
		}
	case canon.Array:
		for i, item := range v {
			walk(item, fmt.Sprintf("%s[%d]", path, i), at)
		}
	}
}

// other returns a value of the same form that is not v.
func other(v any) []any {
	switch v := v.(type) {
	case nil:
		return []any{int64(1), "x", true}
	case bool:
		return []any{!v, nil, int64(1)}
	case int64:
		return []any{v + 1, v - 1, nil, "1"}
	case string:
		list := []any{nil, "", v + "0", int64(1)}
		if v != "" {
			last := v[len(v)-1]
			for _, c := range []byte("012a=Z") {
				if c != last {
					list = append(list, v[:len(v)-1]+string(c))
				}
			}
		}
		return list
	case canon.Array:
		return []any{nil, canon.Array{}, append(slices.Clone(v), "x"), canon.Object{}}
	}
	return []any{nil, canon.Object{}, canon.Array{}}
}

func TestA7NoMemberOfAnyFileCanBeChanged(t *testing.T) {
	for _, k := range kinds() {
		b := k.file(t)
		v, err := canon.DecodeExact(b)
		if err != nil || !k.accepted(b) {
			t.Fatal(k.name, err)
		}
		members := 0
		try := func(path, what string) {
			t.Helper()
			members++
			changed, err := canon.Encode(v)
			if err != nil {
				return
			}
			if k.accepted(changed) {
				t.Errorf("%s%s: %s is accepted", k.name, path, what)
			}
		}
		walk(v, "", func(path string, holder canon.Object, key string) {
			was := holder[key]
			for _, o := range other(was) {
				holder[key] = o
				try(path, fmt.Sprintf("changed to %.30v", o))
			}
			delete(holder, key)
			try(path, "missing")
			holder[key] = was
			holder["unknown"] = "x"
			try(path, "beside an unknown member")
			delete(holder, "unknown")
		})
		if members < 20 {
			t.Errorf("%s: only %d changes were tried", k.name, members)
		}
	}
}

func TestA7NoByteOfAnyFileCanBeChanged(t *testing.T) {
	for _, k := range kinds() {
		b := k.file(t)
		step := 1
		if len(b) > 2000 {
			step = 3
		}
		for i := 0; i < len(b); i += step {
			bad := bytes.Clone(b)
			bad[i] ^= 1
			if k.accepted(bad) {
				t.Errorf("%s: byte %d does not matter", k.name, i)
			}
		}
		for _, bad := range [][]byte{nil, b[:len(b)-1], append(bytes.Clone(b), '\n'), append([]byte(" "), b...), append(bytes.Clone(b), b...), []byte("{}"), []byte("null"), []byte("[]")} {
			if _, err := k.parse(bad); ClassOf(err) != Structure {
				t.Errorf("%s: %.20q: %v", k.name, bad, err)
			}
		}
	}
}

func TestE3BytesThatAreNotCanonicalAreRefusedThoughValidlySigned(t *testing.T) {
	for _, k := range kinds() {
		b := k.file(t)
		i := bytes.IndexByte(b, ',')
		for name, bad := range map[string][]byte{
			"a blank":            slices.Concat(b[:i+1], []byte(" "), b[i+1:]),
			"a duplicate member": slices.Concat([]byte(`{"schema_version":1,`), b[1:]),
			"an escape":          bytes.Replace(b, []byte(`"s`), []byte(`"\u0073`), 1),
			"another order":      slices.Concat([]byte(`{"zz":`), b, []byte(`}`)),
		} {
			if _, err := k.parse(bad); ClassOf(err) != Structure {
				t.Errorf("%s: %s: %v", k.name, name, err)
			}
		}
	}
}

func TestA8EveryOtherVersionIsRefusedAsStructure(t *testing.T) {
	for _, k := range kinds() {
		v, err := canon.DecodeExact(k.file(t))
		if err != nil {
			t.Fatal(err)
		}
		o := v.(canon.Object)
		own := o["schema_version"]
		for n := range int64(6) {
			if n == own {
				continue
			}
			o["schema_version"] = n
			b, err := canon.Encode(o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.parse(b); ClassOf(err) != Structure {
				t.Errorf("%s: schema %d: %v", k.name, n, err)
			}
		}
	}
}

func TestA8OldAuthorizationsAndForeignFilesAreRefusedAsStructure(t *testing.T) {
	for _, in := range []string{
		`{"authority_id":"a","authorized_step_ids":["x"],"proof":"","schema_version":1}`,
		`{"target_identity_digest":"` + strings.Repeat("a", 64) + `"}`,
	} {
		if _, err := ParseAuthorization([]byte(in)); ClassOf(err) != Structure {
			t.Errorf("%s: %v", in, err)
		}
	}
	// No kind is taken for another.
	for _, from := range kinds() {
		for _, to := range kinds() {
			if from.name != to.name && to.accepted(from.file(t)) {
				t.Errorf("a %s is accepted as %s", from.name, to.name)
			}
		}
	}
}

func TestA7ATruncatedOrOverlongProofIsRefused(t *testing.T) {
	a := exampleAuthorization(t)
	if _, err := Sign(&a, keyA); err != nil {
		t.Fatal(err)
	}
	full := a.Proof
	for _, p := range [][]byte{nil, full[:63], append(bytes.Clone(full), 0), full[:32]} {
		a.Proof = p
		if _, err := Encode(&a); ClassOf(err) != Structure {
			t.Errorf("a proof of %d bytes: %v", len(p), err)
		}
		if Verify(&a, public(keyA)) == nil {
			t.Errorf("a proof of %d bytes verifies", len(p))
		}
	}
	// S + L is another encoding of the same signature, which must not be taken.
	a.Proof = bytes.Clone(full)
	order := []byte{0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 31: 0x10}
	carry := 0
	for i := range order {
		sum := int(a.Proof[32+i]) + int(order[i]) + carry
		a.Proof[32+i], carry = byte(sum), sum>>8
	}
	if Verify(&a, public(keyA)) == nil {
		t.Error("a second form of the signature verifies")
	}
}

func TestA3LifetimesAreBounded(t *testing.T) {
	for name, over := range map[string]func(time.Duration) Artifact{
		"authorization": func(d time.Duration) Artifact {
			a := exampleAuthorization(t)
			a.ExpiresAt = a.IssuedAt.Add(d)
			return &a
		},
		"confirmation": func(d time.Duration) Artifact {
			a := exampleConfirmation(t)
			a.ExpiresAt = a.IssuedAt.Add(d)
			return &a
		},
	} {
		for d, ok := range map[time.Duration]bool{
			0: false, -time.Second: false, time.Second: true, 30 * time.Minute: true, 30*time.Minute + time.Second: false, 500 * time.Millisecond: false,
		} {
			if _, err := Sign(over(d), keyA); (err == nil) != ok || err != nil && ClassOf(err) != Structure {
				t.Errorf("%s of %v: %v", name, d, err)
			}
		}
	}
	r := exampleRollback(t, canon.RoleRollback, "c", strings.Repeat("0", 32))
	r.ExpiresAt = r.IssuedAt.Add(15*time.Minute + time.Second)
	if _, err := Sign(r, keyC); ClassOf(err) != Structure {
		t.Errorf("a rollback of over 15 minutes: %v", err)
	}
}

func TestAFileOverItsBoundIsNotRead(t *testing.T) {
	for _, k := range kinds() {
		_, most := form(k.make(t))
		if _, err := k.parse(bytes.Repeat([]byte(" "), most+1)); ClassOf(err) != Structure || !strings.Contains(err.Error(), "larger") {
			t.Errorf("%s: %v", k.name, err)
		}
	}
	p := examplePreview()
	for i := range 2000 {
		p.Intent.Target.Address = append(p.Intent.Target.Address, fmt.Sprintf("2001:db8::%04x", i))
		p.Intent.Target.Detail = append(p.Intent.Target.Detail, strings.Repeat("d", 20))
	}
	if b, err := Sign(p, keyX); err != nil {
		t.Errorf("an alias of 2,002 entries: %v", err)
	} else if len(b) < 150_000 {
		t.Errorf("only %d bytes", len(b))
	}
	for i := range p.Intent.Target.Detail {
		p.Intent.Target.Detail[i] = strings.Repeat("d", 180)
	}
	if _, err := Sign(p, keyX); ClassOf(err) != Structure {
		t.Errorf("a preview of over 768 KiB: %v", err)
	}
}

func TestNoFaultQuotesTheFile(t *testing.T) {
	for _, k := range kinds() {
		v, err := canon.DecodeExact(k.file(t))
		if err != nil {
			t.Fatal(err)
		}
		walk(v, "", func(path string, holder canon.Object, key string) {
			was := holder[key]
			holder[key] = "zqxzqx"
			b, err := canon.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.parse(b); err != nil && strings.Contains(err.Error(), "zqx") {
				t.Errorf("%s%s: %v", k.name, path, err)
			}
			delete(holder, key)
			holder["zqxzqx"] = was
			if b, err = canon.Encode(v); err != nil {
				t.Fatal(err)
			}
			if _, err := k.parse(b); err == nil || strings.Contains(err.Error(), "zqx") {
				t.Errorf("%s%s: %v", k.name, path, err)
			}
			delete(holder, "zqxzqx")
			holder[key] = was
		})
	}
}

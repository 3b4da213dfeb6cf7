package artifact_test

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

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/canon"
)

// kind is one kind of file, for tests that hold all of them to the same rules.
type kind struct {
	name  string
	make  func(testing.TB) artifact.Artifact
	parse func([]byte) (artifact.Artifact, error)
	key   ed25519.PrivateKey
}

func as[T any, P interface {
	*T
	artifact.Artifact
}](parse func([]byte) (*T, error)) func([]byte) (artifact.Artifact, error) {
	return func(b []byte) (artifact.Artifact, error) {
		t, err := parse(b)
		if err != nil {
			return nil, err
		}
		return P(t), nil
	}
}

func kinds() []kind {
	nonce := strings.Repeat("9", 32)
	return []kind{
		{"preview", func(testing.TB) artifact.Artifact { return at.Preview() }, as(artifact.ParsePreview), at.KeyX()},
		{"authorization", func(t testing.TB) artifact.Artifact { return at.Authorization(t, at.Intent(), at.Plan()) }, as(artifact.ParseAuthorization), at.KeyA()},
		{"pending", func(t testing.TB) artifact.Artifact { return at.Pending(t, at.Intent(), at.Plan()) }, as(artifact.ParsePending), at.KeyX()},
		{"confirmation", func(t testing.TB) artifact.Artifact { return at.Confirmation(t) }, as(artifact.ParseConfirmation), at.KeyC()},
		{"observation", func(t testing.TB) artifact.Artifact { return at.Observation(t) }, as(artifact.ParseObservation), at.KeyX()},
		{"reconciliation", func(t testing.TB) artifact.Artifact { return at.Reconciliation(t, strings.Repeat("8", 64)) }, as(artifact.ParseReconciliation), at.KeyR()},
		{"rollback request", func(testing.TB) artifact.Artifact { return at.RollbackRequest(at.Intent(), at.Plan()) }, as(artifact.ParseRollbackRequest), at.KeyX()},
		{
			"rollback", func(t testing.TB) artifact.Artifact {
				return at.Rollback(t, canon.RoleRollback, at.ConfirmationID, nonce)
			},
			as(func(b []byte) (*artifact.Rollback, error) { return artifact.ParseRollback(b, canon.RoleRollback) }), at.KeyC(),
		},
		{"rollback authorization", func(t testing.TB) artifact.Artifact {
			return at.Rollback(t, canon.RoleRollbackAuthorization, at.AuthorizationID, nonce)
		}, as(func(b []byte) (*artifact.Rollback, error) {
			return artifact.ParseRollback(b, canon.RoleRollbackAuthorization)
		}), at.KeyA()},
		{"anchor status", func(testing.TB) artifact.Artifact { return at.AnchorStatus() }, as(artifact.ParseAnchorStatus), at.KeyX()},
		{"rebaseline", func(testing.TB) artifact.Artifact { return at.Rebaseline() }, as(artifact.ParseRebaseline), at.KeyR()},
		{"export head", func(testing.TB) artifact.Artifact { return at.ExportHead() }, as(artifact.ParseExportHead), at.KeyX()},
	}
}

func (k kind) file(t testing.TB) []byte {
	t.Helper()
	b, err := artifact.Sign(k.make(t), k.key)
	if err != nil {
		t.Fatalf("%s: %v", k.name, err)
	}
	return b
}

// accepted says whether a receiver would take the file.
func (k kind) accepted(b []byte) bool {
	a, err := k.parse(b)
	return err == nil && artifact.Verify(a, at.Public(k.key)) == nil
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
		if _, err := artifact.Sign(want, k.key); err != nil { // which keeps the signature in want
			t.Fatal(err)
		}
		if d := cmp.Diff(want, a); d != "" {
			t.Errorf("%s: %s", k.name, d)
		}
		if again, err := artifact.Encode(a); err != nil || !bytes.Equal(b, again) {
			t.Errorf("%s: encodes again to something else, %v", k.name, err)
		}
		if err := artifact.Verify(a, at.Public(k.key)); err != nil {
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
			if _, err := k.parse(bad); artifact.ClassOf(err) != artifact.Structure {
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
			if _, err := k.parse(bad); artifact.ClassOf(err) != artifact.Structure {
				t.Errorf("%s: %s: %v", k.name, name, err)
			}
		}
	}
}

func TestE3ASignatureHasOneForm(t *testing.T) {
	for _, k := range kinds() {
		b := k.file(t)
		key := []byte(`"proof":"`)
		if bytes.Contains(b, []byte(`"attestation":"`)) {
			key = []byte(`"attestation":"`)
		}
		// A decoder of base64 skips line ends; the file is canonical with one in it.
		bad := bytes.Replace(b, key, append(bytes.Clone(key), `\n`...), 1)
		if k.name == "pending" {
			bad = bytes.Replace(b, []byte(`"attestation":"`), []byte(`"attestation":"\n`), 1)
		}
		if _, err := k.parse(bad); artifact.ClassOf(err) != artifact.Structure {
			t.Errorf("%s: a signature with a line end: %v", k.name, err)
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
			if _, err := k.parse(b); artifact.ClassOf(err) != artifact.Structure {
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
		if _, err := artifact.ParseAuthorization([]byte(in)); artifact.ClassOf(err) != artifact.Structure {
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
	a := at.Authorization(t, at.Intent(), at.Plan())
	if _, err := artifact.Sign(a, at.KeyA()); err != nil {
		t.Fatal(err)
	}
	full := a.Proof
	for _, p := range [][]byte{nil, full[:63], append(bytes.Clone(full), 0), full[:32]} {
		a.Proof = p
		if _, err := artifact.Encode(a); artifact.ClassOf(err) != artifact.Structure {
			t.Errorf("a proof of %d bytes: %v", len(p), err)
		}
		if artifact.Verify(a, at.Public(at.KeyA())) == nil {
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
	if artifact.Verify(a, at.Public(at.KeyA())) == nil {
		t.Error("a second form of the signature verifies")
	}
}

func TestA3LifetimesAreBounded(t *testing.T) {
	for name, over := range map[string]func(time.Duration) artifact.Artifact{
		"authorization": func(d time.Duration) artifact.Artifact {
			a := at.Authorization(t, at.Intent(), at.Plan())
			a.ExpiresAt = a.IssuedAt.Add(d)
			return a
		},
		"confirmation": func(d time.Duration) artifact.Artifact {
			a := at.Confirmation(t)
			a.ExpiresAt = a.IssuedAt.Add(d)
			return a
		},
	} {
		for d, ok := range map[time.Duration]bool{
			0: false, -time.Second: false, time.Second: true, 30 * time.Minute: true, 30*time.Minute + time.Second: false, 500 * time.Millisecond: false,
		} {
			if _, err := artifact.Sign(over(d), at.KeyA()); (err == nil) != ok || err != nil && artifact.ClassOf(err) != artifact.Structure {
				t.Errorf("%s of %v: %v", name, d, err)
			}
		}
	}
	r := at.Rollback(t, canon.RoleRollback, "c", strings.Repeat("0", 32))
	r.ExpiresAt = r.IssuedAt.Add(15*time.Minute + time.Second)
	if _, err := artifact.Sign(r, at.KeyC()); artifact.ClassOf(err) != artifact.Structure {
		t.Errorf("a rollback of over 15 minutes: %v", err)
	}
}

func TestAFileOverItsBoundIsNotRead(t *testing.T) {
	for _, k := range kinds() {
		most := artifact.MaxSigned
		if _, ok := k.make(t).(artifact.Attested); ok {
			most = artifact.MaxAttested
		}
		if _, err := k.parse(bytes.Repeat([]byte(" "), most+1)); artifact.ClassOf(err) != artifact.Structure || !strings.Contains(err.Error(), "larger") {
			t.Errorf("%s: %v", k.name, err)
		}
	}
	p := at.Preview()
	for i := range 2000 {
		p.Intent.Target.Address = append(p.Intent.Target.Address, fmt.Sprintf("2001:db8::%04x", i))
		p.Intent.Target.Detail = append(p.Intent.Target.Detail, strings.Repeat("d", 20))
	}
	if b, err := artifact.Sign(p, at.KeyX()); err != nil {
		t.Errorf("an alias of 2,002 entries: %v", err)
	} else if len(b) < 150_000 {
		t.Errorf("only %d bytes", len(b))
	}
	for i := range p.Intent.Target.Detail {
		p.Intent.Target.Detail[i] = strings.Repeat("d", 180)
	}
	if _, err := artifact.Sign(p, at.KeyX()); artifact.ClassOf(err) != artifact.Structure {
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

func TestReview15TheDigestOfASignedFileCoversItsProof(t *testing.T) {
	seen := map[string]string{}
	for _, k := range kinds() {
		a, ok := k.make(t).(interface {
			artifact.Signed
			Digest() (string, error)
		})
		if !ok {
			continue
		}
		for _, key := range []ed25519.PrivateKey{at.KeyA(), at.KeyC()} {
			at.File(t, a, key)
			d, err := a.Digest()
			if was, twice := seen[d]; err != nil || twice {
				t.Errorf("%s has the digest of %s: %v", k.name, was, err)
			}
			seen[d] = k.name
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d digests of signed files", len(seen))
	}
}

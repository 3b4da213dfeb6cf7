package keyfile

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pfsensemcp/pkg/errs"
)

const sixtyFour = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

func TestANewRootKeyIsReadBackAndIsAnotherEachTime(t *testing.T) {
	b, err := NewRoot("k1", 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRoot(b)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"epoch":1,"key_id":"k1","material_hex":"` + hex.EncodeToString(r.Material) + "\"}\n"; string(b) != want {
		t.Errorf("the file is not the one line of its form")
	}
	if r.KeyID != "k1" || r.Epoch != 1 || len(r.Material) != KeyBytes {
		t.Errorf("read back as %s, %d, %d bytes", r.KeyID, r.Epoch, len(r.Material))
	}
	again, _ := NewRoot("k1", 1)
	if bytes.Equal(b, again) {
		t.Error("two new keys are the same")
	}
}

func TestANewAttestationKeySignsAfterItIsReadBack(t *testing.T) {
	b, err := NewAttestation("executor-1")
	if err != nil {
		t.Fatal(err)
	}
	a, err := ParseAttestation(b)
	if err != nil {
		t.Fatal(err)
	}
	if a.KeyID != "executor-1" {
		t.Errorf("key id %q", a.KeyID)
	}
	if want := `{"key_id":"executor-1","seed_hex":"` + hex.EncodeToString(a.Key.Seed()) + "\"}\n"; string(b) != want {
		t.Errorf("the file is not the one line of its form")
	}
	if sig := ed25519.Sign(a.Key, []byte("x")); !ed25519.Verify(a.Key.Public().(ed25519.PublicKey), []byte("x"), sig) {
		t.Error("the key does not sign")
	}
}

func TestANewCounterSecretIsReadBack(t *testing.T) {
	b, err := NewCounterAuth()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseCounterAuth(b)
	if err != nil || hex.EncodeToString(s)+"\n" != string(b) {
		t.Errorf("not read back: %v", err)
	}
}

func TestNoKeyIsMadeUnderAnIdOrEpochThatCouldNotBeRead(t *testing.T) {
	for _, id := range []string{"", "-a", "_a", ".a", ":a", "a b", "ä", "a/b", "a\n", strings.Repeat("a", 129)} {
		if _, err := NewRoot(id, 1); err == nil {
			t.Errorf("root key under %q", id)
		}
		if _, err := NewAttestation(id); err == nil {
			t.Errorf("attestation key under %q", id)
		}
	}
	for _, n := range []int64{-1, 0, MaxEpoch + 1} {
		if _, err := NewRoot("k1", n); err == nil {
			t.Errorf("root key of epoch %d", n)
		}
	}
	if _, err := NewRoot(strings.Repeat("a", 128), MaxEpoch); err != nil {
		t.Error("the bounds themselves are refused")
	}
}

// bad are files that are no key; none may be quoted by its refusal.
var bad = map[string]struct{ root, att string }{
	"an empty file":               {``, ``},
	"no JSON":                     {`marker`, `marker`},
	"a list":                      {`["marker"]`, `["marker"]`},
	"a text":                      {`"marker"`, `"marker"`},
	"no key id":                   {`{"epoch":1,"material_hex":"` + sixtyFour + `"}`, `{"seed_hex":"` + sixtyFour + `"}`},
	"no secret":                   {`{"epoch":1,"key_id":"marker"}`, `{"key_id":"marker"}`},
	"no epoch":                    {`{"key_id":"marker","material_hex":"` + sixtyFour + `"}`, `{}`},
	"TestK5 an extra key":         {`{"epoch":1,"key_id":"marker","material_hex":"` + sixtyFour + `","x":1}`, `{"key_id":"marker","seed_hex":"` + sixtyFour + `","x":1}`},
	"a key twice":                 {`{"epoch":1,"epoch":1,"key_id":"marker","material_hex":"` + sixtyFour + `"}`, `{"key_id":"marker","key_id":"marker","seed_hex":"` + sixtyFour + `"}`},
	"TestK5 trailing bytes":       {`{"epoch":1,"key_id":"marker","material_hex":"` + sixtyFour + `"} x`, `{"key_id":"marker","seed_hex":"` + sixtyFour + `"}{}`},
	"two lines":                   {"{\"epoch\":1,\n\"key_id\":\"marker\",\"material_hex\":\"" + sixtyFour + `"}`, "{\"key_id\":\"marker\",\"seed_hex\":\"" + sixtyFour + "\"}\n\n"},
	"an id with a blank":          {`{"epoch":1,"key_id":"marker x","material_hex":"` + sixtyFour + `"}`, `{"key_id":"marker x","seed_hex":"` + sixtyFour + `"}`},
	"an id that is a number":      {`{"epoch":1,"key_id":7,"material_hex":"` + sixtyFour + `"}`, `{"key_id":7,"seed_hex":"` + sixtyFour + `"}`},
	"upper-case digits":           {`{"epoch":1,"key_id":"k1","material_hex":"` + strings.ToUpper(sixtyFour) + `"}`, `{"key_id":"k1","seed_hex":"` + strings.ToUpper(sixtyFour) + `"}`},
	"a digit too few":             {`{"epoch":1,"key_id":"k1","material_hex":"` + sixtyFour[1:] + `"}`, `{"key_id":"k1","seed_hex":"` + sixtyFour[1:] + `"}`},
	"letters that are no digits":  {`{"epoch":1,"key_id":"k1","material_hex":"zz` + sixtyFour[2:] + `"}`, `{"key_id":"k1","seed_hex":"zz` + sixtyFour[2:] + `"}`},
	"a secret that is a list":     {`{"epoch":1,"key_id":"k1","material_hex":["` + sixtyFour + `"]}`, `{"key_id":"k1","seed_hex":null}`},
	"a placeholder":               {`{"epoch":1,"key_id":"k1","material_hex":"` + strings.Repeat("00", 32) + `"}`, `{"key_id":"k1","seed_hex":"` + strings.Repeat("11", 32) + `"}`},
	"epoch nought":                {`{"epoch":0,"key_id":"k1","material_hex":"` + sixtyFour + `"}`, ``},
	"an epoch that is a text":     {`{"epoch":"1","key_id":"k1","material_hex":"` + sixtyFour + `"}`, ``},
	"an epoch with a fraction":    {`{"epoch":1.0,"key_id":"k1","material_hex":"` + sixtyFour + `"}`, ``},
	"an epoch beyond 32 bits":     {`{"epoch":4294967296,"key_id":"k1","material_hex":"` + sixtyFour + `"}`, ``},
	"TestK5 more than 4096 bytes": {`{"epoch":1,"key_id":"k1",` + strings.Repeat(" ", MaxBytes) + `"material_hex":"` + sixtyFour + `"}`, strings.Repeat(" ", MaxBytes) + `{"key_id":"k1","seed_hex":"` + sixtyFour + `"}`},
	"text that is not UTF-8":      {"{\"epoch\":1,\"key_id\":\"\xff\",\"material_hex\":\"" + sixtyFour + `"}`, "{\"key_id\":\"\xff\",\"seed_hex\":\"" + sixtyFour + `"}`},
}

func TestK5AKeyFileIsTheFormAndNothingElse(t *testing.T) {
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			_, err := ParseRoot([]byte(c.root))
			refused(t, err, "marker", sixtyFour[:8])
			_, err = ParseAttestation([]byte(c.att))
			refused(t, err, "marker", sixtyFour[:8])
		})
	}
	for name, s := range map[string]string{
		"an empty file": "", "no line end": sixtyFour, "two line ends": sixtyFour + "\n\n", "a digit too few": sixtyFour[1:] + "\n",
		"upper case": strings.ToUpper(sixtyFour) + "\n", "a placeholder": strings.Repeat("00", 32) + "\n",
		"no digits": "marker" + sixtyFour[6:] + "\n", "a carriage return": sixtyFour[:63] + "\r\n",
	} {
		t.Run("counter, "+name, func(t *testing.T) {
			_, err := ParseCounterAuth([]byte(s))
			refused(t, err, "marker", sixtyFour[:8])
		})
	}
}

// refused asks for a coded error that quotes nothing, its causes included.
func refused(t *testing.T, err error, markers ...string) {
	t.Helper()
	if errs.CodeOf(err) != errs.Invalid || err == nil {
		t.Fatalf("not refused as invalid: %v", err)
	}
	p := errs.Public(err)
	if p.Class != "configuration" || p.Next == "" {
		t.Errorf("class %q, next %q", p.Class, p.Next)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, m := range markers {
			if strings.Contains(e.Error(), m) {
				t.Errorf("the refusal quotes the file")
			}
		}
	}
}

func TestK6NoKeyIsPrinted(t *testing.T) {
	b, _ := NewRoot("k1", 1)
	r, err := ParseRoot(b)
	if err != nil {
		t.Fatal(err)
	}
	b, _ = NewAttestation("x1")
	a, err := ParseAttestation(b)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "root", r, "attestation", a)
	all := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		all += fmt.Sprintf(verb, r) + fmt.Sprintf(verb, a) + fmt.Sprintf(verb, &r) + fmt.Sprintf(verb, struct{ R any }{a})
	}
	for _, v := range []any{r, a, map[string]any{"r": r, "a": &a}} {
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all += string(j)
	}
	for _, s := range [][]byte{r.Material, a.Key, a.Key.Seed()} {
		for _, form := range []string{string(s), hex.EncodeToString(s), strings.Trim(fmt.Sprint(s), "[]")} {
			if strings.Contains(strings.ToLower(all), form) {
				t.Fatal("a key was printed")
			}
		}
	}
}

func TestBlanksWithinTheLineAreFree(t *testing.T) {
	r, err := ParseRoot([]byte(`{ "key_id": "k1", "material_hex": "` + sixtyFour + `", "epoch": 3 }`))
	if err != nil || r.Epoch != 3 || hex.EncodeToString(r.Material) != sixtyFour {
		t.Errorf("refused: %v", err)
	}
}

func TestWhateverIdAndEpochAreTakenComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}`).Draw(t, "id")
		epoch := rapid.Int64Range(1, MaxEpoch).Draw(t, "epoch")
		b, err := NewRoot(id, epoch)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseRoot(b)
		if err != nil || r.KeyID != id || r.Epoch != epoch {
			t.Fatalf("came back as %q, %d: %v", r.KeyID, r.Epoch, err)
		}
	})
}

func FuzzKeyFiles(f *testing.F) {
	for _, c := range bad {
		f.Add([]byte(c.root))
		f.Add([]byte(c.att))
	}
	f.Add([]byte(`{"epoch":1,"key_id":"k1","material_hex":"` + sixtyFour + "\"}\n"))
	f.Add([]byte(`{"key_id":"k1","seed_hex":"` + sixtyFour + "\"}\n"))
	f.Add([]byte(sixtyFour + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, errRoot := ParseRoot(b)
		a, errAtt := ParseAttestation(b)
		s, errCounter := ParseCounterAuth(b)
		good := 0
		if errRoot == nil {
			good++
			if !token(r.KeyID) || r.Epoch < 1 || len(r.Material) != KeyBytes {
				t.Error("a root key out of bounds")
			}
		}
		if errAtt == nil {
			good++
			if !token(a.KeyID) || len(a.Key) != ed25519.PrivateKeySize {
				t.Error("an attestation key out of bounds")
			}
		}
		if errCounter == nil {
			good++
			if len(s) != KeyBytes {
				t.Error("a counter secret out of bounds")
			}
		}
		if good > 1 {
			t.Error("one file is read as two kinds")
		}
	})
}

func TestNoByteOfACounterSecretIsZero(t *testing.T) {
	for range 200 {
		b, err := NewCounterAuth()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseCounterAuth(b); err != nil || bytes.IndexByte(got, 0) >= 0 {
			t.Fatalf("%v", err)
		}
	}
	with := append(bytes.Repeat([]byte("ab"), 32), '\n')
	copy(with[20:], "00")
	if _, err := ParseCounterAuth(with); err == nil {
		t.Error("a secret with a zero byte was read")
	}
}

package signer

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/signer/internal/vault"
)

// rebaselineLife is what the tests know of the lifetime of a rebaseline.
const rebaselineLife = 15 * time.Minute

// fresh makes a machine without anything on it.
func fresh(t testing.TB) *machine {
	return &machine{t: t, dir: filepath.Join(t.TempDir(), "config", "mcpsign"), now: func() time.Time { return at.At("09:26:53") }}
}

// entry reads the line that keygen prints.
func entry(t *testing.T, shown string) authority.Key {
	t.Helper()
	for line := range strings.Lines(shown) {
		var e struct {
			ID  string `json:"authority_id"`
			Key string `json:"public_key_hex"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.ID != "" {
			pub, err := hex.DecodeString(e.Key)
			if err != nil {
				t.Fatal(err)
			}
			return authority.Key{ID: e.ID, Public: pub}
		}
	}
	t.Fatalf("no entry: %s", shown)
	return authority.Key{}
}

func TestKeygenMakesAKeyThatSigns(t *testing.T) {
	const secret = "several good words"
	for name, c := range map[string]struct {
		answers, use []answer
		args         []string
	}{
		"open":      {nil, sayYes, []string{"-no-passphrase"}},
		"protected": {[]answer{{"characters): ", secret + "\n"}, {"again: ", secret + "\n"}}, append(append([]answer{}, sayYes...), answer{"of the key: ", secret + "\n"}), nil},
	} {
		m := fresh(t)
		r := m.run(c.answers, append([]string{"keygen", "-owner", "authorization", "-id", "owner-authz-1"}, c.args...)...)
		if r.code != 0 || !strings.Contains(r.errs, `list "authorization"`) {
			t.Fatalf("%s: exit %d, %s\n%s", name, r.code, r.errs, r.shown)
		}
		key := entry(t, r.shown)
		path := filepath.Join(m.dir, "authorization.key")
		info, err := os.Stat(path)
		b, rerr := os.ReadFile(path)
		if err != nil || rerr != nil || info.Mode().Perm() != 0o600 || (len(b) == 32) != (name == "open") {
			t.Errorf("%s: %v %v, %d bytes", name, err, info, len(b))
		}
		if d, err := os.Stat(m.dir); err != nil || d.Mode().Perm() != 0o700 {
			t.Errorf("%s: the directory: %v %v", name, err, d)
		}
		x := pin()
		x.Authorities.Authorization = []authority.Key{key}
		m.put("pins.json", pinsFile(t, x))
		set, err := x.AuthoritySet()
		if err != nil {
			t.Fatal(err)
		}
		file := preview(t, func(p *artifact.Preview) { p.Plan.Executor.AuthoritySet = set })
		if name == "protected" {
			out := m.out()
			m.refuses("a wrong passphrase", m.run([]answer{{"anything else to stop: ", "yes\n"}, {"of the key: ", "several bad words\n"}}, "sign-authorization", "-i", m.file(file), "-o", out), out, "does not open", true)
			if m.logged() != "" {
				t.Error("what was not signed is in the log")
			}
		}
		out := m.out()
		signed := m.run(c.use, "sign-authorization", "-i", m.file(file), "-o", out)
		a, err := artifact.ParseAuthorization(m.signs(signed, out))
		if err != nil || x.Authorities.Verify(a) != nil {
			t.Errorf("%s: %v", name, err)
		}
		// K6: neither the passphrase nor the seed is anywhere but in the key file.
		seen := r.shown + r.errs + signed.shown + signed.errs + m.logged()
		for what, s := range map[string]string{"passphrase": secret, "seed": string(b), "seed in hex": hex.EncodeToString(b), "seed in base64": base64.StdEncoding.EncodeToString(b)} {
			if (name == "open" || what == "passphrase") && strings.Contains(seen, s) {
				t.Errorf("%s: the %s is shown", name, what)
			}
		}
		for _, other := range []string{"authorization", "confirmation"} {
			again := m.run(c.answers, append([]string{"keygen", "-owner", other, "-id", "x"}, c.args...)...)
			if now, err := os.ReadFile(path); again.code != 1 || !strings.Contains(again.errs, "holds an owner's key already") || err != nil || !bytes.Equal(now, b) {
				t.Errorf("%s: a second key for %s: exit %d, %s", name, other, again.code, again.errs)
			}
		}
	}
}

func TestK6NoKeyLeavesTheProcess(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	out := m.out()
	r := m.run(sayYes, "sign-authorization", "-i", m.file(preview(t)), "-o", out)
	all := r.shown + r.errs + m.logged() + string(m.signs(r, out))
	for _, secret := range [][]byte{at.KeyA().Seed(), at.KeyA()} {
		for what, s := range map[string]string{"raw": string(secret), "hex": hex.EncodeToString(secret), "base64": base64.StdEncoding.EncodeToString(secret)} {
			if strings.Contains(all, s) {
				t.Errorf("the key is shown %s", what)
			}
		}
	}
}

func TestWeakOrUnequalPassphrasesMakeNoKey(t *testing.T) {
	for name, answers := range map[string][]answer{
		"short": {{"characters): ", "short\n"}}, "empty": {{"characters): ", "\n"}}, "unequal": {{"characters): ", "several good words\n"}, {"again: ", "several good wordz\n"}},
		"long": {{"characters): ", strings.Repeat("x", vault.MaxPassphrase+1) + "\n"}},
	} {
		m := fresh(t)
		r := m.run(answers, "keygen", "-owner", "authorization", "-id", "x")
		if _, err := os.Stat(filepath.Join(m.dir, "authorization.key")); r.code != 1 || !os.IsNotExist(err) {
			t.Errorf("%s: exit %d, %s, %v", name, r.code, r.errs, err)
		}
	}
}

func TestTwoRunsDoNotSignAtOnce(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	d, err := vault.Open(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := d.OpenLog()
	if err != nil {
		t.Fatal(err)
	}
	out := m.out()
	m.refuses("a second run", m.run(sayYes, "sign-authorization", "-i", m.file(preview(t)), "-o", out), out, "another mcpsign is running", false)
	l.Close()
	out = m.out()
	m.signs(m.run(sayYes, "sign-authorization", "-i", m.file(preview(t)), "-o", out), out)
}

func TestTheResultIsWhatAnyReceiverVerifies(t *testing.T) {
	// The self-check is against the pins: with another key behind the pinned name it
	// would not leave the process. Here the key is right and the file good.
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	out := m.out()
	b := m.signs(m.run(sayYes, "sign-authorization", "-i", m.file(preview(t)), "-o", out), out)
	a, err := artifact.ParseAuthorization(b)
	if err != nil {
		t.Fatal(err)
	}
	if artifact.Verify(a, at.Public(at.KeyA())) != nil || artifact.Verify(a, ed25519.PublicKey(bytes.Repeat([]byte{1}, 32))) == nil {
		t.Error("the signature")
	}
}

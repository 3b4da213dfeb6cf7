package logging

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/json/jsontext"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestASecretIsFoundInEveryFormAndPlace(t *testing.T) {
	for _, secret := range []string{"0123456789abcdef0123456789abcdef", `q"u\o<t>&e/+%d=k ey`, "kurz"} {
		forms := map[string]string{
			"plain": secret, "hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
			"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "quoted": fmt.Sprintf("%q", secret),
			"percent": percentAll(secret), "percent small": lowerPercent(percentAll(secret)),
		}
		j, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		jj, err := json.Marshal(string(j))
		if err != nil {
			t.Fatal(err)
		}
		forms["json"], forms["json in json"] = string(j), string(jj)
		if len(secret) > 8 {
			for shift := range 4 {
				for tail := range 4 {
					data := []byte("user"[:shift] + secret + ":pw"[:tail])
					forms[fmt.Sprint("std", shift, tail)] = base64.StdEncoding.EncodeToString(data)
					forms[fmt.Sprint("raw", shift, tail)] = base64.RawStdEncoding.EncodeToString(data)
					forms[fmt.Sprint("url", shift, tail)] = base64.URLEncoding.EncodeToString(data)
					forms[fmt.Sprint("rawurl", shift, tail)] = base64.RawURLEncoding.EncodeToString(data)
				}
			}
		}
		for name, form := range forms {
			for _, text := range []bool{false, true} {
				l, out := journal(t, "")
				l.c.text = text
				l.Redact([]byte(secret))
				l.Logger.Info("m "+form, KeyDetail, "before "+form+" after", KeyPath, []string{form}, form, "x")
				got := out.String()
				if strings.Count(got, redacted) < 4 || strings.Contains(got, form) || !strings.Contains(got, "before ") || !strings.Contains(got, " after") {
					t.Errorf("%s of %s: %s", name, secret, got)
				}
				// Nor may the digits at the ends of a base64 form stay.
				if strings.HasPrefix(name, "std") && strings.Contains(got, "before "+form[:1]) {
					t.Errorf("%s of %s leaves its ends: %s", name, secret, got)
				}
				if !text && !jsontext.Value(strings.TrimPrefix(strings.TrimSpace(got), "<6>")).IsValid() {
					t.Errorf("%s of %s broke the line: %s", name, secret, got)
				}
			}
		}
	}
}

func TestASecretIsTakenOutBeforeAValueIsCut(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	l, out := journal(t, "")
	l.Redact([]byte(secret))
	l.Logger.Info("m", KeyDetail, strings.Repeat("x", maxValue-16)+secret)
	if strings.Contains(out.String(), "0123") {
		t.Error("half of the secret is in the log")
	}
}

func TestTheWholeLineIsScrubbedNotOnlyItsTexts(t *testing.T) {
	for _, text := range []bool{false, true} {
		l, out := journal(t, "")
		l.c.text = text
		l.Redact([]byte("1234567890123"))
		l.Logger.Info("m", KeyCount, 1234567890123)
		if strings.Contains(out.String(), "123456") {
			t.Errorf("a number is a secret too: %s", out)
		}
		if !text {
			only(t, out) // and the line is JSON still
		}
	}
}

func TestHalfAnEscapeIsNotLeftBehind(t *testing.T) {
	for secret, value := range map[string]string{
		"n1234567": "\n1234567 é", "00e9abcd": "\u00e9abcd é", "u0000abc": "\u0000abc", "abc\\": "abc\" é", "abc\\u00": "abc\u00e9",
	} {
		l, out := journal(t, "")
		l.Redact([]byte(secret))
		l.Logger.Info("kept", KeyDetail, value)
		if _, line := only(t, out); line["msg"] != "kept" {
			t.Errorf("%q cost the whole line: %v", secret, line)
		}
	}
}

func TestAnOldSecretStaysRegistered(t *testing.T) {
	l, out := journal(t, "")
	old := []byte("old-key-of-the-appliance")
	l.Redact(old)
	clear(old) // the caller's buffer is zeroed after use
	l.Redact([]byte("new-key-of-the-appliance"))
	l.Redact(nil)
	l.Logger.Info("m", KeyDetail, "old-key-of-the-appliance new-key-of-the-appliance")
	if _, line := only(t, out); line["detail"] != redacted+" "+redacted {
		t.Error(line)
	}
}

func TestOverlappingSecretsLeaveNothingOfEither(t *testing.T) {
	var r redactor
	r.add([]byte("abcabcab"))
	r.add([]byte("cabXYZ"))
	if got := string(r.scrub([]byte("-abcabcabcab-abcabcabXYZ-"))); got != "-"+redacted+"-"+redacted+"-" {
		t.Error(got)
	}
}

func TestNoSecretBreaksALine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.OneOf(
			rapid.StringMatching(`[ -~]{1,12}`), rapid.StringMatching(`[\\nu0"a:,{}1f]{1,8}`), rapid.String(),
		).Draw(rt, "secret")
		around := rapid.SampledFrom([]string{"", "\n", "\\", "\"", "é", "\u202e", "\\n", "x", "\U0001f600"})
		value := around.Draw(rt, "a") + around.Draw(rt, "b") + secret + around.Draw(rt, "c") + secret
		l, out := journal(t, "")
		l.Redact([]byte(secret))
		l.Logger.Info("m", KeyDetail, value)
		line := strings.TrimPrefix(out.String(), "<6>")
		if strings.Count(line, "\n") != 1 || !jsontext.Value(line).IsValid() {
			rt.Fatalf("%q", line)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			rt.Fatal(err)
		}
		if d, _ := m["detail"].(string); secret != "" && len(secret) > 3 && strings.Contains(d, secret) && !strings.Contains(redacted, secret) {
			rt.Fatalf("%q holds %q", d, secret)
		}
	})
}

func FuzzScrub(f *testing.F) {
	f.Add([]byte("key-1234"), []byte(`{"a":"key-1234\n\u00e9"}`))
	f.Fuzz(func(t *testing.T, secret, text []byte) {
		var r redactor
		r.add(secret)
		got := r.scrub(text)
		if len(secret) > len(redacted) && bytes.Contains(got, secret) {
			t.Fatalf("%q in %q", secret, got)
		}
	})
}

func BenchmarkLine(b *testing.B) {
	l, err := New(Options{Daemon: "mcpd", Format: "journal", Stderr: discard{}})
	if err != nil {
		b.Fatal(err)
	}
	l.Redact([]byte("0123456789abcdef0123456789abcdef"))
	for b.Loop() {
		Audit(b.Context(), l.Logger, Record{Tool: "pfsense_get_system_status", Identity: "office", Outcome: "succeeded", RequestID: "r1"})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

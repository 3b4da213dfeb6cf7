package change_test

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
)

func TestReview19InvisibleTextIsRefused(t *testing.T) {
	for name, s := range map[string]string{
		"arabic letter mark": "a\u061cb", "soft hyphen": "a\u00adb", "vowel separator": "a\u180eb", "word joiner": "a\u2060b", "function application": "a\u2061b",
		"deprecated format": "a\u206ab", "tags": "a\U000e0041\U000e0042b", "cancel tag": "a\U000e007fb", "variation selector": "a\ufe0fb", "supplementary selector": "a\U000e0100b",
		"hangul filler": "a\u3164b", "choseong filler": "a\u115fb", "jungseong filler": "a\u1160b", "halfwidth filler": "a\uffa0b", "braille blank": "a\u2800b",
		"annotation": "a\ufff9b\ufffa", "private use": "a\ue000b", "plane 16": "a\U0010fffdb", "unassigned": "a\u0378b", "zero width": "a\u200bb", "bom": "a\ufeffb",
		"bidi override": "a\u202eb", "isolate": "a\u2066b", "line separator": "a\u2028b", "paragraph separator": "a\u2029b", "no-break space": "a\u00a0b", "ideographic space": "a\u3000b",
		"tab": "a\tb", "line end": "a\nb", "delete": "a\x7fb", "C1": "a\u0085b", "khmer": "a\u17b4b", "joiner": "a\u034fb", "three marks": "x\u0301\u0302\u0303",
		"noncharacter": "a\ufdd0b",
	} {
		if _, err := change.Description(s, change.Printable); artifact.ClassOf(err) != artifact.Structure {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range []string{"", "DMZ web servers", "Büro 東京 ✓ №5 — “x”", "x\u0301\u0302", "हिन्दी", "עברית", "a  b", " a "} {
		if got, err := change.Description(s, change.Printable); err != nil || got != norm.NFC.String(s) {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	// One Unicode version: what is normalised and what is classed.
	if norm.Version != unicode.Version {
		t.Errorf("normalisation is of Unicode %s, classes of %s", norm.Version, unicode.Version)
	}
}

func TestG8DescriptionsThatTheApplianceWouldNotKeepAreRefused(t *testing.T) {
	for name, s := range map[string]string{
		"NUL": "a\x00", "SOH": "a\x01", "backspace": "a\b", "vertical tab": "a\v", "form feed": "a\f", "escape": "a\x1b", "unit separator": "a\x1f",
		"FFFE": "a\ufffe", "FFFF": "a\uffff", "surrogate": "a\xed\xa0\x80", "bad UTF-8": "a\xff",
		"blank": " ", "tabs": "\t\t", "line end": "\n", "trailing line end": "x\n", "leading line end": "\nx", "trailing return": "x\r",
		"1025 bytes": strings.Repeat("a", 1025), "513 umlauts": strings.Repeat("ä", 513), "grows over the bound": strings.Repeat("\u0958", 171),
		"a megabyte": strings.Repeat("a", 1<<20),
	} {
		for _, policy := range []change.Charset{change.Printable, change.Stored} {
			if _, err := change.Description(s, policy); artifact.ClassOf(err) != artifact.Structure {
				t.Errorf("%s under %s: %v", name, policy, err)
			}
		}
	}
	for _, s := range []string{"a\tb", "a\nb", "a\u202eb", "a\u0085b", strings.Repeat("ä", 512)} {
		if _, err := change.Description(s, change.Stored); err != nil {
			t.Errorf("%q is stored as sent: %v", s, err)
		}
	}
	if got, err := change.Description("e\u0301", change.Printable); err != nil || got != "\u00e9" {
		t.Errorf("not normalised: %q, %v", got, err)
	}
	// 1,024 bytes count after normalisation.
	if _, err := change.Description(strings.Repeat("e\u0301", 512), change.Printable); err != nil {
		t.Errorf("1,536 bytes that become 1,024: %v", err)
	}
	// The files hold the wider rule: the policy is the gate's.
	in := at.Intent()
	for text, ok := range map[string]bool{"a\u202eb": true, "": true, "a\x00b": false, "x\n": false, "e\u0301": false, strings.Repeat("a", 1025): false} {
		in.NewDescription = text
		if _, err := in.Digests(0); (err == nil) != ok {
			t.Errorf("%.20q in a file: %v", text, err)
		}
	}
}

func TestNamesIdentifiersAndDigestsHaveOneForm(t *testing.T) {
	for s, ok := range map[string]bool{
		"web_servers": true, "a": true, "0": true, strings.Repeat("a", 32): true, "": false, "_a": false, strings.Repeat("a", 33): false, "a-b": false, "a b": false, "ä": false, "a\n": false,
	} {
		if change.AliasName(s) != ok {
			t.Errorf("alias name %q: %v", s, !ok)
		}
	}
	for s, ok := range map[string]bool{"a": true, "A0_.:-": true, "": false, "-a": false, "a/b": false, "a b": false, "ä": false, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false} {
		if change.Token(s) != ok {
			t.Errorf("identifier %q: %v", s, !ok)
		}
	}
	if !change.Hex64(strings.Repeat("0f", 32)) || change.Hex64(strings.Repeat("0F", 32)) || change.Hex64(strings.Repeat("0", 63)) || change.Hex64("") {
		t.Error("the form of a digest")
	}
	seen := map[string]bool{}
	for range 100 {
		id := change.NewID(change.PrefixContract)
		if !strings.HasPrefix(id, "wc-") || len(id) != 35 || seen[id] {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
}

func TestX12AnAliasWhoseDetailIsLongerIsRefused(t *testing.T) {
	state := func(change func(*change.AliasState)) *change.AliasState {
		s := at.Intent().Target
		change(&s)
		return &s
	}
	for name, c := range map[string]struct {
		s  *change.AliasState
		ok bool
	}{
		"equal":   {state(func(*change.AliasState) {}), true},
		"shorter": {state(func(s *change.AliasState) { s.Detail = s.Detail[:1] }), true},
		"none":    {state(func(s *change.AliasState) { s.Detail, s.Address = nil, nil }), true},
		"longer":  {state(func(s *change.AliasState) { s.Detail = append(s.Detail, "c") }), false},
		"type":    {state(func(s *change.AliasState) { s.Type = "urltable" }), false},
		"name":    {state(func(s *change.AliasState) { s.Name = "a b" }), false},
		"text":    {state(func(s *change.AliasState) { s.Descr = "e\u0301" }), false},
		"address": {state(func(s *change.AliasState) { s.Address = []string{"\xff", "x"} }), false},
		"entries": {state(func(s *change.AliasState) { s.Address = make([]string, 4097) }), false},
	} {
		if _, err := c.s.Fingerprint(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, err1 := state(func(s *change.AliasState) { s.Address[0], s.Address[1] = s.Address[1], s.Address[0] }).Fingerprint()
	b, err2 := state(func(*change.AliasState) {}).Fingerprint()
	if err1 != nil || err2 != nil || a == b {
		t.Errorf("the order of members does not count: %v %v", err1, err2)
	}
}

func TestTheApplianceBindingHasOneFormOfAnAddress(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://fw.example": true, "https://192.0.2.1:8443": true, "https://[2001:db8::1]": true, "http://fw.example": false, "https://FW.example": false, "https://fw.example/": false,
		"https://fw.example?x": false, "https://u@fw.example": false, "https://fw.example:443": false, "https://": false, "https://fw.example.": false, "": false,
	} {
		a := at.Appliance()
		a.BaseURL = url
		if _, err := a.Digest(); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	for name, change := range map[string]func(*change.Appliance){
		"insecure": func(a *change.Appliance) { a.TLSMode = "insecure" }, "auto without CA": func(a *change.Appliance) { a.CADigest = "" },
		"no identity": func(a *change.Appliance) { a.Identity = "" }, "other kind": func(a *change.Appliance) { a.IdentityKind = "serial" },
	} {
		a := at.Appliance()
		change(&a)
		if _, err := a.Digest(); artifact.ClassOf(err) != artifact.Structure {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := at.Appliance()
	a.TLSMode, a.CADigest = "strict", ""
	if _, err := a.Digest(); err != nil {
		t.Errorf("strict: %v", err)
	}
}

func TestTheCollectionCountsEveryOtherAliasOnce(t *testing.T) {
	fp := strings.Repeat("a", 64)
	one, err1 := change.CollectionDigest([]change.Neighbour{{3, "a", fp}, {1, "b", fp}})
	two, err2 := change.CollectionDigest([]change.Neighbour{{1, "b", fp}, {3, "a", fp}})
	if err1 != nil || err2 != nil || one != two {
		t.Errorf("the order of reading counts: %v %v", err1, err2)
	}
	for _, bad := range [][]change.Neighbour{{{1, "a", fp}, {1, "b", fp}}, {{-1, "a", fp}}, {{1, "a", "x"}}} {
		if _, err := change.CollectionDigest(bad); artifact.ClassOf(err) != artifact.Structure {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if d, err := change.RawFingerprint(canon.Object{"id": int64(1), "name": "x"}); err != nil || !change.Hex64(d) {
		t.Errorf("a row of another shape: %s, %v", d, err)
	}
}

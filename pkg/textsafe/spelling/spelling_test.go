package spelling

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pfsensemcp/pkg/textsafe"
)

func TestReview19EveryCharacterOutsideASCIIIsShownAgainWithItsScript(t *testing.T) {
	for in, want := range map[string][]string{
		"DMZ web servers": {`"DMZ web servers"`},
		`a"b\c`:           {`"a\"b\\c"`},
		"Büro ß":          {`"Büro ß"`, `"B\u{fc}ro \u{df}"`, `  Latin: \u{fc} \u{df}`},
		"pаypal":          {`"pаypal"`, `"p\u{430}ypal"`, `  Cyrillic: \u{430}`, "WARNING: one word mixes scripts: Cyrillic, Latin"},
		"abc где":         {`"abc где"`, `"abc \u{433}\u{434}\u{435}"`, `  Cyrillic: \u{433} \u{434} \u{435}`},
		"№5 東":            {`"№5 東"`, `"\u{2116}5 \u{6771}"`, `  Common: \u{2116}`, `  Han: \u{6771}`},
		"x\u0301":         {"\"x\u0301\"", `"x\u{301}"`, `  Inherited: \u{301}`},
		"a\u202eb":        {`"a\u{202e}b"`, `"a\u{202e}b"`, `  Common: \u{202e}`, "WARNING: it holds characters that are not printable; they stand above as \\u{...}"},
		"a\U000e0041b":    {`"a\u{e0041}b"`, `"a\u{e0041}b"`, `  Common: \u{e0041}`, "WARNING: it holds characters that are not printable; they stand above as \\u{...}"},
		"":                {`""`},
	} {
		got := Lines(in)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q:\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestG8ControlCharactersAreShownAsEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[2Jb": `"a\u{1b}[2Jb"`, "a\nb": `"a\nb"`, "a\rb": `"a\rb"`, "a\tb": `"a\tb"`, "a\u0085b": `"a\u{85}b"`, "a\x7f": `"a\u{7f}"`, "\\u{41}": `"\\u{41}"`, "a\xffb": `"a\x{ff}b"`,
	} {
		if got := Quoted(in); got != want {
			t.Errorf("%q: got %s want %s", in, got, want)
		}
		if !strings.Contains(strings.Join(Lines(in), "\n"), "WARNING") && in != "\\u{41}" && in != "a\xffb" {
			t.Errorf("%q: no warning", in)
		}
	}
}

func TestMixedLooksAtEachWordAlone(t *testing.T) {
	for in, want := range map[string]string{
		"web серверы": "", "webсервер": "Cyrillic Latin", "сервер_web": "Cyrillic Latin", "αβγ": "", "Aαб": "Cyrillic Greek Latin", "web-сервер": "", "x1а": "Cyrillic Latin", "12 №": "", "e\u0301": "",
	} {
		if got := strings.Join(Mixed(in), " "); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestNothingShownIsObeyedOrHiddenAndNothingIsLost(t *testing.T) {
	runes := []rune{'a', 'ü', '"', '\\', '\n', 0x1b, 0x301, 0x202e, 0xe0041, 0x2800, 0xfffd, 'а'}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.OneOf(rapid.StringOf(rapid.SampledFrom(runes)), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(rt, "s")
		for _, line := range Lines(s) {
			if line == "" {
				rt.Fatal("an empty line")
			}
			for _, r := range line {
				if !textsafe.Printable(r) {
					rt.Fatalf("%q shows %U", s, r)
				}
			}
			if strings.Contains(line, textsafe.CutMark) && !strings.Contains(s, "{cut}") {
				rt.Fatalf("%q is cut: %s", s, line)
			}
		}
		e := Escapes(s)
		for i := range len(e) {
			if e[i] >= utf8.RuneSelf || e[i] < ' ' {
				rt.Fatalf("%q: the escapes are not ASCII: %q", s, e)
			}
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add("pаypal\u202e\x1b[0m")
	f.Fuzz(func(t *testing.T, s string) {
		for _, line := range Lines(s) {
			if strings.ContainsFunc(line, func(r rune) bool { return !textsafe.Printable(r) }) {
				t.Fatalf("%q shows %q", s, line)
			}
		}
	})
}

func TestNoTextReachesTheEndOfALineByItself(t *testing.T) {
	forged := "x" + strings.Repeat(" ", 64) + `Text then     "harmless"`
	for _, s := range []string{forged, strings.Repeat("東", 200), strings.Repeat("\u202e", 100), strings.Repeat("a", 1024), strings.Repeat(`"\`, 100)} {
		lines := Lines(s)
		whole := ""
		for i, l := range lines {
			if strings.HasPrefix(l, "WARNING") {
				continue
			}
			columns := 0
			for _, r := range l {
				columns += min(utf8.RuneLen(r), 2)
			}
			if columns > width {
				t.Errorf("%.20q: line %d has %d columns: %s", s, i, columns, l)
			}
			if strings.Count(l, "{") != strings.Count(l, "}") && !strings.Contains(s, "{") {
				t.Errorf("%.20q: an escape is broken: %s", s, l)
			}
			whole += strings.TrimPrefix(l, "> ")
		}
		if !strings.HasPrefix(whole, Quoted(s)) {
			t.Errorf("%.20q: the lines do not join to the text: %q", s, whole)
		}
	}
}

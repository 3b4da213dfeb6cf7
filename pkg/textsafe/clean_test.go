package textsafe

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTheTablesAreOfOneUnicodeVersion(t *testing.T) {
	// Another toolchain brings another version. Whether the class is still
	// complete then has to be looked at: see DerivedCoreProperties.txt.
	if unicode.Version != "17.0.0" {
		t.Fatalf("the tables are of Unicode %s; check Default_Ignorable_Code_Point of that version, then change this test", unicode.Version)
	}
}

func TestExactlyTheClassIsPrintable(t *testing.T) {
	// Default_Ignorable_Code_Point of Unicode 17, less what is Cf.
	ignorable := &unicode.RangeTable{
		R16: []unicode.Range16{
			{0x034f, 0x034f, 1},
			{0x115f, 0x1160, 1},
			{0x17b4, 0x17b5, 1},
			{0x180b, 0x180f, 1},
			{0x2065, 0x2065, 1},
			{0x3164, 0x3164, 1},
			{0xfe00, 0xfe0f, 1},
			{0xffa0, 0xffa0, 1},
			{0xfff0, 0xfff8, 1},
		},
		R32: []unicode.Range32{{0xe0000, 0xe0fff, 1}},
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := r == ' ' || unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S)
		if r == 0x2800 || unicode.Is(ignorable, r) || unicode.In(r, unicode.C, unicode.Z) && r != ' ' {
			want = false
		}
		if Printable(r) != want {
			t.Errorf("%U: %v", r, !want)
		}
	}
}

func TestWhatIsNotPrintableIsEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"LAN to WAN":                       "LAN to WAN",
		"Büro 東京 ✓ é e\u0301":              "Büro 東京 ✓ é e\u0301",
		"a\nb\r\tc":                        `a\nb\r\tc`,
		`C:\new \u{202e}`:                  `C:\\new \\u{202e}`,
		"\x00\x1b[2J\x7f":                  `\u{00}\u{1b}[2J\u{7f}`,
		"a\u202eb\u2066c":                  `a\u{202e}b\u{2066}c`,
		"a\u200bb\u00adc":                  `a\u{200b}b\u{ad}c`,
		"\u061c\u180e\u2060\ufeff":         `\u{61c}\u{180e}\u{2060}\u{feff}`,
		"\U000e0041\U000e0100":             `\u{e0041}\u{e0100}`,
		"\ufe0f\u034f\u3164\u115f":         `\u{fe0f}\u{34f}\u{3164}\u{115f}`,
		"\u2800\ue000\u0378":               `\u{2800}\u{e000}\u{378}`,
		"\u2028\u2029\u00a0\u3000":         `\u{2028}\u{2029}\u{a0}\u{3000}`,
		"\ufffe\U0010ffff\ufff9":           `\u{fffe}\u{10ffff}\u{fff9}`,
		"a\xffb\xed\xa0\x80":               `a\x{ff}b\x{ed}\x{a0}\x{80}`,
		"\u00ff\ufffd":                     "\u00ff\ufffd",
		"e\u0301\u0302\u0303\u0304f\u0301": "e\u0301\u0302" + `\u{303}\u{304}` + "f\u0301",
	} {
		if got := Clean(in, 1000); got != want {
			t.Errorf("%q:\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestALongTextIsCutWithAMarkThatNobodyCanForge(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"abcdefghij", 10, "abcdefghij"},
		{"abcdefghijk", 10, "abcd" + CutMark},
		{"üüüüüü", 11, "üü" + CutMark},
		{"abcdefgh\u202e", 12, "abcdef" + CutMark},
		{"abcdefgh\u202e", 16, `abcdefgh\u{202e}`},
		{"\u202e\u202e\u202e", 16, `\u{202e}` + CutMark},
		{"a\u202ebbbbbbbbbbbbb", 16, `a\u{202e}b` + CutMark},
		{"abc", 2, CutMark},
		{"abc", 0, CutMark},
		{"abc", -1, CutMark},
		{"", 0, ""},
		{CutMark, 100, `\` + CutMark},
		{strings.Repeat("a", 1<<20), 20, strings.Repeat("a", 14) + CutMark},
	} {
		if got := Clean(c.in, c.max); got != c.want {
			t.Errorf("%.20q, %d: got %q want %q", c.in, c.max, got, c.want)
		}
	}
}

// reverse undoes Clean, which shows that no two texts give the same result.
func reverse(t interface{ Fatalf(string, ...any) }, s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		i++
		switch s[i] {
		case '\\':
			b = append(b, '\\')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u', 'x':
			end := i + strings.IndexByte(s[i:], '}')
			n, err := strconv.ParseUint(s[i+2:end], 16, 32)
			if err != nil {
				t.Fatalf("%q: %v", s, err)
			}
			if s[i] == 'x' {
				b = append(b, byte(n))
			} else {
				b = utf8.AppendRune(b, rune(n))
			}
			i = end
		default:
			t.Fatalf("%q: escape %q", s, s[i])
		}
	}
	return string(b)
}

// checkClean holds one result to all that Clean promises.
func checkClean(t interface{ Fatalf(string, ...any) }, s string, max int) {
	got := Clean(s, max)
	if len(got) > max && got != CutMark && !(max < 0 && got == "") {
		t.Fatalf("%q: %d bytes, at most %d", s, len(got), max)
	}
	marks := 0
	for _, r := range got {
		if !Printable(r) {
			t.Fatalf("%q: %U in %q", s, r, got)
		}
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if marks > maxMarks {
			t.Fatalf("%q: too many marks in %q", s, got)
		}
	}
	if !utf8.ValidString(got) {
		t.Fatalf("%q: not UTF-8", s)
	}
	if rest, ok := strings.CutSuffix(got, CutMark); ok {
		if !strings.HasPrefix(s, reverse(t, rest)) {
			t.Fatalf("%q is cut to %q", s, got)
		}
	} else if reverse(t, got) != s {
		t.Fatalf("%q became %q, which reads %q", s, got, reverse(t, got))
	}
}

func TestEveryResultReadsBackToItsText(t *testing.T) {
	runes := []rune{'a', 'ü', '\\', 'u', '{', '}', 'n', '\n', 0x301, 0x20dd, 0x202e, 0xe0041, 0xfe0f, '\u2800', 0xfffd}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.OneOf(rapid.StringOf(rapid.SampledFrom(runes)), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(rt, "s")
		checkClean(rt, s, rapid.IntRange(-1, 64).Draw(rt, "max"))
	})
}

func TestPlainTextIsNotCopied(t *testing.T) {
	for _, s := range []string{"LAN net to any, default rule (v4)", "Büro → Gäste"} {
		if n := testing.AllocsPerRun(100, func() { _ = Clean(s, 256) }); n != 0 {
			t.Errorf("%q: %v allocations", s, n)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\u202e\\u{1}\xff", 20)
	f.Add(strings.Repeat("e\u0301\u0301\u0301", 9), 40)
	f.Fuzz(func(t *testing.T, s string, max int) { checkClean(t, s, max) })
}

func BenchmarkClean(b *testing.B) {
	for name, s := range map[string]string{
		"ascii40": "Allow LAN to any rule, added by admin   "[:40], "utf8-40": "Büro: Gäste dürfen nur nach außen, sonst", "bidi": "Allow \u202eLAN to any rule, added by admin",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = Clean(s, 4096)
			}
		})
	}
}

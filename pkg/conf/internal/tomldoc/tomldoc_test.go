package tomldoc

import (
	"strings"
	"testing"
)

func TestEveryKeyHasItsLine(t *testing.T) {
	d, _, rule := Parse([]byte("a = 1\n\n[t.u]\nx.y = {z = 2,\n w = 3}\n'q.r' = [\n1,\n2]\n[[v]]\nk = 1\n"))
	if rule != "" {
		t.Fatal(rule)
	}
	for _, c := range []struct {
		prefix, key string
		line        int
	}{
		{"", "a", 1},
		{"", "t", 3},
		{"t.", "u", 3},
		{"t.u.", "x", 4},
		{"t.u.x.", "y", 4},
		{"t.u.x.y.", "z", 4},
		{"t.u.x.y.", "w", 5},
		{"t.u.", "q.r", 6},
		{"t.u.q.", "r", 0},
		{"", "v", 9},
		{"v.", "k", 10},
		{"", "none", 0},
	} {
		if got := d.Line(c.prefix, c.key); got != c.line {
			t.Errorf("%s%s: line %d, want %d", c.prefix, c.key, got, c.line)
		}
	}
}

func TestASyntaxErrorQuotesNothing(t *testing.T) {
	for doc, want := range map[string]string{
		"a = 1 hush":          "is not valid TOML: expected newline",
		"a = \"hush":          "is not valid TOML: ",
		"a = hush":            "is not valid TOML",
		"\n\na = 1\na = hush": "is not valid TOML",
		"a = \"\\q hush\"":    "is not valid TOML: invalid escape character",
		"a = 1\na = 2":        "is not valid TOML",
		"a = 0xhush":          "is not valid TOML",
		"[hush":               "is not valid TOML: expected",
	} {
		_, line, rule := Parse([]byte(doc))
		if !strings.HasPrefix(rule, want) || strings.Contains(rule, "hush") || strings.Contains(rule, "U+") || line < 1 {
			t.Errorf("%q: line %d: %q", doc, line, rule)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a.b = {c = [1, {d = 'x'}]}\n[[t]]\n[t.u]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > MaxFile {
			return
		}
		d, _, rule := Parse(data)
		if (d == nil) != (rule != "") {
			t.Fatalf("%q: %v %q", data, d, rule)
		}
		if d == nil {
			return
		}
		for key := range d.Root {
			if d.Line("", key) == 0 {
				t.Fatalf("%q: no line for %q", data, key)
			}
		}
	})
}

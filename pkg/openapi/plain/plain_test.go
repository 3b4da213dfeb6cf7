package plain

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"pfsensemcp/pkg/textsafe"
)

func TestMarkupBecomesLines(t *testing.T) {
	cases := map[string]struct {
		in   string
		want []string
	}{
		"breaks and headings end lines":           {"<h3>Details:</h3>**a**: b<br>c<br/>d", []string{"Details:", "**a**: b", "c", "d"}},
		"line ends of the source are blanks":      {"one\n      two<br>", []string{"one two"}},
		"what is no markup stays":                 {"5 < 6 & 7 > 3", []string{"5 < 6 & 7 > 3"}},
		"entities become characters":              {"a &amp;&lt;b&gt; c", []string{"a &<b> c"}},
		"links keep their words alone":            {`see <a href="https://evil.example/x">the site</a> now`, []string{"see the site now"}},
		"a script is dropped with its text":       {"a<script>if (1 < 2) { alert('x') }</script>b", []string{"ab"}},
		"so is one that is never closed":          {"a<script>rest", []string{"a"}},
		"so is one that pretends to be closed":    {"a<script/>rest", []string{"a"}},
		"and a style, however it is written":      {"a<STYLE type=x>b{}</StYle >c", []string{"ac"}},
		"and nested drawings":                     {"a<svg><svg>x</svg>y</svg>b", []string{"ab"}},
		"comments are dropped":                    {"a<!-- hidden <b>x</b> -->b", []string{"ab"}},
		"a tag inside an attribute is none":       {`a<img alt="><script>x</script>">b`, []string{"ab"}},
		"what cannot be seen is dropped":          {"a\u202eb\u200bc\u00add\U000e0041", []string{"abcd"}},
		"zero bytes are blanks, not line ends":    {"a\x00b", []string{"a b"}},
		"bytes that are no text are dropped":      {"a\xff<b>\xfeb</b>", []string{"ab"}},
		"breaks beside other tags end lines":      {"a<br>see <a href='x'>this</a><br>b", []string{"a", "see this", "b"}},
		"a break inside a script breaks nothing":  {"a<script>x<br>y</script>b", []string{"ab"}},
		"empty lines are no lines":                {"<br> <br>\n<br>", nil},
		"a bare angle bracket at the end is text": {"a <", []string{"a <"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Lines(c.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOnlyLinksToTheDocumentationStay(t *testing.T) {
	const gone = Removed
	for in, want := range map[string]string{
		"see https://pfrest.org/LIMITATIONS_AND_FAQS/ for more": "see https://pfrest.org/LIMITATIONS_AND_FAQS/ for more",
		"see https://pfrest.org.":                               "see https://pfrest.org.",
		"see http://pfrest.org/x":                               "see " + gone,
		"see https://www.pfrest.org/x":                          "see " + gone,
		"see https://pfrest.org:444/x":                          "see " + gone,
		"see https://pfrest.org@evil.example/x":                 "see " + gone,
		"see https://pfrest.org.evil.example/x":                 "see " + gone,
		"see HTTPS://PFREST.ORG/x":                              "see " + gone,
		"see https://pfrest.org/r?to=https://evil.example":      "see " + gone,
		"[words](https://evil.example/a) after":                 "[words](" + gone + ") after",
		"xhttps://pfrest.org/":                                  gone,
		"ftp://[::1]/a b":                                       gone + "[::1]/a b",
		"as //evil.example/x does":                              "as " + gone + " does",
		"www.evil.example, or wwww.x, or a www. b":              gone + " or wwww.x, or a www. b",
		"a // comment stays":                                    "a // comment stays",
		"curl https://fw.example/api -k":                        "curl " + gone + " -k",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestAPageIsItsMainRegion(t *testing.T) {
	const head = `<!doctype html><html><head><title>T</title><style>x{}</style></head><body><nav>menu</nav>`
	cases := map[string]struct{ in, want string }{
		"the region with the role":        {head + `<div role="main"><div><p>one</p></div>two<nav>here</nav></div><footer>foot</footer></body>`, "one two"},
		"the main element":                {head + `<main>one<script>bad()</script> two</main>after`, "one two"},
		"the region ends at the footer":   {head + `<div role="main">one<footer>two</footer>three</div>`, "one"},
		"the whole page without a region": {head + `<p>one</p><script>bad()</script><p>two</p>`, "one two"},
		"or with an empty one":            {head + `<main> <script>bad()</script></main><p>two</p>`, "two"},
		"only the first region counts":    {`<main>one</main><main>two</main>`, "one"},
		"cells are apart":                 {`<main><table><tr><td>a</td><td>b</td></tr><tr><th>c</th></tr></table></main>`, "a b c"},
		"the second role is not read":     {`<div role="x" role="main">one</div>two`, "one two"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Page([]byte(c.in))
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
	for _, long := range []string{"<main>" + strings.Repeat("word ", maxText/5+1), "<p>" + strings.Repeat("a<b>b</b>", maxText/2)} {
		if got, err := Page([]byte(long)); err == nil {
			t.Errorf("a page of %d bytes of text was read", len(got))
		}
	}
	if got, err := Page([]byte("<main>one<!--" + strings.Repeat("x", maxToken+1) + "-->")); err == nil {
		t.Errorf("a page with an endless comment gave %q", got)
	}
}

func TestTextIsCutBetweenWords(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
		left int
	}{
		{"short", 10, "short", 0},
		{"exactly ten", 11, "exactly ten", 0},
		{"one two three", 10, "one two", 6},
		{"one two three", 7, "one two", 6},
		{"abcdefghijklmnop", 10, "abcdefghij", 6},
		{"äöüäöüäöü", 9, "äöüäöüäöü", 0},
		{"äöüäöüäöüä", 9, "äöüäöüäöü", 1},
		{"a bcdefghijklmnop", 10, "a bcdefghi", 7},
	} {
		got, left := Cut(c.in, c.max)
		if got != c.want || left != c.left {
			t.Errorf("Cut(%q, %d) = %q, %d; want %q, %d", c.in, c.max, got, left, c.want, c.left)
		}
	}
}

// FuzzMarkup holds the rules of the result against any input: printable text of
// one line, no address elsewhere, and nothing from inside a script or style.
func FuzzMarkup(f *testing.F) {
	for _, s := range []string{
		"<h3>a</h3>b<br>c", "<script>x</script>", "<style/>a", "a<!--b-->", "&lt;script&gt;", "<main role=main>a</main>",
		"https://pfrest.org/ //x www.a", "<a href='x'>\xff</a>", "<svg><svg></svg>", "<plaintext>a", "</br>", "<<br>script>a</script>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		check := func(got string) {
			t.Helper()
			for _, r := range got {
				if !textsafe.Printable(r) {
					t.Fatalf("%q is not printable", got)
				}
			}
			if links(got) != got {
				t.Fatalf("%q holds an address", got)
			}
			if Line(got) != got {
				t.Fatalf("%q is not clean", got)
			}
			if cut, left := Cut(got, 40); utf8.RuneCountInString(cut) > 40 || (left == 0) != (cut == got) {
				t.Fatalf("Cut(%q) = %q, %d", got, cut, left)
			}
		}
		for _, line := range Lines(s) {
			check(line)
		}
		if got, err := Page([]byte(s)); err == nil {
			check(got)
		}
		// Text behind an opened script or style is never shown. The mark is
		// written so that no other part of s can spell it.
		const mark = "zqjxkvzqjxkv"
		if strings.Contains(s, mark) || !opensScript(s) {
			return
		}
		if got := Text(s + mark); strings.Contains(got, mark) {
			t.Fatalf("text of a script is shown: %q", got)
		}
	})
}

// opensScript says by the library's own parser whether s ends inside a script or
// a style.
func opensScript(s string) bool {
	for _, tag := range breaks {
		s = strings.ReplaceAll(s, tag, "\n")
	}
	open := ""
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return open == "script" || open == "style"
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			open = string(name)
		case html.EndTagToken:
			open = ""
		}
	}
}

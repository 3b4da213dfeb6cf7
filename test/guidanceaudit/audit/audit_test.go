package audit

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"pfsensemcp/pkg/guidance"
)

const address = prefix + "firewall/aliases.html"

// page returns a made-up page: a frame that names other pages, and its own body.
func page(body string) string {
	return `<!doctype html><html><head><title>Frame</title><style>p { color: hidden phrase }</style></head><body>
<nav>Some Other Page</nav><div class="body"><div role="main" class="document"><h1>` + body + `</h1>
<div><p>Inside &gt; <b>deeper</b></p></div><script>var x = "script phrase";</script><p>after the inner one</p></div></div>
<footer>Footer Phrase</footer></body></html>`
}

func reference(phrase string) Reference {
	words, hash := guidance.Anchor(phrase)
	return Reference{ID: "one", URL: address, Words: words, Hash: hash}
}

func verdict(t *testing.T, ref Reference, source Source) Verdict {
	t.Helper()
	f := Run(t.Context(), []Reference{ref}, source)
	if len(f) != 1 || f[0].ID != "one" || (f[0].Verdict == Fine) != (f[0].Detail == "") {
		t.Fatalf("%v", f)
	}
	return f[0].Verdict
}

func saved(text string) Source {
	return Saved(fstest.MapFS{"firewall/aliases.html": {Data: []byte(text)}})
}

func TestAPhraseIsLookedForInThePagesOwnContent(t *testing.T) {
	for phrase, want := range map[string]Verdict{
		"Firewall > Aliases":   Fine,
		"firewall aliases":     Fine,
		"Inside deeper":        Fine, // across tags
		"after the inner one":  Fine, // behind an inner element of the same name
		"Some Other Page":      Lost, // the frame
		"Footer Phrase":        Lost,
		"script phrase":        Lost,
		"hidden phrase":        Lost,
		"Firewall the Aliases": Lost,
	} {
		if got := verdict(t, reference(phrase), saved(page("Firewall \u2192 Aliases"))); got != want {
			t.Errorf("%q is %s, want %s", phrase, got, want)
		}
	}
	if got := verdict(t, reference("main element"), saved("<p>x y</p><main>the main element</main>")); got != Fine {
		t.Errorf("a main element: %s", got)
	}
	if got := verdict(t, reference("no frame"), saved("<p>a page with no frame</p>")); got != Fine {
		t.Errorf("a page without one: %s", got)
	}
}

func TestASavedPageThatIsMissingIsGone(t *testing.T) {
	if got := verdict(t, reference("a b"), Saved(fstest.MapFS{})); got != Gone {
		t.Errorf("%s", got)
	}
	ref := reference("a b")
	ref.URL = "https://example.org/../../etc/passwd"
	if got := verdict(t, ref, saved("a b")); got != Unknown {
		t.Errorf("an address elsewhere: %s", got)
	}
	if got := verdict(t, reference("a b"), saved("a b"+strings.Repeat(" ", maxPage))); got != Unknown {
		t.Errorf("a page that is too large: %s", got)
	}
}

func TestAPageThatSeveralShareIsReadOnce(t *testing.T) {
	reads := 0
	one, two := reference("a b"), reference("c d")
	two.ID = "another"
	f := Run(t.Context(), []Reference{one, two}, func(context.Context, string) ([]byte, error) {
		reads++
		return []byte("a b"), nil
	})
	if reads != 1 || f[0].ID != "another" || f[0].Verdict != Lost || f[1].Verdict != Fine {
		t.Errorf("%d reads, %v", reads, f)
	}
}

// site is a transport that answers by itself: nothing here reaches a network.
type site func(*http.Request) (*http.Response, error)

func (s site) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func answer(r *http.Request, status int, header http.Header, body io.Reader) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(body), Request: r, ProtoMajor: 1, ProtoMinor: 1}
}

func TestFetchedPages(t *testing.T) {
	redirect := func(to string) site {
		return func(r *http.Request) (*http.Response, error) {
			if r.URL.String() != address {
				return answer(r, 200, nil, strings.NewReader("a b")), nil
			}
			return answer(r, 301, http.Header{"Location": {to}}, strings.NewReader("")), nil
		}
	}
	status := func(code int, body string) site {
		return func(r *http.Request) (*http.Response, error) {
			return answer(r, code, nil, strings.NewReader(body)), nil
		}
	}
	for name, c := range map[string]struct {
		site site
		want Verdict
	}{
		"the page":             {status(200, "a b"), Fine},
		"the page anew":        {status(200, "b a"), Lost},
		"404":                  {status(404, "a b"), Gone},
		"410":                  {status(410, ""), Gone},
		"500":                  {status(500, "a b"), Unknown},
		"moved on the site":    {redirect(prefix + "firewall/other.html"), Moved},
		"moved to another one": {redirect("https://example.org/a.html"), Moved},
		"moved to http":        {redirect("http://docs.netgate.com/pfsense/en/latest/firewall/aliases.html"), Moved},
		"in a circle": {func(r *http.Request) (*http.Response, error) {
			return answer(r, 302, http.Header{"Location": {address}}, strings.NewReader("")), nil
		}, Moved},
		"no network":         {func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }, Unknown},
		"a page without end": {func(r *http.Request) (*http.Response, error) { return answer(r, 200, nil, endless{}), nil }, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := verdict(t, reference("a b"), Fetched(c.site)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return copy(b, bytes.Repeat([]byte{'a'}, len(b))), nil }

// A small answer that unfolds without end is held to the same bound: it is the
// text that is counted. The client's own transport unfolds it in the same place.
func TestTheBoundCountsTheUnfoldedPage(t *testing.T) {
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	if _, err := z.Write(bytes.Repeat([]byte{'a'}, 8<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	got := verdict(t, reference("a b"), Fetched(site(func(r *http.Request) (*http.Response, error) {
		body, err := gzip.NewReader(&small)
		if err != nil {
			return nil, err
		}
		return answer(r, 200, nil, body), nil
	})))
	if got != Unknown {
		t.Errorf("%s", got)
	}
}

func TestOnlyTheDocumentationIsAskedFor(t *testing.T) {
	ref := reference("a b")
	for _, url := range []string{"http://docs.netgate.com/pfsense/en/latest/a.html", "https://example.org/", "file:///etc/passwd"} {
		ref.URL = url
		got := verdict(t, ref, Fetched(site(func(r *http.Request) (*http.Response, error) {
			t.Errorf("asked for %s", r.URL)
			return nil, errors.New("no")
		})))
		if got != Unknown {
			t.Errorf("%s: %s", url, got)
		}
	}
}

func TestEveryReferenceOfTheRegistryIsChecked(t *testing.T) {
	r, err := guidance.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	refs := References(r)
	if len(refs) < 100 {
		t.Errorf("%d references", len(refs))
	}
	for _, f := range Run(t.Context(), refs, Saved(fstest.MapFS{})) {
		if f.Verdict != Gone {
			t.Errorf("%s is %s without a single page", f.ID, f.Verdict)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(page("x"))
	f.Add("<main><main></main>a</main>b")
	f.Fuzz(func(t *testing.T, s string) {
		if got := Text([]byte(s)); len(got) > 4*len(s)+16 {
			t.Errorf("%d bytes of %d", len(got), len(s))
		}
	})
}

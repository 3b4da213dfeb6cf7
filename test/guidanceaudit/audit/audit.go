// Package audit owns the maintainers' check of the guidance registry against the
// pages it refers to: is each page still there, under its own address, and does
// it still hold the phrase that a reviewer found on it.
//
// It runs at a desk and nowhere else: no daemon links it, and no test gives it a
// network. What it reads is outside text: of a page it keeps nothing but the
// verdict, and it never follows a page anywhere.
package audit

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"pfsensemcp/pkg/guidance"
)

// maxPage bounds a page after decompression, in bytes; maxWait bounds the whole
// of one request.
const (
	maxPage      = 2 << 20
	maxWait      = 10 * time.Second
	maxRedirects = 3
)

// Verdict says what became of a page.
type Verdict string

// The verdicts.
const (
	Fine    Verdict = "fine"
	Gone    Verdict = "gone"    // there is no such page, or nobody saved it
	Moved   Verdict = "moved"   // it leads to another address
	Lost    Verdict = "lost"    // the page is there without its phrase
	Unknown Verdict = "unknown" // it could not be read: no statement about the page
)

// Finding is the verdict on one reference.
type Finding struct {
	ID      string // of the entry or overlay
	URL     string
	Verdict Verdict
	Detail  string // in our words
}

// Reference is what an entry or overlay says of its page.
type Reference struct {
	ID, URL, Hash string
	Words         int
}

// Source gives the page of an address, at most maxPage bytes of it.
type Source func(ctx context.Context, url string) (page []byte, err error)

// The errors of a Source; any other is a page that could not be read.
var (
	errGone  = errors.New("there is no such page")
	errMoved = errors.New("it leads to another address")
)

// References lists what the registry refers to, in the order of ids.
func References(r *guidance.Registry) []Reference {
	var out []Reference
	for _, e := range r.Entries() {
		out = append(out, Reference{ID: e.SourceID, URL: e.URL, Words: e.AnchorWords, Hash: e.AnchorHash})
	}
	for _, o := range r.Overlays() {
		out = append(out, Reference{ID: o.ID, URL: o.URL, Words: o.AnchorWords, Hash: o.AnchorHash})
	}
	return out
}

// Run checks every reference; a page that several share is read once.
func Run(ctx context.Context, refs []Reference, source Source) []Finding {
	type page struct {
		words []string
		err   error
	}
	pages := map[string]page{}
	out := make([]Finding, 0, len(refs))
	for _, ref := range refs {
		p, ok := pages[ref.URL]
		if !ok {
			var text []byte
			if text, p.err = source(ctx, ref.URL); p.err == nil {
				p.words = guidance.Words(Text(text))
			}
			pages[ref.URL] = p
		}
		f := Finding{ID: ref.ID, URL: ref.URL, Verdict: Fine}
		switch {
		case errors.Is(p.err, errGone):
			f.Verdict, f.Detail = Gone, errGone.Error()
		case errors.Is(p.err, errMoved):
			f.Verdict, f.Detail = Moved, errMoved.Error()
		case p.err != nil:
			f.Verdict, f.Detail = Unknown, "it could not be read"
		case !guidance.Holds(p.words, ref.Words, ref.Hash):
			f.Verdict, f.Detail = Lost, "its phrase is not on the page"
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Finding) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// prefix is what all addresses of the registry begin with.
const prefix = "https://docs.netgate.com/pfsense/en/latest/"

// Saved reads pages from a directory that mirrors the site below
// /pfsense/en/latest/, as a browser or mirroring program saved it.
func Saved(dir fs.FS) Source {
	return func(_ context.Context, url string) ([]byte, error) {
		name, ok := strings.CutPrefix(url, prefix)
		if !ok || !fs.ValidPath(name) {
			return nil, errors.New("not below the documentation")
		}
		f, err := dir.Open(path.Clean(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errGone
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return bounded(f)
	}
}

// Fetched reads pages with an HTTP client whose transport is given: https, the
// exact address, three redirects to see whether it moved.
func Fetched(transport http.RoundTripper) Source {
	client := &http.Client{
		Transport: transport,
		Timeout:   maxWait,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || !strings.HasPrefix(r.URL.String(), prefix) {
				return errMoved
			}
			return nil
		},
	}
	return func(ctx context.Context, url string) ([]byte, error) {
		if !strings.HasPrefix(url, prefix) {
			return nil, errors.New("not below the documentation")
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "text/html")
		req.Header.Set("User-Agent", "pfsense-mcp guidance audit")
		res, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		switch {
		case res.StatusCode == http.StatusNotFound, res.StatusCode == http.StatusGone:
			return nil, errGone
		case res.StatusCode != http.StatusOK:
			return nil, errors.New("another status")
		case res.Request.URL.String() != url:
			return nil, errMoved
		}
		return bounded(res.Body)
	}
}

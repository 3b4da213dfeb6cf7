package site

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of one fetch.
const (
	maxBody    = 8 << 20          // bytes, after decompression
	maxHeaders = 32 << 10         // bytes of an answer's head
	inAll      = 30 * time.Second // names, connections, redirect and body together
	chunk      = 256 << 10
)

// userAgent is the same for everybody who runs this program.
const userAgent = "pfsense-mcp-docfetchd"

// Page is a page that was read to its end.
type Page struct {
	Chunks  [][]byte      // the page in pieces: it is never copied to make room for more
	Size    int           // bytes
	Hash    string        // SHA-256 of the page, hex
	Fresh   time.Duration // how long the site says it is fresh, within our bounds
	NoStore bool          // the site says that it must not be kept
}

// Reader reads the page from its beginning.
func (p *Page) Reader() io.Reader {
	var rs []io.Reader
	for _, c := range p.Chunks {
		rs = append(rs, bytes.NewReader(c))
	}
	return io.MultiReader(rs...)
}

// Bytes returns the page in one piece.
func (p *Page) Bytes() []byte { return bytes.Join(p.Chunks, nil) }

// Fetcher fetches the sources. It is safe for concurrent use.
type Fetcher struct {
	transport *http.Transport
	inAll     time.Duration
}

// Place is where the site is. The zero value, which is all that a shipped program
// can make, is the internet.
type Place struct{ dialer }

// New returns a fetcher.
func New(p Place) *Fetcher {
	d := &p.dialer
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &Fetcher{inAll: inAll + d.patience, transport: &http.Transport{
		// Proxy stays nil: what the environment says of one is not asked.
		DialTLSContext: d.dial,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, NotAllowed // a connection without TLS is never made
		},
		// One connection a fetch: nothing is left open between two, and
		// net/http has none on which it would send a request again.
		DisableKeepAlives:      true,
		ResponseHeaderTimeout:  readTimeout + d.patience,
		MaxResponseHeaderBytes: maxHeaders,
		Protocols:              &protocols,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
	}}
}

// Fetch reads one source whole, within 30 s in all, or fails with a Failure.
func (f *Fetcher) Fetch(ctx context.Context, s Source) (*Page, error) {
	ctx, cancel := context.WithTimeout(ctx, f.inAll)
	defer cancel()
	at := s.URL
	for redirects := 0; ; redirects++ {
		resp, err := f.ask(ctx, at, s.Kind)
		if err != nil {
			return nil, FailureOf(err)
		}
		got, next, err := f.answer(resp, s.Kind)
		if err := resp.Body.Close(); err != nil && got != nil {
			return nil, Network
		}
		switch {
		case err != nil:
			return nil, FailureOf(err)
		case got != nil:
			return got, nil
		case redirects > 0:
			return nil, TooManyRedirects
		}
		at = next
	}
}

// ask sends the one request there is.
func (f *Fetcher) ask(ctx context.Context, at string, k Kind) (*http.Response, error) {
	u, err := url.Parse(at)
	if err != nil || !known(at) || u.Scheme != "https" || u.Host != Host {
		return nil, NotAllowed
	}
	req := &http.Request{
		Method: http.MethodGet, URL: u, Host: Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Accept": {k.accept()}, "User-Agent": {userAgent}},
	}
	return f.transport.RoundTrip(req.WithContext(ctx))
}

// answer reads an answer: the whole page, or where it redirects to.
func (f *Fetcher) answer(resp *http.Response, k Kind) (*Page, string, error) {
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		to, err := resp.Location()
		if err != nil || !known(to.String()) {
			return nil, "", NotAllowed
		}
		return nil, to.String(), nil
	default:
		return nil, "", Status
	}
	// What net/http has unpacked itself has no Content-Encoding any more; any
	// other coding was not asked for.
	if resp.Header.Get("Content-Encoding") != "" || !isType(resp.Header.Get("Content-Type"), k.accept()) {
		return nil, "", WrongType
	}
	if resp.ContentLength > maxBody {
		return nil, "", TooLarge
	}
	p, err := read(resp.Body)
	if err != nil {
		return nil, "", err
	}
	if !isUTF8(p.Chunks) {
		return nil, "", WrongType
	}
	p.Fresh, p.NoStore = lifetime(resp.Header.Values("Cache-Control"))
	return p, "", nil
}

// isType says whether a content type is the wanted one, in UTF-8.
func isType(header, want string) bool {
	typ, params, err := mime.ParseMediaType(header)
	charset, given := params["charset"]
	return err == nil && typ == want && (!given || strings.EqualFold(charset, "utf-8"))
}

// read reads a page to its end.
func read(r io.Reader) (*Page, error) {
	p, sum := &Page{}, sha256.New()
	for {
		c, n := make([]byte, chunk), 0
		var err error
		for n < len(c) && err == nil {
			var m int
			m, err = r.Read(c[n:])
			n += m
		}
		sum.Write(c[:n]) //nolint:errcheck // a hash never fails
		p.Chunks, p.Size = append(p.Chunks, c[:n]), p.Size+n
		switch {
		case p.Size > maxBody:
			return nil, TooLarge
		case err == io.EOF:
			p.Hash = hex.EncodeToString(sum.Sum(nil))
			return p, nil
		case err != nil:
			return nil, Network
		}
	}
}

// isUTF8 says whether pieces of a text are UTF-8; a character may lie over two.
func isUTF8(chunks [][]byte) bool {
	var carry []byte
	for i, c := range chunks {
		if len(carry) > 0 {
			c = append(carry, c...)
		}
		cut := len(c)
		if i < len(chunks)-1 {
			cut = complete(c)
		}
		if !utf8.Valid(c[:cut]) {
			return false
		}
		carry = bytes.Clone(c[cut:])
	}
	return true
}

// complete returns the length of c without a character at its end that goes on
// in the next piece.
func complete(c []byte) int {
	for i := 1; i <= min(len(c), utf8.UTFMax-1); i++ {
		if utf8.RuneStart(c[len(c)-i]) {
			if !utf8.FullRune(c[len(c)-i:]) {
				return len(c) - i
			}
			break
		}
	}
	return len(c)
}

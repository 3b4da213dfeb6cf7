package site

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/test/fakedocs"
)

// at returns a fetcher for a pretend site: the same addresses, another end of the
// connection.
func at(t testing.TB, s *fakedocs.Server) *Fetcher {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CAPEM()) {
		t.Fatal("no authority")
	}
	addr, err := netip.ParseAddrPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return New(Place{dialer{at: addr, roots: roots, patience: 2 * time.Minute}})
}

func topic(t testing.TB, name string) Source {
	t.Helper()
	s, ok := Topic(name)
	if !ok {
		t.Fatal(name)
	}
	return s
}

func TestAPageIsReadWhole(t *testing.T) {
	doc := fakedocs.Encode(fakedocs.Small())
	s := fakedocs.Start(t, fakedocs.Options{Document: doc})
	f := at(t, s)
	p, err := f.Fetch(t.Context(), TheDocument())
	if err != nil || !bytes.Equal(p.Bytes(), doc) || len(p.Hash) != 64 || p.Size != len(doc) || p.Fresh != 600*time.Second || p.NoStore {
		t.Fatalf("%v, %+v", err, p)
	}
	p, err = f.Fetch(t.Context(), topic(t, TopicObjectIDs))
	if err != nil || !bytes.Equal(p.Bytes(), fakedocs.Page(TopicObjectIDs)) {
		t.Fatal(err)
	}
}

func TestARequestTellsTheSiteNothing(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "socks5://127.0.0.1:1")
	s := fakedocs.Start(t, fakedocs.Options{})
	f := at(t, s)
	for range 2 { // the second time the site has set a cookie and an ETag
		for _, src := range sources {
			if _, err := f.Fetch(t.Context(), src); err != nil {
				t.Fatalf("%s: %v", src.URL, err)
			}
		}
	}
	if n := s.Connections(); n != len(s.Requests()) {
		t.Errorf("%d requests on %d connections: something was left open between two", len(s.Requests()), n)
	}
	for i, r := range s.Requests() {
		want := http.Header{"Accept": {"text/html"}, "User-Agent": {userAgent}, "Accept-Encoding": {"gzip"}, "Connection": {"close"}}
		if r.Path == fakedocs.DocumentPath {
			want.Set("Accept", "application/json")
		}
		if d := cmp.Diff(want, r.Header); d != "" || r.Method != "GET" || r.Host != Host || r.TLS < tls.VersionTLS12 {
			t.Errorf("%d: %s %s %s, TLS %x: %s", i, r.Method, r.Host, r.Path, r.TLS, d)
		}
		if !known("https://" + Host + r.Path) {
			t.Errorf("%s was asked for", r.Path)
		}
	}
}

func TestEveryWayToMisbehaveIsOneOfTheFailures(t *testing.T) {
	page := fakedocs.Page(TopicQueries)
	const path = "/" + TopicQueries + "/"
	cases := map[string]struct {
		h    http.HandlerFunc
		want Failure
	}{
		"a redirect out of the host":           {fakedocs.Redirect("https://evil.example/"), NotAllowed},
		"a redirect to www":                    {fakedocs.Redirect("https://www.pfrest.org" + path), NotAllowed},
		"a redirect to plain HTTP":             {fakedocs.Redirect("http://pfrest.org" + path), NotAllowed},
		"a redirect to another port":           {fakedocs.Redirect("https://pfrest.org:8443" + path), NotAllowed},
		"a redirect elsewhere on the host":     {fakedocs.Redirect("/elsewhere/"), NotAllowed},
		"a redirect with a query":              {fakedocs.Redirect(path + "?a=b"), NotAllowed},
		"a redirect with user information":     {fakedocs.Redirect("https://me@pfrest.org" + path), NotAllowed},
		"a redirect to nowhere":                {fakedocs.Redirect("https://[::1"), NotAllowed},
		"a redirect without an end":            {fakedocs.Redirect(path), TooManyRedirects},
		"a redirect to a page of another type": {fakedocs.Redirect(fakedocs.DocumentPath), WrongType},
		"a body that announces too much":       {plainly("text/html", page, "Content-Length", "8388609"), TooLarge},
		"a body without an end":                {fakedocs.Huge("text/html"), TooLarge},
		"a body that unpacks without an end":   {fakedocs.Bomb("text/html", 64<<20), TooLarge},
		"a body one byte too large":            {fakedocs.Typed("text/html", bytes.Repeat([]byte("x"), maxBody+1)), TooLarge},
		"JSON for a page":                      {fakedocs.JSON(page), WrongType},
		"no type":                              {fakedocs.Typed("", page), WrongType},
		"another character set":                {fakedocs.Typed("text/html; charset=iso-8859-1", page), WrongType},
		"bytes that are no UTF-8":              {fakedocs.HTML([]byte("<p>\xff</p>")), WrongType},
		"another coding":                       {plainly("text/html", page, "Content-Encoding", "br"), WrongType},
		"not found":                            {fakedocs.Status(404), Status},
		"an error of the site":                 {fakedocs.Status(503), Status},
		"part of it":                           {fakedocs.Status(206), Status},
		"nothing new":                          {fakedocs.Status(304), Status},
		"an unknown redirect":                  {fakedocs.Status(300), Status},
		"a connection that breaks":             {fakedocs.Cut("text/html", page), Network},
		"compressed bytes that are none":       {plainly("text/html", page, "Content-Encoding", "gzip"), Network},
		"a head without an end":                {fakedocs.With(fakedocs.HTML(page), "X-Long", strings.Repeat("x", maxHeaders)), Network},
	}
	s := fakedocs.Start(t, fakedocs.Options{})
	f := at(t, s)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s.Set(path, c.h)
			p, err := f.Fetch(t.Context(), topic(t, TopicQueries))
			if err != c.want || p != nil {
				t.Errorf("got %v and %v, want %v", p, err, c.want)
			}
		})
	}
	t.Run("one redirect among the pages is followed", func(t *testing.T) {
		s.Set(path, fakedocs.Redirect("/"+TopicControl+"/"))
		if p, err := f.Fetch(t.Context(), topic(t, TopicQueries)); err != nil || !bytes.Equal(p.Bytes(), fakedocs.Page(TopicControl)) {
			t.Error(err)
		}
	})
	t.Run("a second redirect is not", func(t *testing.T) {
		s.Set(path, fakedocs.Redirect("/"+TopicControl+"/"))
		s.Set("/"+TopicControl+"/", fakedocs.Redirect("/"+TopicHATEOAS+"/"))
		before := len(s.Requests())
		if p, err := f.Fetch(t.Context(), topic(t, TopicQueries)); err != TooManyRedirects || p != nil || len(s.Requests()) != before+2 {
			t.Errorf("%v after %d requests", err, len(s.Requests())-before)
		}
	})
	t.Run("a body of exactly the bound is read", func(t *testing.T) {
		s.Set(path, fakedocs.HTML(bytes.Repeat([]byte("x"), maxBody)))
		if p, err := f.Fetch(t.Context(), topic(t, TopicQueries)); err != nil || p.Size != maxBody {
			t.Error(err)
		}
	})
}

// plainly answers with a body and a header that does not fit it.
func plainly(contentType string, body []byte, header, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set(header, value)
		w.Write(body) //nolint:errcheck // the client may have gone
	}
}

func TestASiteThatIsNotTheSiteIsNotBelieved(t *testing.T) {
	other := fakedocs.Start(t, fakedocs.Options{})
	for name, c := range map[string]struct {
		o     fakedocs.Options
		roots []byte
	}{
		"another authority": {fakedocs.Options{}, other.CAPEM()},
		"another name":      {fakedocs.Options{Names: []string{"evil.example", "pfrest.org.evil.example", "*.pfrest.org"}}, nil},
		"an old TLS":        {fakedocs.Options{MaxTLS: tls.VersionTLS11}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := fakedocs.Start(t, c.o)
			f := at(t, s)
			if c.roots != nil {
				roots := x509.NewCertPool()
				roots.AppendCertsFromPEM(c.roots)
				f = New(Place{dialer{at: netip.MustParseAddrPort(s.Addr()), roots: roots, patience: 2 * time.Minute}})
			}
			if _, err := f.Fetch(t.Context(), TheDocument()); err != Network {
				t.Errorf("got %v", err)
			}
			if n := len(s.Requests()); n != 0 || s.Connections() == 0 {
				t.Errorf("%d requests on %d connections", n, s.Connections())
			}
		})
	}
}

func TestTheEnvironmentAddsNoAuthority(t *testing.T) {
	s := fakedocs.Start(t, fakedocs.Options{})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", ca)
	t.Setenv("SSL_CERT_DIR", filepath.Dir(ca))
	// The library would believe it: without that this test shows nothing.
	if conn, err := tls.Dial("tcp", s.Addr(), &tls.Config{ServerName: Host}); err != nil {
		t.Skipf("crypto/x509 has read the system's authorities before: %v", err)
	} else {
		conn.Close()
	}
	f := New(Place{dialer{at: netip.MustParseAddrPort(s.Addr()), patience: 2 * time.Minute}})
	if _, err := f.Fetch(t.Context(), TheDocument()); err != Network || len(s.Requests()) != 0 {
		t.Errorf("got %v, and %d requests", err, len(s.Requests()))
	}
}

func TestOnlyPublicAddressesAreConnectedTo(t *testing.T) {
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "185.199.108.153": true, "2606:50c0:8000::153": true, "223.255.255.1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"0.0.0.0": false, "0.1.2.3": false, "100.64.0.1": false, "192.0.0.8": false, "192.0.2.1": false, "198.18.0.1": false,
		"198.51.100.7": false, "203.0.113.9": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false, "192.88.99.1": false,
		"::": false, "::1": false, "fe80::1": false, "fc00::1": false, "fd12::1": false, "ff02::1": false, "2001:db8::1": false,
		"2001::1": false, "2002:0a00:0001::1": false, "64:ff9b::a00:1": false, "::ffff:10.0.0.1": false, "3fff::1": false, "100::1": false,
		"2606:50c0::1%eth0": false, "5f00::1": false,
	} {
		if got := public(netip.MustParseAddr(addr).Unmap()); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
	// And on a real connection: the shipped place, with a name that leads inside.
	s := fakedocs.Start(t, fakedocs.Options{})
	d := dialer{}
	for _, addr := range []string{s.Addr(), "127.0.0.1:443", "pfrest.org:80", "www.pfrest.org:443", "pfrest.org.:443"} {
		if c, err := d.dial(t.Context(), "tcp", addr); !errors.Is(err, NotAllowed) || c != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if c, err := d.dial(t.Context(), "unix", Host+":443"); !errors.Is(err, NotAllowed) || c != nil {
		t.Error(err)
	}
	if err := permit("tcp4", s.Addr(), public); !errors.Is(err, NotAllowed) {
		t.Error(err)
	}
	if err := permit("udp", "8.8.8.8:443", public); !errors.Is(err, NotAllowed) {
		t.Error(err)
	}
	if err := permit("tcp4", "8.8.8.8:443", public); err != nil {
		t.Error(err)
	}
	// The control function is what refuses: before a packet is sent.
	nd := net.Dialer{ControlContext: control(public)}
	if c, err := nd.DialContext(t.Context(), "tcp", s.Addr()); !errors.Is(err, NotAllowed) || c != nil {
		t.Error(err)
	}
	// It is in the dialer: nothing is sent to an address that is not allowed, so
	// that there is no answer of the network to wait for.
	roots := x509.NewCertPool()
	inside := dialer{at: netip.MustParseAddrPort("192.0.2.1:443"), roots: roots}
	if c, err := inside.dial(t.Context(), "tcp", Host+":443"); !errors.Is(err, NotAllowed) || c != nil {
		t.Error(err)
	}
	if s.Connections() != 0 {
		t.Errorf("%d connections were made", s.Connections())
	}
}

func TestOnlyConstantsAreFetched(t *testing.T) {
	f := New(Place{})
	for _, u := range []string{
		"https://pfrest.org/", "https://pfrest.org/api-docs/openapi.json?x", "http://pfrest.org/api-docs/openapi.json",
		"https://www.pfrest.org/api-docs/openapi.json", "https://PFREST.ORG/api-docs/openapi.json", "https://pfrest.org/api-docs/../api-docs/openapi.json", "",
	} {
		if _, err := f.Fetch(t.Context(), Source{URL: u}); err != NotAllowed {
			t.Errorf("%s: %v", u, err)
		}
	}
	if len(sources) != 10 || len(Topics()) != 9 {
		t.Errorf("%d sources, %d topics", len(sources), len(Topics()))
	}
	for _, s := range sources[1:] {
		if s.URL != "https://pfrest.org/"+s.Topic+"/" {
			t.Errorf("%s is at %s", s.Topic, s.URL)
		}
	}
	if !slices.Equal(Topics(), fakedocs.Topics) {
		t.Error("the pretend site has other topics")
	}
}

func TestASlowSiteIsGivenUp(t *testing.T) {
	s := fakedocs.Start(t, fakedocs.Options{})
	f := at(t, s)
	for name, h := range map[string]http.HandlerFunc{
		"silent": fakedocs.Silent(),
		"slow":   fakedocs.Slow("application/json", fakedocs.Encode(fakedocs.Small()), 100, 100*time.Millisecond),
	} {
		reached := make(chan struct{}, 2)
		s.Set(fakedocs.DocumentPath, fakedocs.Counted(func() { reached <- struct{}{} }, h))
		leave := func() context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-reached; cancel() }()
			return ctx
		}
		if _, err := f.Fetch(leave(), TheDocument()); err != Network {
			t.Errorf("%s: %v", name, err)
		}
		// It is the caller's end and no bound of the transport that ended it.
		resp, err := f.ask(leave(), DocumentURL, TheDocument().Kind)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The bounds of what ships, on the fields that hold them.
	f = New(Place{})
	if f.transport.ResponseHeaderTimeout != 15*time.Second || f.inAll != 30*time.Second || connectTimeout != 5*time.Second || handshakeTimeout != 10*time.Second || readTimeout != 15*time.Second || maxBody != 8<<20 {
		t.Error("a bound has changed")
	}
	if f.transport.Proxy != nil || !f.transport.DisableKeepAlives {
		t.Error("the transport has changed")
	}
}

func TestASilentConnectionEndsByItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := net.Pipe()
		defer two.Close()
		p := patient{one, readTimeout}
		for range 2 { // each has its own: the first does not use up the second's
			for name, f := range map[string]func([]byte) (int, error){"read": p.Read, "write": p.Write} {
				begun := time.Now()
				if _, err := f(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != readTimeout {
					t.Errorf("%s: %v after %v", name, err, time.Since(begun))
				}
			}
		}
	})
}

func TestTheLifetimeIsKeptInBounds(t *testing.T) {
	for header, want := range map[string]struct {
		fresh   time.Duration
		noStore bool
	}{
		"":                         {300 * time.Second, false},
		"max-age=600":              {600 * time.Second, false},
		"public, Max-Age = 600":    {600 * time.Second, false},
		`max-age="900"`:            {900 * time.Second, false},
		"max-age=0":                {300 * time.Second, false},
		"max-age=-1":               {300 * time.Second, false},
		"max-age=soon":             {300 * time.Second, false},
		"max-age=1":                {60 * time.Second, false},
		"max-age=999999":           {86400 * time.Second, false},
		"max-age=9999999999999999": {300 * time.Second, false},
		"max-age=700, max-age=600": {600 * time.Second, false},
		"s-maxage=5, no-cache":     {300 * time.Second, false},
		"no-store, max-age=600":    {600 * time.Second, true},
		"NO-STORE":                 {300 * time.Second, true},
	} {
		fresh, noStore := lifetime([]string{header})
		if fresh != want.fresh || noStore != want.noStore {
			t.Errorf("%q: %v, %v", header, fresh, noStore)
		}
	}
	if fresh, noStore := lifetime([]string{"max-age=600", "no-store"}); fresh != 600*time.Second || !noStore {
		t.Error(fresh, noStore)
	}
}

func TestACharacterMayLieOverTwoPieces(t *testing.T) {
	text := []byte("aä€😀b")
	for i := range text {
		for j := i; j <= len(text); j++ {
			if !isUTF8([][]byte{text[:i], text[i:j], text[j:]}) {
				t.Errorf("cut at %d and %d it is not UTF-8", i, j)
			}
		}
	}
	for _, bad := range [][][]byte{{[]byte("a\xff"), []byte("b")}, {[]byte("a"), []byte("\xe2\x82")}, {[]byte("\xe2"), []byte("\x82a")}, {[]byte("\xf0\x9f\x98"), []byte("x")}} {
		if isUTF8(bad) {
			t.Errorf("%q is taken for UTF-8", bad)
		}
	}
}

func TestTheSystemsAuthoritiesAreFound(t *testing.T) {
	if pool, err := authoritiesIn([]string{filepath.Join(t.TempDir(), "none.pem"), "/dev/null"}); err == nil || pool != nil {
		t.Error("no authorities are not an error")
	}
	d := dialer{}
	pool, err := d.authorities()
	if errors.Is(err, errNoAuthorities) {
		t.Skip("this system has no bundle of certificate authorities where distributions keep one")
	}
	if err != nil || pool.Equal(x509.NewCertPool()) {
		t.Error(err)
	}
	block, _ := pem.Decode(fakedocs.Start(t, fakedocs.Options{}).CAPEM())
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ca.Verify(x509.VerifyOptions{Roots: pool}); err == nil {
		t.Error("a pretend authority is among them")
	}
}

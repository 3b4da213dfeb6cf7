// Package fakedocs is the pretend documentation site: an HTTPS server on loopback
// with a certificate for the real site's name, a document in upstream's style and
// the guide pages, and every way in which such a site can misbehave.
//
// It is a test tool. Tests, benches and the demo import it or run the program in
// cmd/fakedocs; no daemon may. All its texts are this project's own. What it is
// for: a fetcher that only works against a polite site must fail here.
package fakedocs

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/test/loopback"
)

// Host is the name that the certificate is for.
const Host = "pfrest.org"

// DocumentPath is where the document is; a topic's page is at /TOPIC/.
const DocumentPath = "/api-docs/openapi.json"

// Options says what kind of site to be. The zero value is a good one.
type Options struct {
	Listen   string   // "127.0.0.1:0"; loopback only
	Document []byte   // Small() when nil
	Names    []string // of the certificate; Host when nil
	MaxTLS   uint16   // the newest TLS version; the newest there is when 0
}

// Request is one request as it came.
type Request struct {
	Method, Path, Host string
	Header             http.Header
	TLS                uint16
}

// Server is one pretend site. All methods may be called from any goroutine.
type Server struct {
	ln    net.Listener
	http  *http.Server
	caPEM []byte
	done  chan struct{}

	mu    sync.Mutex
	pages map[string]http.HandlerFunc
	seen  []Request
	conns int
}

// New starts a pretend site. The caller must Close it.
func New(o Options) (*Server, error) {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Document == nil {
		o.Document = Encode(Small())
	}
	if o.Names == nil {
		o.Names = []string{Host}
	}
	s := &Server{done: make(chan struct{}), pages: map[string]http.HandlerFunc{}}
	s.Set(DocumentPath, JSON(o.Document))
	for _, topic := range Topics {
		s.Set("/"+topic+"/", HTML(Page(topic)))
	}
	var err error
	if s.ln, err = loopback.Listen(o.Listen); err != nil {
		return nil, err
	}
	id, err := loopback.Issue(loopback.Names{Authority: "pretend site CA", Server: o.Names[0], DNS: o.Names}, time.Now())
	if err != nil {
		return nil, errors.Join(err, s.ln.Close())
	}
	s.caPEM = id.CAPEM
	conf := &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: o.MaxTLS, Certificates: []tls.Certificate{id.Leaf}, NextProtos: []string{"h2", "http/1.1"}}
	s.http = loopback.Server(s, conf, func() {
		s.mu.Lock()
		s.conns++
		s.mu.Unlock()
	})
	go s.http.ServeTLS(s.ln, "", "") //nolint:errcheck // always http.ErrServerClosed after Close
	return s, nil
}

// Start is New for a test: it ends with the test and fails it when it cannot start.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := New(o)
	return loopback.For(t, s, err)
}

// Close ends the server, answers that hang included.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
		s.mu.Unlock()
		return
	default:
	}
	close(s.done)
	s.mu.Unlock()
	_ = s.http.Close() // what was under way ends by done
}

// Addr returns the address that it listens on.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// CAPEM returns the certificate of the CA that signed the server's own.
func (s *Server) CAPEM() []byte { return s.caPEM }

// Set says how a path is answered from now on.
func (s *Server) Set(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = h
}

// Requests returns what was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Connections returns how many connections were made so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.pages[r.URL.Path]
	rec := Request{Method: r.Method, Path: r.URL.RequestURI(), Host: r.Host, Header: r.Header.Clone()}
	if r.TLS != nil {
		rec.TLS = r.TLS.Version
	}
	s.seen = append(s.seen, rec)
	s.mu.Unlock()
	if h == nil {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	// Close must end an answer that hangs.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	h(w, r.WithContext(ctx))
}

// Topics are the guide pages that there are.
var Topics = []string{
	"AUTHENTICATION_AND_AUTHORIZATION", "WORKING_WITH_OBJECT_IDS", "QUERIES_FILTERS_AND_SORTING", "COMMON_CONTROL_PARAMETERS",
	"WORKING_WITH_HATEOAS", "SWAGGER_AND_OPENAPI", "ENDPOINT_TYPES", "SECURING_API_ACCESS", "LIMITATIONS_AND_FAQS",
}

// Page returns a guide page in the site's layout.
func Page(topic string) []byte {
	name := strings.ReplaceAll(strings.ToLower(topic), "_", " ")
	return []byte(`<!doctype html><html lang="en"><head><title>Pretend guide: ` + name + `</title>
<style>body { color: black }</style><script>window.pretend = "not part of the text";</script></head>
<body><nav><ul><li><a href="/">Menu entry</a></li></ul></nav>
<div role="main" class="document"><h1>Pretend guide: ` + name + `</h1>
<p>This page of the pretend site speaks of <em>` + name + `</em> &amp; nothing else.</p>
<script>document.write("written by a script")</script>
<ul><li>One thing to know.</li><li>Another, see <a href="https://pfrest.org/` + topic + `/">this page</a>.</li></ul>
<pre><code>GET /api/v2/firewall/aliases?limit=5</code></pre>
<p>` + strings.Repeat("The pretend guide goes on about it at some length. ", 60) + `</p></div>
<footer>Foot of the page</footer></body></html>`)
}

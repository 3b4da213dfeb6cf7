package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/secretfile"
)

func port(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	return u.Port()
}

// named is c for another address with the certificate of c's.
func named(c Config, base string) Config {
	c.BaseURL = base
	c.TLS = c.TLS.Clone()
	c.TLS.ServerName = "localhost"
	return c
}

// strict is a Config that believes the system's authorities.
func strict(t *testing.T, base string) Config {
	t.Helper()
	c, err := pfrest.ClientTLS(pfrest.Config{BaseURL: base, TLSMode: "strict"})
	if err != nil {
		t.Fatal(err)
	}
	return Config{BaseURL: base, TLS: c, Key: secretfile.New([]byte(testKey))}
}

// pinned is a Config with the pin of another key.
func pinned(t *testing.T, s *server) Config {
	t.Helper()
	c := config(t, s.URL, s.CA)
	var err error
	if c.TLS, err = pfrest.ClientTLS(pfrest.Config{BaseURL: s.URL, TLSMode: "auto", CAFile: s.CA, Pin: strings.Repeat("00", 32)}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAConfigThatAuthenticatesNobodyIsRefused(t *testing.T) {
	_, ca := certificate(t)
	for name, f := range map[string]func(*Config){
		"no TLS settings":       func(c *Config) { c.TLS = nil },
		"no verification":       func(c *Config) { c.TLS.InsecureSkipVerify = true },
		"TLS 1.1":               func(c *Config) { c.TLS.MinVersion = tls.VersionTLS11 },
		"no least version":      func(c *Config) { c.TLS.MinVersion = 0 },
		"HTTP/2":                func(c *Config) { c.TLS.NextProtos = []string{"h2", "http/1.1"} },
		"no protocol":           func(c *Config) { c.TLS.NextProtos = nil },
		"another name":          func(c *Config) { c.TLS.ServerName = "localhost" },
		"sessions":              func(c *Config) { c.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(1) },
		"a key log":             func(c *Config) { c.TLS.KeyLogWriter = io.Discard },
		"no key":                func(c *Config) { c.Key = secretfile.Secret{} },
		"a key with a line end": func(c *Config) { c.Key = secretfile.New([]byte("a\r\nX-Other: b")) },
		"a huge key":            func(c *Config) { c.Key = secretfile.New([]byte(strings.Repeat("k", 4097))) },
		"plain HTTP":            func(c *Config) { c.BaseURL = "http://127.0.0.1:1" },
		"a path":                func(c *Config) { c.BaseURL = "https://127.0.0.1:1/x" },
		"a query":               func(c *Config) { c.BaseURL = "https://127.0.0.1:1?x" },
		"a user":                func(c *Config) { c.BaseURL = "https://u:p@127.0.0.1:1" },
		"no URL":                func(c *Config) { c.BaseURL = "" },
		"a line end as agent":   func(c *Config) { c.UserAgent = "a\r\nX-Other: b" },
		"a negative time":       func(c *Config) { c.Response = -1 },
	} {
		c := config(t, "https://127.0.0.1:1", ca)
		f(&c)
		if _, err := New(c); errs.CodeOf(err) != errs.Invalid || strings.Contains(fmt.Sprint(err), testKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	insecure, err := pfrest.ClientTLS(pfrest.Config{BaseURL: "https://127.0.0.1:1", TLSMode: "insecure", Pin: strings.Repeat("00", 32)})
	if err != nil {
		t.Fatal(err)
	}
	c := config(t, "https://127.0.0.1:1", ca)
	if c.TLS = insecure; func() bool { _, err := New(c); return err == nil }() {
		t.Error("mode insecure is allowed")
	}
}

func TestTheKeyIsNeverPrintedAndTheCallersMayBeEmptied(t *testing.T) {
	var head string
	s := serve(t, func(p *peer) { head, _ = p.request(); p.say(done) })
	c := config(t, s.URL, s.CA)
	x := exchanger(t, c)
	c.Key.Zero()
	conn, err := x.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	l := slog.New(slog.NewJSONHandler(&log, nil))
	all := func(v any) { fmt.Fprintf(&log, "%v %+v %#v %s %x %q", v, v, v, v, v, v); l.Info("x", "v", v) }
	all(x)
	all(*x)
	all(conn.x)
	all(Allowed())
	r := conn.Send(t.Context(), web)
	all(r)
	all(r.Err)
	_, err = x.Connect(canceled(t))
	all(err)
	if strings.Contains(log.String(), testKey) || strings.Contains(log.String(), fmt.Sprintf("%x", testKey)) {
		t.Error("the key is printed")
	}
	if !strings.Contains(head, "X-API-Key: "+testKey+"\r\n") {
		t.Error("the key was not sent, or emptied with the caller's")
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestACauseHoldsNoTextOfTheOtherSide(t *testing.T) {
	r, _ := play(t, func(p *peer, _, _ string) { p.say("HTTP/1.1 canary-status\r\n\r\n") })
	for err := r.Err; err != nil; err = errors.Unwrap(err) {
		if strings.Contains(fmt.Sprintf("%+v", err), "canary") {
			t.Errorf("%T carries it: %v", err, err)
		}
	}
	s := serve(t, func(*peer) {})
	for err := fails(t, exchanger(t, strict(t, s.URL))); err != nil; err = errors.Unwrap(err) {
		if strings.Contains(strings.ToLower(fmt.Sprintf("%+v", err)), "x509") {
			t.Errorf("%T carries the certificate's text: %v", err, err)
		}
	}
}

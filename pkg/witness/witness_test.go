package witness

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/witness/wire"
)

// counter is one in memory.
type counter struct {
	mu       sync.Mutex
	value    int64
	fail     error
	advances int
	left     time.Duration // of the latest advance
	// before is what an advance waits for, when it is set.
	before func(context.Context)
}

func (c *counter) Read(context.Context) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.fail
}

func (c *counter) Advance(ctx context.Context, expected int64) (int64, error) {
	if c.before != nil {
		c.before(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advances++
	d, ok := ctx.Deadline()
	c.left = time.Until(d)
	switch {
	case c.fail != nil:
		return 0, c.fail
	case !ok || c.left <= 0:
		return 0, errs.New(errs.Unavailable, "too late").WithClass(wire.Unavailable)
	case c.value != expected:
		return 0, errs.New(errs.Conflict, "other").WithClass(wire.Conflict)
	}
	c.value++
	return c.value, nil
}

func (c *counter) Facts(context.Context) (wire.Facts, error) {
	return wire.Facts{Index: 0x01500020, Name: "000b" + strings.Repeat("5a", 32), Manufacturer: "IFX", Assurance: "hardware_witness"}, nil
}

// clock is the witness's. It stands still until it is moved by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// certificate makes a self-signed one for a host name.
func certificate(t *testing.T, name string, from, to time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}, &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: to}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func valid(t *testing.T, name string) tls.Certificate {
	t.Helper()
	return certificate(t, name, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
}

func print(c tls.Certificate) Fingerprint { return sha256.Sum256(c.Certificate[0]) }

// host is a witness that serves.
type host struct {
	t       *testing.T
	addr    string
	counter *counter
	clock   *clock
	log     *lines
	advance tls.Certificate
	read    tls.Certificate
	roots   *x509.CertPool
	stop    func()
}

// lines collects a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func serve(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, counter: &counter{value: 41}, clock: &clock{at: time.Now()}, log: &lines{}, advance: valid(t, "executord"), read: valid(t, "monitor"), roots: x509.NewCertPool()}
	own := valid(t, "witness.test")
	leaf, err := x509.ParseCertificate(own.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	h.roots.AddCert(leaf)
	s, err := New(Config{
		Counter: h.counter, Certificate: own, Advance: []Fingerprint{print(h.advance)}, Read: []Fingerprint{print(h.read)},
		Log: slog.New(slog.NewTextHandler(h.log, nil)), Now: h.clock.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	var once sync.Once
	h.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("serve ended with %v", err)
			}
		})
	}
	t.Cleanup(h.stop)
	return h
}

// ask sends raw bytes under a certificate and returns all that comes back.
func (h *host) ask(cert *tls.Certificate, raw string) (string, error) {
	h.t.Helper()
	cfg := &tls.Config{RootCAs: h.roots, ServerName: "witness.test", MinVersion: tls.VersionTLS12}
	if cert != nil {
		cfg.Certificates = []tls.Certificate{*cert}
	}
	c, err := tls.Dial("tcp", h.addr, cfg)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, raw); err != nil {
		return "", err
	}
	b, err := io.ReadAll(c)
	return string(b), err
}

const get = "GET /anchor/read HTTP/1.1\r\nHost: w\r\n\r\n"

func post(body string) string {
	return fmt.Sprintf("POST /anchor/advance HTTP/1.1\r\nHost: w\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// reading reads and returns what was said.
func (h *host) reading(cert tls.Certificate) wire.Reading {
	h.t.Helper()
	got, err := h.ask(&cert, get)
	if err != nil {
		h.t.Fatal(err)
	}
	_, body, _ := strings.Cut(got, "\r\n\r\n")
	r, err := wire.ParseReading([]byte(body))
	if err != nil || !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") {
		h.t.Fatalf("%v: %s", err, got)
	}
	return r
}

func (h *host) order(r wire.Reading) string {
	h.t.Helper()
	b, err := wire.Order{Expected: r.Value, Ticket: r.Ticket}.Encode()
	if err != nil {
		h.t.Fatal(err)
	}
	return post(string(b))
}

// refused asks and wants a word.
func (h *host) refused(cert tls.Certificate, raw, word string) {
	h.t.Helper()
	got, err := h.ask(&cert, raw)
	want := fmt.Sprintf(`{"error":%q}`, word)
	if err != nil || !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", wire.Status(word))) || !strings.HasSuffix(got, want) {
		h.t.Fatalf("want %s: %v\n%s", want, err, got)
	}
}

func TestAListedCertificateReadsAndAdvances(t *testing.T) {
	h := serve(t)
	r := h.reading(h.advance)
	if r.Value != 41 || r.Name == "" || r.Assurance != "hardware_witness" {
		t.Fatalf("%+v", r)
	}
	got, err := h.ask(&h.advance, h.order(r))
	if err != nil || !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, `{"value":42}`) {
		t.Fatal(got, err)
	}
	if h.counter.left <= 0 || h.counter.left > wire.MaxAge {
		t.Fatalf("the counter has %v left", h.counter.left)
	}
	// The same order again finds another value.
	h.refused(h.advance, h.order(r), wire.Conflict)
	if h.counter.value != 42 {
		t.Fatal(h.counter.value)
	}
}

func TestN8ACertificateThatIsNotListedGetsNothing(t *testing.T) {
	h := serve(t)
	stranger := valid(t, "executord") // the same name, another key
	for name, c := range map[string]*tls.Certificate{"a stranger": &stranger, "nobody": nil} {
		if got, err := h.ask(c, get); err == nil || got != "" {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	if h.counter.advances != 0 {
		t.Fatal("the counter was used")
	}
}

func TestN8ACertificateOutOfDateGetsNothing(t *testing.T) {
	h := serve(t)
	h.clock.move(2 * time.Hour)
	if got, err := h.ask(&h.advance, get); err == nil {
		t.Fatal(got)
	}
	h.clock.move(-4 * time.Hour)
	if got, err := h.ask(&h.advance, get); err == nil {
		t.Fatal(got)
	}
}

func TestN8AReadOnlyCertificateCannotAdvance(t *testing.T) {
	h := serve(t)
	h.refused(h.read, h.order(h.reading(h.read)), wire.Forbidden)
	h.refused(h.read, h.order(h.reading(h.advance)), wire.Forbidden)
	if h.counter.advances != 0 {
		t.Fatal("the counter was used")
	}
}

func TestN8ThereAreTwoRoutes(t *testing.T) {
	h := serve(t)
	for _, line := range []string{
		"GET / HTTP/1.1", "GET /anchor HTTP/1.1", "GET /anchor/read/ HTTP/1.1", "GET /anchor/read?x=1 HTTP/1.1", "GET //anchor/read HTTP/1.1",
		"GET /anchor/../anchor/read HTTP/1.1", "GET /anchor/advance HTTP/1.1", "POST /anchor/read HTTP/1.1", "HEAD /anchor/read HTTP/1.1",
		"DELETE /anchor/advance HTTP/1.1", "OPTIONS * HTTP/1.1", "GET http://w/anchor/read HTTP/1.1", "POST /anchor/reset HTTP/1.1", "GET /metrics HTTP/1.1",
	} {
		h.refused(h.advance, line+"\r\nHost: w\r\nContent-Length: 0\r\n\r\n", wire.NoRoute)
	}
	if h.counter.advances != 0 {
		t.Fatal("the counter was used")
	}
}

func TestARequestOfAnotherShapeIsRefused(t *testing.T) {
	h := serve(t)
	order := h.order(h.reading(h.advance))
	_, body, _ := strings.Cut(order, "\r\n\r\n")
	for name, raw := range map[string]string{
		"HTTP/1.0":                        "GET /anchor/read HTTP/1.0\r\nHost: w\r\n\r\n",
		"no request":                      "hello\r\n\r\n",
		"a body on a read":                "GET /anchor/read HTTP/1.1\r\nHost: w\r\nContent-Length: 2\r\n\r\n{}",
		"chunks":                          "POST /anchor/advance HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body),
		"no body":                         post(""),
		"a body too large":                post(strings.Repeat(" ", wire.MaxBody+1)),
		"a header too large":              "GET /anchor/read HTTP/1.1\r\nHost: w\r\nX: " + strings.Repeat("x", maxRequest) + "\r\n\r\n",
		"another value than the ticket's": strings.Replace(order, `"expected_current":41`, `"expected_current":42`, 1),
		"a ticket of nobody's":            post(`{"expected_current":41,"ticket":"` + strings.Repeat("0f", 48) + `"}`),
		"no ticket":                       post(`{"expected_current":41}`),
		"two expectations":                strings.Replace(post(`{"expected_current":41,"expected_current":41}`), "", "", 1),
	} {
		t.Run(name, func(t *testing.T) {
			hh := *h
			hh.t = t
			hh.refused(h.advance, raw, wire.Malformed)
		})
	}
	if h.counter.advances != 0 {
		t.Fatal("the counter was used")
	}
}

func TestReview24AnOldOrderIsNotCarriedOut(t *testing.T) {
	h := serve(t)
	order := h.order(h.reading(h.advance))
	h.clock.move(wire.MaxAge)
	h.refused(h.advance, order, wire.Stale)
	// So is one from a clock that was set back by as much.
	order = h.order(h.reading(h.advance))
	h.clock.move(-wire.MaxAge - time.Second)
	h.refused(h.advance, order, wire.Stale)
	if h.counter.advances != 0 {
		t.Fatal("the counter was used")
	}
}

func TestReview24AnOrderGrowsOldWhileItWaitsForTheCounter(t *testing.T) {
	h := serve(t)
	h.counter.before = func(ctx context.Context) { <-ctx.Done() }
	order := h.order(h.reading(h.advance))
	h.clock.move(wire.MaxAge - 100*time.Millisecond)
	h.refused(h.advance, order, wire.Unavailable)
	if h.counter.value != 41 {
		t.Fatal("it was carried out")
	}
}

func TestARestartVoidsTickets(t *testing.T) {
	one := serve(t)
	r := one.reading(one.advance)
	two := serve(t)
	two.refused(two.advance, two.order(r), wire.Malformed)
}

func TestEveryFailureIsAWordAndNothingElse(t *testing.T) {
	h := serve(t)
	order := h.order(h.reading(h.advance))
	for _, row := range []struct {
		err           error
		read, advance string
	}{
		{errs.New(errs.Denied, "text").WithClass(wire.Refused), wire.Refused, wire.Refused},
		{errs.New(errs.Conflict, "text").WithClass(wire.Name), wire.Name, wire.Name},
		{errs.New(errs.Unavailable, "text").WithClass(wire.Lockout), wire.Lockout, wire.Lockout},
		{errs.New(errs.Unavailable, "text").WithClass(wire.Unavailable), wire.Unavailable, wire.Unavailable},
		{errs.New(errs.UnknownOutcome, "text").WithClass(wire.Unreachable), wire.Unavailable, wire.Unreachable},
		{errs.New(errs.Internal, "text").WithClass("other"), wire.Unavailable, wire.Unreachable},
		{errors.New("text of a TPM"), wire.Unavailable, wire.Unreachable},
	} {
		h.counter.mu.Lock()
		h.counter.fail = row.err
		h.counter.mu.Unlock()
		h.refused(h.advance, get, row.read)
		h.refused(h.advance, order, row.advance)
	}
	if s := h.log.String(); strings.Contains(s, "text") || !strings.Contains(s, "certificate ") {
		t.Fatal(s)
	}
}

func TestTheWireIsTLS13AndOneRequestAConnection(t *testing.T) {
	h := serve(t)
	_, err := tls.Dial("tcp", h.addr, &tls.Config{
		RootCAs: h.roots, ServerName: "witness.test", MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{h.advance},
	})
	if err == nil {
		t.Fatal("TLS 1.2 was accepted")
	}
	got, err := h.ask(&h.advance, get+get)
	if err != nil || strings.Count(got, "HTTP/1.1") != 1 {
		t.Fatal(got, err)
	}
	if c, err := net.Dial("tcp", h.addr); err == nil {
		_, _ = io.WriteString(c, get)
		b, _ := io.ReadAll(c)
		_ = c.Close()
		if strings.Contains(string(b), "HTTP/1.1 200") {
			t.Fatal("an answer without TLS")
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	h := serve(t)
	var held []net.Conn
	for range maxConns {
		c, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	refused := false
	for range 50 { // the kernel may bring it before the last of those
		if _, err := h.ask(&h.advance, get); err != nil {
			refused = true
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !refused {
		t.Fatal("one connection more was served")
	}
	for _, c := range held {
		_ = c.Close()
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := h.ask(&h.advance, get); err == nil {
			return
		} else if time.Now().After(end) {
			t.Fatal("it does not serve again:", err)
		}
	}
}

func TestAnIncrementUnderWayIsFinishedAtTheEnd(t *testing.T) {
	h := serve(t)
	underWay := make(chan struct{})
	h.counter.before = func(ctx context.Context) {
		close(underWay)
		<-ctx.Done() // the end comes first
	}
	order := h.order(h.reading(h.advance))
	answer := make(chan string, 1)
	go func() {
		got, _ := h.ask(&h.advance, order)
		answer <- got
	}()
	<-underWay
	h.stop()
	if h.counter.value != 42 {
		t.Fatalf("it ended before the increment did: the counter holds %d", h.counter.value)
	}
	if got := <-answer; !strings.HasSuffix(got, `{"value":42}`) {
		t.Fatalf("the answer is lost: %q", got)
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	good := Config{Counter: &counter{}, Certificate: valid(t, "w"), Advance: make([]Fingerprint, 1), Log: slog.New(slog.DiscardHandler)}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*Config){
		"no counter": func(c *Config) { c.Counter = nil }, "no log": func(c *Config) { c.Log = nil },
		"no certificate": func(c *Config) { c.Certificate = tls.Certificate{} }, "nobody may advance": func(c *Config) { c.Advance = nil },
		"too many": func(c *Config) { c.Read = make([]Fingerprint, MaxClients+1) },
	} {
		cfg := good
		edit(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	f := print(good.Certificate)
	for _, s := range []string{f.String(), strings.ToUpper(f.String()), colons(f)} {
		if got, err := ParseFingerprint(s); err != nil || got != f {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{"", "00", f.String()[2:], f.String() + "00", "SHA256:" + f.String()} {
		if _, err := ParseFingerprint(s); err == nil {
			t.Errorf("%q is taken for a fingerprint", s)
		}
	}
}

func colons(f Fingerprint) string {
	var parts []string
	for _, b := range f {
		parts = append(parts, fmt.Sprintf("%02X", b))
	}
	return strings.Join(parts, ":")
}

func FuzzARequest(f *testing.F) {
	f.Add([]byte(get))
	f.Add([]byte(post(`{"expected_current":41,"ticket":"00"}`)))
	f.Add([]byte("POST /anchor/advance HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &counter{value: 41}
		s := &Server{cfg: Config{Counter: c, Now: time.Now, Advance: make([]Fingerprint, 1)}}
		req, body, err := request(bytes.NewReader(b))
		if err != nil {
			return
		}
		if len(body) > wire.MaxBody {
			t.Fatal("a body over the bound")
		}
		word, _ := s.answer(context.Background(), Fingerprint{}, req, body)
		if word != "" && wire.Status(word) == 0 || c.advances != 0 {
			t.Fatalf("word %q, %d advances without a ticket", word, c.advances)
		}
	})
}

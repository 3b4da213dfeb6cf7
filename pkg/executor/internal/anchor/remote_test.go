package anchor

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
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/witness"
	"pfsensemcp/pkg/witness/wire"
	"pfsensemcp/test/swtpm"
)

// shown is a TPM as `executord witness` serves it.
type shown struct{ *TPM }

func (s shown) Facts(ctx context.Context) (wire.Facts, error) {
	f, err := s.TPM.Facts(ctx)
	return wire.Facts{Index: f.Index, Name: f.Name, Manufacturer: f.Manufacturer, EKDigest: f.EKDigest, Assurance: f.Assurance}, err
}

// Advance has as long as a busy machine takes; that an order's time reaches the counter
// is package witness's to show.
func (s shown) Advance(ctx context.Context, expected int64) (int64, error) {
	return s.TPM.Advance(context.WithoutCancel(ctx), expected)
}

// person is a certificate with its key, and the files of both.
type person struct {
	tls       tls.Certificate
	cert, key string
}

func (p person) print() witness.Fingerprint { return sha256.Sum256(p.tls.Certificate[0]) }

func issue(t *testing.T, name string) person {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if ip := net.ParseIP(name); ip != nil {
		tmpl.DNSNames, tmpl.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pk, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := person{tls: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	for path, b := range map[string][]byte{
		p.cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), p.key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pk}),
	} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// site is a witness host with a TPM, and executord's configuration for it.
type site struct {
	tpm     *swtpm.TPM
	value   int64
	own     person
	advance person
	read    person
	gate    *gate
	cfg     RemoteConfig
	passed  atomic.Int64 // by the witness's clock, which else stands still
	stop    func()
}

// gate is a listener's middleman: it can lose answers, or hold connections back.
type gate struct {
	net.Listener
	mu    sync.Mutex
	wrap  func(net.Conn) net.Conn
	conns int
}

func (g *gate) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns++
	if g.wrap != nil {
		return g.wrap(c), nil
	}
	return c, nil
}

func (g *gate) set(wrap func(net.Conn) net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wrap = wrap
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{tpm: swtpm.New(t), own: issue(t, "127.0.0.1"), advance: issue(t, "executord"), read: issue(t, "monitor")}
	c, v, name := founded(t, s.tpm.Address())
	s.value = v
	_ = c.Close()
	start := time.Now()
	srv, err := witness.New(witness.Config{
		Now:     func() time.Time { return start.Add(time.Duration(s.passed.Load())) },
		Counter: shown{open(t, pinned(s.tpm.Address(), name))}, Certificate: s.own.tls,
		Advance: []witness.Fingerprint{s.advance.print()}, Read: []witness.Fingerprint{s.read.print()}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.gate = &gate{Listener: l}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ctx, s.gate)
	}()
	var once sync.Once
	s.stop = func() { once.Do(func() { cancel(); <-done }) }
	t.Cleanup(s.stop)
	s.cfg = RemoteConfig{
		URL: "https://" + l.Addr().String(), ServerCA: s.own.cert, ClientCert: s.advance.cert, ClientKey: s.advance.key,
		Timeout: patient, Settle: 200 * time.Millisecond,
	}
	return s
}

func (s *site) remote(t *testing.T, edit func(*RemoteConfig)) *Remote {
	t.Helper()
	cfg := s.cfg
	if edit != nil {
		edit(&cfg)
	}
	r, err := OpenRemote(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestARemoteCounterCounts(t *testing.T) {
	ctx, s := context.Background(), newSite(t)
	r := s.remote(t, nil)
	f, err := r.Facts(ctx)
	if err != nil || f.Backend != TPMRemote || f.Index != index || len(f.Name) != 68 || f.Assurance != Software || !f.Defined || !f.Written {
		t.Fatalf("%+v %v", f, err)
	}
	if err := r.Use(index, f.Name); err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		if v, err := r.Read(ctx); err != nil || v != s.value+i {
			t.Fatal(v, err)
		}
		if v, err := r.Advance(ctx, s.value+i); err != nil || v != s.value+i+1 {
			t.Fatal(v, err)
		}
		_, err := r.Advance(ctx, s.value+i)
		wants(t, err, ClassConflict)
	}
	reads(t, s.tpm, s.value+3)
}

func TestN8AnotherClientCertificateIsRefused(t *testing.T) {
	ctx, s := context.Background(), newSite(t)
	other := issue(t, "executord")
	r := s.remote(t, func(c *RemoteConfig) { c.ClientCert, c.ClientKey = other.cert, other.key })
	_, err := r.Read(ctx)
	wants(t, err, ClassRefused)
	_, err = r.Advance(ctx, s.value)
	wants(t, err, ClassRefused)
	if errs.CodeOf(err) != errs.Denied {
		t.Fatal(errs.CodeOf(err))
	}
	reads(t, s.tpm, s.value)
}

func TestN8AReadOnlyCertificateReadsAndDoesNotAdvance(t *testing.T) {
	ctx, s := context.Background(), newSite(t)
	r := s.remote(t, func(c *RemoteConfig) { c.ClientCert, c.ClientKey = s.read.cert, s.read.key })
	if v, err := r.Read(ctx); err != nil || v != s.value {
		t.Fatal(v, err)
	}
	_, err := r.Advance(ctx, s.value)
	wants(t, err, ClassRefused)
	reads(t, s.tpm, s.value)
}

func TestN8AnotherHostIsNotBelieved(t *testing.T) {
	ctx, s := context.Background(), newSite(t)
	// The right key under another name.
	_, port, err := net.SplitHostPort(s.gate.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := s.remote(t, func(c *RemoteConfig) { c.URL = "https://localhost:" + port })
	_, err = r.Advance(ctx, s.value)
	wants(t, err, ClassUnavailable)
	if err.Error() != "the host that answers is not the witness host" {
		t.Fatal(err)
	}
	// Another authority.
	other := issue(t, "127.0.0.1")
	r = s.remote(t, func(c *RemoteConfig) { c.ServerCA = other.cert })
	_, err = r.Read(ctx)
	wants(t, err, ClassUnavailable)
	if err.Error() != "the host that answers is not the witness host" {
		t.Fatal(err)
	}
	reads(t, s.tpm, s.value)
}

func TestN3ARemoteCounterOfAnotherNameIsRefused(t *testing.T) {
	ctx, s := context.Background(), newSite(t)
	r := s.remote(t, func(c *RemoteConfig) { c.Index, c.Name = index, "000b"+string(bytes.Repeat([]byte("0"), 64)) })
	_, err := r.Advance(ctx, s.value)
	wants(t, err, ClassName)
	r = s.remote(t, func(c *RemoteConfig) { c.Index = index + 1 })
	_, err = r.Read(ctx)
	wants(t, err, ClassName)
	// On the witness host the index goes away.
	r = s.remote(t, nil)
	if _, err := r.Read(ctx); err != nil {
		t.Fatal(err)
	}
	undefine(t, s.tpm, index)
	_, err = r.Advance(ctx, s.value)
	wants(t, err, ClassName)
}

func TestN3AWitnessThatIsAwayIsUnavailable(t *testing.T) {
	ctx, s := context.Background(), newSite(t)
	r := s.remote(t, nil)
	s.stop()
	_, err := r.Read(ctx)
	wants(t, err, ClassUnavailable)
	_, err = r.Advance(ctx, s.value)
	wants(t, err, ClassUnavailable)
	_, err = r.Facts(ctx)
	wants(t, err, ClassUnavailable)
}

// cut loses what the witness writes on the connection of an order, or delays what
// it reads.
type cut struct {
	net.Conn
	lose func(written int) bool
	n    int
}

func (c *cut) Write(b []byte) (int, error) {
	c.n += len(b)
	if c.lose(c.n) {
		_ = c.Close()
		return 0, io.ErrClosedPipe
	}
	return c.Conn.Write(b)
}

func TestN4ARemoteIncrementWhoseAnswerIsLostCountsOnce(t *testing.T) {
	ctx, s := context.Background(), newSite(t)
	r := s.remote(t, nil)
	n := 0
	s.gate.set(func(c net.Conn) net.Conn {
		if n++; n != 2 { // the first is the reading, the second the order
			return c
		}
		// The handshake is written before the answer; it is smaller than this.
		return &cut{Conn: c, lose: func(int) bool { return s.ticked(t) }}
	})
	v, err := r.Advance(ctx, s.value)
	if err != nil || v != s.value+1 {
		t.Fatal(v, err)
	}
	reads(t, s.tpm, s.value+1)
}

// ticked says whether the TPM has been incremented.
func (s *site) ticked(t *testing.T) bool {
	t.Helper()
	v, err := open(t, quick(s.tpm.Address())).Read(context.Background())
	return err == nil && v > s.value
}

func TestN4ARemoteOrderThatNeverArrivesIsKnownNotToHaveHappened(t *testing.T) {
	ctx, s := context.Background(), newSite(t)
	r := s.remote(t, nil)
	n := 0
	s.gate.set(func(c net.Conn) net.Conn {
		if n++; n == 2 {
			_ = c.Close()
		}
		return c
	})
	began := time.Now()
	_, err := r.Advance(ctx, s.value)
	wants(t, err, ClassUnavailable)
	if time.Since(began) < s.cfg.Settle {
		t.Fatal("believed after one read")
	}
	reads(t, s.tpm, s.value)
	if v, err := r.Advance(ctx, s.value); err != nil || v != s.value+1 {
		t.Fatal(v, err)
	}
}

func TestReview24ARemoteOutcomeThatCannotBeReadStaysUnknownUntilItCan(t *testing.T) {
	ctx, s := context.Background(), newSite(t)
	r := s.remote(t, nil)
	n := 0
	s.gate.set(func(c net.Conn) net.Conn {
		if n++; n >= 2 {
			_ = c.Close()
		}
		return c
	})
	_, err := r.Advance(ctx, s.value)
	wants(t, err, ClassUnreachable)
	if errs.CodeOf(err) != errs.UnknownOutcome {
		t.Fatal(errs.CodeOf(err))
	}
	_, err = r.Advance(ctx, s.value)
	wants(t, err, ClassUnavailable) // nothing new starts
	s.gate.set(nil)
	if v, err := r.Advance(ctx, s.value); err != nil || v != s.value+1 {
		t.Fatal(v, err)
	}
}

func TestReview24ARemoteOrderThatWaitsTooLongIsNotCarriedOut(t *testing.T) {
	ctx, s := context.Background(), newSite(t)
	r := s.remote(t, nil)
	got, err := r.reading(ctx)
	if err != nil {
		t.Fatal(err)
	}
	order, err := wire.Order{Expected: got.Value, Ticket: got.Ticket}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s.passed.Store(int64(wire.MaxAge))
	status, body, err := r.exchange(ctx, patient, "POST", wire.AdvancePath, order)
	if err != nil || status != 503 || string(body) != `{"error":"stale"}` {
		t.Fatal(status, string(body), err)
	}
	reads(t, s.tpm, s.value)
}

func TestARemoteConfigurationThatCannotWorkIsRefused(t *testing.T) {
	a, b := issue(t, "a"), issue(t, "b")
	good := RemoteConfig{URL: "https://192.0.2.7:7443", ServerCA: a.cert, ClientCert: b.cert, ClientKey: b.key}
	if _, err := OpenRemote(good); err != nil {
		t.Fatal(err)
	}
	loose := filepath.Join(t.TempDir(), "key.pem")
	raw, err := os.ReadFile(b.key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(loose, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(loose, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*RemoteConfig){
		"no URL": func(c *RemoteConfig) { c.URL = "" }, "http": func(c *RemoteConfig) { c.URL = "http://192.0.2.7" },
		"a path": func(c *RemoteConfig) { c.URL += "/x" }, "a query": func(c *RemoteConfig) { c.URL += "?x" },
		"a user": func(c *RemoteConfig) { c.URL = "https://u:p@192.0.2.7" }, "no CA": func(c *RemoteConfig) { c.ServerCA = "" },
		"a CA that is a key": func(c *RemoteConfig) { c.ServerCA = b.key }, "another key": func(c *RemoteConfig) { c.ClientKey = a.key },
		"a key for everybody": func(c *RemoteConfig) { c.ClientKey = loose }, "no certificate": func(c *RemoteConfig) { c.ClientCert = "/nowhere" },
		"a short name": func(c *RemoteConfig) { c.Index, c.Name = index, "000b" },
	} {
		cfg := good
		edit(&cfg)
		if _, err := OpenRemote(cfg); errs.CodeOf(err) != errs.Invalid && errs.CodeOf(err) != errs.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

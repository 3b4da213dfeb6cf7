package tlsdial

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
)

// issue makes a self-signed certificate for names and addresses.
func issue(t *testing.T, from, to time.Time, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "secret-subject"},
		NotBefore: from, NotAfter: to, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// good is a certificate for the loopback address that is valid now.
func good(t *testing.T) tls.Certificate {
	return issue(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "127.0.0.1")
}

func writeCA(t *testing.T, certs ...tls.Certificate) string {
	t.Helper()
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})...)
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve answers TLS handshakes and returns its address and what it was sent.
func serve(t *testing.T, cfg *tls.Config) (addr string, heard <-chan int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	ch := make(chan int, 16)
	go func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer raw.Close()
				c := tls.Server(raw, cfg)
				if c.Handshake() != nil {
					ch <- 0
					return
				}
				n, _ := c.Read(make([]byte, 64))
				ch <- n
			}()
		}
	}()
	return ln.Addr().String(), ch
}

func TestWhoIsBelieved(t *testing.T) {
	cert, other := good(t), good(t)
	wrong := issue(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "firewall.example")
	old := issue(t, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour), "127.0.0.1")
	sum := sha256.Sum256(cert.Leaf.RawSubjectPublicKeyInfo)
	b64 := base64.StdEncoding.EncodeToString(sum[:])
	colons := strings.TrimSuffix(strings.ToUpper(hex.EncodeToString(sum[:1])+":"+hex.EncodeToString(sum[1:])), ":")
	cases := map[string]struct {
		serve tls.Certificate
		opt   Options
		want  Kind
		ok    bool
	}{
		"auto believes its CA file":                               {cert, Options{Mode: Auto, CAFile: writeCA(t, cert)}, 0, true},
		"auto believes no other authority":                        {cert, Options{Mode: Auto, CAFile: writeCA(t, other)}, Untrusted, false},
		"strict does not believe a self-signed one":               {cert, Options{Mode: Strict}, Untrusted, false},
		"no mode is strict":                                       {cert, Options{}, Untrusted, false},
		"auto refuses another name":                               {wrong, Options{Mode: Auto, CAFile: writeCA(t, wrong)}, WrongName, false},
		"auto refuses an expired one":                             {old, Options{Mode: Auto, CAFile: writeCA(t, old)}, NotValid, false},
		"insecure believes anybody":                               {wrong, Options{Mode: Insecure}, 0, true},
		"insecure with a pin believes the pinned key":             {cert, Options{Mode: Insecure, Pin: b64}, 0, true},
		"insecure with a pin believes nobody else":                {other, Options{Mode: Insecure, Pin: b64}, PinMismatch, false},
		"auto with the right pin in hex":                          {cert, Options{Mode: Auto, CAFile: writeCA(t, cert), Pin: hex.EncodeToString(sum[:])}, 0, true},
		"auto with the right pin in upper-case hex with colons":   {cert, Options{Mode: Auto, CAFile: writeCA(t, cert), Pin: colons}, 0, true},
		"a believed chain with another pin is refused":            {other, Options{Mode: Auto, CAFile: writeCA(t, other), Pin: b64}, PinMismatch, false},
		"the right pin does not stand in for the chain in strict": {cert, Options{Mode: Strict, Pin: b64}, Untrusted, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.opt.Host = "127.0.0.1"
			cfg, err := Config(c.opt)
			if err != nil {
				t.Fatal(err)
			}
			addr, heard := serve(t, &tls.Config{Certificates: []tls.Certificate{c.serve}})
			conn, err := NewDialer(cfg, time.Minute).Dial(t.Context(), "tcp", addr)
			if c.ok {
				if err != nil {
					t.Fatal(err, errors.Unwrap(err))
				}
				conn.Close()
				return
			}
			f, isFailure := errors.AsType[*Failure](err)
			if !isFailure || f.Kind != c.want {
				t.Fatalf("got %v, want kind %d", err, c.want)
			}
			if f.Pin != PinOf(c.serve.Leaf) {
				t.Errorf("the pin shown to the operator is %q", f.Pin)
			}
			if strings.Contains(err.Error(), "secret-subject") {
				t.Errorf("the error quotes the certificate: %v", err)
			}
			if n := <-heard; n != 0 {
				t.Errorf("%d bytes were sent to a peer that was not believed", n)
			}
		})
	}
}

func TestTLSBelow12IsRefused(t *testing.T) {
	cert := good(t)
	cfg, err := Config(Options{Mode: Auto, CAFile: writeCA(t, cert), Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := serve(t, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	_, err = NewDialer(cfg, time.Minute).Dial(t.Context(), "tcp", addr)
	if f, ok := errors.AsType[*Failure](err); !ok || f.Kind != Handshake {
		t.Fatalf("got %v", err)
	}
}

func TestConnectingFailsInKnownWays(t *testing.T) {
	cfg, err := Config(Options{Mode: Insecure})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := ln.Addr().String()
	ln.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel, never shakes hands
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, c := range []struct {
		addr   string
		within time.Duration
		want   Kind
	}{{closed, time.Minute, Refused}, {silent.Addr().String(), 100 * time.Millisecond, NoAnswer}} {
		_, err := NewDialer(cfg, c.within).Dial(context.Background(), "tcp", c.addr)
		if f, ok := errors.AsType[*Failure](err); !ok || f.Kind != c.want {
			t.Errorf("%s: got %v (%v), want kind %d", c.addr, err, errors.Unwrap(err), c.want)
		}
	}
	if k := connectKind(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "nowhere"}}); k != Resolve {
		t.Errorf("a name without address is kind %d", k)
	}
	if k := connectKind(syscall.EHOSTUNREACH); k != Unreachable {
		t.Errorf("no route is kind %d", k)
	}
}

func TestSettingsThatContradictAreRefused(t *testing.T) {
	cert := good(t)
	ca := writeCA(t, cert)
	dir := t.TempDir()
	put := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no DER")}))
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
	for name, o := range map[string]Options{
		"unknown mode":                 {Mode: "lax"},
		"strict with a CA file":        {Mode: Strict, CAFile: ca},
		"insecure with a CA file":      {Mode: Insecure, CAFile: ca},
		"auto without a CA file":       {Mode: Auto},
		"a CA file that is not there":  {Mode: Auto, CAFile: filepath.Join(dir, "nothing")},
		"a CA file that is a folder":   {Mode: Auto, CAFile: dir},
		"a CA file that is a FIFO":     {Mode: Auto, CAFile: fifo},
		"a CA file without any":        {Mode: Auto, CAFile: put("empty", "")},
		"a CA file of text":            {Mode: Auto, CAFile: put("text", "not PEM\n")},
		"a CA file with a private key": {Mode: Auto, CAFile: put("key", key)},
		"a CA file that does not parse": {
			Mode: Auto, CAFile: put("bad", bad),
		},
		"a CA file that is too large": {Mode: Auto, CAFile: put("large", strings.Repeat("x", maxCAFile+1))},
		"a pin of another length":     {Mode: Strict, Pin: "c2VjcmV0LXBpbg=="},
		"a pin with blanks":           {Mode: Strict, Pin: " " + PinOf(cert.Leaf)},
		"a pin of SHA-1":              {Mode: Insecure, Pin: strings.Repeat("ab", 20)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Config(o)
			e, ok := errors.AsType[*errs.Error](err)
			if !ok || e.Code != errs.Invalid || e.Class != classTLS || e.Next == "" {
				t.Fatalf("got %#v", err)
			}
			if o.Pin != "" && strings.Contains(e.Msg+e.Next, strings.TrimSpace(o.Pin)) {
				t.Errorf("the error shows the value: %s", e.Msg)
			}
		})
	}
}

func TestEveryFailureSaysWhatToDo(t *testing.T) {
	for k := Resolve; k <= Handshake; k++ {
		f := &Failure{Kind: k, Err: errors.New("secret")}
		class, msg, next := f.Text(false)
		if msg == "" || next == "" || (class == classTLS) != (k >= Untrusted) || strings.Contains(msg+next, "secret") {
			t.Errorf("kind %d: %s %q %q", k, class, msg, next)
		}
		_, _, blocked := f.Text(true)
		if (blocked != next) != (k == NoAnswer) {
			t.Errorf("kind %d after a refused key: %q", k, blocked)
		}
	}
	if _, _, next := (&Failure{Kind: Untrusted, Pin: "PIN"}).Text(false); !strings.Contains(next, "PIN") {
		t.Errorf("no pin to compare: %s", next)
	}
}

// Package peektest owns an appliance that shows a certificate and listens, for the tests
// of install and its inner packages. Tests alone import it; it must never be linked into
// a program, which would then hold a key that everybody has.
package peektest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// Certificate says what the appliance shows.
type Certificate struct {
	CommonName string
	DNS        []string
	IP         []net.IP
	End        time.Duration // from now
	CA         bool          // an authority of its own, sent along, signs it; else itself
}

// Appliance is a TLS server that counts.
type Appliance struct {
	Ended chan struct{} // has a value for every conversation that is over
	Port  string
	CAPEM []byte // the authority, or the certificate itself
	CA    *x509.Certificate

	mu         sync.Mutex
	handshakes int
	said       []byte
}

// Serve starts one on the loopback address.
func Serve(tb testing.TB, c Certificate) *Appliance {
	tb.Helper()
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	end := time.Now().Add(c.End)
	template := func(n int64, cn string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(n), Subject: pkix.Name{CommonName: cn},
			NotBefore: end.Add(-48 * time.Hour), NotAfter: end, BasicConstraintsValid: true,
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := template(2, c.CommonName)
	leaf.DNSNames, leaf.IPAddresses, leaf.ExtKeyUsage = c.DNS, c.IP, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	issuer, issuerKey := leaf, key
	var chain [][]byte
	if c.CA {
		issuer = template(1, c.CommonName+" CA")
		issuer.IsCA, issuer.KeyUsage = true, x509.KeyUsageCertSign
		issuerKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(err)
		der, err := x509.CreateCertificate(rand.Reader, issuer, issuer, &issuerKey.PublicKey, issuerKey)
		must(err)
		issuer, err = x509.ParseCertificate(der)
		must(err)
		chain = append(chain, der)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, issuer, &key.PublicKey, issuerKey)
	must(err)
	chain = append([][]byte{der}, chain...)
	a := &Appliance{Ended: make(chan struct{}, 1000)}
	a.CA, err = x509.ParseCertificate(chain[len(chain)-1])
	must(err)
	a.CAPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.CA.Raw})

	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	tb.Cleanup(func() { _ = l.Close() })
	_, a.Port, err = net.SplitHostPort(l.Addr().String())
	must(err)
	cfg := &tls.Config{Certificates: []tls.Certificate{{Certificate: chain, PrivateKey: key}}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go a.talk(tls.Server(c, cfg))
		}
	}()
	return a
}

func (a *Appliance) talk(c *tls.Conn) {
	defer func() {
		_ = c.Close() // nothing of ours was on its way
		select {
		case a.Ended <- struct{}{}:
		default: // nobody counts so many
		}
	}()
	if c.Handshake() != nil {
		return
	}
	a.mu.Lock()
	a.handshakes++
	a.mu.Unlock()
	b, _ := io.ReadAll(c)
	a.mu.Lock()
	a.said = append(a.said, b...)
	a.mu.Unlock()
}

// Saw returns how many handshakes there were, and what was said after them.
func (a *Appliance) Saw() (handshakes int, said []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.handshakes, a.said
}

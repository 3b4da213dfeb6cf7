// Package loopback is what the pretend servers of the tests have in common: a
// listener on loopback, a fresh certificate authority, a server that says
// nothing.
//
// Only tests and their programs import it. It never listens on an address that
// another machine reaches.
package loopback

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"

	"pfsensemcp/test/trial"
)

// ErrOutside is the answer to any other address.
var ErrOutside = errors.New("pretend servers listen on loopback only")

// Listen listens on a loopback address and on no other.
func Listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if a, ok := ln.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(ErrOutside, ln.Close())
	}
	return ln, nil
}

// Names are what a server's certificate is for.
type Names struct {
	Authority, Server string // common names
	DNS               []string
	IP                []net.IP
}

// Identity is a fresh authority and a certificate that it signed.
type Identity struct {
	CAPEM []byte
	Leaf  tls.Certificate
	Pin   string // base64 of the SHA-256 of the certificate's public key (SPKI)
}

// Issue makes an identity that is good from an hour before now for three months: longer
// than anybody warns ahead.
func Issue(n Names, now time.Time) (*Identity, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: n.Authority},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(90 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: n.Server}, DNSNames: n.DNS, IPAddresses: n.IP,
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(spki)
	return &Identity{
		CAPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
		Leaf:  tls.Certificate{Certificate: [][]byte{der, caDER}, PrivateKey: key},
		Pin:   base64.StdEncoding.EncodeToString(sum[:]),
	}, nil
}

// Server returns an HTTP server that logs nothing and calls connected for each
// new connection.
func Server(h http.Handler, conf *tls.Config, connected func()) *http.Server {
	return &http.Server{
		Handler:           h,
		TLSConfig:         conf,
		ReadHeaderTimeout: 5 * time.Minute, // executord connects, and reads elsewhere before it sends
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, st http.ConnState) {
			if st == http.StateNew {
				connected()
			}
		},
	}
}

// For gives a server to a test: it ends with the test, and the test fails when
// it did not start.
func For[S interface{ Close() }](t trial.T, s S, err error) S {
	t.Helper()
	if err != nil {
		t.Fatalf("pretend server: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

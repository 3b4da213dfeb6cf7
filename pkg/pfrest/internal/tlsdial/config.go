// Package tlsdial owns whom we believe to be the appliance: the TLS modes, the
// certificate pin and the dial that ends with a verified handshake. Only pfrest
// may import it; of ours it imports errs and wiped alone.
//
// It must never return a connection whose peer was not authenticated as the
// mode says: bytes, and with them the API key, can be written only to what
// Dial returned.
//
// The attack it stops: somebody in the path, or on the appliance's address,
// who collects the key or answers in the firewall's place.
package tlsdial

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// The modes. A pin may be added to each: with Strict and Auto it is a further
// check on top of the chain; with Insecure it is the only check and what
// authenticates the appliance, name and validity being ignored.
const (
	Strict   = "strict"   // the system's authorities
	Auto     = "auto"     // the authorities of the CA file and no other
	Insecure = "insecure" // no chain: without a pin, anybody
)

// Options say whom to believe. They come from settings that conf checked for
// form; New checks them again, since it is the last place that can.
type Options struct {
	Mode   string // Strict, Auto or Insecure; "" is Strict
	CAFile string // PEM; required with Auto, refused otherwise
	Pin    string // SHA-256 of the leaf's SubjectPublicKeyInfo in base64 or hex; "" for none
	Host   string // name or address that the certificate must be for
}

// maxCAFile bounds the CA file: the largest system bundles are a quarter of it.
const maxCAFile = 1 << 20

// Config returns the TLS settings for o: TLS 1.2 or newer, HTTP/1.1, and every
// check in place. Errors are errs.Invalid and name the setting, never a value.
func Config(o Options) (*tls.Config, error) {
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		ServerName: o.Host,
		// No session cache: every connection shows its certificate anew.
	}
	switch o.Mode {
	case Strict, "", Insecure:
		if o.CAFile != "" {
			return nil, invalid("the CA file is set, but the TLS mode does not use one", "remove the CA file or set the TLS mode to auto")
		}
		cfg.InsecureSkipVerify = o.Mode == Insecure
	case Auto:
		roots, err := readCAs(o.CAFile)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = roots
	default:
		return nil, invalid("the TLS mode is none of strict, auto and insecure", "set the TLS mode to strict or auto")
	}
	if o.Pin == "" {
		return cfg, nil
	}
	want, err := parsePin(o.Pin)
	if err != nil {
		return nil, err
	}
	// VerifyConnection runs after the chain check where there is one, and on
	// every handshake. Only the leaf counts: it is the one certificate whose
	// key the peer has just proven to hold.
	cfg.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return &pinError{}
		}
		got := spki(s.PeerCertificates[0])
		if subtle.ConstantTimeCompare(got[:], want) != 1 {
			return &pinError{leaf: s.PeerCertificates[0]}
		}
		return nil
	}
	return cfg, nil
}

// pinError says that the leaf's key is not the pinned one.
type pinError struct{ leaf *x509.Certificate }

func (*pinError) Error() string { return "certificate does not match the pin" }

func spki(c *x509.Certificate) [sha256.Size]byte { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// PinOf returns the pin of a certificate in the form that settings take.
func PinOf(c *x509.Certificate) string {
	sum := spki(c)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// parsePin reads 32 bytes in standard base64 or in hex with or without colons,
// the forms that openssl prints.
func parsePin(s string) ([]byte, error) {
	if b, err := hex.DecodeString(strings.ReplaceAll(s, ":", "")); err == nil && len(b) == sha256.Size {
		return b, nil
	}
	if b, err := base64.StdEncoding.Strict().DecodeString(s); err == nil && len(b) == sha256.Size {
		return b, nil
	}
	return nil, invalid("the TLS pin is not a SHA-256 in base64 (44 characters) or hex (64 digits)",
		"give the SHA-256 of the certificate's public key (SPKI), compared on the appliance's console")
}

// readCAs reads the authorities of mode auto: a regular file, bounded, with at
// least one certificate, each of which parses. A pool with none, or less than
// the file's author believes, would only show later as a failing handshake.
func readCAs(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, invalid("TLS mode auto needs a CA file, and none is set", "set the CA file or set the TLS mode to strict")
	}
	// Non-blocking, so that a FIFO in the file's place cannot hang the start.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "the CA file cannot be opened").WithClass(classTLS).WithNext("check the path of the CA file and who may read it")
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return nil, invalid("the CA file is not a regular file", "give the path of a PEM file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCAFile+1))
	if err != nil || len(data) > maxCAFile {
		return nil, invalid("the CA file cannot be read or is larger than 1 MiB", "give a PEM file with the appliance's CA certificate")
	}
	pool, n := x509.NewCertPool(), 0
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, invalid("the CA file holds something other than certificates", "give a PEM file with nothing but CA certificates")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errs.Wrap(err, errs.Invalid, "the CA file holds a certificate that does not parse").WithClass(classTLS).WithNext("export the CA certificate from the appliance again")
		}
		pool.AddCert(c)
		n++
	}
	if n == 0 {
		return nil, invalid("the CA file holds no certificate", "give a PEM file with the appliance's CA certificate")
	}
	return pool, nil
}

// The classes of what goes wrong here; refused settings are of class tls.
const (
	classTLS        = "tls"
	classConnection = "connection"
)

func invalid(msg, next string) error {
	return errs.New(errs.Invalid, msg).WithClass(classTLS).WithNext(next)
}

// verificationOf returns the certificate that a failed handshake refused, or nil.
func verificationOf(err error) *x509.Certificate {
	if p, ok := errors.AsType[*pinError](err); ok {
		return p.leaf
	}
	if v, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(v.UnverifiedCertificates) > 0 {
		return v.UnverifiedCertificates[0]
	}
	return nil
}

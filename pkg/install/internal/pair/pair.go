// Package pair owns the files by which executord and a witness host know each other: a
// certificate to believe, one to show, and the key of that.
//
// install alone imports it. It must never put a byte of a key into an error, nor let one
// pass for a certificate, which everybody may read.
//
// The attack it stops: a private key in a file that is made readable for everybody.
package pair

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/secretfile"
)

// The names of the files in the directory that a person gives.
const (
	CA   = "ca.pem"   // the authority of the witness host's certificate
	Cert = "cert.pem" // the certificate that it knows executord by
	Key  = "key.pem"  // the key of that
)

// maxFile bounds a file of certificates, in bytes; executord takes no larger one.
const maxFile = 256 << 10

func refuse(msg, next string) error {
	return errs.New(errs.Invalid, msg).WithClass("configuration").WithNext(next)
}

// Certificates reads a PEM file whose first block is a certificate that holds now.
func Certificates(path string, now time.Time) ([]byte, error) {
	name := filepath.Base(path)
	b, err := read(path)
	if err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "the file "+name+" for the witness host cannot be read, or is no regular file of at most 256 KiB").WithClass("configuration").
			WithNext("put " + CA + ", " + Cert + " and " + Key + " into one directory and give that: --witness DIR")
	}
	block, _ := pem.Decode(b)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, refuse("the file "+name+" for the witness host is no PEM file that begins with a certificate", "put the certificate into it, in PEM")
	}
	if bytes.Contains(b, []byte("PRIVATE KEY-----")) {
		return nil, refuse("a private key is in the file "+name+" for the witness host, which everybody will read", "leave the certificate alone in it; the key belongs into "+Key)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, refuse("the certificate in the file "+name+" for the witness host cannot be read", "make it anew")
	}
	if now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return nil, refuse("the certificate in the file "+name+" for the witness host is good from "+day(c.NotBefore)+" to "+day(c.NotAfter)+" only", "make a new one, and check the clock here")
	}
	return b, nil
}

func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxFile {
		return nil, errs.Wrap(err, errs.Invalid, "it is not such a file")
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// day is a time as people compare it.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// PrivateKey reads a private key and holds it against its certificate.
func PrivateKey(path string, chain []byte) ([]byte, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "--witness names no directory")
	}
	s, err := secretfile.Read(abs, secretfile.Options{Setting: "--witness, " + Key, Whole: true})
	if err != nil {
		return nil, err
	}
	defer s.Zero()
	if _, err := tls.X509KeyPair(chain, s.Bytes()); err != nil {
		// The library's error may quote the file.
		return nil, refuse("the file "+Key+" does not hold the key of the certificate in "+Cert, "give the two that were made together, the key in PEM without a passphrase")
	}
	return slices.Clone(s.Bytes()), nil
}

// Fingerprint is how a witness host lists the first certificate of a file.
func Fingerprint(chain []byte) string {
	block, _ := pem.Decode(chain)
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return hex.EncodeToString(sum[:])
}

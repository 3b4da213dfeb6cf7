// Package mutual owns whom executord believes about a witness host, and what it shows the
// witness of itself.
//
// The package anchor alone imports it. It must never believe another authority than the
// named one, nor put a byte of a key file into an error.
//
// The attack it stops: another host that answers for the counter.
package mutual

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"os"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/secretfile"
)

// maxPEM bounds a certificate file in bytes.
const maxPEM = 256 << 10

// Files are the PEM files of a connection. They are read once.
type Files struct {
	Host           string // the name or address that the witness's certificate must bear
	ServerCA       string // the only authorities that are believed about the witness
	ClientCert     string
	ClientKey      string // a secret: owner-only, at most 4096 bytes
	CredentialsDir string // $CREDENTIALS_DIRECTORY, "" without systemd
}

// Config reads the files. What it refuses is errs.Invalid of class configuration and
// names the setting.
func Config(f Files) (*tls.Config, error) {
	roots, err := readPEM("anchor.remote.server_ca", f.ServerCA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(roots) {
		return nil, setting("anchor.remote.server_ca", "names a file without a certificate")
	}
	chain, err := readPEM("anchor.remote.client_cert", f.ClientCert)
	if err != nil {
		return nil, err
	}
	key, err := secretfile.Read(f.ClientKey, secretfile.Options{Setting: "anchor.remote.client_key", CredentialsDir: f.CredentialsDir, Whole: true})
	if err != nil {
		return nil, err
	}
	defer key.Zero()
	pair, err := tls.X509KeyPair(chain, key.Bytes())
	if err != nil {
		// The library's error may quote the file.
		return nil, setting("anchor.remote.client_key", "does not hold the key of the certificate in anchor.remote.client_cert")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: f.Host, Certificates: []tls.Certificate{pair},
	}, nil
}

func setting(name, what string) error {
	return errs.New(errs.Invalid, "the setting "+name+" "+what).WithClass("configuration")
}

// readPEM reads a file of certificates, which is no secret.
func readPEM(name, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "the file of the setting "+name+" cannot be opened").WithClass("configuration")
	}
	defer func() { _ = f.Close() }() // opened for reading
	b, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if p, _ := pem.Decode(b); err != nil || len(b) > maxPEM || p == nil {
		return nil, setting(name, "names a file that is not PEM, or larger than 256 KiB")
	}
	return b, nil
}

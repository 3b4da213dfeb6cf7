//go:build pfsense_demo

package main

import (
	"crypto/x509"
	"net/netip"
	"os"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/docfetch"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/sandbox"
)

// A test build says so in version and status, and is never packaged.
const testBuild = true

// place is where the documentation site is played: on a loopback address, by a
// program with an authority of its own. Without the two settings a test build
// asks the real site as the shipped one does.
type place struct {
	DocsAddress string `toml:"docs_address" help:"Test build: loopback address and port where the documentation site is played."`
	DocsCAFile  string `toml:"docs_ca_file" help:"Test build: the authority of the site that is played."`

	roots *x509.CertPool
}

// Check implements conf's hook.
func (p *place) Check(r *conf.Report) {
	if (p.DocsAddress == "") != (p.DocsCAFile == "") {
		r.Fault("docs_address", "goes with docs_ca_file")
	}
	if p.DocsAddress == "" {
		return
	}
	if at, err := netip.ParseAddrPort(p.DocsAddress); err != nil || !at.Addr().IsLoopback() || at.Port() == 0 {
		r.Fault("docs_address", "is a loopback address and a port, such as 127.0.0.1:4443")
	}
}

// read reads the authority, before the sandbox shuts the file off.
func (p *place) read() error {
	if p.DocsCAFile == "" {
		return nil
	}
	pem, err := os.ReadFile(p.DocsCAFile)
	if err != nil {
		return errs.Wrap(err, errs.Invalid, "the file of docs_ca_file cannot be read")
	}
	if p.roots = x509.NewCertPool(); !p.roots.AppendCertsFromPEM(pem) {
		return errs.New(errs.Invalid, "the file of docs_ca_file holds no certificate")
	}
	return nil
}

func (p *place) at() netip.AddrPort {
	at, _ := netip.ParseAddrPort(p.DocsAddress) // checked with the settings
	return at
}

func (p *place) profile(s sandbox.Profile) sandbox.Profile {
	if p.DocsAddress != "" {
		s.TCP = append(s.TCP, p.at().Port())
	}
	return s
}

func (p *place) config(c docfetch.Config) (docfetch.Config, error) {
	if p.DocsAddress == "" {
		return c, nil
	}
	return docfetch.Loopback(c, p.at(), p.roots)
}

// Package peek owns the one look that mcpctl setup takes at the appliance: a TLS
// handshake, after which the connection is closed.
//
// install alone imports it. It must never send a byte of HTTP, a key, or a second
// handshake, and believes nothing: it says what the certificate is and by whom it
// could be believed, and a person compares.
//
// The attack it stops: a key that goes to whoever answers at the address, because the
// tool for setting up had no better advice than to switch verification off.
package peek

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/textsafe"
)

// Within bounds connecting and handshake together.
const Within = 15 * time.Second

const (
	maxText  = 200 // bytes of one text of a certificate
	maxNames = 8   // names of a certificate that are shown
	maxAddrs = 16  // addresses of a name
)

// Target is where the appliance is.
type Target struct {
	Host string // name or address, without brackets
	Port uint16
}

// Parse reads https://host[:port], and nothing else. Errors are errs.Invalid.
func Parse(s string) (Target, error) {
	bad := errs.New(errs.Invalid, "the appliance's URL is not of the form https://host[:port]").WithClass("configuration").
		WithNext("give scheme https, the firewall's name or address, and a port when it is not 443")
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Opaque != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return Target{}, bad
	}
	t := Target{Host: u.Hostname(), Port: 443}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return Target{}, bad
		}
		t.Port = uint16(n)
	} else if strings.HasSuffix(u.Host, ":") {
		return Target{}, bad
	}
	if ip, err := netip.ParseAddr(t.Host); err == nil {
		if ip.Zone() != "" {
			return Target{}, bad
		}
		t.Host = ip.String()
		return t, nil
	}
	if len(t.Host) == 0 || len(t.Host) > 253 || t.Host[0] == '-' || t.Host[0] == '.' || strings.ContainsFunc(t.Host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	}) {
		return Target{}, bad
	}
	t.Host = strings.ToLower(t.Host)
	return t, nil
}

// IsName says whether the host has to be resolved.
func (t Target) IsName() bool { _, err := netip.ParseAddr(t.Host); return err != nil }

// URL is the target as a setting.
func (t Target) URL() string {
	if t.Port == 443 {
		if strings.Contains(t.Host, ":") {
			return "https://[" + t.Host + "]"
		}
		return "https://" + t.Host
	}
	return "https://" + t.address()
}

func (t Target) address() string { return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))) }

// Trust says by whom a certificate is believed.
type Trust string

// The answers.
const (
	Believed  Trust = "believed"
	Unknown   Trust = "unknown_authority"
	WrongName Trust = "another_name"
	NotValid  Trust = "not_valid_now"
)

// Seen is what one handshake showed. Its texts are an outsider's, cleaned.
type Seen struct {
	Target
	Addrs               []netip.Addr // of the host, sorted
	Subject, Issuer     string
	Names               []string // that the certificate is for
	NotBefore, NotAfter time.Time
	Pin                 string // SHA-256 of its public key, base64, as tls_pin takes it
	SHA256              string // of the certificate, hex with colons, as browsers show it

	System Trust  // by this host's authorities
	File   Trust  // by the CA file that was given; "" without one
	Itself Trust  // by the last certificate that the appliance sends, when that is its own issuer; else ""
	Anchor []byte // that certificate, PEM; nil without one
}

// Options are how the look is taken.
type Options struct {
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Roots  *x509.CertPool // nil: this host's
	CAFile []byte         // PEM; nil without one
	Now    time.Time
}

// Look makes one handshake. The classes of its errors are connection and tls.
func Look(ctx context.Context, t Target, o Options) (*Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	var pool *x509.CertPool
	if o.CAFile != nil {
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM(o.CAFile) {
			return nil, errs.New(errs.Invalid, "the CA file holds no certificate").WithClass("tls").WithNext("give a PEM file with the appliance's CA certificate")
		}
	}
	addrs, err := t.Addresses(ctx, o.Lookup)
	if err != nil {
		return nil, err
	}
	chain, err := handshake(ctx, t, o)
	if err != nil {
		return nil, err
	}
	return t.seen(chain, addrs, pool, o), nil
}

// Addresses are those of the host, sorted.
func (t Target) Addresses(ctx context.Context, lookup func(ctx context.Context, host string) ([]netip.Addr, error)) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(t.Host); err == nil {
		return []netip.Addr{ip}, nil
	}
	addrs, err := lookup(ctx, t.Host)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap().WithZone("")
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	addrs = slices.Compact(addrs)
	if err != nil || len(addrs) == 0 || len(addrs) > maxAddrs {
		return nil, errs.Wrap(err, errs.Unavailable, "the appliance's name has no address, or more than 16").WithClass("connection").
			WithNext("check the name, or give the address")
	}
	return addrs, nil
}

// handshake connects, lets the appliance show its certificates and prove its key, and
// hangs up.
func handshake(ctx context.Context, t Target, o Options) ([]*x509.Certificate, error) {
	raw, err := o.Dial(ctx, "tcp", t.address())
	if err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "the appliance cannot be reached at this address and port").WithClass("connection").
			WithNext("check address and port, and whether the appliance's rules let this host in")
	}
	defer func() { _ = raw.Close() }() // nothing was said on it that could be lost
	c := tls.Client(raw, &tls.Config{
		ServerName: t.Host, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		// Nothing is sent on this connection. What it shows is judged in seen, in
		// more ways than one, and then by a person.
		InsecureSkipVerify: true,
	})
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "what answers there does not speak TLS 1.2 or newer").WithClass("tls").
			WithNext("is the web interface on another port, or set to HTTP?")
	}
	chain := c.ConnectionState().PeerCertificates
	if len(chain) == 0 {
		return nil, errs.New(errs.Unavailable, "the appliance showed no certificate").WithClass("tls").WithNext("set one in its web interface")
	}
	return chain, nil
}

func (t Target) seen(chain []*x509.Certificate, addrs []netip.Addr, pool *x509.CertPool, o Options) *Seen {
	leaf := chain[0]
	spki, whole := sha256.Sum256(leaf.RawSubjectPublicKeyInfo), sha256.Sum256(leaf.Raw)
	s := &Seen{
		Target: t, Addrs: addrs,
		Subject: textsafe.Clean(leaf.Subject.String(), maxText), Issuer: textsafe.Clean(leaf.Issuer.String(), maxText),
		NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		Pin: base64.StdEncoding.EncodeToString(spki[:]), SHA256: colons(whole[:]),
	}
	for _, ip := range leaf.IPAddresses {
		s.Names = append(s.Names, ip.String())
	}
	for _, n := range leaf.DNSNames {
		s.Names = append(s.Names, textsafe.Clean(n, maxText))
	}
	s.Names = s.Names[:min(len(s.Names), maxNames)]
	s.System = t.judge(chain, o.Roots, o.Now)
	if pool != nil {
		s.File = t.judge(chain, pool, o.Now)
	}
	// A certificate that a person has compared may be the anchor of its own chain: a
	// firewall's own authority, or its self-signed certificate.
	if last := chain[len(chain)-1]; last.CheckSignatureFrom(last) == nil || len(chain) == 1 && selfSigned(last) {
		own := x509.NewCertPool()
		own.AddCert(last)
		s.Itself = t.judge(chain, own, o.Now)
		s.Anchor = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: last.Raw})
	}
	return s
}

// selfSigned says whether a certificate, an authority or not, is signed by its own key.
func selfSigned(c *x509.Certificate) bool {
	return c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// judge says whether these authorities believe the chain.
func (t Target) judge(chain []*x509.Certificate, roots *x509.CertPool, now time.Time) Trust {
	o := x509.VerifyOptions{DNSName: t.Host, Roots: roots, CurrentTime: now, Intermediates: x509.NewCertPool()}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(o)
	switch {
	case err == nil:
		return Believed
	case isType[x509.HostnameError](err):
		// The name is looked at before the signatures: an unknown authority is the
		// worse of two faults.
		o.DNSName = ""
		if _, err := chain[0].Verify(o); err != nil && !invalid(err) {
			return Unknown
		}
		return WrongName
	case invalid(err):
		return NotValid
	}
	return Unknown
}

func isType[E error](err error) bool { _, ok := errors.AsType[E](err); return ok }

func invalid(err error) bool {
	e, ok := errors.AsType[x509.CertificateInvalidError](err)
	return ok && e.Reason == x509.Expired
}

func colons(b []byte) string {
	parts := make([]string, len(b))
	for i := range b {
		parts[i] = strings.ToUpper(hex.EncodeToString(b[i : i+1]))
	}
	return strings.Join(parts, ":")
}

// SamePin compares a pin that a person gave, in base64 or in hex with or without
// colons, with the one that was seen.
func (s *Seen) SamePin(given string) bool {
	if b, err := hex.DecodeString(strings.ReplaceAll(given, ":", "")); err == nil && len(b) == sha256.Size {
		given = base64.StdEncoding.EncodeToString(b)
	}
	return given == s.Pin
}

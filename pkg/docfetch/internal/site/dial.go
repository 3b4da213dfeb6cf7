package site

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// Bounds of one connection.
const (
	connectTimeout   = 5 * time.Second
	handshakeTimeout = 10 * time.Second
	readTimeout      = 15 * time.Second // between two arrivals of bytes
)

// dialer makes verified connections to the one host. The zero value of at and
// roots is what ships: the host by its name, the system's authorities.
type dialer struct {
	at    netip.AddrPort // test builds alone: where the host is played
	roots *x509.CertPool // test builds alone: whom to believe

	// Tests alone: added to every bound. How long a busy host takes with a site that
	// is not slow is not what they ask.
	patience time.Duration
}

// dial is http.Transport.DialTLSContext.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" || addr != Host+":443" {
		return nil, NotAllowed
	}
	roots, err := d.authorities()
	if err != nil {
		return nil, err
	}
	allowed := public
	if d.at.IsValid() {
		addr, allowed = d.at.String(), netip.Addr.IsLoopback
	}
	nd := net.Dialer{
		Timeout:   connectTimeout + d.patience,
		KeepAlive: -1,
		// Every address that the name led to is looked at before a packet is
		// sent to it: a name server cannot point us inside.
		ControlContext: control(allowed),
	}
	// Landlock's TCP rules do not cover Multipath TCP: plain TCP only.
	nd.SetMultipathTCP(false)
	raw, err := nd.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	// And once more the one that the kernel says we are connected to.
	if err := permit("tcp", raw.RemoteAddr().String(), allowed); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	c := tls.Client(patient{raw, readTimeout + d.patience}, &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: Host,
		RootCAs:    roots,
		NextProtos: []string{"http/1.1"},
	})
	hctx, cancel := context.WithTimeout(ctx, handshakeTimeout+d.patience)
	defer cancel()
	if err := c.HandshakeContext(hctx); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return c, nil
}

// control is net.Dialer.ControlContext: it runs on each address before the
// connection to it begins.
func control(allowed func(netip.Addr) bool) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		return permit(network, address, allowed)
	}
}

// permit refuses an address that is not allowed.
func permit(network, address string, allowed func(netip.Addr) bool) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || len(network) < 3 || network[:3] != "tcp" || !allowed(ap.Addr().Unmap()) {
		return NotAllowed
	}
	return nil
}

// special are the networks inside the unicast space that are not the public
// internet, by the registries of special-purpose addresses. What net/netip knows
// by itself (private, loopback, link-local, multicast, unspecified) is not
// repeated.
var special = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // Teredo, which carries an IPv4 address, among them
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4, which carries an IPv4 address
	netip.MustParsePrefix("3fff::/20"),
}

// global is the part of the IPv6 space that is given out.
var global = netip.MustParsePrefix("2000::/3")

// public says whether an address is one of the public internet.
func public(a netip.Addr) bool {
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Zone() != "" || a.Is4In6() {
		return false
	}
	if a.Is6() && !global.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// patient is a connection on which each read and write has its own deadline.
type patient struct {
	net.Conn
	within time.Duration
}

func (p patient) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(p.within)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

func (p patient) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(p.within)); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

// bundles are where distributions keep their authorities. They are read by us,
// because crypto/x509 would also read what SSL_CERT_FILE and SSL_CERT_DIR name:
// nobody adds an authority through the environment.
var bundles = [...]string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/var/lib/ca-certificates/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// maxBundle bounds a bundle of authorities; Debian's has a quarter of a megabyte.
const maxBundle = 4 << 20

var errNoAuthorities = errors.New("no certificate authorities of the system were found")

// authorities returns whom to believe. They are read anew for each connection,
// of which there are a few an hour: an update of the system counts at once, and
// nothing is kept meanwhile.
func (d *dialer) authorities() (*x509.CertPool, error) {
	if d.roots != nil {
		return d.roots, nil
	}
	return authoritiesIn(bundles[:])
}

func authoritiesIn(paths []string) (*x509.CertPool, error) {
	for _, path := range paths {
		pem, err := readBundle(path)
		if err != nil {
			continue
		}
		if pool := x509.NewCertPool(); pool.AppendCertsFromPEM(pem) {
			return pool, nil
		}
	}
	return nil, errNoAuthorities
}

func readBundle(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBundle))
}

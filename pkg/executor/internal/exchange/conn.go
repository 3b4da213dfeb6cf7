package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/secretfile"
)

// The bounds of one exchange. A stale write lock is answered after 61 s and the
// appliance's web server gives up at 180 s: a shorter wait would turn both into
// something that people have to settle.
const (
	dialTime     = 10 * time.Second // name, TCP and TLS together
	writeTime    = 10 * time.Second
	responseTime = 200 * time.Second // from the last byte of the request to the response's header
	overallTime  = 215 * time.Second // from the first byte of the request to the last of the answer

	defaultAgent = "pfsense-mcp"
)

// Config is what New needs. BaseURL, TLS and Key are required.
type Config struct {
	BaseURL   string      // https://host[:port], no path
	TLS       *tls.Config // of pfrest.ClientTLS in mode strict or auto; copied
	Key       secretfile.Secret
	UserAgent string // "" is pfsense-mcp

	// Dial, Write, Response and Overall are for tests; 0 is 10 s, 10 s, 200 s and 215 s.
	Dial, Write, Response, Overall time.Duration
}

// Exchanger makes connections for single exchanges with one appliance. Safe for
// concurrent use.
type Exchanger struct {
	addr, host, agent string
	tls               *tls.Config
	key               secretfile.Secret

	dial, write, response, overall time.Duration
}

// New checks c and returns an exchanger; nothing is dialled. Errors are
// errs.Invalid.
func New(c Config) (*Exchanger, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || (u.Path != "" && u.Path != "/") {
		return nil, errs.New(errs.Invalid, "the API URL is not of the form https://host[:port]").
			WithNext("give scheme https, the firewall's name or address, and a port when it is not 443")
	}
	t := c.TLS
	if t == nil || t.InsecureSkipVerify || t.MinVersion < tls.VersionTLS12 || t.ServerName != u.Hostname() ||
		!slices.Equal(t.NextProtos, []string{"http/1.1"}) || t.ClientSessionCache != nil || t.KeyLogWriter != nil {
		return nil, errs.New(errs.Invalid, "the TLS settings do not authenticate the appliance, or allow more than HTTP/1.1 over TLS 1.2").
			WithNext("set appliance.tls_mode to strict or auto")
	}
	if len(c.Key.Bytes()) == 0 || len(c.Key.Bytes()) > 4096 || !visible(c.Key.Bytes()) {
		return nil, errs.New(errs.Invalid, "the write API key is empty, too long, or holds a byte that no header can carry").
			WithNext("put the key, in visible ASCII, into the key file's first line")
	}
	x := &Exchanger{
		addr: u.Host, host: u.Host, agent: c.UserAgent,
		tls: t.Clone(), key: secretfile.New(c.Key.Bytes()),
	}
	if x.agent == "" {
		x.agent = defaultAgent
	}
	if u.Port() == "" {
		x.addr = net.JoinHostPort(u.Hostname(), "443")
	}
	for _, d := range []struct {
		to            *time.Duration
		given, normal time.Duration
	}{{&x.dial, c.Dial, dialTime}, {&x.write, c.Write, writeTime}, {&x.response, c.Response, responseTime}, {&x.overall, c.Overall, overallTime}} {
		if *d.to = d.given; d.given == 0 {
			*d.to = d.normal
		}
		if *d.to < 0 {
			return nil, errs.New(errs.Invalid, "a time limit is negative")
		}
	}
	if !visible([]byte(x.agent)) || !visible([]byte(x.host)) {
		return nil, errs.New(errs.Invalid, "the API URL or the user agent holds a byte that no header can carry")
	}
	return x, nil
}

// visible says that b is ASCII without blanks and control characters, which is
// what may stand in a header line.
func visible(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c <= ' ' || c > '~' })
}

// Conn is one authenticated connection for one exchange.
type Conn struct {
	x   *Exchanger
	raw net.Conn

	mu   sync.Mutex // held during Send: nobody closes the connection under it
	tls  *tls.Conn
	sent int64 // application bytes given to tls
	used bool
	may  func() bool // asked before the first byte
}

// Ask has Send ask at the very last, when nothing is left to do but to write; an answer
// of false sends nothing.
func (c *Conn) Ask(may func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.may = may
}

// Connect dials and finishes the handshake. No application byte is sent: every
// error is of class not_sent.
func (x *Exchanger) Connect(ctx context.Context) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, x.dial)
	defer cancel()
	var d net.Dialer
	d.SetMultipathTCP(false) // Landlock's TCP rules do not cover it
	raw, err := d.DialContext(ctx, "tcp", x.addr)
	if err != nil {
		msg := "no connection to the appliance could be made"
		if _, ok := errors.AsType[*net.DNSError](err); ok {
			msg = "the appliance's name has no address"
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			msg = "the appliance refused the connection"
		}
		return nil, notSent(msg, err)
	}
	c := tls.Client(raw, x.tls)
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, notSent("the appliance was not believed, or did not finish the TLS handshake", err)
	}
	if s := c.ConnectionState(); len(s.VerifiedChains) == 0 || s.NegotiatedProtocol != "" && s.NegotiatedProtocol != "http/1.1" {
		raw.Close()
		return nil, notSent("the appliance agreed on another protocol than HTTP/1.1", nil)
	}
	return &Conn{x: x, raw: raw, tls: c}, nil
}

// Close closes the connection, waiting for an exchange that has begun. It may be
// called more than once.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.close()
}

// close closes without the goodbye of TLS, which could block. Caller holds mu.
func (c *Conn) close() error {
	if c.tls == nil {
		return nil
	}
	c.tls, c.used = nil, true
	return c.raw.Close()
}

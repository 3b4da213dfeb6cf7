package tlsdial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"pfsensemcp/pkg/pfrest/internal/wiped"
)

// Kind says which step of connecting failed.
type Kind uint8

// The steps that can fail.
const (
	Resolve     Kind = iota // the name has no address
	Refused                 // something answered: nothing listens there
	NoAnswer                // nothing answered within the time
	Unreachable             // any other failure of the connection
	Untrusted               // the certificate's authority is not believed
	WrongName               // the certificate is for another name
	NotValid                // the certificate has expired or is not valid yet
	PinMismatch             // the certificate's key is not the pinned one
	Handshake               // any other failure of the handshake
)

// Failure is a connection that was not made. Its text is fixed; the cause is
// kept for errors.Is and never shown.
type Failure struct {
	Kind Kind
	Pin  string // of the certificate that was shown, when one was
	Err  error
}

func (f *Failure) Error() string { return "connection was not made" }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// ReadBuffer is the read buffer that goes with a connection of Dial.
const ReadBuffer = wiped.ReadBuffer

// Dialer makes verified connections. Safe for concurrent use.
type Dialer struct {
	tls     *tls.Config
	timeout time.Duration
	net     net.Dialer
	peer    atomic.Pointer[Peer]
}

// Peer is the certificate of the newest connection that was made.
type Peer struct {
	Pin      string // of its key, as PinOf gives it
	NotAfter time.Time
}

// Peer returns the certificate of the newest connection that was made, the zero Peer
// before the first.
func (d *Dialer) Peer() Peer {
	if p := d.peer.Load(); p != nil {
		return *p
	}
	return Peer{}
}

// NewDialer returns a dialer that gives connecting and handshake together at
// most timeout.
func NewDialer(cfg *tls.Config, timeout time.Duration) *Dialer {
	d := &Dialer{tls: cfg, timeout: timeout}
	// Landlock's TCP rules do not cover Multipath TCP: plain TCP only.
	d.net.SetMultipathTCP(false)
	return d
}

// Dial connects and finishes the handshake; its signature is that of
// http.Transport.DialTLSContext, whose ReadBufferSize must be ReadBuffer. Errors
// are *Failure.
func (d *Dialer) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	raw, err := d.net.DialContext(ctx, network, addr)
	if err != nil {
		return nil, &Failure{Kind: connectKind(err), Err: err}
	}
	c := tls.Client(wiped.Records(raw), d.tls)
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		f := &Failure{Kind: handshakeKind(err), Err: err}
		if leaf := verificationOf(err); leaf != nil {
			f.Pin = PinOf(leaf)
		}
		return nil, f
	}
	if chain := c.ConnectionState().PeerCertificates; len(chain) > 0 {
		d.peer.Store(&Peer{Pin: PinOf(chain[0]), NotAfter: chain[0].NotAfter})
	}
	return wiped.Answers(c), nil
}

func connectKind(err error) Kind {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return Resolve
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return Refused
	}
	if timedOut(err) {
		return NoAnswer
	}
	return Unreachable
}

func handshakeKind(err error) Kind {
	if _, ok := errors.AsType[*pinError](err); ok {
		return PinMismatch
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return WrongName
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return NotValid
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return Untrusted
	}
	if timedOut(err) {
		return NoAnswer
	}
	return Handshake
}

func timedOut(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

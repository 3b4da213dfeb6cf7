package witness

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/pause"
	"pfsensemcp/pkg/witness/wire"
)

const (
	// maxConns bounds the connections served at a time; the TPM takes one command
	// at a time anyway.
	maxConns = 16
	// within bounds handshake and request, and later the writing of the answer.
	within = 10 * time.Second
	// readWithin bounds a reading: several commands, and a wait for their turn.
	readWithin = 12 * time.Second
	// maxRequest bounds a request in bytes, body included.
	maxRequest = 8 << 10
	// MaxClients bounds each list of certificates.
	MaxClients = 16
)

// Counter is the counter of this host. The classes of its errors are words of
// package wire.
type Counter interface {
	Read(ctx context.Context) (int64, error)
	// Advance increments once, from expected, and refuses when ctx has ended by
	// the time that it comes to it.
	Advance(ctx context.Context, expected int64) (int64, error)
	Facts(ctx context.Context) (wire.Facts, error)
}

// Fingerprint is the SHA-256 of a certificate's DER form.
type Fingerprint [sha256.Size]byte

// ParseFingerprint reads 64 hex digits in either case, with or without colons
// between the bytes.
func ParseFingerprint(s string) (f Fingerprint, err error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err != nil || len(b) != len(f) {
		return f, errs.New(errs.Invalid, "a fingerprint must be the 64 hex digits of a certificate's SHA-256").WithClass("configuration").
			WithNext("openssl x509 -in cert.pem -noout -fingerprint -sha256")
	}
	return Fingerprint(b), nil
}

// String returns 64 hex digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// Config is what a Server needs.
type Config struct {
	Counter     Counter
	Certificate tls.Certificate // of this host
	Advance     []Fingerprint   // may read and advance
	Read        []Fingerprint   // may read
	Log         *slog.Logger
	Now         func() time.Time // nil: time.Now
}

// Server answers. Its tickets are good for the life of the process.
type Server struct {
	cfg   Config
	tls   *tls.Config
	key   [32]byte // of the tickets
	start time.Time

	mu    sync.Mutex
	facts *wire.Facts // what does not change while the process lives; nil until read
}

// New checks the configuration.
func New(cfg Config) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	switch {
	case cfg.Counter == nil || cfg.Log == nil:
		return nil, errs.New(errs.Internal, "the witness lacks its counter or its log")
	case len(cfg.Certificate.Certificate) == 0:
		return nil, errs.New(errs.Invalid, "the witness has no certificate").WithClass("configuration")
	case len(cfg.Advance) == 0:
		return nil, errs.New(errs.Invalid, "no certificate may advance the counter").WithClass("configuration").
			WithNext("list the SHA-256 fingerprint of executord's certificate in clients.advance")
	case len(cfg.Advance) > MaxClients || len(cfg.Read) > MaxClients:
		return nil, errs.Newf(errs.Invalid, "more than %d certificates are listed", MaxClients).WithClass("configuration")
	}
	s := &Server{cfg: cfg, start: cfg.Now()}
	if _, err := rand.Read(s.key[:]); err != nil {
		return nil, errs.Wrap(err, errs.Internal, "no random numbers")
	}
	s.tls = &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cfg.Certificate}, NextProtos: []string{"http/1.1"},
		// The list of fingerprints is the authority; no CA could widen it.
		ClientAuth: tls.RequireAnyClientCert, VerifyConnection: s.verify, SessionTicketsDisabled: true,
	}
	return s, nil
}

var errClient = errors.New("the certificate is not listed, or out of date")

// verify admits a certificate that is listed and in date.
func (s *Server) verify(c tls.ConnectionState) error {
	if len(c.PeerCertificates) == 0 {
		return errClient
	}
	cert := c.PeerCertificates[0]
	now := s.cfg.Now()
	if !s.mayRead(fingerprint(cert)) || now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
		return errClient
	}
	return nil
}

func fingerprint(c *x509.Certificate) Fingerprint { return sha256.Sum256(c.Raw) }

func (s *Server) mayRead(f Fingerprint) bool { return listed(s.cfg.Read, f) || s.mayAdvance(f) }

func (s *Server) mayAdvance(f Fingerprint) bool { return listed(s.cfg.Advance, f) }

func listed(list []Fingerprint, f Fingerprint) (found bool) {
	for _, x := range list {
		found = found || x == f
	}
	return found
}

// Serve answers on l until ctx ends, closes l, and returns when what runs has
// ended: an increment that was issued is settled first.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // ends Accept
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	free := make(chan struct{}, maxConns)
	for {
		c, err := l.Accept()
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			if temporary(err) {
				s.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "a connection was not accepted")
				if pause.For(ctx, time.Second) != nil {
					return nil
				}
				continue
			}
			return errs.Wrap(err, errs.Internal, "the witness's listener failed")
		}
		select {
		case free <- struct{}{}:
		default:
			_ = c.Close() // nothing was read from it
			s.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "too many connections: one was closed", slog.Int(logging.KeyCount, maxConns))
			continue
		}
		running.Go(func() {
			defer func() { <-free }()
			s.connection(ctx, c)
		})
	}
}

// temporary says whether accepting may work again: the process is out of
// descriptors or memory, or the peer was gone already.
func temporary(err error) bool { return !errors.Is(err, net.ErrClosed) }

// ticket allows one advance from value, for MaxAge from now: both clocks as they
// are now, and a MAC over them and the value. 48 bytes in hex.
func (s *Server) ticket(value int64) string {
	now := s.cfg.Now()
	t := make([]byte, 16, 48)
	binary.BigEndian.PutUint64(t, uint64(now.Sub(s.start)))
	binary.BigEndian.PutUint64(t[8:], uint64(now.UnixNano()))
	return hex.EncodeToString(append(t, s.mac(t, value)...))
}

func (s *Server) mac(t []byte, value int64) []byte {
	m := hmac.New(sha256.New, s.key[:])
	m.Write(binary.BigEndian.AppendUint64(t[:16:16], uint64(value)))
	return m.Sum(nil)
}

// left returns how long an order may still be carried out, and whether its ticket
// is ours and for this value. The age is the greater of two clocks: one goes on
// while the process is stopped, the other also while the machine sleeps.
func (s *Server) left(o wire.Order) (time.Duration, bool) {
	t, err := hex.DecodeString(o.Ticket)
	if err != nil || len(t) != 48 || !hmac.Equal(t[16:], s.mac(t, o.Expected)) {
		return 0, false
	}
	now := s.cfg.Now()
	steady := now.Sub(s.start) - time.Duration(binary.BigEndian.Uint64(t))
	wall := time.Duration(now.UnixNano() - int64(binary.BigEndian.Uint64(t[8:])))
	if wall < 0 { // the clock was set back: its own size is its doubt
		wall = -wall
	}
	return wire.MaxAge - max(steady, wall), true
}

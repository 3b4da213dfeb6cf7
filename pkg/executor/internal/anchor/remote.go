package anchor

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor/internal/chip"
	"pfsensemcp/pkg/executor/internal/anchor/internal/mutual"
	"pfsensemcp/pkg/witness/wire"
)

const (
	// DefaultRemoteTimeout is how long a read may take, connecting included.
	DefaultRemoteTimeout = 15 * time.Second
	// advanceFactor times it an advance may take: the witness may have to find
	// out what became of an increment before it answers.
	advanceFactor = 4
	// maxHeader bounds the header of an answer.
	maxHeader = 8 << 10
)

// RemoteConfig says which witness host, and who we are to it. The files are read
// once, by OpenRemote.
type RemoteConfig struct {
	URL            string // https://host[:port]
	ServerCA       string // PEM file: the only authorities that are believed about the witness
	ClientCert     string // PEM file
	ClientKey      string // PEM file; a secret: owner-only, at most 4096 bytes
	CredentialsDir string // $CREDENTIALS_DIRECTORY, "" without systemd
	Index          uint32 // 0: Use tells it, or the first reading
	Name           string // the pinned Name, "" as Index
	Timeout        time.Duration
	Settle         time.Duration // 0: DefaultSettle; shorter in tests alone
}

// Remote is a counter on a witness host. It never holds the index's secret. What
// runs, runs one after the other, each on a connection of its own.
type Remote struct {
	*desk
	base    url.URL
	client  *http.Transport
	timeout time.Duration
}

// OpenRemote reads the files and checks the configuration. It connects to nothing.
func OpenRemote(cfg RemoteConfig) (*Remote, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return nil, errs.New(errs.Invalid, "the setting anchor.remote.url is not of the form https://host[:port]").WithClass("configuration")
	}
	secure, err := mutual.Config(mutual.Files{
		Host: u.Hostname(), ServerCA: cfg.ServerCA, ClientCert: cfg.ClientCert, ClientKey: cfg.ClientKey, CredentialsDir: cfg.CredentialsDir,
	})
	if err != nil {
		return nil, err
	}
	r := &Remote{
		base: url.URL{Scheme: "https", Host: u.Host}, timeout: cfg.Timeout, desk: newDesk(cfg.Settle),
		// No proxy, no second try, no other protocol, nothing kept: one request, one
		// connection, so a request that was given up is closed.
		client: &http.Transport{
			TLSClientConfig: secure,
			Protocols:       new(http.Protocols), DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		},
	}
	r.client.Protocols.SetHTTP1(true)
	if r.timeout == 0 {
		r.timeout = DefaultRemoteTimeout
	}
	if cfg.Index == 0 && cfg.Name == "" {
		return r, nil
	}
	return r, r.Use(cfg.Index, cfg.Name)
}

// Facts asks the witness. A counter that cannot be read shows no facts.
func (r *Remote) Facts(ctx context.Context) (Facts, error) {
	if err := r.take(ctx); err != nil {
		return Facts{}, err
	}
	defer r.give()
	got, err := r.reading(ctx)
	if err != nil {
		return Facts{}, err
	}
	return Facts{
		Backend: TPMRemote, Index: got.Index, Name: got.Name, Manufacturer: got.Manufacturer, EKDigest: got.EKDigest, Assurance: got.Assurance,
		Defined: true, Written: true,
	}, nil
}

// Read returns the value.
func (r *Remote) Read(ctx context.Context) (int64, error) {
	if err := r.take(ctx); err != nil {
		return 0, err
	}
	defer r.give()
	return r.read(ctx)
}

func (r *Remote) read(ctx context.Context) (int64, error) {
	got, err := r.reading(ctx)
	return got.Value, err
}

// reading asks for a reading and requires the pinned index.
func (r *Remote) reading(ctx context.Context) (wire.Reading, error) {
	status, body, err := r.exchange(ctx, r.timeout, http.MethodGet, wire.ReadPath, nil)
	if err != nil {
		return wire.Reading{}, connection(err)
	}
	if status != http.StatusOK {
		err := refusal(status, body, 0)
		if classOf(err) == ClassUnreachable {
			err = Unavailable(err, "the witness host's answer is malformed")
		}
		return wire.Reading{}, err
	}
	got, err := wire.ParseReading(body)
	if err != nil {
		return wire.Reading{}, Unavailable(err, "the witness host's answer is malformed")
	}
	return got, r.pin(got.Index, got.Name)
}

// Advance increments once, on the witness host.
func (r *Remote) Advance(ctx context.Context, expected int64) (int64, error) {
	if err := r.take(ctx); err != nil {
		return 0, err
	}
	defer r.give()
	if err := r.resolve(ctx, r.read); err != nil {
		return 0, err
	}
	got, err := r.reading(ctx)
	switch {
	case err != nil:
		return 0, err
	case got.Value != expected:
		return 0, Conflict(expected, got.Value)
	}
	order, err := wire.Order{Expected: expected, Ticket: got.Ticket}.Encode()
	if err != nil {
		return 0, Unavailable(err, "the order cannot be written")
	}
	if late(ctx) {
		return 0, Unavailable(context.DeadlineExceeded, "the time for the increment has passed")
	}
	status, body, err := r.exchange(context.WithoutCancel(ctx), advanceFactor*r.timeout, http.MethodPost, wire.AdvancePath, order)
	if err == nil {
		if status == http.StatusOK {
			if a, err := wire.ParseAdvanced(body); err == nil && a.Value == expected+1 {
				return a.Value, nil
			}
		} else if err := refusal(status, body, expected); classOf(err) != ClassUnreachable {
			return 0, err // the witness says that nothing happened, or that the value is another
		}
	}
	return r.outcome(ctx, expected, r.read)
}

// exchange sends one request on a connection of its own and reads the whole
// answer. When it returns the connection is closed or closing.
func (r *Remote) exchange(ctx context.Context, within time.Duration, method, path string, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	u := r.base
	u.Path = path
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	// RoundTrip follows no redirect and keeps no cookie.
	resp, err := r.client.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or refused
	got, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxBody+1))
	return resp.StatusCode, got, err
}

// refusal gives a witness's refusal its class. What is not one of its words says
// nothing about what happened. next is what an order expected, 0 for a reading.
func refusal(status int, body []byte, expected int64) error {
	x, err := wire.ParseRefusal(body, status)
	if err != nil {
		return Unreachable(err, "the witness's answer is malformed")
	}
	switch x.Word {
	case wire.Refused:
		return Refused(nil, "the witness host's TPM refused its secret")
	case wire.Forbidden:
		return Refused(nil, "the witness host does not let this certificate do that").
			WithNext("add the certificate's SHA-256 fingerprint to clients.advance on the witness host")
	case wire.Conflict:
		return errs.Newf(errs.Conflict, "the witness host's counter does not hold %d", expected).WithClass(ClassConflict).
			WithNext("find out who incremented it or which store was restored: mcpctl anchor status")
	case wire.Name:
		return WrongName("the witness host's index is gone, or not the pinned one")
	case wire.Lockout:
		return Locked(nil)
	case wire.Stale:
		return Unavailable(nil, "the witness host found the order too old and did nothing")
	case wire.Unavailable, wire.Malformed, wire.NoRoute:
		return Unavailable(nil, "the witness host did nothing: "+x.Word)
	}
	return Unreachable(nil, "the witness host does not know whether the counter was incremented")
}

// connection gives the error of a failed read its class and its likely reason.
func connection(err error) error {
	e := Unavailable(err, "the witness host cannot be reached")
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return Refused(err, "the witness host refused this certificate").
			WithNext("compare its SHA-256 fingerprint and dates with the witness host's settings")
	}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &unknown), errors.As(err, &name):
		e.Msg = "the host that answers is not the witness host"
		e.Next = "compare anchor.remote.url and anchor.remote.server_ca with the witness host's certificate"
	case chip.Late(err):
		e.Msg = "the witness host did not answer in time"
	}
	return e
}

var _ Backend = (*Remote)(nil)

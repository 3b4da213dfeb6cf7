package pfrest

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json/jsontext"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest/internal/breaker"
	"pfsensemcp/pkg/pfrest/internal/envelope"
	"pfsensemcp/pkg/pfrest/internal/fair"
	"pfsensemcp/pkg/pfrest/internal/fault"
	"pfsensemcp/pkg/pfrest/internal/tlsdial"
	"pfsensemcp/pkg/secretfile"
)

// Endpoint is the path of a catalog row, such as /api/v2/firewall/rules. A Client
// serves those it was built with and no other, so text of a caller turned into
// an Endpoint reaches nothing.
type Endpoint string

// SchemaEndpoint is where the appliance publishes its OpenAPI document.
const SchemaEndpoint Endpoint = "/api/v2/schema/openapi"

// Caller is whom a request is made for: slots are shared by uid, then by session.
type Caller struct {
	UID     uint32
	Session uint64
}

// Page asks for a part of a list. Limit 0 means no query at all, for objects;
// otherwise Limit is 1..5000 and Offset 0..10,000,000.
type Page struct{ Limit, Offset int }

// Answer is the data of one envelope. Data may be shared with other callers who
// asked the same: it must not be changed. Who has read it calls Release.
type Answer struct {
	Data         jsontext.Value // an object, or a list (always a list when Page had a limit)
	Links        bool           // the appliance's HATEOAS setting is on
	Bytes        int            // size of the body
	IgnoredLimit bool           // more rows than asked came back; Data is cut to what was asked

	memory *memory
}

// Bounds of Config and Page.
const (
	MaxInFlight = 4        // requests to one appliance at a time
	MaxBody     = 8 << 20  // bytes of one answer
	MaxSchema   = 32 << 20 // bytes of the OpenAPI document

	maxLimit  = 5000
	maxOffset = 10_000_000
)

const (
	connectTimeout = 10 * time.Second  // TCP and TLS together
	pageTimeout    = 30 * time.Second  // one GET, from slot to last byte
	schemaTimeout  = 120 * time.Second // the document is 4 MB; the line may be slow
	// Shorter than the keep-alive of any web server we know of, so that a
	// connection is rarely closed under a request, which then would fail.
	idleTimeout = 30 * time.Second
	maxHeader   = 64 << 10
	userAgent   = "pfsense-mcp"
)

// Config is what New needs. BaseURL, Key and Endpoints are required.
type Config struct {
	BaseURL   string            // https://host[:port], no path
	Key       secretfile.Secret // copied into the request header; the caller may zero it after New
	TLSMode   string            // strict (default), auto or insecure
	CAFile    string            // with auto only
	Pin       string            // SHA-256 of the leaf's SPKI, base64 or hex: a further check on top of strict and auto, with insecure the only one
	Endpoints []Endpoint

	MaxInFlight int   // 1..4; 0 is 4
	MaxBody     int64 // 64 KiB..8 MiB; 0 is 8 MiB

	Log       *slog.Logger                 // one record a GET; nil for none
	Now       func() time.Time             // nil is time.Now
	RequestID func(context.Context) string // for the log; nil for none

	// Authoritative is for reads that a change depends on: every Get is its own
	// request on a new connection; no single flight, no breaker, no Walk.
	Authoritative bool
}

// Client reads one appliance with one key. Safe for concurrent use.
type Client struct {
	base          url.URL
	endpoints     map[Endpoint]*atomic.Int64 // size of the last answer, to size the next buffer
	maxBody       int
	maxInFlight   int
	authoritative bool
	log           *slog.Logger
	now           func() time.Time
	requestID     func(context.Context) string
	pageTimeout   time.Duration
	schemaTimeout time.Duration

	transport *http.Transport
	dialer    *tlsdial.Dialer
	slots     *fair.Slots
	breakers  *breaker.Breakers
	cred      atomic.Pointer[credential]
	buffers   *envelope.Pool

	// life ends with Close: a request that several callers wait for belongs to
	// none of their contexts.
	life context.Context
	end  context.CancelFunc

	mu    sync.Mutex
	gets  map[getKey]*flight
	walks map[walkKey]*walk
	stats State
}

// credential is a key ready to be sent. The header is shared by all requests and
// never changed.
type credential struct {
	header http.Header
	gen    uint64
}

var endpointForm = regexp.MustCompile(`^/api/v2(/[a-z0-9_]+)+$`)

// New checks c and returns a client; nothing is sent. Errors are errs.Invalid.
func New(c Config) (*Client, error) {
	base, err := baseURL(c.BaseURL)
	if err != nil {
		return nil, err
	}
	tlsCfg, err := tlsdial.Config(tlsdial.Options{Mode: c.TLSMode, CAFile: c.CAFile, Pin: c.Pin, Host: base.Hostname()})
	if err != nil {
		return nil, err
	}
	eps := make(map[Endpoint]*atomic.Int64, len(c.Endpoints))
	for _, ep := range c.Endpoints {
		if !endpointForm.MatchString(string(ep)) {
			return nil, errs.New(errs.Invalid, "an endpoint is not a plain path below /api/v2")
		}
		eps[ep] = new(atomic.Int64)
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = MaxInFlight
	}
	if c.MaxBody == 0 {
		c.MaxBody = MaxBody
	}
	if c.MaxInFlight < 1 || c.MaxInFlight > MaxInFlight || c.MaxBody < 64<<10 || c.MaxBody > MaxBody {
		return nil, errs.Newf(errs.Invalid, "requests in flight must be 1..%d and the answer limit 65536..%d bytes", MaxInFlight, MaxBody)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.RequestID == nil {
		c.RequestID = func(context.Context) string { return "" }
	}
	cl := &Client{
		base: base, endpoints: eps, maxBody: int(c.MaxBody), maxInFlight: c.MaxInFlight,
		authoritative: c.Authoritative, log: c.Log, now: c.Now, requestID: c.RequestID,
		pageTimeout: pageTimeout, schemaTimeout: schemaTimeout,
		dialer:   tlsdial.NewDialer(tlsCfg, connectTimeout),
		slots:    fair.New(1),
		breakers: breaker.New(c.Now),
		buffers:  envelope.NewPool(c.MaxInFlight),
		gets:     make(map[getKey]*flight),
		walks:    make(map[walkKey]*walk),
	}
	cl.transport = newTransport(cl.dialer, c.MaxInFlight, c.Authoritative)
	cl.life, cl.end = context.WithCancel(context.Background())
	if err := cl.Rekey(c.Key); err != nil {
		return nil, err
	}
	return cl, nil
}

// ClientTLS returns the TLS settings that a Client with c would use, for the one
// exchange that executord drives by hand: there is one place that decides whom
// to believe.
func ClientTLS(c Config) (*tls.Config, error) {
	base, err := baseURL(c.BaseURL)
	if err != nil {
		return nil, err
	}
	return tlsdial.Config(tlsdial.Options{Mode: c.TLSMode, CAFile: c.CAFile, Pin: c.Pin, Host: base.Hostname()})
}

// newTransport is net/http's transport with everything off that could send
// elsewhere, more often, or more than we wrote. HTTP/1.1 is quicker here than
// HTTP/2 at every size, and one request a connection makes cancelling exact.
func newTransport(d *tlsdial.Dialer, idle int, fresh bool) *http.Transport {
	t := &http.Transport{
		Proxy:                  nil,
		DialTLSContext:         d.Dial,
		Protocols:              new(http.Protocols),
		DisableCompression:     true, // the cap counts the bytes that we parse
		DisableKeepAlives:      fresh,
		MaxIdleConns:           idle,
		MaxIdleConnsPerHost:    idle,
		IdleConnTimeout:        idleTimeout,
		ReadBufferSize:         tlsdial.ReadBuffer,
		MaxResponseHeaderBytes: maxHeader,
	}
	t.Protocols.SetHTTP1(true)
	return t
}

func baseURL(s string) (url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || (u.Path != "" && u.Path != "/") {
		return url.URL{}, errs.Wrap(err, errs.Invalid, "the API URL is not of the form https://host[:port]").
			WithNext("give scheme https, the firewall's name or address, and a port when it is not 443")
	}
	return url.URL{Scheme: "https", Host: u.Host}, nil
}

// Rekey changes the key for requests that start from now on. The same key again
// changes nothing, so the breaker of a refused key stays open; another key
// closes it, and requests go one at a time until it has been accepted. A key
// that cannot be sent is refused (errs.Invalid) and the old one kept.
func (c *Client) Rekey(s secretfile.Secret) error {
	key := s.Bytes()
	if len(key) == 0 || len(key) > 4096 {
		return errs.New(errs.Invalid, "the API key is empty or longer than 4096 bytes").WithNext("put the key into the key file's first line")
	}
	for _, b := range key {
		if b <= ' ' || b > '~' {
			return errs.New(errs.Invalid, "the API key holds a byte that no header can carry").WithNext("put the key, in visible ASCII, into the key file's first line")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := &credential{header: headers(string(key))}
	if old := c.cred.Load(); old != nil {
		if subtle.ConstantTimeCompare([]byte(old.header[keyHeader][0]), key) == 1 {
			return nil
		}
		next.gen = old.gen + 1
	}
	// The breaker first: a request with the old key may be refused at any time.
	c.breakers.Rekey(next.gen)
	c.cred.Store(next)
	c.onProbation()
	return nil
}

// ResetBreakers closes every breaker. The key is then tried again, by one
// request at a time until it has been accepted.
func (c *Client) ResetBreakers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breakers.Reset()
	c.onProbation()
}

// onProbation lets one request out at a time until the key was accepted: four
// at once with a bad key would be four failed logins.
func (c *Client) onProbation() {
	if c.authoritative {
		c.slots.SetLimit(c.maxInFlight)
		return
	}
	c.slots.SetLimit(1)
}

// accepted ends the probation, unless the key was replaced meanwhile.
func (c *Client) accepted(cred *credential) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cred == c.cred.Load() {
		c.slots.SetLimit(c.maxInFlight)
	}
}

// Close ends all requests and closes all connections. Calls under way fail with
// class cancelled.
func (c *Client) Close() {
	c.end()
	c.transport.CloseIdleConnections()
}

// check refuses an endpoint that the client was not built with and a page out of
// bounds, before anything is sent.
func (c *Client) check(ep Endpoint, p Page) error {
	if c.endpoints[ep] == nil {
		return errs.New(errs.Internal, "the client was not built with this endpoint").WithClass(fault.ClassClientBug)
	}
	if p.Limit < 0 || p.Limit > maxLimit || p.Offset < 0 || p.Offset > maxOffset || p.Limit == 0 && p.Offset != 0 {
		return errs.Newf(errs.Internal, "a page must have a limit of 1..%d and an offset of 0..%d", maxLimit, maxOffset).WithClass(fault.ClassClientBug)
	}
	return nil
}

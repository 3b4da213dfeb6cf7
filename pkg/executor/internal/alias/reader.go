package alias

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"slices"
	"strings"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
)

// The reads of the write identity. The OpenAPI document is one more, which needs
// no privilege.
const (
	pathAliases  pfrest.Endpoint = "/api/v2/firewall/aliases"
	pathApply    pfrest.Endpoint = "/api/v2/firewall/apply"
	pathHistory  pfrest.Endpoint = "/api/v2/diagnostics/config_history/revisions"
	pathStatus   pfrest.Endpoint = "/api/v2/status/system"
	pathHASync   pfrest.Endpoint = "/api/v2/system/hasync"
	pathSettings pfrest.Endpoint = "/api/v2/system/restapi/settings"
)

// Endpoints returns what the Client must be built with, and no more.
func Endpoints() []pfrest.Endpoint {
	return []pfrest.Endpoint{pathAliases, pathApply, pathHistory, pathStatus, pathHASync, pathSettings}
}

// Privileges returns, sorted, exactly what the write identity is granted: the
// reads of Endpoints and the one change. They are written out so that a person who
// looks for a privilege finds it; a test derives them again.
func Privileges() []string {
	return []string{
		"api-v2-diagnostics-config-history-revisions-get",
		"api-v2-firewall-alias-patch",
		"api-v2-firewall-aliases-get",
		"api-v2-firewall-apply-get",
		"api-v2-status-system-get",
		"api-v2-system-hasync-get",
		"api-v2-system-restapi-settings-get",
	}
}

// Client is an Authoritative *pfrest.Client: one connection a call, nothing shared,
// nothing remembered.
type Client interface {
	Get(context.Context, pfrest.Caller, pfrest.Endpoint, pfrest.Page) (pfrest.Answer, error)
	Schema(context.Context, pfrest.Caller) (io.ReadCloser, error)
}

// Config is what New needs. Client and BaseURL are required.
type Config struct {
	Client   Client
	BaseURL  string // https origin in its one normal form
	TLSMode  string // strict or auto
	CADigest string // digest of what pins the connection; "" when nothing does
	// Versions are the versions of the REST package on which a change that names
	// another alias than the one at its position was seen refused; nil is the
	// compiled list.
	Versions []string
	Now      func() time.Time // nil is time.Now
}

// provenVersions is the compiled list.
func provenVersions() []string { return []string{"2.10.0"} }

// Reader reads one appliance. It keeps no state between calls and is safe for
// concurrent use.
type Reader struct {
	client   Client
	bound    change.Appliance // without the identity, which is read each time
	versions []string
	now      func() time.Time
}

// New checks c and returns a reader; nothing is sent. Errors are errs.Invalid.
func New(c Config) (*Reader, error) {
	r := &Reader{
		client:   c.Client,
		bound:    change.Appliance{BaseURL: c.BaseURL, TLSMode: c.TLSMode, CADigest: c.CADigest},
		versions: slices.Clone(c.Versions),
		now:      c.Now,
	}
	if c.Versions == nil {
		r.versions = provenVersions()
	}
	if r.now == nil {
		r.now = time.Now
	}
	if c.Client == nil {
		return nil, errs.New(errs.Invalid, "there is no client for the appliance")
	}
	probe := r.bound
	probe.IdentityKind, probe.Identity = kindNetgate, "probe"
	if _, err := probe.Digest(); err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "the appliance's address, TLS mode or CA cannot be bound to an approval").
			WithNext("give appliance.base_url as https://host[:port] in lower case without a default port, and appliance.tls_mode as strict or auto")
	}
	return r, nil
}

// get makes one GET and hands the data to read, which must keep nothing of it.
func (r *Reader) get(ctx context.Context, ep pfrest.Endpoint, page pfrest.Page, what string, read func(jsontext.Value) error) error {
	a, err := r.client.Get(ctx, pfrest.Caller{}, ep, page)
	if err != nil {
		return failed(what, err)
	}
	defer a.Release()
	if a.Links {
		return linksOn()
	}
	if a.IgnoredLimit {
		return unreadable(what)
	}
	if err := read(a.Data); err != nil {
		if own, ok := err.(*errs.Error); ok {
			return own
		}
		return unreadable(what)
	}
	return nil
}

// The kinds of identity, in the order in which they are looked for.
const (
	kindNetgate = "netgate_id"
	kindHost    = "pfhostid"
)

const (
	whatIdentity = "the appliance's identity"
	whatAliases  = "the list of aliases"
)

// identify reads which appliance answers. The second kind is asked for only when
// the first is there and empty: an answer that cannot be read names nobody.
func (r *Reader) identify(ctx context.Context) (a change.Appliance, target string, err error) {
	a = r.bound
	for _, from := range []struct {
		kind string
		ep   pfrest.Endpoint
	}{{kindNetgate, pathStatus}, {kindHost, pathHASync}} {
		err = r.get(ctx, from.ep, pfrest.Page{}, whatIdentity, func(data jsontext.Value) (err error) {
			a.IdentityKind = from.kind
			a.Identity, err = identityOf(data, from.kind)
			return err
		})
		if err != nil {
			return change.Appliance{}, "", err
		}
		if a.Identity != "" {
			break
		}
	}
	if a.Identity == "" {
		return change.Appliance{}, "", errs.New(errs.Unavailable, "the appliance shows neither a Netgate id nor a pfsync host id").WithClass(classRead).
			WithNext("set the host id under high availability on the appliance: without an identity no approval can be bound to it")
	}
	if target, err = a.Digest(); err != nil {
		return change.Appliance{}, "", unreadable(whatIdentity)
	}
	return a, target, nil
}

// identityOf returns the member of an object, "" when it is null or blank. The
// appliance keeps the id in a file and shows its line end.
func identityOf(data jsontext.Value, member string) (string, error) {
	var all map[string]jsontext.Value
	if err := json.Unmarshal(data, &all); err != nil {
		return "", err
	}
	v, there := all[member]
	if !there {
		return "", errShape
	}
	var id *string
	if err := json.Unmarshal(v, &id); err != nil {
		return "", err
	}
	if id == nil {
		return "", nil
	}
	s := strings.Trim(*id, " \t\r\n")
	for _, b := range []byte(s) {
		if b <= ' ' || b > '~' {
			return "", errShape
		}
	}
	return s, nil
}

// List reads the appliance's identity and then all aliases, the latter in one GET
// on a connection that was opened after this call began. Errors are of class read.
func (r *Reader) List(ctx context.Context) (*List, error) {
	l := &List{Began: r.now()}
	var err error
	if l.Appliance, l.Target, err = r.identify(ctx); err != nil {
		return nil, err
	}
	err = r.get(ctx, pathAliases, pfrest.Page{Limit: maxRows}, whatAliases, func(data jsontext.Value) (err error) {
		l.rows, err = parseRows(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.Ended = r.now()
	return l, nil
}

package pfrest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/pfrest/internal/breaker"
	"pfsensemcp/pkg/pfrest/internal/envelope"
	"pfsensemcp/pkg/pfrest/internal/fair"
	"pfsensemcp/pkg/pfrest/internal/fault"
	"pfsensemcp/pkg/pfrest/internal/tlsdial"
)

const keyHeader = "X-Api-Key" // as net/http spells it

// headers is everything that a request carries beside Host. Accept is compared
// by pfREST as one literal; a Content-Type would make it ignore the query.
func headers(key string) http.Header {
	return http.Header{keyHeader: {key}, "Accept": {"application/json"}, "User-Agent": {userAgent}}
}

// nothing is a body without a byte. With it, and with the transfer encoding
// given, net/http writes exactly the request line and our headers, but believes
// that it could not send the request a second time, and so never does.
type nothing struct{}

func (nothing) Read([]byte) (int, error)         { return 0, io.EOF }
func (nothing) WriteTo(io.Writer) (int64, error) { return 0, nil } // else each request costs a 32 KiB copy buffer
func (nothing) Close() error                     { return nil }

// request builds the one kind of request there is. Nothing but a registered
// endpoint and two integers reaches the URL.
func (c *Client) request(ctx context.Context, ep Endpoint, p Page, h http.Header) *http.Request {
	u := c.base
	u.Path, u.RawQuery = string(ep), p.query()
	r := &http.Request{Method: http.MethodGet, URL: &u, Host: u.Host, Header: h, Body: nothing{}, TransferEncoding: []string{"identity"}}
	return r.WithContext(ctx)
}

// query is the page as pfREST takes it. An offset of 0 is not sent: log endpoints
// are read with limit alone.
func (p Page) query() string {
	if p.Limit == 0 {
		return ""
	}
	q := strconv.AppendInt([]byte("limit="), int64(p.Limit), 10)
	if p.Offset > 0 {
		q = strconv.AppendInt(append(q, "&offset="...), int64(p.Offset), 10)
	}
	return string(q)
}

// call is one GET to make.
type call struct {
	ep        Endpoint
	page      Page
	requestID string
	crowd     *fair.Crowd // who waits for it
}

// record is what the log says about one GET.
type record struct {
	call
	ctx           context.Context // for the log's handler alone
	start         time.Time
	status, bytes int
	id            string
}

func (c *Client) start(ctx context.Context, cl call) record {
	return record{call: cl, ctx: ctx, start: c.now()}
}

// finish counts and logs one GET and returns the class of its error.
func (c *Client) finish(r record, err error) string {
	class, level, outcome := "", slog.LevelInfo, "response"
	if err != nil {
		level, outcome = slog.LevelWarn, "failure"
		if e, ok := errors.AsType[*errs.Error](err); ok {
			class = e.Class
		}
	}
	c.note(err, class)
	path := string(r.ep)
	if q := r.page.query(); q != "" {
		path += "?" + q
	}
	c.log.LogAttrs(r.ctx, level, "appliance read", slog.String(logging.KeyOutcome, outcome), slog.String(logging.KeyClass, class),
		slog.String(logging.KeyPath, path), slog.Int(logging.KeyStatus, r.status), slog.String(logging.KeyResponseID, r.id),
		slog.Int64(logging.KeyDurationMS, c.now().Sub(r.start).Milliseconds()), slog.Int(keyBytes, r.bytes), slog.String(logging.KeyRequestID, r.requestID))
	return class
}

// keyBytes is the size of the body.
const keyBytes = "bytes"

// exchange waits for a slot, makes one GET and checks the envelope. buf is
// overwritten and grown; the body, into which env points, is returned even with
// an error, so that its memory can be used again.
func (c *Client) exchange(ctx context.Context, cl call, p *envelope.Parser, buf []byte) (body []byte, env envelope.Envelope, err error) {
	if _, err := c.enter(cl.ep, false); err != nil {
		return buf, env, err // do not even queue
	}
	t := fair.NewTicket()
	cl.crowd.Seat(t)
	err = c.slots.Wait(ctx, t)
	cl.crowd.Unseat()
	if err != nil {
		return buf, env, gone(ctx, cl.ep)
	}
	defer c.slots.Release(t)
	cred := c.cred.Load()
	probe, err := c.enter(cl.ep, true) // a breaker may have opened while we waited
	if err != nil {
		return buf, env, err
	}
	timed, cancel := context.WithTimeout(ctx, c.pageTimeout)
	defer cancel()
	r := c.start(ctx, cl)
	body, env, err = c.get(timed, &r, cred, p, buf)
	if err != nil && timed.Err() != nil && r.status != http.StatusUnauthorized {
		// What looks like a bad answer may be what the other side made of our
		// hanging up: net/http can still deliver that.
		err = c.netFault(timed, ctx, cl.ep, err)
	}
	o := breaker.Answered
	switch {
	case err == nil:
	case ctx.Err() != nil:
		o = breaker.Unknown
	case timed.Err() != nil:
		o = breaker.TimedOut
	case r.status == 0:
		o = breaker.Unknown
	}
	if !c.authoritative {
		c.breakers.Leave(string(cl.ep), probe, o)
	}
	class := c.finish(r, err)
	// Any answer from behind the login proves the key; the slots open up.
	if err == nil || class == ClassAuthorization {
		c.accepted(cred)
	}
	return body, env, err
}

// enter asks the breakers.
func (c *Client) enter(ep Endpoint, reserve bool) (probe bool, err error) {
	if c.authoritative {
		return false, nil
	}
	d := c.breakers.Enter(string(ep), reserve)
	switch {
	case d.Key:
		f := fault.KeyRefused
		f.Msg = "not sent: the appliance refused the API key at " + d.At.UTC().Format(time.RFC3339)
		f.Next = "put a valid key in place with mcpctl rotate-key, or, when the key itself is right, run mcpctl reset"
		return false, f.Err(string(ep), nil)
	case d.Path:
		f := fault.Fault{Code: errs.Unavailable, Class: ClassBreaker, Msg: "not sent: this endpoint timed out repeatedly and is paused"}
		f.Next = "one request tries it at this moment: call again in a minute"
		if d.Wait > 0 {
			f.Next = fmt.Sprintf("call again after %s (in %d s)", d.Until.UTC().Format(time.RFC3339), (d.Wait+time.Second-1)/time.Second)
		}
		return false, f.Err(string(ep), nil)
	}
	return d.Probe, nil
}

// get makes the GET. timed is r's context with the page deadline.
func (c *Client) get(timed context.Context, r *record, cred *credential, p *envelope.Parser, buf []byte) (body []byte, env envelope.Envelope, err error) {
	path := string(r.ep)
	resp, err := c.transport.RoundTrip(c.request(timed, r.ep, r.page, cred.header))
	if err != nil {
		return buf, env, c.netFault(timed, r.ctx, r.ep, err)
	}
	defer resp.Body.Close()
	r.status = resp.StatusCode
	c.noteClock(resp.Header.Get("Date"))
	if r.status == http.StatusUnauthorized {
		c.breakers.Refuse(cred.gen) // before anything else can fail
	}
	limit := c.maxBody
	if r.status != http.StatusOK {
		limit = min(limit, maxErrorBody)
	}
	body, err = envelope.ReadBody(buf, resp.Body, limit)
	if !c.authoritative { // what a change depends on must be what the appliance has
		hideKey(body, cred)
	}
	r.bytes = len(body)
	switch {
	case r.status != http.StatusOK:
		isJSON := isType(resp, "application/json")
		if isJSON && err == nil {
			// An id counts only in a whole envelope that confirms the status.
			if e, err := p.Parse(body, false); err == nil && e.Code == r.status {
				r.id = e.ID
			}
		}
		return body, env, fault.Of(r.status, r.id, isJSON).Err(path, nil)
	case err == envelope.ErrTooLarge:
		return body, env, fault.TooLarge.Err(path, err)
	case err != nil:
		return body, env, c.netFault(timed, r.ctx, r.ep, err)
	}
	if f, bad := outside(resp, body); bad {
		return body, env, f.Err(path, nil)
	}
	env, err = p.Parse(body, r.page.Limit > 0)
	if err != nil {
		return body, env, fault.Shape("is not a whole REST API envelope").Err(path, err)
	}
	r.id = env.ID
	switch {
	case env.Code != r.status:
		return body, env, fault.Shape("carries another status than its HTTP status").Err(path, nil)
	case r.page.Limit > 0 && !env.List:
		return body, env, fault.Shape("is no list although a list was asked for").Err(path, nil)
	}
	return body, env, nil
}

// maxErrorBody is how much of an error answer is read: envelopes of errors have
// some hundred bytes, and nothing of the text is used.
const maxErrorBody = 64 << 10

// outside judges a 200 answer by what can be seen without parsing it.
func outside(resp *http.Response, body []byte) (f fault.Fault, bad bool) {
	first := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case isType(resp, "text/html") && len(first) > 0:
		return fault.NotREST, true
	case resp.Header.Get("Content-Encoding") != "":
		return fault.Shape("is compressed although no compression was asked for"), true
	case len(first) == 0:
		return fault.EmptyBody, true
	case !isType(resp, "application/json"):
		return fault.Shape("is not of the type application/json"), true
	case first[0] == '<':
		return fault.Shape("has text in front of its JSON, such as a PHP warning"), true
	}
	return f, false
}

// netFault judges a GET without a whole answer.
func (c *Client) netFault(timed, ctx context.Context, ep Endpoint, err error) error {
	if ctx.Err() != nil {
		return gone(ctx, ep)
	}
	if f, ok := errors.AsType[*tlsdial.Failure](err); ok {
		class, msg, next := f.Text(c.breakers.MaybeBlocked())
		return fault.Fault{Code: errs.Unavailable, Class: class, Msg: msg, Next: next}.Err(string(ep), err)
	}
	if timed.Err() != nil {
		return fault.Late.Err(string(ep), err)
	}
	return fault.Broken.Err(string(ep), err)
}

// gone is the error of a call whose context has ended.
func gone(ctx context.Context, ep Endpoint) error {
	if ctx.Err() == context.DeadlineExceeded {
		return fault.Expired.Err(string(ep), ctx.Err())
	}
	return fault.Cancelled.Err(string(ep), ctx.Err())
}

func isType(resp *http.Response, want string) bool {
	got, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(got), want)
}

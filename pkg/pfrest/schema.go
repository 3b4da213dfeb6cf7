package pfrest

import (
	"context"
	"io"
	"net/http"
	"sync"

	"pfsensemcp/pkg/pfrest/internal/fair"
	"pfsensemcp/pkg/pfrest/internal/fault"
)

// Schema streams the appliance's OpenAPI document, at most 32 MiB, which pfREST
// gives to anybody: the request carries no key and says nothing about one. The
// stream holds a slot until it is closed, for 120 s at most; close it. A document
// that is cut short or too large ends in an error, never in io.EOF.
func (c *Client) Schema(ctx context.Context, caller Caller) (io.ReadCloser, error) {
	t := fair.NewTicket()
	c.slots.Enlist(t, fair.Owner(caller))
	if err := c.slots.Wait(ctx, t); err != nil {
		return nil, gone(ctx, SchemaEndpoint)
	}
	timed, cancel := context.WithTimeout(ctx, c.schemaTimeout)
	s := &schema{c: c, ctx: ctx, timed: timed, body: http.NoBody, record: c.start(ctx, call{ep: SchemaEndpoint, requestID: c.requestID(ctx)})}
	s.release = sync.OnceFunc(func() {
		_ = s.body.Close() // nothing was written: there is nothing to lose
		cancel()
		c.slots.Release(t)
		c.finish(s.record, s.err)
	})
	h := headers("")
	delete(h, keyHeader)
	resp, err := c.transport.RoundTrip(c.request(timed, SchemaEndpoint, Page{}, h))
	if err != nil {
		s.err = c.netFault(timed, ctx, SchemaEndpoint, err)
	} else {
		s.body, s.record.status = resp.Body, resp.StatusCode
		s.err = schemaFault(resp)
	}
	if s.err != nil {
		s.release()
		return nil, s.err
	}
	return s, nil
}

func schemaFault(resp *http.Response) error {
	const path = string(SchemaEndpoint)
	switch {
	case resp.StatusCode != http.StatusOK:
		return fault.Of(resp.StatusCode, "", isType(resp, "application/json")).Err(path, nil)
	case isType(resp, "text/html"):
		return fault.NotREST.Err(path, nil)
	case !isType(resp, "application/json"):
		return fault.Shape("is not of the type application/json").Err(path, nil)
	case resp.Header.Get("Content-Encoding") != "":
		return fault.Shape("is compressed although no compression was asked for").Err(path, nil)
	}
	return nil
}

// schema is the stream of one document. One goroutine at a time uses it.
type schema struct {
	c          *Client
	ctx, timed context.Context
	body       io.ReadCloser
	record     record
	err        error // what ended it, but for io.EOF
	eof        bool
	release    func()
}

// Read returns the document's next bytes.
func (s *schema) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.body.Read(p)
	s.record.bytes += n
	switch {
	case s.record.bytes > MaxSchema:
		s.err = fault.TooLarge.Err(string(SchemaEndpoint), nil)
		return 0, s.err
	case err != nil && err != io.EOF:
		s.err = s.c.netFault(s.timed, s.ctx, SchemaEndpoint, err)
		return n, s.err
	}
	s.eof = err == io.EOF
	return n, err
}

// Close ends the request, gives the slot back and logs the read. A stream that
// is closed before its end counts as cancelled.
func (s *schema) Close() error {
	if s.err == nil && !s.eof {
		s.err = fault.Cancelled.Err(string(SchemaEndpoint), nil)
	}
	s.release()
	return nil
}

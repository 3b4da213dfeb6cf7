// Package schema owns what mcpd knows of the appliance's own OpenAPI document: its
// index, for ten minutes, and where it came from.
//
// guide and admin use it; of ours it imports errs, openapi, pfrest and the
// messages. The document is read through the appliance's client, which bounds it
// (32 MiB, counted while it is read), and is dropped when it is indexed. pfREST
// gives it to anybody, so it proves nothing about a key; that it cannot be had is
// never a tool's failure, but something that is missing from an answer.
//
// The attack it stops: a question about documentation that reads 4 MB of the
// firewall each time it is asked, or by as many callers as ask at once.
package schema

import (
	"context"
	"io"
	"sync"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/openapi"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/proto/docs/v1"
)

// Appliance is the part of *pfrest.Client that gives the document.
type Appliance interface {
	Schema(ctx context.Context, c pfrest.Caller) (io.ReadCloser, error)
}

// For how long an index is fresh; for how long after that it may still be served,
// labelled, while it cannot be had anew; how long a failure is remembered; and how
// long one read may take.
const (
	freshFor  = 10 * time.Minute
	staleFor  = 6 * time.Hour
	holdOff   = 30 * time.Second
	readBound = 60 * time.Second
)

// Cache is the appliance's document. It is safe for concurrent use.
type Cache struct {
	appliance Appliance

	mu     sync.Mutex
	kept   *openapi.Index
	at     time.Time // when kept was read
	failed *errs.Error
	again  time.Time // when it may be tried again after a failure
	flight *flight
}

// flight is one read under way; its fields are set before done is closed.
type flight struct {
	done   chan struct{}
	index  *openapi.Index
	at     time.Time
	failed *errs.Error
	again  time.Time
}

// New returns an empty cache. Nothing is read before the first question.
func New(a Appliance) *Cache { return &Cache{appliance: a} }

// Get returns the index, nil when there is none, where it came from and how old it
// is, and our words for why there is none. It never waits longer than ctx; the
// read goes on for whoever asks next.
func (c *Cache) Get(ctx context.Context, caller pfrest.Caller) (*openapi.Index, *docspb.Source, string) {
	if c == nil {
		return nil, source(nil, time.Time{}, "miss"), "this server reads no document of the appliance"
	}
	c.mu.Lock()
	now := time.Now()
	if c.kept != nil && now.Sub(c.at) >= freshFor+staleFor {
		c.kept = nil
	}
	kept, at := c.kept, c.at
	switch {
	case kept != nil && now.Sub(at) < freshFor:
		c.mu.Unlock()
		return kept, source(kept, at, "fresh"), ""
	case c.failed != nil && now.Before(c.again):
		failed, again := c.failed, c.again
		c.mu.Unlock()
		return after(kept, at, failed, again)
	}
	f := c.flight
	if f == nil {
		f = &flight{done: make(chan struct{})}
		c.flight = f
		// The one who asked first may leave; the request id of the log is still his.
		go c.read(context.WithoutCancel(ctx), caller, f)
	}
	c.mu.Unlock()

	select {
	case <-f.done:
	case <-ctx.Done():
		if kept != nil {
			return kept, source(kept, at, "stale_but_usable"), ""
		}
		return nil, source(nil, time.Time{}, "miss"), "the appliance's document is being read and is not there yet"
	}
	if f.index != nil {
		return f.index, source(f.index, f.at, "fresh"), ""
	}
	return after(kept, at, f.failed, f.again)
}

// read reads and indexes the document.
func (c *Cache) read(ctx context.Context, caller pfrest.Caller, f *flight) {
	ctx, cancel := context.WithTimeout(ctx, readBound)
	defer cancel()
	ix, err := c.parse(ctx, caller)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(f.done)
	c.flight = nil
	if err != nil {
		f.failed, f.again = errs.Public(err), time.Now().Add(holdOff)
		c.failed, c.again = f.failed, f.again
		return
	}
	if c.kept != nil && c.kept.Hash == ix.Hash {
		ix = c.kept // one of the two is enough
	}
	f.index, f.at = ix, time.Now()
	c.kept, c.at, c.failed = f.index, f.at, nil
}

func (c *Cache) parse(ctx context.Context, caller pfrest.Caller) (*openapi.Index, error) {
	r, err := c.appliance.Schema(ctx, caller)
	if err != nil {
		return nil, err
	}
	ix, err := openapi.Parse(r)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return ix, err
}

// after is the answer when the document could not be read: what is kept, labelled,
// or nothing.
func after(kept *openapi.Index, at time.Time, failed *errs.Error, again time.Time) (*openapi.Index, *docspb.Source, string) {
	if kept != nil {
		s := source(kept, at, "stale_but_usable")
		s.RetryAt = again.Unix()
		return kept, s, ""
	}
	word := "upstream_unavailable"
	if failed.Class == openapi.ClassCorrupt {
		word = "corrupt"
	}
	s := source(nil, time.Time{}, word)
	s.RetryAt = again.Unix()
	return nil, s, failed.Msg
}

func source(ix *openapi.Index, at time.Time, freshness string) *docspb.Source {
	s := &docspb.Source{Url: string(pfrest.SchemaEndpoint), Freshness: freshness}
	if ix != nil {
		s.FetchedAt, s.DocumentHash, s.Version, s.Odd = at.Unix(), ix.Hash, ix.Version, uint32(ix.Odd)
	}
	return s
}

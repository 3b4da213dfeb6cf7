package docfetch

import (
	"context"
	"sync"
	"time"

	"pfsensemcp/pkg/docfetch/internal/site"
	docspb "pfsensemcp/proto/docs/v1"
)

// The words for the state of a source, as docs.v1 has them.
const (
	Fresh       = "fresh"
	Stale       = "stale_but_usable"
	Miss        = "miss" // nothing is kept, and the fetch under way did not end in time
	CorruptPage = "corrupt"
	Unavailable = "upstream_unavailable"
)

// For how long a page that is no longer fresh may still be served, labelled, when
// it cannot be had anew; and how long a failure is remembered before the next try.
const (
	staleFor = 6 * time.Hour
	holdOff  = 30 * time.Second
)

// maxEntries bounds what is kept. There are ten sources; the bound stands for the
// day when there are more.
const maxEntries = 32

// entry is what is kept of one page.
type entry struct {
	value       any // *openapi.Index, or the text of a page
	hash        string
	version     string
	odd         uint32
	fetchedAt   time.Time
	freshUntil  time.Time
	usableUntil time.Time
}

// flight is one fetch under way. Its fields are set before done is closed.
type flight struct {
	done    chan struct{}
	entry   *entry // nil when it failed
	failure site.Failure
	retryAt time.Time
}

// trouble is a failure that is remembered.
type trouble struct {
	failure site.Failure
	until   time.Time
}

// load fetches a source and reads it. old is what was kept before, or nil: when
// the page's hash is the same, its value is used again instead of read anew.
type load func(ctx context.Context, s site.Source, old *entry) (e *entry, fresh time.Duration, noStore bool, err error)

// cache keeps pages in memory, for as long as the process lives. Each source is
// fetched by one goroutine at a time, whoever waits for it, and to its end even
// when nobody waits any more.
type cache struct {
	load load
	now  func() time.Time

	ctx  context.Context // of all fetches
	stop context.CancelFunc
	wait sync.WaitGroup

	mu      sync.Mutex
	entries map[string]*entry
	order   []string // of insertion
	flights map[string]*flight
	failed  map[string]trouble
}

func newCache(l load, now func() time.Time) *cache {
	ctx, stop := context.WithCancel(context.Background())
	return &cache{
		load: l, now: now, ctx: ctx, stop: stop,
		entries: map[string]*entry{}, flights: map[string]*flight{}, failed: map[string]trouble{},
	}
}

// close ends the fetches that are under way and waits for them.
func (c *cache) close() {
	c.stop()
	c.wait.Wait()
}

// get returns the value of a source, nil when there is none, and where it came
// from and how old it is. It never waits longer than ctx.
func (c *cache) get(ctx context.Context, s site.Source) (any, *docspb.Source) {
	c.mu.Lock()
	now := c.now()
	e := c.usable(s.URL, now)
	switch {
	case e != nil && now.Before(e.freshUntil):
		c.mu.Unlock()
		return e.value, e.source(s, Fresh, "", time.Time{})
	case now.Before(c.failed[s.URL].until):
		t := c.failed[s.URL]
		c.mu.Unlock()
		return e.after(s, t.failure, t.until)
	}
	f := c.flights[s.URL]
	if f == nil {
		f = c.start(s, e)
	}
	c.mu.Unlock()

	select {
	case <-f.done:
	case <-ctx.Done():
		if e != nil {
			return e.value, e.source(s, Stale, "", time.Time{})
		}
		return nil, &docspb.Source{Url: s.URL, Freshness: Miss}
	}
	if f.entry != nil {
		return f.entry.value, f.entry.source(s, Fresh, "", time.Time{})
	}
	return e.after(s, f.failure, f.retryAt)
}

// usable returns what is kept and may still be served, and forgets what may not.
func (c *cache) usable(url string, now time.Time) *entry {
	e := c.entries[url]
	if e == nil || now.Before(e.usableUntil) {
		return e
	}
	c.forget(url)
	return nil
}

func (c *cache) forget(url string) {
	delete(c.entries, url)
	for i, u := range c.order {
		if u == url {
			c.order = append(c.order[:i:i], c.order[i+1:]...)
			return
		}
	}
}

// start begins a fetch; the caller holds mu.
func (c *cache) start(s site.Source, old *entry) *flight {
	f := &flight{done: make(chan struct{})}
	c.flights[s.URL] = f
	c.wait.Go(func() {
		e, fresh, noStore, err := c.load(c.ctx, s, old)
		c.mu.Lock()
		defer c.mu.Unlock()
		defer close(f.done)
		delete(c.flights, s.URL)
		now := c.now()
		if err != nil {
			// What was kept stays, until its own time is over.
			f.failure, f.retryAt = site.FailureOf(err), now.Add(holdOff)
			c.failed[s.URL] = trouble{f.failure, f.retryAt}
			return
		}
		delete(c.failed, s.URL)
		e.fetchedAt, e.freshUntil = now, now.Add(fresh)
		e.usableUntil = e.freshUntil.Add(staleFor)
		f.entry = e
		if !noStore {
			c.keep(s.URL, e)
		}
	})
	return f
}

// keep stores an entry, in the place of an older one or of the one that was
// inserted first.
func (c *cache) keep(url string, e *entry) {
	c.forget(url)
	if len(c.order) >= maxEntries {
		c.forget(c.order[0])
	}
	c.entries[url] = e
	c.order = append(c.order, url)
}

// after is the answer when a fetch failed: what is kept, labelled, or nothing.
func (e *entry) after(s site.Source, failure site.Failure, retry time.Time) (any, *docspb.Source) {
	if e != nil {
		return e.value, e.source(s, Stale, failure, retry)
	}
	word := Unavailable
	if failure == site.Corrupt {
		word = CorruptPage
	}
	return nil, &docspb.Source{Url: s.URL, Freshness: word, Failure: string(failure), RetryAt: unix(retry)}
}

func (e *entry) source(s site.Source, freshness string, failure site.Failure, retry time.Time) *docspb.Source {
	return &docspb.Source{
		Url: s.URL, Freshness: freshness, FetchedAt: unix(e.fetchedAt), DocumentHash: e.hash, Version: e.version,
		Failure: string(failure), RetryAt: unix(retry), Odd: e.odd,
	}
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

package docfetch

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"pfsensemcp/pkg/docfetch/internal/site"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/rpc/rpctest"
	docspb "pfsensemcp/proto/docs/v1"
	"pfsensemcp/test/fakedocs"
)

// pretend answers fetches from what it is told to.
type pretend struct {
	mu      sync.Mutex
	body    []byte
	fresh   time.Duration
	noStore bool
	fail    error
	takes   time.Duration
	asked   int
	running int
	most    int
}

func (p *pretend) fetch(ctx context.Context, _ site.Source) (*site.Page, error) {
	p.mu.Lock()
	p.asked++
	p.running++
	p.most = max(p.most, p.running)
	body, fresh, noStore, fail, takes := p.body, p.fresh, p.noStore, p.fail, p.takes
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.running--
		p.mu.Unlock()
	}()
	t := time.NewTimer(takes)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return nil, site.Network
	}
	if fail != nil {
		return nil, fail
	}
	return &site.Page{Chunks: [][]byte{body}, Size: len(body), Hash: fmt.Sprintf("%064x", len(body)), Fresh: fresh, NoStore: noStore}, nil
}

// set changes what is answered.
func (p *pretend) set(change func(*pretend)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *pretend) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// inBubble runs f with a service on a pretend site and a clock that runs when
// everybody waits.
func inBubble(t *testing.T, f func(t *testing.T, s *Service, p *pretend)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pretend{body: fakedocs.Encode(fakedocs.Small()), fresh: 10 * time.Minute}
		s := New(Config{Log: rpctest.Log(t), Metrics: metrics.New()})
		s.fetch = p.fetch
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		f(t, s, p)
	})
}

// asks asks for an endpoint and checks what is said of the source.
func asks(t *testing.T, s *Service, freshness string, failure site.Failure) *docspb.EndpointResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	defer cancel()
	got, err := s.Endpoint(ctx, &docspb.EndpointRequest{Path: "/api/v2/firewall/aliases", Verb: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	src := got.GetSource()
	if src.GetFreshness() != freshness || src.GetFailure() != string(failure) || src.GetUrl() != site.DocumentURL {
		t.Fatalf("got %v, want %s %s", src, freshness, failure)
	}
	if has := freshness == Fresh || freshness == Stale; got.GetFound() != has || (src.GetFetchedAt() != 0) != has || (src.GetDocumentHash() != "") != has || (src.GetVersion() == fakedocs.Version) != has {
		t.Fatalf("%v", got)
	}
	return got
}

func TestNothingIsFetchedBeforeTheFirstQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		time.Sleep(time.Hour)
		if p.count() != 0 {
			t.Error("something was fetched")
		}
		asks(t, s, Fresh, "")
		asks(t, s, Fresh, "")
		if p.count() != 1 {
			t.Errorf("%d fetches", p.count())
		}
	})
}

func TestAPageIsFetchedAgainWhenItsTimeIsOver(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		first := asks(t, s, Fresh, "").GetSource().GetFetchedAt()
		time.Sleep(10*time.Minute - time.Second)
		asks(t, s, Fresh, "")
		if p.count() != 1 {
			t.Errorf("%d fetches before its time was over", p.count())
		}
		time.Sleep(time.Second)
		if again := asks(t, s, Fresh, "").GetSource().GetFetchedAt(); again != first+600 || p.count() != 2 {
			t.Errorf("fetched at %d and %d, %d fetches", first, again, p.count())
		}
	})
}

func TestAnUnchangedDocumentIsNotIndexedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		one, _ := s.index(t.Context())
		time.Sleep(time.Hour)
		two, _ := s.index(t.Context())
		if one == nil || one != two || p.count() != 2 {
			t.Errorf("the index was made anew, %d fetches", p.count())
		}
		tree := fakedocs.Small()
		fakedocs.Large(tree, "Another", 3)
		p.set(func(p *pretend) { p.body = fakedocs.Encode(tree) })
		time.Sleep(time.Hour)
		if three, _ := s.index(t.Context()); three == two {
			t.Error("a changed document was not indexed")
		}
	})
}

func TestAStaleCopyIsServedLabelledForSixHours(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		asks(t, s, Fresh, "")
		p.set(func(p *pretend) { p.fail = site.Status })
		time.Sleep(10 * time.Minute)
		got := asks(t, s, Stale, site.Status)
		if retry := got.GetSource().GetRetryAt(); retry != time.Now().Unix()+30 {
			t.Errorf("retry at %d, now %d", retry, time.Now().Unix())
		}
		time.Sleep(6*time.Hour - time.Second)
		asks(t, s, Stale, site.Status)
		time.Sleep(time.Second)
		asks(t, s, Unavailable, site.Status)
		if len(s.cache.entries) != 0 || len(s.cache.order) != 0 {
			t.Error("what may not be served is still kept")
		}
		p.set(func(p *pretend) { p.fail = nil })
		time.Sleep(holdOff)
		asks(t, s, Fresh, "")
	})
}

func TestAFailureIsRememberedForHalfAMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		p.set(func(p *pretend) { p.fail = site.Network })
		asks(t, s, Unavailable, site.Network)
		p.set(func(p *pretend) { p.fail = nil })
		time.Sleep(holdOff - time.Second)
		asks(t, s, Unavailable, site.Network)
		if p.count() != 1 {
			t.Errorf("%d fetches within the time", p.count())
		}
		time.Sleep(time.Second)
		asks(t, s, Fresh, "")
	})
}

func TestACorruptRefreshDisplacesNothing(t *testing.T) {
	for name, bad := range map[string][]byte{
		"half a document": fakedocs.Encode(fakedocs.Small())[:4000],
		"another one":     []byte(`{"openapi":"3.0.0","paths":{},"components":{"schemas":{}}}`),
		"no document":     []byte(`"sorry"`),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *Service, p *pretend) {
				good := p.body
				was := asks(t, s, Fresh, "")
				p.set(func(p *pretend) { p.body = bad })
				time.Sleep(10 * time.Minute)
				now := asks(t, s, Stale, site.Corrupt)
				if d := cmp.Diff(was.GetEndpoint(), now.GetEndpoint(), protocmp.Transform()); d != "" || now.GetSource().GetDocumentHash() != was.GetSource().GetDocumentHash() {
					t.Error(d)
				}
				// The bad page is not kept until its own time is over.
				p.set(func(p *pretend) { p.body = good })
				time.Sleep(holdOff)
				asks(t, s, Fresh, "")
			})
		})
	}
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		p.set(func(p *pretend) { p.body = []byte("{}") })
		asks(t, s, CorruptPage, site.Corrupt)
	})
}

func TestWhatMustNotBeKeptIsNotKept(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		p.set(func(p *pretend) { p.noStore = true })
		asks(t, s, Fresh, "")
		asks(t, s, Fresh, "")
		if p.count() != 2 || len(s.cache.entries) != 0 {
			t.Errorf("%d fetches, %d entries", p.count(), len(s.cache.entries))
		}
		p.set(func(p *pretend) { p.fail = site.Network })
		asks(t, s, Unavailable, site.Network)
	})
}

func TestOneFetchServesEverybodyWhoWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		p.set(func(p *pretend) { p.takes = 20 * time.Second })
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { asks(t, s, Fresh, "") })
		}
		wg.Go(func() {
			// Another page is fetched beside it.
			if got, err := s.Topic(t.Context(), &docspb.TopicRequest{Topic: site.TopicQueries}); err != nil || got.GetSource().GetFreshness() == Miss {
				t.Error(got, err)
			}
		})
		wg.Wait()
		if p.count() != 2 || p.most != 2 {
			t.Errorf("%d fetches, %d at once", p.count(), p.most)
		}
	})
}

func TestACallerThatLeavesDoesNotEndTheFetch(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		p.set(func(p *pretend) { p.takes = 20 * time.Second })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := s.Endpoint(ctx, &docspb.EndpointRequest{Path: "/api/v2/firewall/aliases", Verb: "GET"})
		if err != nil || got.GetFound() || got.GetSource().GetFreshness() != Miss {
			t.Fatal(got, err)
		}
		time.Sleep(20 * time.Second)
		asks(t, s, Fresh, "")
		if p.count() != 1 {
			t.Errorf("%d fetches", p.count())
		}
		// With a copy at hand the caller gets that one.
		time.Sleep(10 * time.Minute)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, err := s.Endpoint(ctx, &docspb.EndpointRequest{Path: "/api/v2/firewall/aliases", Verb: "GET"}); err != nil || got.GetSource().GetFreshness() != Stale {
			t.Error(got, err)
		}
	})
}

func TestTheEndOfTheDaemonEndsAFetch(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		p.set(func(p *pretend) { p.takes = time.Hour })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, src := s.index(ctx); src.GetFreshness() != Miss {
			t.Error(src)
		}
		// Run ends at the end of inBubble, well before the hour is over: a
		// goroutine that is left would fail the bubble.
	})
}

func TestTheOldestInsertedGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(func(_ context.Context, s site.Source, _ *entry) (*entry, time.Duration, bool, error) {
			return &entry{value: s.URL}, time.Hour, false, nil
		}, time.Now)
		defer c.close()
		at := func(i int) site.Source { return site.Source{URL: fmt.Sprint("https://pfrest.org/", i)} }
		for i := range maxEntries {
			c.get(t.Context(), at(i))
		}
		c.get(t.Context(), at(0)) // to be used does not make it younger
		c.get(t.Context(), at(maxEntries))
		if len(c.entries) != maxEntries || len(c.order) != maxEntries || c.entries[at(0).URL] != nil || c.entries[at(1).URL] == nil {
			t.Errorf("%d entries; the first is there: %v", len(c.entries), c.entries[at(0).URL] != nil)
		}
	})
}

func TestATopicIsAnExcerpt(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		p.set(func(p *pretend) { p.body = fakedocs.Page(site.TopicQueries) })
		got, err := s.Topic(t.Context(), &docspb.TopicRequest{Topic: site.TopicQueries})
		if err != nil || got.GetSource().GetFreshness() != Fresh || got.GetSource().GetVersion() != "" || got.GetSource().GetUrl() != "https://pfrest.org/QUERIES_FILTERS_AND_SORTING/" {
			t.Fatal(got, err)
		}
		if !strings.HasPrefix(got.GetExcerpt(), "Pretend guide: queries filters and sorting This page") || len(got.GetExcerpt()) > maxExcerpt || got.GetOmitted() == 0 {
			t.Errorf("%q, %d", got.GetExcerpt(), got.GetOmitted())
		}
		for _, s := range []string{"script", "Menu", "Foot", "<", "color"} {
			if strings.Contains(got.GetExcerpt(), s) {
				t.Errorf("%q is in it", s)
			}
		}
		p.set(func(p *pretend) { p.body = []byte("<script>only()</script>") })
		if got, err = s.Topic(t.Context(), &docspb.TopicRequest{Topic: site.TopicControl}); err != nil || got.GetSource().GetFreshness() != CorruptPage {
			t.Error(got, err)
		}
	})
}

func TestADocumentThatShrinksIsServedAsItIs(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Service, p *pretend) {
		asks(t, s, Fresh, "")
		tree := fakedocs.Small()
		delete(fakedocs.At(tree, "paths"), "/api/v2/firewall/aliases")
		p.set(func(p *pretend) { p.body = fakedocs.Encode(tree) })
		time.Sleep(time.Hour)
		got, err := s.Endpoint(t.Context(), &docspb.EndpointRequest{Path: "/api/v2/firewall/aliases", Verb: "GET"})
		if err != nil || got.GetFound() || got.GetSource().GetFreshness() != Fresh {
			t.Error(got, err)
		}
	})
}

func TestFetchesAreCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *Service, p *pretend) {
		reg := metrics.New()
		s := New(Config{Log: rpctest.Log(t), Metrics: reg})
		s.fetch = p.fetch
		defer s.cache.close()
		asks(t, s, Fresh, "")
		p.set(func(p *pretend) { p.fail = site.TooLarge })
		time.Sleep(time.Hour)
		asks(t, s, Stale, site.TooLarge)
		for _, want := range []string{`docfetch_fetches_total{kind="document",outcome="fetched"} 1`, `docfetch_fetches_total{kind="document",outcome="too_large"} 1`} {
			if !strings.Contains(reg.Text(), want) {
				t.Errorf("%s is not in\n%s", want, reg.Text())
			}
		}
	})
}

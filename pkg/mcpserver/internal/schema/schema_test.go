package schema

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/openapi"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/proto/docs/v1"
	"pfsensemcp/test/fakedocs"
)

// appliance gives a document as it is told to.
type appliance struct {
	mu     sync.Mutex
	doc    []byte
	err    error
	takes  time.Duration
	asked  int
	closed int
}

func (a *appliance) Schema(ctx context.Context, _ pfrest.Caller) (io.ReadCloser, error) {
	a.mu.Lock()
	a.asked++
	doc, err, takes := a.doc, a.err, a.takes
	a.mu.Unlock()
	t := time.NewTimer(takes)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return nil, errs.New(errs.Expired, "timed out").WithClass("timeout")
	}
	if err != nil {
		return nil, err
	}
	return &stream{Reader: bytes.NewReader(doc), a: a}, nil
}

type stream struct {
	io.Reader
	a *appliance
}

func (s *stream) Close() error {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.a.closed++
	return nil
}

func (a *appliance) set(f func(*appliance)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a)
}

func in(t *testing.T, f func(t *testing.T, c *Cache, a *appliance)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &appliance{doc: fakedocs.Encode(fakedocs.Small())}
		f(t, New(a), a)
	})
}

func get(t *testing.T, c *Cache, freshness string) (*openapi.Index, *docspb.Source, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	ix, src, problem := c.Get(ctx, pfrest.Caller{})
	has := freshness == "fresh" || freshness == "stale_but_usable"
	if src.GetFreshness() != freshness || (ix != nil) != has || (problem == "") != has || (src.GetDocumentHash() != "") != has || src.GetUrl() != "/api/v2/schema/openapi" {
		t.Fatalf("got %v, %q, want %s", src, problem, freshness)
	}
	return ix, src, problem
}

func TestTheDocumentIsReadOnceInTenMinutes(t *testing.T) {
	in(t, func(t *testing.T, c *Cache, a *appliance) {
		if a.asked != 0 {
			t.Error("it was read before the first question")
		}
		one, src, _ := get(t, c, "fresh")
		if src.GetVersion() != fakedocs.Version || src.GetFetchedAt() != time.Now().Unix() {
			t.Error(src)
		}
		time.Sleep(freshFor - time.Second)
		get(t, c, "fresh")
		if a.asked != 1 {
			t.Errorf("read %d times", a.asked)
		}
		time.Sleep(time.Second)
		if two, _, _ := get(t, c, "fresh"); a.asked != 2 || one != two {
			t.Errorf("read %d times; the same index: %v", a.asked, one == two)
		}
		if a.closed != 2 {
			t.Errorf("%d streams were closed", a.closed)
		}
	})
}

func TestAnOldIndexIsServedLabelledAndThenGoes(t *testing.T) {
	in(t, func(t *testing.T, c *Cache, a *appliance) {
		get(t, c, "fresh")
		a.set(func(a *appliance) {
			a.err = errs.New(errs.Unavailable, "the appliance is out").WithClass("connection")
		})
		time.Sleep(freshFor)
		if _, src, _ := get(t, c, "stale_but_usable"); src.GetRetryAt() != time.Now().Add(holdOff).Unix() {
			t.Error(src)
		}
		get(t, c, "stale_but_usable")
		if a.asked != 2 {
			t.Errorf("read %d times within the hold-off", a.asked)
		}
		time.Sleep(staleFor)
		if _, _, problem := get(t, c, "upstream_unavailable"); problem != "the appliance is out" {
			t.Error(problem)
		}
		a.set(func(a *appliance) { a.err = nil })
		time.Sleep(holdOff)
		get(t, c, "fresh")
	})
}

func TestWhatIsNoDocumentDisplacesNothing(t *testing.T) {
	in(t, func(t *testing.T, c *Cache, a *appliance) {
		good := a.doc
		a.set(func(a *appliance) { a.doc = []byte("<html>log in</html>") })
		get(t, c, "corrupt")
		a.set(func(a *appliance) { a.doc = good })
		time.Sleep(holdOff)
		get(t, c, "fresh")
		a.set(func(a *appliance) { a.doc = good[:len(good)/2] })
		time.Sleep(freshFor)
		get(t, c, "stale_but_usable")
	})
}

func TestAForeignErrorSaysNothing(t *testing.T) {
	in(t, func(t *testing.T, c *Cache, a *appliance) {
		a.err = errors.New("fw01.secret.example refused")
		if _, _, problem := get(t, c, "upstream_unavailable"); problem != "internal error" {
			t.Error(problem)
		}
	})
}

func TestOneReadServesEverybodyAndOutlivesWhoLeaves(t *testing.T) {
	in(t, func(t *testing.T, c *Cache, a *appliance) {
		a.takes = 20 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if ix, src, problem := c.Get(ctx, pfrest.Caller{}); ix != nil || src.GetFreshness() != "miss" || problem == "" {
			t.Fatal(src, problem)
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { get(t, c, "fresh") })
		}
		wg.Wait()
		if a.asked != 1 {
			t.Errorf("read %d times", a.asked)
		}
		a.set(func(a *appliance) { a.takes = 2 * time.Hour })
		time.Sleep(freshFor)
		get(t, c, "stale_but_usable") // after its own 40 s, while the read goes on to its bound
		time.Sleep(readBound)
	})
}

func TestWithoutACacheThereIsNoDocument(t *testing.T) {
	var c *Cache
	get(t, c, "miss")
}

package pfrest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/secretfile"
)

func TestABadKeyIsTriedOnceHoweverManyAsk(t *testing.T) {
	for name, change := range map[string]func(*Config){"four slots": func(*Config) {}, "one slot": func(c *Config) { c.MaxInFlight = 1 }} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, func(w http.ResponseWriter, r *http.Request) {
				reply(w, 401, failure(401, "AUTH_AUTHENTICATION_FAILED"))
			})
			c := a.client(t, change)
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					ep := []Endpoint{rules, aliases, version}[i%3]
					if i%2 == 0 {
						_, err := c.Walk(within(t), Caller{UID: uint32(i)}, ep, WalkOptions{MaxRows: 100 + i}, nil)
						wantClass(t, err, ClassAuthentication)
						return
					}
					_, err := c.Get(within(t), Caller{UID: uint32(i)}, ep, Page{Limit: 1 + i})
					wantClass(t, err, ClassAuthentication)
				})
			}
			wg.Wait()
			if n := a.requests.Load(); n != 1 {
				t.Fatalf("the bad key was sent %d times", n)
			}
			if s := c.State(); !s.KeyRefused || s.KeyRefusedAt.IsZero() {
				t.Fatalf("state %+v", s)
			}
		})
	}
}

func TestARefusedKeyIsNotTriedAgainUntilItChangesOrSomebodySaysSo(t *testing.T) {
	good := atomic.Value{}
	good.Store(key2)
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(keyHeader) != good.Load() {
			reply(w, 401, failure(401, "AUTH_AUTHENTICATION_FAILED"))
			return
		}
		reply(w, 200, success(`{}`))
	})
	c := a.client(t)
	get := func() error {
		_, err := c.Get(within(t), Caller{}, version, Page{})
		return err
	}
	requests := func(want int64) {
		t.Helper()
		if n := a.requests.Load(); n != want {
			t.Fatalf("%d requests, want %d", n, want)
		}
	}
	wantClass(t, get(), ClassAuthentication)
	e := wantClass(t, get(), ClassAuthentication)
	if !strings.Contains(e.Msg, "not sent") || !strings.Contains(e.Next, "mcpctl reset") {
		t.Errorf("it says %q, %q", e.Msg, e.Next)
	}
	requests(1)
	if err := c.Rekey(secretfile.New([]byte(key1))); err != nil { // read again, unchanged
		t.Fatal(err)
	}
	wantClass(t, get(), ClassAuthentication)
	requests(1)
	if err := c.Rekey(secretfile.New([]byte("bad\nkey"))); err == nil {
		t.Fatal("a key that cannot be sent was taken")
	}
	wantClass(t, get(), ClassAuthentication)
	requests(1)
	c.ResetBreakers()
	wantClass(t, get(), ClassAuthentication)
	wantClass(t, get(), ClassAuthentication)
	requests(2)
	if err := c.Rekey(secretfile.New([]byte(key2))); err != nil {
		t.Fatal(err)
	}
	if s := c.State(); s.KeyRefused || s.Slots != 1 {
		t.Fatalf("after the new key: %+v", s)
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	if s := c.State(); s.Slots != 4 {
		t.Fatalf("after it was accepted: %+v", s)
	}
	requests(3)
}

func TestARefusalOfTheOldKeySaysNothingAboutTheNew(t *testing.T) {
	hold := make(chan struct{})
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(keyHeader) == key1 {
			<-hold
			reply(w, 401, failure(401, "AUTH_AUTHENTICATION_FAILED"))
			return
		}
		reply(w, 200, success(`{}`))
	})
	c := a.client(t)
	old := make(chan error, 1)
	go func() {
		_, err := c.Get(within(t), Caller{}, rules, Page{})
		old <- err
	}()
	waitFor(t, func() bool { return a.requests.Load() == 1 })
	if err := c.Rekey(secretfile.New([]byte(key2))); err != nil {
		t.Fatal(err)
	}
	close(hold)
	wantClass(t, <-old, ClassAuthentication)
	if _, err := c.Get(within(t), Caller{}, version, Page{}); err != nil {
		t.Fatalf("the new key is blamed: %v", err)
	}
}

func TestSilenceAfterARefusedKeyIsCalledABlock(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		reply(w, 401, failure(401, "AUTH_AUTHENTICATION_FAILED"))
	})
	c := a.client(t)
	_, err := c.Get(within(t), Caller{}, version, Page{})
	wantClass(t, err, ClassAuthentication)
	if !c.breakers.MaybeBlocked() {
		t.Fatal("it is not remembered")
	}
}

func TestAnEndpointThatTimesOutTwiceIsPaused(t *testing.T) {
	var slow atomic.Bool
	slow.Store(true)
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() && strings.HasPrefix(r.URL.Path, string(rules)) {
			<-r.Context().Done()
			return
		}
		reply(w, 200, success(`[]`))
	})
	var mu sync.Mutex
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	pass := func(d time.Duration) { mu.Lock(); now = now.Add(d); mu.Unlock() }
	c := a.client(t, func(c *Config) {
		c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	get := func(ep Endpoint) error {
		_, err := c.Get(within(t), Caller{}, ep, Page{Limit: 1})
		return err
	}
	if err := get(version); err != nil { // the key is proven, connections are warm
		t.Fatal(err)
	}
	c.pageTimeout = 50 * time.Millisecond
	wantClass(t, get(rules), ClassTimeout)
	if s := c.State(); len(s.Paths) != 1 || s.Paths[0].Open || s.Paths[0].TimeOuts != 1 {
		t.Fatalf("after one: %+v", s.Paths)
	}
	wantClass(t, get(rules), ClassTimeout)
	paused := func(until string) {
		t.Helper()
		before := a.requests.Load()
		e := wantClass(t, get(rules), ClassBreaker)
		if !strings.Contains(e.Next, until) {
			t.Errorf("it says %q, want %s", e.Next, until)
		}
		if a.requests.Load() != before {
			t.Error("it was sent")
		}
	}
	paused("2026-11-30T12:01:00Z (in 60 s)")
	c.pageTimeout = time.Minute // a busy machine is not slow
	if err := get(aliases); err != nil {
		t.Fatalf("another endpoint is paused too: %v", err)
	}
	c.pageTimeout = 50 * time.Millisecond
	pass(61 * time.Second)
	wantClass(t, get(rules), ClassTimeout) // the one that tries it
	paused("(in 120 s)")
	pass(121 * time.Second)
	wantClass(t, get(rules), ClassTimeout)
	for _, hold := range []time.Duration{4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		s := c.State().Paths[0]
		if !s.Open || s.Until.Sub(c.now()) != hold {
			t.Fatalf("paused for %v, want %v", s.Until.Sub(c.now()), hold)
		}
		pass(hold)
		wantClass(t, get(rules), ClassTimeout)
	}
	pass(10 * time.Minute)
	slow.Store(false)
	c.pageTimeout = time.Minute
	if err := get(rules); err != nil {
		t.Fatal(err)
	}
	if s := c.State(); len(s.Paths) != 0 {
		t.Fatalf("a success did not close it: %+v", s.Paths)
	}
}

func TestResetOpensAPausedEndpoint(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("limit") == "" {
			reply(w, 200, success(`{}`))
			return
		}
		<-r.Context().Done()
	})
	c := a.client(t)
	if _, err := c.Get(within(t), Caller{}, rules, Page{}); err != nil {
		t.Fatal(err)
	}
	c.pageTimeout = 50 * time.Millisecond
	for range 2 {
		_, err := c.Get(within(t), Caller{}, rules, Page{Limit: 1})
		wantClass(t, err, ClassTimeout)
	}
	_, err := c.Get(within(t), Caller{}, rules, Page{})
	wantClass(t, err, ClassBreaker)
	c.ResetBreakers()
	c.pageTimeout = time.Minute
	if _, err := c.Get(within(t), Caller{}, rules, Page{}); err != nil {
		t.Fatal(err)
	}
}

func TestACallThatLeavesEarlyIsNoTimeOutOfTheEndpoint(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := a.client(t)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := c.Get(ctx, Caller{}, rules, Page{Limit: 1})
		cancel()
		e := wantClass(t, err, ClassTimeout)
		if e.Code != errs.Expired || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %+v", e)
		}
	}
	if s := c.State(); len(s.Paths) != 0 {
		t.Fatalf("the endpoint is blamed: %+v", s.Paths)
	}
}

func TestSlotsAreSharedByUidWhileRequestsWait(t *testing.T) {
	release := make(chan struct{})
	done := sync.OnceFunc(func() { close(release) })
	var mu sync.Mutex
	var order []string
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == string(version) {
			reply(w, 200, success(`{}`))
			return
		}
		mu.Lock()
		order = append(order, r.URL.Path)
		mu.Unlock()
		<-release
		reply(w, 200, success(`[]`))
	})
	c := a.client(t)
	t.Cleanup(done) // before the server closes, which waits for its handlers
	if _, err := c.Get(within(t), Caller{}, version, Page{}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ask := func(uid uint32, ep Endpoint, n int) {
		wg.Go(func() {
			if _, err := c.Get(within(t), Caller{UID: uid, Session: uint64(n % 2)}, ep, Page{Limit: n + 1}); err != nil {
				t.Error(err)
			}
		})
	}
	for n := range 8 {
		ask(1, rules, n)
	}
	waitFor(t, func() bool { s := c.State(); return s.InFlight == 4 && s.Waiting == 4 })
	for n := range 4 {
		ask(2, aliases, n)
	}
	arrived := func() int { mu.Lock(); defer mu.Unlock(); return len(order) }
	waitFor(t, func() bool { return c.State().Waiting == 8 && arrived() == 4 })
	release <- struct{}{}
	release <- struct{}{}
	waitFor(t, func() bool { return arrived() == 6 })
	mu.Lock()
	if order[4] != string(aliases) || order[5] != string(aliases) {
		t.Errorf("the next two are %v", order[4:])
	}
	mu.Unlock()
	done()
	wg.Wait()
	if s := c.State(); s.InFlight != 0 || s.Waiting != 0 {
		t.Fatalf("left behind: %+v", s)
	}
}

func TestACallThatWaitsForASlotGoesWhenItsTimeIsOver(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := a.client(t)
	first, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _, _ = c.Get(first, Caller{UID: 1}, rules, Page{}) }()
	waitFor(t, func() bool { return a.requests.Load() == 1 })
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer stop()
	_, err := c.Get(ctx, Caller{UID: 2}, aliases, Page{})
	wantClass(t, err, ClassTimeout)
	cancel()
	<-done
	waitFor(t, func() bool { s := c.State(); return s.InFlight == 0 && s.Waiting == 0 })
	if a.requests.Load() != 1 {
		t.Fatal("it was sent after its caller had left")
	}
}

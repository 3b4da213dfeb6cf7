package pfrest

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAWalkReadsInPagesAndCountsWhatIsNoObject(t *testing.T) {
	l := number(600)
	l.rows[7], l.rows[300] = "null", "[1]"
	a := serve(t, l.handle)
	c := a.client(t)
	var rows []string
	var progress []int
	w, err := c.Walk(within(t), Caller{}, rules, WalkOptions{MaxRows: 5000, Progress: func(n int) { progress = append(progress, n) }}, func(row jsontext.Value, pos int) bool {
		if pos != len(rows) {
			t.Fatalf("position %d after %d rows", pos, len(rows))
		}
		rows = append(rows, string(row))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.rows, rows); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(Walked{Rows: 600, Complete: true, Requests: 4}, w); diff != "" {
		t.Fatal(diff)
	}
	want := []string{
		"GET /api/v2/firewall/rules?limit=250", "GET /api/v2/firewall/rules?limit=251&offset=249",
		"GET /api/v2/firewall/rules?limit=251&offset=499", "GET /api/v2/firewall/rules?limit=1",
	}
	if diff := cmp.Diff(want, a.uris()); diff != "" {
		t.Fatal(diff)
	}
	if fmt.Sprint(progress) != "[250 500 600]" {
		t.Errorf("progress %v", progress)
	}
}

func TestAWalkSalvagesABadRowAndAnEmptyBody(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter){
		"500":      func(w http.ResponseWriter) { reply(w, 500, failure(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR")) },
		"500 HTML": func(w http.ResponseWriter) { w.WriteHeader(500); fmt.Fprint(w, "<pre>PHP ERROR: secret") },
		"stored": func(w http.ResponseWriter) {
			reply(w, 500, failure(500, "INTEGER_FIELD_WITH_NON_INTEGER_INTERNAL_VALUE"))
		},
		"empty body": func(w http.ResponseWriter) { reply(w, 200, "\n") },
	} {
		t.Run(name, func(t *testing.T) {
			l := number(300)
			a := serve(t, func(w http.ResponseWriter, r *http.Request) {
				var limit, offset int
				fmt.Sscan(r.FormValue("limit"), &limit)
				fmt.Sscan(r.FormValue("offset"), &offset)
				if offset <= 123 && 123 < offset+limit {
					fail(w)
					return
				}
				l.handle(w, r)
			})
			c := a.client(t)
			n := 0
			w, err := c.Walk(within(t), Caller{}, rules, WalkOptions{MaxRows: 5000}, func(_ jsontext.Value, pos int) bool {
				if pos == 123 {
					t.Error("the bad row was handed out")
				}
				n++
				return true
			})
			if err != nil || n != 299 || !slices.Equal(w.Bad, []int{123}) || w.Complete {
				t.Fatalf("%d rows, %+v, %v", n, w, err)
			}
		})
	}
}

func TestAWalkOfARefusedListSaysWhy(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { reply(w, 403, failure(403, "AUTH_AUTHORIZATION_FAILED")) })
	c := a.client(t)
	_, err := c.Walk(within(t), Caller{}, rules, WalkOptions{MaxRows: 10}, nil)
	wantClass(t, err, ClassAuthorization)
	if a.requests.Load() != 1 {
		t.Fatalf("%d requests", a.requests.Load())
	}
	for _, o := range []WalkOptions{{}, {MaxRows: maxRows + 1}, {MaxRows: 1, PageSize: maxPage + 1}, {MaxRows: 1, PageSize: -1}} {
		if _, err := c.Walk(within(t), Caller{}, rules, o, nil); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestRowsLargerThanAnAnswerMakePagesSmaller(t *testing.T) {
	l := number(20)
	for i := range l.rows {
		l.rows[i] = fmt.Sprintf(`{"id":%d,"address":"%s"}`, i, strings.Repeat("x", 20<<10))
	}
	a := serve(t, l.handle)
	c := a.client(t, func(c *Config) { c.MaxBody = 64 << 10 })
	n := 0
	w, err := c.Walk(within(t), Caller{}, rules, WalkOptions{MaxRows: 100}, func(jsontext.Value, int) bool { n++; return true })
	if err != nil || n != 20 || !w.Complete {
		t.Fatalf("%d rows, %+v, %v", n, w, err)
	}
}

func TestTheHATEOASSettingIsSeenOnRowsAlone(t *testing.T) {
	for data, want := range map[string]bool{
		`[{"id":0,"_links":{"self":{}}}]`:                     true,
		`[{"id":0,"descr":"_links"},{"descr":"\"_links\":"}]`: false,
	} {
		a := serve(t, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, success(data)) })
		c := a.client(t)
		w, err := c.Walk(within(t), Caller{}, rules, WalkOptions{MaxRows: 100}, func(jsontext.Value, int) bool { return true })
		ans, err2 := c.Get(within(t), Caller{}, rules, Page{Limit: 5})
		if err != nil || err2 != nil || w.Links != want || ans.Links != want {
			t.Errorf("%s: %v %v %v %v", data, w.Links, ans.Links, err, err2)
		}
	}
}

func TestWalksThatBeginTogetherAreOne(t *testing.T) {
	l := number(600)
	begin := make(chan struct{})
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { <-begin; l.handle(w, r) })
	c := a.client(t)
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			n := 0
			w, err := c.Walk(within(t), Caller{UID: uint32(i)}, rules, WalkOptions{MaxRows: 1000}, func(jsontext.Value, int) bool { n++; return true })
			if err != nil || n != 600 || !w.Complete || w.Requests != 4 {
				t.Errorf("%d rows, %+v, %v", n, w, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(within(t))
	wg.Go(func() {
		_, err := c.Walk(ctx, Caller{UID: 9}, rules, WalkOptions{MaxRows: 1000}, nil)
		wantClass(t, err, ClassCancelled)
	})
	other := make(chan struct{})
	wg.Go(func() { // another bound: a walk of its own
		defer close(other)
		w, err := c.Walk(within(t), Caller{UID: 10}, rules, WalkOptions{MaxRows: 5}, func(jsontext.Value, int) bool { return true })
		if err != nil || w.Rows != 5 || w.Complete {
			t.Errorf("%+v, %v", w, err)
		}
	})
	waitFor(t, func() bool { return c.State().Joined == 5 && a.requests.Load() == 1 && c.State().Waiting == 1 })
	cancel()
	close(begin)
	wg.Wait()
	if n := a.requests.Load(); n != 4+1 {
		t.Fatalf("%d requests, want 4 and 1", n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.walks) != 0 || len(c.gets) != 0 {
		t.Fatalf("left behind: %d walks", len(c.walks))
	}
}

func TestALateWalkDoesNotJoinPagesThatWereHandedOut(t *testing.T) {
	l := number(600)
	second := make(chan struct{})
	var held atomic.Bool
	reached := make(chan struct{})
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("offset") == "249" && held.CompareAndSwap(false, true) {
			close(reached)
			<-second
		}
		l.handle(w, r)
	})
	c := a.client(t)
	read := func(n *int) error {
		_, err := c.Walk(within(t), Caller{}, rules, WalkOptions{MaxRows: 1000}, func(jsontext.Value, int) bool { *n++; return true })
		return err
	}
	var first, late int
	done := make(chan error, 1)
	go func() { done <- read(&first) }()
	<-reached
	if err := read(&late); err != nil || late != 600 {
		t.Fatalf("%d rows, %v", late, err)
	}
	close(second)
	if err := <-done; err != nil || first != 600 {
		t.Fatalf("%d rows, %v", first, err)
	}
}

func TestTheLastWalkerWhoLeavesCancelsTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cancelled := make(chan struct{})
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		cancel() // the request is here: now nobody waits for it
		<-r.Context().Done()
		close(cancelled)
	})
	c := a.client(t)
	_, err := c.Walk(ctx, Caller{}, rules, WalkOptions{MaxRows: 10}, nil)
	wantClass(t, err, ClassCancelled)
	select {
	case <-cancelled:
	case <-time.After(time.Minute):
		t.Fatal("the request goes on although nobody waits")
	}
	waitFor(t, func() bool { return c.State().InFlight == 0 })
}

func TestAWalkGivesItsSlotBackBetweenPages(t *testing.T) {
	// One slot, a long walk of uid 1, one short question of uid 2 that arrives
	// while the walk runs: it is answered before the walk's end.
	l := number(2500)
	var order []string
	var mu sync.Mutex
	asked := make(chan struct{})
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		order = append(order, r.RequestURI)
		n := len(order)
		mu.Unlock()
		if n == 3 {
			<-asked
		}
		if r.URL.Path == string(version) {
			reply(w, 200, success(`{}`))
			return
		}
		l.handle(w, r)
	})
	c := a.client(t, func(c *Config) { c.MaxInFlight = 1 })
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.Walk(within(t), Caller{UID: 1}, rules, WalkOptions{MaxRows: 5000}, func(jsontext.Value, int) bool { return true }); err != nil {
			t.Error(err)
		}
	})
	waitFor(t, func() bool { return a.requests.Load() == 3 })
	wg.Go(func() {
		if _, err := c.Get(within(t), Caller{UID: 2}, version, Page{}); err != nil {
			t.Error(err)
		}
	})
	waitFor(t, func() bool { return c.State().Waiting == 1 })
	close(asked)
	wg.Wait()
	if i := slices.Index(order, string(version)); i != 3 {
		t.Fatalf("the short question came as request %d of %d", i, len(order))
	}
}

// A walk of 100,000 rows must not hold more than a few pages: what the heap has
// above its level before the walk stays below 8 MiB, server included.
func TestALongWalkNeedsTheMemoryOfAPage(t *testing.T) {
	if testing.Short() {
		t.Skip("400 pages")
	}
	const rows = 100_000
	row := `,"descr":"` + strings.Repeat("x", 600) + `"}`
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var limit, offset int
		fmt.Sscan(r.FormValue("limit"), &limit)
		fmt.Sscan(r.FormValue("offset"), &offset)
		var page strings.Builder
		for i := offset; i < min(offset+limit, rows); i++ {
			page.WriteString(`,{"id":` + strconv.Itoa(i) + row)
		}
		reply(w, 200, success("["+strings.TrimPrefix(page.String(), ",")+"]"))
	})
	c := a.client(t)
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	var peak atomic.Uint64
	n := 0
	w, err := c.Walk(within(t), Caller{}, rules, WalkOptions{MaxRows: maxRows, Progress: func(done int) {
		if done%(25*defaultPage) == 0 { // what is reachable with a page in hand
			peak.Store(max(peak.Load(), live()))
		}
	}}, func(jsontext.Value, int) bool { n++; return true })
	if err != nil || n != rows || !w.Complete {
		t.Fatalf("%d rows, %+v, %v", n, w, err)
	}
	if grown := int64(peak.Load()) - int64(before); grown > 8<<20 {
		t.Fatalf("the walk held %d KiB", grown>>10)
	} else {
		t.Logf("the walk held %d KiB", grown>>10)
	}
}

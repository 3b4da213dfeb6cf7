package paged

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	errBad   = errors.New("unreadable")
	errLarge = errors.New("too large")
	errNet   = errors.New("connection")
)

// upstream is a list that answers pages, with faults.
type upstream struct {
	rows    []string
	bad     map[string]bool // rows that no page can contain
	maxSize int             // bytes of a page; 0 for any
	asked   []string        // offset+limit of each request
	before  func(n, offset, limit int)
	ignore  bool
	fail    int // the n-th request fails with errNet
	slip    int // the n-th request fails with errBad, whatever it asks for
	busy    bool
}

func numbered(n int) *upstream {
	u := &upstream{bad: map[string]bool{}}
	for i := range n {
		u.rows = append(u.rows, fmt.Sprintf(`"r%d"`, i))
	}
	return u
}

func (u *upstream) fetch(_ context.Context, limit, offset int) (Page, error) {
	if u.busy {
		panic("two requests at once")
	}
	u.busy = true
	defer func() { u.busy = false }()
	u.asked = append(u.asked, fmt.Sprintf("%d+%d", offset, limit))
	if u.before != nil {
		u.before(len(u.asked), offset, limit)
	}
	if u.fail == len(u.asked) {
		return Page{}, errNet
	}
	if u.slip == len(u.asked) {
		return Page{}, errBad
	}
	from, to := min(offset, len(u.rows)), min(offset+limit, len(u.rows))
	if u.ignore {
		from, to = 0, len(u.rows)
	}
	var p Page
	for _, r := range u.rows[from:to] {
		if u.bad[r] {
			return Page{}, fmt.Errorf("page: %w", errBad)
		}
		p.Rows = append(p.Rows, [2]int{len(p.Body), len(p.Body) + len(r)})
		p.Body = append(p.Body, r...)
	}
	if u.maxSize > 0 && len(p.Body) > u.maxSize {
		return Page{}, errLarge
	}
	return p, nil
}

// reader collects what one member is given.
type reader struct {
	rows     []string
	pos      []int
	restarts int
	progress []int
	walked   Walked
	err      error
}

func (r *reader) member(opt Options, stop int) *Member {
	opt.Restart = func() { r.restarts++; r.rows, r.pos, r.progress = nil, nil, nil }
	opt.Progress = func(n int) { r.progress = append(r.progress, n) }
	return NewMember(opt, func(row jsontext.Value, pos int) bool {
		r.rows, r.pos = append(r.rows, string(row)), append(r.pos, pos)
		return stop == 0 || len(r.rows) < stop
	})
}

// walk reads u with one reader.
func walk(u *upstream, size, maxRows, stop int) *reader {
	r := new(reader)
	m := r.member(Options{}, stop)
	go New(u.config(size, maxRows), m).Run(context.Background())
	r.walked, r.err = m.Follow(context.Background())
	return r
}

func (u *upstream) config(size, maxRows int) Config {
	return Config{PageSize: size, MaxRows: maxRows, Fetch: u.fetch, Admit: func() {}, TooLarge: errLarge, Unreadable: errBad}
}

func wantRows(t *testing.T, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
}

func TestPagesOverlapByOneRowAndTheFirstIsReadAgain(t *testing.T) {
	u := numbered(600)
	r := walk(u, 250, 5000, 0)
	wantRows(t, r.rows, u.rows)
	wantRows(t, u.asked, []string{"0+250", "249+251", "499+251", "0+1"})
	if w := r.walked; r.err != nil || w.Rows != 600 || !w.Complete || w.Changed || w.Requests != 4 || w.IgnoredLimit || w.Bad != nil {
		t.Fatalf("%+v %v", w, r.err)
	}
	wantRows(t, []string{fmt.Sprint(r.progress)}, []string{"[250 500 600]"})
	if r.pos[0] != 0 || r.pos[599] != 599 {
		t.Fatalf("positions %d..%d", r.pos[0], r.pos[599])
	}
}

func TestAListOfOnePageIsOneRequest(t *testing.T) {
	for _, n := range []int{0, 1, 249} {
		u := numbered(n)
		r := walk(u, 250, 5000, 0)
		wantRows(t, r.rows, slices.Clip(u.rows))
		if len(u.asked) != 1 || !r.walked.Complete {
			t.Fatalf("%d rows: %v %+v", n, u.asked, r.walked)
		}
	}
	u := numbered(250) // full: whether more follow has to be asked
	r := walk(u, 250, 5000, 0)
	wantRows(t, u.asked, []string{"0+250", "249+251"})
	wantRows(t, r.rows, u.rows)
	if !r.walked.Complete {
		t.Fatalf("%+v", r.walked)
	}
}

func TestTheBoundIsExact(t *testing.T) {
	for _, n := range []int{9, 10, 11, 12, 40} {
		for _, size := range []int{1, 3, 4, 5, 10, 11, 250} {
			u := numbered(n)
			r := walk(u, size, 10, 0)
			wantRows(t, r.rows, u.rows[:min(n, 10)])
			if r.walked.Complete != (n <= 10) || r.walked.More != (n > 10) || r.walked.Stuck || r.walked.Rows != min(n, 10) || r.err != nil {
				t.Fatalf("%d rows in pages of %d: %+v %v", n, size, r.walked, r.err)
			}
		}
	}
}

func TestAReaderThatHasEnoughStopsTheWalk(t *testing.T) {
	u := numbered(5000)
	r := walk(u, 250, 5000, 100)
	wantRows(t, r.rows, u.rows[:100])
	wantRows(t, u.asked, []string{"0+250"})
	if r.walked.Complete || r.err != nil {
		t.Fatalf("%+v %v", r.walked, r.err)
	}
	u = numbered(5000)
	r = walk(u, 250, 5000, 400) // over two pages: the first row is looked at again
	wantRows(t, r.rows, u.rows[:400])
	wantRows(t, u.asked, []string{"0+250", "249+251", "0+1"})
}

func TestAChangeStartsTheWalkOverOnce(t *testing.T) {
	shift := func(u *upstream) { u.rows = slices.Delete(u.rows, 3, 4) }
	cases := map[string]struct {
		size   int
		before func(u *upstream, n int)
		moved  bool // the second pass is disturbed as well
	}{
		"a row before the overlap is deleted":  {10, func(u *upstream, n int) { atRequest(n, 2, func() { shift(u) }) }, false},
		"a row is put in front":                {10, func(u *upstream, n int) { atRequest(n, 3, func() { u.rows = slices.Insert(u.rows, 0, `"new"`) }) }, false},
		"the list shrinks to nothing":          {10, func(u *upstream, n int) { atRequest(n, 2, func() { u.rows = nil }) }, false},
		"it shrinks just in front of the page": {10, func(u *upstream, n int) { atRequest(n, 2, func() { u.rows = u.rows[:9] }) }, false},
		"only the first row changes":           {10, func(u *upstream, n int) { atRequest(n, 4, func() { u.rows[0] = `"other"` }) }, false},
		"the list is emptied before the last look": {10, func(u *upstream, n int) {
			atRequest(n, 4, func() { u.rows = nil })
		}, false},
		"it changes all the time": {10, func(u *upstream, n int) { u.rows = slices.Insert(u.rows, 0, fmt.Sprintf(`"n%d"`, n)) }, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := numbered(25)
			u.before = func(n, _, _ int) { c.before(u, n) }
			r := walk(u, c.size, 100, 0)
			if r.err != nil || !r.walked.Changed || r.restarts != 1 || r.walked.Moved != c.moved || r.walked.Complete == c.moved {
				t.Fatalf("%d restarts, %+v %v", r.restarts, r.walked, r.err)
			}
			if !c.moved {
				wantRows(t, r.rows, slices.Clip(u.rows))
			}
		})
	}
}

func atRequest(n, want int, f func()) {
	if n == want {
		f()
	}
}

func TestSameDecidesWhatIsAChange(t *testing.T) {
	u := numbered(25)
	u.before = func(n, _, _ int) {
		for i := range u.rows { // counters that grow between any two reads
			u.rows[i] = fmt.Sprintf(`"r%d-%d"`, i, n)
		}
	}
	r := new(reader)
	m := r.member(Options{Same: func(a, b jsontext.Value) bool {
		name := func(v jsontext.Value) string { s, _, _ := strings.Cut(string(v), "-"); return s }
		return name(a) == name(b)
	}}, 0)
	go New(u.config(10, 100), m).Run(context.Background())
	w, err := m.Follow(context.Background())
	if err != nil || w.Changed || !w.Complete || len(r.rows) != 25 {
		t.Fatalf("%+v %v", w, err)
	}
}

func TestABadRowIsFoundByHalvesAndTheOthersAreRead(t *testing.T) {
	for _, n := range []int{1, 100, 250, 600} {
		for _, at := range []int{0, 1, 124, 125, 248, 249, 250, 251, 498, 499, 500, 599} {
			if at >= n || n == 1 {
				continue
			}
			u := numbered(n)
			u.bad[u.rows[at]] = true
			r := walk(u, 250, 5000, 0)
			want := slices.Delete(slices.Clone(u.rows), at, at+1)
			wantRows(t, r.rows, want)
			if r.err != nil || !slices.Equal(r.walked.Bad, []int{at}) || r.walked.Complete || r.walked.Changed || len(u.asked) > 4+maxSalvage {
				t.Fatalf("%d rows, bad %d: %+v %v, asked %v", n, at, r.walked, r.err, u.asked)
			}
			if at > 0 && at < 249 && n == 250 && len(u.asked) > 1+10+2 { // the page, its halves, the next page, the last look
				t.Fatalf("bad %d: %d requests %v", at, len(u.asked), u.asked)
			}
			for i, p := range r.pos {
				if want := fmt.Sprintf(`"r%d"`, p); r.rows[i] != want {
					t.Fatalf("position %d holds %s", p, r.rows[i])
				}
			}
		}
	}
}

// An appliance that lacks memory for a moment fails one page and has no bad row.
func TestAPageThatFailedForAMomentTakesNoRowAlong(t *testing.T) {
	for _, n := range []int{1, 2, 7, 250, 600} {
		for slip := 1; slip <= 4; slip++ {
			u := numbered(n)
			u.slip = slip
			r := walk(u, 250, 5000, 0)
			if slip == 1 && n == 1 { // nothing is left of it to ask for
				continue
			}
			wantRows(t, r.rows, u.rows)
			if slip < 4 && (r.err != nil || r.walked.Bad != nil || !r.walked.Complete) {
				t.Fatalf("%d rows, request %d: %+v %v, asked %v", n, slip, r.walked, r.err, u.asked)
			}
		}
	}
}

func TestSalvageGivesUpAfterTwelveRequests(t *testing.T) {
	u := numbered(1000)
	for _, i := range []int{3, 100, 180, 700} {
		u.bad[u.rows[i]] = true
	}
	r := walk(u, 250, 5000, 0)
	if r.err != nil || r.walked.Complete || !r.walked.Stuck || r.walked.More || len(r.walked.Bad) < 2 || r.walked.Bad[0] != 3 {
		t.Fatalf("%+v %v", r.walked, r.err)
	}
	if len(u.asked) > 1+maxSalvage+1 { // the page, the halves, the last look
		t.Fatalf("%d requests: %v", len(u.asked), u.asked)
	}
	if last := r.walked.Bad[len(r.walked.Bad)-1]; slices.Max(r.pos) >= last {
		t.Fatalf("rows behind the point where it ended: %d >= %d", slices.Max(r.pos), last)
	}
}

func TestAListThatCannotBeReadAtAllIsItsError(t *testing.T) {
	u := numbered(400)
	for _, row := range u.rows {
		u.bad[row] = true
	}
	r := walk(u, 250, 5000, 0)
	if !errors.Is(r.err, errBad) || len(u.asked) != 1+maxSalvage {
		t.Fatalf("%v after %d requests", r.err, len(u.asked))
	}
	u = numbered(1)
	u.bad[u.rows[0]] = true
	if r := walk(u, 250, 5000, 0); !errors.Is(r.err, errBad) {
		t.Fatalf("%v %+v", r.err, r.walked)
	}
}

func TestRowsOfMegabytesMakePagesSmaller(t *testing.T) {
	u := numbered(40)
	u.maxSize = 30
	u.rows[33] = `"` + strings.Repeat("x", 40) + `"` // too large by itself
	r := walk(u, 16, 5000, 0)
	wantRows(t, r.rows, slices.Delete(slices.Clone(u.rows), 33, 34))
	if r.err != nil || !slices.Equal(r.walked.Bad, []int{33}) {
		t.Fatalf("%+v %v", r.walked, r.err)
	}
}

// An appliance that answers without end would otherwise be asked for every row
// up to the bound, with the largest answer that we take each time.
func TestAListOfNothingButTooLargeRowsIsGivenUpSoon(t *testing.T) {
	u := numbered(1000)
	u.maxSize = 1
	r := walk(u, 250, 5000, 0)
	if !errors.Is(r.err, errLarge) || len(u.asked) > 9+maxSalvage { // the smaller and smaller pages, and the rows
		t.Fatalf("%v after %d requests: %v", r.err, len(u.asked), u.asked)
	}
}

func TestAnIgnoredLimitEndsTheWalkWithTheWholeList(t *testing.T) {
	u := numbered(600)
	u.ignore = true
	r := walk(u, 250, 5000, 0)
	wantRows(t, r.rows, u.rows)
	if !r.walked.IgnoredLimit || !r.walked.Complete || len(u.asked) != 1 {
		t.Fatalf("%+v %v", r.walked, u.asked)
	}
	r = walk(u, 250, 300, 0)
	wantRows(t, r.rows, u.rows[:300])
	if r.walked.Complete {
		t.Fatalf("%+v", r.walked)
	}
	u = numbered(600) // from the second page on
	u.before = func(n, _, _ int) { u.ignore = n > 1 }
	r = walk(u, 250, 5000, 0)
	wantRows(t, r.rows, u.rows)
	if !r.walked.IgnoredLimit || !r.walked.Complete || r.walked.Changed {
		t.Fatalf("%+v", r.walked)
	}
}

func TestAnyOtherErrorEndsTheWalk(t *testing.T) {
	for n := 1; n <= 4; n++ {
		u := numbered(600)
		u.fail = n
		if r := walk(u, 250, 5000, 0); !errors.Is(r.err, errNet) {
			t.Fatalf("request %d: %v", n, r.err)
		}
	}
}

func TestReadersShareOneWalkAndLeaveAlone(t *testing.T) {
	u := numbered(1000)
	full, short := new(reader), new(reader)
	a, b := full.member(Options{}, 0), short.member(Options{}, 300)
	leaves, cancel := context.WithCancel(context.Background())
	seen := 0
	c := NewMember(Options{}, func(jsontext.Value, int) bool {
		if seen++; seen == 100 {
			cancel()
		}
		return true
	})
	panics := NewMember(Options{}, func(jsontext.Value, int) bool { panic("consumer") })
	r := New(u.config(250, 5000), a)
	for _, m := range []*Member{b, c, panics} {
		r.Add(m)
	}
	var wg sync.WaitGroup
	wg.Go(func() { full.walked, full.err = a.Follow(context.Background()) })
	wg.Go(func() { short.walked, short.err = b.Follow(context.Background()) })
	wg.Go(func() {
		if _, err := c.Follow(leaves); !errors.Is(err, context.Canceled) {
			t.Errorf("the one who left got %v", err)
		}
	})
	wg.Go(func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = panics.Follow(context.Background())
	})
	r.Run(context.Background())
	wg.Wait()
	wantRows(t, full.rows, u.rows)
	wantRows(t, short.rows, u.rows[:300])
	if !full.walked.Complete || short.walked.Complete || short.walked.Rows != 300 || full.err != nil || short.err != nil {
		t.Fatalf("%+v %+v", full.walked, short.walked)
	}
	// One more look at the first row was made for the reader who stopped.
	wantRows(t, u.asked, []string{"0+250", "249+251", "0+1", "499+251", "749+251", "999+251", "0+1"})
}

// Whatever the list, the page size, the bound, one bad row and where the reader
// stops: what is handed out is the list's own rows in order, each once, within
// the bound, and Complete means exactly all.
func TestWhatIsHandedOutIsTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "rows")
		size := rapid.IntRange(1, 20).Draw(t, "page")
		bound := rapid.IntRange(1, 70).Draw(t, "bound")
		stop := rapid.IntRange(0, 60).Draw(t, "stop")
		u := numbered(n)
		bad := rapid.IntRange(-1, n-1).Draw(t, "bad")
		if bad >= 0 {
			u.bad[u.rows[bad]] = true
		}
		r := walk(u, size, bound, stop)
		want := []string{}
		for i, row := range u.rows[:min(n, bound)] {
			if i != bad {
				want = append(want, row)
			}
		}
		if stop > 0 {
			want = want[:min(stop, len(want))]
		}
		if r.err != nil {
			if bad >= 0 && len(want) == 0 {
				return
			}
			t.Fatalf("%v", r.err)
		}
		if !slices.Equal(r.rows, want) {
			t.Fatalf("got %v, want %v; asked %v", r.rows, want, u.asked)
		}
		all := len(want) == n && bad < 0
		if r.walked.Complete && !all || all && (stop == 0 || stop > n) && !r.walked.Complete {
			t.Fatalf("complete %v with %d of %d rows: %+v, asked %v", r.walked.Complete, len(want), n, r.walked, u.asked)
		}
		if r.walked.Changed || r.restarts > 0 {
			t.Fatalf("a change was seen: %+v, asked %v", r.walked, u.asked)
		}
	})
}

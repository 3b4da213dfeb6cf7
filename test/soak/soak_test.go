package soak

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/node/v1"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

var full = flag.Bool("full", false, "200,000 calls over 64 sessions instead of some thousand over 16")

func TestMain(m *testing.M) {
	code := m.Run()
	suite.Cleanup()
	os.Exit(code)
}

// size is how much is run.
type size struct{ calls, sessions, restarts int }

// The bounds of growth between two idle moments of one process with the same
// sessions. Go's heap breathes by some ten megabytes, and in a short run it is
// still finding its size; in a long one a leak of one goroutine or descriptor in
// a thousand calls, or of 3 KiB in each, goes beyond them.
const (
	moreGoroutines = 10
	moreFiles      = 6
	moreMemory     = 32 << 20
	moreOfAShim    = 4 << 20
)

// sample is what one process holds at an idle moment.
type sample struct {
	goroutines int // 0: not asked
	files      int
	memory     int64
}

func (s sample) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d KiB", s.goroutines, s.files, s.memory>>10)
}

// grown lists what is more in b than a healthy process needs.
func grown(what string, a, b sample, memory int64) []string {
	var bad []string
	if b.goroutines > a.goroutines+moreGoroutines || b.files > a.files+moreFiles || b.memory > a.memory+memory {
		bad = append(bad, fmt.Sprintf("%s grew: %v, then %v", what, a, b))
	}
	return bad
}

// holds reads a process's descriptors and resident memory.
func holds(pid int) (sample, error) {
	fds, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		return sample{}, err
	}
	statm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		return sample{}, err
	}
	f := strings.Fields(string(statm))
	pages, err := strconv.ParseInt(f[1], 10, 64)
	return sample{files: len(fds), memory: pages * int64(os.Getpagesize())}, err
}

// goroutines asks a daemon's node for its gauge.
func goroutines(socket string) (int, error) {
	conn, err := rpc.Dial(socket, "the daemon")
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), rawmcp.Wait)
	defer cancel()
	res, err := nodepb.NewNodeClient(conn).Metrics(ctx, &nodepb.MetricsRequest{})
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(res.GetText()) {
		if v, ok := strings.CutPrefix(line, "goroutines "); ok {
			return strconv.Atoi(strings.TrimSpace(v))
		}
	}
	return 0, fmt.Errorf("no gauge of goroutines")
}

// watched is the suite with its sessions.
type watched struct {
	*suite.Suite
	t     *testing.T
	shims []*rawmcp.Client
}

// front samples mcpd once it is quiet: what a call leaves behind for some
// milliseconds is no leak.
func (w *watched) front() sample {
	w.t.Helper()
	var last sample
	for range 20 {
		s, err := holds(w.Proc("mcpd").PID())
		if err == nil {
			s.goroutines, err = goroutines(w.Socket("mcpd-admin"))
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if s.goroutines == last.goroutines && s.files == last.files {
			return s
		}
		last = s
		time.Sleep(100 * time.Millisecond)
	}
	return last
}

// calm waits until nothing has grown, or no longer: what ends by itself, however late on
// a busy machine, is no leak.
func calm(grown func() []string) []string {
	for end := time.Now().Add(rawmcp.Wait); ; time.Sleep(100 * time.Millisecond) {
		if bad := grown(); len(bad) == 0 || time.Now().After(end) {
			return bad
		}
	}
}

// back samples a daemon that is never restarted.
func (w *watched) back(name string) sample {
	w.t.Helper()
	s, err := holds(w.Proc(name).PID())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// shimsHold is what a shim holds on average.
func (w *watched) shimsHold() sample {
	w.t.Helper()
	var sum sample
	for _, c := range w.shims {
		s, err := holds(c.Process().Pid)
		if err != nil {
			w.t.Fatal(err)
		}
		sum.files += s.files
		sum.memory += s.memory
	}
	n := len(w.shims)
	return sample{files: sum.files / n, memory: sum.memory / int64(n)}
}

// restart ends mcpd, the hard way or in good order, and starts it again when calls have
// met that it was away: met says how many have.
func (w *watched) restart(hard bool, met func() int64) {
	w.t.Helper()
	before := met()
	if hard {
		w.Kill("mcpd")
	} else {
		w.Proc("mcpd").Signal(syscall.SIGTERM)
		w.Proc("mcpd").Wait()
	}
	for end := time.Now().Add(rawmcp.Wait); met() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("no call met that mcpd was away")
		}
	}
	w.Start("mcpd")
}

func TestSoak(t *testing.T) {
	n := size{calls: 4_000, sessions: 16, restarts: 3}
	if *full {
		n = size{calls: 200_000, sessions: 64, restarts: 9}
	}
	const rules = 400
	w := &watched{t: t, Suite: suite.New(t, suite.Options{Appliance: fakepf.Options{Rules: rules}})}
	g, count := newGate(), &tally{}
	var wg sync.WaitGroup
	failures := make(chan error, n.sessions)
	began := time.Now()
	for i := range n.sessions {
		c := w.Shim()
		if _, err := c.Initialize(rawmcp.HandshakeVersions[i%len(rawmcp.HandshakeVersions)]); err != nil {
			t.Fatal(err)
		}
		w.shims = append(w.shims, c)
		s := &caller{number: i, c: c, rules: rules, gate: g, count: count}
		quota := n.calls / n.sessions
		if i < n.calls%n.sessions {
			quota++
		}
		wg.Go(func() {
			if err := s.run(quota); err != nil {
				failures <- err
			}
		})
	}

	// Each life of mcpd is sampled when it has warmed up and at its end; what is
	// never restarted, over the whole run.
	var guidance, shims sample
	var table []string
	lives := n.restarts + 1
	for life := range lives {
		share := func(part float64) int64 { return int64(float64(n.calls) * (float64(life) + part) / float64(lives)) }
		until := func(calls int64) bool {
			for count.good.Load() < calls {
				select {
				case err := <-failures:
					t.Error(err)
					return false
				case <-time.After(5 * time.Millisecond):
				}
			}
			return true
		}
		var first sample
		for _, part := range []float64{0.4, 0.95} {
			if !until(share(part)) {
				t.FailNow()
			}
			g.hold(n.sessions)
			s := w.front()
			if part < 0.9 {
				first = s
				if life == 0 {
					guidance, shims = w.back("guidanced"), w.shimsHold()
				}
			} else {
				for _, b := range calm(func() []string { s = w.front(); return grown("mcpd", first, s, moreMemory) }) {
					t.Error(b)
				}
			}
			table = append(table, fmt.Sprintf("%7d calls: mcpd %v", count.good.Load(), s))
			if life == lives-1 && part > 0.9 {
				var now, all sample
				for _, b := range calm(func() []string {
					now, all = w.back("guidanced"), w.shimsHold()
					return append(grown("guidanced", guidance, now, moreMemory), grown("a shim", shims, all, moreOfAShim)...)
				}) {
					t.Error(b)
				}
				table = append(table, fmt.Sprintf("guidanced: %v, then %v", guidance, now), fmt.Sprintf("a shim: %v, then %v", shims, all))
			}
			g.open()
		}
		if life < lives-1 {
			w.restart(life%2 == 0, count.away.Load)
		}
	}
	wg.Wait()
	took := time.Since(began)
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	for _, c := range w.shims {
		// A line more than was asked for would come now; Close finds half ones.
		if err := c.CloseInput(); err != nil {
			t.Error(err)
		}
		if line, err := c.Line(); err == nil {
			t.Errorf("one line too many: %.300s", line)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	// What 64 sessions left behind would be some hundred goroutines.
	var alone sample
	for _, bad := range calm(func() []string {
		if alone = w.front(); alone.goroutines > 64 || alone.files > 40 {
			return []string{fmt.Sprintf("without sessions mcpd holds %v", alone)}
		}
		return nil
	}) {
		t.Error(bad)
	}
	table = append(table, fmt.Sprintf("without sessions: mcpd %v", alone))
	if got := count.good.Load(); got != int64(n.calls) {
		t.Errorf("%d calls were answered well, of %d", got, n.calls)
	}
	if count.away.Load() == 0 {
		t.Error("no call met a restart: nothing was tested")
	}
	t.Logf("%d calls answered well and once over %d sessions in %v (%.0f a second), %d other requests, %d answers that mcpd was restarting, %d restarts\n%s",
		count.good.Load(), n.sessions, took.Round(time.Millisecond), float64(n.calls)/took.Seconds(), count.other.Load(), count.away.Load(), n.restarts, strings.Join(table, "\n"))
}

func TestTheSoakNoticesGrowth(t *testing.T) {
	a := sample{goroutines: 300, files: 90, memory: 60 << 20}
	for what, b := range map[string]sample{
		"goroutines":  {goroutines: 364, files: 90, memory: 60 << 20},
		"descriptors": {goroutines: 300, files: 154, memory: 60 << 20},
		"memory":      {goroutines: 300, files: 90, memory: 100 << 20},
	} {
		if len(grown("it", a, b, moreMemory)) == 0 {
			t.Errorf("%s are not noticed", what)
		}
	}
	if len(grown("it", a, a, moreMemory)) != 0 {
		t.Error("what is equal is said to have grown")
	}
}

// wire is a client whose other side a test writes.
func wire(t *testing.T, answers ...string) *caller {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(strings.Join(answers, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &caller{c: rawmcp.New(r, null), rules: 10, gate: newGate(), count: &tally{}}
}

func TestTheSoakNoticesLostDoubledAndWrongAnswers(t *testing.T) {
	right := func(id string, n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"{\"rows\":[{\"id\":%d}],\"returned\":1}"}]}}`, id, n)
	}
	one, two := right("1", 31%10), right(`"0-2"`, 62%10)
	if err := wire(t, one, two).run(2); err != nil {
		t.Errorf("right answers: %v", err)
	}
	for what, answers := range map[string][]string{
		"a lost one":            {one},
		"a doubled one":         {one, one, two},
		"a wrong one":           {one, right(`"0-2"`, 7)},
		"one to nobody":         {one, right("99", 1), two},
		"an error":              {one, `{"jsonrpc":"2.0","id":"0-2","error":{"code":-32603,"message":"x"}}`},
		"an id of another kind": {right(`"1"`, 1), two},
		"a notification":        {`{"jsonrpc":"2.0","method":"notifications/x"}`, one, two},
	} {
		if err := wire(t, answers...).run(2); err == nil {
			t.Errorf("%s is not noticed", what)
		}
	}
}

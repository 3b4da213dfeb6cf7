// Package crash ends executord, a real process, at every named point of an attempt, at
// every commit of the store and at random moments, and holds what the next start makes
// of it against the crash table: never a second send, never a lost outcome, never a
// verified change without proof.
package crash

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/swtpm"
	"pfsensemcp/test/writepath"
)

var random = flag.Int("kills", 12, "how many kills at random moments")

const text = "Printers of the first floor"

var program string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "crash")
	if err == nil {
		program, err = writepath.Program(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// house is a provisioned write path whose process runs.
func house(t *testing.T, test string) *writepath.Rig {
	t.Helper()
	tpm := swtpm.New(t)
	r := writepath.New(t, program, tpm.Address(), fakepf.Options{})
	if err := r.Start(""); err != nil {
		t.Fatal(err)
	}
	if err := r.Provision(); err != nil {
		t.Fatalf("%v\n%s", err, r.Log())
	}
	if test != "" {
		restart(t, r, test)
	}
	return r
}

// restart kills the process and starts it with a table [test].
func restart(t *testing.T, r *writepath.Rig, test string) {
	t.Helper()
	r.Kill()
	if err := r.Start(test); err != nil {
		t.Fatal(err)
	}
}

func at(point string, after int) string {
	return fmt.Sprintf("crash_at = %q\ncrash_after = %d\n", point, after)
}

// change plays a whole change as far as the process lives; it returns the contract's
// id as far as it was told.
func change(r *writepath.Rig) (contract string, err error) {
	if _, err = r.Ask(text); err != nil {
		return "", err
	}
	all, err := r.Requests()
	if err != nil || len(all) == 0 {
		return "", err
	}
	if contract, err = r.Authorize(all[0].GetRequestId()); err != nil {
		return contract, err
	}
	if err = r.Confirm(contract); err != nil {
		return contract, err
	}
	_, err = r.Settled(contract)
	return contract, err
}

// facts are what can be compared after a start.
type facts struct {
	state, reason string
	sends         int
	counter       int64
	descr         string
}

func look(t *testing.T, r *writepath.Rig) facts {
	t.Helper()
	all, err := r.Contracts()
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Log())
	}
	f := facts{state: "none", sends: r.Sends(), descr: r.Descr()}
	if len(all) > 1 {
		t.Fatalf("%d contracts of one approval", len(all))
	}
	if len(all) == 1 {
		f.state = strings.ToLower(strings.TrimPrefix(all[0].GetState().String(), "STATE_"))
		f.reason = all[0].GetReason()
	}
	if f.counter, err = r.Counter(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), writepath.Patience)
	defer cancel()
	d, err := r.Admin.Discover(ctx, &executorpb.DiscoverRequest{})
	if err != nil || d.GetPosture().GetQuarantine() != "" {
		t.Errorf("the start is under quarantine %q, %v", d.GetPosture().GetQuarantine(), err)
	}
	return f
}

// settled starts the process twice and returns what both starts agree on.
func settled(t *testing.T, r *writepath.Rig) facts {
	t.Helper()
	r.Kill()
	r.Landed() // what it had sent is no matter of luck
	restart(t, r, "")
	first := look(t, r)
	restart(t, r, "")
	if second := look(t, r); second != first {
		t.Errorf("a second start made %+v of %+v", second, first)
	}
	return first
}

// sound holds what is true after any crash of a change: begin is the counter before.
func sound(t *testing.T, f facts, begin int64) {
	t.Helper()
	switch {
	case f.sends > 1:
		t.Errorf("%d sends for one approval", f.sends)
	case f.counter < begin || f.counter > begin+1:
		t.Errorf("the counter went from %d to %d", begin, f.counter)
	case f.sends > 0 && f.counter != begin+1:
		t.Errorf("a send without the counter: %+v", f)
	}
	switch f.state {
	case "none", "expired":
		if f.sends > 0 {
			t.Errorf("a send was forgotten: %+v", f)
		}
	case "failed":
		if f.sends > 0 || f.counter != begin {
			t.Errorf("failed without proof: %+v", f)
		}
	case "verified":
		if f.sends != 1 || f.descr != text {
			t.Errorf("verified without proof: %+v", f)
		}
	case "reconciliation":
	default:
		t.Errorf("a start left a contract %s", f.state)
	}
}

var named = []string{"begin", "tick", "advance", "connect", "preread", "intent", "send", "settle"}

func TestS6ACrashAtEachNamedPointIsSettledByTheTable(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	for i, name := range named {
		for j, side := range []string{"before", "after"} {
			point := name + " " + side
			n := 2*i + j
			want := facts{state: "reconciliation", reason: "interrupted", descr: writepath.Old}
			switch {
			case n == 0: // T3, not yet T4
				want.state, want.reason = "expired", "restart"
			case n <= 2: // T4, no increment
				want.state, want.reason = "failed", "interrupted_before_anchor"
			case n == 15: // T7
				want.state, want.reason = "verified", ""
			}
			if n >= 3 {
				want.counter = 1
			}
			if n >= 13 {
				want.sends, want.descr = 1, text
			}
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				r := house(t, at(point, 0))
				begin, err := r.Counter()
				if err != nil {
					t.Fatal(err)
				}
				_, _ = change(r) // the last outcome can be seen before the end that comes after it
				r.Ended()
				got := settled(t, r)
				got.counter -= begin
				if got != want {
					t.Errorf("got %+v, want %+v\n%s", got, want, r.Log())
				}
			})
		}
	}
}

func TestS6ACrashOfAnUndoAtEachNamedPointIsSettledByTheTable(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	for i, name := range named {
		for j, side := range []string{"before", "after"} {
			point := name + " " + side
			n := 2*i + j
			want := facts{state: "reconciliation", reason: "interrupted", sends: 1, descr: text}
			switch {
			case n == 0:
				want.state, want.reason = "verified", ""
			case n <= 2:
				want.state, want.reason = "rollback_failed", "interrupted_before_anchor"
			case n == 15:
				want.state, want.reason = "rolled_back", ""
			}
			if n >= 3 {
				want.counter = 1
			}
			if n >= 13 {
				want.sends, want.descr = 2, writepath.Old
			}
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				r := house(t, "")
				contract, err := change(r)
				if err != nil {
					t.Fatal(err)
				}
				begin, err := r.Counter()
				if err != nil {
					t.Fatal(err)
				}
				restart(t, r, at(point, 0))
				if r.Rollback(contract) == nil {
					_, _ = r.Settled(contract) // as above
				}
				r.Ended()
				got := settled(t, r)
				got.counter -= begin
				if got != want {
					t.Errorf("got %+v, want %+v\n%s", got, want, r.Log())
				}
			})
		}
	}
}

func TestA14S6ACrashAtEachCommitIsEitherBeforeItOrAfterIt(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	for _, point := range []string{"store commit", "store committed"} {
		// The commits of a start come first; past the last one of a change it lives on.
		for n := range 16 {
			t.Run(fmt.Sprintf("%s %d", point, n), func(t *testing.T) {
				t.Parallel()
				r := house(t, "")
				begin, err := r.Counter()
				if err != nil {
					t.Fatal(err)
				}
				r.Kill()
				if err := r.Start(at(point, n)); err == nil {
					if _, err = change(r); err == nil {
						r.Kill()
					}
				}
				r.Ended()
				f := settled(t, r)
				sound(t, f, begin)
			})
		}
	}
}

func TestX1ACutConnectionIsNeverASecondSend(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	for _, kind := range []fakepf.Kind{fakepf.Reset, fakepf.Truncate} {
		for _, bytes := range []int{0, 1, 16, 40, 100} {
			t.Run(fmt.Sprintf("%s after %d bytes", kind, bytes), func(t *testing.T) {
				t.Parallel()
				r := house(t, "")
				r.FW.Fault(fakepf.Fault{Kind: kind, Bytes: bytes, Path: "/api/v2/firewall/alias", Method: "PATCH"})
				begin, err := r.Counter()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := change(r); err != nil {
					t.Fatal(err)
				}
				f := settled(t, r)
				sound(t, f, begin)
				if f.state != "reconciliation" || f.sends != 1 {
					t.Errorf("%+v", f)
				}
			})
		}
	}
}

func TestS6KillsAtRandomMomentsLoseAndDoubleNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	// How long a change takes on this machine, so that the kills fall all over it.
	calm := house(t, "settle_ms = 20\n")
	begun := time.Now()
	if _, err := change(calm); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(begun) * 5 / 4
	calm.Kill()
	var mu sync.Mutex
	states := map[string]int{}
	t.Run("kills", func(t *testing.T) {
		for n := range *random {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				r := house(t, "settle_ms = 20\n")
				begin, err := r.Counter()
				if err != nil {
					t.Fatal(err)
				}
				wait := time.Duration(rand.Int64N(int64(whole)))
				process := r.Process()
				shot := time.AfterFunc(wait, func() { _ = process.Kill() })
				_, _ = change(r) // it ends when the process does
				shot.Stop()
				r.Kill()
				f := settled(t, r)
				sound(t, f, begin)
				mu.Lock()
				states[f.state]++
				mu.Unlock()
			})
		}
	})
	t.Logf("%d kills at random moments: %v", *random, states)
}

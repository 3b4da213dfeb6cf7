package store_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

var errStop = errors.New("stopped by the test")

// faulty makes a store whose writes can be stopped at each step.
func faulty(t *testing.T) (f *fix, points *[]string, stop func(n int, err error)) {
	t.Helper()
	f = setup(t)
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	var seen []string
	at, fail := -1, error(nil)
	f.c.Seam = storetest.Faults(func(p string) error {
		seen = append(seen, p)
		if len(seen)-1 == at {
			return fail
		}
		return nil
	})
	f.S = must[*store.Store](t)(store.Open(f.c))
	return f, &seen, func(n int, err error) { seen, at, fail = nil, n, err }
}

// ceremony is the steps of a whole life of two contracts, each a write.
func ceremony(f *fix) []func() error {
	var r record.Request
	var c record.Contract
	var obs string
	keep := func(to *record.Contract, got record.Contract, err error) error {
		if err == nil {
			*to = got
		}
		return err
	}
	step := func(do func() (record.Contract, error)) func() error {
		return func() error { got, err := do(); return keep(&c, got, err) }
	}
	post := storetest.Post(f.T, "one", "new")
	return []func() error{
		func() error {
			got, err := f.S.OpenRequest(store.NewRequest{AliasName: "one", Description: "new", By: storetest.By})
			if err == nil {
				r = got
			}
			return err
		},
		func() error {
			got, err := f.Preview(r, "one", "new")
			if err == nil {
				r = got
			}
			return err
		},
		step(func() (record.Contract, error) { return f.S.Authorize(f.Authorization(r, "one", "new")) }),
		step(func() (record.Contract, error) { return f.Confirm(c) }),
		step(func() (record.Contract, error) { return f.S.BeginExecution(c.At(), f.Witness) }),
		func() error { return f.S.AnchorAdvanced(c.At(), 42) },
		step(func() (record.Contract, error) { return f.S.SendIntent(c.At(), c.Collection) }),
		step(func() (record.Contract, error) {
			return f.S.MarkExecutionVerified(c.At(), post, post, f.Answered())
		}),
		func() error { return f.S.Look(c.ContractID, record.LookHeld) },
		step(func() (record.Contract, error) {
			a, b := f.Undo(c)
			return f.S.BeginRollback(c.At(), a, b, 42, storetest.By)
		}),
		func() error { return f.S.AnchorAdvanced(c.At(), 43) },
		step(func() (record.Contract, error) { return f.S.SendIntent(c.At(), c.Collection) }),
		step(func() (record.Contract, error) {
			return f.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{})
		}),
		func() error { f.Clock.Pass(time.Hour); return f.S.Note(record.Startup, "") },
		func() error { var err error; obs, err = f.Observe(c, artifact.MatchExpectedPost); return err },
		step(func() (record.Contract, error) {
			a, file := f.Evidence(c, artifact.OutcomeRollbackApplied, obs)
			return f.S.Reconcile(c.At(), file, a, false, storetest.By)
		}),
		func() error { _, err := f.S.Rotate(storetest.Root(2), storetest.By); return err },
		func() error { return f.S.Note(record.Shutdown, "") },
	}
}

// dump returns every row by bucket and key.
func (f *fix) dump() map[string]string {
	m := map[string]string{}
	f.each(func(b string, k, v []byte) { m[b+"/"+string(k)] = string(v) })
	return m
}

func TestA14S6AWriteStoppedAtAnyStepLeavesAllOfItOrNothing(t *testing.T) {
	f, points, stop := faulty(t)
	kinds := map[string]bool{}
	for i, do := range ceremony(f) {
		for n := 0; ; n++ {
			if err := f.S.Close(); err != nil {
				t.Fatal(err)
			}
			before, saved := f.dump(), f.image()
			f.S = must[*store.Store](t)(store.Open(f.c))
			stop(n, errStop)
			err := do()
			met := slices.Clone(*points)
			stop(-1, nil)
			if len(met) <= n {
				if err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				break // every step of this write was stopped once, and now it is done
			}
			kinds[met[n]] = true
			if err == nil {
				t.Fatalf("step %d: a write stopped at %q said that it was done", i, met[n])
			}
			if err := f.S.Close(); err != nil {
				t.Fatal(err)
			}
			after := f.dump()
			if met[n] == "committed" {
				// The write is there and its caller died before it heard of it. The step
				// is repeated from the former state, as nobody can know its ids.
				if maps.Equal(before, after) {
					t.Errorf("step %d: nothing was written before %q", i, met[n])
				}
				f.S = must[*store.Store](t)(store.Open(f.cfg(i)))
				f.sound()
				_ = f.S.Close()
				f.put(saved)
			} else if !maps.Equal(before, after) {
				t.Errorf("step %d stopped at %q left something behind", i, met[n])
			}
			f.S = must[*store.Store](t)(store.Open(f.c))
			f.sound()
		}
		if i == 16 {
			f.c.Key = storetest.Root(2)
		}
	}
	f.sound()
	for _, p := range []string{"begin", "put contracts", "put consumed", "put reservations", "delete reservations", "put sends", "put sealed", "audit", "anchor", "commit", "committed", "space"} {
		if !kinds[p] {
			t.Errorf("no write was stopped at %q", p)
		}
	}
}

// cfg returns the settings under which the store opens after step i was committed.
func (f *fix) cfg(i int) store.Config {
	c := f.c
	if i == 16 {
		c.Key = storetest.Root(2)
	}
	return c
}

// crashImages returns every state of the file that a power cut during one write can
// leave: any of the pages before the root written, the root untouched or torn, and
// at last all of it.
func crashImages(before, after []byte) (images map[string][]byte) {
	const page = 16 << 10
	grown := append(bytes.Clone(before), make([]byte, max(0, len(after)-len(before)))...)
	var changed []int
	for at := 2 * page; at < len(after); at += page {
		if !bytes.Equal(grown[at:at+page], after[at:at+page]) {
			changed = append(changed, at)
		}
	}
	images = map[string][]byte{"nothing": bytes.Clone(before), "grown": grown, "all": after}
	data := bytes.Clone(grown)
	for i, at := range changed {
		// Pages reach the disk in any order: each alone, and each prefix.
		alone := bytes.Clone(grown)
		copy(alone[at:at+page], after[at:at+page])
		images["page "+string(rune('a'+i%26))] = alone
		copy(data[at:at+page], after[at:at+page])
		images["prefix "+string(rune('a'+i%26))] = bytes.Clone(data)
		half := bytes.Clone(grown)
		copy(half[at:at+page/2], after[at:at+page/2])
		images["half "+string(rune('a'+i%26))] = half
	}
	for root := range 2 {
		at := root * page
		if bytes.Equal(before[at:at+page], after[at:at+page]) {
			continue
		}
		for _, n := range []int{1, 20, 40, 60, 72, 79} {
			torn := bytes.Clone(data)
			copy(torn[at:at+n], after[at:at+n])
			images["torn root "+string(rune('a'+n%26))] = torn
		}
	}
	return images
}

func TestS6APowerCutAtAnyPageOfAnyWriteLeavesASoundStore(t *testing.T) {
	f := setup(t)
	for i, do := range ceremony(f) {
		if err := f.S.Close(); err != nil {
			t.Fatal(err)
		}
		before := f.image()
		rowsBefore := f.dump()
		f.S = must[*store.Store](t)(store.Open(f.c))
		if err := do(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if err := f.S.Close(); err != nil {
			t.Fatal(err)
		}
		after := f.image()
		rowsAfter := f.dump()
		if len(after) < 2*16<<10 {
			t.Fatal("no file")
		}
		for what, image := range crashImages(before, after) {
			f.put(image)
			s, err := store.Open(f.c)
			if err != nil && i == 16 {
				s, err = store.Open(f.cfg(16))
			}
			if err != nil {
				t.Fatalf("step %d, %s: %v", i, what, err)
			}
			if err := s.Integrity(); err != nil {
				t.Errorf("step %d, %s: %v", i, what, err)
			}
			_ = s.Close()
			if now := f.dump(); !maps.Equal(now, rowsBefore) && !maps.Equal(now, rowsAfter) {
				t.Errorf("step %d, %s: neither the state before nor the one after", i, what)
			}
		}
		f.put(after)
		if i == 16 {
			f.c.Key = storetest.Root(2)
		}
		f.S = must[*store.Store](t)(store.Open(f.c))
	}
}

func TestCase106ADiskThatIsFullFailsBeforeTheSendAndChangesNothing(t *testing.T) {
	f, _, _ := faulty(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	c = must[record.Contract](t)(f.Confirm(c))
	full := &errs.Error{Code: errs.Exhausted, Class: "disk_full", Msg: "full", Err: syscall.ENOSPC}
	f.seamAt("commit", syscall.ENOSPC)
	f.refused("disk_full", func() error { _, err := f.S.BeginExecution(c.At(), f.Witness); return err })
	f.seamAt("space", full)
	f.refused("disk_full", func() error { _, err := f.S.BeginExecution(c.At(), f.Witness); return err })
	f.seamAt("", nil)
	c = must[record.Contract](t)(f.S.BeginExecution(c.At(), f.Witness))
	f.seamAt("commit", syscall.ENOSPC)
	f.Witness++
	f.refused("disk_full", func() error { return f.S.AnchorAdvanced(c.At(), f.Witness) })
	f.seamAt("", nil)
	if err := f.S.AnchorAdvanced(c.At(), f.Witness); err != nil {
		t.Fatal(err)
	}
	f.seamAt("commit", syscall.ENOSPC)
	f.refused("disk_full", func() error { _, err := f.S.SendIntent(c.At(), c.Collection); return err })
	f.seamAt("", nil)
	must[record.Contract](t)(f.S.SendIntent(c.At(), c.Collection))
	f.sound()
}

// seamAt lets the next writes fail at one kind of step.
func (f *fix) seamAt(point string, err error) {
	f.c.Seam.At = storetest.Faults(func(p string) error {
		if p == point {
			return err
		}
		return nil
	}).At
}

// small is a store on a file system of its own of that size, and its directory.
func small(t *testing.T, size string) (*fix, string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=0700"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	f := setup(t)
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	f.c.Dir = dir
	f.S = storetest.Create(t, f.c)
	t.Cleanup(func() { _ = f.S.Close() })
	return f, dir
}

func TestCase106AFullFileSystemIsMetBeforeAnythingIsBegunAndWorksAgainAfterwards(t *testing.T) {
	f, dir := small(t, "10m")
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	c = must[record.Contract](t)(f.Confirm(c))

	// Less than the reserve: nothing that ends in a send is begun.
	ballast := dir + "/ballast"
	if err := os.WriteFile(ballast, make([]byte, 6<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	f.refused("disk_full", func() error { _, err := f.S.BeginExecution(c.At(), f.Witness); return err })

	// Nothing left at all: even a write that needs no reserve fails, and says so.
	fill, err := os.Create(dir + "/fill")
	if err != nil {
		t.Fatal(err)
	}
	for block := 1 << 20; block > 0; {
		if _, err := fill.Write(make([]byte, block)); err != nil {
			block /= 2
		}
	}
	failed := false
	for range 200 {
		before := f.generation()
		err := f.S.Note(record.ClockRegressed, "disk_full")
		if err == nil {
			continue // there was still room in free pages
		}
		failed = true
		if class(err) != "disk_full" || errs.CodeOf(err) != errs.Exhausted {
			t.Fatalf("%v, class %s", err, class(err))
		}
		if f.generation() != before {
			t.Fatal("a failed write is visible")
		}
		break
	}
	if !failed {
		t.Error("a full disk was never met")
	}
	f.sound() // reads go on
	if err := errors.Join(fill.Close(), os.Remove(dir+"/fill"), os.Remove(ballast)); err != nil {
		t.Fatal(err)
	}
	c = must[record.Contract](t)(f.S.BeginExecution(c.At(), f.Witness))
	f.sound()
	f.reopen()
	if got, _ := f.contract(c.ContractID); got.State != record.Executing {
		t.Errorf("%s", got.State)
	}
}

func TestCase106AfterACommitOfUnknownOutcomeNothingIsWrittenUntilTheNextStart(t *testing.T) {
	f := setup(t)
	// Closing the descriptor under bbolt makes its next write fail half way.
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == f.file() {
			null := must[*os.File](t)(os.Open("/dev/null"))
			var n int
			for _, c := range e.Name() {
				n = n*10 + int(c-'0')
			}
			if err := unix.Dup3(int(null.Fd()), n, unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			_ = null.Close()
		}
	}
	if got := errs.CodeOf(f.S.Note(record.Startup, "")); got != errs.UnknownOutcome {
		t.Errorf("a broken write is %v", got)
	}
	if got := errs.CodeOf(f.S.Note(record.Startup, "")); got != errs.UnknownOutcome {
		t.Errorf("the write after it is %v", got)
	}
	if s := strings.TrimSpace(class(f.S.Integrity())); s != "store_write" {
		t.Errorf("class %q", s)
	}
}

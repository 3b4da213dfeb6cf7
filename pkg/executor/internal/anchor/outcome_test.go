package anchor

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor/internal/chip"
	"pfsensemcp/test/swtpm"
)

// At the wire.
const (
	rcFailure  = 0x101
	rcRetry    = 0x922
	rcAuthFail = 0x98e
)

func at(code uint32, do func(forward func() []byte) []byte) func([]byte, func() []byte) []byte {
	return func(command []byte, forward func() []byte) []byte {
		if swtpm.Code(command) == code {
			return do(forward)
		}
		return forward()
	}
}

func TestN4AnIncrementThatIsReportedFailedButHappenedCountsOnce(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	for _, answer := range [][]byte{swtpm.Answer(rcFailure), swtpm.Answer(rcRetry), nil, []byte("no answer of a TPM")} {
		c := open(t, pinned(proxy.Address(), name))
		before := proxy.Count(swtpm.NVIncrement)
		proxy.Hook(at(swtpm.NVIncrement, func(forward func() []byte) []byte {
			_ = forward()
			return answer
		}))
		got, err := c.Advance(ctx, v)
		if err != nil || got != v+1 {
			t.Fatalf("answer %q: %d %v", answer, got, err)
		}
		if n := proxy.Count(swtpm.NVIncrement) - before; n != 1 {
			t.Fatalf("answer %q: %d increments on the wire", answer, n)
		}
		v = got
	}
	reads(t, tpm, v)
}

func TestN4AnIncrementThatIsReportedDoneButIsNotIsNotBelieved(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	// Success without the HMAC of the session, and the recorded answer to another
	// increment.
	var recorded []byte
	proxy.Hook(at(swtpm.NVIncrement, func(forward func() []byte) []byte {
		recorded = forward()
		return recorded
	}))
	if _, err := c.Advance(ctx, v); err != nil {
		t.Fatal(err)
	}
	v++
	for _, answer := range [][]byte{swtpm.Answer(0), recorded} {
		before := proxy.Count(swtpm.NVIncrement)
		proxy.Hook(at(swtpm.NVIncrement, func(func() []byte) []byte { return slices.Clone(answer) }))
		_, err := c.Advance(ctx, v)
		wants(t, err, ClassUnavailable)
		if n := proxy.Count(swtpm.NVIncrement) - before; n != 1 {
			t.Fatalf("%d increments on the wire", n)
		}
	}
	proxy.Hook(nil)
	reads(t, tpm, v)
	if _, err := c.Advance(ctx, v); err != nil {
		t.Fatal(err)
	}
}

func TestN4AForgedValueIsNotBelieved(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c0, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	var old []byte
	proxy.Hook(at(swtpm.NVRead, func(forward func() []byte) []byte {
		old = forward()
		return old
	}))
	if _, err := c.Read(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c0.Advance(ctx, v); err != nil {
		t.Fatal(err)
	}
	// The old answer again, and the new one with another value.
	proxy.Hook(at(swtpm.NVRead, func(func() []byte) []byte { return old }))
	if got, err := c.Read(ctx); err == nil {
		t.Fatalf("an old answer was believed: %d", got)
	}
	proxy.Hook(at(swtpm.NVRead, func(forward func() []byte) []byte {
		b := forward()
		b[10+4+2+7]++ // header, size of the parameters, size of the data, the value's last byte
		return b
	}))
	if got, err := c.Read(ctx); err == nil {
		t.Fatalf("a forged value was believed: %d", got)
	}
}

func TestN4ARefusalOfTheIncrementAloneIsNotTriedAgain(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	proxy.Hook(at(swtpm.NVIncrement, func(forward func() []byte) []byte {
		_ = forward()
		return swtpm.Answer(rcAuthFail)
	}))
	_, err := c.Advance(ctx, v)
	wants(t, err, ClassUnreachable)
	if errs.CodeOf(err) != errs.UnknownOutcome || proxy.Count(swtpm.NVRead) != 1 || proxy.Count(swtpm.NVIncrement) != 1 {
		t.Fatalf("%v, %d reads, %d increments", errs.CodeOf(err), proxy.Count(swtpm.NVRead), proxy.Count(swtpm.NVIncrement))
	}
	reads(t, tpm, v+1)
}

func TestReview24NotIncrementedIsBelievedAfterTwoReadsApart(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	cfg := pinned(proxy.Address(), name)
	c := open(t, cfg)
	proxy.Hook(at(swtpm.NVIncrement, func(func() []byte) []byte { return nil }))
	began := time.Now()
	_, err := c.Advance(ctx, v)
	wants(t, err, ClassUnavailable)
	if took := time.Since(began); took < cfg.Settle {
		t.Fatalf("believed after %v", took)
	}
	if proxy.Count(swtpm.NVIncrement) != 1 || proxy.Count(swtpm.NVRead) != 3 || proxy.Connections() != 3 {
		t.Fatalf("%d increments, %d reads, %d connections", proxy.Count(swtpm.NVIncrement), proxy.Count(swtpm.NVRead), proxy.Connections())
	}
	proxy.Hook(nil)
	if got, err := c.Advance(ctx, v); err != nil || got != v+1 {
		t.Fatal(got, err)
	}
}

func TestReview24AnIncrementThatLandsBetweenTheTwoReadsIsSeen(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	var kept []byte
	var landed sync.WaitGroup
	proxy.Hook(func(command []byte, forward func() []byte) []byte {
		switch {
		case swtpm.Code(command) == swtpm.NVIncrement:
			kept = slices.Clone(command)
			return nil
		case swtpm.Code(command) == swtpm.NVRead && kept != nil:
			// It is delivered when this connection has ended.
			late := kept
			kept = nil
			d := tpm.Dial()
			landed.Go(func() {
				defer func() { _ = d.Close() }()
				if _, err := d.Send(late); err != nil {
					t.Error(err)
				}
			})
		}
		return forward()
	})
	got, err := c.Advance(ctx, v)
	landed.Wait()
	if err != nil || got != v+1 || proxy.Count(swtpm.NVIncrement) != 1 {
		t.Fatalf("%d %v", got, err)
	}
}

func TestReview24AnIncrementThatTimedOutIsAppliedOnThaw(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	proxy.Hook(at(swtpm.NVIncrement, func(forward func() []byte) []byte {
		tpm.Freeze()
		return forward()
	}))
	c.port.Timeout = soon
	_, err := c.Advance(ctx, v)
	for classOf(err) == ClassUnavailable { // on a busy machine an earlier command was given up
		_, err = c.Advance(ctx, v)
	}
	wants(t, err, ClassUnreachable)
	if errs.CodeOf(err) != errs.UnknownOutcome {
		t.Fatal(errs.CodeOf(err))
	}
	// Frozen still: nothing new starts.
	_, err = c.Advance(ctx, v)
	wants(t, err, ClassUnavailable)
	tpm.Thaw()
	proxy.Hook(nil)
	c.port.Timeout = patient
	if got := eventually(t, c); got != v+1 || proxy.Count(swtpm.NVIncrement) != 1 {
		t.Fatalf("after the thaw the counter holds %d, want %d, after %d increments", got, v+1, proxy.Count(swtpm.NVIncrement))
	}
	_, err = c.Advance(ctx, v)
	wants(t, err, ClassConflict)
	if got, err := c.Advance(ctx, v+1); err != nil || got != v+2 {
		t.Fatal(got, err)
	}
}

func TestReview24AThawInTimeIsAProceed(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	proxy.Hook(at(swtpm.NVIncrement, func(forward func() []byte) []byte {
		tpm.Freeze()
		return forward()
	}))
	// The halves of Advance, with a time-out of its own for each: the first ends by it,
	// the second must not.
	if err := c.take(ctx); err != nil {
		t.Fatal(err)
	}
	defer c.give()
	c.port.Timeout = soon
	issued, err := c.attempt(ctx, v)
	for !issued { // on a busy machine an earlier command was given up
		wants(t, err, ClassUnavailable)
		issued, err = c.attempt(ctx, v)
	}
	if !chip.Late(err) || c.port.Busy() {
		t.Fatalf("the increment ended with %v", err)
	}
	c.port.Timeout = patient
	go func() {
		for !c.port.Busy() { // until the second connection waits for an answer
			time.Sleep(time.Millisecond)
		}
		tpm.Thaw()
	}()
	got, err := c.outcome(ctx, v, c.read)
	if err != nil || got != v+1 || proxy.Count(swtpm.NVIncrement) != 1 {
		t.Fatal(got, err)
	}
}

func eventually(t *testing.T, c *TPM) int64 {
	t.Helper()
	var err error
	for range 20 {
		var v int64
		if v, err = c.Read(context.Background()); err == nil {
			return v
		}
	}
	t.Fatal(err)
	return 0
}

func TestN4ATPMThatDiesInTheMiddle(t *testing.T) {
	for _, row := range []struct {
		name             string
		happens, return_ bool
		class            string
	}{
		{"before it did it, and comes back", false, true, ClassUnavailable},
		{"after it did it, and comes back", true, true, ""},
		{"before it did it, and stays away", false, false, ClassUnreachable},
		{"after it did it, and stays away", true, false, ClassUnreachable},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, tpm := context.Background(), swtpm.New(t)
			_, v, name := founded(t, tpm.Address())
			proxy := tpm.Proxy()
			c := open(t, pinned(proxy.Address(), name))
			proxy.Hook(at(swtpm.NVIncrement, func(forward func() []byte) []byte {
				if row.happens {
					_ = forward()
				}
				tpm.Kill()
				if row.return_ {
					tpm.Start()
				}
				return nil
			}))
			got, err := c.Advance(ctx, v)
			wants(t, err, row.class)
			if err == nil && got != v+1 {
				t.Fatal(got)
			}
			if !row.return_ {
				tpm.Start()
			}
			proxy.Hook(nil)
			want := v
			if row.happens {
				want++
			}
			if got := eventually(t, c); got != want {
				t.Fatalf("the counter holds %d, want %d", got, want)
			}
			// What was not known is found out before the next increment.
			if got, err := c.Advance(ctx, want); err != nil || got != want+1 {
				t.Fatal(got, err)
			}
		})
	}
}

func TestReview12AnAdvanceWhoseTimeHasPassedIsNotIssued(t *testing.T) {
	tpm := swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	ctx, pass := context.WithCancel(context.Background())
	defer pass()
	proxy.Hook(at(swtpm.NVRead, func(forward func() []byte) []byte {
		answer := forward()
		pass()
		return answer
	}))
	_, err := c.Advance(ctx, v)
	wants(t, err, ClassUnavailable)
	if proxy.Count(swtpm.NVRead) != 1 || proxy.Count(swtpm.NVIncrement) != 0 {
		t.Fatal("it was issued")
	}
}

type stopped struct {
	context.Context
	passed atomic.Bool
}

func (s *stopped) Deadline() (time.Time, bool) {
	if s.passed.Load() {
		return time.Now().Add(-time.Millisecond), true
	}
	return time.Now().Add(time.Minute), true
}

func TestReview12AProcessThatWasStoppedBeforeTheIncrementDoesNotIssueIt(t *testing.T) {
	tpm := swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	ctx := &stopped{Context: context.Background()}
	proxy.Hook(at(swtpm.NVRead, func(forward func() []byte) []byte {
		ctx.passed.Store(true)
		return forward()
	}))
	_, err := c.Advance(ctx, v)
	wants(t, err, ClassUnavailable)
	if proxy.Count(swtpm.NVIncrement) != 0 {
		t.Fatal("it was issued")
	}
}

func TestAnIncrementThatWasIssuedIsNotCalledOff(t *testing.T) {
	tpm := swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	ctx, cancel := context.WithCancel(context.Background())
	proxy.Hook(at(swtpm.NVIncrement, func(forward func() []byte) []byte {
		cancel()
		time.Sleep(20 * time.Millisecond)
		return forward()
	}))
	got, err := c.Advance(ctx, v)
	if err != nil || got != v+1 || proxy.Connections() != 1 {
		t.Fatalf("%d over %d connections: %v", got, proxy.Connections(), err)
	}
}

func TestAnIncrementOfSomebodyElseInTheMiddleIsAConflict(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	proxy.Hook(at(swtpm.NVIncrement, func(forward func() []byte) []byte {
		answer := forward()
		r, err := (tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(index)}).Execute(proxy)
		if err != nil {
			t.Error(err)
			return nil
		}
		_, err = (tpm2.NVIncrement{
			AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMHandle(index), Name: r.NVName, Auth: tpm2.PasswordAuth(secret())},
			NVIndex:    tpm2.NamedHandle{Handle: tpm2.TPMHandle(index), Name: r.NVName},
		}).Execute(proxy)
		if err != nil {
			t.Error(err)
		}
		return answer
	}))
	_, err := c.Advance(ctx, v)
	wants(t, err, ClassConflict)
	reads(t, tpm, v+2)
}

func TestReview24NothingStartsUntilTheLastOutcomeIsKnown(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	cfg := pinned(proxy.Address(), name)
	c := open(t, cfg)
	down := false
	proxy.Hook(func(command []byte, forward func() []byte) []byte {
		down = down || swtpm.Code(command) == swtpm.NVIncrement
		if down {
			return nil
		}
		return forward()
	})
	_, err := c.Advance(ctx, v)
	wants(t, err, ClassUnreachable)
	proxy.Hook(nil)
	// The increment might still be on its way: the next one waits as long as it
	// takes to know.
	began, before := time.Now(), proxy.Count(swtpm.NVRead)
	got, err := c.Advance(ctx, v)
	if err != nil || got != v+1 {
		t.Fatal(got, err)
	}
	if time.Since(began) < cfg.Settle || proxy.Count(swtpm.NVRead)-before != 4 {
		t.Fatalf("%v, %d reads", time.Since(began), proxy.Count(swtpm.NVRead)-before)
	}
}

package anchor

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/test/swtpm"
)

// At the wire.
const (
	rcFailure  = 0x101
	rcRetry    = 0x922
	rcAuthFail = 0x98e
)

// at returns a hook that does something to one command and forwards the others.
func at(code uint32, do func(forward func() []byte) []byte) func([]byte, func() []byte) []byte {
	return func(command []byte, forward func() []byte) []byte {
		if swtpm.Code(command) == code {
			return do(forward)
		}
		return forward()
	}
}

func TestN9OneAdvanceIsOneIncrementAndNothingElseTicks(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	for i := range int64(5) {
		if got, err := c.Advance(ctx, v+i); err != nil || got != v+i+1 {
			t.Fatal(got, err)
		}
		if _, err := c.Read(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Facts(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Plan(ctx); err != nil {
			t.Fatal(err)
		}
		// A wrong expectation is refused before the increment.
		for _, wrong := range []int64{v + i, v + i + 2, 0} {
			_, err := c.Advance(ctx, wrong)
			wants(t, err, ClassConflict)
		}
	}
	if n := proxy.Count(swtpm.NVIncrement); n != 5 {
		t.Fatalf("%d increments for 5 advances", n)
	}
	reads(t, tpm, v+5)
}

func TestConcurrentAdvancesFromOneValueAreOneIncrement(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c, v, _ := founded(t, tpm.Address())
	var wg sync.WaitGroup
	results := make([]error, 6)
	for i := range results {
		wg.Go(func() { _, results[i] = c.Advance(ctx, v) })
	}
	wg.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
			continue
		}
		wants(t, err, ClassConflict)
	}
	if won != 1 {
		t.Fatalf("%d advances from one value succeeded", won)
	}
	reads(t, tpm, v+1)
}

func TestTheSecretNeverCrossesTheWire(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	proxy := tpm.Proxy()
	c, v, _ := founded(t, proxy.Address())
	if _, err := c.Advance(ctx, v); err != nil {
		t.Fatal(err)
	}
	w := proxy.Wire()
	if proxy.Count(swtpm.NVDefineSpace) != 1 || proxy.Count(swtpm.NVIncrement) != 2 || len(w) < 2000 {
		t.Fatal("the proxy has not seen it all")
	}
	if bytes.Contains(w, secret()) || bytes.Contains(w, secret()[:8]) {
		t.Fatal("the secret is on the wire")
	}
	// The search finds a secret that is sent in clear.
	tpm.Kill()
	tpm.Start()
	proxy.Hook(func([]byte, func() []byte) []byte { return nil })
	conn, err := c.port.Dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.End()
	h := tpm2.TPMHandle(index)
	_, _ = (tpm2.NVRead{
		AuthHandle: tpm2.AuthHandle{Handle: h, Name: tpm2.TPM2BName{Buffer: make([]byte, 34)}, Auth: tpm2.PasswordAuth(secret())},
		NVIndex:    tpm2.NamedHandle{Handle: h, Name: tpm2.TPM2BName{Buffer: make([]byte, 34)}}, Size: 8,
	}).Execute(conn)
	if !bytes.Contains(proxy.Wire(), secret()) {
		t.Fatal("a secret in clear was not found")
	}
}

func TestN3AWrongSecretIsTriedOnce(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	cfg := pinned(proxy.Address(), name)
	cfg.Auth = bytes.Repeat([]byte("wrong..."), 4)
	c := open(t, cfg)
	_, err := c.Read(ctx)
	wants(t, err, ClassRefused)
	if errs.CodeOf(err) != errs.Denied || proxy.Count(swtpm.NVRead) != 1 {
		t.Fatalf("%v, %d reads on the wire", errs.CodeOf(err), proxy.Count(swtpm.NVRead))
	}
	_, err = c.Advance(ctx, v)
	wants(t, err, ClassRefused)
	if proxy.Count(swtpm.NVRead) != 2 || proxy.Count(swtpm.NVIncrement) != 0 {
		t.Fatalf("%d reads and %d increments on the wire", proxy.Count(swtpm.NVRead), proxy.Count(swtpm.NVIncrement))
	}
	if got := lockoutCounter(t, tpm); got != 2 {
		t.Fatalf("the TPM counts %d wrong tries, want 2", got)
	}
	reads(t, tpm, v)
}

func lockoutCounter(t *testing.T, tpm *swtpm.TPM) uint32 {
	t.Helper()
	d := tpm.Dial()
	defer func() { _ = d.Close() }()
	r, err := (tpm2.GetCapability{Capability: tpm2.TPMCapTPMProperties, Property: uint32(tpm2.TPMPTLockoutCounter), PropertyCount: 1}).Execute(d)
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.CapabilityData.Data.TPMProperties()
	if err != nil {
		t.Fatal(err)
	}
	return list.TPMProperty[0].Value
}

func TestN3AWrongSecretAtTheFirstIncrementIsTriedOnce(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	if err := open(t, quick(tpm.Address())).Define(ctx, index); err != nil {
		t.Fatal(err)
	}
	proxy := tpm.Proxy()
	cfg := quick(proxy.Address())
	cfg.Auth = bytes.Repeat([]byte("wrong..."), 4)
	_, err := open(t, cfg).First(ctx, index)
	wants(t, err, ClassRefused)
	if proxy.Count(swtpm.NVIncrement) != 0 || lockoutCounter(t, tpm) != 1 {
		t.Fatalf("%d increments, %d wrong tries", proxy.Count(swtpm.NVIncrement), lockoutCounter(t, tpm))
	}
}

func TestReview30LockoutIsAFindingOfItsOwn(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c, v, _ := founded(t, tpm.Address())
	cfg := quick(tpm.Address())
	cfg.Auth = bytes.Repeat([]byte("wrong..."), 4)
	var err error
	for range 40 {
		if _, err = open(t, cfg).Read(ctx); classOf(err) == ClassLockout {
			break
		}
	}
	wants(t, err, ClassLockout)
	f, err := c.Facts(ctx)
	if err != nil || !f.Lockout || !f.Defined {
		t.Fatalf("%+v %v", f, err)
	}
	_, err = c.Advance(ctx, v)
	wants(t, err, ClassLockout)
}

func TestN3AnIndexOfSomebodyElseIsNotUsed(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	proxy := tpm.Proxy()
	for _, row := range []struct {
		edit func(*tpm2.TPMSNVPublic)
		what string
	}{
		{func(p *tpm2.TPMSNVPublic) { p.Attributes.NT = tpm2.TPMNTOrdinary }, "type"},
		{func(p *tpm2.TPMSNVPublic) { p.Attributes.OwnerRead = true }, "reading by the owner"},
		{func(p *tpm2.TPMSNVPublic) { p.Attributes.OwnerWrite = true }, "writing by the owner"},
		{func(p *tpm2.TPMSNVPublic) { p.Attributes.NoDA = true }, "guessing"},
		{func(p *tpm2.TPMSNVPublic) { p.Attributes.Orderly = true }, "until shutdown"},
		{func(p *tpm2.TPMSNVPublic) { p.Attributes.PolicyRead = true }, "reading by policy"},
		{func(p *tpm2.TPMSNVPublic) { p.Attributes.PolicyWrite = true }, "writing by policy"},
		{func(p *tpm2.TPMSNVPublic) { p.Attributes.PPRead = true }, "reading by the platform"},
		{func(p *tpm2.TPMSNVPublic) { p.Attributes.PPWrite = true }, "writing by the platform"},
		{func(p *tpm2.TPMSNVPublic) { p.Attributes.ReadSTClear = true }, "lock that can be set"},
		{func(p *tpm2.TPMSNVPublic) { p.NameAlg = tpm2.TPMAlgSHA384 }, "SHA-256"},
		{func(p *tpm2.TPMSNVPublic) { p.AuthPolicy.Buffer = make([]byte, 32) }, "a policy"},
	} {
		p := ours(index)
		row.edit(&p)
		define(t, tpm, p, secret())
		c := open(t, quick(proxy.Address()))
		_, err := c.Read(ctx)
		if classOf(err) != ClassName || !strings.Contains(err.Error(), row.what) {
			t.Errorf("%s: %v", row.what, err)
		}
		_, err = c.Advance(ctx, 1)
		wants(t, err, ClassName)
		_, err = c.First(ctx, index)
		wants(t, err, ClassName)
		if f, err := c.Facts(ctx); err != nil || !f.Foreign || f.Defined || f.Name != "" {
			t.Errorf("%s: %+v %v", row.what, f, err)
		}
		undefine(t, tpm, index)
	}
	if n := proxy.Count(swtpm.NVRead) + proxy.Count(swtpm.NVIncrement); n != 0 {
		t.Fatalf("the secret was tried on them %d times", n)
	}
}

func TestN3AMissingIndexIsNotMadeAnew(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c, v, _ := founded(t, tpm.Address())
	undefine(t, tpm, index)
	_, err := c.Read(ctx)
	wants(t, err, ClassName)
	_, err = c.Advance(ctx, v)
	wants(t, err, ClassName)
	_, err = c.First(ctx, index)
	wants(t, err, ClassName)
	if f, err := c.Facts(ctx); err != nil || f.Defined || f.Foreign {
		t.Fatalf("%+v %v", f, err)
	}
}

func TestN3AClearedAndRecreatedIndexIsNotTheOldOne(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	undefine(t, tpm, index)
	fresh := open(t, quick(tpm.Address()))
	if err := fresh.Define(ctx, index); err != nil {
		t.Fatal(err)
	}
	// Without a value it has another Name.
	c := open(t, pinned(tpm.Address(), name))
	_, err := c.Read(ctx)
	wants(t, err, ClassName)
	_, err = c.First(ctx, index)
	wants(t, err, ClassName)
	// With a value it has the same Name and a higher value.
	higher, err := fresh.First(ctx, index)
	if err != nil || higher <= v {
		t.Fatalf("%d after %d: %v", higher, v, err)
	}
	_, err = c.Advance(ctx, v)
	wants(t, err, ClassConflict)
	reads(t, tpm, higher)
}

func TestN3AnotherPinnedNameIsRefusedBeforeTheSecretIsUsed(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	other := open(t, pinned(proxy.Address(), "000b"+strings.Repeat("00", 32)))
	_, err := other.Advance(ctx, v)
	wants(t, err, ClassName)
	if proxy.Count(swtpm.NVRead) != 0 {
		t.Fatal("the secret was used")
	}
	// A process does not change what it counts on.
	wants(t, c.Use(index+1, ""), ClassName)
	wants(t, c.Use(index, "000b"+strings.Repeat("00", 32)), ClassName)
	if err := c.Use(index, name); err != nil {
		t.Fatal(err)
	}
}

func TestN3ARestoredStateIsBehind(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c, v, _ := founded(t, tpm.Address())
	restore := tpm.Save()
	if _, err := c.Advance(ctx, v); err != nil {
		t.Fatal(err)
	}
	restore()
	_, err := c.Advance(ctx, v+1)
	wants(t, err, ClassConflict)
	reads(t, tpm, v)
}

func TestN3ATPMThatIsAwayIsUnavailableAndComesBack(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c, v, _ := founded(t, tpm.Address())
	tpm.Kill()
	_, err := c.Read(ctx)
	wants(t, err, ClassUnavailable)
	_, err = c.Advance(ctx, v)
	wants(t, err, ClassUnavailable)
	_, err = c.Facts(ctx)
	wants(t, err, ClassUnavailable)
	tpm.Start()
	if got, err := c.Advance(ctx, v); err != nil || got != v+1 {
		t.Fatal(got, err)
	}
}

func TestAColdResetLosesNoIncrement(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c, v, _ := founded(t, tpm.Address())
	for range 2 {
		got, err := c.Advance(ctx, v)
		if err != nil {
			t.Fatal(err)
		}
		v = got
		tpm.Kill()
		tpm.Start()
		reads(t, tpm, v)
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
	_, err := c.Advance(ctx, v)
	wants(t, err, ClassUnreachable)
	if errs.CodeOf(err) != errs.UnknownOutcome {
		t.Fatal(errs.CodeOf(err))
	}
	// Frozen still: nothing new starts.
	_, err = c.Advance(ctx, v)
	wants(t, err, ClassUnavailable)
	tpm.Thaw()
	proxy.Hook(nil)
	if got := eventually(t, c); got != v+1 {
		t.Fatalf("after the thaw the counter holds %d, want %d", got, v+1)
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
		time.AfterFunc(400*time.Millisecond, tpm.Thaw) // after our time-out, before that of the second connection
		return forward()
	}))
	got, err := c.Advance(ctx, v)
	if err != nil || got != v+1 || proxy.Count(swtpm.NVIncrement) != 1 {
		t.Fatal(got, err)
	}
}

// eventually reads until the TPM has worked off what it was given.
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

func TestABusyTPMIsAskedAgainThreeTimesForReadsAlone(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	for busy, class := range map[int]string{1: "", 3: "", 4: ClassUnavailable} {
		left, before := busy, proxy.Count(swtpm.NVRead)
		proxy.Hook(at(swtpm.NVRead, func(forward func() []byte) []byte {
			if left--; left >= 0 {
				return swtpm.Answer(rcRetry)
			}
			return forward()
		}))
		_, err := open(t, pinned(proxy.Address(), name)).Read(ctx)
		wants(t, err, class)
		if n := proxy.Count(swtpm.NVRead) - before; n != min(busy+1, 4) {
			t.Errorf("busy %d times: %d reads on the wire", busy, n)
		}
	}
	proxy.Hook(at(swtpm.NVIncrement, func(func() []byte) []byte { return swtpm.Answer(rcRetry) }))
	_, err := open(t, pinned(proxy.Address(), name)).Advance(ctx, v)
	wants(t, err, ClassUnavailable)
	if n := proxy.Count(swtpm.NVIncrement); n != 1 {
		t.Fatalf("%d increments on the wire", n)
	}
}

func TestReview12AnAdvanceWhoseTimeHasPassedIsNotIssued(t *testing.T) {
	tpm := swtpm.New(t)
	_, v, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	proxy.Hook(at(swtpm.NVRead, func(forward func() []byte) []byte {
		answer := forward()
		<-ctx.Done()
		return answer
	}))
	_, err := c.Advance(ctx, v)
	wants(t, err, ClassUnavailable)
	if proxy.Count(swtpm.NVIncrement) != 0 {
		t.Fatal("it was issued")
	}
	// A deadline that has passed and that no timer has noticed yet.
	if !late(stopped{context.Background()}) || late(context.Background()) {
		t.Fatal("a deadline in the past is not seen")
	}
}

// stopped is the context of a process that was stopped: its deadline has passed and
// nothing has been cancelled.
type stopped struct{ context.Context }

func (stopped) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

func TestNothingIsLeftInTheTPM(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c, v, _ := founded(t, tpm.Address())
	for range 4 {
		got, err := c.Advance(ctx, v)
		if err != nil {
			t.Fatal(err)
		}
		v = got
	}
	d := tpm.Dial()
	defer func() { _ = d.Close() }()
	for _, first := range []uint32{0x80000000, 0x02000000} {
		r, err := (tpm2.GetCapability{Capability: tpm2.TPMCapHandles, Property: first, PropertyCount: 8}).Execute(d)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := r.CapabilityData.Data.Handles(); err != nil || len(list.Handle) != 0 {
			t.Fatalf("%x: %v %v", first, list, err)
		}
	}
}

func TestSlotsThatBrokenOperationsLeftAreEmptied(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	_, _, name := founded(t, tpm.Address())
	proxy := tpm.Proxy()
	c := open(t, pinned(proxy.Address(), name))
	for range 8 {
		proxy.Hook(at(swtpm.NVRead, func(func() []byte) []byte { return nil }))
		if _, err := c.Read(ctx); err == nil {
			t.Fatal("a broken read succeeded")
		}
	}
	proxy.Hook(nil)
	if _, err := c.Read(ctx); err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	if _, err := c.Facts(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestN6AnEmulatedTPMIsSoftwareOnAnyMachine(t *testing.T) {
	tpm := swtpm.New(t)
	cfg := quick(tpm.Address())
	for _, cfg.Machine = range []Machine{0, 1, 2} {
		f, err := open(t, cfg).Facts(context.Background())
		if err != nil || f.Assurance != Software || f.Manufacturer != "IBM" || len(f.EKDigest) != 64 || f.Backend != TPMLocal {
			t.Fatalf("%+v %v", f, err)
		}
	}
}

func TestTheEndorsementKeyTellsTPMsApart(t *testing.T) {
	digest := func(tpm *swtpm.TPM) string {
		f, err := open(t, quick(tpm.Address())).Facts(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return f.EKDigest
	}
	a, b := swtpm.New(t), swtpm.New(t)
	one := digest(a)
	a.Kill()
	a.Start()
	if one != digest(a) || one == digest(b) {
		t.Fatal("the digest does not tell TPMs apart")
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	good := quick("unix:/nowhere/tpm")
	if _, err := OpenTPM(good); err != nil {
		t.Fatal(err)
	}
	for what, edit := range map[string]func(*TPMConfig){
		"no address": func(c *TPMConfig) { c.Address = "" }, "a relative path": func(c *TPMConfig) { c.Address = "unix:tpm" },
		"another kind": func(c *TPMConfig) { c.Address = "tcp:/x" }, "the raw device": func(c *TPMConfig) { c.Address = "device:/dev/tpm0" },
		"a handle below": func(c *TPMConfig) { c.Index = FirstHandle - 1 }, "a handle above": func(c *TPMConfig) { c.Index = LastHandle + 1 },
		"a name without a handle": func(c *TPMConfig) { c.Index, c.Name = 0, "000b"+strings.Repeat("00", 32) },
		"a short name":            func(c *TPMConfig) { c.Name = "000b" }, "a big name": func(c *TPMConfig) { c.Name = "000B" + strings.Repeat("00", 32) },
		"no secret": func(c *TPMConfig) { c.Auth = nil }, "a short secret": func(c *TPMConfig) { c.Auth = c.Auth[:15] },
		"a secret of zeros": func(c *TPMConfig) { c.Auth = make([]byte, 32) }, "a long secret": func(c *TPMConfig) { c.Auth = make([]byte, 33) },
	} {
		cfg := good
		edit(&cfg)
		if _, err := OpenTPM(cfg); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	c := open(t, TPMConfig{Address: good.Address, Auth: good.Auth})
	_, err := c.Read(context.Background())
	wants(t, err, ClassName)
	cfg := good
	cfg.Address = "device:/dev/null/tpm"
	_, err = open(t, cfg).Read(context.Background())
	wants(t, err, ClassUnavailable)
}

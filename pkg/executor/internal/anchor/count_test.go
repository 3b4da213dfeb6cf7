package anchor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-tpm/tpm2"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/test/swtpm"
)

// at returns a hook that does something to one command and forwards the others.

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

func TestN9ConcurrentAdvancesFromOneValueAreOneIncrement(t *testing.T) {
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

func TestCase98AColdResetLosesNoIncrement(t *testing.T) {
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

// eventually reads until the TPM has worked off what it was given.

func TestCase101ABusyTPMIsAskedAgainThreeTimesForReadsAlone(t *testing.T) {
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

// stopped is the context of a process that was stopped: its deadline has passed and

// nothing has been cancelled yet.

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
		"a secret of zeros": func(c *TPMConfig) { c.Auth = make([]byte, 32) },
		// Not even when the TPM is there: it would count the refusal.
		"a zero inside the secret": func(c *TPMConfig) { c.Auth = append(secret()[:20], append([]byte{0}, secret()[:11]...)...) },
		"a zero at its end":        func(c *TPMConfig) { c.Auth = append(secret()[:31], 0) }, "a long secret": func(c *TPMConfig) { c.Auth = make([]byte, 33) },
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

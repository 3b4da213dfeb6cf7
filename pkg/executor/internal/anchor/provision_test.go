package anchor

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-tpm/tpm2"

	"pfsensemcp/test/swtpm"
)

func TestCase97ACounterIsProvisionedAndCounts(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c := open(t, TPMConfig{Address: tpm.Address(), Auth: secret()})
	p, err := c.Plan(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p.Facts.Defined || len(p.Free) != MaxFree || p.OwnerSet {
		t.Fatalf("the plan of a blank TPM is %+v", p)
	}
	handle := p.Free[0]
	if err := c.Define(ctx, handle); err != nil {
		t.Fatal(err)
	}
	f, err := c.Facts(ctx)
	if err != nil || !f.Defined || f.Written || f.Name != "" || f.Index != handle {
		t.Fatalf("after define: %+v %v", f, err)
	}
	if _, err := c.Read(ctx); classOf(err) != ClassUnavailable {
		t.Fatalf("a counter without a value was read: %v", err)
	}
	v, err := c.First(ctx, handle)
	if err != nil || v < 1 {
		t.Fatal(v, err)
	}
	f, err = c.Facts(ctx)
	if err != nil || !f.Written || !strings.HasPrefix(f.Name, "000b") || len(f.Name) != 68 {
		t.Fatalf("after the first increment: %+v %v", f, err)
	}
	for range 3 {
		got, err := c.Advance(ctx, v)
		if err != nil || got != v+1 {
			t.Fatal(got, err)
		}
		v = got
	}
	if got, err := c.Read(ctx); err != nil || got != v {
		t.Fatal(got, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(ctx); classOf(err) != ClassUnavailable {
		t.Fatal("a closed counter was read")
	}
}

func TestN5TheFirstIncrementIsNeverIssuedTwice(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	proxy := tpm.Proxy()
	c := open(t, quick(proxy.Address()))
	if err := c.Define(ctx, index); err != nil {
		t.Fatal(err)
	}
	if err := c.Define(ctx, index); classOf(err) != ClassConflict {
		t.Fatalf("defined twice: %v", err)
	}
	// The answer to the first increment is lost.
	proxy.Hook(func(command []byte, forward func() []byte) []byte {
		answer := forward()
		if swtpm.Code(command) == swtpm.NVIncrement {
			return nil
		}
		return answer
	})
	v, err := c.First(ctx, index)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Hook(nil)
	// A restarted daemon derives the state and asks again.
	again, err := open(t, quick(proxy.Address())).First(ctx, index)
	if err != nil || again != v || proxy.Count(swtpm.NVIncrement) != 1 {
		t.Fatalf("value %d, then %d, %d increments: %v", v, again, proxy.Count(swtpm.NVIncrement), err)
	}
}

func TestN5AFirstIncrementThatIsKnownNotToHaveHappenedMayBeAskedForAgain(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	proxy := tpm.Proxy()
	c := open(t, quick(proxy.Address()))
	if err := c.Define(ctx, index); err != nil {
		t.Fatal(err)
	}
	proxy.Hook(func(command []byte, forward func() []byte) []byte {
		if swtpm.Code(command) == swtpm.NVIncrement {
			return nil
		}
		return forward()
	})
	_, err := c.First(ctx, index)
	wants(t, err, ClassUnavailable)
	proxy.Hook(nil)
	if _, err := c.First(ctx, index); err != nil {
		t.Fatal(err)
	}
}

func TestN5AnAmbiguousDefinitionIsDecidedByWhatStandsInTheTPM(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	proxy := tpm.Proxy()
	for _, happens := range []bool{false, true} {
		proxy.Hook(func(command []byte, forward func() []byte) []byte {
			if swtpm.Code(command) != swtpm.NVDefineSpace {
				return forward()
			}
			if happens {
				_ = forward()
			}
			return nil
		})
		err := open(t, quick(proxy.Address())).Define(ctx, index)
		if happens != (err == nil) {
			t.Fatalf("happened %v: %v", happens, err)
		}
	}
}

func TestN5EveryStateIsDerivedFromFacts(t *testing.T) {
	seven, eight := int64(7), int64(8)
	for _, row := range []struct {
		s     Situation
		want  string
		class string
	}{
		{Situation{}, "S0", ""},
		{Situation{Handle: 1}, "S1", ""},
		{Situation{Handle: 1, Secret: true}, "S2", ""},
		{Situation{Handle: 1, Secret: true, Defined: true}, "S3", ""},
		{Situation{Handle: 1, Secret: true, Defined: true, Written: true}, "S5", ""},
		{Situation{Handle: 1, Secret: true, Defined: true, Written: true, Fresh: &seven}, "S5", ""},
		{Situation{Handle: 1, Secret: true, Defined: true, Written: true, Seeded: true, Stored: 7}, "S7", ""},
		{Situation{Handle: 1, Secret: true, Defined: true, Written: true, Seeded: true, Stored: 7, Fresh: &seven}, "S8", ""},
		{Situation{Handle: 1, Secret: true, Defined: true, Written: true, Seeded: true, Complete: true, Stored: 7}, "S9", ""},
		{Situation{Handle: 1, Secret: true, Defined: true, Written: true, Seeded: true, Complete: true, Stored: 7, Fresh: &seven}, "S10", ""},
		{Situation{Handle: 1, Secret: true, Defined: true, Written: true, Seeded: true, Stored: 7, Fresh: &eight}, "S0", ClassConflict},
		{Situation{Handle: 1, Secret: true, Defined: true, Written: true, Complete: true}, "S0", "store_integrity"},
		{Situation{Handle: 1, Foreign: true}, "S0", ClassName},
		{Situation{Handle: 1, Secret: true, Seeded: true}, "S0", ClassName},
		{Situation{Handle: 1, Secret: true, Defined: true, Seeded: true}, "S0", ClassName},
		{Situation{Secret: true, Seeded: true}, "S0", ClassName},
	} {
		got, err := Step(row.s)
		if got.String() != row.want || classOf(err) != row.class {
			t.Errorf("%+v is %s %q", row.s, got, classOf(err))
		}
	}
	if State(11).String() != "S?" || State(-1).String() != "S?" {
		t.Error("a state out of range has a name")
	}
}

func TestN5TheOwnerIsNotAskedForASecret(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	d := tpm.Dial()
	_, err := (tpm2.HierarchyChangeAuth{
		AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHOwner, Auth: tpm2.PasswordAuth(nil)},
		NewAuth:    tpm2.TPM2BAuth{Buffer: []byte("owner")},
	}).Execute(d)
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
	c := open(t, quick(tpm.Address()))
	p, err := c.Plan(ctx)
	if err != nil || !p.OwnerSet {
		t.Fatalf("%+v %v", p, err)
	}
	wants(t, c.Define(ctx, index), ClassRefused)
}

func TestForeignIndicesAreListedAndNeverAskedAbout(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	var theirs []uint32
	for i := range uint32(5) {
		p := ours(FirstHandle + i*1000)
		p.Attributes = tpm2.TPMANV{AuthRead: true, AuthWrite: true}
		theirs = append(theirs, uint32(p.NVIndex))
		define(t, tpm, p, []byte("theirs"))
	}
	last := ours(LastHandle + 1) // beyond our range
	define(t, tpm, last, []byte("theirs"))
	taken := ours(firstOffered)
	define(t, tpm, taken, []byte("theirs"))
	proxy := tpm.Proxy()
	c := open(t, quick(proxy.Address()))
	p, err := c.Plan(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want := append(theirs, firstOffered); !slices.Equal(p.Taken, want) {
		t.Fatalf("taken: %x, want %x", p.Taken, want)
	}
	if slices.Contains(p.Free, firstOffered) || p.Free[0] != firstOffered+1 {
		t.Fatalf("free: %x", p.Free)
	}
	if proxy.Count(swtpm.NVReadPublic) != 0 {
		t.Fatal("an index was looked at")
	}
	for _, h := range []uint32{0, FirstHandle - 1, LastHandle + 1} {
		if err := c.Define(ctx, h); err == nil {
			t.Errorf("%08x was defined", h)
		}
	}
	wants(t, c.Define(ctx, index+1), ClassConflict) // not the configured one
}

func TestCase98ThePublicAreaThatIsDefinedHasExactlyOurAttributes(t *testing.T) {
	tpm := swtpm.New(t)
	founded(t, tpm.Address())
	d := tpm.Dial()
	defer func() { _ = d.Close() }()
	r, err := (tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(index)}).Execute(d)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.NVPublic.Contents()
	if err != nil {
		t.Fatal(err)
	}
	// handle, SHA-256, WRITTEN | authread | authwrite | counter, no policy, 8 bytes
	want := []byte{0x01, 0x50, 0x00, 0x20, 0x00, 0x0b, 0x20, 0x04, 0x00, 0x14, 0x00, 0x00, 0x00, 0x08}
	if got := tpm2.Marshal(*p); !bytes.Equal(got, want) {
		t.Fatalf("%x, want %x", got, want)
	}
}

package anchor

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-tpm/tpm2"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/test/swtpm"
)

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
	for range 5 { // whoever looks at the counter again and again
		_, err = c.Read(ctx)
		wants(t, err, ClassRefused)
	}
	if proxy.Count(swtpm.NVRead) != 1 || proxy.Count(swtpm.NVIncrement) != 0 {
		t.Fatalf("%d reads and %d increments on the wire", proxy.Count(swtpm.NVRead), proxy.Count(swtpm.NVIncrement))
	}
	if got := lockoutCounter(t, tpm); got != 1 {
		t.Fatalf("the TPM counts %d wrong tries, want 1", got)
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

func TestN3Case100AClearedAndRecreatedIndexIsNotTheOldOne(t *testing.T) {
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

func TestReview30StopsWithoutShutdownCountTowardsTheLockout(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	c, v, _ := founded(t, tpm.Address())
	for range 4 {
		tpm.Stop()
		tpm.Start()
		got, err := c.Advance(ctx, v)
		if err != nil {
			t.Fatal(err)
		}
		v = got
	}
	if n := lockoutCounter(t, tpm); n != 0 {
		t.Fatalf("orderly stops count as %d wrong tries", n)
	}
	for range 3 {
		if _, err := c.Read(ctx); err != nil {
			t.Fatal(err)
		}
		tpm.Kill()
		tpm.Start()
	}
	_, err := c.Advance(ctx, v)
	wants(t, err, ClassLockout)
	if f, err := c.Facts(ctx); err != nil || !f.Lockout {
		t.Fatalf("%+v %v", f, err)
	}
}

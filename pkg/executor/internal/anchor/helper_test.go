package anchor

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"

	"pfsensemcp/test/swtpm"
)

// index is the counter's handle in the tests.
const index = 0x01500020

// secret is the counter's secret in the tests.
func secret() []byte { return bytes.Repeat([]byte("s3cr"), 8) }

const (
	// patient is the time-out of a TPM that answers, however busy the machine is.
	patient = time.Minute
	// soon is that of one that was frozen.
	soon = time.Second
)

// quick are the times of the tests: an increment that did not happen is believed after
// 200 ms.
func quick(address string) TPMConfig {
	return TPMConfig{Address: address, Index: index, Auth: secret(), Timeout: patient, Settle: 200 * time.Millisecond}
}

func open(t *testing.T, cfg TPMConfig) *TPM {
	t.Helper()
	c, err := OpenTPM(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// founded returns a provisioned counter, its value and its pinned Name.
func founded(t *testing.T, address string) (c *TPM, value int64, name string) {
	t.Helper()
	ctx := context.Background()
	c = open(t, quick(address))
	if err := c.Define(ctx, index); err != nil {
		t.Fatal(err)
	}
	value, err := c.First(ctx, index)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Facts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return c, value, f.Name
}

// pinned is quick with the Name.
func pinned(address, name string) TPMConfig {
	cfg := quick(address)
	cfg.Name = name
	return cfg
}

// wants checks the class of an error.
func wants(t *testing.T, err error, class string) {
	t.Helper()
	if classOf(err) != class {
		t.Fatalf("class %q, want %q: %v", classOf(err), class, err)
	}
}

// reads checks the value, on a connection of a TPM of its own.
func reads(t *testing.T, tpm *swtpm.TPM, want int64) {
	t.Helper()
	got, err := open(t, quick(tpm.Address())).Read(context.Background())
	if err != nil || got != want {
		t.Fatalf("the counter holds %d, want %d: %v", got, want, err)
	}
}

// define defines an index of somebody.
func define(t *testing.T, tpm *swtpm.TPM, p tpm2.TPMSNVPublic, auth []byte) {
	t.Helper()
	c := tpm.Dial()
	defer func() { _ = c.Close() }()
	_, err := (tpm2.NVDefineSpace{
		AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHOwner, Auth: tpm2.PasswordAuth(nil)},
		Auth:       tpm2.TPM2BAuth{Buffer: auth}, PublicInfo: tpm2.New2B(p),
	}).Execute(c)
	if err != nil {
		t.Fatal(err)
	}
}

// undefine removes an index, as the TPM's owner can.
func undefine(t *testing.T, tpm *swtpm.TPM, handle uint32) {
	t.Helper()
	c := tpm.Dial()
	defer func() { _ = c.Close() }()
	r, err := (tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(handle)}).Execute(c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (tpm2.NVUndefineSpace{
		AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHOwner, Auth: tpm2.PasswordAuth(nil)},
		NVIndex:    tpm2.NamedHandle{Handle: tpm2.TPMHandle(handle), Name: r.NVName},
	}).Execute(c)
	if err != nil {
		t.Fatal(err)
	}
}

// ours is the public area of a counter of ours.
func ours(handle uint32) tpm2.TPMSNVPublic {
	return tpm2.TPMSNVPublic{
		NVIndex: tpm2.TPMHandle(handle), NameAlg: tpm2.TPMAlgSHA256, DataSize: 8,
		Attributes: tpm2.TPMANV{NT: tpm2.TPMNTCounter, AuthRead: true, AuthWrite: true},
	}
}

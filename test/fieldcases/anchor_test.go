package fieldcases

import (
	"testing"

	"github.com/google/go-tpm/tpm2"

	"pfsensemcp/pkg/errs"
	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/swtpm"
)

// handle is the index that writepath provisions.
const handle = 0x01500000

// step takes one step of provisioning as it stands.
func (h *house) step(want executorpb.AnchorStep) {
	h.t.Helper()
	st, err := h.Admin.AnchorStatus(h.ctx(), &executorpb.AnchorStatusRequest{})
	h.ok(err)
	_, err = h.Admin.AnchorProvision(h.ctx(), &executorpb.AnchorProvisionRequest{Handle: handle, Confirm: true, Expected: st.GetStep()})
	h.ok(err)
	st, err = h.Admin.AnchorStatus(h.ctx(), &executorpb.AnchorStatusRequest{})
	h.ok(err)
	if st.GetStep() != want || st.GetNext() == "" {
		h.t.Fatalf("at %v, want %v; next %q", st.GetStep(), want, st.GetNext())
	}
}

// A new counter cannot be read before its first increment, and its first value is above
// every counter that the TPM ever had. Provisioning is cut off after the definition and
// goes on from what is there.
func TestCase97AHalfProvisionedCounterIsFinishedAndItsFirstValueIsTheBaseline(t *testing.T) {
	t.Parallel()
	tpm := swtpm.New(t)
	former := open(t, tpm, tpm.Address(), fakepf.Options{}) // a counter that has counted
	former.is(former.end(former.approved(wanted)), verified, "", 1)
	n, err := former.Counter()
	former.ok(err)
	former.Kill()
	undefine(t, tpm)

	h := blank(t, tpm, tpm.Address(), fakepf.Options{})
	h.step(executorpb.AnchorStep_ANCHOR_STEP_DEFINED)
	// The half of it: defined, and no value. Nothing takes it for a counter.
	_, err = h.Admin.AnchorSeed(h.ctx(), &executorpb.AnchorSeedRequest{Value: 0, Handle: handle, Confirm: true})
	if err == nil {
		t.Error("a store was founded on a counter without a value")
	}
	h.unwilling(wanted)
	h.Kill()
	tpm.Stop()
	tpm.Start()
	h.ok(h.Start(""))
	h.ok(h.Provision())
	v, err := h.Counter()
	h.ok(err)
	if v <= n {
		t.Errorf("the first value is %d, a former counter was at %d", v, n)
	}
	h.is(h.end(h.approved(wanted)), verified, "", 1)
	if v2, err := h.Counter(); err != nil || v2 != v+1 {
		t.Errorf("%d after %d, %v", v2, v, err)
	}
}

// An ORDERLY counter loses its value with the power, and a Name changes with the first
// write: ours is neither, and what is pinned is the Name after it.
func TestCase98APowerLossKeepsTheValueAndTheName(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fakepf.Options{})
	c := h.approved(wanted)
	h.is(h.end(c), verified, "", 1)
	before, err := h.Counter()
	h.ok(err)
	name := h.name()
	h.Kill()
	h.tpm.Kill() // no TPM2_Shutdown
	h.tpm.Start()
	h.ok(h.Start(""))
	after, err := h.Counter()
	h.ok(err)
	if after != before || h.name() != name || h.quarantine() != "" {
		t.Errorf("%d %s became %d %s, quarantine %q", before, name, after, h.name(), h.quarantine())
	}
	h.ok(h.Rollback(c)) // and it still counts
	k, err := h.Settled(c)
	h.ok(err)
	h.is(k, executorpb.State_STATE_ROLLED_BACK, "", 2)
}

// name is the index's Name as the TPM has it now.
func (h *house) name() string {
	h.t.Helper()
	d, err := h.Admin.Discover(h.ctx(), &executorpb.DiscoverRequest{})
	h.ok(err)
	return d.GetAnchor().GetNvIndexName()
}

// The owner can remove the index and make it again under the same handle, or a firmware
// update clears the TPM. What was founded on the old one stays shut, nothing is made
// anew, and an operator is told that it is another counter.
func TestCase100ACounterThatWasRemovedOrMadeAnewIsNotTheOldOne(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(*testing.T, *house){
		"removed": func(t *testing.T, h *house) { undefine(t, h.tpm) },
		"made anew": func(t *testing.T, h *house) {
			undefine(t, h.tpm)
			define(t, h.tpm)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, fakepf.Options{})
			h.Kill()
			spoil(t, h)
			indices := handles(t, h.tpm)
			h.ok(h.Start(""))
			h.until("anchor_name")
			h.unwilling(wanted)
			_, err := h.Admin.AnchorStatus(h.ctx(), &executorpb.AnchorStatusRequest{})
			if e := errs.Public(err); err == nil || e.Class != "anchor_name" || e.Next == "" {
				t.Errorf("%v: %q", err, errs.Public(err).Next)
			}
			if _, err := h.Admin.AnchorProvision(h.ctx(), &executorpb.AnchorProvisionRequest{Handle: handle, Confirm: true}); err == nil {
				t.Error("it was provisioned again over a store")
			}
			if now := handles(t, h.tpm); now != indices {
				t.Errorf("%d indices became %d", indices, now)
			}
			h.again() // and another start changes nothing of it
			h.until("anchor_name")
			if h.Sends() != 0 {
				t.Error("something was sent")
			}
		})
	}
}

// Another user of the TPM makes it answer RETRY or OBJECT_MEMORY now and then. A command
// that changes nothing is asked again, at most three times; whatever else it answers
// stops what was to be done, and nothing is sent.
func TestCase101ABusyTPMIsAskedAgainAndAFullOneStopsTheChange(t *testing.T) {
	t.Parallel()
	const retry, memory = 0x922, 0x902
	tpm := swtpm.New(t)
	proxy := tpm.Proxy()
	h := open(t, tpm, proxy.Address(), fakepf.Options{})
	n := 0
	proxy.Hook(func(command []byte, forward func() []byte) []byte {
		if swtpm.Code(command) == swtpm.NVRead {
			if n++; n%3 != 0 { // every read needs three tries
				return swtpm.Answer(retry)
			}
		}
		return forward()
	})
	c := h.approved(wanted)
	h.is(h.end(c), verified, "", 1)
	if proxy.Count(swtpm.NVIncrement) != 2 { // the first ever, and this change's
		t.Errorf("%d increments", proxy.Count(swtpm.NVIncrement))
	}

	proxy.Hook(func(command []byte, forward func() []byte) []byte {
		if swtpm.Code(command) == swtpm.NVRead {
			return swtpm.Answer(memory)
		}
		return forward()
	})
	if err := h.Rollback(c); err == nil || h.Sends() != 1 || proxy.Count(swtpm.NVIncrement) != 2 {
		t.Errorf("%v, %d sends, %d increments", err, h.Sends(), proxy.Count(swtpm.NVIncrement))
	}
	h.until("anchor_unreachable")
	proxy.Hook(nil)
	h.until("")
	h.ok(h.Rollback(c))
	k, err := h.Settled(c)
	h.ok(err)
	h.is(k, executorpb.State_STATE_ROLLED_BACK, "", 2)
}

// undefine removes the index as the TPM's owner can.
func undefine(t *testing.T, tpm *swtpm.TPM) {
	t.Helper()
	c := tpm.Dial()
	defer func() { _ = c.Close() }() // answered, or not
	r, err := (tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(handle)}).Execute(c)
	if err == nil {
		_, err = (tpm2.NVUndefineSpace{
			AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHOwner, Auth: tpm2.PasswordAuth(nil)},
			NVIndex:    tpm2.NamedHandle{Handle: tpm2.TPMHandle(handle), Name: r.NVName},
		}).Execute(c)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// define makes a counter of the same kind with a secret of somebody else's, and counts.
func define(t *testing.T, tpm *swtpm.TPM) {
	t.Helper()
	c := tpm.Dial()
	defer func() { _ = c.Close() }() // answered, or not
	secret := []byte("somebody-else's-secret")
	_, err := (tpm2.NVDefineSpace{
		AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHOwner, Auth: tpm2.PasswordAuth(nil)},
		Auth:       tpm2.TPM2BAuth{Buffer: secret},
		PublicInfo: tpm2.New2B(tpm2.TPMSNVPublic{
			NVIndex: handle, NameAlg: tpm2.TPMAlgSHA256, DataSize: 8,
			Attributes: tpm2.TPMANV{NT: tpm2.TPMNTCounter, AuthRead: true, AuthWrite: true, PolicyRead: true},
		}),
	}).Execute(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(handle)}).Execute(c)
	if err == nil {
		_, err = (tpm2.NVIncrement{
			AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMHandle(handle), Name: r.NVName, Auth: tpm2.PasswordAuth(secret)},
			NVIndex:    tpm2.NamedHandle{Handle: tpm2.TPMHandle(handle), Name: r.NVName},
		}).Execute(c)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// handles is how many indices the TPM has.
func handles(t *testing.T, tpm *swtpm.TPM) int {
	t.Helper()
	c := tpm.Dial()
	defer func() { _ = c.Close() }() // answered, or not
	r, err := (tpm2.GetCapability{Capability: tpm2.TPMCapHandles, Property: uint32(tpm2.TPMHTNVIndex) << 24, PropertyCount: 64}).Execute(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.CapabilityData.Data.Handles()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, at := range l.Handle {
		if at >= 0x01500000 && at < 0x01600000 { // a fresh swtpm has a few of its own elsewhere
			n++
		}
	}
	return n
}

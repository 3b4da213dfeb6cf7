package fieldcases

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/swtpm"
	"pfsensemcp/test/writepath"
)

// The cases of the write path, its counter and its store run against a real executord
// (a test build: its waiting times are shortened) beside an emulated TPM.

const wanted = "Printers of the first floor"

// executord is built once for all tests.
var executord = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fieldcases")
	if err != nil {
		return "", err
	}
	executordDir = dir
	return writepath.Program(dir)
})

var executordDir string

// house is a provisioned write path whose process runs.
type house struct {
	*writepath.Rig
	t   *testing.T
	tpm *swtpm.TPM
}

func newHouse(t *testing.T, o fakepf.Options) *house {
	t.Helper()
	tpm := swtpm.New(t)
	return open(t, tpm, tpm.Address(), o)
}

func open(t *testing.T, tpm *swtpm.TPM, address string, o fakepf.Options) *house {
	t.Helper()
	h := blank(t, tpm, address, o)
	h.ok(h.Provision())
	return h
}

// blank is one whose counter is not provisioned.
func blank(t *testing.T, tpm *swtpm.TPM, address string, o fakepf.Options) *house {
	t.Helper()
	program, err := executord()
	if err != nil {
		t.Fatal(err)
	}
	h := &house{writepath.New(t, program, address, o), t, tpm}
	h.ok(h.Start(""))
	return h
}

func (h *house) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("%v\n%s", err, h.Log())
	}
}

func (h *house) ctx() context.Context {
	ctx, cancel := context.WithTimeout(h.t.Context(), writepath.Patience)
	h.t.Cleanup(cancel)
	return ctx
}

// wish asks for a text and returns the request's id.
func (h *house) wish(text string) string {
	h.t.Helper()
	st, err := h.Ask(text)
	h.ok(err)
	all, err := h.Requests()
	h.ok(err)
	for _, q := range all {
		if q.GetStatus() == executorpb.RequestStatus_REQUEST_STATUS_OPEN {
			return q.GetRequestId()
		}
	}
	h.t.Fatalf("a wish is %v, and none is open\n%s", st, h.Log())
	return ""
}

// unwilling asks for a text, which must not become a request.
func (h *house) unwilling(text string) {
	h.t.Helper()
	st, err := h.AskFor(1002, text)
	h.ok(err)
	if st != executorpb.WriteState_WRITE_STATE_REFUSED {
		h.t.Errorf("a wish is %v", st)
	}
}

// approved is a contract that waits for its confirmation.
func (h *house) approved(text string) string {
	h.t.Helper()
	c, err := h.Authorize(h.wish(text))
	h.ok(err)
	return c
}

// end confirms a contract and returns what became of it.
func (h *house) end(contract string) *executorpb.Contract {
	h.t.Helper()
	h.ok(h.Confirm(contract))
	c, err := h.Settled(contract)
	h.ok(err)
	return c
}

// denied holds an error: a refusal of a signed file, with nothing sent.
func (h *house) denied(err error, sends int) {
	h.t.Helper()
	if e := errs.Public(err); err == nil || e.Class != "write_denied" || e.Next == "" {
		h.t.Errorf("not refused: %v", err)
	}
	if n := h.Sends(); n != sends {
		h.t.Errorf("%d sends", n)
	}
}

// is holds what became of a contract.
func (h *house) is(c *executorpb.Contract, state executorpb.State, reason string, sends int) {
	h.t.Helper()
	if c.GetState() != state || c.GetReason() != reason || h.Sends() != sends {
		h.t.Errorf("%v %q after %d sends, want %v %q after %d\n%s", c.GetState(), c.GetReason(), h.Sends(), state, reason, sends, h.Log())
	}
}

// quarantine is the word for why nothing is begun.
func (h *house) quarantine() string {
	h.t.Helper()
	d, err := h.Admin.Discover(h.ctx(), &executorpb.DiscoverRequest{})
	h.ok(err)
	return d.GetPosture().GetQuarantine()
}

// until waits for a quarantine, "" for its end.
func (h *house) until(word string) {
	h.t.Helper()
	end := time.Now().Add(writepath.Patience)
	for h.quarantine() != word {
		if time.Now().After(end) {
			h.t.Fatalf("the quarantine is %q, want %q\n%s", h.quarantine(), word, h.Log())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// again starts the process anew.
func (h *house) again() {
	h.t.Helper()
	h.Kill()
	h.ok(h.Start(""))
}

const aliases = "FirewallAlias"

// position is where an alias stands, -1 when it is nowhere.
func (h *house) position(name string) int {
	for pos := range h.FW.Rows(aliases) {
		if n, _ := h.FW.Row(aliases, pos).Get("name"); n == name {
			return pos
		}
	}
	return -1
}

// texts are the descriptions of all aliases by name.
func (h *house) texts() map[string]string {
	out := map[string]string{}
	for pos := range h.FW.Rows(aliases) {
		name, _ := h.FW.Row(aliases, pos).Get("name")
		descr, _ := h.FW.Row(aliases, pos).Get("descr")
		out[name.(string)], _ = descr.(string)
	}
	return out
}

// before puts an alias in front of all others, as one that has always been there.
func (h *house) before(name string) {
	h.t.Helper()
	row := h.FW.Row(aliases, h.position(writepath.Alias)).Set("name", name).Set("descr", "hosts that are no more")
	h.ok(h.FW.Insert(aliases, 0, row))
	h.FW.SetPending()
}

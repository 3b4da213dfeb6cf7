package ceremony_test

import (
	"testing"

	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store/record"
)

func TestAChangeFromTheWishToItsProof(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	if st := h.Y.Status(); !st.Constructible {
		t.Fatalf("status %+v", st)
	}
	k := h.Authorized("Printers of the first floor")
	if got := h.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, "Printers of the first floor"); got != ceremony.Awaiting {
		t.Errorf("a poll before the confirmation: %s", got)
	}
	began, err := h.Confirm(k)
	if err != nil || began.State != record.Executing {
		t.Fatalf("confirm: %v, %v: %s", began.State, err, h.Last())
	}
	done, res := h.Contract(k.ContractID)
	if done.State != record.Verified || h.Sends() != 1 || h.Descr() != "Printers of the first floor" {
		t.Fatalf("%s %s, %d sends, %q", done.State, res.Reason, h.Sends(), h.Descr())
	}
	if n, _ := h.Counter.Read(t.Context()); n != 42 {
		t.Errorf("the counter is at %d", n)
	}
	if got := h.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, "Printers of the first floor"); got != ceremony.Verified {
		t.Errorf("a poll after it: %s", got)
	}
}

package serve

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/watch"
	"pfsensemcp/pkg/metrics"
	executorpb "pfsensemcp/proto/executor/v1"
)

// house is executord's two sockets over a whole write path.
type house struct {
	*ceremonytest.House
	*bench
}

func newHouse(t *testing.T) house {
	t.Helper()
	b := &bench{log: &lines{}, reg: metrics.New()}
	b.logger = slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := watch.New(b.logger, b.reg)
	h := ceremonytest.New(t, ceremonytest.Options{Config: func(c *ceremony.Config) { c.Observe, c.Log = w.Event, b.logger }})
	b.s = New(h.Y, Facts{
		Version: "test", Enabled: true, TLSMode: "auto", Sealed: true, Authorities: h.Config.Authorities, Limits: h.Config.Store.Limits, Metrics: b.reg,
		Permissions: func() error { _, err := store.Exists(h.Config.Store); return err }, Appliance: h.Config.Reader,
	})
	b.front, b.admin = b.dial(t, "exec", mcpdUID), b.dial(t, "exec-admin", operatorUID)
	b.Front, b.Admin = executorpb.NewFrontClient(b.front), executorpb.NewAdminClient(b.admin)
	return house{h, b}
}

// ask asks as mcpd does.
func (h house) ask(t *testing.T, text string) executorpb.WriteState {
	t.Helper()
	r, err := h.Front.RequestAliasDescription(soon(t), &executorpb.RequestAliasDescriptionRequest{AliasName: ceremonytest.Alias, Description: text, CallerUid: ceremonytest.UID})
	if err != nil {
		t.Fatal(err)
	}
	return r.GetState()
}

// authorization signs the preview of the one open request.
func (h house) authorization(t *testing.T) []byte {
	t.Helper()
	l, err := h.Admin.ListRequests(soon(t), &executorpb.ListRequestsRequest{})
	if err != nil || l.GetTotal() != 1 {
		t.Fatalf("%v, %v", l, err)
	}
	id := l.GetRequests()[0].GetRequestId()
	if !strings.Contains(l.GetRequests()[0].GetNext(), id) {
		t.Errorf("the list does not say what to do: %v", l)
	}
	f, err := h.Admin.GetPreview(soon(t), &executorpb.GetPreviewRequest{RequestId: id})
	if err != nil {
		t.Fatal(err)
	}
	p, err := artifact.ParsePreview(f.GetArtifact())
	if err != nil || p.RequestID != id {
		t.Fatal(err)
	}
	return h.Authorization(p)
}

func TestAWholeChangeOverBothSockets(t *testing.T) {
	h := newHouse(t)
	ctx := soon(t)
	if st, err := h.Front.GetWriteStatus(ctx, &executorpb.GetWriteStatusRequest{}); err != nil || !st.GetConstructible() {
		t.Fatalf("%v, %v", st, err)
	}
	const text = "Text by way of two sockets"
	if got := h.ask(t, text); got != executorpb.WriteState_WRITE_STATE_REQUESTED {
		t.Fatalf("asked: %v", got)
	}
	a, err := h.Admin.SubmitAuthorization(ctx, &executorpb.SubmitAuthorizationRequest{Authorization: h.authorization(t)})
	if err != nil {
		t.Fatal(err)
	}
	id := a.GetContractId()
	get := func() *executorpb.Contract {
		t.Helper()
		g, err := h.Admin.GetContract(soon(t), &executorpb.GetContractRequest{ContractId: id})
		if err != nil {
			t.Fatal(err)
		}
		return g.GetContract()
	}
	if k := get(); k.GetState() != executorpb.State_STATE_PREPARED || !strings.Contains(k.GetNext(), "mcpctl write pending "+id) {
		t.Errorf("%v", k)
	}
	if got := h.ask(t, text); got != executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION {
		t.Errorf("authorized: %v", got)
	}
	k, _ := h.Contract(id)
	r, err := h.Admin.SubmitConfirmation(ctx, &executorpb.SubmitConfirmationRequest{Confirmation: h.Confirmation(*k)})
	if err != nil || r.GetState() != executorpb.State_STATE_EXECUTING || r.GetContractId() != id {
		t.Fatalf("%v, %v", r, err)
	}
	for get().GetState() == executorpb.State_STATE_EXECUTING {
		time.Sleep(5 * time.Millisecond)
	}
	done := get()
	if done.GetState() != executorpb.State_STATE_VERIFIED || done.GetLook() != "due" || done.GetRollbackUntil() == 0 || !strings.Contains(done.GetNext(), "rollback-request") {
		t.Errorf("%v", done)
	}
	if got := h.ask(t, text); got != executorpb.WriteState_WRITE_STATE_VERIFIED {
		t.Errorf("afterwards: %v", got)
	}
	if _, err := h.Admin.Cancel(ctx, &executorpb.CancelRequest{What: &executorpb.CancelRequest_ContractId{ContractId: id}}); coded(err).Code != errs.Conflict {
		t.Errorf("cancelled after it was done: %v", err)
	}

	// What operators take away is what signers and verifiers read.
	f, err := h.Admin.GetPins(ctx, &executorpb.GetPinsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := authority.ParsePins(f.GetArtifact()); err != nil || len(p.Executors) != 1 {
		t.Errorf("pins: %v", err)
	}
	if f, err = h.Admin.AnchorFile(ctx, &executorpb.AnchorFileRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := artifact.ParseAnchorStatus(f.GetArtifact()); err != nil {
		t.Errorf("anchor file: %v", err)
	}
	file, last, _, err := receive(h.Admin.AuditExport(ctx, &executorpb.AuditExportRequest{}))
	if err != nil || last.GetTotal() != uint64(len(file)) {
		t.Fatalf("export: %v", err)
	}
	rows, head, err := store.ReadExport(file)
	if err != nil || len(rows) < 10 || head == nil {
		t.Errorf("export: %d rows, %v", len(rows), err)
	}
	if strings.Contains(string(file)+h.log.String()+h.reg.Text(), text) || strings.Contains(string(file)+h.log.String()+h.reg.Text(), ceremonytest.Alias) {
		t.Error("the text or the name of the alias is in the audit, the journal or the metrics")
	}
	for _, line := range []string{"change requested", "preview made", "authorization accepted", "confirmation accepted", "attempt begun", "contract settled", id} {
		if !strings.Contains(h.log.String(), line) {
			t.Errorf("the journal lacks %q", line)
		}
	}
	for _, line := range []string{"executor_requests_total 1", `executor_outcomes_total{state="verified"} 1`, "executor_open_contracts 0", "executor_constructible 1"} {
		if !strings.Contains(h.reg.Text(), line+"\n") {
			t.Errorf("no metric %s", line)
		}
	}
}

// A client that leaves takes along what has not begun, and nothing else: the contract
// is never left half way.
func TestACallerWhoLeavesDoesNotEndAStepThatHasBegun(t *testing.T) {
	h := newHouse(t)
	k := h.Authorized("Left alone")
	file := h.Confirmation(k)
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	go func() {
		for stored := false; !stored && ctx.Err() == nil; time.Sleep(time.Millisecond) {
			_ = h.Y.View(func(v *store.View) error { // asked again when it failed
				c, _, err := v.Contract(k.ContractID)
				stored = err == nil && c.Confirmed()
				return err
			})
		}
		leave()
	}()
	_, err := h.Admin.SubmitConfirmation(ctx, &executorpb.SubmitConfirmationRequest{Confirmation: file})
	<-ctx.Done()
	h.Wait()
	c, _ := h.Contract(k.ContractID)
	if c.State != record.Verified || h.Sends() != 1 || h.Descr() != "Left alone" {
		t.Errorf("%s after %v, %d sends, %q", c.State, err, h.Sends(), h.Descr())
	}
}

func TestTheDoctorOfAWholeWritePathIsContent(t *testing.T) {
	h := newHouse(t)
	d, err := h.Admin.Doctor(soon(t), &executorpb.DoctorRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.GetChecks() {
		if c.GetStatus() != executorpb.Check_STATUS_PASS {
			t.Errorf("%v", c)
		}
	}
	// A counter that moved elsewhere is named, and nothing can be asked for.
	h.Counter.Set(99)
	d, err = h.Admin.Doctor(soon(t), &executorpb.DoctorRequest{})
	if err != nil || !strings.Contains(protojson.Format(d), "rebaseline") {
		t.Errorf("%v, %v", d, err)
	}
	s, err := h.Admin.AnchorStatus(soon(t), &executorpb.AnchorStatusRequest{})
	if err != nil || s.GetAnchor().GetStoreValue() != 41 || s.GetAnchor().GetWitnessValue() != 99 {
		t.Errorf("%v, %v", s, err)
	}
}

func TestA13TheRealGatesDenyEveryBadFileWithTheSameBytes(t *testing.T) {
	h := newHouse(t)
	h.ask(t, "Never written")
	good := h.authorization(t)
	a, err := artifact.ParseAuthorization(good)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(change func(*artifact.Authorization), key byte) []byte {
		b := *a
		change(&b)
		return artifacttest.File(t, &b, artifacttest.Seed(key))
	}
	bad := map[string][]byte{
		"empty": {}, "garbage": []byte("{"), "large": bytes.Repeat([]byte("x"), 16<<10+1),
		"another role's":     artifacttest.File(t, artifacttest.Rebaseline(), artifacttest.KeyR()),
		"tampered":           bytes.Replace(good, []byte(a.RequestID), []byte(someRequest), 1),
		"the wrong key":      signed(func(*artifact.Authorization) {}, 0xc2),
		"an unknown owner":   signed(func(b *artifact.Authorization) { b.AuthorityID = "nobody-1" }, 0xa1),
		"an unknown request": signed(func(b *artifact.Authorization) { b.RequestID = someRequest }, 0xa1),
		"expired": signed(func(b *artifact.Authorization) {
			b.IssuedAt, b.ExpiresAt = b.IssuedAt.Add(-time.Hour), b.ExpiresAt.Add(-time.Hour)
		}, 0xa1),
		"early": signed(func(b *artifact.Authorization) {
			b.IssuedAt, b.ExpiresAt = b.IssuedAt.Add(time.Hour), b.ExpiresAt.Add(time.Hour)
		}, 0xa1),
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		_, err := h.Admin.SubmitAuthorization(soon(t), &executorpb.SubmitAuthorizationRequest{Authorization: bad[name]})
		e := coded(err)
		var seq int
		if _, serr := fmt.Sscanf(e.Msg, "write request denied (audit seq %d)", &seq); serr != nil || e.Code != errs.Conflict || seq < 1 {
			t.Errorf("%s: %+v", name, e)
			continue
		}
		seen[strings.Replace(fmt.Sprintf("%+v", e), fmt.Sprint(seq), "N", 1)] = true
		row, err := h.Admin.AuditShow(soon(t), &executorpb.AuditShowRequest{Seq: uint64(seq)})
		if err != nil || !bytes.Contains(row.GetRecord(), []byte(`"authorization_denied"`)) || !bytes.Contains(row.GetRecord(), []byte(theOperator)) {
			t.Errorf("%s: audit row %s, %v", name, row.GetRecord(), err)
		}
	}
	if len(seen) != 1 {
		t.Errorf("%d different denials: %v", len(seen), seen)
	}
	if strings.Contains(h.log.String(), "g2_") || strings.Contains(h.log.String(), "g3_") {
		t.Error("a reason is in the journal")
	}
	if h.Sends() != 0 {
		t.Error("something was sent")
	}
}

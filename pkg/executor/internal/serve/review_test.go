package serve

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/watch"
	executorpb "pfsensemcp/proto/executor/v1"
)

func TestReview16WhatALookFoundIsListedAndTheStateStays(t *testing.T) {
	b := newBench(t)
	c, err := b.play.Verified("web", "one")
	if err != nil {
		t.Fatal(err)
	}
	b.play.Clock.Pass(time.Minute)
	if err := b.play.S.Look(c.ContractID, record.LookReverted); err != nil {
		t.Fatal(err)
	}
	l, err := b.Admin.ListContracts(soon(t), &executorpb.ListContractsRequest{States: []executorpb.State{executorpb.State_STATE_VERIFIED}})
	if err != nil || l.GetTotal() != 1 || l.GetContracts()[0].GetLook() != "reverted" || l.GetContracts()[0].GetState() != executorpb.State_STATE_VERIFIED {
		t.Errorf("%v, %v", l, err)
	}
	g, err := b.Admin.GetContract(soon(t), &executorpb.GetContractRequest{ContractId: c.ContractID})
	if err != nil || !proto.Equal(g.GetContract(), l.GetContracts()[0]) || g.GetDigests().GetIdempotencyKey() == "" || g.GetDigests().GetVerifiedTargetFingerprint() != c.VerifiedFingerprint {
		t.Errorf("%v, %v", g, err)
	}
}

func TestReview18TheUIDThatMcpdClaimsIsListedFilteredAndCancelled(t *testing.T) {
	b := newBench(t)
	ctx := soon(t)
	for i, uid := range []int64{1001, 1001, 1002} {
		if _, err := b.play.S.OpenRequest(store.NewRequest{AliasName: fmt.Sprintf("web%d", i), Description: "x", UID: &uid, By: record.MCP(uint32(uid))}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(uid *uint32, statuses ...executorpb.RequestStatus) *executorpb.ListRequestsResponse {
		t.Helper()
		l, err := b.Admin.ListRequests(ctx, &executorpb.ListRequestsRequest{Uid: uid, Statuses: statuses, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	one := uint32(1001)
	if l := list(&one); l.GetTotal() != 2 || len(l.GetRequests()) != 1 || l.GetRequests()[0].GetUid() != 1001 || l.GetRequests()[0].Uid == nil {
		t.Errorf("%v", l)
	}
	if l := list(nil); l.GetTotal() != 3 {
		t.Errorf("%v", l)
	}
	r, err := b.Admin.Cancel(ctx, &executorpb.CancelRequest{What: &executorpb.CancelRequest_UnpreviewedOfUid{UnpreviewedOfUid: 1001}})
	if err != nil || len(r.GetRequestIds()) != 2 {
		t.Errorf("%v, %v", r, err)
	}
	if l := list(&one); l.GetTotal() != 0 {
		t.Errorf("%v", l)
	}
	if l := list(&one, executorpb.RequestStatus_REQUEST_STATUS_CANCELLED); l.GetTotal() != 2 {
		t.Errorf("%v", l)
	}
	if _, err := b.Admin.ListRequests(ctx, &executorpb.ListRequestsRequest{Statuses: []executorpb.RequestStatus{77}}); coded(err).Code != errs.Invalid {
		t.Errorf("an unknown status: %v", err)
	}
	if _, err := b.Admin.ListContracts(ctx, &executorpb.ListContractsRequest{Limit: 501}); coded(err).Code != errs.Invalid {
		t.Errorf("a page of 501: %v", err)
	}
}

func TestReview21ReadsPollsAndOtherCallsNeverWaitForAStepOfTheWriter(t *testing.T) {
	b := newBench(t)
	b.mu.Lock()
	b.block = make(chan struct{})
	b.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		_, err := b.Admin.SubmitConfirmation(soon(t), &executorpb.SubmitConfirmationRequest{Confirmation: []byte("F")})
		done <- err
	}()
	for b.last() == "" {
		time.Sleep(time.Millisecond)
	}
	ctx := soon(t)
	for name, err := range map[string]error{
		"poll":      second(b.Front.RequestAliasDescription(ctx, &executorpb.RequestAliasDescriptionRequest{AliasName: "web", Description: "x", CallerUid: 1001})),
		"status":    second(b.Front.GetWriteStatus(ctx, &executorpb.GetWriteStatusRequest{})),
		"requests":  second(b.Admin.ListRequests(ctx, &executorpb.ListRequestsRequest{})),
		"contracts": second(b.Admin.ListContracts(ctx, &executorpb.ListContractsRequest{})),
		"audit":     second(b.Admin.AuditShow(ctx, &executorpb.AuditShowRequest{Seq: 1})),
		"discover":  second(b.Admin.Discover(ctx, &executorpb.DiscoverRequest{})),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	select {
	case err := <-done:
		t.Errorf("the step ended: %v", err)
	default:
	}
	close(b.block)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestReview21TheAnswerToAConfirmationIsExecutingAndTheDeadlinesAreShorterThanAnExchange(t *testing.T) {
	b := newBench(t)
	b.answer = record.Contract{ContractID: someContract, State: record.Executing, Version: 2}
	r, err := b.Admin.SubmitConfirmation(soon(t), &executorpb.SubmitConfirmationRequest{Confirmation: []byte("F")})
	if err != nil || r.GetState() != executorpb.State_STATE_EXECUTING || r.GetContractId() != someContract {
		t.Errorf("%v, %v", r, err)
	}
	for _, m := range AdminMethods() {
		if m.MaxDuration > 2*time.Minute && !m.Once {
			t.Errorf("%s may take %v", m.Full, m.MaxDuration)
		}
	}
}

func TestReview29AChallengeHas32BytesAndItsBoundIsTold(t *testing.T) {
	b := newBench(t)
	for _, n := range []int{0, 31, 33, 64} {
		if _, err := b.Admin.KeyChallenge(soon(t), &executorpb.KeyChallengeRequest{Challenge: make([]byte, n)}); coded(err).Code != errs.Invalid {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if len(b.calls) > 0 {
		t.Error("the key was used for what is no challenge")
	}
	want := bytes.Repeat([]byte{7}, 32)
	r, err := b.Admin.KeyChallenge(soon(t), &executorpb.KeyChallengeRequest{Challenge: want})
	want[0] ^= 0xff
	if err != nil || !bytes.Equal(r.GetHmac(), want) {
		t.Errorf("%v, %v", r, err)
	}
	b.err = errs.New(errs.Exhausted, "the key answers six challenges a minute").WithClass("rate").WithNext("wait a minute")
	if _, err := b.Admin.KeyChallenge(soon(t), &executorpb.KeyChallengeRequest{Challenge: want}); coded(err).Code != errs.Exhausted {
		t.Errorf("a seventh: %v", err)
	}
}

func TestReview30AFileOf768KiBFitsAnAnswer(t *testing.T) {
	b := newBench(t)
	b.file = bytes.Repeat([]byte("a"), 768<<10)
	r, err := b.Admin.GetPreview(soon(t), &executorpb.GetPreviewRequest{RequestId: someRequest})
	if err != nil || len(r.GetArtifact()) != 768<<10 {
		t.Errorf("%d bytes, %v", len(r.GetArtifact()), err)
	}
}

// everything calls every method but the files', and returns all that came back.
func (b *bench) everything(t *testing.T) (listed, rest string) {
	t.Helper()
	ctx := soon(t)
	var out, requests bytes.Buffer
	note := func(w *bytes.Buffer, m proto.Message, err error) {
		if err != nil {
			fmt.Fprintf(w, "%+v\n", coded(err))
			return
		}
		w.WriteString(protojson.Format(m) + "\n")
	}
	l, err := b.Admin.ListRequests(ctx, &executorpb.ListRequestsRequest{Statuses: []executorpb.RequestStatus{1, 2, 3, 4, 5, 6}})
	note(&requests, l, err)
	c, err := b.Admin.ListContracts(ctx, &executorpb.ListContractsRequest{States: []executorpb.State{1, 2, 3, 4, 5, 6, 7, 8, 9}})
	note(&out, c, err)
	for _, k := range c.GetContracts() {
		g, err := b.Admin.GetContract(ctx, &executorpb.GetContractRequest{ContractId: k.GetContractId()})
		note(&out, g, err)
	}
	v, err := b.Admin.AuditVerify(ctx, &executorpb.AuditVerifyRequest{})
	note(&out, v, err)
	for seq := range v.GetRows() {
		r, err := b.Admin.AuditShow(ctx, &executorpb.AuditShowRequest{Seq: seq + 1})
		out.Write(r.GetRecord())
		note(&out, r, err)
	}
	d, err := b.Admin.Discover(ctx, &executorpb.DiscoverRequest{})
	note(&out, d, err)
	h, err := b.Admin.Doctor(ctx, &executorpb.DoctorRequest{})
	note(&out, h, err)
	s, err := b.Admin.AnchorStatus(ctx, &executorpb.AnchorStatusRequest{})
	note(&out, s, err)
	for _, submit := range b.submissions(ctx) {
		if err := submit(); err != nil {
			fmt.Fprintf(&out, "%+v\n", coded(err))
		}
	}
	return requests.String(), out.String()
}

func TestT5NoTextOfAChangeNoAddressAndNoPathIsInAnyAnswerLineOrMetric(t *testing.T) {
	// Few words, each through a store of its own.
	for seed := range 12 {
		alias := "mk" + rapid.StringMatching(`[a-z]{12}`).Example(seed)
		text := "marker " + rapid.StringMatching(`[A-Za-z0-9 ]{12}x`).Example(seed)
		b := newBench(t)
		w := watch.New(b.logger, b.reg)
		if _, err := b.Front.RequestAliasDescription(soon(t), &executorpb.RequestAliasDescriptionRequest{AliasName: alias, Description: text, CallerUid: 1001}); err != nil {
			t.Fatal(err)
		}
		for name, make := range map[string]func() error{
			"verified": func() error { return second(b.play.Verified(alias, text)) },
			"prepared": func() error { return second(b.play.Authorize(alias+"2", text)) },
			"open":     func() error { return second(b.play.Request(alias+"3", text)) },
			"denied": func() error {
				return second(b.play.S.Deny(store.Denial{Event: record.AuthorizationDenied, By: record.Operator(1), Reason: "g2_signature", RequestID: alias, ContractID: text}))
			},
		} {
			if err := make(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, kind := range []ceremony.Kind{ceremony.KindRequested, ceremony.KindDenied, ceremony.KindSettled, ceremony.KindLooked, "new"} {
			w.Event(ceremony.Event{Kind: kind, ContractID: text, RequestID: "req-" + alias, Gate: text, State: record.State(alias), Seq: 3})
		}
		// An error of ours around a cause that quotes everything it must not.
		cause := errs.New(errs.Invalid, alias+" "+text+" https://192.0.2.1/api/v2/firewall/alias /var/lib/pfsense")
		b.err = errs.Wrap(cause, errs.Denied, "refused").WithClass("g2_signature")
		listed, rest := b.everything(t)
		if !strings.Contains(listed, alias) || strings.Contains(listed, text) {
			t.Errorf("the list of requests has the name alone: %s", listed)
		}
		seen := rest + b.log.String() + b.reg.Text()
		for _, secret := range []string{alias, text, "https://", "192.0.2.1", "/api/v2", "/var/lib", b.play.Clock.Read().BootID} {
			if i := strings.Index(seen, secret); i >= 0 {
				t.Errorf("%q in %s", secret, seen[max(0, i-200):min(len(seen), i+200)])
			}
		}
	}
}

func TestT5TheCheckForMarkersCanFail(t *testing.T) {
	b := newBench(t)
	if _, err := b.play.Authorize("mkmarker", "text"); err != nil {
		t.Fatal(err)
	}
	listed, rest := b.everything(t)
	if !strings.Contains(listed, "mkmarker") || !strings.Contains(rest, "contract_created") || !strings.Contains(rest, "STATE_PREPARED") {
		t.Error("what is searched does not hold what was asked for")
	}
}

func TestTheGaugesFollowTheCeremony(t *testing.T) {
	b := newBench(t)
	b.status = ceremony.Status{Quarantine: "clock_jump"}
	for _, alias := range []string{"web", "db"} {
		if _, err := b.play.Authorize(alias, "x"); err != nil {
			t.Fatal(err)
		}
	}
	text := b.reg.Text()
	for _, line := range []string{"executor_open_contracts 2", "executor_quarantine 1", "executor_constructible 0"} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
}

package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	executorpb "pfsensemcp/proto/executor/v1"
)

const (
	someRequest  = "req-0123456789abcdef0123456789abcdef"
	someContract = "wc-0123456789abcdef0123456789abcdef"
	theOperator  = "operator:1000"
)

func TestG4TheFrontSocketReachesNoAdminMethodAndAWrongUserGetsNothing(t *testing.T) {
	b := newBench(t)
	ctx := soon(t)
	if _, err := b.Front.GetWriteStatus(ctx, &executorpb.GetWriteStatusRequest{}); err != nil {
		t.Errorf("mcpd on its own socket: %v", err)
	}
	// Every method of Admin, on the socket of Front, by mcpd and by its name alone.
	for _, m := range AdminMethods() {
		var out executorpb.CancelResponse
		err := b.front.Invoke(ctx, m.Full, &executorpb.CancelRequest{}, &out)
		if e := coded(err); e.Code != errs.Denied || !strings.Contains(e.Msg, "no such method") {
			t.Errorf("%s on the front: %v", m.Full, err)
		}
	}
	for _, m := range FrontMethods() {
		var out executorpb.CancelResponse
		if e := coded(b.admin.Invoke(ctx, m.Full, &executorpb.CancelRequest{}, &out)); e.Code != errs.Denied {
			t.Errorf("%s on the admin socket: %v", m.Full, e)
		}
	}
	for _, conn := range []*grpc.ClientConn{b.front, b.admin} {
		for _, m := range []string{
			"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
			"/executor.v1.Admin/Nothing", "/executor.v2.Admin/Cancel", "/",
		} {
			var out executorpb.CancelResponse
			if e := coded(conn.Invoke(ctx, m, &executorpb.CancelRequest{}, &out)); e.Code == 0 && e.Msg == "" {
				t.Errorf("%s was answered", m)
			}
		}
	}
	for _, row := range []struct {
		socket, method string
		uid            uint32
	}{
		{"exec", executorpb.Front_GetWriteStatus_FullMethodName, operatorUID},
		{"exec", executorpb.Front_RequestAliasDescription_FullMethodName, strangerUID},
		{"exec", executorpb.Front_GetWriteStatus_FullMethodName, 0},
		{"exec-admin", executorpb.Admin_Discover_FullMethodName, mcpdUID},
		{"exec-admin", executorpb.Admin_RotateKeys_FullMethodName, strangerUID},
		{"exec-admin", executorpb.Admin_Discover_FullMethodName, 65534},
	} {
		var out executorpb.DiscoverResponse
		if err := b.dial(t, row.socket, row.uid).Invoke(ctx, row.method, &executorpb.DiscoverRequest{}, &out); err == nil {
			t.Errorf("uid %d called %s", row.uid, row.method)
		}
	}
	if len(b.calls) != 0 {
		t.Errorf("the ceremony was reached: %v", b.calls)
	}
}

// causes are errors of every kind that a gate, the store, the appliance or a bug can
// end a submission with.
func causes() []error {
	outside := errors.New("outside text /etc/secret https://192.0.2.1")
	out := []error{
		errs.New(errs.Conflict, "write request denied (audit seq 7)").WithClass("write_denied"),
		errs.New(errs.Conflict, "write request denied (audit seq 7)").WithClass("write_denied").WithNext("a hint that must not be there"),
		errs.Wrap(outside, errs.Conflict, "write request denied (audit seq 7)").WithClass("write_denied"),
	}
	return out
}

// stray are errors that no gate should let out.
func stray() []error {
	var out []error
	for _, code := range []errs.Code{errs.NotFound, errs.Invalid, errs.Denied, errs.Conflict, errs.Exhausted} {
		out = append(out, errs.New(code, "the signature is by the wrong owner").WithClass("g2_signature").WithNext("sign again"),
			errs.New(code, "something").WithClass("new_class"), errs.New(code, "nothing"))
	}
	return append(
		out,
		errs.New(errs.Expired, "a signature has expired").WithClass("b_time"),
		errs.New(errs.Denied, "a class of another code").WithClass("not_begun"),
		errs.New(errs.Unavailable, "the appliance could not be read").WithClass("g5b_read"),
		errs.New(errs.Conflict, "write request denied (audit seq 7) because of the key").WithClass("write_denied"),
		errs.New(errs.Conflict, "write request denied (audit seq 0)").WithClass("write_denied"),
	)
}

// submissions are the calls that carry signed files.
func (b *bench) submissions(ctx context.Context) map[string]func() error {
	file := []byte("file")
	return map[string]func() error{
		"authorization": func() error {
			_, err := b.Admin.SubmitAuthorization(ctx, &executorpb.SubmitAuthorizationRequest{Authorization: file})
			return err
		},
		"confirmation": func() error {
			_, err := b.Admin.SubmitConfirmation(ctx, &executorpb.SubmitConfirmationRequest{Confirmation: file})
			return err
		},
		"reconciliation": func() error {
			_, err := b.Admin.SubmitReconciliation(ctx, &executorpb.SubmitReconciliationRequest{Evidence: file})
			return err
		},
		"release": func() error {
			_, err := b.Admin.SubmitRelease(ctx, &executorpb.SubmitReleaseRequest{Release: file})
			return err
		},
		"rollback": func() error {
			_, err := b.Admin.SubmitRollback(ctx, &executorpb.SubmitRollbackRequest{Rollback: file, RollbackAuthorization: file})
			return err
		},
		"rebaseline": func() error {
			_, err := b.Admin.SubmitRebaseline(ctx, &executorpb.SubmitRebaselineRequest{Rebaseline: file})
			return err
		},
	}
}

func TestA13ADenialIsTheSameBytesForEveryCause(t *testing.T) {
	b := newBench(t)
	for name, submit := range b.submissions(soon(t)) {
		want := errs.Error{
			Code: errs.Conflict, Class: "write_denied", Msg: "write request denied (audit seq 7)",
			Next: "the audit row of that number has the reason: mcpctl audit show",
		}
		for _, b.err = range causes() {
			if diff := cmp.Diff(want, coded(submit())); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		want.Msg = "write request denied"
		for _, b.err = range stray() {
			if diff := cmp.Diff(want, coded(submit())); diff != "" {
				t.Errorf("%s, %v: %s", name, b.err, diff)
			}
		}
	}
}

func TestWhatIsNoJudgementOfTheFileStaysItself(t *testing.T) {
	b := newBench(t)
	for _, e := range []*errs.Error{
		errs.New(errs.Unavailable, "executord is stopping").WithClass("stopping").WithNext("later"),
		errs.New(errs.Unavailable, "executord is in quarantine").WithClass("quarantine"),
		errs.New(errs.Unavailable, "the store is damaged").WithClass("store_integrity"),
		errs.New(errs.Expired, "executord is busy").WithClass("busy"),
		errs.New(errs.UnknownOutcome, "it may have been stored").WithClass("store_write"),
		errs.New(errs.Conflict, "the change cannot begin now").WithClass("not_begun").WithNext("mcpctl write resume"),
		errs.New(errs.Exhausted, "too many files were refused").WithClass("denials"),
	} {
		for name, submit := range b.submissions(soon(t)) {
			b.err = e
			if diff := cmp.Diff(*e, coded(submit())); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	b.err = errors.New("outside text")
	for name, submit := range b.submissions(soon(t)) {
		if e := coded(submit()); e.Code != errs.Internal || strings.Contains(e.Msg+e.Next, "outside") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestAnMCPClientLearnsOneWordOfSixAndNeverAnError(t *testing.T) {
	b := newBench(t)
	ctx := soon(t)
	ask := func(alias, text string, uid uint32) executorpb.WriteState {
		t.Helper()
		r, err := b.Front.RequestAliasDescription(ctx, &executorpb.RequestAliasDescriptionRequest{AliasName: alias, Description: text, CallerUid: uid})
		if err != nil {
			t.Fatal(err)
		}
		return r.GetState()
	}
	for word, want := range map[string]executorpb.WriteState{
		"requested": executorpb.WriteState_WRITE_STATE_REQUESTED, "awaiting_confirmation": executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION,
		"verified": executorpb.WriteState_WRITE_STATE_VERIFIED, "reconciliation_required": executorpb.WriteState_WRITE_STATE_RECONCILIATION_REQUIRED,
		"refused": executorpb.WriteState_WRITE_STATE_REFUSED, "reverted": executorpb.WriteState_WRITE_STATE_REVERTED,
		"": executorpb.WriteState_WRITE_STATE_REFUSED, "quarantine": executorpb.WriteState_WRITE_STATE_REFUSED,
	} {
		b.says = word
		if got := ask("web", "text", 1001); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
	if b.last() != "ask mcp:1001 web text" {
		t.Errorf("asked %q", b.last())
	}
	b.says = "requested"
	n := len(b.calls)
	for _, row := range []struct {
		alias, text string
		uid         uint32
	}{
		{strings.Repeat("a", 65), "x", 1001},
		{"a", strings.Repeat("x", 4097), 1001},
		{"a", "x", math.MaxUint32},
		{"a", "x", 65534},
	} {
		if got := ask(row.alias, row.text, row.uid); got != executorpb.WriteState_WRITE_STATE_REFUSED {
			t.Errorf("%d, %d, %d: %v", len(row.alias), len(row.text), row.uid, got)
		}
	}
	if len(b.calls) != n {
		t.Errorf("the ceremony looked at what is too large or nobody's: %v", b.calls[n:])
	}
}

func TestTheWriteStatusNamesTheOneChangeOrNothing(t *testing.T) {
	b := newBench(t)
	got, err := b.Front.GetWriteStatus(soon(t), &executorpb.GetWriteStatusRequest{})
	if err != nil || !got.GetConstructible() || got.GetUnit() != change.Operation || got.GetEndpointSymbol() != change.EndpointSymbol || got.GetHttpMethod() != "PATCH" || got.GetSchema() != 1 {
		t.Errorf("%v, %v", got, err)
	}
	b.status = ceremony.Status{Quarantine: "anchor_mismatch", Why: "quarantine"}
	got, err = b.Front.GetWriteStatus(soon(t), &executorpb.GetWriteStatusRequest{})
	if err != nil || got.GetConstructible() || got.GetUnit() != "" || got.GetSchema() != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if len(b.calls) > 0 {
		t.Errorf("it did something: %v", b.calls)
	}
}

func TestTheRelayTakesThreeKindsWhenItIsOnAndTellsNothing(t *testing.T) {
	b := newBench(t)
	ctx := soon(t)
	send := func(kind executorpb.SubmitArtifactRequest_Kind, n int) error {
		r, err := b.Front.SubmitArtifact(ctx, &executorpb.SubmitArtifactRequest{Kind: kind, Artifact: bytes.Repeat([]byte("x"), n)})
		if err == nil && !r.GetReceived() {
			t.Error("taken and not received")
		}
		return err
	}
	for kind, word := range kinds {
		if err := send(kind, 1); err != nil || b.last() != "relay  "+word+" x" {
			t.Errorf("%v: %v, %q", kind, err, b.last())
		}
	}
	n := len(b.calls)
	for _, row := range []struct {
		kind executorpb.SubmitArtifactRequest_Kind
		n    int
	}{{0, 1}, {4, 1}, {-1, 1}, {1, 0}, {1, 16<<10 + 1}} {
		if e := coded(send(row.kind, row.n)); e.Code != errs.Invalid {
			t.Errorf("%v: %+v", row, e)
		}
	}
	b.s.f.Relay = false
	if e := coded(send(1, 1)); e.Code != errs.Unavailable || e.Class != "relay_off" {
		t.Errorf("off: %+v", e)
	}
	if len(b.calls) != n {
		t.Errorf("the ceremony got %v", b.calls[n:])
	}
}

func TestEveryStepReachesTheCeremonyWithWhoAskedAndWhatWasSent(t *testing.T) {
	b := newBench(t)
	ctx := soon(t)
	b.answer = record.Contract{ContractID: someContract, State: record.Executing, Version: 2, ExpiresAt: time.Unix(1_700_000_000, 0)}
	state := func(s *executorpb.ContractState, err error) error {
		if err == nil && (s.GetContractId() != someContract || s.GetState() != executorpb.State_STATE_EXECUTING || s.GetStateVersion() != 2) {
			t.Errorf("%v", s)
		}
		return err
	}
	file := func(r *executorpb.ArtifactResponse, err error) error {
		if err == nil && string(r.GetArtifact()) != `{"a":1}` {
			t.Errorf("%v", r)
		}
		return err
	}
	for want, call := range map[string]func() error{
		"preview " + theOperator + " " + someRequest: func() error {
			return file(b.Admin.GetPreview(ctx, &executorpb.GetPreviewRequest{RequestId: someRequest}))
		},
		"pending " + theOperator + " " + someContract: func() error {
			return file(b.Admin.GetPending(ctx, &executorpb.GetPendingRequest{ContractId: someContract}))
		},
		"observe " + theOperator + " " + someContract: func() error {
			return file(b.Admin.Observe(ctx, &executorpb.ObserveRequest{ContractId: someContract}))
		},
		"rollback request " + theOperator + " " + someContract: func() error {
			return file(b.Admin.GetRollbackRequest(ctx, &executorpb.GetRollbackRequestRequest{ContractId: someContract}))
		},
		"anchor file " + theOperator + " ": func() error { return file(b.Admin.AnchorFile(ctx, &executorpb.AnchorFileRequest{})) },
		"pins  ":                           func() error { return file(b.Admin.GetPins(ctx, &executorpb.GetPinsRequest{})) },
		"authorize " + theOperator + " F": func() error {
			r, err := b.Admin.SubmitAuthorization(ctx, &executorpb.SubmitAuthorizationRequest{Authorization: []byte("F")})
			if err == nil && (r.GetContractId() != someContract || r.GetExpiresAt() != 1_700_000_000) {
				t.Errorf("%v", r)
			}
			return err
		},
		"confirm " + theOperator + " F": func() error {
			return state(b.Admin.SubmitConfirmation(ctx, &executorpb.SubmitConfirmationRequest{Confirmation: []byte("F")}))
		},
		"resume " + theOperator + " " + someContract: func() error {
			return state(b.Admin.ResumeExecution(ctx, &executorpb.ResumeExecutionRequest{ContractId: someContract}))
		},
		"reconcile " + theOperator + " F": func() error {
			return state(b.Admin.SubmitReconciliation(ctx, &executorpb.SubmitReconciliationRequest{Evidence: []byte("F")}))
		},
		"release " + theOperator + " F": func() error {
			return state(b.Admin.SubmitRelease(ctx, &executorpb.SubmitReleaseRequest{Release: []byte("F")}))
		},
		"rollback " + theOperator + " C+A": func() error {
			return state(b.Admin.SubmitRollback(ctx, &executorpb.SubmitRollbackRequest{Rollback: []byte("C"), RollbackAuthorization: []byte("A")}))
		},
		"cancel request " + theOperator + " " + someRequest: func() error {
			r, err := b.Admin.Cancel(ctx, &executorpb.CancelRequest{What: &executorpb.CancelRequest_RequestId{RequestId: someRequest}})
			if err == nil && (len(r.GetRequestIds()) != 1 || len(r.GetContractIds()) != 0) {
				t.Errorf("%v", r)
			}
			return err
		},
		"cancel contract " + theOperator + " " + someContract: func() error {
			r, err := b.Admin.Cancel(ctx, &executorpb.CancelRequest{What: &executorpb.CancelRequest_ContractId{ContractId: someContract}})
			if err == nil && (len(r.GetContractIds()) != 1) {
				t.Errorf("%v", r)
			}
			return err
		},
		"rotate " + theOperator: func() error {
			r, err := b.Admin.RotateKeys(ctx, &executorpb.RotateKeysRequest{Confirm: true})
			if err == nil && (r.GetEpoch() != 2 || r.GetKeyId() != "k2" || r.GetRows() != 77) {
				t.Errorf("%v", r)
			}
			return err
		},
		"anchor plan ": func() error {
			_, err := b.Admin.AnchorPlan(ctx, &executorpb.AnchorPlanRequest{})
			return err
		},
		"seed " + theOperator + " 0x01500000": func() error {
			r, err := b.Admin.AnchorSeed(ctx, &executorpb.AnchorSeedRequest{Value: 41, Handle: 0x01500000, Confirm: true})
			if err == nil && (r.GetStep() != executorpb.AnchorStep_ANCHOR_STEP_OPERATIONAL || r.GetNext() != "") {
				t.Errorf("%v", r)
			}
			return err
		},
	} {
		b.err = nil
		if err := call(); err != nil || b.last() != want {
			t.Errorf("%q: %v, the ceremony got %q", want, err, b.last())
		}
		// What the ceremony says of an id goes to the operator as it is.
		b.err = errs.New(errs.NotFound, "there is no such thing").WithClass("not_found").WithNext("mcpctl write list")
		if e := coded(call()); e.Class != "not_found" && e.Class != classDenied {
			t.Errorf("%q: %+v", want, e)
		}
	}
}

func TestIDsOfAnotherFormNeverReachTheCeremony(t *testing.T) {
	b := newBench(t)
	ctx := soon(t)
	for _, id := range []string{"", "req-", someRequest + "0", strings.ToUpper(someRequest), "wo" + someContract[2:], someContract[:34], "../" + someRequest, strings.Repeat("x", 500)} {
		for name, call := range map[string]func() error{
			"preview": func() error {
				_, err := b.Admin.GetPreview(ctx, &executorpb.GetPreviewRequest{RequestId: id})
				return err
			},
			"pending": func() error {
				_, err := b.Admin.GetPending(ctx, &executorpb.GetPendingRequest{ContractId: id})
				return err
			},
			"resume": func() error {
				_, err := b.Admin.ResumeExecution(ctx, &executorpb.ResumeExecutionRequest{ContractId: id})
				return err
			},
			"contract": func() error {
				_, err := b.Admin.GetContract(ctx, &executorpb.GetContractRequest{ContractId: id})
				return err
			},
			"cancel": func() error {
				_, err := b.Admin.Cancel(ctx, &executorpb.CancelRequest{What: &executorpb.CancelRequest_ContractId{ContractId: id}})
				return err
			},
			"cancel nothing": func() error {
				_, err := b.Admin.Cancel(ctx, &executorpb.CancelRequest{})
				return err
			},
		} {
			if e := coded(call()); e.Code != errs.Invalid || strings.Contains(e.Msg, "..") {
				t.Errorf("%s %q: %+v", name, id, e)
			}
		}
	}
	if len(b.calls) > 0 {
		t.Errorf("the ceremony got %v", b.calls)
	}
	if _, err := b.Admin.GetContract(ctx, &executorpb.GetContractRequest{ContractId: someContract}); coded(err).Code != errs.NotFound {
		t.Errorf("an id of nobody: %v", err)
	}
}

func TestRequestsThatAreTooLargeOrHoldAnUnknownFieldAreRefused(t *testing.T) {
	b := newBench(t)
	ctx := soon(t)
	huge := bytes.Repeat([]byte("x"), 1<<19)
	for name, err := range map[string]error{
		"file":     second(b.Admin.SubmitConfirmation(ctx, &executorpb.SubmitConfirmationRequest{Confirmation: huge})),
		"rollback": second(b.Admin.SubmitRollback(ctx, &executorpb.SubmitRollbackRequest{Rollback: huge})),
		"id":       second(b.Admin.GetPreview(ctx, &executorpb.GetPreviewRequest{RequestId: string(huge)})),
		"front":    second(b.Front.RequestAliasDescription(ctx, &executorpb.RequestAliasDescriptionRequest{Description: string(huge)})),
		"relay":    second(b.Front.SubmitArtifact(ctx, &executorpb.SubmitArtifactRequest{Kind: 1, Artifact: huge})),
	} {
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	odd := &executorpb.SubmitConfirmationRequest{Confirmation: []byte("F")}
	odd.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	if _, err := b.Admin.SubmitConfirmation(ctx, odd); coded(err).Code != errs.Invalid {
		t.Errorf("an unknown field: %v", err)
	}
	if len(b.calls) > 0 {
		t.Errorf("the ceremony got %v", b.calls)
	}
	// What fits the row is the gates' to judge, one byte over a file's bound included.
	if _, err := b.Admin.SubmitConfirmation(ctx, &executorpb.SubmitConfirmationRequest{Confirmation: huge[:16<<10+1]}); err != nil || len(b.calls) != 1 {
		t.Errorf("%v, %d calls", err, len(b.calls))
	}
}

func second[T any](_ T, err error) error { return err }

func TestStepsOfPeopleNeedAPersonAndTheStepThatHeSaw(t *testing.T) {
	b := newBench(t)
	ctx := soon(t)
	b.step = anchor.Sealed
	for name, err := range map[string]error{
		"provision": second(b.Admin.AnchorProvision(ctx, &executorpb.AnchorProvisionRequest{Handle: 0x01500000, Expected: executorpb.AnchorStep_ANCHOR_STEP_SECRET_SEALED})),
		"seed":      second(b.Admin.AnchorSeed(ctx, &executorpb.AnchorSeedRequest{Value: 41, Handle: 0x01500000})),
		"rotate":    second(b.Admin.RotateKeys(ctx, &executorpb.RotateKeysRequest{})),
	} {
		if e := coded(err); e.Code != errs.Invalid || e.Class != "unconfirmed" {
			t.Errorf("%s: %+v", name, e)
		}
	}
	for name, r := range map[string]*executorpb.AnchorProvisionRequest{
		"no step":      {Handle: 0x01500000, Confirm: true},
		"unknown step": {Handle: 0x01500000, Confirm: true, Expected: 99},
		"below":        {Handle: 0x00ffffff, Confirm: true, Expected: 3},
		"TCG's":        {Handle: 0x01c00002, Confirm: true, Expected: 3},
	} {
		if _, err := b.Admin.AnchorProvision(ctx, r); coded(err).Code != errs.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, r := range []*executorpb.AnchorSeedRequest{{Value: math.MaxUint64, Handle: 0x01500000, Confirm: true}, {Value: 1, Handle: 1, Confirm: true}} {
		if _, err := b.Admin.AnchorSeed(ctx, r); coded(err).Code != errs.Invalid {
			t.Errorf("%v: %v", r, err)
		}
	}
	if len(b.calls) > 0 {
		t.Errorf("the ceremony got %v", b.calls)
	}
	if _, err := b.Admin.AnchorProvision(ctx, &executorpb.AnchorProvisionRequest{Handle: 0x01500000, Confirm: true, Expected: executorpb.AnchorStep_ANCHOR_STEP_DEFINED}); coded(err).Code != errs.Conflict {
		t.Errorf("another step: %v", err)
	}
	r, err := b.Admin.AnchorProvision(ctx, &executorpb.AnchorProvisionRequest{Handle: 0x01500000, Confirm: true, Expected: executorpb.AnchorStep_ANCHOR_STEP_SECRET_SEALED})
	if err != nil || r.GetStep() != executorpb.AnchorStep_ANCHOR_STEP_DEFINED || !strings.Contains(r.GetNext(), "mcpctl anchor provision --handle 0x01500000") || b.last() != "provision "+theOperator+" 0x01500000 S2" {
		t.Errorf("%v, %v, %q", r, err, b.last())
	}
}

func TestACounterThatDisagreesIsShownWithBothValues(t *testing.T) {
	b := newBench(t)
	forty2 := int64(42)
	b.found.Evidence.Witness, b.found.Witness, b.found.Evidence.Anchor = &forty2, &forty2, change.EvidenceMismatch
	b.step, b.err = anchor.Nothing, anchor.Conflict(41, 42)
	r, err := b.Admin.AnchorStatus(soon(t), &executorpb.AnchorStatusRequest{})
	if err != nil || r.GetAnchor().GetStoreValue() != 41 || r.GetAnchor().GetWitnessValue() != 42 || r.GetStep() != executorpb.AnchorStep_ANCHOR_STEP_RECORDED || !strings.Contains(r.GetNext(), "mcpctl anchor rebaseline") {
		t.Errorf("%v, %v", r, err)
	}
	// What is no disagreement of values stays an error.
	b.found.Evidence.Anchor = change.EvidenceUnreachable
	if _, err := b.Admin.AnchorStatus(soon(t), &executorpb.AnchorStatusRequest{}); coded(err).Class != anchor.ClassConflict {
		t.Errorf("%v", err)
	}
}

func TestThePlanOfTheAnchorIsBoundedAndCleaned(t *testing.T) {
	b := newBench(t)
	b.step = anchor.Sealed
	b.plan = anchor.Plan{Facts: anchor.Facts{Index: 0x01500000, Manufacturer: "x\x1b[2J", Assurance: anchor.Software}, Taken: make([]uint32, 4000), Free: make([]uint32, 40)}
	r, err := b.Admin.AnchorPlan(soon(t), &executorpb.AnchorPlanRequest{})
	if err != nil || len(r.GetTaken()) != 256 || len(r.GetFree()) != 8 || r.GetManufacturer() != "" || r.GetAssurance() != "software" || r.GetNext() == "" {
		t.Errorf("%v, %v", r, err)
	}
	b.plan.OwnerSet, b.plan.Facts.Manufacturer = true, "IFX"
	if r, err = b.Admin.AnchorPlan(soon(t), &executorpb.AnchorPlanRequest{}); err != nil || r.GetManufacturer() != "IFX" || !strings.Contains(r.GetNext(), "owner hierarchy") {
		t.Errorf("%v, %v", r, err)
	}
}

// receive reads a stream to its end.
func receive(s grpc.ServerStreamingClient[executorpb.FileChunk], err error) (file []byte, last *executorpb.FileChunk, chunks int, _ error) {
	if err != nil {
		return nil, nil, 0, err
	}
	for {
		c, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return file, last, chunks, nil
		}
		if err != nil {
			return file, last, chunks, err
		}
		if chunks++; c.GetLast() {
			last = c
		}
		file = append(file, c.GetData()...)
	}
}

func TestFilesComeInChunksAndOnlyAWholeOneHasAnEnd(t *testing.T) {
	b := newBench(t)
	for _, n := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3*chunkBytes + 17} {
		b.exported = bytes.Repeat([]byte("r"), n)
		got, last, chunks, err := receive(b.Admin.AuditExport(soon(t), &executorpb.AuditExportRequest{Since: 1}))
		sum := sha256.Sum256(b.exported)
		if err != nil || !bytes.Equal(got, b.exported) || last.GetTotal() != uint64(n) || !bytes.Equal(last.GetSha256(), sum[:]) || chunks != n/chunkBytes+1 {
			t.Errorf("%d bytes: %d in %d chunks, %v, %v", n, len(got), chunks, last.GetTotal(), err)
		}
	}
	b.cut = errs.New(errs.Unavailable, "the audit cannot be read").WithClass("store_read")
	if _, last, _, err := receive(b.Admin.AuditExport(soon(t), &executorpb.AuditExportRequest{})); last != nil || coded(err).Class != "store_read" {
		t.Errorf("a cut file: %v, %v", last, err)
	}
	if _, _, _, err := receive(b.Admin.AuditExport(soon(t), &executorpb.AuditExportRequest{Since: math.MaxUint64})); coded(err).Code != errs.Invalid {
		t.Errorf("row 2^64-1: %v", err)
	}
	got, last, _, err := receive(b.Admin.Backup(soon(t), &executorpb.BackupRequest{}))
	if err != nil || last == nil || len(got) < 4096 {
		t.Errorf("backup: %d bytes, %v", len(got), err)
	}
}

func TestALongFileIsMadeOnceAtATimeAndACallerWhoLeavesEndsIt(t *testing.T) {
	b := newBench(t)
	b.exported = bytes.Repeat([]byte("r"), 64<<20) // far more than a connection buffers
	ctx, cancel := context.WithCancel(soon(t))
	s, err := b.Admin.AuditExport(ctx, &executorpb.AuditExportRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := receive(b.Admin.AuditExport(soon(t), &executorpb.AuditExportRequest{})); coded(err).Code != errs.Conflict {
		t.Errorf("a second one: %v", err)
	}
	cancel()
	b.exported = []byte("r")
	for {
		_, last, _, err := receive(b.Admin.AuditExport(soon(t), &executorpb.AuditExportRequest{}))
		if err == nil && last.GetTotal() == 1 {
			break
		}
		if coded(err).Code != errs.Conflict {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // until the first one has noticed
	}
}

func TestTheAuditIsShownAndVerifiedAndAFindingIsAnAnswer(t *testing.T) {
	b := newBench(t)
	ctx := soon(t)
	if _, err := b.play.Verified("web", "one"); err != nil {
		t.Fatal(err)
	}
	v, err := b.Admin.AuditVerify(ctx, &executorpb.AuditVerifyRequest{})
	if err != nil || !v.GetSound() || v.GetRows() < 8 || !change.Hex64(v.GetHead()) || v.GetAnchorValue() != uint64(b.play.Witness) {
		t.Errorf("%v, %v", v, err)
	}
	for seq := range v.GetRows() {
		r, err := b.Admin.AuditShow(ctx, &executorpb.AuditShowRequest{Seq: seq + 1})
		if err != nil || len(r.GetMac()) != 32 || len(r.GetRecord()) > 16<<10 || !bytes.HasPrefix(r.GetRecord(), []byte("{")) {
			t.Errorf("row %d: %v, %v", seq+1, r, err)
		}
	}
	for seq, code := range map[uint64]errs.Code{0: errs.Invalid, v.GetRows() + 1: errs.NotFound, math.MaxInt64: errs.NotFound, math.MaxUint64: errs.Invalid} {
		if _, err := b.Admin.AuditShow(ctx, &executorpb.AuditShowRequest{Seq: seq}); coded(err).Code != code {
			t.Errorf("row %d: %v", seq, err)
		}
	}
	if _, err := b.Admin.AuditVerify(ctx, &executorpb.AuditVerifyRequest{PinnedHead: "zz"}); coded(err).Code != errs.Invalid {
		t.Errorf("a head of another form: %v", err)
	}
	b.report = store.Report{Audit: 4, Finding: &store.Finding{Class: "chain_row", Seq: 3}}
	if v, err = b.Admin.AuditVerify(ctx, &executorpb.AuditVerifyRequest{}); err != nil || v.GetSound() || v.GetProblem() != "chain_row" || v.GetFirstBadSeq() != 3 {
		t.Errorf("%v, %v", v, err)
	}
	b.err = errs.New(errs.Unavailable, "the store cannot be read").WithClass("store_read")
	if _, err = b.Admin.AuditVerify(ctx, &executorpb.AuditVerifyRequest{}); coded(err).Class != "store_read" {
		t.Errorf("could not look: %v", err)
	}
}

func TestDiscoverAndPlanShowBothAxesAndWhatBindsAnApproval(t *testing.T) {
	b := newBench(t)
	ctx := soon(t)
	d, err := b.Admin.Discover(ctx, &executorpb.DiscoverRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if p := d.GetPosture(); p.GetCapabilityPosture() != "write_protected" || !p.GetConstructible() || p.GetWriteCapabilitiesActive() != 1 || p.GetWriteCapabilitiesTotal() != 1 || p.GetEndpointsAllowed() != 1 {
		t.Errorf("posture %v", p)
	}
	if a := d.GetAnchor(); a.GetBackend() != "tpm-local" || a.GetEvidence() != "provisioned_verified" || a.GetStoreValue() != 41 || a.GetWitnessValue() != 41 || !a.GetComplete() || a.GetNvIndex() != 0x01500000 {
		t.Errorf("anchor %v", a)
	}
	x := b.found.Executor
	if i := d.GetIdentity(); i.GetStoreId() != x.StoreID || i.GetPolicyDigest() != x.PolicyDigest || i.GetApplianceAccount() != "pfsense-mcp-write" || i.GetAttestationKeyId() == "" {
		t.Errorf("identity %v", i)
	}
	p, err := b.Admin.Plan(ctx, &executorpb.PlanRequest{CapabilityPosture: "write_protected", AnchorAssurance: "hardware_witness"})
	if err != nil || !change.Hex64(p.GetDigest()) || p.GetOverallStatus() != "already_satisfied" || len(p.GetSteps()) == 0 {
		t.Errorf("plan %v, %v", p, err)
	}
	for _, s := range p.GetSteps() {
		if s.GetStepId() == change.StepID && (!s.GetBlocked() || s.GetAuthorizationRequired() == "") {
			t.Errorf("the one step of a change is not blocked: %v", s)
		}
	}
	if _, err := b.Admin.Plan(ctx, &executorpb.PlanRequest{CapabilityPosture: "unknown", AnchorAssurance: "none"}); coded(err).Code != errs.Invalid {
		t.Errorf("an unknown target: %v", err)
	}
	b.found.Status = ceremony.Status{Quarantine: "anchor_mismatch", Why: "quarantine"}
	b.found.Evidence.Witness, b.found.Witness = nil, nil
	if d, err = b.Admin.Discover(ctx, &executorpb.DiscoverRequest{}); err != nil || d.GetPosture().GetQuarantine() != "anchor_mismatch" || d.GetPosture().GetWhy() != "quarantine" || d.GetPosture().GetWriteCapabilitiesActive() != 0 || d.GetAnchor().WitnessValue != nil {
		t.Errorf("%v, %v", d, err)
	}
}

// Admin and Front of a configured executord have every method of their own: none is
// answered by the generated stand-in.
func TestNoMethodIsLeftToTheGeneratedStandIn(t *testing.T) {
	b := newBench(t)
	for _, srv := range []any{b.s.Front(), b.s.Admin()} {
		typ := reflect.TypeOf(srv)
		for i := range typ.NumField() {
			if f := typ.Field(i); f.Anonymous && !strings.HasPrefix(f.Type.Name(), "Unsafe") {
				t.Errorf("%v embeds %v", typ, f.Type)
			}
		}
	}
}

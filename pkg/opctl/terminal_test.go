package opctl

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/admintest"
	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/terminal"
)

// person is a terminal with a person at it.
type person struct {
	*terminal.Terminal
	t testing.TB
}

func newTerminal(t testing.TB) *person {
	t.Helper()
	return &person{terminal.New(t), t}
}

// asks waits until the question stands on the screen.
func (x *person) asks(question string) {
	x.t.Helper()
	limit := time.After(2 * time.Minute)
	for !strings.Contains(x.Text(), question) {
		select {
		case <-x.More:
		case <-limit:
			x.t.Fatalf("the screen never showed %q:\n%s", question, x.Text())
		}
	}
}

// all returns all that was shown.
func (x *person) all() string {
	x.t.Helper()
	text, err := x.Whole()
	if err != nil {
		x.t.Fatalf("%v:\n%s", err, text)
	}
	return text
}

func (x *person) types(s string) {
	x.t.Helper()
	if err := x.Type(s); err != nil {
		x.t.Fatal(err)
	}
}

const question = "anything else to stop: "

// sitting runs a command line at a terminal, with an answer to its question, and
// returns the exit code, what was shown on the terminal and the command's output.
func (h *shell) sitting(answer string, args ...string) (code int, shown, out string) {
	h.t.Helper()
	x := newTerminal(h.t)
	return h.at(x, context.Background(), func() {
		if answer != "" {
			x.asks(question)
			x.types(answer)
		}
	}, args...)
}

func (h *shell) at(x *person, ctx context.Context, person func(), args ...string) (code int, shown, out string) {
	h.t.Helper()
	var o bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, Env{In: x.Slave, Out: &o, Err: x.Slave, Now: clock}, append(args, "--dir", h.admin.Dir))
	}()
	person()
	select {
	case code = <-done:
	case <-time.After(2 * time.Minute):
		h.t.Fatalf("%q does not end:\n%s", args, x.Text())
	}
	return code, x.all(), o.String()
}

func TestReview27AnActAsksAPersonAndTakesTheOneWord(t *testing.T) {
	h := newShell(t)
	h.admin.Answer("Cancel", &executorpb.CancelResponse{RequestIds: []string{at.RequestID}})
	for answer, done := range map[string]bool{
		"yes\n": true, "y\n": false, "Yes\n": false, " yes\n": false, "yes please\n": false, "\n": false, "no\n": false, "\x04": false, strings.Repeat("yes", 40) + "\n": false,
	} {
		before := h.admin.Calls()
		code, shown, out := h.sitting(answer, "write", "cancel", at.RequestID)
		asked := h.admin.Calls() != before
		if asked != done || (code == ExitOK) != done || !strings.Contains(shown, "Cancel "+at.RequestID+"?") {
			t.Errorf("%q: exit %d, asked executord: %v\n%s%s", answer, code, asked, shown, out)
		}
		if !done && !strings.Contains(shown, "nothing was done") {
			t.Errorf("%q: does not say that nothing was done:\n%s", answer, shown)
		}
	}
}

func TestReview27WhatWasTypedBeforeTheQuestionAnswersNothing(t *testing.T) {
	h := newShell(t)
	x := newTerminal(t)
	x.types("yes\n")
	for len(x.Text()) == 0 { // the terminal has it: it echoes
		<-x.More
	}
	code, shown, _ := h.at(x, context.Background(), func() { x.asks(question); x.types("no\n") }, "write", "cancel", at.RequestID)
	if code != ExitFail || h.admin.Calls() != "" {
		t.Errorf("exit %d, executord was asked %q\n%s", code, h.admin.Calls(), shown)
	}
}

func TestAnInterruptAtTheQuestionDoesNothing(t *testing.T) {
	h := newShell(t)
	x := newTerminal(t)
	ctx, cancel := context.WithCancel(context.Background())
	code, shown, _ := h.at(x, ctx, func() { x.asks(question); cancel() }, "write", "cancel", at.RequestID)
	if code != ExitFail || h.admin.Calls() != "" || !strings.Contains(shown, "nothing was done") {
		t.Errorf("exit %d: %s", code, shown)
	}
}

func TestProvisioningTakesOneStepFromTheStateThatWasSeen(t *testing.T) {
	h := newShell(t)
	h.admin.Answer("AnchorPlan", &executorpb.AnchorPlanResponse{Step: executorpb.AnchorStep_ANCHOR_STEP_DEFINED, Free: []uint32{0x01500001}, Manufacturer: "IFX", Assurance: "hardware_witness"})
	h.admin.Answer("AnchorProvision", &executorpb.AnchorStatusResponse{Anchor: anchorAt("configured_unprovisioned", 0, 41), Step: executorpb.AnchorStep_ANCHOR_STEP_VALUE_READ})
	code, shown, out := h.sitting("yes\n", "anchor", "provision", "--handle", "0x01500000")
	if code != ExitOK || !strings.Contains(shown, "step defined; TPM IFX") || !strings.Contains(shown, "cannot be taken back") || !strings.Contains(out, "next: mcpctl anchor seed --value 41 --handle 0x01500000") {
		t.Errorf("exit %d\n%s%s", code, shown, out)
	}
	want := &executorpb.AnchorProvisionRequest{Handle: 0x01500000, Confirm: true, Expected: executorpb.AnchorStep_ANCHOR_STEP_DEFINED}
	if got := h.admin.Last("AnchorProvision"); !proto.Equal(got, want) {
		t.Errorf("asked %v", got)
	}
	if code, shown, _ := h.sitting("no\n", "anchor", "provision", "--handle", "0x01500000"); code != ExitFail || h.admin.Calls() != "AnchorPlan AnchorProvision AnchorPlan" {
		t.Errorf("exit %d, %s\n%s", code, h.admin.Calls(), shown)
	}
	// A handle that nobody offered, and a counter that is there already.
	h.admin.Answer("AnchorPlan", &executorpb.AnchorPlanResponse{Step: executorpb.AnchorStep_ANCHOR_STEP_NOTHING, Free: []uint32{0x01500001}})
	if code, shown, _ := h.sitting("", "anchor", "provision", "--handle", "0x01500000"); code != ExitUsage || !strings.Contains(shown, "not one of the free ones") {
		t.Errorf("exit %d: %s", code, shown)
	}
	h.admin.Answer("AnchorPlan", &executorpb.AnchorPlanResponse{Step: executorpb.AnchorStep_ANCHOR_STEP_OPERATIONAL})
	if code, shown, _ := h.sitting("", "anchor", "provision", "--handle", "0x01500000"); code != ExitFail || !strings.Contains(shown, "already") {
		t.Errorf("exit %d: %s", code, shown)
	}
	// Somebody else was faster.
	h.admin.Answer("AnchorPlan", &executorpb.AnchorPlanResponse{Step: executorpb.AnchorStep_ANCHOR_STEP_DEFINED})
	h.admin.Fail("AnchorProvision", errs.New(errs.Conflict, "the step is another one by now"))
	if code, shown, _ := h.sitting("yes\n", "anchor", "provision", "--handle", "0x01500000"); code != ExitFail || !strings.Contains(shown, "another one by now") {
		t.Errorf("exit %d: %s", code, shown)
	}
}

func TestSeedingTakesTheValueThatThePersonReadAndNoOther(t *testing.T) {
	h := newShell(t)
	h.admin.Answer("AnchorStatus", &executorpb.AnchorStatusResponse{Anchor: anchorAt("configured_unprovisioned", 0, 41), Step: executorpb.AnchorStep_ANCHOR_STEP_VALUE_READ})
	h.admin.Answer("AnchorSeed", &executorpb.AnchorStatusResponse{Anchor: anchorAt("provisioned_verified", 41, 41), Step: executorpb.AnchorStep_ANCHOR_STEP_OPERATIONAL})
	code, shown, out := h.sitting("yes\n", "anchor", "seed", "--value", "41", "--handle", "0x01500000")
	if code != ExitOK || !strings.Contains(shown, "Seed the store with the value 41 of index 0x01500000?") || !strings.Contains(out, "step operational") {
		t.Errorf("exit %d\n%s%s", code, shown, out)
	}
	if got := h.admin.Last("AnchorSeed"); !proto.Equal(got, &executorpb.AnchorSeedRequest{Value: 41, Handle: 0x01500000, Confirm: true}) {
		t.Errorf("asked %v", got)
	}
	for _, line := range []string{"--value 42 --handle 0x01500000", "--value 41 --handle 0x01500001"} {
		if code, shown, _ := h.sitting("", append([]string{"anchor", "seed"}, strings.Fields(line)...)...); code != ExitUsage || !strings.Contains(shown, "not at that index and value") {
			t.Errorf("%s: exit %d: %s", line, code, shown)
		}
	}
}

func TestARebaselineIsHandedInAtATerminal(t *testing.T) {
	h := newShell(t)
	file := at.File(t, at.Rebaseline(), at.KeyR())
	path := h.file("rebaseline.json", file)
	h.admin.Answer("SubmitRebaseline", &executorpb.AnchorStatusResponse{Anchor: anchorAt("provisioned_verified", 43, 43), Step: executorpb.AnchorStep_ANCHOR_STEP_OPERATIONAL})
	code, shown, out := h.sitting("yes\n", "anchor", "rebaseline", path)
	if code != ExitOK || !strings.Contains(shown, "store 41, TPM 43") || !strings.Contains(shown, "restored from a copy") || !strings.Contains(shown, "becomes void") || !strings.Contains(out, "store 43, TPM 43") {
		t.Errorf("exit %d\n%s%s", code, shown, out)
	}
	if got := h.admin.Last("SubmitRebaseline"); !proto.Equal(got, &executorpb.SubmitRebaselineRequest{Rebaseline: file}) {
		t.Error("the bytes were changed")
	}
	h.admin.Fail("SubmitRebaseline", errs.New(errs.Conflict, "write request denied (audit seq 9)").WithClass("write_denied"))
	if code, shown, _ := h.sitting("yes\n", "anchor", "rebaseline", path); code != ExitFail || !strings.Contains(shown, "next: mcpctl audit show 9") {
		t.Errorf("exit %d: %s", code, shown)
	}
	if code, shown, _ := h.sitting("yes\n", "anchor", "rebaseline", h.file("x", []byte("x"))); code != ExitFail || !strings.Contains(shown, "executord will deny it") {
		t.Errorf("exit %d: %s", code, shown)
	}
}

func TestKeysAreRotatedAndTheStoreIsCopiedAtATerminal(t *testing.T) {
	h := newShell(t)
	h.admin.Answer("RotateKeys", &executorpb.RotateKeysResponse{Epoch: 2, KeyId: "k2", Rows: 120})
	code, shown, out := h.sitting("yes\n", "keys", "rotate")
	if code != ExitOK || !strings.Contains(shown, "Replace the store's root key") || !strings.Contains(out, "key k2, epoch 2") || !strings.Contains(out, "next: before executord starts again") {
		t.Errorf("exit %d\n%s%s", code, shown, out)
	}
	if got := h.admin.Last("RotateKeys"); !proto.Equal(got, &executorpb.RotateKeysRequest{Confirm: true}) {
		t.Errorf("asked %v", got)
	}
	store := bytes.Repeat([]byte("store"), 200_000)
	h.admin.Send("Backup", admintest.Parts(store, 200<<10)...)
	code, shown, out = h.sitting("yes\n", "store", "backup", "-o", h.path("copy"))
	if b, err := os.ReadFile(h.path("copy")); code != ExitOK || err != nil || !bytes.Equal(b, store) || !strings.Contains(out, "a restored copy needs a signed rebaseline") {
		t.Errorf("exit %d, %v\n%s%s", code, err, shown, out)
	}
	parts := admintest.Parts(store, 200<<10)
	h.admin.Send("Backup", parts[:len(parts)-1]...)
	if code, shown, _ := h.sitting("yes\n", "store", "backup", "-o", h.path("copy2")); code != ExitUsage || !strings.Contains(shown, "no file was made") {
		t.Errorf("exit %d: %s", code, shown)
	}
	if n, err := os.ReadDir(h.dir); err != nil || len(n) != 1 {
		t.Errorf("left %v", n)
	}
	if code, _, _ := h.sitting("no\n", "keys", "rotate"); code != ExitFail || strings.Count(h.admin.Calls(), "RotateKeys") != 1 {
		t.Errorf("exit %d, %s", code, h.admin.Calls())
	}
}

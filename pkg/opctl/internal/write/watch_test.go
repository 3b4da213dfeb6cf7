package write

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/admintest"
	"pfsensemcp/pkg/opctl/internal/cli"
	executorpb "pfsensemcp/proto/executor/v1"
)

// quick is a wait that tests have the patience for.
func quick() pace {
	return pace{every: 5 * time.Millisecond, beat: 60 * time.Millisecond, grace: 2 * time.Minute, lost: 2 * time.Minute}
}

// screen is what a command writes, readable while it runs.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// run runs a command of the group at a quick pace.
func run(ctx context.Context, a *admintest.Admin, line ...string) (code int, out, errOut *screen) {
	return runAt(ctx, quick(), a, line...)
}

func runAt(ctx context.Context, p pace, a *admintest.Admin, line ...string) (code int, out, errOut *screen) {
	errOut = &screen{}
	code, out = runOn(ctx, errOut, p, a, line...)
	return code, out, errOut
}

// runOn shows what is for people on errOut.
func runOn(ctx context.Context, errOut *screen, p pace, a *admintest.Admin, line ...string) (code int, out *screen) {
	out = &screen{}
	e := cli.Env{Out: out, Err: errOut, Now: func() time.Time { return at.At("09:30:00") }}
	return cli.Run(ctx, e, "mcpctl", []cli.Command{command(p)}, append(append([]string{"write"}, line...), "--dir", a.Dir)), out
}

func stands(s executorpb.State, version uint32) *executorpb.GetContractResponse {
	return &executorpb.GetContractResponse{Contract: &executorpb.Contract{ContractId: at.ContractID, RequestId: at.RequestID, State: s, StateVersion: version, Reason: "verified"}}
}

func moved(s executorpb.State, version uint32) *executorpb.ContractState {
	return &executorpb.ContractState{ContractId: at.ContractID, State: s, StateVersion: version}
}

const (
	prepared  = executorpb.State_STATE_PREPARED
	executing = executorpb.State_STATE_EXECUTING
	verifiedS = executorpb.State_STATE_VERIFIED
	failed    = executorpb.State_STATE_FAILED
	unclear   = executorpb.State_STATE_RECONCILIATION
	undoing   = executorpb.State_STATE_ROLLING_BACK
	undone    = executorpb.State_STATE_ROLLED_BACK
	undoFail  = executorpb.State_STATE_ROLLBACK_FAILED
	expired   = executorpb.State_STATE_EXPIRED
)

func put(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func confirmation(t *testing.T) string {
	return put(t, "c.json", at.File(t, at.Confirmation(t), at.KeyC()))
}

// halves are the two files of a rollback as a command line.
func halves(t *testing.T) []string {
	nonce := strings.Repeat("9", 32)
	return []string{
		"rollback", "--yes", "--confirmation", put(t, "1", at.File(t, at.Rollback(t, canon.RoleRollback, at.ConfirmationID, nonce), at.KeyC())),
		"--authorization", put(t, "2", at.File(t, at.Rollback(t, canon.RoleRollbackAuthorization, at.AuthorizationID, nonce), at.KeyA())),
	}
}

func TestAConfirmationIsFollowedUntilItsOutcomeIsKnown(t *testing.T) {
	for _, c := range []struct {
		name string
		seen []proto.Message
		code int
		says string
	}{
		{"verified", []proto.Message{stands(prepared, 1), stands(executing, 2), stands(executing, 2), stands(verifiedS, 3)}, cli.ExitOK, "verified, version 3"},
		{"failed", []proto.Message{stands(executing, 2), stands(failed, 3)}, cli.ExitFail, "failed, version 3"},
		{"not clear", []proto.Message{stands(executing, 2), stands(unclear, 3)}, cli.ExitFail, "reconciliation, version 3"},
		{"expired", []proto.Message{stands(prepared, 1), stands(expired, 2)}, cli.ExitFail, "expired, version 2"},
	} {
		a := admintest.New(t)
		a.Answer("SubmitConfirmation", moved(executing, 2))
		if c.name == "expired" {
			a.Answer("SubmitConfirmation", moved(prepared, 1))
		}
		a.Answer("GetContract", c.seen...)
		code, out, errOut := run(t.Context(), a, "confirm", "--yes", confirmation(t))
		if code != c.code || !strings.Contains(out.text(), at.ContractID+"  "+c.says) {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, out.text(), errOut.text())
		}
		if strings.Count(a.Calls(), "SubmitConfirmation") != 1 || strings.Count(a.Calls(), "GetContract") != len(c.seen) {
			t.Errorf("%s: %s", c.name, a.Calls())
		}
		if c.name == "verified" && !strings.Contains(errOut.text(), at.ContractID+"  executing, version 2\n") {
			t.Errorf("no progress:\n%s", errOut.text())
		}
	}
}

func TestARollbackIsNotTakenForDoneBecauseTheChangeIsVerified(t *testing.T) {
	for _, c := range []struct {
		name     string
		answered *executorpb.ContractState
		seen     []proto.Message
		code     int
		says     string
	}{
		{"undone", moved(undoing, 4), []proto.Message{stands(verifiedS, 3), stands(undoing, 4), stands(undone, 5)}, cli.ExitOK, "rolled_back, version 5"},
		{"taken and not begun yet", moved(verifiedS, 3), []proto.Message{stands(verifiedS, 3), stands(undoing, 4), stands(undone, 5)}, cli.ExitOK, "rolled_back"},
		{"not undone", moved(undoing, 4), []proto.Message{stands(undoFail, 5)}, cli.ExitFail, "rollback_failed"},
		{"an old answer", moved(undoing, 4), []proto.Message{stands(failed, 3), stands(undone, 5)}, cli.ExitOK, "rolled_back"},
	} {
		a := admintest.New(t)
		a.Answer("SubmitRollback", c.answered)
		a.Answer("GetContract", c.seen...)
		if code, out, errOut := run(t.Context(), a, halves(t)...); code != c.code || !strings.Contains(out.text(), c.says) {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, out.text(), errOut.text())
		}
	}
}

func TestAWaitEndsInJSONWithTheProgressApart(t *testing.T) {
	a := admintest.New(t)
	a.Answer("ResumeExecution", moved(executing, 2))
	a.Answer("GetContract", stands(executing, 2), stands(verifiedS, 3))
	code, out, _ := run(t.Context(), a, "resume", at.ContractID, "--yes", "--json")
	if code != cli.ExitOK || !strings.HasPrefix(out.text(), `{"contract_id":"`+at.ContractID) || strings.Count(out.text(), "\n") != 1 || !strings.Contains(out.text(), `"state":"verified"`) {
		t.Errorf("exit %d: %s", code, out.text())
	}
}

func TestAnInterruptedWaitLeavesTheExchangeAloneAndSaysHowToLookAgain(t *testing.T) {
	a := admintest.New(t)
	a.Answer("SubmitConfirmation", moved(executing, 2))
	ctx, cancel := context.WithCancel(t.Context())
	errOut := &screen{}
	a.On("GetContract", func(context.Context, proto.Message) (proto.Message, error) {
		if strings.Contains(errOut.text(), "still executing") {
			cancel()
		}
		return stands(executing, 2), nil
	})
	code, out := runOn(ctx, errOut, quick(), a, "confirm", "--yes", confirmation(t))
	if code != cli.ExitFail || out.text() != "" || !strings.Contains(errOut.text(), "goes on by itself") || !strings.HasSuffix(errOut.text(), "next: mcpctl write show "+at.ContractID+"\n") {
		t.Errorf("exit %d\n%s%s", code, out.text(), errOut.text())
	}
	if strings.Contains(a.Calls(), "Cancel") {
		t.Errorf("%s\n%s", a.Calls(), errOut.text())
	}
}

func TestAnInterruptBeforeTheAnswerSaysThatItMayHaveBeenTaken(t *testing.T) {
	a := admintest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	a.On("SubmitConfirmation", func(ctx context.Context, _ proto.Message) (proto.Message, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	code, _, errOut := run(ctx, a, "confirm", "--yes", confirmation(t))
	if code != cli.ExitFail || !strings.Contains(errOut.text(), "may have taken it all the same") || !strings.HasSuffix(errOut.text(), "next: mcpctl write show "+at.ContractID+"\n") {
		t.Errorf("exit %d\n%s", code, errOut.text())
	}
	if strings.Count(a.Calls(), "SubmitConfirmation") != 1 {
		t.Errorf("handed in again: %s", a.Calls())
	}
}

func TestAConfirmedContractThatDoesNotBeginIsSaidToWaitForResume(t *testing.T) {
	a := admintest.New(t)
	a.Answer("SubmitConfirmation", moved(prepared, 1))
	a.Answer("GetContract", stands(prepared, 1))
	p := quick()
	p.grace = 50 * time.Millisecond
	code, _, errOut := runAt(t.Context(), p, a, "confirm", "--yes", confirmation(t))
	if code != cli.ExitFail || !strings.Contains(errOut.text(), "has not begun") || !strings.HasSuffix(errOut.text(), "next: mcpctl write resume "+at.ContractID+"\n") {
		t.Errorf("exit %d\n%s", code, errOut.text())
	}
}

func TestAWaitOutlastsAnExecutordThatStartsAnewAndEndsWhenItStaysAway(t *testing.T) {
	a := admintest.New(t)
	a.Answer("SubmitConfirmation", moved(executing, 2))
	n := 0
	a.On("GetContract", func(context.Context, proto.Message) (proto.Message, error) {
		if n++; n < 5 {
			return nil, errs.New(errs.Unavailable, "executord is starting")
		}
		return stands(verifiedS, 3), nil
	})
	if code, out, errOut := run(t.Context(), a, "confirm", "--yes", confirmation(t)); code != cli.ExitOK {
		t.Errorf("exit %d\n%s%s", code, out.text(), errOut.text())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := &screen{}
	a.On("GetContract", func(context.Context, proto.Message) (proto.Message, error) {
		if strings.Contains(told.text(), "executord does not answer; asking again") {
			cancel()
		}
		return nil, errs.New(errs.Unavailable, "executord is starting")
	})
	if code, _ := runOn(ctx, told, quick(), a, "confirm", "--yes", confirmation(t)); code != cli.ExitFail || !strings.Contains(told.text(), "goes on by itself") {
		t.Errorf("exit %d\n%s", code, told.text())
	}
	a.Fail("GetContract", errs.New(errs.Unavailable, "executord is starting"))
	p := quick()
	p.lost = 50 * time.Millisecond
	code, _, errOut := runAt(t.Context(), p, a, "confirm", "--yes", confirmation(t))
	if code != cli.ExitFail || !strings.Contains(errOut.text(), "what it was sending may still arrive") || !strings.Contains(errOut.text(), "mcpctl write show "+at.ContractID) {
		t.Errorf("exit %d\n%s", code, errOut.text())
	}
	a.Fail("GetContract", errs.New(errs.NotFound, "there is no such contract"))
	if code, _, errOut := run(t.Context(), a, "confirm", "--yes", confirmation(t)); code != cli.ExitFail || !strings.Contains(errOut.text(), "no such contract") {
		t.Errorf("exit %d\n%s", code, errOut.text())
	}
}

func TestAnAnswerAboutAnotherContractIsRefused(t *testing.T) {
	a := admintest.New(t)
	a.Answer("SubmitConfirmation", moved(executing, 2))
	other := stands(verifiedS, 3)
	other.Contract.ContractId = "wc-" + strings.Repeat("0", 32)
	a.Answer("GetContract", other)
	if code, _, errOut := run(t.Context(), a, "confirm", "--yes", confirmation(t)); code != cli.ExitUsage || !strings.Contains(errOut.text(), "another contract") {
		t.Errorf("exit %d\n%s", code, errOut.text())
	}
	a.Answer("SubmitConfirmation", &executorpb.ContractState{ContractId: "\x1b[2J", State: executing})
	if code, _, errOut := run(t.Context(), a, "confirm", "--yes", confirmation(t)); code != cli.ExitUsage || strings.Contains(errOut.text(), "\x1b") {
		t.Errorf("exit %d\n%s", code, errOut.text())
	}
}

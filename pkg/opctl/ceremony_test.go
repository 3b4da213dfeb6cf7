package opctl

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/admintest"
	executorpb "pfsensemcp/proto/executor/v1"
)

// clock is when the tests play.
func clock() time.Time { return at.At("09:30:00") }

// shell is a host with a pretend executord, and an operator at a shell without a
// terminal.
type shell struct {
	t     testing.TB
	admin *admintest.Admin
	dir   string
}

func newShell(t testing.TB) *shell {
	t.Helper()
	return &shell{t, admintest.New(t), t.TempDir()}
}

// run runs a command line against the pretend executord.
func (h *shell) run(args ...string) (code int, out, errOut string) {
	h.t.Helper()
	var o, e bytes.Buffer
	code = Run(context.Background(), Env{Out: &o, Err: &e, Now: clock}, append(args, "--dir", h.admin.Dir))
	return code, o.String(), e.String()
}

// path names a file of the operator's.
func (h *shell) path(name string) string { return filepath.Join(h.dir, name) }

// file writes a file of the operator's.
func (h *shell) file(name string, b []byte) string {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), b, 0o600); err != nil {
		h.t.Fatal(err)
	}
	return h.path(name)
}

// want runs a command line and holds it to an exit code and to texts of its output.
func (h *shell) want(code int, texts []string, args ...string) (out string) {
	h.t.Helper()
	got, out, errOut := h.run(args...)
	if got != code {
		h.t.Errorf("%q exits with %d, want %d\n%s%s", args, got, code, out, errOut)
	}
	for _, text := range texts {
		if !strings.Contains(out+errOut, text) {
			h.t.Errorf("%q does not say %q:\n%s%s", args, text, out, errOut)
		}
	}
	return out
}

// stands says what the pretend executord shows of the example's contract.
func stands(s executorpb.State, version uint32) *executorpb.GetContractResponse {
	return &executorpb.GetContractResponse{Contract: &executorpb.Contract{
		ContractId: at.ContractID, OperationId: at.OperationID, RequestId: at.RequestID, State: s, StateVersion: version,
		CreatedAt: at.At("09:28:10").Unix(), ExpiresAt: at.At("09:41:53").Unix(), ConfirmedAt: at.At("09:29:50").Unix(), Next: "as executord says",
	}}
}

// signed are the files that come back from the owners.
func (h *shell) signed() (authorization, confirmation, evidence, first, second string) {
	nonce := strings.Repeat("9", 32)
	return h.file("authorization.json", at.File(h.t, at.Authorization(h.t, at.Intent(), at.Plan()), at.KeyA())),
		h.file("confirmation.json", at.File(h.t, at.Confirmation(h.t), at.KeyC())),
		h.file("evidence.json", at.File(h.t, at.Reconciliation(h.t, strings.Repeat("8", 64)), at.KeyR())),
		h.file("first.json", at.File(h.t, at.Rollback(h.t, canon.RoleRollback, at.ConfirmationID, nonce), at.KeyC())),
		h.file("second.json", at.File(h.t, at.Rollback(h.t, canon.RoleRollbackAuthorization, at.AuthorizationID, nonce), at.KeyA()))
}

func TestAGroupWithoutACommandOrWithAWrongOneSaysWhatThereIs(t *testing.T) {
	for _, c := range commands() {
		if c.Sub != nil {
			if code, _, errOut := run(t, c.Name); code != ExitUsage || !strings.Contains(errOut, "usage: mcpctl "+c.Name) {
				t.Errorf("%s alone: exit %d\n%s", c.Name, code, errOut)
			}
			if code, _, errOut := run(t, c.Name, "nope"); code != ExitUsage || !strings.Contains(errOut, "mcpctl "+c.Name+" --help") {
				t.Errorf("%s nope: exit %d\n%s", c.Name, code, errOut)
			}
		}
	}
}

func TestAWrongCommandLineOfTheWritePathAsksExecutordNothing(t *testing.T) {
	h := newShell(t)
	for _, line := range []string{
		"write list extra", "write list --limit 0", "write list --limit 501", "write list --uid -2", "write show", "write show req-1", "write show wc-xyz",
		"write show " + strings.ToUpper(at.ContractID), "write preview " + at.RequestID, "write preview " + at.ContractID + " -o x", "write preview -o x",
		"write authorize", "write authorize a b", "write pending " + at.RequestID + " -o x", "write confirm", "write resume x --yes", "write cancel --yes",
		"write cancel --uid 7 --yes", "write cancel --all-unpreviewed --yes", "write cancel --uid 7 --all-unpreviewed x --yes", "write cancel nope --yes",
		"write observe", "write reconcile", "write rollback --confirmation x", "write rollback a b", "write release", "write resume " + at.ContractID + " --nope",
		"audit show", "audit show 0", "audit show -1", "audit show x", "audit show 99999999999999999999", "audit verify --pinned-head ABC", "audit export",
		"anchor provision", "anchor provision --handle 1", "anchor provision --handle 0x01c00000", "anchor seed --handle 0x01500000", "anchor seed --value 1",
		"anchor rebaseline", "discover x", "plan", "plan --capability-posture write_protected --anchor-assurance unknown", "keys rotate x", "keys pins", "store backup",
	} {
		if code, out, errOut := h.run(strings.Fields(line)...); code != ExitUsage || !strings.Contains(errOut, "usage: mcpctl ") {
			t.Errorf("%s: exit %d\n%s%s", line, code, out, errOut)
		}
	}
	if calls := h.admin.Calls(); calls != "" {
		t.Errorf("executord was asked: %s", calls)
	}
}

func TestTheFilesOfExecutordAreWrittenAsTheyAreAndShown(t *testing.T) {
	h := newShell(t)
	in, plan := at.Intent(), at.Plan()
	in.NewDescription = "DMZ wеb ß" // a Cyrillic letter in a Latin word
	plan.Executor.StoreID = "lab-write-store-1"
	pre := at.Preview()
	pre.Intent, pre.Plan, pre.TestBuild = in, plan, true
	undo := at.RollbackRequest(in, plan)
	cases := []struct {
		method, kind, id string
		file             []byte
		shows            []string
	}{
		{"GetPreview", "preview", at.RequestID, at.File(t, pre, at.KeyX()), []string{
			"by uid 1001, says mcpd", `"web_servers"`, `text now    "Old text"`, `text then   "DMZ wеb ß"`, `"DMZ w\u{435}b \u{df}"`, `Cyrillic: \u{435}`, `Latin: \u{df}`,
			"WARNING: one word mixes scripts: Cyrillic, Latin", "LABORATORY", "TEST BUILD", "mcpsign sign-authorization", "mcpctl write authorize",
		}},
		{"GetPending", "pending", at.ContractID, at.File(t, at.Pending(t, in, plan), at.KeyX()), []string{
			`w\u{435}b`, "WARNING", "LABORATORY", "by owner-authz-1", "mcpsign sign-confirmation", "mcpctl write confirm", "expires     2026-03-14 09:41:53Z (in 11m53s)",
		}},
		{"Observe", "observation", at.ContractID, at.File(t, at.Observation(t), at.KeyX()), []string{"would leave", "1770 s", "mcpsign sign-reconciliation", "-pending FILE", "mcpctl write pending", "mcpctl write reconcile"}},
		{"GetRollbackRequest", "rollback-request", at.ContractID, at.File(t, undo, at.KeyX()), []string{
			`text then   "Old text"`, `text now    "DMZ wеb ß"`, "mcpsign sign-rollback", "mcpctl write rollback --confirmation",
		}},
		{"AnchorFile", "", "", at.File(t, at.AnchorStatus(), at.KeyX()), []string{"store 41, TPM 43", "anchor_mismatch", "mcpsign sign-rebaseline", "mcpctl anchor rebaseline"}},
	}
	for _, c := range cases {
		h.admin.Answer(c.method, &executorpb.ArtifactResponse{Artifact: c.file})
		args := []string{"anchor", "status"}
		if c.kind != "" {
			name := c.kind
			if name == "observation" {
				name = "observe"
			}
			args = []string{"write", name, c.id}
		}
		if c.kind == "preview" {
			args = append(args, "--yes")
		}
		path := h.path(c.method + ".json")
		h.want(ExitOK, append(c.shows, "carry "+path, "next: "), append(args, "-o", path)...)
		b, err := os.ReadFile(path)
		info, serr := os.Stat(path)
		if err != nil || serr != nil || !bytes.Equal(b, c.file) || info.Mode() != 0o600 {
			t.Errorf("%s: the file is not what executord made, or has mode %v: %v", c.method, info.Mode(), err)
		}
		// The same name again: executord is not even asked.
		before := h.admin.Calls()
		h.want(ExitUsage, []string{"nothing is ever overwritten"}, append(args, "-o", path)...)
		if h.admin.Calls() != before {
			t.Errorf("%s: executord was asked although the name is taken", c.method)
		}
		out := h.want(ExitOK, nil, append(args, "-o", path+"2", "--json")...)
		var got map[string]any
		if err := json.Unmarshal([]byte(out), &got); err != nil || got["file"] != path+"2" || got["sha256"] != canon.Hash(c.file) || got["next"] == "" || !isASCII(out) {
			t.Errorf("%s --json: %v\n%s", c.method, err, out)
		}
		if now, ok := got["text_then"]; ok && now != in.NewDescription && now != in.Target.Descr {
			t.Errorf("%s: the text in --json is %q", c.method, now)
		}
	}
}

func TestWhatAPendingFileIsForFollowsFromTheStateOfItsContract(t *testing.T) {
	h := newShell(t)
	file := &executorpb.ArtifactResponse{Artifact: at.File(t, at.Pending(t, at.Intent(), at.Plan()), at.KeyX())}
	for state, c := range map[executorpb.State]struct{ says, not []string }{
		executorpb.State_STATE_PREPARED:        {[]string{"sign-confirmation", "write confirm"}, []string{"reconcil"}},
		executorpb.State_STATE_RECONCILIATION:  {[]string{"mcpctl write observe " + at.ContractID, "sign-reconciliation", "--pending p5.json", "write reconcile"}, []string{"sign-confirmation", "write confirm", "release"}},
		executorpb.State_STATE_ROLLBACK_FAILED: {[]string{"mcpctl write observe " + at.ContractID, "--pending p8.json", "write release"}, []string{"sign-confirmation", "write reconcile"}},
		executorpb.State_STATE_EXECUTING:       {[]string{"mcpctl write show " + at.ContractID}, []string{"mcpsign"}},
		executorpb.State_STATE_UNSPECIFIED:     {[]string{"sign-confirmation", "of a contract in reconciliation"}, nil},
	} {
		h.admin.Answer("GetPending", file)
		if state == executorpb.State_STATE_UNSPECIFIED {
			h.admin.Fail("GetContract", errs.New(errs.Unavailable, "not now"))
		} else {
			h.admin.Answer("GetContract", stands(state, 3))
		}
		out := h.want(ExitOK, c.says, "write", "pending", at.ContractID, "-o", h.path(fmt.Sprintf("p%d.json", state)))
		_, next, _ := strings.Cut(out, "next: ")
		for _, word := range c.not {
			if strings.Contains(next, word) {
				t.Errorf("%v: the next step speaks of %q:\n%s", state, word, next)
			}
		}
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x7f || s[i] < ' ' && s[i] != '\n' {
			return false
		}
	}
	return true
}

func TestAFileThatIsNotWhatWasAskedForIsNotWritten(t *testing.T) {
	h := newShell(t)
	other := at.Preview()
	other.RequestID = "req-" + strings.Repeat("0", 32)
	bad := at.File(t, at.Preview(), at.KeyX())
	bad[len(bad)/2] ^= 1
	for name, file := range map[string][]byte{
		"another request": at.File(t, other, at.KeyX()), "another kind": at.File(t, at.Observation(t), at.KeyX()), "a changed byte": bad, "nothing": nil, "not JSON": []byte("\x1b[2J"),
	} {
		h.admin.Answer("GetPreview", &executorpb.ArtifactResponse{Artifact: file})
		h.want(ExitUsage, []string{"was not written", "next: "}, "write", "preview", at.RequestID, "-o", h.path("p.json"), "--yes")
		if n, err := os.ReadDir(h.dir); err != nil || len(n) != 0 {
			t.Errorf("%s: left %v", name, n)
		}
	}
	h.admin.Answer("AnchorFile", &executorpb.ArtifactResponse{Artifact: bad})
	h.want(ExitUsage, []string{"was not written"}, "anchor", "status", "-o", h.path("a.json"))
}

func TestTheBytesOfASignedFileAreHandedInAsTheyAre(t *testing.T) {
	h := newShell(t)
	authorization, confirmation, evidence, first, second := h.signed()
	odd := h.file("odd.json", []byte("{\"a\" : 1}\r\n\xff"))
	h.admin.Answer("SubmitAuthorization", &executorpb.SubmitAuthorizationResponse{ContractId: at.ContractID, ExpiresAt: at.At("09:41:53").Unix()})
	moved := func(s executorpb.State) *executorpb.ContractState {
		return &executorpb.ContractState{ContractId: at.ContractID, State: s, StateVersion: 3}
	}
	h.admin.Answer("SubmitConfirmation", moved(executorpb.State_STATE_EXECUTING))
	h.admin.Answer("ResumeExecution", moved(executorpb.State_STATE_EXECUTING))
	h.admin.Answer("SubmitReconciliation", moved(executorpb.State_STATE_VERIFIED))
	h.admin.Answer("SubmitRelease", moved(executorpb.State_STATE_ROLLBACK_FAILED))
	h.admin.Answer("SubmitRollback", moved(executorpb.State_STATE_ROLLING_BACK))
	h.admin.Answer("Cancel", &executorpb.CancelResponse{RequestIds: []string{at.RequestID}})
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	uid := uint32(1001)
	for _, c := range []struct {
		line  string
		says  []string
		asked proto.Message
	}{
		{"write authorize " + authorization, []string{"by owner-authz-1", "of " + at.RequestID, at.ContractID + "  prepared", "next: mcpctl write pending " + at.ContractID + " -o pending.json"}, &executorpb.SubmitAuthorizationRequest{Authorization: read(authorization)}},
		{"write authorize " + odd, []string{"executord will deny it"}, &executorpb.SubmitAuthorizationRequest{Authorization: read(odd)}},
		{"write confirm --no-wait " + confirmation, []string{"by owner-confirm-1", "executing, version 3", "next: mcpctl write show " + at.ContractID}, &executorpb.SubmitConfirmationRequest{Confirmation: read(confirmation)}},
		{"write resume " + at.ContractID + " --no-wait", []string{"executing"}, &executorpb.ResumeExecutionRequest{ContractId: at.ContractID}},
		{"write reconcile " + evidence, []string{"confirmed_applied", "verified, version 3", "next: mcpctl write show " + at.ContractID}, &executorpb.SubmitReconciliationRequest{Evidence: read(evidence)}},
		{"write release " + evidence, []string{"rollback_failed"}, &executorpb.SubmitReleaseRequest{Release: read(evidence)}},
		{"write rollback --no-wait --confirmation " + first + " --authorization " + second, []string{"rolling_back", "by owner-confirm-1", "by owner-authz-1"}, &executorpb.SubmitRollbackRequest{Rollback: read(first), RollbackAuthorization: read(second)}},
		{"write cancel " + at.RequestID, []string{"cancelled: " + at.RequestID, "next: mcpctl write list"}, &executorpb.CancelRequest{What: &executorpb.CancelRequest_RequestId{RequestId: at.RequestID}}},
		{"write cancel " + at.ContractID, []string{"cancelled: "}, &executorpb.CancelRequest{What: &executorpb.CancelRequest_ContractId{ContractId: at.ContractID}}},
		{"write cancel --uid 1001 --all-unpreviewed", []string{"cancelled: "}, &executorpb.CancelRequest{What: &executorpb.CancelRequest_UnpreviewedOfUid{UnpreviewedOfUid: uid}}},
	} {
		args := strings.Fields(c.line)
		h.want(ExitOK, c.says, append(args, "--yes")...)
		method := strings.Fields(h.admin.Calls())
		if got := h.admin.Last(method[len(method)-1]); !proto.Equal(got, c.asked) {
			t.Errorf("%s: asked %v", c.line, got)
		}
		if out := h.want(ExitOK, nil, append(args, "--yes", "--json")...); json.Unmarshal([]byte(out), new(any)) != nil || !isASCII(out) {
			t.Errorf("%s --json: %s", c.line, out)
		}
	}
}

func TestReview27WithoutATerminalAnActNeedsYesAndSomeActsAreNotDoneAtAll(t *testing.T) {
	h := newShell(t)
	authorization, confirmation, evidence, first, second := h.signed()
	rebaseline := h.file("rebaseline.json", at.File(t, at.Rebaseline(), at.KeyR()))
	for _, line := range []string{
		"write preview " + at.RequestID + " -o " + h.path("p"), "write authorize " + authorization, "write confirm " + confirmation, "write resume " + at.ContractID,
		"write cancel " + at.RequestID, "write cancel --uid 1 --all-unpreviewed", "write reconcile " + evidence, "write release " + evidence,
		"write rollback --confirmation " + first + " --authorization " + second,
	} {
		h.want(ExitUsage, []string{"add --yes"}, strings.Fields(line)...)
	}
	for _, line := range []string{
		"anchor provision --handle 0x01500000", "anchor seed --value 41 --handle 0x01500000", "anchor rebaseline " + rebaseline, "keys rotate", "store backup -o " + h.path("b"),
	} {
		h.want(ExitFail, []string{"at a terminal alone"}, strings.Fields(line)...)
		h.want(ExitUsage, nil, append(strings.Fields(line), "--yes")...) // no flag replaces a person
	}
	if calls := h.admin.Calls(); calls != "" {
		t.Errorf("executord was asked: %s", calls)
	}
}

func TestADenialNamesTheRowAndTheCommandThatShowsIt(t *testing.T) {
	h := newShell(t)
	authorization, _, evidence, _, _ := h.signed()
	denied := func(msg string) error { return errs.New(errs.Conflict, msg).WithClass("write_denied") }
	h.admin.Fail("SubmitAuthorization", denied("write request denied (audit seq 17)"))
	_, out, errOut := h.run("write", "authorize", authorization, "--yes")
	if out != "" || !strings.HasSuffix(errOut, "mcpctl: write request denied (audit seq 17)\nnext: mcpctl audit show 17\n") {
		t.Errorf("%q %q", out, errOut)
	}
	h.want(ExitFail, nil, "write", "authorize", authorization, "--yes")
	// A daemon that forges the number gets nothing printed but our words.
	for _, msg := range []string{"write request denied", "write request denied (audit seq 1; rm -rf /)", "write request denied (audit seq 0)", "write request denied (audit seq 007)", "\x1b[2Jdenied"} {
		h.admin.Fail("SubmitReconciliation", denied(msg))
		_, _, errOut := h.run("write", "reconcile", evidence, "--yes")
		if !strings.Contains(errOut, "mcpctl: write request denied\nnext: no row") || strings.ContainsAny(errOut, "\x1b;") {
			t.Errorf("%q: %s", msg, errOut)
		}
	}
}

func TestTheExitCodesFollowTheKindOfError(t *testing.T) {
	h := newShell(t)
	authorization, _, _, _, _ := h.signed()
	for _, c := range []struct {
		err  *errs.Error
		code int
	}{
		{errs.New(errs.Invalid, "bad"), ExitUsage},
		{errs.New(errs.NotFound, "no such"), ExitFail},
		{errs.New(errs.Unavailable, "quarantine"), ExitFail},
		{errs.New(errs.Unavailable, "broken").WithClass("store_integrity"), ExitUsage},
		{errs.New(errs.Conflict, "differs").WithClass("anchor_mismatch"), ExitUsage},
		{errs.New(errs.Exhausted, "too many"), ExitFail},
		{errs.New(errs.Denied, "not you"), ExitFail},
		{errs.New(errs.Internal, "fault"), ExitFail},
	} {
		h.admin.Fail("SubmitAuthorization", c.err)
		h.want(c.code, []string{"mcpctl: " + c.err.Msg}, "write", "authorize", authorization, "--yes")
	}
	// Nobody there.
	var e bytes.Buffer
	if code := Run(context.Background(), Env{Out: &e, Err: &e}, []string{"write", "list", "--dir", h.dir}); code != ExitFail || !strings.Contains(e.String(), "executord is not reachable") {
		t.Errorf("exit %d: %s", code, e.String())
	}
}

func TestReview18TheListGroupsByWhoAskedAndShowsTheWayOut(t *testing.T) {
	h := newShell(t)
	uid := func(n uint32) *uint32 { return &n }
	ask := func(n byte, by *uint32, alias string, previews uint32) *executorpb.Request {
		return &executorpb.Request{
			RequestId: "req-" + strings.Repeat(string('a'+rune(n)), 32), Status: executorpb.RequestStatus_REQUEST_STATUS_OPEN, Origin: "mcp", Uid: by, AliasName: alias,
			OpenedAt: at.At("09:20:00").Unix(), ExpiresAt: at.At("13:20:00").Unix(), PreviewSeq: previews, Projected: executorpb.WriteState_WRITE_STATE_REQUESTED,
			Next: "mcpctl write preview REQ -o preview.json",
		}
	}
	h.admin.Answer("ListRequests", &executorpb.ListRequestsResponse{Total: 9, Requests: []*executorpb.Request{
		ask(0, uid(1002), "web", 0), ask(1, uid(1001), "db", 0), ask(2, nil, "own", 1), ask(3, uid(1002), "wеb", 0),
	}})
	h.admin.Answer("ListContracts", &executorpb.ListContractsResponse{Total: 1, Contracts: []*executorpb.Contract{stands(executorpb.State_STATE_RECONCILIATION, 4).Contract}})
	out := h.want(ExitOK, []string{
		"== asked by an operator: 1", "== asked by uid 1001, says mcpd: 1", "== asked by uid 1002, says mcpd: 2", "mcpctl write cancel --uid 1002 --all-unpreviewed",
		`"w\u{435}b"`, "WARNING: one word mixes scripts", "== contracts: 1", "reconciliation, version 4", "5 more: mcpctl write list --offset 4", "opened      2026-03-14 09:20:00Z (10m0s ago)",
	}, "write", "list")
	if i, j := strings.Index(out, "uid 1001"), strings.Index(out, "uid 1002"); i > j || strings.Contains(out, "cancel --uid 1001") {
		t.Errorf("order or advice is wrong:\n%s", out)
	}
	h.want(ExitOK, nil, "write", "list", "--all", "--uid", "1002", "--limit", "5", "--offset", "2")
	r, k := h.admin.Last("ListRequests").(*executorpb.ListRequestsRequest), h.admin.Last("ListContracts").(*executorpb.ListContractsRequest)
	if r.GetUid() != 1002 || len(r.GetStatuses()) != 6 || r.GetLimit() != 5 || r.GetOffset() != 2 || len(k.GetStates()) != 9 {
		t.Errorf("asked %v and %v", r, k)
	}
	h.admin.Answer("ListRequests", &executorpb.ListRequestsResponse{})
	h.admin.Answer("ListContracts", &executorpb.ListContractsResponse{})
	h.want(ExitOK, []string{"nothing is open", "next: "}, "write", "list")
	h.want(ExitOK, []string{`"requests":[]`, `"contracts":[]`}, "write", "list", "--json")
}

func TestTheJSONOfTheListIsStable(t *testing.T) {
	h := newShell(t)
	uid := uint32(1001)
	h.admin.Answer("ListRequests", &executorpb.ListRequestsResponse{Total: 1, Requests: []*executorpb.Request{{
		RequestId: at.RequestID, Status: executorpb.RequestStatus_REQUEST_STATUS_AUTHORIZED, Origin: "mcp", Uid: &uid, AliasName: "wеb\u202e\U0001f600", OpenedAt: 1, ExpiresAt: 2,
		PreviewSeq: 3, ContractId: at.ContractID, Projected: executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION, Next: "n",
	}}})
	k := stands(executorpb.State_STATE_PREPARED, 0).Contract
	k.Look, k.Lab, k.LandingWindowUntil, k.RollbackUntil, k.Contended, k.AttestedOnly, k.Released, k.Reason = "due", true, 5, 6, true, true, true, "created"
	h.admin.Answer("ListContracts", &executorpb.ListContractsResponse{Total: 1, Contracts: []*executorpb.Contract{k}})
	out := h.want(ExitOK, nil, "write", "list", "--json")
	want := `{"requests":[{"request_id":"` + at.RequestID + `","status":"authorized","origin":"mcp","asked_by_uid":1001,"alias_name":"w\u0435b\u202e\ud83d\ude00",` +
		`"opened_at":1,"expires_at":2,"concluded_at":0,"preview_seq":3,"contract_id":"` + at.ContractID + `","projected":"awaiting_confirmation","result":"","next":"n"}],"requests_total":1,` +
		`"contracts":[{"contract_id":"` + at.ContractID + `","operation_id":"` + at.OperationID + `","request_id":"` + at.RequestID + `","state":"prepared","state_version":0,` +
		`"send_boundary":"","uncertainty_origin":"","created_at":1773480490,"expires_at":1773481313,"confirmed_at":1773480590,"settled_at":0,"reason":"created","contended":true,` +
		`"look":"due","landing_window_until":5,"rollback_until":6,"attested_only":true,"released":true,"lab":true,"next":"as executord says"}],"contracts_total":1}` + "\n"
	if out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

func TestReview19NoTextOfExecutordDrivesTheTerminal(t *testing.T) {
	h := newShell(t)
	evil := "\x1b]0;pwned\a\u202e\r\n== asked by an operator: 0\x00" + strings.Repeat("x", 2000)
	h.admin.Answer("ListRequests", &executorpb.ListRequestsResponse{Requests: []*executorpb.Request{{
		RequestId: evil, AliasName: evil, ContractId: evil, Result: evil, Next: evil, Origin: evil, ConcludedAt: 1 << 60, OpenedAt: -1 << 62, ExpiresAt: 1 << 62, Status: 99, Projected: 99,
	}}})
	d := &executorpb.Digests{IdempotencyKey: evil, TargetIdentity: evil, Plan: evil}
	k := &executorpb.Contract{ContractId: evil, RequestId: evil, Reason: evil, Look: evil, Next: evil, State: 77, SendBoundary: evil, UncertaintyOrigin: evil}
	h.admin.Answer("ListContracts", &executorpb.ListContractsResponse{Contracts: []*executorpb.Contract{k}})
	h.admin.Answer("GetContract", &executorpb.GetContractResponse{Contract: k, Digests: d})
	h.admin.Answer("Cancel", &executorpb.CancelResponse{RequestIds: []string{evil}})
	h.admin.Answer("Discover", &executorpb.DiscoverResponse{
		Posture: &executorpb.Posture{CapabilityPosture: evil, Quarantine: evil, Why: evil}, Anchor: &executorpb.Anchor{Backend: evil, Assurance: evil, Evidence: evil, NvIndex: 1, NvIndexName: evil},
		Identity: &executorpb.Identity{StoreId: evil, ApplianceAccount: evil, AttestationKeyId: evil},
	})
	h.admin.Answer("Plan", &executorpb.PlanResponse{TargetValidity: evil, OverallStatus: evil, Digest: evil, CapabilityTransition: evil, Steps: []*executorpb.PlanStep{{StepId: evil, Description: evil, MutationClass: evil}}})
	h.admin.Answer("AnchorStatus", &executorpb.AnchorStatusResponse{Next: evil, Step: 88, Anchor: &executorpb.Anchor{Backend: evil}})
	h.admin.Answer("AnchorPlan", &executorpb.AnchorPlanResponse{Next: evil, Manufacturer: evil, Assurance: evil})
	h.admin.Answer("AuditVerify", &executorpb.AuditVerifyResponse{Head: evil, Problem: evil})
	h.admin.Fail("GetPreview", errs.New(errs.Unavailable, evil).WithNext(evil).WithClass(evil))
	for _, line := range []string{
		"write list", "write show " + at.ContractID, "write cancel " + at.RequestID + " --yes", "discover", "plan --capability-posture read_only --anchor-assurance none",
		"anchor status", "anchor plan", "audit verify", "write preview " + at.RequestID + " --yes -o " + h.path("x"),
	} {
		_, out, errOut := h.run(strings.Fields(line)...)
		for l := range strings.Lines(out + errOut) {
			if !isASCII(l) || strings.HasPrefix(l, "== asked by an operator: 0") || len(l) > 1200 {
				t.Errorf("%s shows %q", line, l)
			}
		}
		if strings.Contains(line, "preview") {
			continue
		}
		if _, out, _ := h.run(append(strings.Fields(line), "--json")...); !isASCII(out) || json.Unmarshal([]byte(out), new(any)) != nil {
			t.Errorf("%s --json: %q", line, out)
		}
	}
}

func TestK5NoCommandTakesABadFile(t *testing.T) {
	h := newShell(t)
	good, _, _, _, second := h.signed()
	link, fifo, group, large := h.path("link"), h.path("fifo"), h.file("group", []byte("{}")), h.file("large", bytes.Repeat([]byte("x"), artifact.MaxSigned+1))
	if err := errors.Join(os.Symlink(good, link), syscall.Mkfifo(fifo, 0o600), os.Chmod(group, 0o660)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{link, fifo, group, large, h.path("none"), h.dir} {
		for _, line := range []string{
			"write authorize " + bad, "write confirm " + bad, "write reconcile " + bad, "write release " + bad,
			"write rollback --confirmation " + bad + " --authorization " + second, "write rollback --confirmation " + second + " --authorization " + bad,
		} {
			h.want(ExitUsage, []string{"the file " + bad, "next: "}, append(strings.Fields(line), "--yes")...)
		}
	}
	if calls := h.admin.Calls(); calls != "" {
		t.Errorf("executord was asked: %s", calls)
	}
}

package opctl

import (
	"bytes"
	"encoding/hex"
	"encoding/json/v2"
	"os"
	"strings"
	"testing"

	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/admintest"
	executorpb "pfsensemcp/proto/executor/v1"
)

// auditRow is a denial as the audit has it.
func auditRow(seq int64, reason any) canon.Object {
	return canon.Object{
		"seq": seq, "prev": strings.Repeat("d", 64), "store_id": at.StoreID, "at": "2026-03-14T09:29:00Z", "event": "authorization_denied", "actor": "operator:1000",
		"request_id": at.RequestID, "contract_id": nil, "operation_id": nil, "capability": "ALIAS_WRITE", "reason": reason, "from": nil, "to": nil,
		"state_version": nil, "anchor_value": int64(41), "record_digest": nil, "key_id": "k1",
	}
}

func row(t *testing.T, o canon.Object) *executorpb.AuditShowResponse {
	t.Helper()
	b, err := canon.Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	return &executorpb.AuditShowResponse{Record: b, Mac: bytes.Repeat([]byte{0xab}, 32)}
}

func TestAnAuditRowIsShownWithWhatItsReasonMeansAndWhatToDo(t *testing.T) {
	h := newShell(t)
	h.admin.Answer("AuditShow", row(t, auditRow(17, "g4_age")))
	out := h.want(ExitOK, []string{
		"audit row 17", "authorization_denied", "operator:1000", "g4_age: it was signed before the newest preview", "next: mcpctl write preview " + at.RequestID + " -o FILE",
	}, "audit", "show", "17")
	if strings.Index(out, "reason") > strings.Index(out, "store id") || strings.Contains(out, "contract id") {
		t.Errorf("order or empty members:\n%s", out)
	}
	if got := h.admin.Last("AuditShow").(*executorpb.AuditShowRequest); got.GetSeq() != 17 {
		t.Errorf("asked for %d", got.GetSeq())
	}
	out = h.want(ExitOK, nil, "audit", "show", "17", "--json")
	var got struct {
		Record map[string]any `json:"record"`
		MAC    string         `json:"mac"`
		Means  string         `json:"reason_means"`
		Next   string         `json:"next"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Record["reason"] != "g4_age" || got.MAC != hex.EncodeToString(bytes.Repeat([]byte{0xab}, 32)) || got.Means == "" || !strings.Contains(got.Next, at.RequestID) {
		t.Errorf("%v\n%s", err, out)
	}
	// A reason of a newer executord is shown, and so is that it is not known.
	h.admin.Answer("AuditShow", row(t, auditRow(17, "new\x1b[2J")))
	h.want(ExitOK, []string{`new\u{1b}[2J`, "does not know", "mcpctl status"}, "audit", "show", "17")
	h.admin.Answer("AuditShow", row(t, auditRow(17, nil)))
	h.want(ExitOK, []string{"audit row 17"}, "audit", "show", "17")
}

func TestWhatIsNoAuditRowIsNotShownAsOne(t *testing.T) {
	h := newShell(t)
	good := row(t, auditRow(17, "g4_age"))
	for name, r := range map[string]*executorpb.AuditShowResponse{
		"another row": row(t, auditRow(18, "g4_age")), "no MAC": {Record: good.GetRecord()}, "a list": {Record: []byte("[17]"), Mac: good.GetMac()},
		"blanks": {Record: append([]byte(" "), good.GetRecord()...), Mac: good.GetMac()}, "nothing": {}, "an escape": {Record: []byte("\x1b[2J"), Mac: good.GetMac()},
		"too large": {Record: bytes.Repeat([]byte("1"), 17<<10), Mac: good.GetMac()},
	} {
		h.admin.Answer("AuditShow", r)
		if out := h.want(ExitUsage, []string{"no audit row", "next: mcpctl audit verify"}, "audit", "show", "17"); out != "" {
			t.Errorf("%s: shows %q", name, out)
		}
	}
	h.admin.Fail("AuditShow", errs.New(errs.NotFound, "there is no such row"))
	h.want(ExitFail, []string{"no such row"}, "audit", "show", "17")
}

func TestT6VerifyEndsWith0When2WhenNotAnd1WhenNobodyAnswers(t *testing.T) {
	h := newShell(t)
	head, value := strings.Repeat("7", 64), uint64(41)
	h.admin.Answer("AuditVerify", &executorpb.AuditVerifyResponse{Sound: true, Rows: 12, Head: head, Generation: 3, AnchorValue: &value})
	h.want(ExitOK, []string{"sound", "12", "counter     41", "next: keep the head off this host", "--pinned-head " + head}, "audit", "verify")
	out := h.want(ExitOK, nil, "audit", "verify", "--json")
	if want := `{"sound":true,"rows":12,"head":"` + head + `","generation":3,"anchor_value":41,"first_bad_seq":0,"problem":"","next":"keep the head off this host; later: mcpctl audit verify --pinned-head ` + head + `"}` + "\n"; out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
	h.admin.Answer("AuditVerify", &executorpb.AuditVerifyResponse{Rows: 12, FirstBadSeq: 5, Problem: "audit_mac"})
	h.want(ExitUsage, []string{"NOT SOUND: audit_mac", "row 5", "next: "}, "audit", "verify")
	h.want(ExitUsage, []string{`"sound":false`}, "audit", "verify", "--json")
	h.admin.Fail("AuditVerify", errs.New(errs.Unavailable, "write is off").WithClass("write_off"))
	h.want(ExitFail, []string{"write is off"}, "audit", "verify")
	gone := &shell{t, &admintest.Admin{Dir: t.TempDir()}, h.dir}
	gone.want(ExitFail, []string{"executord is not reachable", "executord verify"}, "audit", "verify")
}

func TestT8APinnedHeadIsAskedForAsItIs(t *testing.T) {
	h := newShell(t)
	pin := strings.Repeat("e", 64)
	h.admin.Answer("AuditVerify", &executorpb.AuditVerifyResponse{Sound: true, Rows: 3, Head: pin})
	h.want(ExitOK, []string{"the head that was kept is part"}, "audit", "verify", "--pinned-head", pin)
	if got := h.admin.Last("AuditVerify").(*executorpb.AuditVerifyRequest); got.GetPinnedHead() != pin {
		t.Errorf("asked with %q", got.GetPinnedHead())
	}
	h.admin.Answer("AuditVerify", &executorpb.AuditVerifyResponse{Rows: 2, Problem: "pinned_head"})
	h.want(ExitUsage, []string{"NOT SOUND: pinned_head"}, "audit", "verify", "--pinned-head", pin)
}

// exported is an audit export with n rows.
func exported(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	for i := range n {
		r := row(t, auditRow(int64(i+1), "g4_age"))
		b.Write(r.GetRecord())
		b.WriteByte('\n')
	}
	b.Write(at.File(t, at.ExportHead(), at.KeyX()))
	b.WriteByte('\n')
	return b.Bytes()
}

func TestAnExportIsWrittenWholeWithItsHead(t *testing.T) {
	h := newShell(t)
	for _, n := range []int{0, 3, 2000} {
		file := exported(t, n)
		h.admin.Send("AuditExport", admintest.Parts(file, 100<<10)...)
		path := h.path(strings.Repeat("x", n%7+1) + ".jsonl")
		h.want(ExitOK, []string{"rows up to 3 of prod-write-store-1", strings.Repeat("7", 64), "next: keep the head off this host", canon.Hash(file)}, "audit", "export", "--since", "2", "-o", path)
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, file) {
			t.Errorf("%d rows: the file differs: %v", n, err)
		}
		if got := h.admin.Last("AuditExport").(*executorpb.AuditExportRequest); got.GetSince() != 2 {
			t.Errorf("asked since %d", got.GetSince())
		}
		h.want(ExitUsage, []string{"nothing is ever overwritten"}, "audit", "export", "-o", path)
	}
	out := h.want(ExitOK, nil, "audit", "export", "-o", h.path("j"), "--json")
	if !strings.Contains(out, `"head":"`+strings.Repeat("7", 64)) || !isASCII(out) {
		t.Errorf("%s", out)
	}
}

func TestADamagedStoreIsToldWithWhatToDoThen(t *testing.T) {
	h := newShell(t)
	bad := errs.New(errs.Internal, "a row of audit breaks a rule").WithClass("store_integrity")
	h.admin.Fail("AuditExport", bad)
	h.admin.Fail("AuditShow", bad)
	for _, args := range [][]string{{"audit", "export", "-o", h.path("out")}, {"audit", "show", "17"}} {
		h.want(ExitUsage, []string{"a row of audit breaks a rule", "next: mcpctl audit verify names the first bad row; write, restore and repair nothing"}, args...)
	}
	if n, err := os.ReadDir(h.dir); err != nil || len(n) != 0 {
		t.Errorf("left %v", n)
	}
	// What the daemon advises itself stands.
	h.admin.Fail("AuditShow", bad.WithNext("do that"))
	h.want(ExitUsage, []string{"next: do that"}, "audit", "show", "17")
}

func TestAStreamThatWasCutOrChangedLeavesNoFile(t *testing.T) {
	h := newShell(t)
	file := exported(t, 300)
	parts := func(change func([]*executorpb.FileChunk) []*executorpb.FileChunk) []*executorpb.FileChunk {
		return change(admintest.Parts(file, 20<<10))
	}
	for name, p := range map[string][]*executorpb.FileChunk{
		"nothing":     nil,
		"no last":     parts(func(p []*executorpb.FileChunk) []*executorpb.FileChunk { return p[:len(p)-1] }),
		"one missing": parts(func(p []*executorpb.FileChunk) []*executorpb.FileChunk { return append(p[:1], p[2:]...) }),
		"swapped": parts(func(p []*executorpb.FileChunk) []*executorpb.FileChunk {
			p[0], p[1] = p[1], p[0]
			return p
		}),
		"a wrong total":   parts(func(p []*executorpb.FileChunk) []*executorpb.FileChunk { p[len(p)-1].Total++; return p }),
		"a wrong hash":    parts(func(p []*executorpb.FileChunk) []*executorpb.FileChunk { p[len(p)-1].Sha256[0] ^= 1; return p }),
		"no hash":         parts(func(p []*executorpb.FileChunk) []*executorpb.FileChunk { p[len(p)-1].Sha256 = nil; return p }),
		"more after last": parts(func(p []*executorpb.FileChunk) []*executorpb.FileChunk { return append(p, p[0]) }),
		"an empty part": parts(func(p []*executorpb.FileChunk) []*executorpb.FileChunk {
			return append([]*executorpb.FileChunk{{}}, p...)
		}),
		"a part too large":  admintest.Parts(exported(t, 2000), 300<<10),
		"no attested head":  admintest.Parts([]byte("{}\n"), 100),
		"rows after head":   admintest.Parts(append(append([]byte{}, file...), "{}\n"...), 20<<10),
		"a head of nothing": admintest.Parts(nil, 1),
	} {
		h.admin.Send("AuditExport", p...)
		h.want(ExitUsage, []string{"no file was made", "next: "}, "audit", "export", "-o", h.path("out"))
		if n, err := os.ReadDir(h.dir); err != nil || len(n) != 0 {
			t.Fatalf("%s: left %v", name, n)
		}
	}
}

func TestThePinsOfAnExecutorAreWrittenAndShownForComparison(t *testing.T) {
	h := newShell(t)
	p := authority.Pins{Executors: []authority.Pin{{
		Name: at.StoreID, StoreID: at.StoreID, NVIndexName: at.NVIndexName, ApplianceTarget: at.Intent().Appliance, BuildID: "sha256:" + strings.Repeat("3", 64),
		Attestation: at.Executor(), Authorities: *at.Owners(),
	}}}
	file, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	h.admin.Answer("GetPins", &executorpb.ArtifactResponse{Artifact: file})
	h.want(ExitOK, []string{at.StoreID, at.NVIndexName, "executor-1  key SHA-256 " + canon.Hash(at.Public(at.KeyX())), "owner-authz-1", "owner-confirm-1", "owner-reconcile-1", canon.Hash(file), "next: compare this with the host in person"}, "keys", "pins", "-o", h.path("pins.json"))
	if b, err := os.ReadFile(h.path("pins.json")); err != nil || !bytes.Equal(b, file) {
		t.Errorf("the file differs: %v", err)
	}
	h.want(ExitOK, []string{`"attestation_key_id":"executor-1"`}, "keys", "pins", "-o", h.path("2.json"), "--json")
	for _, bad := range [][]byte{nil, []byte("{}"), file[:len(file)-3], at.File(t, at.AnchorStatus(), at.KeyX())} {
		h.admin.Answer("GetPins", &executorpb.ArtifactResponse{Artifact: bad})
		h.want(ExitUsage, []string{"was not written"}, "keys", "pins", "-o", h.path("3.json"))
	}
	if _, err := os.Lstat(h.path("3.json")); err == nil {
		t.Error("a file was made")
	}
}

func anchorAt(evidence string, store, witness uint64) *executorpb.Anchor {
	return &executorpb.Anchor{
		Backend: "tpm-local", Assurance: "hardware_witness", Evidence: evidence, Configured: true, Exists: true, Seeded: true, Complete: true,
		NvIndex: 0x01500000, NvIndexName: at.NVIndexName, StoreValue: &store, WitnessValue: &witness, ProvisionedAt: at.At("08:00:00").Unix(),
	}
}

func TestDiscoverEndsWith2OnlyWhereThingsDiffer(t *testing.T) {
	h := newShell(t)
	for _, c := range []struct {
		evidence, quarantine string
		code                 int
		says                 string
	}{
		{"provisioned_verified", "", ExitOK, "store and counter agree"},
		{"unconfigured", "", ExitOK, "mcpctl setup --write"},
		{"provisioned_unreachable", "anchor_unreachable", ExitOK, "does not answer"},
		{"configured_unprovisioned", "", ExitOK, "not provisioned"},
		{"provisioned_mismatch", "anchor_mismatch", ExitUsage, "STORE AND COUNTER DIFFER"},
		{"provisioned_mismatch", "", ExitUsage, "mcpctl anchor status"},
		{"store_error", "store_integrity", ExitUsage, "executord verify"},
		{"provisioned_verified", "clock_jump", ExitUsage, "clock jumped"},
	} {
		h.admin.Answer("Discover", &executorpb.DiscoverResponse{
			Posture: &executorpb.Posture{CapabilityPosture: "write_protected", WriteCapabilitiesActive: 1, WriteCapabilitiesTotal: 1, EndpointsAllowed: 1, Quarantine: c.quarantine, Why: c.quarantine},
			Anchor:  anchorAt(c.evidence, 41, 41), Identity: &executorpb.Identity{StoreId: at.StoreID, ApplianceAccount: "writer"}, Lab: true, TestBuild: true,
		})
		h.want(c.code, []string{c.says, "next: ", "LABORATORY", "TEST BUILD", "writer"}, "discover")
		out := h.want(c.code, []string{`"evidence":"` + c.evidence}, "discover", "--json")
		if json.Unmarshal([]byte(out), new(any)) != nil {
			t.Errorf("%s", out)
		}
	}
}

func TestPlanIsAnAnalysisWithItsExitCode(t *testing.T) {
	h := newShell(t)
	for status, code := range map[string]int{
		"already_satisfied": ExitOK, "plan_generated": ExitOK, "blocked_not_implemented": ExitFail, "blocked_invalid_target": ExitUsage,
		"blocked_anomaly_detected": ExitUsage, "blocked_indeterminate_current_state": ExitUsage, "something_new": ExitUsage,
	} {
		h.admin.Answer("Plan", &executorpb.PlanResponse{
			TargetValidity: "valid", OverallStatus: status, SafeToProceed: true, Digest: strings.Repeat("1", 64), CapabilityTransition: "no_change", AnchorTransition: "upgrade",
			Steps: []*executorpb.PlanStep{{StepId: "capability_posture.milestone_9_activation", Order: 1, Axis: "capability_posture", MutationClass: "activation", AuthorizationRequired: "milestone_9_activation_decision", Blocked: true, Description: "Each change is decided."}},
		})
		line := []string{"plan", "--capability-posture", "write_protected", "--anchor-assurance", "hardware_witness"}
		h.want(code, []string{status, "not an authorization", "1 capability_posture.milestone_9_activation (decided each time)", "Each change is decided.", "next: "}, line...)
		h.want(code, []string{`"overall_status":"` + status, `"blocked":true`}, append(line, "--json")...)
	}
	h.admin.Fail("Plan", errs.New(errs.Invalid, "no such posture"))
	h.want(ExitUsage, []string{"no such posture"}, "plan", "--capability-posture", "read_only", "--anchor-assurance", "none")
}

func TestAnchorStatusNamesTheNextStepOfTheCeremony(t *testing.T) {
	h := newShell(t)
	for _, c := range []struct {
		step executorpb.AnchorStep
		next string
	}{
		{executorpb.AnchorStep_ANCHOR_STEP_NOTHING, "mcpctl anchor plan"},
		{executorpb.AnchorStep_ANCHOR_STEP_SECRET_SEALED, "mcpctl anchor provision --handle 0x01500000"},
		{executorpb.AnchorStep_ANCHOR_STEP_INCREMENT_ISSUED, "mcpctl anchor provision --handle 0x01500000"},
		{executorpb.AnchorStep_ANCHOR_STEP_VALUE_READ, "mcpctl anchor seed --value 41 --handle 0x01500000"},
		{executorpb.AnchorStep_ANCHOR_STEP_SEEDED, "mcpctl anchor seed --value 41 --handle 0x01500000"},
		{executorpb.AnchorStep_ANCHOR_STEP_OPERATIONAL, "nothing"},
	} {
		h.admin.Answer("AnchorStatus", &executorpb.AnchorStatusResponse{Anchor: anchorAt("provisioned_verified", 41, 41), Step: c.step, Next: "executord's words"})
		h.want(ExitOK, []string{"next: " + c.next, "executord's words", "store 41, TPM 41", "0x01500000"}, "anchor", "status")
	}
	h.admin.Answer("AnchorStatus", &executorpb.AnchorStatusResponse{Anchor: anchorAt("provisioned_mismatch", 41, 43), Step: executorpb.AnchorStep_ANCHOR_STEP_OPERATIONAL})
	h.want(ExitUsage, []string{"DIFFER", "store 41, TPM 43", "mcpctl anchor status -o anchor.json"}, "anchor", "status")
	out := h.want(ExitUsage, nil, "anchor", "status", "--json")
	if !strings.HasPrefix(out, `{"step":"operational","lockout":false,"backend":"tpm-local","assurance":"hardware_witness","evidence":"provisioned_mismatch"`) {
		t.Errorf("%s", out)
	}
	h.admin.Answer("AnchorStatus", &executorpb.AnchorStatusResponse{Anchor: anchorAt("provisioned_unreachable", 41, 41), Lockout: true})
	h.want(ExitOK, []string{"THE TPM REFUSES", "next: wait"}, "anchor", "status")
	h.admin.Answer("AnchorPlan", &executorpb.AnchorPlanResponse{Step: executorpb.AnchorStep_ANCHOR_STEP_NOTHING, Taken: []uint32{0x01c00002}, Free: []uint32{0x01500000, 0x01500001}, Manufacturer: "IFX", Assurance: "hardware_witness"})
	h.want(ExitOK, []string{"step nothing", "0x01500001", "0x01c00002", "IFX", "next: mcpctl anchor provision --handle 0x01500000"}, "anchor", "plan")
	h.want(ExitOK, []string{`"free":["0x01500000","0x01500001"]`}, "anchor", "plan", "--json")
	h.admin.Answer("AnchorPlan", &executorpb.AnchorPlanResponse{})
	h.want(ExitOK, []string{"next: free a counter index"}, "anchor", "plan")
}

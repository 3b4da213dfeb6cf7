package executor

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	executorpb "pfsensemcp/proto/executor/v1"
)

func TestEveryCallHasARowAndEveryRowACall(t *testing.T) {
	if err := rpc.CheckTable(FrontMethods(), &executorpb.Front_ServiceDesc); err != nil {
		t.Error(err)
	}
	if err := rpc.CheckTable(AdminMethods(), &executorpb.Admin_ServiceDesc); err != nil {
		t.Error(err)
	}
	if rpc.CheckTable(FrontMethods()[1:], &executorpb.Front_ServiceDesc) == nil {
		t.Error("a missing row is not seen")
	}
}

func TestMcpdReachesNothingOfOperatorsAndTheOtherWayRound(t *testing.T) {
	for _, m := range FrontMethods() {
		if m.Callers != rpc.Mcpd {
			t.Errorf("%s: callers %v", m.Full, m.Callers)
		}
	}
	for _, m := range AdminMethods() {
		if m.Callers != rpc.Operators {
			t.Errorf("%s: callers %v", m.Full, m.Callers)
		}
	}
}

func TestWithWriteOffNoToolIsOfferedAndRequestsAreRefused(t *testing.T) {
	front := Off{}.Front()
	st, err := front.GetWriteStatus(t.Context(), &executorpb.GetWriteStatusRequest{})
	if err != nil || st.GetConstructible() || st.GetUnit() != "" || st.GetEndpointSymbol() != "" || st.GetHttpMethod() != "" || st.GetSchema() != 0 {
		t.Errorf("write status %v, %v", st, err)
	}
	r, err := front.RequestAliasDescription(t.Context(), &executorpb.RequestAliasDescriptionRequest{AliasName: "web", Description: "x"})
	if err != nil || r.GetState() != executorpb.WriteState_WRITE_STATE_REFUSED {
		t.Errorf("request: %v, %v", r, err)
	}
}

func TestWithWriteOffEverythingElseSaysSo(t *testing.T) {
	answers := map[string]bool{"GetWriteStatus": true, "RequestAliasDescription": true, "Discover": true, "Plan": true, "Doctor": true}
	calls := 0
	for _, srv := range []any{Off{}.Front(), Off{}.Admin()} {
		v := reflect.ValueOf(srv)
		for i := range v.NumMethod() {
			m := v.Type().Method(i)
			if answers[m.Name] || !m.IsExported() || strings.HasPrefix(m.Name, "mustEmbed") {
				continue
			}
			calls++
			in := make([]reflect.Value, 2)
			for k := range in {
				in[k] = reflect.Zero(v.Method(i).Type().In(k))
			}
			out := v.Method(i).Call(in)
			err, _ := out[len(out)-1].Interface().(error)
			e, ok := errors.AsType[*errs.Error](err)
			if !ok || e.Code != errs.Unavailable || e.Class != "write_off" || e.Next == "" {
				t.Errorf("%s: %v", m.Name, err)
			}
		}
	}
	if want := len(FrontMethods()) + len(AdminMethods()) - len(answers); calls != want {
		t.Errorf("%d calls were tried, %d have a row", calls, want)
	}
}

func TestDiscoverAndDoctorTellThatWriteIsOff(t *testing.T) {
	admin := Off{BuildID: "sha256:ab", Lab: true}.Admin()
	d, err := admin.Discover(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := d.GetPosture(); p.GetCapabilityPosture() != "read_only" || p.GetConstructible() || p.GetWriteCapabilitiesActive() != 0 || p.GetEndpointsAllowed() != 0 {
		t.Errorf("posture %v", p)
	}
	if a := d.GetAnchor(); a.GetBackend() != "none" || a.GetEvidence() != "unconfigured" || a.GetConfigured() || a.StoreValue != nil {
		t.Errorf("anchor %v", a)
	}
	if d.GetIdentity().GetExecutorBuildId() != "sha256:ab" || d.GetIdentity().GetStoreId() != "" || !d.GetLab() {
		t.Errorf("discover %v", d)
	}
	doc, err := admin.Doctor(t.Context(), nil)
	if err != nil || len(doc.GetChecks()) != 1 {
		t.Fatalf("doctor %v, %v", doc, err)
	}
	if c := doc.GetChecks()[0]; c.GetCheckId() != "config.complete" || c.GetStatus() != executorpb.Check_STATUS_NOT_CONFIGURED {
		t.Errorf("check %v", c)
	}
}

func TestThePlanFromWriteOff(t *testing.T) {
	for _, row := range []struct {
		capability, assurance, validity, status string
		safe                                    bool
		steps                                   string
	}{
		{"read_only", "none", "valid", "already_satisfied", true, "anchor_assurance.no_change capability_posture.no_change"},
		{
			"read_only", "hardware_witness", "valid", "plan_generated", true,
			"anchor_assurance.provision_hardware_witness_anchor anchor_assurance.deploy_witness_daemon capability_posture.no_change",
		},
		{
			"write_protected", "hardware_witness", "valid", "plan_generated", true,
			"anchor_assurance.provision_hardware_witness_anchor anchor_assurance.deploy_witness_daemon capability_posture.populate_write_endpoints capability_posture.set_profile_engineer capability_posture.milestone_9_activation",
		},
		{"write_protected", "none", "invalid_combination", "blocked_invalid_target", false, ""},
		{"read_only", "software", "valid_not_implemented", "blocked_not_implemented", false, ""},
		{"write_protected", "software", "valid_not_implemented", "blocked_not_implemented", false, ""},
	} {
		p, err := Off{}.Admin().Plan(t.Context(), &executorpb.PlanRequest{CapabilityPosture: row.capability, AnchorAssurance: row.assurance})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i, s := range p.GetSteps() {
			ids = append(ids, s.GetStepId())
			if s.GetOrder() != uint32(i)+1 || s.GetBlocked() != strings.HasSuffix(s.GetStepId(), "activation") {
				t.Errorf("step %v", s)
			}
		}
		if p.GetTargetValidity() != row.validity || p.GetOverallStatus() != row.status || p.GetSafeToProceed() != row.safe || strings.Join(ids, " ") != row.steps || p.GetDigest() != "" {
			t.Errorf("%s, %s: %v", row.capability, row.assurance, p)
		}
	}
	for _, r := range []*executorpb.PlanRequest{{}, {CapabilityPosture: "unknown", AnchorAssurance: "none"}, {CapabilityPosture: "read_only", AnchorAssurance: "unknown"}} {
		if _, err := (Off{}).Admin().Plan(t.Context(), r); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%v: %v", r, err)
		}
	}
}

// The services fit the generated registration.
var _ = func(r grpc.ServiceRegistrar) {
	executorpb.RegisterFrontServer(r, Off{}.Front())
	executorpb.RegisterAdminServer(r, Off{}.Admin())
}

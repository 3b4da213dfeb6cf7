package arch

import (
	"testing"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/executor"
	"pfsensemcp/pkg/guidance"
	"pfsensemcp/pkg/mcpserver"
	"pfsensemcp/pkg/rpc"
	adminpb "pfsensemcp/proto/admin/v1"
	docspb "pfsensemcp/proto/docs/v1"
	executorpb "pfsensemcp/proto/executor/v1"
	guidancepb "pfsensemcp/proto/guidance/v1"
)

// tables pairs each service of the suite with the table of the server that
// serves it. Health and node.v1 are rpc's own and have no rows.
var tables = []struct {
	service *grpc.ServiceDesc
	methods func() []rpc.Method
}{
	{&guidancepb.Guidance_ServiceDesc, guidance.Methods},
	{&executorpb.Front_ServiceDesc, executor.FrontMethods},
	{&executorpb.Admin_ServiceDesc, executor.AdminMethods},
	{&adminpb.Mcpd_ServiceDesc, mcpserver.AdminMethods},
}

func TestEveryRPCHasExactlyOneRow(t *testing.T) {
	for _, s := range tables {
		if err := rpc.CheckTable(s.methods(), s.service); err != nil {
			t.Errorf("%s: %v", s.service.ServiceName, err)
		}
	}
}

func TestTheRowRuleCanFail(t *testing.T) {
	rows := guidance.Methods()
	desc := &guidancepb.Guidance_ServiceDesc
	if rpc.CheckTable(rows[1:], desc) == nil {
		t.Error("a method without a row is not found")
	}
	if rpc.CheckTable(append(rows, rows[0]), desc) == nil {
		t.Error("two rows of one method are not found")
	}
	if rpc.CheckTable(append(rows, rpc.Method{Full: "/guidance.v1.Guidance/Gone", Callers: rpc.Mcpd, MaxRequest: 1, MaxDuration: 1}), desc) == nil {
		t.Error("a row without a method is not found")
	}
}

// callers are what the architecture says of each service: mcpd may reach the
// front of the others and nothing else; operators the admin sides.
func TestEachServiceAdmitsOneRole(t *testing.T) {
	want := map[*grpc.ServiceDesc]rpc.Role{
		&guidancepb.Guidance_ServiceDesc: rpc.Mcpd,
		&executorpb.Front_ServiceDesc:    rpc.Mcpd,
		&executorpb.Admin_ServiceDesc:    rpc.Operators,
		&adminpb.Mcpd_ServiceDesc:        rpc.Operators,
		&docspb.Docs_ServiceDesc:         rpc.Mcpd,
		&docspb.DocsAdmin_ServiceDesc:    rpc.Operators,
	}
	for _, s := range tables {
		for _, m := range s.methods() {
			if m.Callers != want[s.service] {
				t.Errorf("%s admits roles %b", m.Full, m.Callers)
			}
		}
	}
}

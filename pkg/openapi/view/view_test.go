package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"pfsensemcp/pkg/openapi"
	docspb "pfsensemcp/proto/docs/v1"
	"pfsensemcp/test/fakedocs"
)

func index(t *testing.T, tree fakedocs.Tree) *openapi.Index {
	t.Helper()
	ix, err := openapi.Parse(bytes.NewReader(fakedocs.Encode(tree)))
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func TestAnEndpointIsShownWithWhatItsBodyNeeds(t *testing.T) {
	got := Endpoint(index(t, fakedocs.Small()), "/api/v2/firewall/alias", "POST")
	want := &docspb.EndpointResponse{Found: true, Endpoint: &docspb.Endpoint{
		Path: "/api/v2/firewall/alias", Verb: "POST", OperationId: "postFirewallAliasEndpoint",
		Description: "Creates what is at /api/v2/firewall/alias.", EndpointType: "Singular", Model: "FirewallAlias",
		AuthRequired: "yes", AuthModes: []string{"BasicAuth", "JWTAuth", "KeyAuth"},
		Privileges: []string{"page-all", "api-v2-firewall-alias-post"}, PrivilegesTotal: 2, AppliesImmediately: "no",
		ParametersTotal: 2, Parameters: []*docspb.Parameter{
			{Name: "name", Place: "body", Required: true, Type: "string", Description: "What rules call it."},
			{Name: "type", Place: "body", Required: true, Type: "string", Description: "What its entries are."},
		},
	}}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	got = Endpoint(index(t, fakedocs.Small()), "/api/v2/firewall/alias", "PUT")
	if got.GetFound() || strings.Join(got.GetOtherVerbs(), " ") != "DELETE GET PATCH POST" {
		t.Error(got)
	}
}

func TestALargeModelIsReadInParts(t *testing.T) {
	tree := fakedocs.Small()
	fakedocs.Large(tree, "Large", 297)
	ix := index(t, tree)
	seen := map[string]bool{}
	for offset := uint32(0); ; {
		m := Model(ix, &docspb.ModelRequest{Name: "Large", Offset: offset}).GetModel()
		if m.GetFieldsTotal() != 297 || m.GetFieldsMatched() != 297 || len(m.GetFieldNames()) != 297 || len(m.GetFields()) > MaxFields {
			t.Fatalf("total %d, matched %d, names %d, fields %d", m.GetFieldsTotal(), m.GetFieldsMatched(), len(m.GetFieldNames()), len(m.GetFields()))
		}
		if len(m.GetFields()) == 0 {
			break
		}
		for _, f := range m.GetFields() {
			if seen[f.GetName()] {
				t.Fatalf("%s stands twice", f.GetName())
			}
			seen[f.GetName()] = true
		}
		offset += uint32(len(m.GetFields()))
	}
	if len(seen) != 297 {
		t.Errorf("%d fields were seen", len(seen))
	}
	m := Model(ix, &docspb.ModelRequest{Name: "Large", NameContains: "OPTION_29", Limit: 3}).GetModel()
	if m.GetFieldsMatched() != 7 || len(m.GetFields()) != 3 || m.GetFields()[0].GetName() != "option_290" {
		t.Errorf("matched %d: %v", m.GetFieldsMatched(), m.GetFields())
	}
}

func TestAFieldAndWhatIsOutsideTheModelAreShown(t *testing.T) {
	ix := index(t, fakedocs.Small())
	m := Model(ix, &docspb.ModelRequest{Name: "FirewallAlias", NameContains: "type"}).GetModel()
	want := &docspb.Model{
		Name: "FirewallAlias", FieldsTotal: 5, FieldsMatched: 1, FieldNames: []string{"address", "descr", "detail", "name", "type"},
		Fields: []*docspb.Field{{
			Name: "type", Type: "string", Description: "What its entries are.", Required: proto.Bool(true),
			EnumValues: []string{"host", "network", "port"}, EnumTotal: 3, MaxLength: 1024,
		}},
		Outside: []*docspb.Parameter{{Name: "id", Type: "integer"}},
	}
	if d := cmp.Diff(want, m, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	depth := Model(ix, &docspb.ModelRequest{Name: "Probe", NameContains: "depth"}).GetModel().GetFields()[0]
	if depth.Required != nil || depth.GetDefaultValue() != "null" || !depth.GetDescriptionCut() || depth.GetCondition() == "" {
		t.Error(depth)
	}
}

func TestCapsHold(t *testing.T) {
	tree := fakedocs.Small()
	var values []any
	for i := range 60 {
		values = append(values, strings.Repeat("ä", 40)+strings.Repeat("x", i))
	}
	fakedocs.At(tree, "components", "schemas", "Probe", "properties", "mode")["enum"] = values
	var names []string
	for range 30 {
		names = append(names, "p"+strings.Repeat("x", len(names)))
	}
	fakedocs.At(tree, "paths", "/api/v2/services/probe", "get")["description"] = fakedocs.Details(strings.Repeat("words ", 200), "Singular", "Probe", strings.Join(names, ", "), strings.Join(names, ", "), "No")
	ix := index(t, tree)
	e := Endpoint(ix, "/api/v2/services/probe", "GET").GetEndpoint()
	if len(e.GetPrivileges()) != MaxItems || e.GetPrivilegesTotal() != 30 || len(e.GetPackages()) != MaxItems || len(e.GetDescription()) > 500 || !e.GetDescriptionCut() {
		t.Error(e)
	}
	f := Model(ix, &docspb.ModelRequest{Name: "Probe", NameContains: "mode"}).GetModel().GetFields()[0]
	if len(f.GetEnumValues()) != MaxItems || f.GetEnumTotal() != 60 {
		t.Error(len(f.GetEnumValues()), f.GetEnumTotal())
	}
	for _, v := range f.GetEnumValues() {
		if len(v) > maxEnumValue || !strings.HasSuffix(v, "…") {
			t.Errorf("%q", v)
		}
	}
}

func TestAnUnknownModelNamesItsNeighbours(t *testing.T) {
	got := Model(index(t, fakedocs.Small()), &docspb.ModelRequest{Name: "firewallalias"})
	if got.GetFound() || len(got.GetNear()) == 0 || got.GetNear()[0] != "FirewallAlias" {
		t.Error(got)
	}
	if got := Model(index(t, fakedocs.Small()), &docspb.ModelRequest{Name: "Zzz"}); len(got.GetNear()) != 0 {
		t.Error(got)
	}
}

package docfetch

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/docfetch/internal/site"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/openapi/contract"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/rpc/rpctest"
	docspb "pfsensemcp/proto/docs/v1"
	"pfsensemcp/test/fakedocs"
)

const mcpd, operator, stranger = 61001, 61011, 61012

// served returns connections to a service on a pretend site, for a peer.
func served(t *testing.T, p *pretend, uid uint32) (docspb.DocsClient, docspb.DocsAdminClient) {
	t.Helper()
	s := New(Config{Log: rpctest.Log(t)})
	s.fetch = p.fetch
	t.Cleanup(s.cache.close)
	dial := func(name string, methods []rpc.Method, register func(grpc.ServiceRegistrar)) *grpc.ClientConn {
		srv, err := rpc.NewServer(rpc.Config{
			Name: name, Node: rpctest.Node("docfetchd"), Methods: methods, Log: rpctest.Log(t), Strict: true,
			Callers: map[rpc.Role][]uint32{rpc.Mcpd: {mcpd}, rpc.Operators: {operator}},
		})
		if err != nil {
			t.Fatal(err)
		}
		register(srv)
		return rpctest.Pipe(t, srv, rpc.Peer{UID: uid})
	}
	docs := dial("docs", Methods(), func(r grpc.ServiceRegistrar) { docspb.RegisterDocsServer(r, s) })
	admin := dial("docs-admin", AdminMethods(), func(r grpc.ServiceRegistrar) { docspb.RegisterDocsAdminServer(r, s) })
	return docspb.NewDocsClient(docs), docspb.NewDocsAdminClient(admin)
}

func pretendSite() *pretend {
	return &pretend{body: fakedocs.Encode(fakedocs.Small()), fresh: time.Hour}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // for what hangs
	t.Cleanup(cancel)
	return ctx
}

func TestMcpdAsksAndNobodyElse(t *testing.T) {
	docs, _ := served(t, pretendSite(), mcpd)
	e, err := docs.Endpoint(within(t), &docspb.EndpointRequest{Path: "/api/v2/firewall/alias", Verb: "PUT"})
	if err != nil || e.GetFound() || len(e.GetOtherVerbs()) != 4 || e.GetSource().GetFreshness() != Fresh {
		t.Error(e, err)
	}
	m, err := docs.Model(within(t), &docspb.ModelRequest{Name: "FirewallAlias", Limit: 2, Offset: 1, NameContains: "e"})
	if err != nil || len(m.GetModel().GetFields()) != 2 || m.GetModel().GetFieldsMatched() != 5 {
		t.Error(m, err)
	}
	m, err = docs.Model(within(t), &docspb.ModelRequest{Name: "FirewallAliases"})
	if err != nil || m.GetFound() || len(m.GetNear()) == 0 {
		t.Error(m, err)
	}
	for _, uid := range []uint32{operator, stranger} {
		p := pretendSite()
		docs, _ := served(t, p, uid)
		if _, err := docs.Topic(within(t), &docspb.TopicRequest{Topic: site.TopicQueries}); err == nil || p.count() != 0 {
			t.Errorf("uid %d: %v, %d fetches", uid, err, p.count())
		}
	}
}

func TestABadQuestionIsRefusedBeforeAnyFetch(t *testing.T) {
	p := pretendSite()
	docs, _ := served(t, p, mcpd)
	refused := func(err error) {
		t.Helper()
		if errs.CodeOf(err) != errs.Invalid {
			t.Errorf("got %v", err)
		}
	}
	for _, path := range []string{"", "/", "/api/v1/x", "/api/v2/", "/api/v2/A", "/api/v2/x?y", "/api/v2/x%2f", "/api/v2/../x", "https://evil.example/api/v2/x", "/api/v2/" + strings.Repeat("x", 201), "/api/v2/x\n"} {
		_, err := docs.Endpoint(within(t), &docspb.EndpointRequest{Path: path, Verb: "GET"})
		refused(err)
	}
	for _, verb := range []string{"", "get", "HEAD", "GET "} {
		_, err := docs.Endpoint(within(t), &docspb.EndpointRequest{Path: "/api/v2/x", Verb: verb})
		refused(err)
	}
	for _, r := range []*docspb.ModelRequest{{}, {Name: "a b"}, {Name: "a/b"}, {Name: strings.Repeat("x", 65)}, {Name: "A", Limit: 26}, {Name: "A", Offset: 10001}, {Name: "A", NameContains: strings.Repeat("x", 65)}} {
		_, err := docs.Model(within(t), r)
		refused(err)
	}
	for _, topic := range []string{"", "limitations_and_faqs", "LIMITATIONS_AND_FAQS/", "../api-docs/openapi.json", "INSTALL_AND_CONFIG"} {
		_, err := docs.Topic(within(t), &docspb.TopicRequest{Topic: topic})
		refused(err)
	}
	if p.count() != 0 {
		t.Errorf("%d fetches", p.count())
	}
}

func TestAnOperatorGetsTheContractAndNotTheDocument(t *testing.T) {
	p := pretendSite()
	tree := fakedocs.Small()
	fakedocs.Large(tree, "Large", 3000) // more than one piece
	p.body = fakedocs.Encode(tree)
	_, admin := served(t, p, operator)
	stream, err := admin.Contract(within(t), &docspb.ContractRequest{})
	if err != nil {
		t.Fatal(err)
	}
	pieces := 0
	b, src, err := contract.Receive(func() (*docspb.ContractChunk, error) { pieces++; return stream.Recv() })
	if err != nil || pieces < 3 || src.GetFreshness() != Fresh || src.GetVersion() != fakedocs.Version {
		t.Fatal(err, pieces, src)
	}
	c, err := contract.Decode(b)
	if err != nil || len(c.Models) != 6 || c.DocumentHash == "" {
		t.Fatal(err)
	}
	for _, s := range []string{"What rules call it", "9f31c07be2d84a56"} {
		if bytes.Contains(b, []byte(s)) {
			t.Errorf("%q is in it", s)
		}
	}
	_, admin = served(t, p, mcpd)
	if stream, err := admin.Contract(within(t), &docspb.ContractRequest{}); err == nil {
		if _, err = stream.Recv(); err == nil {
			t.Error("mcpd gets the contract from the operators' socket")
		}
	}
}

func TestWithoutADocumentTheContractSaysWhy(t *testing.T) {
	for fail, want := range map[site.Failure]string{site.Network: "could not be reached", site.TooLarge: "larger than 8 MiB", site.Corrupt: "not what it should be"} {
		p := pretendSite()
		p.fail = fail
		_, admin := served(t, p, operator)
		stream, err := admin.Contract(within(t), &docspb.ContractRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		if errs.CodeOf(err) != errs.Unavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", fail, err)
		}
	}
}

func TestEveryCallHasARow(t *testing.T) {
	if err := rpc.CheckTable(Methods(), &docspb.Docs_ServiceDesc); err != nil {
		t.Error(err)
	}
	if err := rpc.CheckTable(AdminMethods(), &docspb.DocsAdmin_ServiceDesc); err != nil {
		t.Error(err)
	}
}

// A setting that names a host, an address or an authority could only reach the
// fetcher through Config.
func TestNothingOutsideCanSayWhereTheSiteIs(t *testing.T) {
	var exported []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		if f.IsExported() {
			exported = append(exported, f.Name)
		}
	}
	if strings.Join(exported, " ") != "Log Metrics" {
		t.Errorf("Config has %v", exported)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[site.Place]()) {
		if f.IsExported() {
			t.Errorf("Place has %s", f.Name)
		}
	}
}

func TestTheTopicsAreThoseOfTheCatalog(t *testing.T) {
	if got := slices.Sorted(slices.Values(site.Topics())); !slices.Equal(got, catalog.Topics()) {
		t.Errorf("docfetchd has %v, the catalog %v", got, catalog.Topics())
	}
}

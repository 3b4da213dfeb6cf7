package admin

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/mcpserver/internal/schema"
	"pfsensemcp/pkg/openapi/contract"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/rpc/rpctest"
	"pfsensemcp/proto/admin/v1"
	"pfsensemcp/test/fakedocs"
)

// document is an appliance that gives its document, or fails.
type document struct {
	body []byte
	err  error
}

func (d document) Schema(context.Context, pfrest.Caller) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(d.body)), d.err
}

// contractOf asks a service on a real server, as an operator.
func contractOf(t *testing.T, doc *schema.Cache) ([]byte, error) {
	t.Helper()
	srv, err := rpc.NewServer(rpc.Config{
		Name: "mcpd-admin", Node: rpctest.Node("mcpd"), Methods: Methods(), Log: rpctest.Log(t),
		Callers: map[rpc.Role][]uint32{rpc.Operators: {61011}},
	})
	if err != nil {
		t.Fatal(err)
	}
	New(nil, &appliance{}, nil, doc, About{}).Register(srv)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stream, err := adminpb.NewMcpdClient(rpctest.Pipe(t, srv, rpc.Peer{UID: 61011})).ApplianceContract(ctx, &adminpb.ApplianceContractRequest{})
	if err != nil {
		t.Fatal(err)
	}
	b, src, err := contract.Receive(stream.Recv)
	if err == nil && (src.GetUrl() != "/api/v2/schema/openapi" || src.GetFreshness() != "fresh" || src.GetVersion() != fakedocs.Version) {
		t.Errorf("%v", src)
	}
	return b, err
}

func TestAnOperatorGetsTheAppliancesContractAndNotItsDocument(t *testing.T) {
	b, err := contractOf(t, schema.New(document{body: fakedocs.Encode(fakedocs.Small())}))
	if err != nil {
		t.Fatal(err)
	}
	c, err := contract.Decode(b)
	if err != nil || len(c.Operations) != 8 {
		t.Fatal(err)
	}
	for _, s := range []string{"What rules call it", "9f31c07be2d84a56"} {
		if strings.Contains(string(b), s) {
			t.Errorf("%q is handed out", s)
		}
	}
}

func TestWithoutADocumentTheContractSaysWhy(t *testing.T) {
	for _, doc := range []*schema.Cache{
		nil,
		schema.New(document{body: []byte("<html>")}),
		schema.New(document{err: errs.New(errs.Unavailable, "the appliance does not answer")}),
	} {
		if _, err := contractOf(t, doc); errs.CodeOf(err) != errs.Unavailable || !strings.HasPrefix(err.Error(), "the appliance's document cannot be had: ") {
			t.Errorf("%v", err)
		}
	}
}

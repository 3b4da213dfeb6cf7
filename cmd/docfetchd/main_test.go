package main

import (
	"os"
	"strings"
	"testing"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	docspb "pfsensemcp/proto/docs/v1"
	"pfsensemcp/test/daemontest"
)

func TestMain(m *testing.M) {
	if os.Getenv(daemontest.RunMain) != "" {
		_ = os.Unsetenv(daemontest.RunMain)
		main()
	}
	os.Exit(m.Run())
}

func TestLife(t *testing.T) {
	daemontest.Life(t, daemontest.Daemon{Name: "docfetchd", Sockets: []string{"docs", "docs-admin"}})
}

func TestEveryCallHasARow(t *testing.T) {
	if err := rpc.CheckTable(docs().Methods, &docspb.Docs_ServiceDesc); err != nil {
		t.Error(err)
	}
	if err := rpc.CheckTable(docsAdmin().Methods, &docspb.DocsAdmin_ServiceDesc); err != nil {
		t.Error(err)
	}
}

func TestWithoutDocumentationItSaysSo(t *testing.T) {
	_, e1 := unfetched{}.Endpoint(t.Context(), nil)
	_, e2 := unfetched{}.Model(t.Context(), nil)
	_, e3 := unfetched{}.Topic(t.Context(), nil)
	for _, err := range []error{e1, e2, e3, unfetchedAdmin{}.Contract(nil, nil)} {
		if errs.CodeOf(err) != errs.Unavailable || !strings.Contains(err.Error(), "fetches no documentation") {
			t.Error(err)
		}
	}
}

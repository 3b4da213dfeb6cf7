package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	guidancepb "pfsensemcp/proto/guidance/v1"
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
	daemontest.Life(t, daemontest.Daemon{Name: "guidanced", Sockets: []string{"guidance"}})
}

func TestEveryCallHasARow(t *testing.T) {
	if err := rpc.CheckTable(service().Methods, &guidancepb.Guidance_ServiceDesc); err != nil {
		t.Error(err)
	}
}

func TestWithoutARegistryItSaysSo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := empty{}.Lookup(ctx, nil)
	_, err2 := empty{}.ToolGuidance(ctx, nil)
	for _, err := range []error{err, err2} {
		if errs.CodeOf(err) != errs.Unavailable || !strings.Contains(err.Error(), "no guidance registry") {
			t.Error(err)
		}
	}
}

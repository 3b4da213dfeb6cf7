package main

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/rpc"
	docspb "pfsensemcp/proto/docs/v1"
	"pfsensemcp/test/daemontest"
)

// mood makes the test binary another docfetchd than the shipped one: what it
// registers differs, never how it starts or what confines it.
const mood = "DOCFETCHD_TEST_MOOD"

func TestMain(m *testing.M) {
	if os.Getenv(daemontest.RunMain) != "" {
		_ = os.Unsetenv(daemontest.RunMain)
		if os.Getenv(mood) == "probe" {
			os.Exit(daemon.Main(probing(spec())))
		}
		main()
	}
	os.Exit(m.Run())
}

func TestLife(t *testing.T) {
	daemontest.Life(t, daemontest.Daemon{Name: "docfetchd", Sockets: []string{"docs", "docs-admin"}})
}

func TestEveryCallHasARow(t *testing.T) {
	if err := rpc.CheckTable(docs(nil).Methods, &docspb.Docs_ServiceDesc); err != nil {
		t.Error(err)
	}
	if err := rpc.CheckTable(docsAdmin(nil).Methods, &docspb.DocsAdmin_ServiceDesc); err != nil {
		t.Error(err)
	}
}

func uid() string { return strconv.Itoa(os.Getuid()) }

// site makes a directory with settings for a docfetchd that this user may call.
func site(t *testing.T, more string) (dir, config string) {
	t.Helper()
	dir = daemontest.Dir(t)
	config = dir + "/docfetchd.toml"
	text := "sandbox = \"available\"\nsocket_dir = \"" + dir + "\"\nmcpd_user = \"" + uid() + "\"\noperators = [\"" + uid() + "\"]\n" + more
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, config
}

// soon is the context of a call; the daemon has limits of its own.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/errs"
	executorpb "pfsensemcp/proto/executor/v1"
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
	daemontest.Life(t, daemontest.Daemon{Name: "executord", Sockets: []string{"exec", "exec-admin"}})
}

func TestWithoutAWriteConfigurationItServesWithWriteOff(t *testing.T) {
	dir := daemontest.Dir(t)
	config := filepath.Join(dir, "executord.toml")
	text := fmt.Sprintf("sandbox = \"available\"\nsocket_dir = %q\nmcpd_user = \"%d\"\noperators = [\"%d\"]\n", dir, os.Getuid(), os.Getuid())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := daemontest.Start(t, daemontest.Options{Args: []string{"--config", config}, Env: []string{daemontest.RunMain + "=1"}})
	front := p.Serving(daemontest.Socket(dir, "exec"))
	admin := p.Serving(daemontest.Socket(dir, "exec-admin"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	st, err := executorpb.NewFrontClient(front).GetWriteStatus(ctx, &executorpb.GetWriteStatusRequest{})
	if err != nil || st.GetConstructible() {
		t.Errorf("write status %v, %v", st, err)
	}
	d, err := executorpb.NewAdminClient(admin).Discover(ctx, &executorpb.DiscoverRequest{})
	if err != nil || d.GetIdentity().GetExecutorBuildId() != p.Node(admin).GetBuildId() {
		t.Errorf("discover %v, %v", d, err)
	}
	_, err = executorpb.NewAdminClient(admin).GetPreview(ctx, &executorpb.GetPreviewRequest{RequestId: "req-1"})
	if e, ok := errors.AsType[*errs.Error](err); !ok || e.Class != "write_off" || e.Next == "" {
		t.Errorf("preview: %v", err)
	}
	// The two services are apart: Front's socket does not know Admin.
	if _, err := executorpb.NewAdminClient(front).Discover(ctx, &executorpb.DiscoverRequest{}); err == nil {
		t.Error("the front socket serves Admin")
	}
	if n := p.Node(front).GetNotices(); len(n) != 1 || !strings.Contains(n[0], "write is off") {
		t.Errorf("notices %v", n)
	}
	p.Stop()
}

// load reads settings from a text.
func load(t *testing.T, text string, env ...string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "executord.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf.Load(&settings{}, conf.Options{Path: file, Env: env})
}

func TestHalfAWriteConfigurationIsRefusedAndNamesWhatLacks(t *testing.T) {
	err := load(t, "store_dir = \"/var/lib/x\"\n[credentials]\napi_key = \"k\"\n")
	faults, ok := errors.AsType[conf.Faults](err)
	if !ok || len(faults) != len(needed)-2 {
		t.Fatalf("%d faults, want %d: %v", len(faults), len(needed)-2, err)
	}
	for _, k := range needed {
		if has := strings.Contains(err.Error(), k+":"); has == (k == "store_dir" || k == "credentials.api_key") {
			t.Errorf("%s named: %v\n%v", k, has, err)
		}
	}
	if err := load(t, "[write]\nrelay = true\n"); err == nil {
		t.Error("an optional key of the write path alone was accepted")
	}
}

func TestAWholeWriteConfigurationIsNotSilentlyIgnored(t *testing.T) {
	err := load(t, `store_dir = "/var/lib/x"
store_id = "lab-one"
authorities_file = "/etc/x"
[appliance]
base_url = "https://192.0.2.1"
tls_mode = "strict"
account = "writer"
[write]
enabled = true
[anchor]
backend = "tpm-local"
[credentials]
root_key = "a"
attestation_key = "b"
nv_auth = "c"
api_key = "d"
`)
	if err == nil || !strings.Contains(err.Error(), "write.enabled") || !strings.Contains(err.Error(), "store_id") {
		t.Errorf("got %v", err)
	}
}

func TestTheEnvironmentMovesNothingOfTheWritePath(t *testing.T) {
	for _, name := range []string{"PFSENSE_LAB", "PFSENSE_STORE_DIR", "PFSENSE_APPLIANCE_BASE_URL", "PFSENSE_AUTHORITIES_FILE", "PFSENSE_WRITE_ENABLED", "PFSENSE_API_URL"} {
		if err := load(t, "", name+"=x"); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := load(t, "", "PFSENSE_SANDBOX=available", "PFSENSE_SOCKET_DIR=/run/x"); err != nil {
		t.Error(err)
	}
}

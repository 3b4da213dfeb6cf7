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
	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
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
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
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

// whole is a write configuration of production.
const whole = `store_dir = "/var/lib/x"
store_id = "prod-1"
authorities_file = "/etc/x"
[appliance]
base_url = "https://192.0.2.1"
tls_mode = "strict"
account = "writer"
[write]
enabled = true
[anchor]
backend = "tpm-local"
tpm = "device:/dev/tpmrm0"
[credentials]
root_key = "a"
attestation_key = "b"
nv_auth = "c"
api_key = "d"
`

func TestAWriteConfigurationIsTakenWholeAndWithoutContradiction(t *testing.T) {
	if testBuild {
		t.Skip("a test build takes laboratories alone")
	}
	if err := load(t, whole); err != nil {
		t.Errorf("a whole configuration: %v", err)
	}
	for old, change := range map[string]struct{ to, names string }{
		`"prod-1"`:              {`"lab-1"`, "store_id"},
		`device:/dev/tpmrm0`:    {`unix:/run/swtpm.sock`, "anchor.tpm"},
		`tls_mode = "strict"`:   {`tls_mode = "auto"`, "appliance.ca_file"},
		`nv_auth = "c"`:         {``, "credentials.nv_auth"},
		`account = "writer"`:    {"account = \"writer\"\npin = \"not a pin\"", "appliance.pin"},
		`backend = "tpm-local"`: {`backend = "tpm-remote"`, "anchor.remote.url"},
		`api_key = "d"`:         {"api_key = \"d\"\n[limits]\nunknown = 1", "limits.unknown"},
	} {
		err := load(t, strings.Replace(whole, old, change.to, 1))
		if err == nil || !strings.Contains(err.Error(), change.names) {
			t.Errorf("%s for %s: %v", change.to, old, err)
		}
	}
}

func TestReview09WithoutTheWallsThereIsNoWritePath(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the owners of files are root's to set")
	}
	dir := t.TempDir() // below a directory that everybody may write to
	file := filepath.Join(dir, "authorities.json")
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := rooted(file); err == nil {
		t.Error("a file below a directory of everybody's is taken for root's alone")
	}
	s := &settings{Authorities: "/etc/hostname"}
	if err := s.apart(&daemon.Process{Callers: map[rpc.Role][]uint32{rpc.Operators: {0}, rpc.Mcpd: {977}}}); err == nil {
		t.Error("root itself was taken for a user of executord's own")
	}
	s.Lab = true
	if err := s.apart(&daemon.Process{}); err != nil {
		t.Errorf("a laboratory has no walls: %v", err)
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

package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/guidance"
	"pfsensemcp/pkg/rpc"
	guidancepb "pfsensemcp/proto/guidance/v1"
	"pfsensemcp/test/daemontest"
)

// mood makes the test binary another guidanced than the shipped one: only what
// it loads or registers differs, never how it starts or what confines it.
const mood = "GUIDANCED_TEST_MOOD"

func TestMain(m *testing.M) {
	if os.Getenv(daemontest.RunMain) != "" {
		_ = os.Unsetenv(daemontest.RunMain)
		switch os.Getenv(mood) {
		case "damaged":
			os.Exit(daemon.Main(spec(damaged)))
		case "probe":
			os.Exit(daemon.Main(probing(spec(guidance.Bundled))))
		}
		main()
	}
	os.Exit(m.Run())
}

// damaged loads a registry with one fault.
func damaged() (*guidance.Registry, error) {
	return guidance.Load(fstest.MapFS{"a.toml": {Data: []byte(`
snapshot_version = "guidance-registry-2026-01-01"
[[entry]]
source_id = "bent"
`)}}, catalog.ReadCapabilities())
}

func TestLife(t *testing.T) {
	daemontest.Life(t, daemontest.Daemon{Name: "guidanced", Sockets: []string{"guidance"}})
}

func TestEveryCallHasARow(t *testing.T) {
	if err := rpc.CheckTable(service(nil).Methods, &guidancepb.Guidance_ServiceDesc); err != nil {
		t.Error(err)
	}
}

// site makes a directory with settings for a guidanced that this user may call.
func site(t *testing.T) (dir, config string) {
	t.Helper()
	dir = daemontest.Dir(t)
	config = dir + "/guidanced.toml"
	text := "sandbox = \"available\"\nsocket_dir = \"" + dir + "\"\nmcpd_user = \"" + uid() + "\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, config
}

func start(t *testing.T, config, as string) *daemontest.Proc {
	t.Helper()
	return daemontest.Start(t, daemontest.Options{
		Args: []string{"--config", config}, Env: []string{daemontest.RunMain + "=1", mood + "=" + as},
	})
}

func TestItAnswersFromWhatIsCompiledIn(t *testing.T) {
	dir, config := site(t)
	p := start(t, config, "")
	c := guidancepb.NewGuidanceClient(p.Serving(daemontest.Socket(dir, "guidance")))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	version := "2.8.1"
	for _, capability := range catalog.ReadCapabilities() {
		res, err := c.Lookup(ctx, &guidancepb.LookupRequest{Capability: capability, Identity: &guidancepb.Identity{Edition: guidance.KnownCE, Version: &version}})
		if err != nil || res.GetRequestedCapability() != capability {
			t.Errorf("%s: %v", capability, err)
		}
	}
	g, err := c.ToolGuidance(ctx, &guidancepb.ToolGuidanceRequest{ToolName: "pfsense_get_firewall_rules"})
	if err != nil || g.GetResultKind() != catalog.Configuration {
		t.Errorf("%v, %v", g, err)
	}
	p.Stop()
	if !strings.Contains(p.Output(), "guidance-registry-") {
		t.Errorf("the log does not name the snapshot:\n%s", p.Output())
	}
}

func TestADamagedRegistryKeepsItFromStarting(t *testing.T) {
	dir, config := site(t)
	p := start(t, config, "damaged")
	if code := p.Wait(); code != daemon.ExitStart {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"guidance registry is refused", `entry \"bent\"`, "title is missing", "not started"} {
		if !strings.Contains(p.Output(), want) {
			t.Errorf("%q is not in:\n%s", want, p.Output())
		}
	}
	if _, err := os.Lstat(daemontest.Socket(dir, "guidance")); err == nil {
		t.Error("a socket was left behind")
	}
}

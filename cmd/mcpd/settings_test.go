package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/daemon"
)

// minimal are the settings that nobody can leave out.
var minimal = []string{
	"PFSENSE_API_URL=https://192.0.2.1", "PFSENSE_IDENTITY=reader", "PFSENSE_API_KEY_FILE=/etc/key",
}

func load(t *testing.T, file string, env ...string) (*settings, error) {
	t.Helper()
	o := conf.Options{Env: append(append([]string{}, minimal...), env...)}
	if file != "" {
		o.Path = filepath.Join(t.TempDir(), "mcpd.toml")
		if err := os.WriteFile(o.Path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &settings{}
	return s, conf.Load(s, o)
}

func TestAnAbsentAllowListIsNotAnEmptyOne(t *testing.T) {
	for _, tt := range []struct {
		file, env string
		nilList   bool
		entries   int
	}{
		{"", "", true, 0},
		{"", "PFSENSE_ALLOWED_TOOLS=", false, 0},
		{"allowed_tools = []\n", "", false, 0},
		{"", "PFSENSE_ALLOWED_TOOLS=pfsense_mcp_info, pfsense_mcp_info", false, 2},
		{"allowed_tools = [\"set_firewall_alias_description_v1\"]\n", "", false, 1},
	} {
		var env []string
		if tt.env != "" {
			env = []string{tt.env}
		}
		s, err := load(t, tt.file, env...)
		if err != nil || (s.allow == nil) != tt.nilList || len(s.allow) != tt.entries {
			t.Errorf("%q %q: %v %v", tt.file, tt.env, s.allow, err)
		}
	}
}

func TestEveryFaultIsToldAtOnceAndNoValueIsShown(t *testing.T) {
	_, err := load(t, "",
		"PFSENSE_TLS_MODE=auto", "PFSENSE_ALLOWED_TOOLS=canary*,", "PFSENSE_TOOLSETS=canary", "PFSENSE_RESULT_BYTES=1",
		"PFSENSE_API_VERSION=canary", "PFSENSE_CANARY=canary", "PFSENSE_SCAN_ROWS=canary")
	if err == nil {
		t.Fatal("no fault")
	}
	text := err.Error()
	for _, name := range []string{"tls_ca_file", "PFSENSE_ALLOWED_TOOLS", "PFSENSE_TOOLSETS", "PFSENSE_RESULT_BYTES", "PFSENSE_API_VERSION", "PFSENSE_SCAN_ROWS", "PFSENSE_CANARY"} {
		if !strings.Contains(text, name) {
			t.Errorf("%s is not named in\n%s", name, text)
		}
	}
	if strings.Contains(text, "canary") {
		t.Errorf("a value is shown:\n%s", text)
	}
}

func TestTLSSettingsMustFitEachOther(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  []string
		sub  string
	}{
		{"strict with a CA", []string{"PFSENSE_TLS_CA_FILE=/etc/ca.pem"}, "tls_mode auto only"},
		{"auto without", []string{"PFSENSE_TLS_MODE=auto"}, "tls_ca_file"},
		{"auto with a missing file", []string{"PFSENSE_TLS_MODE=AUTO", "PFSENSE_TLS_CA_FILE=/nowhere/ca.pem"}, "PFSENSE_TLS_CA_FILE"},
		{"a pin that is none", []string{"PFSENSE_TLS_PIN=abc"}, "PFSENSE_TLS_PIN"},
		{"strict", nil, ""},
		{"insecure", []string{"PFSENSE_TLS_MODE=insecure"}, ""},
		{"a pin", []string{"PFSENSE_TLS_PIN=" + strings.Repeat("0a", 32)}, ""},
	} {
		switch _, err := load(t, "", tt.env...); {
		case tt.sub == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.sub != "" && (err == nil || !strings.Contains(err.Error(), tt.sub)):
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestTheShimTakesOneNameOfTheEnvironment(t *testing.T) {
	t.Setenv("PFSENSE_NONSENSE", "1")
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("PFSENSE_MCP_SOCKET", "/a/b")
	if got, err := stdioSockets(""); err != nil || len(got) != 1 || got[0] != "/a/b" {
		t.Errorf("%q %v", got, err)
	}
	if got, err := stdioSockets("/c"); err != nil || len(got) != 1 || got[0] != "/c" {
		t.Errorf("%q %v", got, err)
	}
	t.Setenv("PFSENSE_MCP_SOCKET", "relative")
	if _, err := stdioSockets(""); err == nil {
		t.Error("a relative socket is taken")
	}
}

func TestCommandsThatAreNoneEndWithUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"nothing"}, {"stdio", "--nothing"}, {"stdio", "x"}} {
		if code := run(args); code != daemon.ExitUsage {
			t.Errorf("%q: %d", args, code)
		}
	}
}

func TestTheInboxGoesWithTheProfileThatCanWrite(t *testing.T) {
	for _, tt := range []struct {
		file  string
		fault bool
	}{
		{"", false},
		{"profile = \"write_protected\"\nrelay_inbox = \"/srv/inbox\"\n", false},
		{"relay_inbox = \"/srv/inbox\"\n", true},
		{"profile = \"engineer\"\nrelay_inbox = \"/srv/inbox\"\n", true},
		{"profile = \"write_protected\"\nrelay_inbox = \"inbox\"\n", true},
	} {
		s, err := load(t, tt.file)
		if (err != nil) != tt.fault {
			t.Errorf("%q: %v", tt.file, err)
		}
		if tt.file == "" && s.RelayInbox != "" {
			t.Error("there is an inbox that nobody asked for")
		}
	}
	if _, err := load(t, "profile = \"write_protected\"\n", "PFSENSE_RELAY_INBOX=/srv/inbox"); err == nil {
		t.Error("the environment sets an inbox")
	}
}

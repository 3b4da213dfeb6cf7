package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/test/daemontest"
)

// say runs the specimen with arguments alone and returns code and output.
func say(t *testing.T, env []string, args ...string) (int, string) {
	t.Helper()
	p := daemontest.Start(t, daemontest.Options{Args: args, Env: append(env, "DAEMON_TEST_MOOD=well")})
	return p.Wait(), p.Output()
}

func TestCheckConfigTellsEveryFaultAtOnceAndNoValue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(file, []byte("sandbox = \"hush-hush\"\nsocket_dir = \"relative\"\nsandbx = 1\nlog_max_bytes = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := say(t, []string{"PFSENSE_API_URL=https://x"}, "--config", file, "--check-config")
	if code != ExitStart {
		t.Errorf("exit code %d", code)
	}
	mentions(t, out, "x.toml:1", "sandbox", "x.toml:2", "socket_dir", "x.toml:3", "sandbx", "x.toml:4", "log_max_bytes", "PFSENSE_API_URL")
	for _, secret := range []string{"hush-hush", "relative"} {
		if strings.Contains(out, secret) {
			t.Errorf("a value is shown: %s", out)
		}
	}
	// A start tells the same.
	code, again := say(t, []string{"PFSENSE_API_URL=https://x"}, "--config", file)
	if code != ExitStart || again != out {
		t.Errorf("a start ends with %d and says:\n%s", code, again)
	}
}

func TestCheckConfigOfAGoodFileIsOneLine(t *testing.T) {
	s := newSite(t)
	code, out := say(t, nil, "--config", s.config, "--check-config")
	if code != ExitOK || out != "specimen: the settings are fine\n" {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	s = newSite(t, `operators = ["no-such-user-here"]`)
	code, out = say(t, nil, "--config", s.config, "--check-config")
	if code != ExitOK || !strings.Contains(out, "warning: on this host") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	code, out = say(t, nil, "--config", s.config)
	if code != ExitStart || !strings.Contains(out, "no-such-user-here") {
		t.Errorf("a start with an unknown operator: exit code %d:\n%s", code, out)
	}
}

// A key that cannot be read is what keeps most daemons from starting: whoever
// checks the settings must hear of it, but may be another user than the daemon.
func TestCheckConfigTriesToReadTheKeys(t *testing.T) {
	s := newSite(t)
	p := daemontest.Start(t, daemontest.Options{Args: []string{"--config", s.config, "--check-config"}, Env: []string{"DAEMON_TEST_MOOD=no secret"}})
	if code := p.Wait(); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
	mentions(t, p.Output(), "warning", "the key is not readable; chmod it", "the settings are fine")
}

func TestAFileThatWasNamedMustBeThere(t *testing.T) {
	code, out := say(t, nil, "--config", filepath.Join(t.TempDir(), "none.toml"), "--check-config")
	if code != ExitStart {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestUsageFitsAScreenAndEveryFlagIsInIt(t *testing.T) {
	code, out := say(t, nil, "--help")
	if code != ExitOK {
		t.Errorf("exit code %d", code)
	}
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if len(l) > 80 {
			t.Errorf("%d bytes: %s", len(l), l)
		}
	}
	mentions(t, out, "--config PATH", "--check-config", "--help-config", "--log-file PATH", "--version", "Exit:", "Example:", "guidance", "for mcpd")
}

func TestAWrongCommandLineIsUsage(t *testing.T) {
	for _, args := range [][]string{{"--no-such"}, {"serve"}, {"--log-file", "relative"}, {"--config"}} {
		code, out := say(t, nil, args...)
		if code != ExitUsage || !strings.Contains(out, "try specimen --help") {
			t.Errorf("%v: exit code %d:\n%s", args, code, out)
		}
	}
}

func TestVersionAndHelpConfigNeedNoSettings(t *testing.T) {
	code, out := say(t, nil, "--version")
	if code != ExitOK || !strings.HasPrefix(out, "specimen ") || strings.Count(out, "\n") != 1 || !strings.Contains(out, "go1.") {
		t.Errorf("exit code %d: %q", code, out)
	}
	code, out = say(t, nil, "--help-config")
	if code != ExitOK {
		t.Errorf("exit code %d", code)
	}
	mentions(t, out, "sandbox", "PFSENSE_SANDBOX", "socket_dir", "key_file", "log_backup_count")
}

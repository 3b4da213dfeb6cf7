package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/install/doctor/internal/finding"
	"pfsensemcp/pkg/install/internal/accounts"
)

var now = time.Now()

// gids are the numbers of the groups.
var gids = map[string]int{accounts.Clients: 70001, accounts.Operators: 70002, accounts.Mcpd: 70003}

// lay makes a machine below a temporary root, as the package and mcpctl setup leave
// one.
func lay(t *testing.T) *Host {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give files to groups")
	}
	// Below /tmp itself: a socket's path has 108 bytes.
	root, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	h := &Host{Root: root, RootUID: uint32(os.Getuid()), Synced: func(context.Context) (bool, error) { return true, nil }}
	put := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(h.at(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.at(path), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(h.at(path), mode); err != nil {
			t.Fatal(err)
		}
	}
	groups := ""
	for _, g := range []string{accounts.Clients, accounts.Mcpd, accounts.Operators} {
		groups += fmt.Sprintf("%s:x:%d:\n", g, gids[g])
	}
	groups = strings.TrimRight(groups, "\n") + "olga\n"
	put("/etc/group", groups+"tss:x:99999:\n", 0o644)
	put("/etc/passwd", fmt.Sprintf("root:x:0:0::/root:/bin/sh\npfsense-mcpd:x:901:%d::/nonexistent:/usr/sbin/nologin\n", gids[accounts.Mcpd]), 0o644)
	put("/etc/pfsense-mcp/mcpd.toml", "", 0o644)
	put(readKey, "", 0o600)
	chmod(t, h, "/etc/pfsense-mcp", 0o755)
	chmod(t, h, credentialsDir, 0o700)
	for _, s := range sockets {
		dir := filepath.Join(runDir, s.name)
		if err := os.MkdirAll(h.at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", h.at(filepath.Join(dir, s.name+".sock")))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		for _, path := range []string{dir, filepath.Join(dir, s.name+".sock")} {
			if err := os.Chown(h.at(path), -1, gids[s.group]); err != nil {
				t.Fatal(err)
			}
		}
		chmod(t, h, filepath.Join(dir, s.name+".sock"), 0o660)
		chmod(t, h, dir, 0o750)
	}
	chmod(t, h, runDir, 0o755)
	put(tpmDevice, "", 0o660)
	return h
}

func chmod(t *testing.T, h *Host, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(h.at(path), mode); err != nil {
		t.Fatal(err)
	}
}

func examine(t *testing.T, h *Host, change ...func(*Moment)) *finding.List {
	t.Helper()
	m := Moment{Now: now, Built: now.Add(-time.Hour), Started: map[string]time.Time{"mcpd": now.Add(-time.Minute)}}
	for _, f := range change {
		f(&m)
	}
	l := &finding.List{Part: "suite"}
	h.Examine(t.Context(), l, m)
	h.Device(l)
	return l
}

func TestAMachineThatIsLaidOutRightPasses(t *testing.T) {
	for _, c := range examine(t, lay(t)).Checks {
		if c.Status != finding.Pass {
			t.Errorf("%+v", c)
		}
	}
}

func TestEveryWallThatFellIsFound(t *testing.T) {
	group := func(h *Host, name, members string) {
		b, err := os.ReadFile(h.at("/etc/group"))
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, name+":") {
				line = strings.TrimRight(line, "\n") + members + "\n"
			}
			out = append(out, line)
		}
		if err := os.WriteFile(h.at("/etc/group"), []byte(strings.Join(out, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		breaks func(t *testing.T, h *Host)
		id     string
		status finding.Status
		says   string
	}{
		{"TestReview13 a member too many", func(_ *testing.T, h *Host) { group(h, accounts.Mcpd, "eve") }, "group.pfsense-mcpd", finding.Fail, "eve"},
		{"TestReview13 another user's own group", func(t *testing.T, h *Host) {
			f, err := os.OpenFile(h.at("/etc/passwd"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(f, "mallory:x:1001:%d::/:/bin/sh\n", gids[accounts.Mcpd])
			f.Close()
		}, "group.pfsense-mcpd", finding.Fail, "mallory"},
		{"no group", func(t *testing.T, h *Host) {
			if err := os.WriteFile(h.at("/etc/group"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "group.pfsense-mcpd", finding.Fail, "no such group"},
		{"no list of groups", func(_ *testing.T, h *Host) { _ = os.Remove(h.at("/etc/group")) }, "group.pfsense-mcpd", finding.Unknown, "cannot be read"},
		{"TestReview27 one person in both groups", func(_ *testing.T, h *Host) {
			group(h, accounts.Clients, "ann,bob")
			group(h, accounts.Operators, ",bob")
		}, "group.operators", finding.Warn, "bob"},
		{"nobody operates", func(t *testing.T, h *Host) {
			text := fmt.Sprintf("%s:x:%d:\n%s:x:%d:\n", accounts.Mcpd, gids[accounts.Mcpd], accounts.Operators, gids[accounts.Operators])
			if err := os.WriteFile(h.at("/etc/group"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "operators.present", finding.Warn, "no member"},
		{"no group of operators", func(_ *testing.T, h *Host) { _ = os.WriteFile(h.at("/etc/group"), nil, 0o644) }, "operators.present", finding.Fail, "no group"},
		{"a directory that others may enter", func(t *testing.T, h *Host) { chmod(t, h, runDir+"/exec", 0o755) }, "runtime.directories", finding.Fail, "exec"},
		{"a socket that others may open", func(t *testing.T, h *Host) { chmod(t, h, runDir+"/exec/exec.sock", 0o666) }, "runtime.directories", finding.Fail, "exec.sock"},
		{"a directory that is gone", func(_ *testing.T, h *Host) { _ = os.RemoveAll(h.at(runDir + "/docs")) }, "runtime.directories", finding.Fail, "docs is not there"},
		{"a directory that somebody else made", func(_ *testing.T, h *Host) { h.RootUID++ }, "runtime.directories", finding.Fail, "another owner"},
		{"a directory of another group", func(t *testing.T, h *Host) {
			if err := os.Chown(h.at(runDir+"/exec"), -1, gids[accounts.Clients]); err != nil {
				t.Fatal(err)
			}
		}, "runtime.directories", finding.Fail, "exec has another owner or group"},
		{"a link in a directory's place", func(t *testing.T, h *Host) {
			_ = os.RemoveAll(h.at(runDir + "/docs"))
			if err := os.Symlink("/tmp", h.at(runDir+"/docs")); err != nil {
				t.Fatal(err)
			}
		}, "runtime.directories", finding.Fail, "docs is"},
		{"settings that others may write", func(t *testing.T, h *Host) { chmod(t, h, "/etc/pfsense-mcp/mcpd.toml", 0o666) }, "settings.files", finding.Fail, "mcpd.toml"},
		{"settings of another user", func(_ *testing.T, h *Host) { h.RootUID++ }, "settings.files", finding.Fail, settingsDir},
		{"a key that others may read", func(t *testing.T, h *Host) { chmod(t, h, readKey, 0o640) }, "settings.files", finding.Fail, "read-api-key"},
		{"a directory of keys that others may enter", func(t *testing.T, h *Host) { chmod(t, h, credentialsDir, 0o750) }, "settings.files", finding.Fail, "credentials"},
		{"an old key", func(t *testing.T, h *Host) { age(t, h, 400*24*time.Hour) }, "key.age", finding.Warn, "400 days"},
		{"a key of the future", func(t *testing.T, h *Host) { age(t, h, -time.Hour) }, "key.age", finding.Warn, "set back"},
		{"a key in another place", func(_ *testing.T, h *Host) { _ = os.Remove(h.at(readKey)) }, "key.age", finding.Unknown, "no key where mcpctl setup puts one"},
		{"no time server", func(_ *testing.T, h *Host) {
			h.Synced = func(context.Context) (bool, error) { return false, nil }
		}, "clock.host", finding.Warn, "no time server"},
		{"nobody who knows", func(_ *testing.T, h *Host) {
			h.Synced = func(context.Context) (bool, error) { return true, errors.New("x") }
		}, "clock.host", finding.Unknown, "nothing here"},
		{"a TPM for all", func(t *testing.T, h *Host) { chmod(t, h, tpmDevice, 0o666) }, "tpm.device", finding.Fail, "everybody"},
		{"a member of tss", func(_ *testing.T, h *Host) { group(h, tpmGroup, "pfsense-executord,eve") }, "tpm.device", finding.Warn, ": eve:"},
		{"no TPM", func(_ *testing.T, h *Host) { _ = os.Remove(h.at(tpmDevice)) }, "tpm.device", finding.Unknown, "/dev/tpmrm0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := lay(t)
			tt.breaks(t, h)
			checks := examine(t, h).Checks
			i := slices.IndexFunc(checks, func(c finding.Check) bool { return c.ID == tt.id })
			if i < 0 || checks[i].Status != tt.status || !strings.Contains(checks[i].Detail, tt.says) {
				t.Errorf("%+v", checks)
			} else if checks[i].Status == finding.Fail && checks[i].Next == "" {
				t.Error("a fault without a next step")
			}
		})
	}
}

func age(t *testing.T, h *Host, d time.Duration) {
	t.Helper()
	at := now.Add(-d)
	if err := os.Chtimes(h.at(readKey), at, at); err != nil {
		t.Fatal(err)
	}
}

func TestAClockThatWasSetBackIsSeen(t *testing.T) {
	for name, change := range map[string]func(*Moment){
		"before the program was made": func(m *Moment) { m.Built = now.Add(time.Hour) },
		"before a daemon started":     func(m *Moment) { m.Started["mcpd"] = now.Add(time.Hour) },
	} {
		for _, c := range examine(t, lay(t), change).Checks {
			if c.ID == "clock.host" && c.Status != finding.Fail {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

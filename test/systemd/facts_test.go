package systemd

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// setting is one line of a unit.
type setting struct{ section, key, value string }

type unit []setting

// read reads a unit: ours have neither continued lines nor quotes.
func read(t *testing.T, path string) unit {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var u unit
	section := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		default:
			key, value, ok := strings.Cut(line, "=")
			if !ok {
				t.Fatalf("%s: %q", path, line)
			}
			u = append(u, setting{section, key, value})
		}
	}
	return u
}

// all returns the words of every line with the key.
func (u unit) all(key string) []string {
	var out []string
	for _, s := range u {
		if s.key == key {
			out = append(out, strings.Fields(s.value)...)
		}
	}
	return out
}

func (u unit) get(key string) string { return strings.Join(u.all(key), " ") }

func (u unit) has(key string) bool {
	return slices.ContainsFunc(u, func(s setting) bool { return s.key == key })
}

func service(t *testing.T, daemon string) unit {
	return read(t, filepath.Join(deploy, "units", "pfsense-"+daemon+".service"))
}

func TestTheServicesSayWhatTheDesignDecides(t *testing.T) {
	for daemon := range exposure {
		u := service(t, daemon)
		for key, want := range map[string]string{
			"Type": "notify", "User": "pfsense-" + daemon, "Group": "pfsense-" + daemon,
			"Restart": "on-failure", "NoNewPrivileges": "yes", "LimitCORE": "0",
			"CapabilityBoundingSet": "", "SystemCallArchitectures": "native", "MemorySwapMax": "0",
			// 2 would keep down a daemon that ended in a panic, or by the
			// watchdog: the Go runtime turns SIGABRT into it.
			"RestartPreventExitStatus": "1",
		} {
			if got := u.get(key); got != want || !u.has(key) {
				t.Errorf("%s: %s=%s, want %s", daemon, key, got, want)
			}
		}
		for _, key := range []string{"MemoryMax", "TasksMax", "WatchdogSec", "TimeoutStartSec", "TimeoutStopSec", "SystemCallFilter", "IPAddressDeny"} {
			if u.get(key) == "" {
				t.Errorf("%s: no %s=", daemon, key)
			}
		}
		for key, why := range map[string]string{
			"PrivateUsers":     "it turns the uid of every peer into 65534",
			"RuntimeDirectory": "tmpfiles.d makes the directories, and stopping must not remove them",
			"DynamicUser":      "the daemons admit each other by uid",
			"ExecStartPre":     "checks are inside the daemon",
			"Environment":      "settings are in the file",
		} {
			if u.has(key) {
				t.Errorf("%s: %s= is there, but %s", daemon, key, why)
			}
		}
		// A refused call must fail, not kill, so that the daemon can say why.
		if u.get("SystemCallErrorNumber") != "EPERM" {
			t.Errorf("%s: SystemCallErrorNumber=%s", daemon, u.get("SystemCallErrorNumber"))
		}
		for _, call := range u.all("SystemCallFilter") {
			if daemon == "executord-witness" && (call == "bind" || call == "listen") {
				continue // it has no socket unit
			}
			if strings.ContainsAny(call, "@~") || slices.Contains([]string{"execve", "execveat", "ptrace", "bind", "listen", "sendmsg", "recvmsg", "io_uring_setup", "unshare", "setns", "mount", "bpf"}, call) {
				t.Errorf("%s: the list of calls has %s", daemon, call)
			}
		}
	}
	for daemon, rows := range map[string]map[string]string{
		"guidanced": {"PrivateNetwork": "yes", "RestrictAddressFamilies": "AF_UNIX", "IPAddressDeny": "any", "IPAddressAllow": ""},
		"executord": {
			"DevicePolicy": "closed", "DeviceAllow": "/dev/tpmrm0 rw", "PrivateDevices": "", "ProtectClock": "",
			"IPAddressDeny": "any", "IPAddressAllow": "", "RestrictAddressFamilies": "AF_UNIX", "TimeoutStopSec": "300",
			"TimeoutStartSec": "30", "TimeoutStartFailureMode": "abort", // pkg/daemon asks for steps of 30 s
		},
		"mcpd": {
			"PrivateDevices": "yes", "DeviceAllow": "", "StateDirectory": "", "CacheDirectory": "", "ReadWritePaths": "",
			"IPAddressDeny": "any", "LoadCredential": "read-api-key:/etc/pfsense-mcp/credentials/read-api-key",
		},
		"executord-witness": {
			"DevicePolicy": "closed", "DeviceAllow": "/dev/tpmrm0 rw", "PrivateDevices": "", "ProtectClock": "", "StateDirectory": "", "ReadWritePaths": "",
			"IPAddressDeny": "any", "IPAddressAllow": "", "TimeoutStopSec": "90", "SupplementaryGroups": "tss",
		},
		"docfetchd": {"PrivateDevices": "yes", "StateDirectory": "", "CacheDirectory": "", "ReadWritePaths": "", "LoadCredential": ""},
	} {
		u := service(t, daemon)
		for key, want := range rows {
			if got := u.get(key); got != want {
				t.Errorf("%s: %s=%s, want %s", daemon, key, got, want)
			}
		}
	}
}

// The unit's filter comes before that of pkg/sandbox: what the inner one keeps for
// a store, the outer one must not take away.
func TestExecutordsUnitAllowsEveryCallOfAStore(t *testing.T) {
	b, err := os.ReadFile("../../pkg/sandbox/syscalls.go")
	if err != nil {
		t.Fatal(err)
	}
	_, calls, ok := strings.Cut(string(b), "func fileCalls() []string {")
	found := regexp.MustCompile(`"([a-z0-9_]+)"`).FindAllStringSubmatch(calls, -1)
	if !ok || len(found) < 10 {
		t.Fatalf("pkg/sandbox shows %d calls of a store", len(found))
	}
	allowed := service(t, "executord").all("SystemCallFilter")
	for _, call := range found {
		if !slices.Contains(allowed, call[1]) {
			t.Errorf("executord's unit does not allow %s", call[1])
		}
	}
}

// sockets are the seven of the design: directory's group, and the unit's name.
var sockets = []struct{ name, group, daemon, unit string }{
	{"mcp", "pfsense-mcp", "mcpd", "pfsense-mcpd.socket"},
	{"mcpd-admin", "pfsense-mcp-admin", "mcpd", "pfsense-mcpd-admin.socket"},
	{"guidance", "pfsense-mcpd", "guidanced", "pfsense-guidanced.socket"},
	{"docs", "pfsense-mcpd", "docfetchd", "pfsense-docfetchd.socket"},
	{"docs-admin", "pfsense-mcp-admin", "docfetchd", "pfsense-docfetchd-admin.socket"},
	{"exec", "pfsense-mcpd", "executord", "pfsense-executord.socket"},
	{"exec-admin", "pfsense-mcp-admin", "executord", "pfsense-executord-admin.socket"},
}

func TestTheSocketsStandWhereTheDesignPutsThem(t *testing.T) {
	target := read(t, filepath.Join(deploy, "units", "pfsense-mcp.target"))
	tmpfiles, err := os.ReadFile(filepath.Join(deploy, "tmpfiles.d", "pfsense-mcp.conf"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(deploy, "units", "*.socket"))
	if err != nil || len(found) != len(sockets) {
		t.Errorf("%d socket units, want %d (%v)", len(found), len(sockets), err)
	}
	for _, s := range sockets {
		u := read(t, filepath.Join(deploy, "units", s.unit))
		for key, want := range map[string]string{
			"ListenStream": "/run/pfsense-mcp/" + s.name + "/" + s.name + ".sock", "FileDescriptorName": s.name,
			"Service": "pfsense-" + s.daemon + ".service", "SocketUser": "root", "SocketGroup": s.group,
			"SocketMode": "0660", "DirectoryMode": "0750",
		} {
			if got := u.get(key); got != want {
				t.Errorf("%s: %s=%s, want %s", s.unit, key, got, want)
			}
		}
		svc := service(t, s.daemon)
		for _, key := range []string{"Sockets", "Requires", "After"} {
			if !slices.Contains(svc.all(key), s.unit) {
				t.Errorf("%s: %s= lacks %s", s.daemon, key, s.unit)
			}
		}
		if !slices.Contains(target.all("Wants"), s.unit) {
			t.Errorf("the target lacks %s", s.unit)
		}
		line := []string{"d", "/run/pfsense-mcp/" + s.name, "0750", "root", s.group, "-"}
		if !slices.ContainsFunc(strings.Split(string(tmpfiles), "\n"), func(l string) bool { return slices.Equal(strings.Fields(l), line) }) {
			t.Errorf("tmpfiles.d lacks %q", line)
		}
	}
}

// program is the command that a daemon is, with flags.
func program(bin, daemon string, flags ...string) *exec.Cmd {
	args := map[string][]string{"mcpd": {"mcpd", "serve"}, "executord-witness": {"executord", "witness"}}[daemon]
	if args == nil {
		args = []string{daemon}
	}
	return exec.Command(filepath.Join(bin, args[0]), append(args[1:], flags...)...)
}

// checkConfig asks a daemon what it thinks of a settings file.
func checkConfig(bin, daemon, path string) (string, error) {
	out, err := program(bin, daemon, "--config", path, "--check-config").CombinedOutput()
	return string(out), err
}

func TestTheExampleSettingsLoad(t *testing.T) {
	dir := programsBuilt(t)
	for daemon := range exposure {
		path, err := filepath.Abs(filepath.Join(deploy, "examples", daemon+".toml"))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := checkConfig(dir, daemon, path); err != nil || !strings.Contains(out, "the settings are fine") {
			t.Errorf("%s: %v\n%s", daemon, err, out)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// A key that does not exist is refused, so the line above says something.
		spoiled := filepath.Join(t.TempDir(), daemon+".toml")
		if err := os.WriteFile(spoiled, append([]byte("no_such_key = 1\n"), b...), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := checkConfig(dir, daemon, spoiled); err == nil || !strings.Contains(out, "no_such_key") {
			t.Errorf("%s takes an unknown key: %v\n%s", daemon, err, out)
		}
	}
}

func TestTheExampleOfAnExecutordThatWritesLoadsOnceItIsUncommented(t *testing.T) {
	text, err := exampleOn()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "executord.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := checkConfig(programsBuilt(t), "executord", path); err != nil || !strings.Contains(out, "the settings are fine") {
		t.Errorf("%v\n%s\n%s", err, out, text)
	}
	// The credentials that it names are those that the drop-in loads.
	b, err := os.ReadFile(filepath.Join(deploy, "examples/executord-write.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range writeCredentials {
		if !strings.Contains(text, `"`+name+`"`) || !strings.Contains(string(b), "="+name+":") {
			t.Errorf("%s is not in both examples", name)
		}
	}
}

func TestTheKeysShownInCommentsExist(t *testing.T) {
	dir := programsBuilt(t)
	for daemon := range exposure {
		help, err := program(dir, daemon, "--help-config").Output()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(deploy, "examples", daemon+".toml"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "# ")
			if key, _, ok := strings.Cut(line, " = "); ok && !strings.ContainsAny(key, " .:") && !strings.Contains(string(help), "\n# "+key+" = ") {
				t.Errorf("%s: %s is no setting", daemon, key)
			}
			if strings.HasPrefix(line, "[") && !strings.Contains(string(help), "# "+line) {
				t.Errorf("%s: %s is no table", daemon, line)
			}
		}
	}
}

// elsewhere are flags of other commands that a daemon's page has.
var elsewhere = map[string][]string{
	"mcpd":      {"--socket", "--doctor"},
	"executord": {"--root-key", "--pinned-head", "--export"},
	// Of the commands that set one up.
	"executord-witness": {"--kind", "--write", "--define", "--first", "--now"},
}

func TestTheManPagesAndTheProgramsAgree(t *testing.T) {
	dir := programsBuilt(t)
	flag := regexp.MustCompile(`--[a-z]+(-[a-z]+)*`)
	for daemon := range exposure {
		help, err := program(dir, daemon, "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(deploy, "man", daemon+".8"))
		if err != nil {
			t.Fatal(err)
		}
		page := strings.ReplaceAll(string(b), `\-`, "-")
		for _, f := range flag.FindAllString(string(help), -1) {
			if !strings.Contains(page, f) && f != "--help" {
				t.Errorf("%s.8 does not have %s", daemon, f)
			}
		}
		for _, f := range flag.FindAllString(page, -1) {
			if !strings.Contains(string(help), f) && !slices.Contains(elsewhere[daemon], f) {
				t.Errorf("%s.8 has %s, which is no flag", daemon, f)
			}
		}
		for _, s := range sockets {
			if path := "/run/pfsense-mcp/" + s.name + "/" + s.name + ".sock"; s.daemon == daemon && !strings.Contains(page, path) {
				t.Errorf("%s.8 does not have %s", daemon, path)
			}
		}
	}
	units, err := filepath.Glob(filepath.Join(deploy, "units", "*"))
	if err != nil || len(units) == 0 {
		t.Fatal(err)
	}
	for _, path := range units {
		for _, doc := range read(t, path).all("Documentation") {
			name, section, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(doc, "man:"), ")"), "(")
			if _, err := os.Stat(filepath.Join(deploy, "man", name+"."+section)); !ok || err != nil {
				t.Errorf("%s: %s is no page of ours", path, doc)
			}
		}
	}
}

// inset finds the commands in a program's help: the first word of a line that is
// set in.
var inset = regexp.MustCompile(`(?m)^  (?:mcpsign )?([a-z][a-z-]*)(?: |$)`)

func TestEveryCommandOfPeopleIsInItsManPage(t *testing.T) {
	dir := programsBuilt(t)
	for program, page := range map[string]string{"mcpctl": "mcpctl.8", "mcpsign": "mcpsign.1"} {
		b, err := os.ReadFile(filepath.Join(deploy, "man", page))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(b), `\-`, "-")
		has := func(command string) bool {
			return regexp.MustCompile(`(?m)^\.BR? ` + regexp.QuoteMeta(command) + `( |$)`).MatchString(text)
		}
		help, err := exec.Command(filepath.Join(dir, program), "--help").CombinedOutput()
		commands := inset.FindAllStringSubmatch(string(help), -1)
		if len(commands) < 5 {
			t.Fatalf("%s --help: %v, %d commands\n%s", program, err, len(commands), help)
		}
		for _, m := range commands {
			if !has(m[1]) {
				t.Errorf("%s does not have %s %s", page, program, m[1])
			}
			if program != "mcpctl" || !strings.Contains(m[0], m[1]+" ") {
				continue
			}
			sub, err := exec.Command(filepath.Join(dir, program), m[1], "--help").CombinedOutput()
			if err != nil || !strings.HasPrefix(string(sub), "usage: mcpctl "+m[1]+" COMMAND") {
				continue // no group
			}
			for _, s := range inset.FindAllStringSubmatch(string(sub), -1) {
				if !has(s[1]) {
					t.Errorf("%s does not have %s %s %s", page, program, m[1], s[1])
				}
			}
		}
	}
}

func TestInstallingKeepsASettingsFileThatIsThere(t *testing.T) {
	root := t.TempDir()
	repo := t.TempDir()
	if err := os.CopyFS(filepath.Join(repo, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(repo, "deploy/install.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	install := func() (string, error) {
		out, err := exec.Command(filepath.Join(repo, "deploy/install.sh"), root).CombinedOutput()
		return string(out), err
	}
	if out, err := install(); err == nil || !strings.Contains(out, "make build") {
		t.Errorf("without programs: %v\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(repo, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"mcpd", "guidanced", "docfetchd", "executord", "mcpctl", "mcpsign"} {
		if err := os.WriteFile(filepath.Join(repo, "bin", p), []byte("x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(root, "etc/pfsense-mcp/mcpd.toml")
	if err := os.MkdirAll(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out, err := install(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if b, err := os.ReadFile(own); err != nil || string(b) != "mine" {
		t.Errorf("the settings were replaced: %q %v", b, err)
	}
	for path, mode := range map[string]fs.FileMode{
		"usr/bin/mcpd": 0o755, "usr/lib/systemd/system/pfsense-mcp.target": 0o644, "usr/lib/sysusers.d/pfsense-mcp.conf": 0o644,
		"usr/lib/tmpfiles.d/pfsense-mcp.conf": 0o644, "etc/pfsense-mcp/executord.toml": 0o644, "etc/pfsense-mcp/credentials": 0o700,
		"usr/share/man/man8/mcpd.8": 0o644, "usr/share/doc/pfsense-mcp/examples/executord-write.conf": 0o644,
	} {
		if fi, err := os.Stat(filepath.Join(root, path)); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, fi, err)
		}
	}
}

package systemd

import (
	"encoding/json"
	"strings"
	"testing"

	"pfsensemcp/test/fakepf"
)

// TestTheSuiteUnderSystemdIsSetUpByMcpctl is the story of a host that mcpctl sets up,
// looks after and leaves.
func TestTheSuiteUnderSystemdIsSetUpByMcpctl(t *testing.T) {
	if !*boot {
		t.Skip("boots a container: make test-systemd")
	}
	c := start(t)
	tell(t, c, []step{
		{"the package installs, and starts nothing", (*container).installs},
		{"a dry run shows every file and writes none", (*container).setupDry},
		{"nobody vouches for an unknown certificate", (*container).setupUnknown},
		{"setup writes, starts and examines", (*container).setupRead},
		{"a second run changes nothing, and an edit stays", (*container).setupAgain},
		{"doctor, logs and metrics are for operators", (*container).setupSeen},
		{"a key is rotated, and a bad one is taken back", (*container).setupRotated},
		{"settings that others may change are refused", (*container).setupLoose},
		{"directories that somebody else made are found, and put right as the doctor says", (*container).setupForeign},
		{"a daemon that failed too often is started by setup once it is mended", (*container).setupMended},
		{"a disk without room is told, and nothing is changed", (*container).setupFull},
		{"setup for writing makes sealed keys and leaves reading alone", (*container).setupWrite},
		{"a wall that falls is found", (*container).setupWall},
		{"uninstall undoes it and keeps what opens the store", (*container).setupUndone},
	})
}

// The command line of a first setup; the pretend appliance's CA is not in its chain.
var setupArgs = []string{
	"mcpctl", "setup", "--url", "https://127.0.0.1:8443", "--identity", "api-reader", "--key-file", "/root/read.key",
	"--ca-file", "/run/appliance/ca.pem", "--operator", "test-operator", "--operator", "test-both", "--yes",
}

// files is every file that setup could write, with its owner, mode and content.
func (c *container) files() string {
	c.t.Helper()
	return c.run("sh", "-c", `find /etc/pfsense-mcp /etc/credstore.encrypted /etc/systemd/system/pfsense-* /var/lib/pfsense-mcp ! -type d 2>/dev/null |
		sort | while read -r f; do stat -c '%n %U:%G %a' "$f"; sha256sum "$f"; done`)
}

func (c *container) setupDry() {
	c.run("systemd-run", "--quiet", "--unit=appliance", "fakepf", "--listen", "127.0.0.1:8443", "--cert-dir", "/run/appliance")
	c.until("the appliance", cmdWait, func() bool {
		_, err := c.try(cmdWait, "test", "-s", "/run/appliance/ca.pem")
		return err == nil
	})
	c.write("/root/read.key", "0600", fakepf.ReadKey+"\n")
	before := c.files()
	out := c.run(append(append([]string{}, setupArgs...), "--dry-run")...)
	for _, want := range []string{"subject", "issuer", "pin", "IPAddressAllow=127.0.0.1", `identity = "api-reader"`, "Nothing was written."} {
		if !strings.Contains(out, want) {
			c.t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if strings.Contains(out, fakepf.ReadKey) {
		c.t.Error("the key is shown")
	}
	if after := c.files(); after != before {
		c.t.Errorf("a dry run wrote:\n%s\nbefore:\n%s", after, before)
	}
}

func (c *container) setupUnknown() {
	before := c.files()
	for name, args := range map[string][]string{
		"without a pin":    {"mcpctl", "setup", "--url", "https://127.0.0.1:8443", "--identity", "api-reader", "--key-file", "/root/read.key", "--yes"},
		"with another pin": append(append([]string{}, setupArgs...), "--pin", strings.Repeat("ab", 32)),
		"as an operator":   as("test-operator", setupArgs...),
	} {
		if out, err := c.try(cmdWait, args...); err == nil || !strings.Contains(out, "next: ") {
			c.t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if after := c.files(); after != before {
		c.t.Errorf("something was written:\n%s\nbefore:\n%s", after, before)
	}
}

func (c *container) setupRead() {
	out := c.run(setupArgs...)
	for _, want := range []string{"api-v2-firewall-rules-get", "usermod -aG pfsense-mcp-admin test-operator", "privileges.read", " 0 fail"} {
		if !strings.Contains(out, want) {
			c.t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	for _, d := range daemons {
		c.until(d+" runs", cmdWait, func() bool { return c.active(d) })
	}
	if got := c.run("systemctl", "is-enabled", "pfsense-mcp.target"); got != "enabled" {
		c.t.Errorf("the target is %s", got)
	}
	if r := c.tool(c.session("test-client"), "pfsense_get_system_version", nil); r.IsError {
		c.t.Errorf("a client: %s", r.Text())
	}
	for path, want := range map[string]string{
		"/etc/pfsense-mcp/mcpd.toml": "root:root 644", "/etc/pfsense-mcp/credentials/read-api-key": "root:root 600", "/etc/pfsense-mcp/credentials": "root:root 700",
		"/etc/systemd/system/pfsense-mcpd.service.d/appliance.conf": "root:root 644", "/var/lib/pfsense-mcp/setup.json": "root:root 600", "/var/lib/pfsense-mcp": "root:root 700",
	} {
		if got := c.run("stat", "-c", "%U:%G %a", path); got != want {
			c.t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func (c *container) setupAgain() {
	before, pid := c.files(), c.pid("mcpd")
	c.run("mcpctl", "setup", "--yes") // the answers are those of the last run
	if after := c.files(); after != before || c.pid("mcpd") != pid {
		c.t.Errorf("a second run changed something, or restarted mcpd:\n%s\nbefore:\n%s", after, before)
	}
	c.run("sh", "-c", "echo '# mine' >>/etc/pfsense-mcp/mcpd.toml")
	out := c.run("mcpctl", "setup", "--identity", "other", "--yes")
	if !strings.Contains(out, "LEFT") || !strings.Contains(c.run("tail", "-n", "1", "/etc/pfsense-mcp/mcpd.toml"), "# mine") {
		c.t.Errorf("an edit is gone:\n%s", out)
	}
	c.run("sed", "-i", "/^# mine$/d", "/etc/pfsense-mcp/mcpd.toml")
	c.run("mcpctl", "setup", "--identity", "api-reader", "--yes")
}

// doctor runs the doctor and returns the status of each check.
func (c *container) doctor(args ...string) map[string]string {
	c.t.Helper()
	out, _ := c.try(2*cmdWait, args...) // its exit code is that of the findings
	var r struct {
		Checks []struct{ Check_id, Status string } //nolint:revive // as the JSON has it
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
	found := map[string]string{}
	for _, x := range r.Checks {
		found[x.Check_id] = x.Status
	}
	return found
}

func (c *container) setupSeen() {
	found := c.doctor("mcpctl", "doctor", "--json", "--no-probes")
	for _, id := range []string{"group.pfsense-mcpd", "runtime.directories", "settings.files", "key.age", "tls.verified", "key.accepted"} {
		if found[id] != "pass" {
			c.t.Errorf("%s is %q", id, found[id])
		}
	}
	found = c.doctor(as("test-operator", "mcpctl", "doctor", "--json", "--no-probes")...)
	if found["mcpd.reachable"] != "pass" || found["settings.files"] != "unknown" {
		c.t.Errorf("an operator: %v", found)
	}
	if out, err := c.try(cmdWait, as("test-client", "mcpctl", "metrics")...); err == nil {
		c.t.Errorf("a client gets metrics:\n%s", out)
	}
	if out := c.run(as("test-operator", "mcpctl", "metrics")...); !strings.Contains(out, `goroutines{daemon="executord"}`) {
		c.t.Errorf("metrics:\n%s", out)
	}
	out := c.run("mcpctl", "logs", "-n", "2000")
	for _, want := range []string{"executord INFO  serving", "pfsense-mcpd.service", "request_id=", "tool=pfsense_get_system_version"} {
		if !strings.Contains(out, want) {
			c.t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if out, err := c.try(cmdWait, "timeout", "2", "mcpctl", "logs", "-f", "-n", "5"); err == nil || !strings.Contains(out, "INFO") {
		c.t.Errorf("logs -f: %v\n%s", err, out)
	}
}

func (c *container) setupRotated() {
	const path = "/etc/pfsense-mcp/credentials/read-api-key"
	c.write("/root/bad.key", "0600", "not-a-key-of-the-appliance\n")
	pid := c.pid("mcpd")
	out, err := c.try(2*cmdWait, "mcpctl", "rotate-key", "--key-file", "/root/bad.key", "--yes")
	if err == nil || !strings.Contains(out, "the old one is back") {
		c.t.Errorf("a bad key: %v\n%s", err, out)
	}
	c.until("mcpd runs", cmdWait, func() bool { return c.active("mcpd") })
	if got := c.run("cat", path); got != fakepf.ReadKey || c.pid("mcpd") == pid {
		c.t.Errorf("the old key is not back: %q", got)
	}
	if r := c.tool(c.session("test-client"), "pfsense_get_system_version", nil); r.IsError {
		c.t.Errorf("after a bad key: %s", r.Text())
	}
	c.write("/root/open.key", "0644", fakepf.ReadKey+"\n")
	pid = c.pid("mcpd")
	if out, err := c.try(cmdWait, "mcpctl", "rotate-key", "--key-file", "/root/open.key", "--yes"); err == nil || c.pid("mcpd") != pid {
		c.t.Errorf("a key that others can read: %v\n%s", err, out)
	}
	if out := c.run("mcpctl", "rotate-key", "--key-file", "/root/read.key", "--yes"); !strings.Contains(out, "in use") {
		c.t.Errorf("%s", out)
	}
	if r := c.tool(c.session("test-client"), "pfsense_get_system_version", nil); r.IsError {
		c.t.Errorf("after the rotation: %s", r.Text())
	}
}

func (c *container) setupWrite() {
	c.write("/root/write.key", "0600", fakepf.WriteKey+"\n")
	pid := c.pid("mcpd")
	out, _ := c.try(2*cmdWait, "mcpctl", "setup", "--write", "--write-key-file", "/root/write.key", "--store-id", "office", "--account", "api-writer", "--yes")
	for _, want := range []string{"mcpsign keygen", "api-v2-firewall-alias-patch", "authorities.json is not there yet"} {
		if !strings.Contains(out, want) {
			c.t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	for _, name := range []string{"root-key", "attestation-key", "nv-auth", "write-api-key"} {
		path := "/etc/credstore.encrypted/pfsense-executord." + name
		if got := c.run("stat", "-c", "%U:%G %a", path); got != "root:root 600" {
			c.t.Errorf("%s is %s", path, got)
		}
		plain := c.run("systemd-creds", "decrypt", "--name="+name, path, "-")
		if name == "write-api-key" && plain != fakepf.WriteKey || name == "root-key" && !strings.Contains(plain, `"key_id":"k1"`) {
			c.t.Errorf("%s holds another secret", path)
		}
	}
	if out := c.run("systemctl", "show", "--property=NeedDaemonReload,IPAddressAllow,StateDirectory", "pfsense-executord"); !strings.Contains(out, "127.0.0.1") || !strings.Contains(out, "NeedDaemonReload=no") {
		c.t.Errorf("the unit has not read its drop-in:\n%s", out)
	}
	if c.pid("mcpd") != pid {
		c.t.Error("mcpd was restarted although nothing of it changed")
	}
	before := c.files()
	c.try(2*cmdWait, "mcpctl", "setup", "--write", "--yes") // its exit code is the doctor's
	if after := c.files(); after != before {
		c.t.Errorf("a second run changed something:\n%s\nbefore:\n%s", after, before)
	}
}

func (c *container) setupWall() {
	c.run("usermod", "-aG", "pfsense-mcpd", "test-client")
	if found := c.doctor("mcpctl", "doctor", "suite", "--json", "--no-probes"); found["group.pfsense-mcpd"] != "fail" {
		c.t.Errorf("a member too many is %s", found["group.pfsense-mcpd"])
	}
	c.run("gpasswd", "-d", "test-client", "pfsense-mcpd")
}

// ends starts a daemon that must not start, and returns what it says. It is not tried
// again by itself.
func (c *container) ends(daemon string) string {
	c.t.Helper()
	if out, err := c.try(cmdWait, "systemctl", "restart", "pfsense-"+daemon); err == nil {
		c.t.Errorf("%s starts:\n%s", daemon, out)
	}
	if got := c.show("pfsense-"+daemon, "NRestarts"); got != "0" {
		c.t.Errorf("%s was tried again %s times", daemon, got)
	}
	return c.run("journalctl", "-u", "pfsense-"+daemon, "-n", "20", "-o", "cat", "--no-pager")
}

func (c *container) setupLoose() {
	const path = "/etc/pfsense-mcp/mcpd.toml"
	for _, how := range [][3]string{{"chmod", "0666", "0644"}, {"chown", "test-client", "root"}} {
		c.run(how[0], how[1], path)
		if out := c.ends("mcpd"); !strings.Contains(out, path+" can be changed by somebody else than root") {
			c.t.Errorf("%s %s:\n%s", how[0], how[1], out)
		}
		c.run(how[0], how[2], path)
		c.run("systemctl", "reset-failed", "pfsense-mcpd")
	}
	c.run("systemctl", "restart", "pfsense-mcpd")
}

func (c *container) setupForeign() {
	c.run("sh", "-c", `systemctl stop pfsense-mcp.target 'pfsense-*.socket' 'pfsense-*.service' 2>&1; rm -r /run/pfsense-mcp; install -d -m 0777 -o test-stranger /run/pfsense-mcp`)
	c.run(as("test-stranger", "mkdir", "/run/pfsense-mcp/exec", "/run/pfsense-mcp/mcp")...)
	c.run("systemctl", "start", "pfsense-mcp.target")
	for _, d := range daemons {
		c.until(d+" refuses", cmdWait, func() bool { return c.show("pfsense-"+d, "ActiveState") == "failed" })
		if out := c.run("journalctl", "-u", "pfsense-"+d, "-n", "20", "-o", "cat", "--no-pager"); !strings.Contains(out, "is not where it is safe") {
			c.t.Errorf("%s:\n%s", d, out)
		}
	}
	out, _ := c.try(2*cmdWait, "mcpctl", "doctor", "suite", "--json", "--no-probes") // its exit code is that of the findings
	var r struct {
		Checks []struct{ Check_id, Status, Next string } //nolint:revive // as the JSON has it
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
	for _, x := range r.Checks {
		if x.Check_id != "runtime.directories" {
			continue
		}
		_, command, ok := strings.Cut(x.Next, "then: ")
		if x.Status != "fail" || !ok {
			c.t.Fatalf("the doctor finds %+v", x)
		}
		c.run("sh", "-c", command)
	}
	for _, d := range daemons {
		c.until(d+" runs again", cmdWait, func() bool { return c.active(d) })
	}
	if found := c.doctor("mcpctl", "doctor", "suite", "--json", "--no-probes"); found["runtime.directories"] != "pass" {
		c.t.Errorf("afterwards the directories are %q", found["runtime.directories"])
	}
	if r := c.tool(c.session("test-client"), "pfsense_get_system_version", nil); r.IsError {
		c.t.Errorf("a client: %s", r.Text())
	}
}

func (c *container) setupMended() {
	c.run("mv", "/etc/pfsense-mcp/credentials/read-api-key", "/root/kept.key")
	c.until("systemd gives up", cmdWait, func() bool {
		out, err := c.try(cmdWait, "systemctl", "restart", "pfsense-mcpd")
		if err == nil {
			c.t.Fatal("mcpd starts without its key")
		}
		return strings.Contains(out, "too quickly") || c.show("pfsense-mcpd", "Result") == "start-limit-hit" || strings.Contains(c.run("journalctl", "-u", "pfsense-mcpd", "-n", "4", "-o", "cat", "--no-pager"), "too quickly")
	})
	c.run("mv", "/root/kept.key", "/etc/pfsense-mcp/credentials/read-api-key")
	c.try(cmdWait, "mcpctl", "setup", "--yes") // its exit code is the doctor's
	c.until("mcpd runs", cmdWait, func() bool { return c.active("mcpd") })
}

func (c *container) setupFull() {
	before := c.files()
	for _, dir := range []string{"/var/lib/pfsense-mcp", "/etc/systemd/system/pfsense-docfetchd.service.d"} {
		c.run("sh", "-c", `d=$1; mkdir -p "$d"; mkdir /run/full; mount -t tmpfs -o size=16k,mode=0755 none /run/full; cp -a "$d/." /run/full/; dd if=/dev/zero of=/run/full/filler bs=4k 2>/dev/null; mount --bind /run/full "$d"`, "sh", dir)
		out, err := c.try(cmdWait, "mcpctl", "setup", "--docs-resolver", "--identity", "other", "--yes", "--no-start")
		if err == nil || !strings.Contains(out, "nothing was changed") || !strings.Contains(out, "next: ") {
			c.t.Errorf("no room in %s: %v\n%s", dir, err, out)
		}
		c.run("sh", "-c", `umount "$1" /run/full && rmdir /run/full`, "sh", dir)
	}
	c.run("rmdir", "/etc/systemd/system/pfsense-docfetchd.service.d")
	if after := c.files(); after != before {
		c.t.Errorf("something was written:\n%s\nbefore:\n%s", after, before)
	}
}

func (c *container) setupUndone() {
	if out, err := c.try(cmdWait, "mcpctl", "uninstall", "--purge-store", "--yes"); err == nil || !strings.Contains(out, "terminal") {
		c.t.Errorf("a purge without a person: %v\n%s", err, out)
	}
	out := c.run("mcpctl", "uninstall", "--yes")
	if !strings.Contains(out, "kept: it opens the contract store") {
		c.t.Errorf("%s", out)
	}
	for _, d := range daemons {
		if c.active(d) {
			c.t.Errorf("%s runs", d)
		}
	}
	for _, path := range []string{"/etc/pfsense-mcp/credentials/read-api-key", "/etc/credstore.encrypted/pfsense-executord.write-api-key", "/etc/systemd/system/pfsense-mcpd.service.d", "/etc/systemd/system/pfsense-executord.service.d"} {
		if _, err := c.try(cmdWait, "test", "-e", path); err == nil {
			c.t.Errorf("%s stays", path)
		}
	}
	c.run("test", "-s", "/etc/credstore.encrypted/pfsense-executord.root-key")
	// The package's own files are back as it ships them.
	if out := c.run("sh", "-c", "dpkg --verify pfsense-mcp"); out != "" {
		c.t.Errorf("dpkg finds changed:\n%s", out)
	}
}

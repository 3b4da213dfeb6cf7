package systemd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Versions of the two packages; the second one upgrades the first.
const (
	versionOne = "0.9.0"
	versionTwo = "0.9.1"
)

// packed makes both packages, once a test run, and returns their directory. Both
// hold the same programs: what is tried is what an upgrade does to the host.
var packed = sync.OnceValues(func() (string, error) {
	programs, err := build()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "systemd-deb")
	if err != nil {
		return "", err
	}
	temporary = append(temporary, dir)
	for _, version := range []string{versionOne, versionTwo} {
		cmd := exec.Command("go", "run", "./deploy/release", "-bin", programs, "-out", dir, "-version", version, "-kinds", "deb")
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("packing: %w\n%s", err, out)
		}
	}
	return dir, nil
})

// deb is the package of a version, in the container.
func deb(version string) string {
	return "/opt/pfsense-mcp_" + version + "_" + runtime.GOARCH + ".deb"
}

func (c *container) installs() {
	if out := c.run("dpkg", "--install", deb(versionOne)); strings.Contains(out, "warning") {
		c.t.Errorf("dpkg warns:\n%s", out)
	}
	c.run("systemd-sysusers", "/opt/test-users.conf")
	for _, d := range daemons {
		if got := c.show("pfsense-"+d, "ActiveState"); got != "inactive" {
			c.t.Errorf("%s is %s after installing", d, got)
		}
	}
	if got := c.run("systemctl", "show", "--value", "--property=UnitFileState", "pfsense-mcp.target"); got != "disabled" {
		c.t.Errorf("the target is %s after installing", got)
	}
	if out := c.run("sh", "-c", "dpkg --verify pfsense-mcp; for p in mcpd guidanced docfetchd executord mcpctl mcpsign; do [ -x /usr/bin/$p ] || echo no $p; done"); out != "" {
		c.t.Errorf("what dpkg installed:\n%s", out)
	}
	if got := c.run("stat", "-c", "%U:%G %a", "/etc/pfsense-mcp/credentials"); got != "root:root 700" {
		c.t.Errorf("the keys' directory is %s", got)
	}
}

// kept is what belongs to people and must outlive packages, as it is.
func (c *container) kept() string {
	c.t.Helper()
	return c.run("sh", "-c", `cd / && find etc/pfsense-mcp etc/credstore.encrypted etc/systemd/system/pfsense-* ! -type d -exec sha256sum {} + |
		sort -k2 && stat -c '%n %U:%G %a' etc/pfsense-mcp/*.toml var/lib/pfsense-executord var/lib/pfsense-executord/*`)
}

func (c *container) upgraded() {
	// One that was stopped by hand stays stopped: nobody asked for it.
	c.run("systemctl", "stop", "pfsense-docfetchd.socket", "pfsense-docfetchd-admin.socket", "pfsense-docfetchd.service")
	before := c.kept()
	for _, path := range []string{"etc/pfsense-mcp/mcpd.toml", "var/lib/pfsense-executord/store.db", "etc/credstore.encrypted/pfsense-executord.root-key"} {
		if !strings.Contains(before, path) {
			c.t.Fatalf("the story needs %s:\n%s", path, before)
		}
	}
	old := map[string]string{}
	for _, d := range []string{"mcpd", "guidanced", "executord"} {
		old[d] = c.pid(d)
	}
	// --force-confdef would hide a question; without a terminal dpkg fails at one.
	c.run("dpkg", "--install", deb(versionTwo))
	if got := c.run("dpkg-query", "--show", "--showformat=${Version} ${db:Status-Status}", "pfsense-mcp"); got != versionTwo+" installed" {
		c.t.Errorf("dpkg has %s", got)
	}
	if after := c.kept(); after != before {
		c.t.Errorf("the upgrade changed what is people's:\n%s\nbefore:\n%s", after, before)
	}
	for d, pid := range old {
		c.replaced(d, pid, cmdWait)
	}
	if got := c.show("pfsense-docfetchd", "ActiveState"); got != "inactive" {
		c.t.Errorf("the upgrade made docfetchd %s, which was stopped", got)
	}
	if r := c.tool(c.session("test-client"), "pfsense_get_interfaces", nil); r.IsError {
		c.t.Errorf("after the upgrade: %s", r.Text())
	}
	c.sound()
	c.run("systemctl", "start", "pfsense-mcp.target")
}

func (c *container) removed() {
	c.run("systemctl", "enable", "--now", "pfsense-mcp.target")
	for _, d := range daemons {
		c.until(d+" runs", cmdWait, func() bool { return c.active(d) })
	}
	before := c.kept()
	c.run("dpkg", "--remove", "pfsense-mcp")
	if after := c.kept(); after != before {
		c.t.Errorf("removing changed what is people's:\n%s\nbefore:\n%s", after, before)
	}
	// pgrep exits 1 when there is none.
	if out, err := c.try(cmdWait, "pgrep", "-a", "-f", "^/usr/bin/(mcpd|guidanced|docfetchd|executord)"); err == nil {
		c.t.Errorf("these still run:\n%s", out)
	}
	for _, path := range []string{"/usr/bin/mcpd", "/usr/lib/systemd/system/pfsense-mcp.target", "/run/pfsense-mcp", "/etc/systemd/system/multi-user.target.wants/pfsense-mcp.target"} {
		if _, err := c.try(cmdWait, "test", "-e", path); err == nil {
			c.t.Errorf("%s stays", path)
		}
	}
	if out := c.run("sh", "-c", "systemctl list-units --all --plain --no-legend 'pfsense-*' | grep -v not-found || true"); strings.Contains(out, "active") {
		c.t.Errorf("systemd still has:\n%s", out)
	}
	// Their numbers are on files of theirs.
	for _, d := range daemons {
		c.run("id", "-u", "pfsense-"+d)
	}
}

func (c *container) purged() {
	const store = "/var/lib/pfsense-executord/store.db"
	gone := func(paths ...string) {
		c.t.Helper()
		for _, p := range paths {
			if _, err := c.try(cmdWait, "test", "-e", p); err == nil {
				c.t.Errorf("%s stays after purging", p)
			}
		}
	}
	c.write("/etc/pfsense-mcp/credentials/read-api-key", "0600", "key")
	out := c.run("dpkg", "--purge", "pfsense-mcp")
	if !strings.Contains(out, "stays") {
		c.t.Errorf("purging does not say that the store stays:\n%s", out)
	}
	gone("/etc/pfsense-mcp/mcpd.toml", "/etc/pfsense-mcp/credentials", "/etc/systemd/system/pfsense-mcpd.service.d")
	c.run("test", "-s", store)
	c.run("test", "-s", "/etc/pfsense-mcp/authorities.json")
	c.run("test", "-s", "/etc/credstore.encrypted/pfsense-executord.root-key")

	c.run("dpkg", "--install", deb(versionTwo))
	c.run("test", "-s", store)
	c.run("env", "PFSENSE_MCP_PURGE_STORE=yes", "dpkg", "--purge", "pfsense-mcp")
	gone(filepath.Dir(store), "/etc/pfsense-mcp", "/etc/credstore.encrypted/pfsense-executord.root-key", "/etc/systemd/system/pfsense-executord.service.d")
	if got := c.run("sh", "-c", "dpkg-query --show --showformat='${db:Status-Status}' pfsense-mcp 2>/dev/null || echo unknown"); got != "unknown" && got != "not-installed" {
		c.t.Errorf("dpkg has it %s", got)
	}
}

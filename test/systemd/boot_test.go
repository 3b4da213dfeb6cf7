package systemd

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/rawmcp"
)

var daemons = []string{"mcpd", "guidanced", "docfetchd", "executord"}

// step is one of a story, each on what the one before it left.
type step struct {
	name string
	run  func(*container)
}

// tell runs a story up to the first step that fails, and then shows what the
// daemons said.
func tell(t *testing.T, c *container, story []step) {
	t.Helper()
	for _, s := range story {
		if t.Run(s.name, func(t *testing.T) { s.run(c.in(t)) }) {
			continue
		}
		for _, d := range daemons {
			out, _ := c.try(cmdWait, "journalctl", "--no-pager", "-n", "30", "-o", "cat", "-u", "pfsense-"+d)
			t.Logf("journal of %s:\n%s", d, out)
		}
		return
	}
}

// TestTheSuiteUnderSystemd is one story: a host is installed, used and hurt.
func TestTheSuiteUnderSystemd(t *testing.T) {
	if !*boot {
		t.Skip("boots a container: make test-systemd")
	}
	c := start(t)
	tell(t, c, []step{
		{"the package installs, and starts nothing", (*container).installs},
		{"a person writes settings and the key", (*container).site},
		{"the target starts all four and every socket", (*container).target},
		{"without its drop-in mcpd reaches no address", (*container).closed},
		{"a member of the group talks MCP", (*container).talk},
		{"the kernel holds what the units say", (*container).held},
		{"sockets belong to whom they should", (*container).owners},
		{"the access matrix is the design's", (*container).matrix},
		{"the key is for mcpd alone", (*container).credentials},
		{"inside each unit the outer walls stand by themselves", (*container).outerWalls},
		{"a site that writes opens what its drop-in names", (*container).writing},
		{"an appliance may have a name", (*container).named},
		{"operators see the suite", (*container).operators},
		{"reload reads the key again", (*container).reload},
		{"a daemon that was stopped starts with the first call", (*container).activation},
		{"one request id joins the journals", (*container).journals},
		{"a killed daemon comes back", (*container).killed},
		{"a silent daemon is replaced by the watchdog", (*container).silent},
		{"a start that cannot succeed is not tried again", (*container).hopeless},
		{"the key may be encrypted at rest", (*container).encrypted},
		{"a change is asked for, approved and proven", (*container).writes},
		{"an upgrade keeps settings, keys and store", (*container).upgraded},
		{"stopping the target stops all", (*container).stopped},
		{"removing keeps what is people's", (*container).removed},
		{"purging keeps the store, unless it is told", (*container).purged},
	})
}

// site is what an operator does after installing, beside a pretend appliance.
func (c *container) site() {
	c.t.Helper()
	c.run("systemd-run", "--quiet", "--unit=appliance", "fakepf", "--listen", "127.0.0.1:8443", "--cert-dir", "/run/appliance")
	c.until("the appliance", cmdWait, func() bool {
		_, err := c.try(cmdWait, "test", "-s", "/run/appliance/ca.pem")
		return err == nil
	})
	c.run("install", "-m", "0644", "/run/appliance/ca.pem", "/etc/pfsense-mcp/appliance-ca.pem")
	c.write("/etc/pfsense-mcp/credentials/read-api-key", "0600", fakepf.ReadKey+"\n")
	b, err := os.ReadFile(filepath.Join(deploy, "examples/mcpd.toml"))
	if err != nil {
		c.t.Fatal(err)
	}
	settings := string(b)
	for old, new := range map[string]string{
		`"https://192.0.2.1"`: `"https://127.0.0.1:8443"`, `tls_mode = "strict"`: `tls_mode = "auto"`,
		"# tls_ca_file =": "tls_ca_file =", "operators = []": `operators = ["test-operator", "test-both"]`,
	} {
		if !strings.Contains(settings, old) {
			c.t.Fatalf("the example of mcpd has no %q", old)
		}
		settings = strings.Replace(settings, old, new, 1)
	}
	c.write("/etc/pfsense-mcp/mcpd.toml", "0644", settings)
	for _, d := range []string{"docfetchd", "executord"} {
		c.run("sed", "-i", `s/^operators = .*/operators = ["test-operator", "test-both"]/`, "/etc/pfsense-mcp/"+d+".toml")
	}
}

func (c *container) active(daemon string) bool {
	return c.show("pfsense-"+daemon, "ActiveState") == "active" && c.show("pfsense-"+daemon, "SubState") == "running"
}

func (c *container) pid(daemon string) string {
	c.t.Helper()
	pid := c.show("pfsense-"+daemon, "MainPID")
	if n, err := strconv.Atoi(pid); err != nil || n == 0 {
		c.t.Fatalf("%s does not run", daemon)
	}
	return pid
}

func (c *container) target() {
	c.run("systemctl", "start", "pfsense-mcp.target")
	for _, d := range daemons {
		c.until(d+" runs", cmdWait, func() bool { return c.active(d) })
	}
	for _, s := range sockets {
		if got := c.show(s.unit, "ActiveState"); got != "active" {
			c.t.Errorf("%s is %s", s.unit, got)
		}
	}
	if out := c.run("systemctl", "--failed", "--plain", "--no-legend"); out != "" {
		c.t.Errorf("failed units:\n%s", out)
	}
}

// session is an MCP session of a user, through the real shim.
func (c *container) session(user string) *rawmcp.Client {
	c.t.Helper()
	line := c.enter(as(user, "mcpd", "stdio")...)
	m, err := rawmcp.Start(context.Background(), os.Stderr, line[0], line[1:]...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = m.Close() }) // the test is over
	if _, err := m.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		c.t.Fatal(err)
	}
	return m
}

func (c *container) tool(m *rawmcp.Client, name string, args map[string]any) rawmcp.ToolResult {
	c.t.Helper()
	r, err := m.Tool(name, args)
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	return r
}

func (c *container) closed() {
	if r := c.tool(c.session("test-client"), "pfsense_get_system_version", nil); !r.IsError {
		c.t.Errorf("IPAddressDeny=any lets mcpd through: %s", r.Text())
	}
	c.write("/etc/systemd/system/pfsense-mcpd.service.d/appliance.conf", "0644", "[Service]\nIPAddressAllow=127.0.0.1\n")
	c.run("systemctl", "daemon-reload")
	c.run("systemctl", "restart", "pfsense-mcpd")
}

func (c *container) talk() {
	m := c.session("test-client")
	names, err := m.Tools()
	if err != nil || len(names) < 95 {
		c.t.Fatalf("%d tools, %v", len(names), err)
	}
	for _, name := range []string{"pfsense_get_system_version", "pfsense_get_firewall_rules", "pfsense_get_interfaces", "pfsense_mcp_info"} {
		if r := c.tool(m, name, nil); r.IsError {
			c.t.Errorf("%s: %s", name, r.Text())
		}
	}
	if r := c.tool(m, catalog.GuidanceTool, map[string]any{"capability": "FIREWALL_READ"}); r.IsError {
		c.t.Errorf("guidance: %s", r.Text())
	}
	// One who is in no group does not get to the socket, and is told why.
	out, err := c.feed(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n", cmdWait, as("test-stranger", "mcpd", "stdio")...)
	if err == nil || !strings.Contains(out, "pfsense-mcp") {
		c.t.Errorf("a stranger's shim: %v\n%s", err, out)
	}
}

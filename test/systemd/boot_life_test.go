package systemd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/rawmcp"
)

func (c *container) reload() {
	pid := c.pid("mcpd")
	c.run("systemctl", "reload", "pfsense-mcpd")
	c.until("the word of it", cmdWait, func() bool {
		return strings.Contains(c.run("journalctl", "-u", "pfsense-mcpd", "-o", "cat", "--no-pager"), `"msg":"reloaded"`)
	})
	if now := c.pid("mcpd"); now != pid {
		c.t.Errorf("mcpd was restarted: %s, then %s", pid, now)
	}
}

func (c *container) activation() {
	m := c.session("test-client")
	c.run("systemctl", "stop", "pfsense-guidanced.service")
	if c.active("guidanced") {
		c.t.Fatal("guidanced was not stopped")
	}
	if r := c.tool(m, catalog.GuidanceTool, map[string]any{"capability": "FIREWALL_READ"}); r.IsError {
		c.t.Errorf("the first call after stop: %s", r.Text())
	}
	if !c.active("guidanced") {
		c.t.Error("guidanced answers and does not run")
	}
	// mcpd itself, by a new shim.
	c.run("systemctl", "stop", "pfsense-mcpd.service")
	if r := c.tool(c.session("test-client"), "pfsense_get_interfaces", nil); r.IsError {
		c.t.Errorf("the first call after mcpd was stopped: %s", r.Text())
	}
	c.run("systemctl", "stop", "pfsense-docfetchd.service", "pfsense-executord.service")
	c.run(as("test-operator", "/opt/probe", probeWord, "sockets")...)
	for _, d := range []string{"docfetchd", "executord"} {
		c.until(d+" runs again", cmdWait, func() bool { return c.active(d) })
	}
}

// entry is a line of a journal.
type entry struct {
	Unit    string `json:"_SYSTEMD_UNIT"`
	Message string `json:"MESSAGE"`
	Prio    string `json:"PRIORITY"`
}

func (c *container) journal(daemon string) []entry {
	c.t.Helper()
	var out []entry
	dec := json.NewDecoder(strings.NewReader(c.run("journalctl", "-u", "pfsense-"+daemon, "-o", "json", "--no-pager")))
	for {
		var e entry
		if err := dec.Decode(&e); err == io.EOF {
			return out
		} else if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, e)
	}
}

func (c *container) journals() {
	m := c.session("test-client")
	if r := c.tool(m, catalog.GuidanceTool, map[string]any{"capability": "FIREWALL_READ"}); r.IsError {
		c.t.Fatal(r.Text())
	}
	caller, err := strconv.Atoi(c.run("id", "-u", "test-client"))
	if err != nil {
		c.t.Fatal(err)
	}
	var id string
	c.until("the audit line", cmdWait, func() bool {
		for _, e := range c.journal("mcpd") {
			var rec map[string]any
			if json.Unmarshal([]byte(e.Message), &rec) == nil && rec["audit"] == true && rec["tool"] == catalog.GuidanceTool {
				id = fmt.Sprint(rec["request_id"])
				if rec["caller_uid"] != float64(caller) {
					c.t.Errorf("the audit line has caller %v, want %d", rec["caller_uid"], caller)
				}
				if e.Prio != "5" { // as every line of level INFO
					c.t.Errorf("the audit line has priority %s", e.Prio)
				}
			}
		}
		return id != ""
	})
	c.until("the same id in guidanced's journal", cmdWait, func() bool {
		return slices.ContainsFunc(c.journal("guidanced"), func(e entry) bool { return strings.Contains(e.Message, id) })
	})
	for _, d := range daemons {
		for _, e := range c.journal(d) {
			if e.Unit == "pfsense-"+d+".service" && !json.Valid([]byte(e.Message)) {
				c.t.Errorf("%s wrote a line that is not JSON: %s", d, e.Message)
			}
			if e.Unit != "pfsense-"+d+".service" && e.Unit != "init.scope" {
				c.t.Errorf("the journal of %s has a line of %s", d, e.Unit)
			}
		}
	}
}

// replaced waits until a daemon runs as another process.
func (c *container) replaced(daemon, old string, within time.Duration) {
	c.t.Helper()
	c.until(daemon+" runs anew", within, func() bool {
		return c.active(daemon) && c.show("pfsense-"+daemon, "MainPID") != old
	})
}

func (c *container) killed() {
	m := c.session("test-client")
	for _, d := range daemons {
		pid := c.pid(d)
		c.run("kill", "-KILL", pid)
		c.replaced(d, pid, cmdWait)
	}
	// With write off, as before: a new executord does not take a drop-in for a
	// configuration.
	c.until("word that write is off", cmdWait, func() bool {
		out, err := c.try(cmdWait, as("test-operator", "mcpctl", "status")...)
		return err == nil && strings.Contains(out, "write is off")
	})
	// The shim finds the new mcpd by itself.
	c.until("the session goes on", cmdWait, func() bool {
		r, err := m.Tool("pfsense_get_interfaces", nil)
		if e, ok := errors.AsType[*rawmcp.Error](err); ok && e.Code == -32050 {
			return false // it says that mcpd is restarting
		}
		if err != nil || r.IsError {
			c.t.Fatalf("after every daemon was killed: %v %s", err, r.Text())
		}
		return true
	})
	if r := c.tool(m, catalog.GuidanceTool, map[string]any{"capability": "FIREWALL_READ"}); r.IsError {
		c.t.Errorf("after every daemon was killed: %s", r.Text())
	}
}

// silent shortens the watchdog's time, not what it does.
func (c *container) silent() {
	for _, d := range daemons {
		c.write("/run/systemd/system/pfsense-"+d+".service.d/watchdog.conf", "0644", "[Service]\nWatchdogSec=4\n")
	}
	c.run("systemctl", "daemon-reload")
	c.run("systemctl", "restart", "pfsense-mcpd", "pfsense-guidanced", "pfsense-docfetchd", "pfsense-executord")
	old := map[string]string{}
	for _, d := range daemons {
		old[d] = c.pid(d)
		c.run("kill", "-STOP", old[d])
	}
	for _, d := range daemons {
		c.replaced(d, old[d], cmdWait)
		if out := c.run("journalctl", "-u", "pfsense-"+d, "-o", "cat", "--no-pager"); !strings.Contains(out, "Watchdog timeout") {
			c.t.Errorf("%s was replaced, and not by the watchdog:\n%s", d, out)
		}
		c.run("rm", "-r", "/run/systemd/system/pfsense-"+d+".service.d")
	}
	c.run("systemctl", "daemon-reload")
	c.run("systemctl", "restart", "pfsense-mcpd", "pfsense-guidanced", "pfsense-docfetchd", "pfsense-executord")
}

func (c *container) hopeless() {
	c.run("cp", "-p", "/etc/pfsense-mcp/guidanced.toml", "/run/guidanced.toml")
	c.write("/etc/pfsense-mcp/guidanced.toml", "0644", "no_such_key = 1\n")
	if out, err := c.try(cmdWait, "systemctl", "restart", "pfsense-guidanced.service"); err == nil {
		c.t.Errorf("half a configuration starts: %s", out)
	}
	if got := c.show("pfsense-guidanced", "ActiveState") + " " + c.show("pfsense-guidanced", "ExecMainStatus") + " " + c.show("pfsense-guidanced", "NRestarts"); got != "failed 1 0" {
		c.t.Errorf("state, exit code and restarts: %s", got)
	}
	if out := c.run("journalctl", "-u", "pfsense-guidanced", "-o", "cat", "--no-pager"); !strings.Contains(out, "guidanced.toml:1") {
		c.t.Errorf("the fault is not in the journal:\n%s", out)
	}
	c.run("mv", "/run/guidanced.toml", "/etc/pfsense-mcp/guidanced.toml")
	c.run("systemctl", "restart", "pfsense-mcp.target")
	for _, d := range daemons {
		c.until(d+" runs after it was mended", cmdWait, func() bool { return c.active(d) })
	}
}

func (c *container) encrypted() {
	b, err := os.ReadFile(filepath.Join(deploy, "examples/mcpd-encrypted-key.conf"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.run("mkdir", "-p", "-m", "0700", "/etc/credstore.encrypted")
	c.run("systemd-creds", "encrypt", "--with-key=host", "--name=read-api-key",
		"/etc/pfsense-mcp/credentials/read-api-key", "/etc/credstore.encrypted/pfsense-mcpd.read-api-key")
	c.run("rm", "/etc/pfsense-mcp/credentials/read-api-key")
	c.write("/etc/systemd/system/pfsense-mcpd.service.d/encrypted-key.conf", "0644", string(b))
	c.run("systemctl", "daemon-reload")
	c.run("systemctl", "restart", "pfsense-mcpd")
	if r := c.tool(c.session("test-client"), "pfsense_get_interfaces", nil); r.IsError {
		c.t.Errorf("with the encrypted key: %s", r.Text())
	}
}

func (c *container) stopped() {
	// systemctl waits for the target's own job; those of its parts end after it.
	c.run("systemctl", "stop", "pfsense-mcp.target")
	for _, d := range daemons {
		c.until(d+" inactive", cmdWait, func() bool { return c.show("pfsense-"+d, "ActiveState") == "inactive" })
		if got := c.show("pfsense-"+d, "Result"); got != "success" {
			c.t.Errorf("%s ended with %s", d, got)
		}
	}
	for _, s := range sockets {
		c.until(s.name+".sock gone", cmdWait, func() bool {
			_, err := c.try(cmdWait, "test", "-e", "/run/pfsense-mcp/"+s.name+"/"+s.name+".sock")
			return err != nil
		})
	}
}

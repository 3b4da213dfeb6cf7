package systemd

import (
	"fmt"
	"strings"
)

// named has the appliance by name: the resolver's files and sockets must be
// inside every wall.
func (c *container) named() {
	c.run("sed", "-i", "s|^api_url = .*|api_url = \"https://localhost:8443\"|", "/etc/pfsense-mcp/mcpd.toml")
	c.run("systemctl", "restart", "pfsense-mcpd")
	if r := c.tool(c.session("test-client"), "pfsense_get_interfaces", nil); r.IsError {
		c.t.Errorf("an appliance with a name: %s", r.Text())
	}
	c.run("sed", "-i", "s|^api_url = .*|api_url = \"https://127.0.0.1:8443\"|", "/etc/pfsense-mcp/mcpd.toml")
	c.run("systemctl", "restart", "pfsense-mcpd")
}

// operators see the suite, and nobody else does.
func (c *container) operators() {
	out := c.run(as("test-operator", "mcpctl", "status")...)
	for _, d := range daemons {
		if !strings.Contains(out, d) {
			c.t.Errorf("%s is not in an operator's status:\n%s", d, out)
		}
	}
	for _, user := range []string{"test-client", "test-stranger", "pfsense-mcpd"} {
		if out, err := c.try(cmdWait, as(user, "mcpctl", "status")...); err == nil {
			c.t.Errorf("%s gets a status:\n%s", user, out)
		}
	}
}

// writeCredentials are what the drop-in of a site that writes loads.
var writeCredentials = []string{"root-key", "attestation-key", "nv-auth", "write-api-key"}

// writing is the drop-in of a site that writes: its walls are wider, by just
// what it names.
func (c *container) writing() {
	var text string
	for line := range strings.Lines(c.writeDropIn()) {
		// No udev is in the container that would announce the device.
		if !strings.HasPrefix(line, "Wants=") && !strings.HasPrefix(line, "After=") {
			text += line
		}
	}
	c.run("sh", "-c", "getent group tss || groupadd --system tss")
	c.run("sh", "-c", "rm -f /dev/tpmrm0 /dev/walls-other; mknod -m 0660 /dev/tpmrm0 c 240 1; chown root:tss /dev/tpmrm0; mknod -m 0666 /dev/walls-other c 240 2")
	c.run("mkdir", "-p", "-m", "0700", "/etc/credstore.encrypted")
	for _, name := range writeCredentials {
		c.run("sh", "-c", `echo secret | systemd-creds encrypt --with-key=host --name="$1" - "/etc/credstore.encrypted/pfsense-executord.$1"`, "sh", name)
	}
	c.write("/etc/systemd/system/pfsense-executord.service.d/write.conf", "0644", text)
	c.run("systemctl", "daemon-reload")
	c.run("systemctl", "restart", "pfsense-executord")
	if got := c.run("stat", "-c", "%U:%G %a", "/var/lib/pfsense-executord"); got != "pfsense-executord:pfsense-executord 700" {
		c.t.Errorf("the store's directory is %s", got)
	}
	got := c.inPlaceOf("executord", text)
	for what, want := range map[string]string{
		"appliance": "ok", "elsewhere": "timeout", "tpm": "ENXIO", "device": "EPERM",
		"netlink": "EAFNOSUPPORT", "packet": "EAFNOSUPPORT", "socket-exec-admin": "no-entry",
		"key-of-mcpd": "ENOENT", // a unit with credentials sees its own alone
	} {
		if got[what] != want {
			c.t.Errorf("in the unit of an executord that writes, %s: %s, want %s", what, got[what], want)
		}
	}
	// The store, the device and the credentials are nobody else's.
	c.run("sh", "-c", "echo x >/var/lib/pfsense-executord/store && chown pfsense-executord: /var/lib/pfsense-executord/store")
	paths := []string{"/var/lib/pfsense-executord/store", "/dev/tpmrm0", "/run/credentials/pfsense-executord.service/write-api-key", "/etc/credstore.encrypted/pfsense-executord.write-api-key"}
	for _, user := range []string{"test-client", "test-operator", "test-both", "test-stranger", "nobody", "pfsense-mcpd", "pfsense-guidanced", "pfsense-docfetchd"} {
		want := ""
		for _, p := range paths {
			want += fmt.Sprintln(p, "EACCES")
		}
		if out := c.run(as(user, append([]string{"/opt/probe", probeWord, "files"}, paths...)...)...); out+"\n" != want {
			c.t.Errorf("%s:\n%s", user, out)
		}
	}
}

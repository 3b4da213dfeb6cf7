package systemd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/writepath"
)

// exampleOn is the example of executord's settings with its write path
// uncommented.
func exampleOn() (string, error) {
	b, err := os.ReadFile(filepath.Join(deploy, "examples/executord.toml"))
	if err != nil {
		return "", err
	}
	head, writing, ok := strings.Cut(string(b), "\n#\n# store_dir")
	if !ok {
		return "", errors.New("the example of executord shows no write path")
	}
	out := head + "\n"
	for line := range strings.Lines("# store_dir" + writing) {
		line, _ = strings.CutPrefix(strings.TrimPrefix(line, "#"), " ")
		out += line
	}
	return out, nil
}

// change takes a text to be in the settings and puts another in its place.
func change(text string, pairs ...string) (string, error) {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			return "", fmt.Errorf("there is no %q in\n%s", pairs[i], text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text, nil
}

// writeSite is what an operator does for an executord that writes, beside the
// drop-in: keys, owners, settings. The TPM is an emulated one, and so it is a
// laboratory.
func (c *container) writeSite(tpm string) {
	c.t.Helper()
	root, err1 := keyfile.NewRoot("k1", 1)
	attest, err2 := keyfile.NewAttestation(artifacttest.ExecutorID)
	auth, err3 := keyfile.NewCounterAuth()
	owners, err4 := artifacttest.Owners().Encode()
	text, err5 := exampleOn()
	settings, err6 := change(text,
		`operators = []`, "operators = [\"test-operator\", \"test-both\"]\nlab = true",
		`store_id = "office"`, `store_id = "lab-office"`, `"https://192.0.2.1"`, `"https://127.0.0.1:8443"`,
		`tls_mode = "strict"`, "tls_mode = \"auto\"\nca_file = \"/etc/pfsense-mcp/appliance-ca.pem\"",
		`"device:/dev/tpmrm0"`, `"`+tpm+`"`)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		c.t.Fatal(err)
	}
	for name, key := range map[string][]byte{"root-key": root, "attestation-key": attest, "nv-auth": auth, "write-api-key": []byte(fakepf.WriteKey + "\n")} {
		if out, err := c.feed(string(key), cmdWait, "systemd-creds", "encrypt", "--with-key=host", "--name="+name, "-", "/etc/credstore.encrypted/pfsense-executord."+name); err != nil {
			c.t.Fatalf("systemd-creds: %v\n%s", err, out)
		}
	}
	c.write("/etc/pfsense-mcp/authorities.json", "0644", string(owners))
	c.write("/etc/pfsense-mcp/executord.toml", "0644", settings)
	c.run("sed", "-i", `1i profile = "write_protected"`, "/etc/pfsense-mcp/mcpd.toml")
	c.run("systemctl", "restart", "pfsense-executord", "pfsense-mcpd")
}

// softwareTPM starts an emulated TPM that only one user reaches, and returns its
// address.
func (c *container) softwareTPM(user string) string {
	c.t.Helper()
	c.run("install", "-d", "-m", "0755", "/run/test-tpm")
	c.run("install", "-d", "-m", "0700", "/run/test-tpm/state")
	c.run("systemd-run", "--quiet", "--unit=test-tpm", "swtpm", "socket", "--tpm2", "--tpmstate", "dir=/run/test-tpm/state",
		"--server", "type=unixio,path=/run/test-tpm/tpm.sock", "--ctrl", "type=unixio,path=/run/test-tpm/ctrl.sock", "--flags", "not-need-init,startup-clear")
	c.until("the TPM", cmdWait, func() bool {
		_, err := c.try(cmdWait, "chown", user, "/run/test-tpm/tpm.sock")
		return err == nil
	})
	return "unix:/run/test-tpm/tpm.sock"
}

// atTerminal runs mcpctl as the operator at a terminal and says yes to what it asks,
// as often as that takes.
func (c *container) atTerminal(args string) string {
	c.t.Helper()
	return c.run("sh", "-c", `(while sleep 0.3; do echo yes; done) | setpriv --reuid=test-operator --regid=test-operator --init-groups script -qec "$1" /dev/null`, "sh", "mcpctl "+args)
}

// asked is what mcpctl prints as JSON for the operator.
func (c *container) asked(into any, args ...string) {
	c.t.Helper()
	out := c.run(as("test-operator", append([]string{"mcpctl"}, args...)...)...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		c.t.Fatalf("mcpctl %v: %v\n%s", args, err, out)
	}
}

// writes is a change from the wish of an MCP client to its proof on the
// appliance, behind every wall of the units.
func (c *container) writes() {
	c.run("rm", "-f", "/var/lib/pfsense-executord/store") // that of another step
	c.writeSite(c.softwareTPM("pfsense-executord"))
	c.provision()
	c.changes()
	c.survives()
}

// changes is a change by an executord that is provisioned.
func (c *container) changes() {
	c.t.Helper()
	wish := "Printers that the office reaches, under systemd"
	m := c.session("test-client")
	ask := func() string {
		r := c.tool(m, catalog.WriteTool, map[string]any{"alias_name": writepath.Alias, "description": wish})
		if r.IsError {
			c.t.Fatalf("the wish: %s", r.Text())
		}
		return r.Text()
	}
	if text := ask(); !strings.Contains(text, "requested") {
		c.t.Fatalf("the wish: %s", text)
	}
	var list struct {
		Requests []struct {
			ID string `json:"request_id"`
		}
		Contracts []struct {
			ID    string `json:"contract_id"`
			State string
		}
	}
	c.asked(&list, "write", "list", "--json")
	if len(list.Requests) != 1 {
		c.t.Fatalf("%d requests", len(list.Requests))
	}
	// The files go to their owners and back.
	const dir = "/run/test-ceremony/"
	c.run("install", "-d", "-m", "0700", "-o", "test-operator", dir)
	carry := func(from, to string, sign func([]byte) ([]byte, error)) {
		c.t.Helper()
		file, err := sign([]byte(c.run("cat", dir+from)))
		if err != nil {
			c.t.Fatal(err)
		}
		c.write(dir+to, "0644", string(file))
	}
	c.run(as("test-operator", "mcpctl", "write", "preview", list.Requests[0].ID, "-o", dir+"preview.json", "--yes")...)
	carry("preview.json", "authorization.json", func(b []byte) ([]byte, error) { return writepath.SignPreview(c.t, b) })
	c.run(as("test-operator", "mcpctl", "write", "authorize", dir+"authorization.json", "--yes")...)
	c.asked(&list, "write", "list", "--json")
	if len(list.Contracts) != 1 {
		c.t.Fatalf("%d contracts", len(list.Contracts))
	}
	c.run(as("test-operator", "mcpctl", "write", "pending", list.Contracts[0].ID, "-o", dir+"pending.json")...)
	carry("pending.json", "confirmation.json", func(b []byte) ([]byte, error) { return writepath.SignPending(c.t, b) })
	out := c.run(as("test-operator", "mcpctl", "write", "confirm", dir+"confirmation.json", "--yes")...)
	if text := ask(); !strings.Contains(text, "verified") {
		c.t.Errorf("the client is told %s; confirm said:\n%s", text, out)
	}
	if got := c.tool(m, "pfsense_get_firewall_aliases", map[string]any{"where": []string{"name = " + writepath.Alias}}).Text(); !strings.Contains(got, wish) {
		c.t.Errorf("on the appliance: %s", got)
	}
}

// survives kills executord: what is stored outlives the process, and the counter
// agrees.
func (c *container) survives() {
	c.t.Helper()
	pid := c.pid("executord")
	c.run("kill", "-KILL", pid)
	c.replaced("executord", pid, cmdWait)
	c.sound()
}

// sound says whether executord, with write on, finds its store as it was left.
func (c *container) sound() {
	c.t.Helper()
	c.run(as("test-operator", "mcpctl", "anchor", "status")...)
	if out := c.run(as("test-operator", "mcpctl", "audit", "verify")...); !strings.Contains(out, "sound") {
		c.t.Errorf("the audit: %s", out)
	}
	if out := c.run(as("test-operator", "mcpctl", "status")...); strings.Contains(out, "write is off") {
		c.t.Errorf("write is off:\n%s", out)
	}
}

// provision ties the store to the TPM's counter, step by step, at a terminal.
func (c *container) provision() {
	c.t.Helper()
	const handle = " --handle 0x01500000"
	for range 10 {
		var at struct {
			Step    string
			Next    string
			Witness *uint64 `json:"witness_value"`
		}
		c.asked(&at, "anchor", "status", "--json")
		switch at.Step {
		case "operational":
			return
		case "value_read", "seeded", "agreed":
			c.atTerminal(fmt.Sprintf("anchor seed --value %d", *at.Witness) + handle)
		default:
			c.atTerminal("anchor provision" + handle)
		}
	}
	c.t.Fatal("ten steps do not provision the counter")
}

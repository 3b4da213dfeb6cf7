package systemd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/fakepf"
)

// TestTheSuiteUnderSystemdCountsOnAWitnessHost is the story of a witness host, and of a
// site that writes with it. One container is both: what stands between them is TLS.
func TestTheSuiteUnderSystemdCountsOnAWitnessHost(t *testing.T) {
	if !*boot {
		t.Skip("boots a container: make test-systemd")
	}
	c := start(t)
	tell(t, c, []step{
		{"the package installs, and starts nothing", (*container).installs},
		{"the counter of a witness host is made by hand, step by step", (*container).witnessMade},
		{"the witness starts behind every wall", (*container).witnessStarts},
		{"the unit's own walls stand by themselves", (*container).witnessWalls},
		{"nobody is served without a certificate that is listed", (*container).witnessRefuses},
		{"its keys are nobody else's", (*container).witnessKeys},
		{"setup takes a witness host in the place of a TPM", (*container).witnessSetUp},
		{"a change is asked for, approved and proven with its counter", (*container).witnessCounts},
		{"a killed witness comes back, and a silent one is replaced", (*container).witnessReplaced},
	})
}

const (
	witnessUnit = "executord-witness"
	witnessAt   = "127.0.0.1:7443"
	witnessDir  = "/root/witness/" // what executord's host is given of it
	witnessTOML = "/etc/pfsense-mcp/executord-witness.toml"
)

// pair puts a certificate that is its own authority and its key into the container and
// returns its fingerprint.
func (c *container) pair(cert, key string) string {
	c.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	x := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &private.PublicKey, private)
	if err != nil {
		c.t.Fatal(err)
	}
	b, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(cert, "0644", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	c.write(key, "0600", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})))
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// typed runs a command at a terminal as root, where a person types this line until the
// command has taken it.
func (c *container) typed(command, line string) string {
	c.t.Helper()
	return c.run("sh", "-c", `(while sleep 0.3; do echo "$2"; done) | script -qec "$1" /dev/null`, "sh", command, line)
}

func (c *container) witnessMade() {
	c.run("sh", "-c", "getent group tss || groupadd --system tss")
	tpm := c.softwareTPM("pfsense-executord-witness")
	c.typed("mcpctl keys new --kind counter-auth -o /etc/pfsense-mcp/credentials/witness-nv-auth", "yes")
	c.pair("/etc/pfsense-mcp/witness.pem", "/etc/pfsense-mcp/credentials/witness-tls-key")
	listed := c.pair(witnessDir+"cert.pem", witnessDir+"key.pem")
	c.run("cp", "/etc/pfsense-mcp/witness.pem", witnessDir+"ca.pem")
	b, err := os.ReadFile(filepath.Join(deploy, "examples/executord-witness.toml"))
	if err != nil {
		c.t.Fatal(err)
	}
	settings, err := change(string(b), `"192.0.2.7:7443"`, `"`+witnessAt+`"`, "listen =", "lab = true\nlisten =", `"device:/dev/tpmrm0"`, `"`+tpm+`"`, strings.Repeat("0", 64), listed)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(witnessTOML, "0644", settings)

	// Before the counter has a Name nothing is served, and trying again mends nothing.
	c.allow("")
	if out, err := c.try(cmdWait, "systemctl", "start", "pfsense-"+witnessUnit); err == nil {
		c.t.Errorf("a witness without the Name of its counter starts:\n%s", out)
	}
	if got := c.show("pfsense-"+witnessUnit, "NRestarts"); got != "0" {
		c.t.Errorf("it was tried again %s times", got)
	}
	if out := c.run("journalctl", "-u", "pfsense-"+witnessUnit, "-o", "cat", "--no-pager"); !strings.Contains(out, "executord witness provision") {
		c.t.Errorf("the journal does not say what to do:\n%s", out)
	}
	if out := c.run("executord", "witness", "provision"); !strings.Contains(out, "0x01500000") {
		c.t.Errorf("what provisioning shows:\n%s", out)
	}
	c.typed("executord witness provision --define 0x01500000", "0x01500000")
	out := c.typed("executord witness provision --first 0x01500000", "0x01500000")
	_, name, ok := strings.Cut(out, "nv_index_name = ")
	if name, _, _ = strings.Cut(name, "\r"); !ok {
		c.t.Fatalf("no Name is printed:\n%s", out)
	}
	if settings, err = change(settings, `# nv_index_name = "000b, then 64 hex digits"`, "nv_index_name = "+strings.TrimSpace(name)); err != nil {
		c.t.Fatal(err)
	}
	c.write(witnessTOML, "0644", settings)
	c.run("executord", "witness", "--check-config")
}

// allow is the drop-in of a witness host, "" for none.
func (c *container) allow(address string) string {
	c.t.Helper()
	text := ""
	if address != "" {
		b, err := os.ReadFile(filepath.Join(deploy, "examples/executord-witness.conf"))
		if err != nil {
			c.t.Fatal(err)
		}
		if text, err = change(string(b), "192.0.2.8", address); err != nil {
			c.t.Fatal(err)
		}
		c.write("/etc/systemd/system/pfsense-executord-witness.service.d/guest.conf", "0644", text)
	}
	c.run("systemctl", "daemon-reload")
	return text
}

func (c *container) witnessStarts() {
	c.run("systemctl", "reset-failed", "pfsense-"+witnessUnit)
	c.run("systemctl", "start", "pfsense-"+witnessUnit)
	c.until("the witness runs", cmdWait, func() bool { return c.active(witnessUnit) })
	c.walled(witnessUnit, "tss")
	// As the unit is installed no address reaches it, not even this host's own.
	if got := c.asks("/anchor/read", "cert.pem", "key.pem"); got != "timeout" {
		c.t.Errorf("without its drop-in it is reached: %s", got)
	}
	c.allow("127.0.0.1")
	c.run("systemctl", "restart", "pfsense-"+witnessUnit)
	c.until("the witness answers", cmdWait, func() bool { return c.asks("/anchor/read", "cert.pem", "key.pem") == "200" })
}

// asks sends the witness one request, with a certificate out of what executord's host
// was given.
func (c *container) asks(route string, own ...string) string {
	c.t.Helper()
	for i := range own {
		own[i] = witnessDir + own[i]
	}
	return c.run(append([]string{"/opt/probe", probeWord, "ask", "https://" + witnessAt + route, witnessDir + "ca.pem"}, own...)...)
}

func (c *container) witnessWalls() {
	c.run("sh", "-c", "echo secret >/home/walls-target; echo x >/var/tmp/walls-target; chmod 0666 /home/walls-target /var/tmp/walls-target")
	c.run("sh", "-c", "rm -f /dev/tpmrm0 /dev/walls-other; mknod -m 0660 /dev/tpmrm0 c 240 1; chown root:tss /dev/tpmrm0; mknod -m 0666 /dev/walls-other c 240 2")
	c.run("install", "-m", "0600", "/dev/null", "/etc/pfsense-mcp/credentials/read-api-key")
	defer c.run("rm", "/etc/pfsense-mcp/credentials/read-api-key") // setup would take it for a key
	got := c.inPlaceOf(witnessUnit, "[Service]\nIPAddressAllow=127.0.0.1\n")
	for what, want := range map[string]string{
		// No driver stands behind these numbers: ENXIO is a device that may be opened.
		"tpm": "ENXIO", "device": "EPERM",
		// Nobody listens there: ECONNREFUSED is an address that may be reached.
		"appliance": "ECONNREFUSED", "elsewhere": "timeout", "netlink": "EAFNOSUPPORT", "packet": "EAFNOSUPPORT",
		"unshare": "EPERM", "write-etc": "EROFS", "write-program": "EACCES", "write-var-tmp-of-others": "ENOENT",
		"key-source": "EACCES", "home": "EACCES", "writable-code": "EPERM", "processes": "1 ok",
		"socket-exec": "no-entry", "socket-guidance": "no-entry", "socket-exec-admin": "no-entry", "socket-mcp": "no-entry",
	} {
		if got[what] != want {
			c.t.Errorf("in the unit of the witness, %s: %s, want %s", what, got[what], want)
		}
	}
	if got["exec"] == "ok" || got["exec"] == "" {
		c.t.Errorf("a program can be started: %q", got["exec"])
	}
}

func (c *container) witnessRefuses() {
	c.pair(witnessDir+"other.pem", witnessDir+"other.key")
	for what, got := range map[string]string{
		"no certificate":         c.asks("/anchor/read"),
		"one that is not listed": c.asks("/anchor/read", "other.pem", "other.key"),
	} {
		if got != "refused" {
			c.t.Errorf("%s: %s", what, got)
		}
	}
	if got := c.asks("/", "cert.pem", "key.pem"); got != "404" {
		c.t.Errorf("another route: %s", got)
	}
	if out := c.run("/opt/probe", probeWord, "ask", "https://"+witnessAt+"/anchor/read", witnessDir+"other.pem", witnessDir+"cert.pem", witnessDir+"key.pem"); out == "200" {
		c.t.Error("the test believes any witness")
	}
}

func (c *container) witnessKeys() {
	paths := []string{
		"/etc/pfsense-mcp/credentials/witness-nv-auth", "/run/credentials/pfsense-executord-witness.service/nv-auth", "/run/credentials/pfsense-executord-witness.service/tls-key",
		"/proc/" + c.pid(witnessUnit) + "/environ", "/proc/" + c.pid(witnessUnit) + "/mem",
	}
	for _, user := range []string{"test-client", "test-operator", "nobody", "pfsense-mcpd", "pfsense-executord"} {
		for line := range strings.Lines(c.run(as(user, append([]string{"/opt/probe", probeWord, "files"}, paths...)...)...)) {
			if f := strings.Fields(line); len(f) != 2 || f[1] != "EACCES" {
				c.t.Errorf("%s: %s", user, line)
			}
		}
	}
	secret := strings.TrimSpace(c.run("cat", "/etc/pfsense-mcp/credentials/witness-nv-auth"))
	if out := c.run("journalctl", "-u", "pfsense-"+witnessUnit, "-o", "cat", "--no-pager"); secret == "" || strings.Contains(out, secret) {
		c.t.Error("the counter's secret is in the journal")
	}
}

func (c *container) witnessSetUp() {
	c.setupDry() // starts the appliance
	c.write("/root/write.key", "0600", fakepf.WriteKey+"\n")
	owners, err := artifacttest.Owners().Encode()
	if err != nil {
		c.t.Fatal(err)
	}
	c.write("/etc/pfsense-mcp/authorities.json", "0644", string(owners))
	args := append(append([]string{}, setupArgs...), "--write", "--lab", "--write-key-file", "/root/write.key", "--store-id", "lab-office", "--account", "api-writer",
		"--profile", catalog.ProfileWriteProtected, "--tpm", "https://"+witnessAt, "--witness", strings.TrimSuffix(witnessDir, "/"), "--no-start")
	out := c.run(args...) // without the doctor, who asks the appliance for every privilege
	listed := c.run("sh", "-c", `sed -n 's/^advance = //p' `+witnessTOML)
	for _, want := range []string{"executord witness provision", "advance = " + listed, "remove " + witnessDir + "key.pem"} {
		if !strings.Contains(out, want) {
			c.t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	c.run("systemctl", "daemon-reload")
	c.run("systemctl", "start", "pfsense-mcp.target")
	for _, d := range daemons {
		c.until(d+" runs", cmdWait, func() bool { return c.active(d) })
	}
	found := c.doctor("mcpctl", "doctor", "--no-probes", "--json")
	if _, looked := found["tpm.device"]; looked || found["executor.reachable"] != "pass" {
		c.t.Errorf("executord is reached: %s; a TPM is looked for here: %t", found["executor.reachable"], looked)
	}
	var at struct {
		Step    string
		Backend string
	}
	c.asked(&at, "anchor", "status", "--json")
	if at.Step != "value_read" {
		c.t.Fatalf("executord does not see the witness host's counter: %+v", at)
	}
	c.provision()
}

// counter is what the store and the witness host say.
func (c *container) counter() (store, witness uint64) {
	c.t.Helper()
	var at struct {
		Store   *uint64 `json:"store_value"`
		Witness *uint64 `json:"witness_value"`
	}
	c.asked(&at, "anchor", "status", "--json")
	if at.Store == nil || at.Witness == nil {
		c.t.Fatal("store or witness shows no value")
	}
	return *at.Store, *at.Witness
}

func (c *container) witnessCounts() {
	_, before := c.counter()
	c.changes()
	if store, witness := c.counter(); witness != before+1 || store != witness {
		c.t.Errorf("after a change: store %d, witness host %d, which had %d", store, witness, before)
	}
	if found := c.doctor("mcpctl", "doctor", "write", "--json"); found["anchor.verified"] != "pass" {
		c.t.Errorf("the doctor finds %v", found)
	}
}

func (c *container) witnessReplaced() {
	pid := c.pid(witnessUnit)
	c.run("kill", "-KILL", pid)
	c.replaced(witnessUnit, pid, cmdWait)
	c.until("the witness answers again", cmdWait, func() bool { return c.asks("/anchor/read", "cert.pem", "key.pem") == "200" })
	c.write("/run/systemd/system/pfsense-"+witnessUnit+".service.d/watchdog.conf", "0644", "[Service]\nWatchdogSec=4\n")
	c.run("systemctl", "daemon-reload")
	c.run("systemctl", "restart", "pfsense-"+witnessUnit)
	pid = c.pid(witnessUnit)
	c.run("kill", "-STOP", pid)
	c.replaced(witnessUnit, pid, cmdWait)
	if out := c.run("journalctl", "-u", "pfsense-"+witnessUnit, "-o", "cat", "--no-pager"); !strings.Contains(out, "Watchdog timeout") {
		c.t.Errorf("it was replaced, and not by the watchdog:\n%s", out)
	}
	c.sound()
}

package systemd

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var guest = flag.Bool("guest", false, "boot a virtual machine and try the package in it")

// guestBoot bounds the boot of a machine whose processor is emulated.
const guestBoot = 4 * time.Minute

// TestTheSuiteInAGuest tries what a container does not have: a kernel of Debian's
// own, a TPM that the kernel drives, and control groups that limit.
func TestTheSuiteInAGuest(t *testing.T) {
	if !*guest {
		t.Skip("boots a virtual machine: make test-guest")
	}
	c := bootGuest(t)
	tell(t, c, []step{
		{"the package installs, and starts nothing", (*container).installs},
		{"a person writes settings and the key", (*container).site},
		{"the target starts all four and every socket", (*container).target},
		{"the kernel holds what the units say", (*container).held},
		{"sockets belong to whom they should", (*container).owners},
		{"the access matrix is the design's", (*container).matrix},
		{"a unit reaches the addresses it names", (*container).addresses},
		{"the TPM is for an executord that writes", (*container).witness},
		{"memory and tasks are limited", (*container).limits},
		{"an executord that writes stands on the TPM", (*container).founded},
		{"removing stops all", (*container).leaves},
	})
}

// bootGuest boots the machine, or skips saying what this one lacks.
func bootGuest(t *testing.T) *container {
	t.Helper()
	const qemu = "qemu-system-x86_64"
	for program, debian := range map[string]string{qemu: "qemu-system-x86", "swtpm": "swtpm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("this machine cannot boot a guest: %s is missing (Debian: %s)", program, debian)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("this machine cannot boot a guest: no place for what is fetched: %v", err)
	}
	probe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := programsBuilt(t)
	dir := t.TempDir()
	// Sockets have short paths.
	run, err := os.MkdirTemp("", "guest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) }) // a directory in /tmp
	packages, err := packed()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("./guest.sh", "make", filepath.Join(cache, "pfsense-mcp-test-guest"), dir, programs, packages, probe)
	if out, err := cmd.CombinedOutput(); err != nil {
		if cmd.ProcessState.ExitCode() == 77 {
			t.Skip("this machine " + strings.TrimSpace(string(out)))
		}
		t.Fatalf("making the guest: %v\n%s", err, out)
	}

	background := func(name string, args ...string) {
		t.Helper()
		log, err := os.Create(filepath.Join(run, filepath.Base(name)+".log"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(name, args...)
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // gone already: fine
			_ = cmd.Wait()
			_ = log.Close()
		})
	}
	state := filepath.Join(run, "tpm")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	control, line, console := filepath.Join(run, "tpm.sock"), filepath.Join(run, "agent.sock"), filepath.Join(run, "console")
	background("swtpm", "socket", "--tpm2", "--tpmstate", "dir="+state, "--ctrl", "type=unixio,path="+control)
	for deadline := time.Now().Add(cmdWait); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(control); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("swtpm makes no socket")
		}
	}
	// An emulated processor: what /dev/kvm offers inside of a virtual machine cannot
	// be relied on.
	background(qemu, "-machine", "q35", "-accel", "tcg", "-cpu", "max", "-m", "3072", "-smp", "2",
		"-nodefaults", "-no-reboot", "-display", "none", "-nic", "none",
		"-kernel", filepath.Join(dir, "vmlinuz"), "-initrd", filepath.Join(dir, "root.cpio.zst"),
		"-append", "console=ttyS0 rdinit=/lib/systemd/systemd systemd.unit=basic.target systemd.show_status=1 panic=-1",
		"-chardev", "socket,id=tpm,path="+control, "-tpmdev", "emulator,id=tpm0,chardev=tpm", "-device", "tpm-tis,tpmdev=tpm0",
		"-serial", "file:"+console,
		"-chardev", "socket,id=agent,path="+line+",server=on,wait=off", "-serial", "chardev:agent")

	c := &container{t: t, slow: 4}
	var conn net.Conn
	for deadline := time.Now().Add(cmdWait); conn == nil; time.Sleep(50 * time.Millisecond) {
		if conn, err = net.Dial("unix", line); err != nil && time.Now().After(deadline) {
			b, _ := os.ReadFile(filepath.Join(run, qemu+".log"))
			t.Fatalf("qemu: %v\n%s", err, b)
		}
	}
	t.Cleanup(func() { _ = conn.Close() }) // the guest is gone
	c.remote = remote(conn)
	out, err := c.try(guestBoot/c.slow, "systemctl", "is-system-running", "--wait")
	if word := strings.TrimSpace(out); word != "running" {
		b, _ := os.ReadFile(console)
		log, _ := os.ReadFile(filepath.Join(run, qemu+".log"))
		failed, _ := c.try(cmdWait, "systemctl", "--failed", "--no-pager")
		t.Fatalf("the guest is %q: %v\n%s\n%s\n%s", word, err, log, failed, b[max(0, len(b)-3000):])
	}
	return c
}

// remote runs commands through the agent on the other end of a serial line.
func remote(conn net.Conn) func(string, time.Duration, []string) (string, error) {
	in := json.NewDecoder(conn)
	listens := false
	return func(stdin string, within time.Duration, args []string) (string, error) {
		if !listens {
			// What is said before the line is set up would be echoed.
			var first answer
			if err := errors.Join(conn.SetDeadline(time.Now().Add(within)), in.Decode(&first)); err != nil {
				return "", fmt.Errorf("the agent does not start: %w", err)
			}
			listens = true
		}
		b, err := json.Marshal(order{Args: args, Stdin: []byte(stdin), Within: within})
		if err != nil {
			return "", err
		}
		if err := conn.SetDeadline(time.Now().Add(within + 20*time.Second)); err != nil {
			return "", err
		}
		if _, err := conn.Write(append(b, '\n')); err != nil {
			return "", fmt.Errorf("the serial line: %w", err)
		}
		var a answer
		if err := in.Decode(&a); err != nil {
			return "", fmt.Errorf("the agent: %w", err)
		}
		if a.Failed != "" {
			return string(a.Out), errors.New(a.Failed)
		}
		return string(a.Out), nil
	}
}

func (c *container) addresses() {
	for daemon, want := range map[string][2]string{ // without and with a drop-in that names the appliance
		"guidanced": {"EAFNOSUPPORT", "EAFNOSUPPORT"}, "docfetchd": {"timeout", "ok"}, "mcpd": {"timeout", "ok"}, "executord": {"EAFNOSUPPORT", "EAFNOSUPPORT"},
	} {
		for i, dropIn := range []string{"", "[Service]\nIPAddressAllow=127.0.0.1\n"} {
			got := c.inPlaceOf(daemon, dropIn)
			if got["appliance"] != want[i] {
				c.t.Errorf("%s with %q: the appliance %s, want %s", daemon, dropIn, got["appliance"], want[i])
			}
			if got["elsewhere"] == "ok" || got["elsewhere"] == "ECONNREFUSED" {
				c.t.Errorf("%s with %q: elsewhere %s", daemon, dropIn, got["elsewhere"])
			}
		}
	}
}

func (c *container) witness() {
	if got := c.run("stat", "-c", "%U:%G %a", "/dev/tpmrm0"); got != "tss:tss 660" {
		c.t.Errorf("/dev/tpmrm0 is %s", got)
	}
	c.run("sh", "-c", "rm -f /dev/walls-other; mknod -m 0666 /dev/walls-other c 4 64") // ttyS0: a driver is there
	text := c.writeDropIn()
	c.run("mkdir", "-p", "-m", "0700", "/etc/credstore.encrypted")
	for _, name := range writeCredentials {
		c.run("sh", "-c", `echo secret | systemd-creds encrypt --with-key=host --name="$1" - "/etc/credstore.encrypted/pfsense-executord.$1"`, "sh", name)
	}
	for daemon, row := range map[string]struct{ dropIn, tpm, device string }{
		"executord": {text, "ok", "EPERM"}, "guidanced": {"", "ENOENT", "ENOENT"}, "docfetchd": {"", "ENOENT", "ENOENT"}, "mcpd": {"", "ENOENT", "ENOENT"},
	} {
		got := c.inPlaceOf(daemon, row.dropIn)
		if got["tpm"] != row.tpm || got["device"] != row.device {
			c.t.Errorf("%s: the TPM %s, another device %s", daemon, got["tpm"], got["device"])
		}
	}
	// As installed it may open the device, by the device policy; the file's mode
	// keeps it out until the drop-in adds the group.
	if got := c.inPlaceOf("executord", ""); got["tpm"] != "EACCES" || got["device"] != "EPERM" {
		c.t.Errorf("executord as installed: the TPM %s, another device %s", got["tpm"], got["device"])
	}
}

// writeDropIn is the example, for the pretend appliance.
func (c *container) writeDropIn() string {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(deploy, "examples/executord-write.conf"))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Replace(string(b), "192.0.2.1", "127.0.0.1", 1)
}

// founded provisions an executord on the kernel's TPM, through the device policy.
func (c *container) founded() {
	c.write("/etc/systemd/system/pfsense-executord.service.d/write.conf", "0644", c.writeDropIn())
	c.run("systemctl", "daemon-reload")
	c.writeSite("device:/dev/tpmrm0")
	c.provision()
	c.survives()
}

func (c *container) limits() {
	for _, d := range daemons {
		group := "/sys/fs/cgroup" + c.show("pfsense-"+d, "ControlGroup") + "/"
		for file, property := range map[string]string{"memory.max": "MemoryMax", "pids.max": "TasksMax"} {
			if got, want := c.run("cat", group+file), c.show("pfsense-"+d, property); got != want || got == "max" {
				c.t.Errorf("%s: %s is %s, want %s", d, file, got, want)
			}
		}
		if got := c.run("cat", group+"memory.swap.max"); got != "0" {
			c.t.Errorf("%s: memory.swap.max is %s", d, got)
		}
		unit := c.standIn(d, "", "eat")
		if out, err := c.try(cmdWait, "systemctl", "start", unit); err == nil {
			c.t.Errorf("in the unit of %s 512 MiB are to be had:\n%s", d, out)
		}
		if got := c.show(unit, "Result"); got != "oom-kill" {
			c.t.Errorf("in the unit of %s one who takes too much ends with %s", d, got)
		}
	}
	for _, d := range daemons {
		if !c.active(d) {
			c.t.Errorf("%s went down with another", d)
		}
	}
}

func (c *container) leaves() {
	c.run("dpkg", "--remove", "pfsense-mcp")
	if out, err := c.try(cmdWait, "pgrep", "-a", "-f", "^/usr/bin/(mcpd|guidanced|docfetchd|executord)"); err == nil {
		c.t.Errorf("these still run:\n%s", out)
	}
}

package systemd

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/test/fakepf"
)

func (c *container) held() {
	for _, d := range daemons {
		c.walled(d)
	}
	dev := c.run("cat", "/proc/"+c.pid("guidanced")+"/net/dev")
	if strings.Count(dev, ":") != 1 || !strings.Contains(dev, "lo:") {
		c.t.Errorf("guidanced has interfaces:\n%s", dev)
	}
	if own, host := c.run("readlink", "/proc/"+c.pid("guidanced")+"/ns/net"), c.run("readlink", "/proc/1/ns/net"); own == host {
		c.t.Error("guidanced is in the host's network")
	}
}

// walled checks what the kernel holds of a running daemon: its user, its groups (its own
// and those that its unit adds), no capability, no way to get one, and the filters.
func (c *container) walled(d string, groups ...string) {
	c.t.Helper()
	pid := c.pid(d)
	s := fields(c.run("cat", "/proc/"+pid+"/status"))
	uid := c.run("id", "-u", "pfsense-"+d)
	if ids := strings.Fields(s["Uid"]); !slices.Equal(ids, []string{uid, uid, uid, uid}) || uid == "0" {
		c.t.Errorf("%s: uids %v, want %s", d, ids, uid)
	}
	gid := c.run("id", "-g", "pfsense-"+d)
	if ids := strings.Fields(s["Gid"]); !slices.Equal(ids, []string{gid, gid, gid, gid}) {
		c.t.Errorf("%s: gids %v, want %s", d, ids, gid)
	}
	added := slices.DeleteFunc(strings.Fields(s["Groups"]), func(g string) bool { return g == gid })
	for i, g := range groups {
		_, entry, _ := strings.Cut(c.run("getent", "group", g), ":x:")
		groups[i], _, _ = strings.Cut(entry, ":")
	}
	if !slices.Equal(added, groups) {
		c.t.Errorf("%s: groups %q beside its own, want %q", d, added, groups)
	}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if strings.Trim(s[set], "0") != "" || s[set] == "" {
			c.t.Errorf("%s: %s is %s", d, set, s[set])
		}
	}
	if s["NoNewPrivs"] != "1" || s["Seccomp"] != "2" {
		c.t.Errorf("%s: NoNewPrivs %s, Seccomp %s", d, s["NoNewPrivs"], s["Seccomp"])
	}
	// systemd's filters, and on top of them those of pkg/sandbox.
	if n, err := strconv.Atoi(s["Seccomp_filters"]); err != nil || n < 12 {
		c.t.Errorf("%s: %s seccomp filters", d, s["Seccomp_filters"])
	}
	if l := c.run("cat", "/proc/"+pid+"/limits"); !strings.Contains(strings.Join(strings.Fields(l), " "), "Max core file size 0 0") {
		c.t.Errorf("%s may leave a core", d)
	}
	// What the daemon itself found missing.
	if out := c.run("journalctl", "-u", "pfsense-"+d, "-o", "cat", "--no-pager"); !strings.Contains(out, "sandbox require, enforced: no_new_privs undumpable no_core_dump no_capabilities seccomp") {
		c.t.Errorf("%s did not start behind its whole sandbox:\n%s", d, out)
	}
}

func (c *container) owners() {
	if got := c.run("stat", "-c", "%U:%G %a", "/run/pfsense-mcp"); got != "root:root 755" {
		c.t.Errorf("/run/pfsense-mcp is %s", got)
	}
	for _, s := range sockets {
		dir := "/run/pfsense-mcp/" + s.name
		if got, want := c.run("stat", "-c", "%U:%G %a", dir), "root:"+s.group+" 750"; got != want {
			c.t.Errorf("%s is %s, want %s", dir, got, want)
		}
		if got, want := c.run("stat", "-c", "%U:%G %a %F", dir+"/"+s.name+".sock"), "root:"+s.group+" 660 socket"; got != want {
			c.t.Errorf("%s.sock is %s, want %s", s.name, got, want)
		}
	}
	if got := c.run("getent", "group", "pfsense-mcpd"); !strings.HasSuffix(got, ":") {
		c.t.Errorf("the group of mcpd has members: %s", got)
	}
}

// matrix is what becomes of everybody at every socket.
func (c *container) matrix() {
	const (
		out     = "no-entry" // the directory
		refused = "refused"  // the server
		in      = "served"
	)
	order := []string{"mcp", "mcpd-admin", "guidance", "docs", "docs-admin", "exec", "exec-admin"}
	for user, want := range map[string][]string{
		"test-client":       {in, out, out, out, out, out, out},
		"test-operator":     {out, in, out, out, in, out, in},
		"test-both":         {refused, in, out, out, in, out, in},
		"test-stranger":     {out, out, out, out, out, out, out},
		"nobody":            {out, out, out, out, out, out, out},
		"pfsense-mcpd":      {out, out, in, in, out, in, out},
		"pfsense-guidanced": {out, out, out, out, out, out, out},
		"pfsense-docfetchd": {out, out, out, out, out, out, out},
		"pfsense-executord": {out, out, out, out, out, out, out},
		// The files do not stop root; the servers do.
		"root": {refused, in, refused, refused, in, refused, in},
	} {
		got := map[string]string{}
		for line := range strings.Lines(c.run(as(user, "/opt/probe", probeWord, "sockets")...)) {
			if f := strings.Fields(line); len(f) == 2 {
				got[f[0]] = f[1]
			}
		}
		for i, name := range order {
			if got[name] != want[i] {
				c.t.Errorf("%s at %s: %s, want %s", user, name, got[name], want[i])
			}
		}
	}
	// The group alone is not enough: who is in it and in no settings is refused
	// by the server.
	c.run("usermod", "-a", "-G", "pfsense-mcp-admin,pfsense-mcpd", "test-stranger")
	defer c.run("usermod", "-G", "", "test-stranger")
	for line := range strings.Lines(c.run(as("test-stranger", "/opt/probe", probeWord, "sockets")...)) {
		want := refused
		if strings.HasPrefix(line, "mcp ") {
			want = out
		}
		if f := strings.Fields(line); len(f) != 2 || f[1] != want {
			c.t.Errorf("in every group but no settings: %s, want %s", line, want)
		}
	}
}

func (c *container) credentials() {
	const source, copied = "/etc/pfsense-mcp/credentials/read-api-key", "/run/credentials/pfsense-mcpd.service/read-api-key"
	for _, user := range []string{"test-client", "test-operator", "test-stranger", "nobody", "pfsense-guidanced", "pfsense-docfetchd", "pfsense-executord", "pfsense-mcpd"} {
		want := "EACCES"
		got := map[string]string{}
		for line := range strings.Lines(c.run(as(user, "/opt/probe", probeWord, "files", source, copied)...)) {
			if f := strings.Fields(line); len(f) == 2 {
				got[f[0]] = f[1]
			}
		}
		if got[source] != want {
			c.t.Errorf("%s and the key file: %s", user, got[source])
		}
		if user == "pfsense-mcpd" {
			want = "ok"
		}
		if got[copied] != want {
			c.t.Errorf("%s and the credential: %s, want %s", user, got[copied], want)
		}
	}
	// Nor from the process: its own user cannot look into it.
	pid := c.pid("mcpd")
	for line := range strings.Lines(c.run(as("pfsense-mcpd", "/opt/probe", probeWord, "files", "/proc/"+pid+"/environ", "/proc/"+pid+"/mem", "/proc/"+pid+"/maps")...)) {
		if f := strings.Fields(line); len(f) != 2 || f[1] != "EACCES" && f[1] != "EPERM" {
			c.t.Errorf("mcpd's own user may read %s", line)
		}
	}
	for _, d := range daemons {
		if out := c.run("journalctl", "-u", "pfsense-"+d, "-o", "cat", "--no-pager"); strings.Contains(out, fakepf.ReadKey) {
			c.t.Errorf("the key is in the journal of %s", d)
		}
	}
}

// outerWalls runs the probe in each unit in the daemon's place: pkg/sandbox is
// not there, so what holds is the unit.
func (c *container) outerWalls() {
	c.run("sh", "-c", "echo secret >/home/walls-target; echo x >/var/tmp/walls-target; chmod 0666 /home/walls-target /var/tmp/walls-target")
	c.run("sh", "-c", "rm -f /dev/tpmrm0 /dev/walls-other; mknod -m 0666 /dev/tpmrm0 c 240 1; mknod -m 0666 /dev/walls-other c 240 2")
	common := map[string]string{
		// Nobody listens there: without IPAddressDeny the answer would be ECONNREFUSED.
		"elsewhere": "timeout", "netlink": "EAFNOSUPPORT", "packet": "EAFNOSUPPORT",
		"unshare": "EPERM", "write-etc": "EROFS", "write-program": "EACCES", "write-var-tmp-of-others": "ENOENT",
		"key-source": "EACCES", "key-of-mcpd": "EACCES", "home": "EACCES", "writable-code": "EPERM",
		"processes": "1 ok", "socket-exec": "no-entry", "socket-guidance": "no-entry", "socket-exec-admin": "no-entry", "socket-mcp": "no-entry",
	}
	for daemon, own := range map[string]map[string]string{
		"guidanced": {"appliance": "EAFNOSUPPORT", "elsewhere": "EAFNOSUPPORT", "tpm": "ENOENT", "device": "ENOENT", "interfaces": "1"},
		"docfetchd": {"appliance": "timeout", "tpm": "ENOENT", "device": "ENOENT"},
		// Its drop-in names the appliance.
		"mcpd": {"appliance": "ok", "tpm": "ENOENT", "device": "ENOENT", "key-of-mcpd": "ENOENT", "socket-exec": "served", "socket-guidance": "served"},
		// No driver stands behind these numbers: ENXIO is a device that may be
		// opened, EPERM one that may not.
		"executord": {"appliance": "EAFNOSUPPORT", "elsewhere": "EAFNOSUPPORT", "tpm": "ENXIO", "device": "EPERM"},
	} {
		want := maps.Clone(common)
		maps.Copy(want, own)
		dropIn := ""
		if daemon == "mcpd" {
			dropIn = "[Service]\nIPAddressAllow=127.0.0.1\n"
		}
		got := c.inPlaceOf(daemon, dropIn)
		for _, what := range slices.Sorted(maps.Keys(want)) {
			if got[what] != want[what] {
				c.t.Errorf("in the unit of %s, %s: %s, want %s", daemon, what, got[what], want[what])
			}
		}
		if got["exec"] == "ok" || got["exec"] == "" {
			c.t.Errorf("in the unit of %s a program can be started: %q", daemon, got["exec"])
		}
	}
}

// inPlaceOf runs the probe with every line of a daemon's unit that is a wall, and
// with a drop-in.
func (c *container) inPlaceOf(daemon, dropIn string) map[string]string {
	c.t.Helper()
	unit := c.standIn(daemon, dropIn, "walls")
	if out, err := c.try(cmdWait, "systemctl", "start", unit); err != nil {
		log, _ := c.try(cmdWait, "journalctl", "-u", unit, "-o", "cat", "--no-pager")
		c.t.Fatalf("the probe in place of %s: %v\n%s%s", daemon, err, out, log)
	}
	got := map[string]string{}
	c.until("the probe's answer", cmdWait, func() bool {
		for line := range strings.Lines(c.run("journalctl", "-u", unit, "-o", "cat", "--no-pager")) {
			if rest, ok := strings.CutPrefix(line, "WALLS "); ok {
				return json.NewDecoder(strings.NewReader(rest)).Decode(&got) == nil
			}
		}
		return false
	})
	return got
}

// standIn makes a unit that does something of the probe's behind every wall of a
// daemon's, and returns its name.
func (c *container) standIn(daemon, dropIn, what string) string {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(deploy, "units", "pfsense-"+daemon+".service"))
	if err != nil {
		c.t.Fatal(err)
	}
	text := ""
	for line := range strings.Lines(string(b)) {
		key, _, _ := strings.Cut(line, "=")
		switch key {
		case "Type":
			line = "Type=oneshot\n"
		case "ExecStart":
			line = "ExecStart=/opt/probe " + probeWord + " " + what + "\n"
		case "ExecPaths":
			line = "ExecPaths=/opt/probe\n"
		case "Requires", "After", "PartOf", "Sockets", "Restart", "WatchdogSec", "ExecReload", "NotifyAccess":
			continue
		}
		text += line
	}
	// A name of its own, and so a journal of its own.
	unit := fmt.Sprintf("%s-%s-%d.service", what, daemon, time.Now().UnixNano())
	c.write("/run/systemd/system/"+unit, "0644", text)
	c.write("/run/systemd/system/"+unit+".d/drop-in.conf", "0644", dropIn)
	c.run("systemctl", "daemon-reload")
	return unit
}

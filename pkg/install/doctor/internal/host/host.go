// Package host owns the doctor's checks of this machine: users and groups, runtime
// directories, settings, keys, the clock, the TPM's device.
//
// doctor alone imports it. It reads names, owners and modes; it must never open a key
// or a socket, and changes nothing.
//
// The attack it stops: a wall of the host that fell without anybody noticing, such as
// a member too many in the group that opens the inner sockets.
package host

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pfsensemcp/pkg/install/doctor/internal/finding"
	"pfsensemcp/pkg/install/internal/accounts"
)

// Host is the machine that the package is installed on. Every path is below Root.
type Host struct {
	Root    string                                         // "/" but in tests
	RootUID uint32                                         // whose the files must be: 0 but in tests
	Synced  func(context.Context) (synced bool, err error) // whether the clock follows a time server
}

// The places that the package and mcpctl setup lay out.
const (
	runDir         = "/run/pfsense-mcp"
	settingsDir    = "/etc/pfsense-mcp"
	credentialsDir = "/etc/pfsense-mcp/credentials"
	readKey        = "/etc/pfsense-mcp/credentials/read-api-key"
	sealedReadKey  = "/etc/credstore.encrypted/pfsense-mcpd.read-api-key"
	tpmDevice      = "/dev/tpmrm0"
	tpmGroup       = "tss"
)

// sockets are the runtime directories and the group that may enter each.
var sockets = []struct{ name, group string }{
	{"mcp", accounts.Clients},
	{"mcpd-admin", accounts.Operators},
	{"guidance", accounts.Mcpd},
	{"docs", accounts.Mcpd},
	{"docs-admin", accounts.Operators},
	{"exec", accounts.Mcpd},
	{"exec-admin", accounts.Operators},
}

// keyOld is the age from which a key should be replaced.
const keyOld = 365 * 24 * time.Hour

// Moment is what the clock is judged by.
type Moment struct {
	Now     time.Time
	Built   time.Time            // when the program was made; zero when that is not known
	Started map[string]time.Time // when each daemon says that it started
}

// examination is one run.
type examination struct {
	*Host
	*finding.List
	ctx context.Context
	Moment
}

// Examine checks what lies on this machine and appends the findings.
func (h *Host) Examine(ctx context.Context, l *finding.List, m Moment) {
	x := &examination{Host: h, List: l, ctx: ctx, Moment: m}
	x.groups()
	x.directories()
	x.files()
	x.keyAge()
	x.hostClock()
}

// within bounds the question about the clock.
const within = 10 * time.Second

// maxNamed is how many names stand in one detail.
const maxNamed = 6

func names(list []string) string {
	if len(list) > maxNamed {
		return strings.Join(list[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(list)-maxNamed)
	}
	return strings.Join(list, ", ")
}

func (h *Host) at(path string) string { return filepath.Join(h.Root, path) }

// groups checks that the inner sockets are mcpd's alone.
func (x *examination) groups() {
	const id, what = "group.pfsense-mcpd", "nobody but the user pfsense-mcpd is in the group pfsense-mcpd"
	a, err := accounts.Read(x.Root)
	if err != nil {
		x.Add(id, what, finding.Unknown, "the files of users and groups cannot be read", "")
		return
	}
	members, ok := a.Members(accounts.Mcpd)
	others := slices.DeleteFunc(members, func(m string) bool { return m == accounts.Mcpd })
	switch {
	case !ok:
		x.Add(id, what, finding.Fail, "there is no such group", "systemd-sysusers pfsense-mcp.conf")
	case len(others) > 0:
		x.Add(id, what, finding.Fail, "in it: "+names(others)+": they can knock at guidanced, docfetchd and executord", "gpasswd -d USER pfsense-mcpd, for each")
	default:
		x.Add(id, what, finding.Pass, "", "")
	}
	x.operators(a)
	const clients = "group.operators"
	both, _ := a.Members(accounts.Clients)
	admins, _ := a.Members(accounts.Operators)
	both = slices.DeleteFunc(both, func(m string) bool { return !slices.Contains(admins, m) })
	if len(both) > 0 {
		x.Add(clients, "nobody both runs MCP clients and operates", finding.Warn, "in both groups: "+names(both)+": a model acts with an account that may approve", "give operators another account than the one whose MCP client runs")
	} else {
		x.Add(clients, "nobody both runs MCP clients and operates", finding.Pass, "", "")
	}
}

// operators checks that somebody can approve and look who is not root: root can, and a
// site where root does every day's work has one account for everything.
func (x *examination) operators(a accounts.Accounts) {
	const id, what = "operators.present", "somebody operates who is not root"
	switch members, ok := a.Members(accounts.Operators); {
	case !ok:
		x.Add(id, what, finding.Fail, "there is no group "+accounts.Operators, "systemd-sysusers pfsense-mcp.conf")
	case len(members) == 0:
		x.Add(id, what, finding.Warn, "the group "+accounts.Operators+" has no member", "mcpctl setup --operator USER, then usermod -aG "+accounts.Operators+" USER; it counts from the next login on")
	default:
		x.Add(id, what, finding.Pass, "", "")
	}
}

// entry is what a path is.
type entry struct {
	mode     fs.FileMode
	uid, gid uint32
}

func (h *Host) look(path string) (entry, error) {
	fi, err := os.Lstat(h.at(path))
	if err != nil {
		return entry{}, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return entry{}, fs.ErrInvalid
	}
	return entry{mode: fi.Mode(), uid: st.Uid, gid: st.Gid}, nil
}

// directories checks the first wall of each socket.
func (x *examination) directories() {
	const id, what = "runtime.directories", "each socket stands in a directory of root and of its group"
	a, err := accounts.Read(x.Root)
	if err != nil {
		x.Add(id, what, finding.Unknown, "the files of users and groups cannot be read", "")
		return
	}
	var bad []string
	check := func(path string, want fs.FileMode, gid uint32, known bool) {
		e, err := x.look(path)
		switch {
		case err != nil:
			bad = append(bad, path+" is not there")
		case e.mode != want:
			bad = append(bad, fmt.Sprintf("%s is %v and not %v", path, e.mode, want))
		case e.uid != x.RootUID || known && e.gid != gid:
			bad = append(bad, path+" has another owner or group")
		}
	}
	check(runDir, fs.ModeDir|0o755, 0, false)
	hidden := false
	for _, s := range sockets {
		gid, known := a.GID(s.group)
		dir := filepath.Join(runDir, s.name)
		check(dir, fs.ModeDir|0o750, gid, known)
		path := filepath.Join(dir, s.name+".sock")
		if _, err := x.look(path); os.IsPermission(err) {
			hidden = true // not an operator's to see: systemd's part
			continue
		}
		check(path, fs.ModeSocket|0o660, gid, known)
	}
	switch {
	case len(bad) > 0:
		x.Add(id, what, finding.Fail, names(bad), "see who made it; then: systemd-tmpfiles --create pfsense-mcp.conf && systemctl reset-failed 'pfsense-*' && systemctl restart pfsense-mcp.target")
	case hidden:
		x.Add(id, what, finding.Pass, "as far as this user may look", "")
	default:
		x.Add(id, what, finding.Pass, "", "")
	}
}

// files checks that nobody but root can change the settings, nor read a key.
func (x *examination) files() {
	const id, what = "settings.files", "settings are root's, and keys are for root alone"
	var bad, unseen []string
	walk := func(dir string, loose fs.FileMode) {
		e, err := x.look(dir)
		switch {
		case os.IsNotExist(err):
			return
		case err != nil:
			unseen = append(unseen, dir)
			return
		case !e.mode.IsDir() || e.uid != x.RootUID || e.mode.Perm()&loose != 0:
			bad = append(bad, dir)
			return
		}
		list, err := os.ReadDir(x.at(dir))
		if err != nil {
			unseen = append(unseen, dir)
			return
		}
		for _, f := range list {
			path := filepath.Join(dir, f.Name())
			e, err := x.look(path)
			if err != nil || e.mode.IsDir() {
				continue
			}
			if e.uid != x.RootUID || e.mode.Perm()&loose != 0 || !e.mode.IsRegular() {
				bad = append(bad, path)
			}
		}
	}
	walk(settingsDir, 0o022)
	walk(credentialsDir, 0o077)
	switch {
	case len(bad) > 0:
		x.Add(id, what, finding.Fail, "not so: "+names(bad), "chown root:root; chmod 644 settings, 600 keys, 700 the directory of keys; a key that others could read must be replaced")
	case len(unseen) > 0:
		x.Add(id, what, finding.Unknown, "this user may not look into "+names(unseen), "run mcpctl doctor as root for this one")
	default:
		x.Add(id, what, finding.Pass, "", "")
	}
}

// keyAge checks when the READ key was put in place.
func (x *examination) keyAge() {
	const id, what = "key.age", "the READ key was replaced within a year"
	var newest time.Time
	var refused bool
	for _, path := range []string{readKey, sealedReadKey} {
		fi, err := os.Lstat(x.at(path))
		refused = refused || os.IsPermission(err)
		if err == nil && fi.ModTime().After(newest) {
			newest = fi.ModTime()
		}
	}
	age := x.Now.Sub(newest)
	days := fmt.Sprintf("%d days", int(age/(24*time.Hour)))
	switch {
	case newest.IsZero() && refused:
		x.Add(id, what, finding.Unknown, "this user may not look at the key's file", "run mcpctl doctor as root for this one")
	case newest.IsZero():
		x.Add(id, what, finding.Unknown, "there is no key where mcpctl setup puts one, and the unit reads it: mcpd then ends with 243/CREDENTIALS", "mcpctl setup --key-file FILE; where api_key_file in mcpd.toml names another place, look at the age of that file")
	case age < -time.Minute:
		x.Add(id, what, finding.Warn, "its file is of the future: this host's clock was set back", "see clock.host")
	case age > keyOld:
		x.Add(id, what, finding.Warn, days, "make a new key on the appliance, then mcpctl rotate-key --key-file FILE, then delete the old one")
	default:
		x.Add(id, what, finding.Pass, days, "")
	}
}

// hostClock checks the time by which everything expires.
func (x *examination) hostClock() {
	const id, what = "clock.host", "this host's clock is right"
	if !x.Built.IsZero() && x.Now.Before(x.Built) {
		x.Add(id, what, finding.Fail, "it is before the day on which this program was made: certificates and approvals are judged wrongly", "set the clock, and switch NTP on: timedatectl set-ntp true")
		return
	}
	for name, at := range x.Started {
		if at.After(x.Now.Add(time.Minute)) {
			x.Add(id, what, finding.Fail, name+" was started in the future: the clock was set back", "set the clock, then systemctl restart pfsense-mcp.target")
			return
		}
	}
	if x.Synced == nil {
		x.Add(id, what, finding.Unknown, "nothing here says whether it follows a time server", "compare it with another clock, and run systemd-timesyncd or chrony")
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, within)
	defer cancel()
	switch synced, err := x.Synced(ctx); {
	case err != nil:
		x.Add(id, what, finding.Unknown, "nothing here says whether it follows a time server", "compare it with another clock, and run systemd-timesyncd or chrony")
	case !synced:
		x.Add(id, what, finding.Warn, "it follows no time server", "timedatectl set-ntp true, or run chrony")
	default:
		x.Add(id, what, finding.Pass, "it follows a time server", "")
	}
}

// Device checks who can reach the TPM: whoever may use it can lock it.
func (h *Host) Device(l *finding.List) {
	x := &examination{Host: h, List: l}
	const id, what = "tpm.device", "executord alone may use the TPM"
	e, err := x.look(tpmDevice)
	if err != nil {
		x.Add(id, what, finding.Unknown, "there is no "+tpmDevice+" here", "with tpm-remote the witness host has it; else load the kernel's TPM driver")
		return
	}
	a, err := accounts.Read(x.Root)
	if err != nil {
		x.Add(id, what, finding.Unknown, "the files of users and groups cannot be read", "")
		return
	}
	members, _ := a.Members(tpmGroup)
	others := slices.DeleteFunc(members, func(m string) bool { return m == "pfsense-executord" || m == tpmGroup })
	switch {
	case e.mode.Perm()&0o006 != 0:
		x.Add(id, what, finding.Fail, "everybody may use the device", "chmod 660 "+tpmDevice+" by a udev rule")
	case len(others) > 0:
		x.Add(id, what, finding.Warn, "in the group "+tpmGroup+": "+strings.Join(others[:min(len(others), maxNamed)], ", ")+": they can lock the TPM by wrong answers", "keep the group empty where the site can")
	default:
		x.Add(id, what, finding.Pass, "", "")
	}
}

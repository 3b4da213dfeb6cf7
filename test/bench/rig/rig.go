// Package rig starts the built programs as processes for the benchmarks: the
// four daemons, the shim and the pretend appliance, with settings as on a host,
// and reads from /proc what they cost.
//
// Only test/bench imports it. Under root each daemon has a user of its own and
// the whole sandbox; otherwise all run as the caller. The caller's own account
// may use MCP, because the benchmark is operator and client at once; that
// changes who is let in and nothing of what a call costs.
package rig

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pfsensemcp/test/programs"
)

// firstClient is the first of the clients' users under root; they exist nowhere.
const firstClient = 61020

// patience bounds every wait for a process.
const patience = 60 * time.Second

// Rig is one appliance and the daemons that were started beside it.
type Rig struct {
	Dir       string
	Bin       string
	Appliance *Appliance
	Wrap      map[string][]string // command that runs a daemon, by its name, in place of the program in Bin

	procs []*Proc
}

// Root says whether the daemons have users of their own.
func Root() bool { return os.Geteuid() == 0 }

// Client returns how to start a process as the n-th client's user; nil for the
// caller's own when there are no others.
func Client(n int) *syscall.Credential {
	if !Root() {
		return nil
	}
	uid := uint32(firstClient + n)
	return &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{programs.GIDClients}}
}

// New starts a pretend appliance with so many rows in each of its long lists.
func New(bin string, rows int) (*Rig, error) {
	// A socket's path has at most 100 bytes.
	dir, err := os.MkdirTemp("", "pb")
	if err != nil {
		return nil, err
	}
	r := &Rig{Dir: dir, Bin: bin}
	if err := os.Chmod(dir, 0o755); err != nil { // the daemons' users pass through
		return nil, errors.Join(err, r.Close())
	}
	if r.Appliance, err = r.appliance(rows); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close ends everything and removes what it wrote.
func (r *Rig) Close() error {
	for i := len(r.procs) - 1; i >= 0; i-- {
		r.procs[i].end()
	}
	return os.RemoveAll(r.Dir)
}

// Socket returns the path of a socket.
func (r *Rig) Socket(name string) string { return filepath.Join(r.Dir, name, name+".sock") }

// Start starts a daemon with more lines for its settings and returns it when it
// says that it is ready, and how long that took.
func (r *Rig) Start(name, settings string) (*Proc, time.Duration, error) {
	w := programs.Named(name)
	if err := r.prepare(name, settings); err != nil {
		return nil, 0, err
	}
	notify, err := r.notifySocket()
	if err != nil {
		return nil, 0, err
	}
	defer notify.Close()
	argv := append([]string{filepath.Join(r.Bin, name)}, w.Args...)
	if wrap := r.Wrap[name]; wrap != nil {
		argv = append(append([]string{}, wrap...), w.Args...)
	}
	p := &Proc{Name: name, argv: append(argv, "--config", r.path(name+".toml"))}
	p.env = []string{"NOTIFY_SOCKET=" + notify.LocalAddr().String()}
	if Root() {
		p.user = &syscall.Credential{Uid: uint32(w.UID), Gid: uint32(w.UID)}
		for _, gid := range w.Sockets {
			p.user.Groups = append(p.user.Groups, uint32(gid))
		}
		if name == "mcpd" {
			p.user.Groups = append(p.user.Groups, programs.GIDMcpd)
		}
	}
	begun := time.Now()
	if err := r.run(p); err != nil {
		return nil, 0, err
	}
	if err := waitReady(notify, p); err != nil {
		return nil, 0, err
	}
	return p, time.Since(begun), nil
}

// Stop ends one process in good order.
func (r *Rig) Stop(p *Proc) {
	p.end()
	for i, q := range r.procs {
		if q == p {
			r.procs = append(r.procs[:i], r.procs[i+1:]...)
			return
		}
	}
}

// prepare writes a daemon's settings, its key and the directories of its sockets.
func (r *Rig) prepare(name, more string) error {
	w := programs.Named(name)
	s := fmt.Sprintf("socket_dir = %q\n", r.Dir)
	if Root() {
		s += "sandbox = \"require\"\n"
	} else {
		s += "sandbox = \"available\"\n"
	}
	s += fmt.Sprintf("operators = [\"%d\"]\n", os.Geteuid())
	if name == "mcpd" {
		s += fmt.Sprintf("api_url = %q\nidentity = \"bench reader\"\napi_key_file = %q\ntls_mode = \"auto\"\ntls_ca_file = %q\noperators_may_use_mcp = true\n",
			r.Appliance.URL, r.path("read-key"), r.path("ca.pem"))
	} else {
		s += fmt.Sprintf("mcpd_user = \"%d\"\n", owner(programs.UIDMcpd))
	}
	err := r.file(name+".toml", []byte(s+more), w.UID)
	if name == "mcpd" {
		err = errors.Join(err, r.file("read-key", []byte(r.Appliance.Key+"\n"), w.UID), r.file("ca.pem", r.Appliance.CA, w.UID))
	}
	if Root() {
		for socket, gid := range w.Sockets {
			p := r.path(socket)
			err = errors.Join(err, os.MkdirAll(p, 0o750), os.Chown(p, w.UID, gid), os.Chmod(p, 0o750|os.ModeSetgid))
		}
	}
	return err
}

// owner is the uid that a daemon of this uid really has.
func owner(uid int) int {
	if Root() {
		return uid
	}
	return os.Geteuid()
}

func (r *Rig) path(name string) string { return filepath.Join(r.Dir, name) }

// file writes a file that one user alone may read.
func (r *Rig) file(name string, b []byte, uid int) error {
	if err := os.WriteFile(r.path(name), b, 0o600); err != nil {
		return err
	}
	if Root() {
		return os.Chown(r.path(name), uid, uid)
	}
	return nil
}

// notifySocket is what systemd would listen on.
func (r *Rig) notifySocket() (*net.UnixConn, error) {
	p := r.path("notify")
	if err := os.RemoveAll(p); err != nil {
		return nil, err
	}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: p, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	return c, os.Chmod(p, 0o777)
}

func waitReady(c *net.UnixConn, p *Proc) error {
	b := make([]byte, 4096)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			return err
		}
		n, err := c.Read(b)
		if err == nil && strings.Contains(string(b[:n]), "READY=1") {
			return nil
		}
		if p.ended() {
			return fmt.Errorf("%s ended before it was ready:\n%s", p.Name, p.said())
		}
	}
	return fmt.Errorf("%s is not ready after %s:\n%s", p.Name, patience, p.said())
}

// Package suite starts the whole suite for tests: the shipped programs, built
// once, as real processes beside an in-process pretend appliance. Under root
// each daemon has a user of its own, as on a host; otherwise all run as the
// caller, and the stories about users say that they were skipped.
//
// Only tests import it.
package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/programs"
	"pfsensemcp/test/rawmcp"
)

// Options changes what is started. The zero value is the usual suite.
type Options struct {
	Appliance fakepf.Options
	URL       string   // instead of the pretend appliance's
	CA        []byte   // PEM of who signed the certificate of URL's server; nil: tls_mode is for Settings to say
	Settings  string   // lines for mcpd.toml
	Env       []string // added to mcpd's environment
	Fixtures  bool     // mcpd of the test build, with what the conformance suite calls by name
	Only      []string // of the daemons; nil: all
}

// Suite is one running suite.
type Suite struct {
	t         testing.TB
	Dir       string
	Bin       string
	Appliance *fakepf.Server
	mcpd      string   // the program that serves
	env       []string // of mcpd
	procs     map[string]*daemontest.Proc
}

// build builds the programs once a test binary.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "suite-bin")
	if err != nil {
		return "", err
	}
	// Every user of the suite must be able to run them.
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	if err := programs.Build(programs.Shipped, dir, programs.Suite()...); err != nil {
		return "", err
	}
	return dir, nil
})

// buildFixtures builds the mcpd that has them, beside the shipped one.
var buildFixtures = sync.OnceValues(func() (string, error) {
	bin, err := build()
	if err != nil {
		return "", err
	}
	return bin + "/fixtures", programs.Build(programs.Fixtures, bin+"/fixtures", "cmd/mcpd")
})

// Cleanup removes the programs; for TestMain.
func Cleanup() {
	if dir, err := build(); err == nil {
		_ = os.RemoveAll(dir)
	}
}

// Root says whether the daemons have users of their own.
func Root() bool { return os.Geteuid() == 0 }

// New starts the suite. At the end of the test every daemon must still run, end
// cleanly, and have logged no error that the test did not ask for.
func New(t *testing.T, o Options) *Suite {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := &Suite{t: t, Dir: daemontest.Dir(t), Bin: bin, mcpd: filepath.Join(bin, "mcpd"), procs: map[string]*daemontest.Proc{}, env: o.Env}
	if o.Fixtures {
		dir, err := buildFixtures()
		if err != nil {
			t.Fatal(err)
		}
		s.mcpd = filepath.Join(dir, "mcpd")
	}
	url, ca := o.URL, ""
	if url == "" {
		s.Appliance = fakepf.Start(t, o.Appliance)
		url, o.CA = s.Appliance.URL(), s.Appliance.CAPEM()
	}
	if o.CA != nil {
		ca = filepath.Join(s.Dir, "ca.pem")
		s.file("ca.pem", string(o.CA), programs.UIDMcpd)
	}
	s.file("read-key", fakepf.ReadKey+"\n", programs.UIDMcpd)
	s.chmod(s.Dir, 0o755)
	for _, name := range programs.Names() {
		settings := fmt.Sprintf("socket_dir = %q\n", s.Dir)
		// Under root the caller's files and groups are those of a host, so the
		// sandbox is whole; otherwise the caller may hold anything.
		mode := "available"
		if Root() {
			mode = "require"
		}
		settings += fmt.Sprintf("sandbox = %q\noperators = [\"%d\"]\n", mode, s.operator())
		if name == "mcpd" {
			settings += fmt.Sprintf("api_url = %q\nidentity = \"suite reader\"\napi_key_file = %q\n", url, filepath.Join(s.Dir, "read-key"))
			if ca != "" {
				settings += fmt.Sprintf("tls_mode = \"auto\"\ntls_ca_file = %q\n", ca)
			}
			if !Root() {
				settings += "operators_may_use_mcp = true\n"
			}
			settings += o.Settings
		} else {
			settings += fmt.Sprintf("mcpd_user = \"%d\"\n", s.uid("mcpd"))
		}
		s.file(name+".toml", settings, programs.Named(name).UID)
		for socket, gid := range programs.Named(name).Sockets {
			s.socketDir(socket, programs.Named(name).UID, gid)
		}
	}
	if o.Only == nil {
		o.Only = programs.Names()
	}
	for _, name := range o.Only {
		s.Start(name)
	}
	t.Cleanup(func() {
		for _, name := range programs.Names() {
			if p := s.procs[name]; p != nil && !p.Ended() {
				p.Stop()
			}
		}
	})
	return s
}

// Start starts a daemon, again after Kill, and waits until it is healthy.
func (s *Suite) Start(name string) {
	s.t.Helper()
	r := programs.Named(name)
	o := daemontest.Options{
		Exe:  filepath.Join(s.Bin, name),
		Args: append(append([]string{}, r.Args...), "--config", filepath.Join(s.Dir, name+".toml")),
	}
	if name == "mcpd" {
		o.Exe, o.Env = s.mcpd, s.env
	}
	if Root() {
		o.User = &syscall.Credential{Uid: uint32(r.UID), Gid: uint32(r.UID)}
		for _, gid := range r.Sockets {
			o.User.Groups = append(o.User.Groups, uint32(gid))
		}
		if name == "mcpd" {
			o.User.Groups = append(o.User.Groups, programs.GIDMcpd)
		}
	}
	p := daemontest.Start(s.t.(*testing.T), o)
	s.procs[name] = p
	// The sockets take connections before the sandbox stands; this line comes
	// after both.
	p.Until(name+" serving", func() bool { return strings.Contains(p.Output(), `"msg":"serving"`) })
}

// Kill ends a daemon the hard way and waits until it is gone.
func (s *Suite) Kill(name string) {
	s.t.Helper()
	p := s.procs[name]
	p.Signal(syscall.SIGKILL)
	p.Until(name+" gone", p.Ended)
}

// Proc returns a daemon's process.
func (s *Suite) Proc(name string) *daemontest.Proc { return s.procs[name] }

// Socket returns a socket's path.
func (s *Suite) Socket(name string) string { return daemontest.Socket(s.Dir, name) }

// Shim starts `mcpd stdio` as the client's user and returns a raw client on it.
func (s *Suite) Shim() *rawmcp.Client {
	s.t.Helper()
	c, err := rawmcp.StartAs(context.Background(), s.clientUser(), os.Stderr, filepath.Join(s.Bin, "mcpd"), "stdio", "--socket", s.Socket("mcp"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// clientUser is the user of the MCP client, nil for the caller.
func (s *Suite) clientUser() *syscall.Credential {
	if !Root() {
		return nil
	}
	return &syscall.Credential{Uid: programs.UIDClient, Gid: programs.UIDClient, Groups: []uint32{programs.GIDClients}}
}

// ClientProc is what starts a program as the MCP client's user.
func (s *Suite) ClientProc() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: s.clientUser()}
}

// Errors returns the lines of level ERROR that a daemon has logged.
func (s *Suite) Errors(name string) []string {
	var bad []string
	for line := range strings.Lines(s.procs[name].Output()) {
		if _, rest, ok := strings.Cut(line, ">"); ok && strings.HasPrefix(line, "<") {
			line = rest
		}
		var rec struct{ Level string }
		if json.NewDecoder(bytes.NewReader([]byte(line))).Decode(&rec) == nil && rec.Level == "ERROR" {
			bad = append(bad, line)
		}
	}
	return bad
}

func (s *Suite) operator() int {
	if Root() {
		return programs.UIDOperator
	}
	return os.Geteuid()
}

func (s *Suite) uid(name string) int {
	if Root() {
		return programs.Named(name).UID
	}
	return os.Geteuid()
}

// file writes a file that one user alone may read.
func (s *Suite) file(name, text string, uid int) {
	s.t.Helper()
	p := filepath.Join(s.Dir, name)
	err := os.WriteFile(p, []byte(text), 0o600)
	if err == nil && Root() {
		err = os.Chown(p, uid, uid)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// socketDir makes a socket's directory. Under root it belongs to the daemon and
// its group, and hands the group on to the socket, as a socket unit would.
func (s *Suite) socketDir(name string, uid, gid int) {
	s.t.Helper()
	if !Root() {
		return
	}
	p := filepath.Join(s.Dir, name)
	if err := os.Mkdir(p, 0o750); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chown(p, uid, gid); err != nil {
		s.t.Fatal(err)
	}
	s.chmod(p, 0o750|os.ModeSetgid)
}

func (s *Suite) chmod(p string, mode os.FileMode) {
	s.t.Helper()
	if err := os.Chmod(p, mode); err != nil {
		s.t.Fatal(err)
	}
}

package daemontest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// RunMain is the variable that makes a cmd's test binary the daemon itself: its
// TestMain calls main when it is set.
const RunMain = "DAEMONTEST_RUN_MAIN"

// Daemon is a program whose life is tried.
type Daemon struct {
	Name    string
	Sockets []string // all are gRPC
	Walls   []string // names that Node must report as enforced beyond those of every daemon
}

// everyWall must stand in every daemon, whatever the user.
var everyWall = []string{"no_new_privs", "undumpable", "no_core_dump", "seccomp", "landlock_files"}

// Life runs the stories that every daemon shares, each with real processes.
func Life(t *testing.T, d Daemon) {
	t.Run("it makes its sockets, serves health and node, and ends cleanly", d.alone)
	t.Run("it serves sockets of systemd and feeds its watchdog", d.activated)
	t.Run("killed, it starts again over its stale sockets", d.killed)
	t.Run("under its own user it passes sandbox = require", d.required)
	t.Run("check-config tells every fault and a start tells the same", d.faults)
	t.Run("version, help and help-config need nothing", d.help)
}

// site makes a directory with a settings file.
func (d Daemon) site(t *testing.T, mode string) (dir, config string) {
	t.Helper()
	dir = Dir(t)
	config = filepath.Join(dir, d.Name+".toml")
	text := fmt.Sprintf("sandbox = %q\nsocket_dir = %q\nmcpd_user = \"%d\"\noperators = [\"%d\"]\n", mode, dir, os.Getuid(), os.Getuid())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, config
}

func (d Daemon) start(t *testing.T, config string, o Options) *Proc {
	t.Helper()
	o.Args = append([]string{"--config", config}, o.Args...)
	o.Env = append(o.Env, RunMain+"=1")
	return Start(t, o)
}

// healthy waits for every socket and checks what the node says.
func (d Daemon) healthy(t *testing.T, p *Proc, dir, mode string) {
	t.Helper()
	for _, name := range d.Sockets {
		st := p.Node(p.Serving(Socket(dir, name)))
		if st.GetName() != d.Name || st.GetSandbox().GetMode() != mode || !strings.HasPrefix(st.GetBuildId(), "sha256:") || st.GetVersion() == "" {
			t.Errorf("%s: node says %v", name, st)
		}
		for _, wall := range append(slices.Clone(everyWall), d.Walls...) {
			if !slices.Contains(st.GetSandbox().GetEnforced(), wall) {
				t.Errorf("%s is not enforced: %v", wall, st.GetSandbox())
			}
		}
	}
}

func (d Daemon) alone(t *testing.T) {
	dir, config := d.site(t, "available")
	logs := Dir(t)
	p := d.start(t, config, Options{Args: []string{"--log-file", filepath.Join(logs, "x.log")}})
	d.healthy(t, p, dir, "available")
	p.Stop()
	for _, name := range d.Sockets {
		if _, err := os.Lstat(Socket(dir, name)); err == nil {
			t.Errorf("socket %s was left behind", name)
		}
	}
	b, err := os.ReadFile(filepath.Join(logs, "x.log"))
	if err != nil || !strings.Contains(string(b), "serving") || !strings.Contains(string(b), "ended") {
		t.Errorf("the log: %v\n%s", err, b)
	}
	if p.Output() != "" {
		t.Errorf("with a log file it printed:\n%s", p.Output())
	}
}

func (d Daemon) activated(t *testing.T) {
	dir, config := d.site(t, "available")
	n := NewNotify(t, dir)
	var in []Inherited
	for _, name := range d.Sockets {
		in = append(in, Inherited{Name: name, File: Bind(t, Socket(dir, name), 0o700, 0o600)})
	}
	slices.Reverse(in) // the order of units is nobody's promise
	p := d.start(t, config, Options{Inherit: in, Env: []string{"NOTIFY_SOCKET=" + n.Path, "WATCHDOG_USEC=60000"}})
	d.healthy(t, p, dir, "available")
	p.Until("READY", func() bool { return n.Count("READY=1") == 1 })
	p.Until("two watchdog calls", func() bool { return n.Count("WATCHDOG=1") >= 2 })
	p.Stop()
	if n.Count("STOPPING=1") != 1 {
		t.Error("STOPPING was not sent")
	}
}

func (d Daemon) killed(t *testing.T) {
	dir, config := d.site(t, "available")
	p := d.start(t, config, Options{})
	d.healthy(t, p, dir, "available")
	p.Signal(syscall.SIGKILL)
	p.Wait()
	if _, err := os.Lstat(Socket(dir, d.Sockets[0])); err != nil {
		t.Fatalf("kill -9 left no socket, so this shows nothing: %v", err)
	}
	p = d.start(t, config, Options{})
	d.healthy(t, p, dir, "available")
	p.Signal(syscall.SIGINT)
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d after SIGINT:\n%s", code, p.Output())
	}
}

func (d Daemon) required(t *testing.T) {
	dir, config := d.site(t, "require")
	exe, user := Unprivileged(t, dir, config)
	p := d.start(t, config, Options{Exe: exe, User: user})
	d.healthy(t, p, dir, "require")
	p.Stop()
}

func (d Daemon) faults(t *testing.T) {
	_, config := d.site(t, "perhaps")
	f, err := os.OpenFile(config, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("no_such_key = 1\nlog_level = \"loud\"\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	env := []string{RunMain + "=1", "PFSENSE_API_KEY_FILE=/x"}
	var said []string
	for _, args := range [][]string{{"--config", config, "--check-config"}, {"--config", config}} {
		p := Start(t, Options{Args: args, Env: env})
		if code := p.Wait(); code != 1 {
			t.Errorf("%v: exit code %d", args, code)
		}
		said = append(said, p.Output())
	}
	for _, want := range []string{"sandbox", "no_such_key", "log_level", "PFSENSE_API_KEY_FILE", ".toml:1", ".toml:5"} {
		if !strings.Contains(said[0], want) {
			t.Errorf("%q is not told:\n%s", want, said[0])
		}
	}
	if said[0] != said[1] || strings.Contains(said[0], "perhaps") {
		t.Errorf("check:\n%s\nstart:\n%s", said[0], said[1])
	}
}

func (d Daemon) help(t *testing.T) {
	for _, flag := range []string{"--version", "--help", "--help-config"} {
		p := Start(t, Options{Args: []string{flag}, Env: []string{RunMain + "=1"}})
		if code := p.Wait(); code != 0 {
			t.Errorf("%s: exit code %d:\n%s", flag, code, p.Output())
		}
		if flag == "--help" && strings.Count(p.Output(), "\n") > 24 {
			t.Errorf("--help does not fit a screen:\n%s", p.Output())
		}
	}
}

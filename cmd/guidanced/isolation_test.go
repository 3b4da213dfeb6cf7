package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/guidance"
	guidancepb "pfsensemcp/proto/guidance/v1"
	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/programs"
)

func uid() string { return strconv.Itoa(os.Getuid()) }

// probing returns a daemon that starts and is confined exactly as s, and whose
// Lookup tries what its capability asks for instead of answering.
func probing(s daemon.Spec) daemon.Spec {
	build := s.Build
	s.Build = func(p *daemon.Process) (daemon.Running, error) {
		r, err := build(p)
		if err != nil {
			return r, err
		}
		g := r.GRPC["guidance"]
		g.Register = func(reg grpc.ServiceRegistrar) { guidancepb.RegisterGuidanceServer(reg, prober{}) }
		r.GRPC["guidance"] = g
		return r, nil
	}
	return s
}

// prober tries something and says what the kernel answered.
type prober struct {
	guidancepb.UnimplementedGuidanceServer
}

const possible = "possible"

func (prober) Lookup(_ context.Context, r *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
	return &guidancepb.LookupResponse{OverallState: try(r.GetCapability(), r.GetToolName())}, nil
}

// try does one thing that guidanced must not be able to do. The errno tells
// which wall stood: a seccomp filter that knows the call answers EAFNOSUPPORT or
// EPERM, landlock EACCES. A refused or missing peer would be another errno, and
// then no wall stood at all.
func try(what, target string) string {
	err := attacks[what](target)
	if err == nil {
		return possible
	}
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return no.Error()
	}
	return err.Error()
}

func dial(network string) func(string) error {
	return func(target string) error {
		c, err := net.DialTimeout(network, target, time.Minute)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
}

var attacks = map[string]func(target string) error{
	"tcp": dial("tcp4"), "udp": dial("udp4"), "unix": dial("unix"),
	"raw": func(string) error {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		if err == nil {
			_ = syscall.Close(fd)
		}
		return err
	},
	"tcp6": func(string) error {
		fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM, 0)
		if err == nil {
			_ = syscall.Close(fd)
		}
		return err
	},
	"netlink": func(string) error {
		fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW, 0)
		if err == nil {
			_ = syscall.Close(fd)
		}
		return err
	},
	"read":   func(target string) error { _, err := os.ReadFile(target); return err },
	"write":  func(target string) error { return os.WriteFile(target+".new", nil, 0o600) },
	"list":   func(target string) error { _, err := os.ReadDir(filepath.Dir(target)); return err },
	"listen": func(target string) error { _, err := net.Listen("unix", target+".sock"); return err },
	"exec":   func(string) error { return exec.Command("/bin/true").Run() },
	"self": func(string) error {
		exe, err := os.Executable()
		if err == nil {
			_, err = os.Open(exe)
		}
		return err
	},
}

// TestTheKernelHoldsGuidanced asks a running guidanced, under its own start-up
// and sandbox, for the network, for files and for other daemons' sockets. Each
// attempt works for this test's own process, so that a refusal means a wall.
func TestTheKernelHoldsGuidanced(t *testing.T) {
	dir, config := site(t)
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	other := filepath.Join(dir, "exec", "exec.sock")
	if err := os.Mkdir(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	unix, err := net.Listen("unix", other)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	file := filepath.Join(dir, "foreign")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}

	p := start(t, config, "probe")
	c := guidancepb.NewGuidanceClient(p.Serving(daemontest.Socket(dir, "guidance")))
	refused := []string{syscall.EAFNOSUPPORT.Error(), syscall.EPERM.Error(), syscall.EACCES.Error()}
	for what, target := range map[string]string{
		"tcp": tcp.Addr().String(), "udp": tcp.Addr().String(), "raw": "", "tcp6": "", "netlink": "",
		"unix": other, "listen": filepath.Join(dir, "mine"),
		"read": file, "write": file, "list": file, "self": "", "exec": "",
	} {
		if what != "tcp6" { // a machine may have no IPv6 at all
			if got := try(what, target); got != possible {
				t.Errorf("%s is impossible for the test itself (%s), so this shows nothing", what, got)
			}
			_ = os.Remove(target + ".new")
			_ = os.Remove(target + ".sock")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		res, err := c.Lookup(ctx, &guidancepb.LookupRequest{Capability: what, ToolName: target})
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		held := false
		for _, r := range refused {
			held = held || res.GetOverallState() == r
		}
		if !held {
			t.Errorf("%s: the kernel answered %q", what, res.GetOverallState())
		}
		t.Logf("%s: %s", what, res.GetOverallState())
	}
	p.Stop()
}

// proc returns a field of /proc/PID/status.
func proc(t *testing.T, pid int, field string) string {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	t.Fatalf("no %s", field)
	return ""
}

// shipped builds the program as it ships.
func shipped(t *testing.T) string {
	t.Helper()
	dir := daemontest.Dir(t)
	if err := programs.Build(programs.Shipped, dir, "cmd/guidanced"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "guidanced")
}

// maxResident is what an idle guidanced may hold, in KiB: half as much again as it does,
// so that neither a busy machine nor another kernel decides.
const maxResident = 20 << 10

// TestTheShippedProgram looks at the program that ships while it serves: its
// walls, its open files and its size.
func TestTheShippedProgram(t *testing.T) {
	dir, config := site(t)
	p := daemontest.Start(t, daemontest.Options{
		Exe: shipped(t), Args: []string{"--config", config}, Env: []string{"GOMAXPROCS=2"}, // each processor more is memory more
	})
	c := guidancepb.NewGuidanceClient(p.Serving(daemontest.Socket(dir, "guidance")))
	for field, want := range map[string]string{"Seccomp": "2", "NoNewPrivs": "1"} {
		if got := proc(t, p.PID(), field); got != want {
			t.Errorf("%s is %s, not %s", field, got, want)
		}
	}

	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	if err != nil {
		t.Skipf("its descriptors cannot be looked at: %v", err)
	}
	inet := internetSockets(t)
	for _, fd := range fds {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", p.PID(), fd.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		switch {
		case strings.HasPrefix(link, "socket:["):
			if inet[strings.Trim(link[len("socket:"):], "[]")] {
				t.Errorf("descriptor %s is an internet socket", fd.Name())
			}
		case strings.HasPrefix(link, "pipe:["), strings.HasPrefix(link, "anon_inode:"), link == "/dev/null":
		case strings.HasPrefix(link, "/sys/fs/cgroup/"): // the Go runtime reads its CPU share
		default:
			t.Errorf("descriptor %s is %s", fd.Name(), link)
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for range 500 {
		if _, err := c.Lookup(ctx, &guidancepb.LookupRequest{Capability: "FIREWALL_NAT_READ", Identity: &guidancepb.Identity{Edition: guidance.Unknown}}); err != nil {
			t.Fatal(err)
		}
	}
	kib, err := strconv.Atoi(strings.TrimSuffix(proc(t, p.PID(), "VmRSS"), " kB"))
	if err != nil || kib > maxResident {
		t.Errorf("%d KiB resident after 500 lookups, at most %d: %v", kib, maxResident, err)
	}
	t.Logf("%d KiB resident", kib)
	p.Stop()
}

// internetSockets returns the inodes of all internet sockets of this network
// namespace.
func internetSockets(t *testing.T) map[string]bool {
	t.Helper()
	inodes := map[string]bool{}
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		text, err := os.ReadFile("/proc/net/" + name)
		if err != nil {
			continue // a kernel without IPv6
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 {
				inodes[f[9]] = true
			}
		}
	}
	return inodes
}

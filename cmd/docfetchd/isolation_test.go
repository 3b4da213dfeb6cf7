package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/daemon"
	docspb "pfsensemcp/proto/docs/v1"
	"pfsensemcp/test/daemontest"
)

// probing returns a daemon that starts and is confined exactly as s, and whose
// Topic tries what its topic asks for instead of answering.
func probing(s daemon.Spec) daemon.Spec {
	build := s.Build
	s.Build = func(p *daemon.Process) (daemon.Running, error) {
		r, err := build(p)
		if err != nil {
			return r, err
		}
		d := r.GRPC["docs"]
		d.Register = func(reg grpc.ServiceRegistrar) { docspb.RegisterDocsServer(reg, prober{}) }
		r.GRPC["docs"] = d
		return r, nil
	}
	return s
}

// prober tries something and says what the kernel answered.
type prober struct{ docspb.UnimplementedDocsServer }

func (prober) Topic(_ context.Context, r *docspb.TopicRequest) (*docspb.TopicResponse, error) {
	return &docspb.TopicResponse{Excerpt: try(r.GetTopic())}, nil
}

const possible = "possible"

// try does one thing, "what target", that docfetchd must not be able to do. The
// errno tells which wall stood: the seccomp filter answers EAFNOSUPPORT or EPERM,
// landlock EACCES. A refused or missing peer would be another errno, and then no
// wall stood at all.
func try(request string) string {
	what, target := request, ""
	for i := range request {
		if request[i] == ' ' {
			what, target = request[:i], request[i+1:]
			break
		}
	}
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
	"tcp": dial("tcp4"), "unix": dial("unix"),
	"udp": func(target string) error {
		c, err := net.Dial("udp4", target)
		if err == nil {
			_, err = c.Write([]byte("x"))
			_ = c.Close()
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
	"tcp-listen": func(string) error {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err == nil {
			_ = l.Close()
		}
		return err
	},
	"read":   func(target string) error { _, err := os.ReadFile(target); return err },
	"write":  func(target string) error { return os.WriteFile(target+".new", nil, 0o600) },
	"list":   func(target string) error { _, err := os.ReadDir(filepath.Dir(target)); return err },
	"listen": func(target string) error { _, err := net.Listen("unix", target+".sock"); return err },
	"exec":   func(string) error { return exec.Command("/bin/true").Run() },
}

// TestTheKernelHoldsDocfetchd asks a running docfetchd, under its own start-up and
// sandbox, for the executor's sockets, for an appliance, and for files. Each
// attempt works for this test's own process, so that a refusal means a wall.
func TestTheKernelHoldsDocfetchd(t *testing.T) {
	dir, config := site(t, "")
	appliance, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer appliance.Close()
	executor := filepath.Join(dir, "exec", "exec.sock")
	if err := os.Mkdir(filepath.Dir(executor), 0o700); err != nil {
		t.Fatal(err)
	}
	unix, err := net.Listen("unix", executor)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	file := filepath.Join(dir, "foreign")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}

	p := daemontest.Start(t, daemontest.Options{Args: []string{"--config", config}, Env: []string{daemontest.RunMain + "=1", mood + "=probe"}})
	conn := p.Serving(daemontest.Socket(dir, "docs"))
	enforced := p.Node(conn).GetSandbox().GetEnforced()
	c := docspb.NewDocsClient(conn)
	seccomp := []string{syscall.EAFNOSUPPORT.Error(), syscall.EPERM.Error()}
	landlock := []string{syscall.EACCES.Error(), syscall.EPERM.Error()}
	for _, a := range []struct {
		what, target string
		walls        []string
		needs        string // the wall's name where not every kernel has it
	}{
		{"tcp", appliance.Addr().String(), landlock, "landlock_tcp"},
		{"udp", appliance.Addr().String(), landlock, "landlock_udp"},
		{"unix", executor, seccomp, ""},
		{"netlink", "", seccomp, ""},
		{"tcp-listen", "", seccomp, ""},
		{"listen", filepath.Join(dir, "mine"), seccomp, ""},
		{"exec", "", append(seccomp, landlock...), ""},
		{"read", file, landlock, ""},
		{"write", file, landlock, ""},
		{"list", file, landlock, ""},
	} {
		if got := try(a.what + " " + a.target); got != possible {
			t.Errorf("%s is impossible for the test itself (%s), so this shows nothing", a.what, got)
		}
		_ = os.Remove(a.target + ".new")
		_ = os.Remove(a.target + ".sock")
		if a.needs != "" && !slices.Contains(enforced, a.needs) {
			t.Logf("%s: this kernel has no %s; the unit's IPAddressDeny stands instead", a.what, a.needs)
			continue
		}
		res, err := c.Topic(soon(t), &docspb.TopicRequest{Topic: a.what + " " + a.target})
		if err != nil {
			t.Fatalf("%s: %v", a.what, err)
		}
		if !slices.Contains(a.walls, res.GetExcerpt()) {
			t.Errorf("%s: the kernel answered %q", a.what, res.GetExcerpt())
		}
		t.Logf("%s: %s", a.what, res.GetExcerpt())
	}
	p.Stop()
}

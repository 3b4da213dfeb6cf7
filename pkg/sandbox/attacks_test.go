package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attacks are what a process must not be able to do, or may do only by its
// profile. nil and every error that says the kernel looked at the arguments
// count as "it was possible".
func attacks(j job) map[string]func() error {
	raw := func(nr uintptr, args ...uintptr) func() error {
		return func() error {
			var a [6]uintptr
			copy(a[:], args)
			if _, _, no := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); no == syscall.EPERM || no == syscall.EACCES || no == syscall.ENOSYS || no == syscall.EAFNOSUPPORT {
				return no
			}
			return nil
		}
	}
	sock := func(family, typ, proto int) func() error {
		return func() error {
			fd, err := syscall.Socket(family, typ, proto)
			if err == nil {
				_ = syscall.Close(fd)
			}
			return err
		}
	}
	const none = ^uintptr(0) // a descriptor or pointer that is none
	return map[string]func() error{
		"tcp to the port":        dial("tcp4", fmt.Sprintf("127.0.0.1:%d", j.Port)),
		"tcp to another port":    dial("tcp4", fmt.Sprintf("127.0.0.1:%d", j.OtherPort)),
		"unix socket by path":    dial("unix", j.Unix),
		"abstract unix socket":   dial("unix", j.Abstract),
		"unix datagram socket":   sock(unix.AF_UNIX, unix.SOCK_DGRAM|goFlags, 0),
		"udp socket":             sock(unix.AF_INET, goDgram, 0),
		"mptcp socket":           sock(unix.AF_INET, goStream, unix.IPPROTO_MPTCP),
		"netlink socket":         sock(unix.AF_NETLINK, unix.SOCK_RAW|goFlags, 0),
		"crypto socket":          sock(unix.AF_ALG, unix.SOCK_SEQPACKET|goFlags, 0),
		"listening on tcp":       listen("tcp4", "127.0.0.1:0"),
		"listening on a path":    listen("unix", filepath.Join(filepath.Dir(j.Serve), "more.sock")),
		"socket pair":            raw(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, 0),
		"file outside, read":     func() error { _, err := os.ReadFile(j.Secret); return err },
		"file outside, write":    func() error { return os.WriteFile(j.Secret, []byte("y"), 0o600) },
		"directory outside":      func() error { _, err := os.ReadDir("/"); return err },
		"memory of the process":  func() error { f, err := os.Open("/proc/self/mem"); closeIt(f); return err },
		"program":                func() error { return exec.Command("/bin/true").Run() },
		"ptrace":                 raw(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 0),
		"memory of another":      raw(unix.SYS_PROCESS_VM_READV, 0),
		"io_uring":               raw(unix.SYS_IO_URING_SETUP, 0, 0),
		"bpf":                    raw(unix.SYS_BPF, none, 0, 0),
		"mount":                  raw(unix.SYS_MOUNT, none, none, none, 0, 0),
		"unshare":                raw(unix.SYS_UNSHARE, 0),
		"setns":                  raw(unix.SYS_SETNS, none, 0),
		"keyctl":                 raw(unix.SYS_KEYCTL, none),
		"perf_event_open":        raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, none, none),
		"userfaultfd":            raw(unix.SYS_USERFAULTFD, none),
		"personality":            raw(unix.SYS_PERSONALITY, 0xffffffff),
		"memfd":                  raw(unix.SYS_MEMFD_CREATE, 0, none),
		"pidfd":                  raw(unix.SYS_PIDFD_OPEN, 0, none),
		"descriptor from a peer": raw(unix.SYS_RECVMSG, none, 0, 0),
		"datagram to anywhere":   raw(unix.SYS_SENDTO, none, 0, 0, 0, 0, 0),
		"clone3":                 raw(unix.SYS_CLONE3, 0, 0),
		"setuid":                 raw(unix.SYS_SETRESUID, none, none, none),
		"signal to others":       raw(unix.SYS_KILL, 0, 0),
		"dumpable again":         raw(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1),
		"raising a limit":        raw(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, none, 0),
		"executable memory": func() error {
			b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err == nil {
				_ = unix.Munmap(b)
			}
			return err
		},
		"making memory executable": func() error {
			b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err != nil {
				return err
			}
			defer unix.Munmap(b)
			return unix.Mprotect(b, unix.PROT_READ|unix.PROT_EXEC)
		},
		"another sandbox layer": raw(unix.SYS_SECCOMP, none, 0, 0),
	}
}

// patience ends what hangs; on a busy host everything else may take its time.
const patience = time.Minute

// duties are what every daemon must be able to do after Apply.
func duties(j job, l net.Listener) map[string]func() error {
	d := map[string]func() error{
		"threads": threads,
		"a collection and a timer": func() error {
			for range 20 {
				_ = make([]byte, 1<<20)
			}
			runtime.GC()
			<-time.After(time.Millisecond)
			return nil
		},
		"local time": func() error { _ = time.Now().Local().String(); return nil },
		"the read file": func() error {
			if j.Inside == "" {
				return nil
			}
			_, err := os.ReadFile(j.Inside)
			return err
		},
	}
	if l != nil {
		d["accepting on the open socket, then removing it"] = func() error { return acceptOne(l) }
	}
	if j.Dir != "" {
		d["a rotating log"] = func() error { return rotate(j.Dir) }
	}
	if j.Profile.DNS {
		d["a name"] = func() error { return resolve(j.DNS) }
	}
	return d
}

// acceptOne serves the parent, which dials until it is served, and closes the
// listener, which removes its file.
func acceptOne(l net.Listener) error {
	_ = l.(*net.UnixListener).SetDeadline(time.Now().Add(patience))
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("served")); err != nil {
		return err
	}
	path := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return errors.New("the socket file is still there")
	}
	return nil
}

// threads makes the runtime clone: each goroutine holds a thread of its own.
func threads() error {
	var hold, up sync.WaitGroup
	hold.Add(1)
	for range 32 {
		up.Add(1)
		go func() {
			runtime.LockOSThread()
			up.Done()
			hold.Wait()
		}()
	}
	up.Wait()
	hold.Done()
	return nil
}

func rotate(dir string) error {
	name := filepath.Join(dir, "log")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString("line\n"); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(name, name+".1"); err != nil {
		return err
	}
	return os.Remove(name + ".1")
}

func resolve(server string) error {
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp4", server)
	}}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := r.LookupHost(ctx, "absent.example.")
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return nil // answered
	}
	return err
}

// dial connects and reads one byte: a connection that only looks made is none.
func dial(network, addr string) func() error {
	return func() error {
		c, err := net.DialTimeout(network, addr, patience)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
		return err
	}
}

func listen(network, addr string) func() error {
	return func() error {
		var lc net.ListenConfig
		lc.SetMultipathTCP(false)
		l, err := lc.Listen(context.Background(), network, addr)
		if err == nil {
			_ = l.Close()
		}
		return err
	}
}

func closeIt(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}

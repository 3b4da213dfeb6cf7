package sandbox

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// machine runs the filter of a profile over calls that are never made: what
// cannot be tried (a fork from Go, a foreign calling convention, kexec) is
// judged by the very program that the kernel would load.
type machine struct {
	vms  []*bpf.VM
	arch uint32
	nr   map[string]int
}

const self = 4242

func newMachine(t *testing.T, p Profile) *machine {
	t.Helper()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the words below are laid out for little-endian 64-bit machines")
	}
	filters, err := policies(p, self)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{}
	for _, pol := range filters {
		prog, err := pol.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		vm, err := bpf.NewVM(prog)
		if err != nil {
			t.Fatal(err)
		}
		m.vms = append(m.vms, vm)
	}
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	m.arch, m.nr = uint32(info.ID), info.SyscallNames
	return m
}

// call returns the action for a call of this architecture.
func (m *machine) call(t *testing.T, name string, args ...uint64) seccomp.Action {
	t.Helper()
	nr, ok := m.nr[name]
	if !ok {
		t.Fatalf("no call %s", name)
	}
	return m.raw(t, m.arch, uint32(nr), args...)
}

func (m *machine) raw(t *testing.T, arch, nr uint32, args ...uint64) seccomp.Action {
	t.Helper()
	// struct seccomp_data as the kernel lays it out, each word turned to the
	// network order in which this machine (made for packets) loads it.
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data, nr)
	binary.BigEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	// The newest filter is asked first; the lowest action counts, and among
	// equals the first one met.
	verdict := allow
	for _, vm := range slices.Backward(m.vms) {
		v, err := vm.Run(data)
		if err != nil {
			t.Fatal(err)
		}
		if got := seccomp.Action(uint32(v)); got&0xffff0000 < verdict&0xffff0000 {
			verdict = got
		}
	}
	return verdict
}

const allow = seccomp.ActionAllow

func full() Profile {
	p := Executord()
	p.Name, p.May = "everything", Unix|Internet|State|Device
	p.TCP, p.DNS, p.UnixConnect, p.State = []uint16{443}, true, []string{"/run"}, []string{"/var"}
	return p
}

func TestNoProfileLetsADangerousCallThrough(t *testing.T) {
	m := newMachine(t, full())
	for _, name := range []string{
		"execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp",
		"pidfd_open", "pidfd_getfd", "pidfd_send_signal",
		"io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup", "io_submit",
		"bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key",
		"mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
		"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon", "swapoff",
		"personality", "setuid", "setgid", "setresuid", "setresgid", "setgroups", "capset", "setrlimit", "setsid",
		"fchown", "fchownat", "fchmodat", "setxattr", "fsetxattr", "truncate", "symlinkat", "mknodat",
		"bind", "listen", "socketpair", "sendto", "sendmsg", "sendmmsg", "recvmsg", "recvmmsg",
		"open_by_handle_at", "name_to_handle_at", "memfd_create", "memfd_secret", "seccomp", "landlock_restrict_self",
		"pkey_mprotect", "remap_file_pages", "vmsplice", "quotactl", "acct", "syslog", "settimeofday", "clock_settime", "adjtimex",
		"fanotify_init", "inotify_init1", "lookup_dcookie", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "sched_setscheduler",
	} {
		if _, ok := m.nr[name]; !ok {
			continue // not on this architecture
		}
		if got := m.call(t, name); got != eperm {
			t.Errorf("%s: %#x", name, uint32(got))
		}
	}
	for _, name := range []string{"fork", "vfork"} {
		if _, ok := m.nr[name]; ok && m.call(t, name) != eperm {
			t.Errorf("%s is allowed", name)
		}
	}
}

func TestEveryAllowedCallIsReachedThroughTheProgramsJumps(t *testing.T) {
	m := newMachine(t, full())
	for _, name := range append(alwaysAllowed(), fileCalls()...) {
		if _, ok := m.nr[name]; ok && m.call(t, name) != allow {
			t.Errorf("%s is refused", name)
		}
	}
	m = newMachine(t, Guidanced())
	for _, name := range append(fileCalls(), "connect") {
		if _, ok := m.nr[name]; ok && m.call(t, name) != eperm {
			t.Errorf("%s is allowed without a use for it", name)
		}
	}
}

func TestACallThroughAForeignConventionIsRefused(t *testing.T) {
	m := newMachine(t, full())
	const i386, arm = 0x40000003, 0x40000028
	for _, a := range []uint32{i386, arm, 0} {
		for nr := range uint32(500) {
			if got := m.raw(t, a, nr); got != eperm {
				t.Fatalf("architecture %#x call %d: %#x", a, nr, uint32(got))
			}
		}
	}
	if runtime.GOARCH == "amd64" {
		for nr := range uint32(600) {
			if got := m.raw(t, m.arch, 0x40000000|nr); got == allow {
				t.Fatalf("x32 call %d is allowed", nr)
			}
		}
	}
}

func TestOnlyThreadsCanBeCloned(t *testing.T) {
	m := newMachine(t, Guidanced())
	const thread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD
	for flags, want := range map[uint64]seccomp.Action{
		thread:                      allow,
		thread | unix.CLONE_SETTLS:  allow,
		uint64(unix.SIGCHLD):        eperm, // fork
		thread | unix.CLONE_NEWUSER: eperm,
		thread | unix.CLONE_NEWNET:  eperm,
		thread | unix.CLONE_PTRACE:  eperm,
		unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD): eperm,
	} {
		if got := m.call(t, "clone", flags); got != want {
			t.Errorf("clone %#x: %#x", flags, uint32(got))
		}
	}
	if got := m.call(t, "clone3"); got != seccomp.ActionErrno|seccomp.Action(unix.ENOSYS) {
		t.Errorf("clone3: %#x", uint32(got))
	}
}

func TestArgumentsNarrowWhatIsAllowed(t *testing.T) {
	m := newMachine(t, full())
	for _, row := range []struct {
		name string
		args []uint64
		want seccomp.Action
	}{
		{"kill", []uint64{self, 9}, allow},
		{"kill", []uint64{self + 1, 9}, eperm},
		{"kill", []uint64{0, 9}, eperm},
		{"kill", []uint64{^uint64(0), 9}, eperm},
		{"tgkill", []uint64{self, 7, 23}, allow},
		{"tgkill", []uint64{1, 1, 9}, eperm},
		{"kill", []uint64{uint64(m.nr["execve"]), 9}, eperm}, // an argument is no number of a call
		{"prlimit64", []uint64{0, unix.RLIMIT_NOFILE, 0, 1}, allow},
		{"prlimit64", []uint64{0, unix.RLIMIT_CORE, 1 << 40, 0}, eperm},
		{"prctl", []uint64{unix.PR_GET_DUMPABLE}, allow},
		{"prctl", []uint64{unix.PR_SET_DUMPABLE, 1}, eperm},
		{"prctl", []uint64{prSetVMA | 1<<32}, eperm}, // the high half counts
		{"mmap", []uint64{0, 4096, unix.PROT_READ | unix.PROT_WRITE}, allow},
		{"mmap", []uint64{0, 4096, unix.PROT_READ | unix.PROT_EXEC}, eperm},
		{"mprotect", []uint64{0, 4096, unix.PROT_EXEC}, eperm},
		{"ioctl", []uint64{2, unix.TCGETS}, allow},
		{"ioctl", []uint64{2, unix.TIOCSTI}, eperm},
		{"setsockopt", []uint64{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, allow},
		{"setsockopt", []uint64{3, unix.IPPROTO_IP, 64}, eperm}, // netfilter tables
	} {
		if got := m.call(t, row.name, row.args...); got != row.want {
			t.Errorf("%s %#x: %#x, want %#x", row.name, row.args, uint32(got), uint32(row.want))
		}
	}
}

func TestSocketsAreExactlyThoseOfTheProfile(t *testing.T) {
	type sock struct{ family, typ, proto uint64 }
	tcp, tcp6 := sock{unix.AF_INET, goStream, 0}, sock{unix.AF_INET6, goStream, unix.IPPROTO_TCP}
	udp, path := sock{unix.AF_INET6, goDgram, 0}, sock{unix.AF_UNIX, goStream, 0}
	never := []sock{
		{unix.AF_INET, goStream, unix.IPPROTO_MPTCP},
		{unix.AF_INET, goStream, 256}, // SMC over an internet family
		{unix.AF_INET, unix.SOCK_SEQPACKET | goFlags, 0},
		{unix.AF_INET, unix.SOCK_RAW | goFlags, unix.IPPROTO_ICMP},
		{unix.AF_INET, unix.SOCK_STREAM, 0}, // not what the net package asks for
		{unix.AF_UNIX, goDgram, 0},
		{unix.AF_NETLINK, unix.SOCK_RAW | goFlags, 0},
		{unix.AF_PACKET, unix.SOCK_RAW | goFlags, 0},
		{unix.AF_VSOCK, goStream, 0},
		{unix.AF_ALG, unix.SOCK_SEQPACKET | goFlags, 0},
	}
	mcpd := Mcpd()
	mcpd.TCP, mcpd.UnixConnect = []uint16{443}, []string{"/run"}
	for _, row := range []struct {
		p  Profile
		ok []sock
	}{
		{Guidanced(), nil},
		{Executord(), nil}, // write off
		{Witness(), nil},
		{mcpd, []sock{tcp, tcp6, path}}, // an appliance named by its address needs no DNS
		{Docfetchd(), []sock{tcp, tcp6, udp}},
		{full(), []sock{tcp, tcp6, udp, path}},
	} {
		m := newMachine(t, row.p)
		allowed := map[sock]bool{}
		for _, s := range row.ok {
			allowed[s] = true
		}
		for _, s := range append(never, tcp, tcp6, udp, path) {
			want := seccomp.ActionErrno | seccomp.Action(unix.EAFNOSUPPORT)
			if allowed[s] {
				want = allow
			}
			if got := m.call(t, "socket", s.family, s.typ, s.proto); got != want {
				t.Errorf("%s, socket %+v: %#x, want %#x", row.p.Name, s, uint32(got), uint32(want))
			}
		}
	}
}

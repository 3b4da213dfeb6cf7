package sandbox

import (
	"os"
	"syscall"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// Types of sockets, exactly as the net package passes them: the flags are part
// of the value, so one comparison excludes every other type.
const (
	goFlags  = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	goStream = unix.SOCK_STREAM | goFlags
	goDgram  = unix.SOCK_DGRAM | goFlags
)

// cloneNever are the flags a new thread of the Go runtime never has: the
// namespaces, and tracing.
const cloneNever = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_PTRACE | unix.CLONE_VFORK

// prSetVMA is PR_SET_VMA: the runtime names its memory with it.
const prSetVMA = 0x53564d41

// eperm is what a refused call fails with, unless said otherwise.
const eperm = seccomp.ActionErrno | seccomp.Action(unix.EPERM)

// restrictCalls loads the filters into every thread.
func restrictCalls(p Profile) error {
	filters, err := policies(p, os.Getpid())
	if err != nil {
		return err
	}
	for i, pol := range filters {
		// The kernel wants no_new_privs, which Early has set; the library sets
		// it again with the first filter, before prctl is narrowed.
		err := seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: i == 0, Flag: seccomp.FilterFlagTSync, Policy: pol})
		if err != nil {
			return errs.Wrap(err, errs.Internal, "a seccomp filter cannot be loaded")
		}
	}
	return nil
}

// policies builds the filters of a profile for the process pid on this
// machine's architecture, in the order in which they are loaded. The kernel
// asks all of them and the strictest answer counts.
//
// The last one is the list of allowed calls. Its default is to refuse, and the
// library sends a call made through another architecture's convention to the
// default. It is last because it no longer allows seccomp(2).
//
// Each of the others narrows one call by its arguments and lets everything else
// pass. They are programs of their own because the library, once it has
// compared an argument, does not load the call's number again: in a longer
// program the next comparison would take the argument for a number, and
// socket(…, 262) would pass for newfstatat.
func policies(p Profile, pid int) ([]seccomp.Policy, error) {
	info, err := arch.GetInfo("")
	if err != nil || len(info.SyscallNames) == 0 {
		return nil, errs.New(errs.Unavailable, "no table of system calls for this architecture").WithClass("sandbox")
	}
	var out []seccomp.Policy
	list := alwaysAllowed()
	if len(p.Logs) > 0 || len(p.State) > 0 {
		list = append(list, fileCalls()...)
	}
	if len(p.UnixConnect) > 0 || p.internet() {
		list = append(list, "connect", "socket")
	}
	for _, n := range narrowed(p, uint64(pid)) {
		if _, ok := info.SyscallNames[n.name]; !ok {
			continue
		}
		group := seccomp.SyscallGroup{Action: n.action}
		for _, c := range n.refuse {
			group.NamesWithCondtions = append(group.NamesWithCondtions, seccomp.NameWithConditions{Name: n.name, Conditions: c})
		}
		out = append(out, seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{group}})
		if n.name != "socket" {
			list = append(list, n.name)
		}
	}
	allow := seccomp.SyscallGroup{Action: seccomp.ActionAllow}
	for _, name := range list {
		// arm64 never had open, poll and the like.
		if _, ok := info.SyscallNames[name]; ok {
			allow.Names = append(allow.Names, name)
		}
	}
	return append(out, seccomp.Policy{
		DefaultAction: seccomp.ActionErrno, // EPERM
		Syscalls: []seccomp.SyscallGroup{
			allow,
			// clone3 hides its flags behind a pointer; ENOSYS makes a caller
			// fall back to clone.
			{Action: errno(unix.ENOSYS), Names: []string{"clone3"}},
			// Reached when the list lacks socket: the error that people know
			// from RestrictAddressFamilies=.
			{Action: errno(unix.EAFNOSUPPORT), Names: []string{"socket"}},
		},
	}), nil
}

// narrow is a call that is allowed except where one of refuse holds, each a
// list of conditions that must hold together.
type narrow struct {
	name   string
	action seccomp.Action
	refuse []seccomp.ArgumentConditions
}

func narrowed(p Profile, pid uint64) []narrow {
	out := []narrow{
		{"mmap", eperm, any1(bits(2, unix.PROT_EXEC))},
		{"mprotect", eperm, any1(bits(2, unix.PROT_EXEC))},
		// A thread, never a process: without this flag clone is fork.
		{"clone", eperm, any1(noBits(0, unix.CLONE_THREAD), bits(0, cloneNever))},
		{"kill", eperm, any1(not(0, pid))},
		{"tgkill", eperm, any1(not(0, pid))},
		{"prlimit64", eperm, any1(not(2, 0))}, // reads a limit, sets none
		// Is it a terminal, how wide: reads alone. TIOCSTI would type into the
		// operator's shell.
		{"ioctl", eperm, noneOf(1, unix.TCGETS, unix.TIOCGWINSZ)},
		{"setsockopt", eperm, noneOf(1, unix.SOL_SOCKET, unix.IPPROTO_TCP, unix.IPPROTO_IPV6)},
		{"prctl", eperm, noneOf(0, prSetVMA, unix.PR_GET_DUMPABLE, unix.PR_GET_NO_NEW_PRIVS, unix.PR_GET_SECCOMP)},
	}
	if s := badSockets(p); s != nil {
		out = append(out, narrow{"socket", errno(unix.EAFNOSUPPORT), s})
	}
	return out
}

// badSockets says which sockets a profile that may make some may not make, nil
// when it may make none.
func badSockets(p Profile) []seccomp.ArgumentConditions {
	families, types := []uint64{}, []uint64{goStream}
	if len(p.UnixConnect) > 0 {
		families = append(families, unix.AF_UNIX)
	}
	if p.internet() {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	if len(families) == 0 {
		return nil
	}
	if p.DNS {
		types = append(types, goDgram)
	}
	bad := append(noneOf(0, families...), noneOf(1, types...)...)
	// The protocols that the net package asks for; the rest of an internet
	// family (MPTCP, SMC, SCTP) escapes Landlock's port rules.
	bad = append(bad, noneOf(2, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP)...)
	// A Unix datagram socket could reach the journal or a notify socket.
	return append(bad, seccomp.ArgumentConditions{is(0, unix.AF_UNIX), not(1, goStream)})
}

func errno(e syscall.Errno) seccomp.Action { return seccomp.ActionErrno | seccomp.Action(e) }

// any1 holds when one of the conditions does.
func any1(cc ...seccomp.Condition) []seccomp.ArgumentConditions {
	out := make([]seccomp.ArgumentConditions, len(cc))
	for i, c := range cc {
		out[i] = seccomp.ArgumentConditions{c}
	}
	return out
}

// noneOf holds when the argument has none of the values.
func noneOf(arg uint32, values ...uint64) []seccomp.ArgumentConditions {
	out := make(seccomp.ArgumentConditions, len(values))
	for i, v := range values {
		out[i] = not(arg, v)
	}
	return []seccomp.ArgumentConditions{out}
}

func is(arg uint32, v uint64) seccomp.Condition {
	return seccomp.Condition{Argument: arg, Operation: seccomp.Equal, Value: v}
}

func not(arg uint32, v uint64) seccomp.Condition {
	return seccomp.Condition{Argument: arg, Operation: seccomp.NotEqual, Value: v}
}

func bits(arg uint32, v uint64) seccomp.Condition {
	return seccomp.Condition{Argument: arg, Operation: seccomp.BitsSet, Value: v}
}

func noBits(arg uint32, v uint64) seccomp.Condition {
	return seccomp.Condition{Argument: arg, Operation: seccomp.BitsNotSet, Value: v}
}

package sandbox

// alwaysAllowed are the calls of the Go runtime and of a server on sockets that
// are open already. A call that is not here fails with EPERM: starting programs
// (execve, fork), looking into others (ptrace, process_vm_*, pidfd_*), other
// ways into the kernel (io_uring_*, bpf, perf_event_open, userfaultfd, keyctl),
// other views of the system (mount, unshare, setns, chroot, personality), other
// identities (setuid and its kin), owners and attributes of files, listening
// (bind, listen), and passing descriptors (sendmsg, recvmsg).
//
// A new Go release may need one more; the tests then fail with EPERM in its
// name, because they run a whole server under every profile.
func alwaysAllowed() []string {
	return []string{
		// descriptors and files (which files: Landlock)
		"read", "write", "readv", "writev", "pread64", "pwrite64", "lseek", "close",
		"open", "openat", "openat2", "fstat", "stat", "lstat", "newfstatat", "statx",
		"access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents64", "getcwd",
		"fcntl", "dup", "dup3", "pipe2", "eventfd2", "fadvise64", "unlinkat",
		"sendfile", "splice", "copy_file_range",
		// memory
		"munmap", "mremap", "madvise", "mincore", "mlock", "mlock2", "munlock", "brk",
		// time, threads, signals
		"futex", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday",
		"sched_yield", "sched_getaffinity", "getcpu", "membarrier", "set_robust_list", "rseq",
		"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
		"exit", "exit_group",
		// waiting
		"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll",
		// sockets that are open already
		"accept", "accept4", "getsockopt", "getsockname", "getpeername", "shutdown",
		// facts about ourselves and the machine
		"getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getgroups",
		"getrlimit", "getrusage", "sysinfo", "uname", "getrandom",
	}
}

// fileCalls are for a daemon that keeps files: a rotating log, a store.
func fileCalls() []string {
	return []string{
		"ftruncate", "fallocate", "fsync", "fdatasync", "flock", "fchmod", "fstatfs",
		"mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat",
	}
}

package signer

import "syscall"

// prSetDumpable is the request that decides whether a core file may be written and
// another process of the user may read this one's memory (PR_SET_DUMPABLE on Linux).
const prSetDumpable = 4

// Harden keeps the key out of core files and away from debuggers of the same user.
// It is the first thing that the program does.
func Harden() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return no("core files cannot be switched off", "run mcpsign on an ordinary Linux system")
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
		return no("the process cannot be made private", "run mcpsign on an ordinary Linux system")
	}
	return nil
}

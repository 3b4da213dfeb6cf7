// Package sandbox owns what a daemon takes away from itself: new privileges,
// core dumps and attaching (Early), then files, sockets and system calls
// (Apply). Each daemon has one Profile, which is data.
//
// pkg/daemon is the only importer in the product. The package never gives
// anything back: there is no undo, and nothing else in the tree changes what a
// process may do. It reads no settings and never logs; the caller shows the
// Report.
//
// The attack it stops: code of an attacker running inside a daemon (through a
// bug in a parser, or a bad dependency) that wants to start a program, read
// another program's memory, open the network, reach another daemon's socket or
// read files that are not this daemon's. The walls of the systemd unit stand
// outside; these stand without systemd too, and after the secrets are read.
//
// # How the walls share the work
//
// Landlock rules say which files and which TCP ports. They are as good as the
// kernel's ABI, and what an older kernel leaves open is named in the Report.
// The seccomp filter is a list of allowed calls: what is not on it fails with
// EPERM, whatever future kernels add, and so does every call made through a
// foreign calling convention (32-bit, x32), which a list of forbidden calls
// would let through. It closes what Landlock does not see:
//
//   - TCP under another name: Landlock's port rules do not cover Multipath TCP
//     and SMC, so a socket may only be made with the exact types and protocols
//     that the net package uses for TCP and UDP.
//   - Listening: bind and listen are refused after Apply, since every listener
//     is open by then; Landlock does not see a listen without a bind.
//   - Fast open: sendto may connect without connect, so no profile has it.
//   - Descriptors from outside: recvmsg is refused, so a peer cannot hand over
//     a socket or a file that this process could not have opened.
//   - Weakening: prctl cannot make the process dumpable again, prlimit64 cannot
//     raise a limit, mmap and mprotect cannot make memory executable.
//
// # What it leaves open
//
// A TCP rule names a port, not an address: IPAddressAllow= of the unit and the
// program's own dialer do that. A profile with DNS may read (not list) files
// below /etc, and the directory in which the real resolv.conf lies: the
// resolver's files are replaced by rename, and a rule that named the file
// itself would lose name resolution at the next DHCP lease.
package sandbox

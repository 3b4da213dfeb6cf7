// Package daemon owns the life of a daemon, from the first statement of main to
// the exit code. A daemon is a Spec: what it is called, its settings, its
// sockets, and four hooks.
//
// Only the programs under cmd import it. It knows no service, no appliance and
// no secret; those come through the hooks. It is, with cmd, the only place that
// reads the command line.
//
// The order is fixed, because each step protects the next:
//
//  1. no new privileges, not dumpable, no core (before a byte of a file is read)
//  2. command line, settings, log
//  3. the notify socket and the sockets: inherited by name, or made
//  4. secrets
//  5. the sandbox: from here on nothing else can be opened
//  6. the services and tasks, READY, watchdog
//  7. on a signal: STOPPING, a bounded end
//
// The attacks it stops: a secret read by a process that can be dumped; a peer
// served before the sandbox stands; a socket of the wrong name, owner or mode
// served as if it were ours; a daemon that goes on with half of its tasks
// because one of them ended in a panic.
//
// # Exit codes
//
//	0  ended as it was asked to
//	1  it could not start: settings, secrets, sockets or the sandbox; nothing was served
//	2  usage
//	3  it failed while it served
//
// A unit can therefore say RestartPreventExitStatus=1: starting again cannot mend
// that. It must not name 2, with which the Go runtime ends a program after a
// panic and after SIGABRT, the watchdog's signal.
package daemon

// Package supervise owns `mcpctl run`: it starts the four daemons (and, for the
// demonstration, the pretend appliance) as processes of their own, below one
// private directory, and ends everything it started.
//
// Only opctl may import it. It holds no key and speaks no MCP but in the
// scripted conversation of the demonstration, which goes through the real shim
// like any client's. It never grants more than systemd would: each daemon gets
// its own settings file, an environment with nothing of the caller's in it, and
// the caller's uid.
//
// One uid for everything is what this package cannot do without: it removes the
// walls between the users of a host install, so it is for trying the suite, and
// executord started by it holds a write configuration in the rehearsal alone, of a
// laboratory's store, an emulated TPM and the pretend appliance.
//
// The attack it stops: a runtime directory somebody else made or can reach,
// where they would put a socket of their own under a daemon's name.
package supervise

// Package rpc owns gRPC over Unix sockets: who a peer is, what it may call,
// how large and how long a call may be, and what is logged of it.
//
// Packages of a higher level than this one import it, on both sides. It knows no service but
// health and node.v1, holds no state between calls but counters, and never
// reads a setting. It must never serve a method that has no row in the table,
// never believe anything a peer says about itself, and never let the text of an
// unexpected error or a panic out of the process.
//
// The attacks it stops: a local user or a subverted daemon reaching a method
// that is not meant for it (uid by SO_PEERCRED, checked when the connection is
// accepted and again per method); a call that is too large, endless or repeated
// while it runs; a socket somebody else put in our place.
package rpc

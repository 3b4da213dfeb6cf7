// Package witness owns the host side of a remote counter: it lets certificates
// that an operator has listed read the counter of this host's TPM, and some of
// them increment it, over mutual TLS.
//
// Only `executord witness` imports it. It must never serve a route beside the two
// of package wire, never let the index's secret or a word of a TPM or a peer into
// an answer or a log, never carry out an order that its sender may have given up,
// and never hold more than the TPM: no store, no key of the appliance, no
// connection of its own.
//
// The attacks it stops: a virtual machine whose snapshot takes the counter along
// (the counter is on another host), a stolen read-only certificate that burns
// ticks, a request that was held back on the way or in a stopped process and is
// carried out after its sender has taken it for lost, and the usual attacks on an
// HTTP server, of which it uses the parser of one request and nothing else.
package witness

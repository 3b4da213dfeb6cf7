// Package doctor owns executord's own checks: what an operator must know about the
// write path before trusting it, each with what to do when it is not so.
//
// Only the executor imports it. It looks and never repairs, advances, spends or
// sends: the counter is read, the store is verified, the appliance is asked what it is
// asked before every change, and nothing else. A check carries no path, address, or
// text from outside.
//
// The attack it stops: a write path that looks ready because nobody looked: a counter
// in software, a laboratory's settings in production, a store that others can write, a
// TLS mode that checks nobody.
package doctor

// Package arch owns the rules of the tree that a machine can check: layers,
// what each binary links, who calls what, and both sides of every RPC. Each
// rule is a function from facts to violations, so that the tests can show it
// failing on made-up facts as well as holding on the real ones.
//
// Nothing imports it. It stops the attack that no single review sees: a change
// that quietly links an HTTP client into the daemon that must have no network.
package arch

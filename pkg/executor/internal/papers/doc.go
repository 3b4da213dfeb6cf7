// Package papers owns the files that executord attests for people to sign over: the
// preview, the pending confirmation, the observation, the rollback request, the anchor
// status and the pins.
//
// The ceremony alone imports it. Each file is made from the store and from a read of its
// own, never from words of the caller, who names a request or contract and nothing else.
// It must never attest what it has not found out in this very call, and grants nothing.
//
// The attack it stops: a person who signs over something else than what executord holds.
package papers

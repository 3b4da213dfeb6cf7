// Package anchor owns the monotonic counter that makes the contract store's
// recency provable: one NV counter of a TPM, local or on a witness host.
//
// Only packages of the executor import it. It reads and increments one index and
// no other, never repeats an increment, never tries a refused secret again,
// never puts the index's secret on a bus or a socket, and never takes an unknown
// outcome for one that did not happen.
//
// The attack it stops: a store file (or a virtual machine's disk) restored from
// before a change, which is consistent in itself and has forgotten which
// approvals were spent. The counter cannot go back, so the restored file
// disagrees with it. What would undo that is stopped here too: an index removed
// and defined anew under the same handle (another Name, or a higher value), an
// index of somebody else in its place, an emulated TPM whose state is a file of
// the same disk, and an increment that is applied after the caller gave up.
package anchor

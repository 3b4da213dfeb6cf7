// Package canon owns the bytes under every digest, MAC, signature and sealed
// member of the write path: canonical JSON, length-prefixed frames, digests by
// purpose, messages to sign by role, record MACs, derived keys and the sealing of
// protected members. Each of them begins with one domain constant, so none can be
// taken for another or for something of another program.
//
// Any package may import canon; it imports none of ours, not even errs, because
// the off-host signer links it and must link no network code. It must never
// accept what it cannot reproduce byte for byte: no float, no duplicate key, no
// text that is not UTF-8 or that normalises into another key, nothing over the
// bounds. It keeps no key and no state.
//
// The attacks it stops: two readings of one signed file (duplicate keys, key
// order, numbers that round, text that compares equal and is not), a byte moved
// from one field into its neighbour, a digest or signature of one purpose shown as
// one of another, a sealed member moved to another contract or store, and a file
// that costs more to read than it may.
package canon

// Domain begins every hash, MAC, signature, key label and associated data.
const Domain = "pfmcp/write/v1"

// Bounds of canonical JSON. Scalars and containers count as nodes, keys do not;
// Depth counts nested containers. Text counts in bytes of UTF-8, keys too.
const (
	MaxDepth = 32
	MaxNodes = 10_000
	MaxItems = 4096
	MaxText  = 65_536
	MaxBytes = 1 << 20
)

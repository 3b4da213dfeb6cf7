// Package artifact owns the files of the approval ceremony: what the executor
// attests (preview, pending, observation, rollback request, anchor status, audit
// head) and what the owners sign over them (authorization, confirmation,
// reconciliation, rollback, rebaseline). What is approved is in artifact/change,
// who may sign in artifact/authority.
//
// The executor, the off-host signer and the operator's tools import it; it imports
// canon, artifact/change and the codec alone, not errs, because the signer links no
// network code. It must never sign or accept bytes that are not the canonical form
// of what it read, a member it does not know, or a digest that the carried preimage
// does not have. It decides nothing about time, stored state or policy: those are
// the gates'.
//
// The attacks it stops: a preview that shows one change and has another signed
// (every digest is recomputed while reading, there is no way to skip it); a
// signature of one role passed off as another's; and an older form of a file
// accepted because it is simpler.
package artifact

import "pfsensemcp/pkg/artifact/internal/field"

// Algorithm names the one signature algorithm.
const Algorithm = "ed25519-v1"

// Bounds in bytes: of a signed file, and of one that the executor attests.
const (
	MaxSigned   = 16 << 10
	MaxAttested = 768 << 10
)

// MaxCounter is the largest counter value or version that a file holds.
const MaxCounter = 1<<63 - 1

// Fault is every refusal of this package and of those below it.
type Fault = field.Fault

// Class says which kind of rule a file breaks.
type Class = field.Class

// The classes.
const (
	Structure = field.Structure // bytes, members, forms, bounds
	Binding   = field.Binding   // members that contradict one another or their digests
	Signature = field.Signature // key, role, algorithm or signature
	Keys      = field.Keys      // a list of public keys that must not be used
)

// ClassOf returns the class of the first Fault in err's chain, "" without one.
func ClassOf(err error) Class { return field.ClassOf(err) }

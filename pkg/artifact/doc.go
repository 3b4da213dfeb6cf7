// Package artifact owns the files of the approval ceremony: what the executor
// attests (preview, pending, observation, rollback request, anchor status, audit
// head), what the owners sign over them (authorization, confirmation,
// reconciliation, rollback, rebaseline), and the lists of public keys by which
// either side knows the other.
//
// The executor, the off-host signer and the operator's tools import it; it imports
// canon and textsafe alone, not errs, because the signer links no network code. It
// must never sign or accept bytes that are not the canonical form of what it read,
// a member it does not know, a digest that the carried preimage does not have, or
// a key that stands for two roles. It decides nothing about time, stored state or
// policy: those are the gates'.
//
// The attacks it stops: a preview that shows one change and has another signed
// (every digest is recomputed while reading, there is no way to skip it); a
// signature of one role passed off as another's; one key playing two owners; an
// older form of a file accepted because it is simpler; and invisible or reordering
// text inside what two people approve.
package artifact

// The fixed identifiers of the one change that exists.
const (
	Operation           = "set_firewall_alias_description_v1"
	Capability          = "ALIAS_WRITE"
	EndpointSymbol      = "FIREWALL_ALIAS_DESCRIPTION"
	HTTPMethod          = "PATCH"
	Adapter             = "firewall-alias-description-v1"
	RollbackPlanVersion = "firewall-alias-description-rollback-v1"
	StepID              = "capability_posture.milestone_9_activation"
	RiskClass           = LevelActivation
	Algorithm           = "ed25519-v1"
)

// Bounds in bytes: of a signed file, and of one that the executor attests.
const (
	MaxSigned   = 16 << 10
	MaxAttested = 768 << 10
)

// LabPrefix begins the id of every store of a laboratory, and of no other.
const LabPrefix = "lab-"

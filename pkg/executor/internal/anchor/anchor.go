package anchor

import (
	"context"
	"fmt"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor/internal/chip"
)

// Counter is the value. Both calls are safe for concurrent use and are carried
// out one after the other.
type Counter interface {
	// Read returns the value now, 0 or more.
	Read(ctx context.Context) (int64, error)
	// Advance reads, requires expected, increments exactly once, reads again,
	// requires expected+1 and returns it. Once the increment was issued the end
	// of ctx no longer ends the call: the outcome is found out first, which can
	// take Settle and a few time-outs.
	Advance(ctx context.Context, expected int64) (int64, error)
}

// Backend is a counter with what is known of where it is.
type Backend interface {
	Counter
	// Facts reads what can be read without the index's secret.
	Facts(ctx context.Context) (Facts, error)
	// Use chooses the index (0 was configured) and pins its Name: the store's
	// anchor row is the truth once there is one. Another index or Name than
	// those in use is refused with ClassName.
	Use(index uint32, name string) error
	Close() error
}

// The names of the backends.
const (
	TPMLocal  = "tpm-local"
	TPMRemote = "tpm-remote"
)

// The assurances. Unknown allows no more than Software.
const (
	Software        = chip.Software
	HardwareWitness = chip.HardwareWitness
	Unknown         = chip.Unknown
)

// Facts is what a backend shows of itself.
type Facts struct {
	Backend      string // TPMLocal or TPMRemote
	Index        uint32 // the counter's handle, 0 while none is chosen
	Name         string // 000b and 64 hex digits; "" before the first increment
	Manufacturer string // of the TPM, 1 to 16 characters of a token; "" when it cannot be read
	EKDigest     string // SHA-256 of the endorsement key's public area, "" when it shows none
	Assurance    string // Software, HardwareWitness or Unknown
	Defined      bool   // something stands at Index, and it has exactly our attributes
	Foreign      bool   // something stands at Index, and it is not ours
	Written      bool   // it has been incremented
	Lockout      bool   // the TPM refuses every secret until its lockout ends
}

// Planner provisions a counter. Each step is asked for by a person; none is
// repeated by itself.
type Planner interface {
	// Plan looks and changes nothing.
	Plan(ctx context.Context) (Plan, error)
	// At looks at what stands at a handle, which is not chosen by that.
	At(ctx context.Context, handle uint32) (Facts, error)
	// Define defines the index and compares the public area that the TPM then
	// shows (S3). Conflict when anything stands at the handle.
	Define(ctx context.Context, handle uint32) error
	// First issues the first increment and returns the value (S4, S5). When the
	// index has been incremented already it only reads.
	First(ctx context.Context, handle uint32) (int64, error)
}

// Plan is what a person chooses a handle from.
type Plan struct {
	Facts    Facts    // of the configured handle
	Taken    []uint32 // every handle in use from FirstHandle to LastHandle, ascending
	Free     []uint32 // the first free ones, at most MaxFree
	OwnerSet bool     // the owner hierarchy has a secret: Define will be refused
}

// The handles that a counter may have: the owner's, without the ranges that the
// TCG keeps for itself and for certificates.
const (
	FirstHandle = 0x01000000
	LastHandle  = 0x01BFFFFF
	// MaxFree bounds the free handles that a Plan lists.
	MaxFree = 8
)

// The classes of errors; each is a reason of the audit.
const (
	ClassUnavailable = "anchor_unavailable" // nothing happened
	ClassConflict    = "anchor_conflict"    // the value is not the expected one; nothing happened
	ClassRefused     = "anchor_refused"     // the secret was refused, or may not be tried: a hard stop
	ClassName        = "anchor_name"        // the index is gone, not ours, or not the pinned one
	ClassUnreachable = "anchor_unreachable" // an increment may have happened or may still happen
	ClassLockout     = "lockout"            // the TPM refuses every secret for now; nothing happened
)

// Unavailable says that nothing happened and it may be asked for again.
func Unavailable(cause error, msg string) *errs.Error {
	return errs.Wrap(cause, errs.Unavailable, msg).WithClass(ClassUnavailable).
		WithNext("check the TPM or the witness host: mcpctl anchor status")
}

// Conflict says that the counter holds another value than expected.
func Conflict(expected, got int64) *errs.Error {
	return errs.Newf(errs.Conflict, "the counter holds %d, not %d", got, expected).WithClass(ClassConflict).
		WithNext("find out who incremented it or which store was restored: mcpctl anchor status")
}

// Refused says that the secret was refused. Nobody may try again: a few wrong
// tries lock the TPM for everything on the host.
func Refused(cause error, msg string) *errs.Error {
	return errs.Wrap(cause, errs.Denied, msg).WithClass(ClassRefused).
		WithNext("it is not tried again before executord is started anew: give it the nv_auth file that was made with this counter")
}

// WrongName says that the index is not the pinned one.
func WrongName(msg string) *errs.Error {
	return errs.New(errs.Conflict, msg).WithClass(ClassName).
		WithNext("the counter of this store is lost: settle open contracts by hand and found a new store")
}

// Unreachable says that an increment may have happened or may still happen.
func Unreachable(cause error, msg string) *errs.Error {
	return errs.Wrap(cause, errs.UnknownOutcome, msg).WithClass(ClassUnreachable).
		WithNext("bring the TPM or the witness host back; the attempt settles by the counter's value")
}

// Locked says that the TPM is in its dictionary-attack lockout. Not only wrong
// secrets lead there: a TPM that lost its power without TPM2_Shutdown after our
// secret was used counts one try, because it cannot know what it forgot. Three
// such stops in a row are enough for swtpm; chips allow more.
func Locked(cause error) *errs.Error {
	return errs.Wrap(cause, errs.Unavailable, "the TPM is in lockout: it refuses every secret").WithClass(ClassLockout).
		WithNext("find who tried wrong secrets, or how often the host lost its power: each unclean stop counts as one; the lockout ends with time, or by tpm2_dictionarylockout --clear-lockout")
}

// Hex returns a handle as it stands in records: 0x and 8 digits.
func Hex(handle uint32) string { return fmt.Sprintf("0x%08x", handle) }

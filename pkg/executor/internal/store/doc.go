// Package store owns everything that executord remembers: one bbolt file with the
// requests, contracts, consumed artifacts, the counter's last value and a global
// audit chain, each row under a MAC and all of them under one sum.
//
// Only packages of the executor import it. Nobody composes a write: each step of the
// ceremony is one method and one transaction, named after the step (T1 to T7 of the
// transition table), which checks what it expects to find, the durable limits, and
// the clock, and either does all of it or none. It must never make a store in the
// place of one that is lost or damaged, write to one that is damaged, write after a
// commit whose outcome is unknown, hand out a row whose MAC is wrong, or let a row
// other than a sealed member hold an alias name or a description.
//
// What signatures are worth, what the appliance says and what the counter shows is
// for the gates and the executor to know; the store believes them that, and nothing
// else: the fingerprint of a verified state is compared with what is sealed here.
//
// The attacks it stops: an approval used twice, by two calls, a crash or a restored
// row; a contract whose approval and existence are apart; a state nobody may jump
// to; an edited, cut or older file taken for the present one; and a disk that fills
// after the send instead of before it.
package store

import (
	"pfsensemcp/pkg/executor/internal/store/internal/attempts"
	"pfsensemcp/pkg/executor/internal/store/internal/requests"
	"pfsensemcp/pkg/executor/internal/store/internal/settling"

	"pfsensemcp/pkg/executor/internal/store/internal/check"
	"pfsensemcp/pkg/executor/internal/store/internal/moment"
	"pfsensemcp/pkg/executor/internal/store/internal/quota"
	"pfsensemcp/pkg/executor/internal/store/internal/seam"
	"pfsensemcp/pkg/executor/internal/store/internal/vault"
)

// Types of the packages below that callers use.
type (
	// NewRequest is a wish to be stored.
	NewRequest = requests.NewRequest
	// Denial is a submission that was turned down.
	Denial = requests.Denial
	// Swept is what a sweep did.
	Swept = requests.Swept
	// Authorization is a verified authorization on its way to becoming a contract.
	Authorization = attempts.Authorization
	// Exchange is what is known of the one exchange of an attempt.
	Exchange = attempts.Exchange
	// Seen is one of the two reads after an exchange.
	Seen = attempts.Seen
	// SignedRollback is one verified signature of an undo with its file.
	SignedRollback = settling.SignedRollback
	// Restarted is what the crash table made of what was under way.
	Restarted = settling.Restarted
	// Key is the root key.
	Key = vault.RootKey
	// Clock is where the store reads the time.
	Clock = moment.Clock
	// Reading is one look at the clocks.
	Reading = moment.Reading
	// ClockFinding says what the clocks show.
	ClockFinding = moment.Finding
	// Limits are the bounds in force.
	Limits = quota.Limits
	// Report is what a verification saw.
	Report = check.Report
	// Finding is the first thing that is wrong in a store.
	Finding = check.Finding
	// Seam lets tests fail or stop a write; programs cannot make one.
	Seam = seam.Seam
)

// What the clocks can show.
const (
	ClockSound     = moment.Sound
	ClockBehind    = moment.Behind
	ClockRegressed = moment.Regressed
	ClockJumped    = moment.Jumped
)

// SystemClock returns the clock of the machine. It reads the boot id, so it is made
// before the sandbox.
func SystemClock() (Clock, error) { return moment.NewSystem() }

// DefaultLimits returns the limits as designed.
func DefaultLimits() Limits { return quota.Default() }

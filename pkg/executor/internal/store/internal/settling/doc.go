// Package settling owns the transactions after the fact: the way back, evidence over
// an unknown outcome, restart and rebaseline.
//
// Only the store imports it. It must never resolve anything by time or by guess, or
// take evidence twice.
//
// The attacks it stops: an old signature that undoes or settles a later contract,
// "not applied" signed while the write can still land, and a restored file whose
// lost history lets something be sent again.
package settling

import "pfsensemcp/pkg/executor/internal/store/internal/step"

// Settling is the transactions of what comes after.
type Settling struct{ core *step.Core }

// New returns them over a store.
func New(c *step.Core) Settling { return Settling{c} }

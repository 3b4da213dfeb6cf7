// Package attempts owns the transactions from the first approval to the outcome of a
// send: T2 to T7, forward.
//
// Only the store imports it. It must never let an approval and its contract come
// apart, note an increment after it was asked for, or call an outcome proven that is
// not.
//
// The attacks it stops: one approval that makes two contracts or none, a send that
// nobody will remember, and "failed" said of a change that may be in place.
package attempts

import "pfsensemcp/pkg/executor/internal/store/internal/step"

// Attempts is the transactions of attempts.
type Attempts struct{ core *step.Core }

// New returns them over a store.
func New(c *step.Core) Attempts { return Attempts{c} }

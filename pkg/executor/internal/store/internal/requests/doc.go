// Package requests owns the transactions of requests: opening (T1), previews,
// cancelling, denials and the sweep of what is past its time.
//
// Only the store imports it. It must never keep a text longer than it is needed, nor
// write into the audit what a denied file claims.
//
// The attacks it stops: a flood of requests or denials, and a preview that stands for
// another one.
package requests

import "pfsensemcp/pkg/executor/internal/store/internal/step"

// Requests is the transactions of requests.
type Requests struct{ core *step.Core }

// New returns them over a store.
func New(c *step.Core) Requests { return Requests{c} }

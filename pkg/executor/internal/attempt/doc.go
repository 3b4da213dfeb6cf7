// Package attempt owns one attempt at a change, forward or back: the counter, the
// one request, the reads that prove what it did, and the transactions T4 to T7
// between them. The order is the table in table.go; what an exchange can prove is the
// table in outcome.go.
//
// Only the ceremony imports it, and runs one attempt at a time. It must never send
// before T6 is committed, send twice, go on after a step whose outcome is unknown,
// or settle as failed or verified what two reads do not show.
//
// The attacks it stops: an old store file that forgot an approval (no send without
// the counter); a process stopped between its last look and its first byte; a list
// that moved under the position that was looked up; and an answer that lies.
package attempt

import (
	"context"
	"time"

	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Reader is the authoritative reads: each one on connections of its own, opened
// after it was asked for.
type Reader interface {
	List(ctx context.Context) (*alias.List, error)
	Survey(ctx context.Context) (*alias.Survey, error)
}

// Env is what attempts work with. All of it is required but Point.
type Env struct {
	Store     *store.Store
	Clock     store.Clock
	Counter   anchor.Counter
	Reader    Reader
	Exchanger *exchange.Exchanger
	Settle    time.Duration      // between the two reads that prove something
	Fresh     time.Duration      // of a test build: instead of the constant; 0 is the constant
	Point     func(point string) // test builds: before and after each row of the table
}

// Plan is one attempt to run.
type Plan struct {
	Contract record.Contract
	// Check runs before T4, in the same turn: everything that was signed, again.
	Check func(ctx context.Context) error
	// Until is when the approvals end: nothing is sent from then on.
	Until time.Time
	// Names is the interface representation that the approval was prepared under,
	// "" when that is not known.
	Names string
	// Back has both signatures of an undo; nil for the change itself.
	Back *Undo
	// Began is called after T4 with the contract as it is then.
	Began func(record.Contract)
	// Sent is called after the exchange, whatever it came to, unless no byte left.
	Sent func(took time.Duration)
}

// Undo is both signatures of a rollback, verified.
type Undo struct {
	Confirmation, Authorization store.SignedRollback
	By                          record.Actor
}

// Run runs an attempt to its end. The contract is as it is stored then.
//
// An error before T4 leaves everything as it was; its class is the reason. An error
// of class anchor_unreachable leaves the contract under way with the increment noted:
// nobody may begin anything until the counter has said what happened. Any other error
// after T4 means that the outcome could not be stored; the process must end, and the
// next start settles it.
func (e *Env) Run(ctx context.Context, p Plan) (record.Contract, error) {
	a := &run{Env: e, Plan: p, k: p.Contract, dir: forward}
	if p.Back != nil {
		a.dir = back
	}
	defer a.close()
	for _, row := range order {
		e.point(row.name + " before")
		done, err := row.do(a, ctx)
		if err != nil {
			return a.k, err
		}
		e.point(row.name + " after")
		if done {
			break
		}
	}
	return a.k, nil
}

func (e *Env) point(name string) {
	if e.Point != nil {
		e.Point(name)
	}
}

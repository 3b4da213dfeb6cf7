package record

import "slices"

// State is where a contract stands.
type State string

// The states. "preparing" is reserved and never used.
const (
	Prepared       State = "prepared"
	Executing      State = "executing"
	Verified       State = "verified"
	Failed         State = "failed"
	Reconciliation State = "reconciliation"
	RollingBack    State = "rolling_back"
	RolledBack     State = "rolled_back"
	RollbackFailed State = "rollback_failed"
	Expired        State = "expired"
)

// States returns all states.
func States() []State {
	return []State{Prepared, Executing, Verified, Failed, Reconciliation, RollingBack, RolledBack, RollbackFailed, Expired}
}

// moves is the whole transition table. A confirmation is no move: the state stays.
var moves = map[State][]State{
	"":             {Prepared},
	Prepared:       {Executing, Failed, Expired, Reconciliation},
	Executing:      {Verified, Failed, Reconciliation},
	Verified:       {RollingBack},
	RollingBack:    {RolledBack, RollbackFailed, Reconciliation},
	Reconciliation: {Verified, Failed, RolledBack, RollbackFailed},
}

// Legal says whether a contract may move from one state to another. The empty
// state is that of a contract that does not exist.
func Legal(from, to State) bool { return slices.Contains(moves[from], to) }

// Sealed says whether a state may be written only with proof that the appliance
// holds what it claims.
func (s State) Sealed() bool { return s == Verified || s == RolledBack }

// Reserves says whether a contract in the state holds its target. RollbackFailed
// holds it until a signed release.
func (s State) Reserves() bool {
	switch s {
	case Prepared, Executing, Reconciliation, RollingBack, RollbackFailed:
		return true
	}
	return false
}

// InFlight says whether an attempt is under way.
func (s State) InFlight() bool { return s == Executing || s == RollingBack }

// Boundary says whether a request may have left.
type Boundary string

// The boundaries of an attempt.
const (
	BoundaryNone   Boundary = "none"
	BoundaryIntent Boundary = "intent"
)

// Purpose says what an attempt is for.
type Purpose string

// The purposes.
const (
	Forward  Purpose = "forward"
	Rollback Purpose = "rollback"
)

// At is what a mutation expects to find: the compare half of compare-and-swap.
type At struct {
	ContractID string
	State      State
	Version    int64
	Boundary   Boundary
}

// At returns what the next mutation of the contract must expect.
func (c *Contract) At() At { return At{c.ContractID, c.State, c.Version, c.Boundary} }

// Status is where a request stands.
type Status string

// The statuses.
const (
	Open       Status = "open"
	Authorized Status = "authorized"
	Concluded  Status = "concluded"
	Cancelled  Status = "cancelled"
	Lapsed     Status = "expired"
	Superseded Status = "superseded"
)

// Live says whether the request still waits for something.
func (s Status) Live() bool { return s == Open || s == Authorized }

func statuses() []Status { return []Status{Open, Authorized, Concluded, Cancelled, Lapsed, Superseded} }

// Look is what became of the look a minute after a verified change.
type Look string

// The looks.
const (
	LookDue        Look = "due"
	LookHeld       Look = "held"
	LookReverted   Look = "reverted"
	LookSkipped    Look = "skipped"
	LookUnreadable Look = "unreadable"
)

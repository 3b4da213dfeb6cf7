package anchor

import "pfsensemcp/pkg/errs"

// State is a step of the provisioning ceremony, S0 to S10.
type State int

// The states. Issued and Reserved pass within one call and are never derived:
// an increment that was issued has happened or has not, and a reservation is one
// transaction with the seed.
const (
	Nothing     State = iota // S0
	Selected                 // S1: a handle is chosen
	Sealed                   // S2: its secret is there
	Defined                  // S3: the index is defined and its public area is ours
	Issued                   // S4: the first increment was issued
	Read                     // S5: it has a value
	Reserved                 // S6
	Seeded                   // S7: the store holds that value
	Agreed                   // S8: a fresh read agrees with it
	Recorded                 // S9: the provisioning record is written
	Operational              // S10: and the counter still agrees with the store
)

// String returns S0 to S10.
func (s State) String() string {
	if s < Nothing || s > Operational {
		return "S?"
	}
	return [...]string{"S0", "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10"}[s]
}

// Situation is what Step derives a state from. Nothing in it is a log of what was
// done.
type Situation struct {
	Handle   uint32 // the configured one, 0 for none
	Secret   bool   // the sealed secret of the index was read
	Defined  bool   // Facts.Defined
	Foreign  bool   // Facts.Foreign
	Written  bool   // Facts.Written
	Seeded   bool   // the store has an anchor row
	Complete bool   // the store has a provisioning record
	Stored   int64  // the value in the anchor row, when Seeded
	Fresh    *int64 // the counter, read after the rows; nil when it was not or cannot be read
}

// Step says how far the ceremony is. Facts that no ceremony leads to are an
// error: a record without a seed (store_integrity), something else at the handle
// or an index that is gone under a store (anchor_name), a value that is not the
// store's (anchor_conflict).
func Step(s Situation) (State, error) {
	switch {
	case s.Complete && !s.Seeded:
		return Nothing, errs.New(errs.Conflict, "the store has a provisioning record and no anchor").WithClass("store_integrity").
			WithNext("archive the store and found a new one")
	case s.Foreign:
		return Nothing, WrongName("an index of somebody else stands at the configured handle").
			WithNext("choose a free handle: mcpctl anchor plan")
	case s.Seeded && (s.Handle == 0 || !s.Defined || !s.Written):
		return Nothing, WrongName("the counter of this store is gone")
	case s.Seeded && s.Fresh != nil && *s.Fresh != s.Stored:
		return Nothing, Conflict(s.Stored, *s.Fresh)
	case s.Complete && s.Fresh != nil:
		return Operational, nil
	case s.Complete:
		return Recorded, nil
	case s.Seeded && s.Fresh != nil:
		return Agreed, nil
	case s.Seeded:
		return Seeded, nil
	case s.Handle == 0:
		return Nothing, nil
	case !s.Secret:
		return Selected, nil
	case !s.Defined:
		return Sealed, nil
	case !s.Written:
		return Defined, nil
	}
	return Read, nil
}

package show

import (
	"cmp"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/proto/executor/v1"
)

// states pairs the states of contracts with their numbers.
var states = map[record.State]executorpb.State{
	record.Prepared: executorpb.State_STATE_PREPARED, record.Executing: executorpb.State_STATE_EXECUTING,
	record.Verified: executorpb.State_STATE_VERIFIED, record.Failed: executorpb.State_STATE_FAILED,
	record.Reconciliation: executorpb.State_STATE_RECONCILIATION, record.RollingBack: executorpb.State_STATE_ROLLING_BACK,
	record.RolledBack: executorpb.State_STATE_ROLLED_BACK, record.RollbackFailed: executorpb.State_STATE_ROLLBACK_FAILED,
	record.Expired: executorpb.State_STATE_EXPIRED,
}

// statuses pairs the statuses of requests with their numbers.
var statuses = map[record.Status]executorpb.RequestStatus{
	record.Open: executorpb.RequestStatus_REQUEST_STATUS_OPEN, record.Authorized: executorpb.RequestStatus_REQUEST_STATUS_AUTHORIZED,
	record.Concluded: executorpb.RequestStatus_REQUEST_STATUS_CONCLUDED, record.Cancelled: executorpb.RequestStatus_REQUEST_STATUS_CANCELLED,
	record.Lapsed: executorpb.RequestStatus_REQUEST_STATUS_EXPIRED, record.Superseded: executorpb.RequestStatus_REQUEST_STATUS_SUPERSEDED,
}

// answers pairs what a poll says with its number.
var answers = map[string]executorpb.WriteState{
	"requested":               executorpb.WriteState_WRITE_STATE_REQUESTED,
	"awaiting_confirmation":   executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION,
	"verified":                executorpb.WriteState_WRITE_STATE_VERIFIED,
	"reconciliation_required": executorpb.WriteState_WRITE_STATE_RECONCILIATION_REQUIRED,
	"reverted":                executorpb.WriteState_WRITE_STATE_REVERTED,
	"refused":                 executorpb.WriteState_WRITE_STATE_REFUSED,
}

// State returns the number of a state.
func State(s record.State) executorpb.State { return states[s] }

// Answer returns the number of what a poll says; a word that is none is a refusal.
func Answer(word string) executorpb.WriteState {
	if n, ok := answers[word]; ok {
		return n
	}
	return executorpb.WriteState_WRITE_STATE_REFUSED
}

// States reads a filter of states. A number that is none is refused, because a
// filter that is read as another one hides contracts.
func States(asked []executorpb.State) ([]record.State, error) { return chosen(states, asked) }

// Statuses reads a filter of statuses.
func Statuses(asked []executorpb.RequestStatus) ([]record.Status, error) {
	return chosen(statuses, asked)
}

func chosen[W, N comparable](of map[W]N, asked []N) (out []W, err error) {
	if len(asked) > len(of) {
		return nil, errs.Newf(errs.Invalid, "a filter names at most %d", len(of)).WithClass("request_validation")
	}
	for _, n := range asked {
		known := false
		for w, m := range of {
			if m == n {
				out, known = append(out, w), true
			}
		}
		if !known {
			return nil, errs.New(errs.Invalid, "a filter names a state that there is not").WithClass("request_validation")
		}
	}
	return out, nil
}

// The bounds of a list.
const (
	defaultPage = 100
	maxPage     = 500
	maxOffset   = 100_000
)

// Page is which part of a list is asked for, as it was sent. A limit of 0 is the default.
type Page struct{ Limit, Offset uint32 }

// bounds returns the page's first position and how many it has at most.
func (p Page) bounds() (from, most int, err error) {
	if p.Limit > maxPage || p.Offset > maxOffset {
		return 0, 0, errs.Newf(errs.Invalid, "limit is at most %d and offset at most %d", maxPage, maxOffset).WithClass("request_validation")
	}
	return int(p.Offset), cmp.Or(int(p.Limit), defaultPage), nil
}

// ID says whether s has the form of an id with this prefix. What has another form is
// nobody's, and reaches neither a key of the store nor a line of the log.
func ID(s, prefix string) bool {
	hex, ok := strings.CutPrefix(s, prefix)
	return ok && len(hex) == 32 && strings.Trim(hex, "0123456789abcdef") == ""
}

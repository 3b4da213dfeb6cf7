package show

import (
	"time"

	"pfsensemcp/pkg/executor/internal/store/record"
)

// sight is a contract with what its next step depends on.
type sight struct {
	c       *record.Contract
	res     *record.Result
	send    *record.Send // nil when nothing was sent
	landing time.Duration
	undo    time.Time
	begin   string // why nothing may begin now, "" when it may
	now     time.Time
	around  Around
}

const (
	inQuarantine = "nothing can be done while executord is in quarantine: mcpctl doctor write says why"
	askAnew      = "the change can be asked for anew"
)

// next says what an operator does now.
func (s sight) next() string {
	id := s.c.ContractID
	if s.around.Quarantine && (s.c.State == record.Prepared || s.c.State == record.RollbackFailed) {
		return inQuarantine
	}
	switch s.c.State {
	case record.Prepared:
		return s.prepared()
	case record.Executing, record.RollingBack:
		return "nothing: it is under way; look again in a minute, and after ten minutes run mcpctl doctor write"
	case record.Reconciliation:
		return s.uncertain()
	case record.Verified:
		return s.verified()
	case record.Failed:
		if s.res.Reason == "locked" { // it held for a minute: nobody writes for so long
			return "nothing was changed: the appliance's write lock is held. When no change works there, a request that died left it behind: " +
				"remove the REST package's lock file, or restart the appliance; then " + askAnew
		}
		return "nothing was changed; when the reason is gone, " + askAnew
	case record.Expired:
		return "nothing was changed: the approval ended before it was used; " + askAnew
	case record.RollbackFailed:
		if s.res.Released {
			return ""
		}
		return "the undo did not take place, and the target stays locked: mcpctl write observe " + id +
			" -o observation.json; the reconciliation owner signs; mcpctl write release FILE"
	case record.RolledBack:
		return ""
	}
	return "this state is not known here: compare the versions with mcpctl status"
}

func (s sight) prepared() string {
	id := s.c.ContractID
	if !s.now.Before(s.c.ExpiresAt) {
		return "nothing was changed: its time is over and it expires by itself; " + askAnew
	}
	if !s.c.Confirmed() {
		return "before it expires: mcpctl write pending " + id + " -o pending.json; the confirmation owner signs; mcpctl write confirm FILE"
	}
	switch s.begin {
	case "":
		return "it is confirmed and has not begun: mcpctl write resume " + id
	case "in_flight":
		return "wait until the change that is under way is settled, then mcpctl write resume " + id
	case "landing_window":
		return "wait until the other write can no longer land (mcpctl write list), then mcpctl write resume " + id
	case "lockout":
		return "too many changes have an open outcome: settle them first (mcpctl write list), then mcpctl write resume " + id
	}
	return "it cannot begin now: mcpctl doctor write says why; then mcpctl write resume " + id
}

func (s sight) uncertain() string {
	id := s.c.ContractID
	steps := "mcpctl write observe " + id + " -o observation.json; the reconciliation owner finds out what is true and signs; mcpctl write reconcile FILE"
	if s.landing > 0 {
		return "nobody knows whether the write took place, and it may still land: wait until the time that is shown as may land; " + steps
	}
	return "nobody knows whether the write took place: " + steps
}

func (s sight) verified() string {
	undo := ""
	if !s.undo.IsZero() {
		undo = "to undo it: mcpctl write rollback-request " + s.c.ContractID + " -o rollback.json"
	}
	switch {
	case s.res.AttestedOnly:
		return "settled by attestation alone: look at the alias on the appliance; it can never be rolled back"
	case s.send != nil && s.send.Look == record.LookReverted:
		return "the text was there and is gone: find out who changed it; " + askAnew
	case s.send != nil && s.send.Contended:
		return join("the exchange waited for somebody else's: look whether a recent change on the appliance was lost", undo)
	case s.send != nil && s.send.Look == record.LookDue:
		return join("nothing: executord looks once more in a minute", undo)
	}
	return undo
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// afterRequest says what an operator does with a request now.
func afterRequest(r *record.Request, now time.Time, quarantine bool) string {
	switch {
	case r.Status == record.Authorized:
		return "its contract goes on: mcpctl write list shows " + r.ContractID
	case r.Status != record.Open:
		return ""
	case quarantine:
		return inQuarantine
	case !now.Before(r.ExpiresAt):
		return "nothing: its time is over and it expires by itself"
	case r.PreviewSeq == 0:
		return "mcpctl write preview " + r.RequestID + " -o preview.json; the authorization owner signs; mcpctl write authorize FILE"
	}
	return "submit what the authorization owner signed: mcpctl write authorize FILE; or make a new preview: mcpctl write preview " +
		r.RequestID + " -o preview.json"
}

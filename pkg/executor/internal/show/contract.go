package show

import (
	"cmp"
	"slices"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/proto/executor/v1"
)

// Around is what a contract does not say of itself.
type Around struct {
	Limits     store.Limits
	Lab        bool
	Quarantine bool // nothing may begin
}

// Contract shows a contract as one state of the store has it.
func Contract(v *store.View, c *record.Contract, a Around) (*executorpb.Contract, error) {
	_, res, err := v.Contract(c.ContractID)
	if err != nil {
		return nil, err
	}
	s := sight{c: c, res: res, now: v.Now().Wall, around: a, landing: v.Forgotten(c)}
	send, err := v.Send(c.ContractID)
	switch {
	case err == nil:
		s.send = send
		if send.ExchangeMS == nil {
			s.landing = max(0, a.Limits.LandingWindow-v.SinceSend(send))
		}
	case errs.CodeOf(err) != errs.NotFound:
		return nil, err
	}
	if s.undo, err = undoable(v, c, res, a.Limits); err != nil {
		return nil, err
	}
	if c.State == record.Prepared && c.Confirmed() {
		if err := v.MayBegin(); err != nil {
			s.begin = cmp.Or(errs.Public(err).Class, "unknown")
		}
	}
	m := &executorpb.Contract{
		ContractId: c.ContractID, OperationId: c.OperationID, RequestId: c.RequestID,
		State: State(c.State), StateVersion: uint32(c.Version), SendBoundary: string(c.Boundary), UncertaintyOrigin: string(c.Origin),
		CreatedAt: unix(c.CreatedAt), ExpiresAt: unix(c.ExpiresAt), ConfirmedAt: unix(c.ConfirmedAt),
		Reason: string(res.Reason), AttestedOnly: res.AttestedOnly, Released: res.Released, Lab: a.Lab,
		RollbackUntil: unix(s.undo), Next: s.next(),
	}
	if !c.State.Reserves() || res.Released {
		m.SettledAt = unix(res.At)
	}
	if s.send != nil {
		m.Contended, m.Look = send.Contended, string(send.Look)
	}
	if s.landing > 0 {
		m.LandingWindowUntil = unix(s.now.Add(s.landing))
	}
	return m, nil
}

// Contracts returns a page of the contracts in one of the states, newest first, and how
// many there are; without any states, of those that hold a target.
func Contracts(v *store.View, states []record.State, p Page) ([]*record.Contract, int, error) {
	from, most, err := p.bounds()
	if err != nil {
		return nil, 0, err
	}
	if len(states) > 0 {
		return v.ContractPage(from, most, states...)
	}
	all, err := v.Active() // they are few
	slices.SortFunc(all, func(a, b *record.Contract) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ContractID, b.ContractID))
	})
	from = min(from, len(all))
	return all[from:min(from+most, len(all))], len(all), err
}

// Requests returns a page of the requests that fit, newest first, and how many there are.
func Requests(v *store.View, f store.RequestFilter, p Page) ([]*record.Request, int, error) {
	from, most, err := p.bounds()
	if err != nil {
		return nil, 0, err
	}
	return v.RequestPage(f, from, most)
}

// undoable returns until when a change can be undone, the zero time when it cannot.
func undoable(v *store.View, c *record.Contract, res *record.Result, l store.Limits) (time.Time, error) {
	if c.State != record.Verified {
		return time.Time{}, nil
	}
	err := v.MayUndo(c)
	switch errs.CodeOf(err) {
	case errs.Denied: // too late, or a later contract touched the target
		return time.Time{}, nil
	case errs.Exhausted: // too many attempts of late: that passes
		err = nil
	}
	return res.VerifiedAt.Add(l.RollbackWithin), err
}

// Digests shows what a contract is bound to.
func Digests(c *record.Contract) (*executorpb.Digests, error) {
	key, err := change.IdempotencyKey(c.RequestID, c.Digests(), c.Locator)
	if err != nil {
		return nil, err
	}
	return &executorpb.Digests{
		IdempotencyKey: key, TargetIdentity: c.TargetIdentity, TargetFingerprint: c.TargetFingerprint,
		Intent: c.Intent, Snapshot: c.Snapshot, Collection: c.Collection,
		ExecutionIntent: c.Provenance.ExecutionIntent, Plan: c.Provenance.Plan, Confirmation: c.Confirmation,
		VerifiedTargetFingerprint: c.VerifiedFingerprint,
	}, nil
}

// Request shows a request. Projected is what a poll would say now.
func Request(v *store.View, r *record.Request, projected string, quarantine bool) (*executorpb.Request, error) {
	alias, _, err := v.Text(r)
	if err != nil && errs.CodeOf(err) != errs.NotFound { // retention has removed it
		return nil, err
	}
	m := &executorpb.Request{
		RequestId: r.RequestID, Status: statuses[r.Status], Origin: r.Origin, AliasName: alias,
		OpenedAt: unix(r.OpenedAt), ExpiresAt: unix(r.ExpiresAt), ConcludedAt: unix(r.ConcludedAt),
		PreviewSeq: uint32(r.PreviewSeq), ContractId: r.ContractID, Projected: Answer(projected), Result: string(r.Result),
		Next: afterRequest(r, v.Now().Wall, quarantine),
	}
	if r.AskedBy != nil {
		uid := uint32(*r.AskedBy)
		m.Uid = &uid
	}
	return m, nil
}

// unix returns a time as it travels: 0 for none.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

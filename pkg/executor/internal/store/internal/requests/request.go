package requests

import (
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/quota"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/internal/step"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// NewRequest is a wish to be stored.
type NewRequest struct {
	AliasName, Description string // within the rules of package change
	UID                    *int64 // of the MCP client, as mcpd claims it; nil for an operator's own
	By                     record.Actor
}

// OpenRequest is T1: it stores a request, its text sealed. At most one is open for
// an alias; the limits of requests are checked and counted here.
func (s Requests) OpenRequest(n NewRequest) (r record.Request, err error) {
	key, err := change.RequestKey(n.AliasName, n.Description)
	if err != nil {
		return r, step.Invalid(err)
	}
	target, err := canon.TargetIdentity.Digest(canon.Object{"alias_name": n.AliasName})
	if err != nil {
		return r, step.Invalid(err)
	}
	text, err := canon.Encode(canon.Object{"alias_name": n.AliasName, "description": n.Description})
	if err != nil || !change.AliasName(n.AliasName) {
		return r, step.Invalid(err)
	}
	if err := s.core.Dir.Space(); err != nil {
		return r, err
	}
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		all, err := step.Live(tx)
		if err != nil {
			return err
		}
		for _, o := range all {
			if o.TargetIdentity == target {
				return step.Refuse(errs.Exhausted, "rate_open", "there is a live request for this alias")
			}
		}
		if err := s.core.Limits.Request(tx, n.By, n.UID, all); err != nil {
			return err
		}
		r = record.Request{
			RequestID: change.NewID(change.PrefixRequest), RequestKey: key, TargetIdentity: target, Origin: artifact.OriginOperator, AskedBy: n.UID,
			OpenedAt: tx.Now.Wall, ExpiresAt: tx.Now.Wall.Add(s.core.Limits.RequestLife), Status: record.Open,
		}
		if n.UID != nil {
			r.Origin = artifact.OriginMCP
		}
		sealed, err := tx.Seal(r.RequestID, record.RoleRequest, text)
		if err != nil {
			return err
		}
		r.ProtectedText = &sealed
		if err := tx.Put(&r); err != nil {
			return err
		}
		return tx.Audit(step.Ask(&r, record.RequestOpened, n.By), &r)
	})
	return r, err
}

// IssuePreview stores the attested preview of an open request in the place of the
// former one. Seq is the number of previews that the caller saw.
func (s Requests) IssuePreview(p *artifact.Preview, file []byte, locator, seq int64, by record.Actor) (r record.Request, err error) {
	xi, err := p.Intent.ExecutionDigest()
	if err != nil {
		return r, step.Invalid(err)
	}
	plan, err := p.Plan.Digest()
	if err != nil {
		return r, step.Invalid(err)
	}
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		q, err := rows.Get(tx, &record.Request{}, []byte(p.RequestID))
		if err != nil {
			return err
		}
		if q.Status != record.Open || q.PreviewSeq != seq || !tx.Now.Wall.Before(q.ExpiresAt) {
			return errs.New(errs.Conflict, "the request is not open, or another preview was made").WithClass("conflict")
		}
		sealed, err := tx.Seal(q.RequestID, record.RolePreview, file)
		if err != nil {
			return err
		}
		q.ExecutionIntent, q.Plan, q.PreviewSeq = xi, plan, seq+1
		if err := tx.Put(&record.Preview{
			RequestID: q.RequestID, Seq: q.PreviewSeq, ExecutionIntent: xi, Plan: plan, Locator: locator, GeneratedAt: p.GeneratedAt, ProtectedFile: sealed,
		}); err != nil {
			return err
		}
		if err := tx.Put(q); err != nil {
			return err
		}
		r = *q
		return tx.Audit(step.Ask(q, record.PreviewIssued, by), q)
	})
	return r, err
}

// CancelRequest ends an open request, by an operator's wish or because another took
// its place. One that has a contract is cancelled through it.
func (s Requests) CancelRequest(id string, to record.Status, by record.Actor) error {
	why := record.ReasonOperatorCancel
	if to == record.Superseded {
		why = record.ReasonSuperseded
	} else {
		to = record.Cancelled
	}
	return s.core.DB.Update(func(tx *rows.Tx) error {
		r, err := rows.Get(tx, &record.Request{}, []byte(id))
		if err != nil {
			return err
		}
		if r.Status != record.Open {
			return errs.New(errs.Conflict, "the request is not open").WithClass("conflict").
				WithNext("cancel its contract, or see what became of it: mcpctl write list")
		}
		return step.Conclude(tx, r, to, why, by)
	})
}

// CancelUnpreviewed ends every open request of a uid that has no preview and returns
// their ids.
func (s Requests) CancelUnpreviewed(uid int64, by record.Actor) (ids []string, err error) {
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		all, err := step.Live(tx)
		if err != nil {
			return err
		}
		for _, r := range all {
			if r.Status != record.Open || r.PreviewSeq > 0 || r.AskedBy == nil || *r.AskedBy != uid {
				continue
			}
			if err := step.Conclude(tx, r, record.Cancelled, record.ReasonOperatorCancel, by); err != nil {
				return err
			}
			ids = append(ids, r.RequestID)
		}
		return nil
	})
	return ids, err
}

// Denial is a submission that was turned down.
type Denial struct {
	Event                 record.Event // AuthorizationDenied, ConfirmationDenied, ReconcileDenied or RollbackDenied
	By                    record.Actor // the peer that submitted
	Reason                record.Reason
	RequestID, ContractID string // as far as they name something that exists
}

// Deny counts a denial and writes its audit row. Seq is 0 when the rows of this hour
// are used up: the last one says so. What the file named goes into the row only if it
// exists here, so that nobody writes words of his own into the audit.
func (s Requests) Deny(d Denial) (seq int64, err error) {
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		row, last, err := s.core.Limits.Denial(tx, d.By)
		if err != nil || !row {
			return err
		}
		a := record.Audit{Event: d.Event, Actor: d.By, Reason: d.Reason}
		if tx.Has(record.Contracts, []byte(d.ContractID)) {
			c, err := rows.Get(tx, &record.Contract{}, []byte(d.ContractID))
			if err != nil {
				return err
			}
			a = step.About(c, d.Event, d.By)
		} else if tx.Has(record.Requests, []byte(d.RequestID)) {
			r, err := rows.Get(tx, &record.Request{}, []byte(d.RequestID))
			if err != nil {
				return err
			}
			a = step.Ask(r, d.Event, d.By)
		}
		if a.Reason = d.Reason; last {
			a.Reason = record.ReasonDenialsCapped
		}
		if err := tx.Audit(a, nil); err != nil {
			return err
		}
		seq = tx.Seq()
		return nil
	})
	if err != nil {
		seq = 0 // the row that nobody will find
	}
	return seq, err
}

// Paused says until when a peer's submissions are not looked at, after too many
// denials.
func (s Requests) Paused(peer record.Actor) (until time.Time, paused bool, err error) {
	err = s.core.DB.View(func(tx *rows.Tx) (err error) {
		until, paused, err = s.core.Limits.Paused(tx, peer)
		return err
	})
	return until, paused, err
}

// Swept is what a sweep did.
type Swept struct {
	Requests, Contracts, Texts []string // ids: expired, expired, text removed
}

// Sweep expires what is past its time and removes texts and previews whose time is
// over. It writes only when there is something to do.
func (s Requests) Sweep() (done Swept, err error) {
	due := false
	if err := s.core.DB.View(func(tx *rows.Tx) error {
		w, err := s.sweep(tx)
		due = err == nil && len(w.requests)+len(w.contracts)+len(w.texts) > 0
		return err
	}); err != nil || !due {
		return done, err
	}
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		w, err := s.sweep(tx)
		if err != nil {
			return err
		}
		for _, c := range w.contracts {
			if err := s.core.Move(tx, c, step.Move{To: record.Expired, By: record.Executord, Reason: record.ReasonExpired}); err != nil {
				return err
			}
			done.Contracts = append(done.Contracts, c.ContractID)
		}
		for _, r := range w.requests {
			why := record.ReasonExpired
			if tx.Now.Wall.Before(r.ExpiresAt) {
				why = record.ReasonUnpreviewed
			}
			if err := step.Conclude(tx, r, record.Lapsed, why, record.Executord); err != nil {
				return err
			}
			done.Requests = append(done.Requests, r.RequestID)
		}
		for _, r := range w.texts {
			if err := forget(tx, r); err != nil {
				return err
			}
			done.Texts = append(done.Texts, r.RequestID)
		}
		return nil
	})
	return done, err
}

type work struct {
	requests, texts []*record.Request
	contracts       []*record.Contract
}

// sweep finds what is to be done.
func (s Requests) sweep(tx *rows.Tx) (w work, err error) {
	now := tx.Now.Wall
	active, err := quota.Active(tx)
	if err != nil {
		return w, err
	}
	for _, c := range active {
		if c.State == record.Prepared && !now.Before(c.ExpiresAt) {
			w.contracts = append(w.contracts, c)
		}
	}
	all, err := step.Texts(tx)
	if err != nil {
		return w, err
	}
	for _, r := range all {
		unseen := r.AskedBy != nil && r.PreviewSeq == 0 && !now.Before(r.OpenedAt.Add(s.core.Limits.UnpreviewedLife))
		switch {
		case r.Status == record.Open && (unseen || !now.Before(r.ExpiresAt)):
			w.requests = append(w.requests, r)
		case !r.Status.Live() && !now.Before(r.ConcludedAt.Add(s.core.Limits.Retention)):
			w.texts = append(w.texts, r)
		}
	}
	return w, nil
}

// forget removes a request's text and preview. Everything else of it stays.
func forget(tx *rows.Tx, r *record.Request) error {
	if err := tx.Unseal(r.RequestID, record.RoleRequest); err != nil {
		return err
	}
	if err := step.Void(tx, r.RequestID); err != nil {
		return err
	}
	r.ProtectedText = nil
	if err := tx.Put(r); err != nil {
		return err
	}
	return tx.Audit(step.Ask(r, record.TextRemoved, record.Executord), r)
}

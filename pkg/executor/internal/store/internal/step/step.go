package step

import (
	"bytes"
	"fmt"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/moment"
	"pfsensemcp/pkg/executor/internal/store/internal/place"
	"pfsensemcp/pkg/executor/internal/store/internal/quota"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Core is what the transactions share.
type Core struct {
	DB     *rows.DB
	Dir    *place.Dir
	Limits quota.Limits
	Start  moment.Reading // when the store was opened
}

// Refuse makes a refusal whose class is its reason in the audit.
func Refuse(code errs.Code, r record.Reason, msg string) error { return quota.Refuse(code, r, msg) }

// Conflict is the answer when a contract is not what the caller saw.
func Conflict() error {
	return errs.New(errs.Conflict, "the contract has changed meanwhile").WithClass("conflict").WithNext("look at it again and decide anew")
}

// Load reads a contract that must be as expected: the compare of compare-and-swap.
func Load(tx *rows.Tx, at record.At) (*record.Contract, error) {
	c, err := rows.Get(tx, &record.Contract{}, []byte(at.ContractID))
	if err != nil {
		return nil, err
	}
	if c.At() != at {
		return nil, Conflict()
	}
	held, err := rows.Get(tx, &record.Reservation{}, []byte(c.TargetIdentity))
	if errs.CodeOf(err) != errs.NotFound && err != nil {
		return nil, err
	}
	// A released rollback_failed is the one state that may do without.
	holds := err == nil && held.ContractID == c.ContractID
	if holds != c.State.Reserves() && c.State != record.RollbackFailed {
		return nil, rows.Damaged(nil, "a reservation and a state disagree")
	}
	return c, nil
}

// Move is one move of a contract.
type Move struct {
	To       record.State
	By       record.Actor
	Reason   record.Reason
	Event    record.Event // StateTransition unless said
	Evidence string
	Attested bool
	Sealed   bool // the caller has compared what was read with what is sealed
}

// About starts an audit row about a contract.
func About(c *record.Contract, e record.Event, by record.Actor) record.Audit {
	v := c.Version
	return record.Audit{
		Event: e, Actor: by, RequestID: c.RequestID, ContractID: c.ContractID, OperationID: c.OperationID,
		TargetIdentity: c.TargetIdentity, Intent: c.Intent, From: string(c.State), To: string(c.State), Version: &v,
	}
}

// Move is the one place where a contract changes its state: row, result,
// reservation, cooldown, audit and request, in the caller's transaction.
func (core *Core) Move(tx *rows.Tx, c *record.Contract, m Move) error {
	from := c.State
	if !record.Legal(from, m.To) || m.To.Sealed() && !m.Sealed {
		return errs.Newf(errs.Conflict, "a contract cannot go from %s to %s", from, m.To).WithClass("illegal_transition")
	}
	if m.Event == "" {
		m.Event = record.StateTransition
	}
	c.State, c.Version = m.To, c.Version+1
	if m.To != record.Reconciliation {
		c.Origin = ""
	}
	if err := tx.Put(c); err != nil {
		return err
	}
	res, err := Result(tx, c.ContractID)
	if err != nil {
		return err
	}
	res.Version, res.State, res.Reason, res.At = c.Version, c.State, m.Reason, tx.Now.Wall
	res.Evidence, res.AttestedOnly = m.Evidence, m.Attested
	if m.To == record.Verified {
		res.VerifiedAt = tx.Now.Wall
	}
	if err := tx.Put(res); err != nil {
		return err
	}
	if err := core.Hold(tx, c, from); err != nil {
		return err
	}
	a := About(c, m.Event, m.By)
	a.From, a.Reason = string(from), m.Reason
	if err := tx.Audit(a, c); err != nil {
		return err
	}
	return core.tell(tx, c, m)
}

// Result reads the row of results, a new one for a new contract.
func Result(tx *rows.Tx, id string) (*record.Result, error) {
	r, err := rows.Get(tx, &record.Result{}, []byte(id))
	if errs.CodeOf(err) == errs.NotFound {
		return &record.Result{ContractID: id}, nil
	}
	return r, err
}

// Hold takes or frees the target.
func (core *Core) Hold(tx *rows.Tx, c *record.Contract, from record.State) error {
	switch {
	case c.State.Reserves() && !from.Reserves():
		err := tx.Insert(&record.Reservation{TargetIdentity: c.TargetIdentity, ContractID: c.ContractID})
		if errs.CodeOf(err) == errs.Conflict {
			return Refuse(errs.Conflict, "reserved", "another contract holds the target")
		}
		if err != nil {
			return err
		}
	case !c.State.Reserves():
		if err := tx.Delete(record.Reservations, []byte(c.TargetIdentity)); err != nil {
			return err
		}
	}
	switch c.State {
	case record.Verified, record.Failed, record.RolledBack, record.RollbackFailed:
		d, err := Cooldown(tx, c.TargetIdentity)
		if err != nil {
			return err
		}
		d.Until = tx.Now.Wall.Add(core.Limits.Cooldown)
		return tx.Put(d)
	}
	return nil
}

func Cooldown(tx *rows.Tx, target string) (*record.Cooldown, error) {
	d, err := rows.Get(tx, &record.Cooldown{}, []byte(target))
	if errs.CodeOf(err) == errs.NotFound {
		return &record.Cooldown{TargetIdentity: target}, nil
	}
	return d, err
}

// tell carries the move over to the request.
func (core *Core) tell(tx *rows.Tx, c *record.Contract, m Move) error {
	var to record.Status
	switch m.To {
	case record.Verified, record.Failed, record.RolledBack, record.RollbackFailed:
		to = record.Concluded
	case record.Expired:
	default:
		return nil
	}
	r, err := rows.Get(tx, &record.Request{}, []byte(c.RequestID))
	if err != nil {
		return err
	}
	why := record.Reason(m.To)
	switch {
	case m.To == record.Expired:
		if r.Status != record.Authorized {
			return rows.Damaged(nil, "a request is not where its contract is")
		}
		// The change may be asked for again; what was approved is spent.
		r.Status, r.ContractID = record.Open, ""
		if tx.Now.Wall.Before(r.ExpiresAt) {
			return tx.Put(r)
		}
		to, why = record.Lapsed, record.ReasonExpired
	case m.Reason == record.ReasonOperatorCancel:
		to, why = record.Cancelled, m.Reason
	}
	return Conclude(tx, r, to, why, m.By)
}

// Conclude ends a request; one that has ended learns its contract's later fate.
func Conclude(tx *rows.Tx, r *record.Request, to record.Status, why record.Reason, by record.Actor) error {
	if !r.Status.Live() {
		r.Result = why
		return tx.Put(r)
	}
	from := r.Status
	r.Status, r.Result, r.ConcludedAt = to, why, tx.Now.Wall
	if err := tx.Put(r); err != nil {
		return err
	}
	a := Ask(r, record.RequestConcluded, by)
	a.From, a.To, a.Reason = string(from), string(to), why
	return tx.Audit(a, r)
}

// Ask starts an audit row about a request.
func Ask(r *record.Request, e record.Event, by record.Actor) record.Audit {
	return record.Audit{Event: e, Actor: by, RequestID: r.RequestID, ContractID: r.ContractID, TargetIdentity: r.TargetIdentity}
}

// Spend makes a signed artifact unusable for ever and keeps its file.
func Spend(tx *rows.Tx, u record.Use, kind record.Reason, c *record.Contract, role string, hash string, file []byte, by record.Actor) error {
	u.At = tx.Now.Wall
	err := tx.Insert(&u)
	if errs.CodeOf(err) == errs.Conflict {
		return Refuse(errs.Denied, "g6_consumed", "the signed file was used already")
	}
	if err != nil {
		return err
	}
	a := record.Audit{Event: record.AuthorizationConsumed, Actor: by, Reason: kind}
	if c != nil {
		a = About(c, record.AuthorizationConsumed, by)
		a.Reason, a.From, a.To, a.Version = kind, "", "", nil
	}
	if err := tx.Audit(a, &u); err != nil {
		return err
	}
	return tx.Put(&record.SignedFile{ContractID: u.ContractID, Role: role, Hash: hash, File: file})
}

// Fresh refuses what was signed at or before the floor: the store may have
// forgotten that it was used.
func Fresh(tx *rows.Tx, issued time.Time) error {
	f, err := tx.Founding()
	if err != nil {
		return err
	}
	if !issued.After(f.Floor) {
		return Refuse(errs.Denied, "g3_floor", "the file was signed before the last rebaseline")
	}
	return nil
}

// Unseal opens the prepared change of a contract, under all rules of a file.
func Unseal(tx *rows.Tx, c *record.Contract) (*change.Intent, error) {
	var m change.Members
	for _, one := range []struct {
		to   *[]byte
		role string
		s    record.Sealed
	}{
		{&m.Identity, record.RoleIdentity, c.ProtectedIdentity},
		{&m.Intent, record.RoleIntent, c.ProtectedIntent},
		{&m.Snapshot, record.RoleSnapshot, c.ProtectedSnapshot},
	} {
		b, err := tx.Open(c.ContractID, one.role, one.s)
		if err != nil {
			return nil, err
		}
		*one.to = b
	}
	in, err := m.Open()
	if err != nil {
		return nil, rows.Damaged(err, "a sealed change breaks a rule")
	}
	d, err := in.Digests(c.Locator)
	if err != nil || d != c.Digests() || in.Appliance != c.Provenance.Appliance {
		return nil, rows.Damaged(err, "a sealed change is not its contract's")
	}
	return in, nil
}

// texts returns the ids of the requests whose text is still kept: all that are live, and
// those that concluded within the time of retention. They are found by the sealed texts,
// which are few, and not by looking through all requests there ever were.
func texts(tx *rows.Tx) (ids [][]byte, err error) {
	err = tx.Raw(record.SealedBytes, []byte(change.PrefixRequest), func(k, _ []byte) error {
		if id, ok := bytes.CutSuffix(k, []byte("/"+record.RoleRequest)); ok {
			ids = append(ids, bytes.Clone(id))
		}
		return nil
	})
	return ids, err
}

// Texts returns the requests whose text is still kept.
func Texts(tx *rows.Tx) (all []*record.Request, err error) {
	ids, err := texts(tx)
	for _, id := range ids {
		r, err := rows.Get(tx, &record.Request{}, id)
		if errs.CodeOf(err) == errs.NotFound {
			return nil, rows.Damaged(err, "a sealed text has no request")
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, err
}

// Live returns all open and authorized requests. A live request keeps its text.
func Live(tx *rows.Tx) (all []*record.Request, err error) {
	ids, err := texts(tx)
	if err != nil {
		return nil, err
	}
	for _, s := range []record.Status{record.Open, record.Authorized} {
		for _, id := range ids {
			if err := rows.Each(tx, id, fmt.Appendf(nil, `"status":%q`, s), func(r *record.Request) (bool, error) {
				all = append(all, r)
				return true, nil
			}); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func Invalid(cause error) error {
	return errs.Wrap(cause, errs.Invalid, "the value breaks a rule").WithClass("invalid_value")
}

// Void removes the preview of a request.
func Void(tx *rows.Tx, request string) error {
	if err := tx.Unseal(request, record.RolePreview); err != nil {
		return err
	}
	return tx.Delete(record.Previews, []byte(request))
}

// Settle moves a contract that is as expected, after what before does.
func (core *Core) Settle(at record.At, m Move, before func(*rows.Tx, *record.Contract) error) (c record.Contract, err error) {
	err = core.DB.Update(func(tx *rows.Tx) error {
		k, err := Load(tx, at)
		if err != nil {
			return err
		}
		if err := before(tx, k); err != nil {
			return err
		}
		if err := core.Move(tx, k, m); err != nil {
			return err
		}
		c = *k
		return nil
	})
	return c, err
}

// Begin is the common half of T4, forward and back: what must be settled first,
// the count of attempts, and the increment that is about to be asked for. Witness is
// the counter's value just read.
func (core *Core) Begin(tx *rows.Tx, c *record.Contract, m Move, purpose record.Purpose, witness int64) error {
	if err := core.Limits.Begin(tx, core.Start); err != nil {
		return err
	}
	a, err := tx.Anchor()
	if err != nil {
		return err
	}
	if a.Value != witness {
		return Refuse(errs.Conflict, "anchor_mismatch", "the counter is not at the stored value")
	}
	if err := core.Limits.Send(tx); err != nil {
		return err
	}
	d, err := Cooldown(tx, c.TargetIdentity)
	if err != nil {
		return err
	}
	d.Attempted = c.ContractID
	if err := tx.Put(d); err != nil {
		return err
	}
	c.Boundary = record.BoundaryNone
	if err := core.Move(tx, c, m); err != nil {
		return err
	}
	a.Pending = &record.Pending{From: a.Value, To: a.Value + 1, ContractID: c.ContractID, Version: c.Version, Purpose: purpose}
	return tx.Audit(About(c, record.AnchorPending, record.Executord), nil)
}

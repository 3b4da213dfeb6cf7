package attempts

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

// feasible is the least that must be left of an authorization for a contract to be
// worth making.
const feasible = time.Minute

// Authorization is a verified authorization on its way to becoming a contract.
type Authorization struct {
	File       []byte // as submitted
	Artifact   *artifact.Authorization
	PreviewSeq int64  // of the preview that the gates looked at
	Collection string // digest of all other aliases at the fresh read
	By         record.Actor
}

// Authorize is T2, gate 6: in one transaction the authorization is consumed, the
// target reserved, the change of the stored preview sealed into a new contract, and
// the request linked. The change is the preview's, never the caller's.
func (s Attempts) Authorize(a Authorization) (c record.Contract, err error) {
	if err := s.core.Dir.Space(); err != nil {
		return c, err
	}
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		r, in, p, err := s.approved(tx, a)
		if err != nil {
			return err
		}
		d, err := in.Digests(p.Locator)
		if err != nil {
			return step.Invalid(err)
		}
		auth := a.Artifact
		c = record.Contract{
			ContractID: change.NewID(change.PrefixContract), OperationID: change.NewID(change.PrefixOperation), RequestID: r.RequestID,
			TargetIdentity: d.TargetIdentity, TargetFingerprint: d.TargetFingerprint, Intent: d.Intent, Snapshot: d.Snapshot,
			Collection: a.Collection, Locator: p.Locator, CreatedAt: tx.Now.Wall, ExpiresAt: auth.ExpiresAt,
			State: record.Prepared, Boundary: record.BoundaryNone,
			Provenance: record.Provenance{
				AuthorizationID: auth.ID, AuthorityID: auth.AuthorityID, Plan: auth.PlanDigest, ExecutionIntent: auth.ExecutionIntent,
				IssuedAt: auth.IssuedAt, ExpiresAt: auth.ExpiresAt, Appliance: in.Appliance,
			},
		}
		if err := seal(tx, &c, in); err != nil {
			return err
		}
		if err := step.Spend(tx, record.Use{ID: auth.ID, AuthorityID: auth.AuthorityID, ContractID: c.ContractID, ExpiresAt: auth.ExpiresAt},
			record.ReasonAuthorization, &c, string(auth.Role()), canon.Hash(a.File), a.File, a.By); err != nil {
			return err
		}
		if err := tx.Put(&c); err != nil {
			return err
		}
		if err := tx.Put(&record.Result{ContractID: c.ContractID, State: record.Prepared, At: tx.Now.Wall}); err != nil {
			return err
		}
		if err := s.core.Hold(tx, &c, ""); err != nil {
			return err
		}
		r.Status, r.ContractID = record.Authorized, c.ContractID
		if err := tx.Put(r); err != nil {
			return err
		}
		row := step.About(&c, record.ContractCreated, record.Executord)
		row.From = ""
		return tx.Audit(row, &c)
	})
	return c, err
}

// approved checks, inside the transaction, everything durable that T2 rests on.
func (s Attempts) approved(tx *rows.Tx, a Authorization) (*record.Request, *change.Intent, *record.Preview, error) {
	none := func(err error) (*record.Request, *change.Intent, *record.Preview, error) { return nil, nil, nil, err }
	auth, now := a.Artifact, tx.Now.Wall
	r, err := rows.Get(tx, &record.Request{}, []byte(auth.RequestID))
	if err != nil {
		return none(err)
	}
	p, err := rows.Get(tx, &record.Preview{}, []byte(auth.RequestID))
	if err != nil {
		return none(err)
	}
	switch {
	case r.Status != record.Open || p.Seq != r.PreviewSeq || p.Seq != a.PreviewSeq || !now.Before(r.ExpiresAt):
		return none(errs.New(errs.Conflict, "the request has changed meanwhile").WithClass("conflict"))
	case p.ExecutionIntent != auth.ExecutionIntent:
		return none(step.Refuse(errs.Denied, "g4_intent", "the authorization is for another change"))
	case p.Plan != auth.PlanDigest:
		return none(step.Refuse(errs.Denied, "g4_plan", "the authorization is for another plan"))
	case !now.Add(feasible).Before(auth.ExpiresAt):
		return none(step.Refuse(errs.Expired, "g6_feasible", "the authorization has less than a minute left"))
	}
	if err := step.Fresh(tx, auth.IssuedAt); err != nil {
		return none(err)
	}
	if err := s.core.Limits.Begin(tx, s.core.Start); err != nil {
		return none(err)
	}
	if err := Room(tx, s.core.Limits, r.TargetIdentity); err != nil {
		return none(err)
	}
	file, err := tx.Open(r.RequestID, record.RolePreview, p.ProtectedFile)
	if err != nil {
		return none(err)
	}
	preview, err := artifact.ParsePreview(file)
	if err != nil {
		return none(rows.Damaged(err, "a stored preview breaks a rule"))
	}
	if xi, err := preview.Intent.ExecutionDigest(); err != nil || xi != p.ExecutionIntent {
		return none(rows.Damaged(err, "a stored preview is not its row's"))
	}
	return r, &preview.Intent, p, nil
}

// Room says whether a target may take a contract now: rate_prepared when too many are
// prepared, cooldown when the target was changed a moment ago, reserved when another
// contract holds it.
func Room(tx *rows.Tx, l quota.Limits, target string) error {
	active, err := quota.Active(tx)
	if err != nil {
		return err
	}
	prepared := 0
	for _, c := range active {
		if c.State == record.Prepared {
			prepared++
		}
		if c.TargetIdentity == target {
			return step.Refuse(errs.Conflict, "reserved", "another contract holds the target")
		}
	}
	if prepared >= l.Prepared {
		return step.Refuse(errs.Exhausted, "rate_prepared", "too many contracts are prepared")
	}
	d, err := step.Cooldown(tx, target)
	if err == nil && tx.Now.Wall.Before(d.Until) {
		err = step.Refuse(errs.Exhausted, "cooldown", "the target was changed a moment ago")
	}
	return err
}

// seal encrypts the three members of a contract.
func seal(tx *rows.Tx, c *record.Contract, in *change.Intent) error {
	m, err := in.Members()
	if err != nil {
		return step.Invalid(err)
	}
	for _, one := range []struct {
		to   *record.Sealed
		role string
		of   []byte
	}{
		{&c.ProtectedIdentity, record.RoleIdentity, m.Identity},
		{&c.ProtectedIntent, record.RoleIntent, m.Intent},
		{&c.ProtectedSnapshot, record.RoleSnapshot, m.Snapshot},
	} {
		if *one.to, err = tx.Seal(c.ContractID, one.role, one.of); err != nil {
			return err
		}
	}
	return nil
}

// Confirm is T3: the second approval is consumed and stands in the contract, which
// gets version 1. At must be prepared at version 0.
func (s Attempts) Confirm(at record.At, file []byte, a *artifact.Confirmation, by record.Actor) (c record.Contract, err error) {
	digest, err := a.Digest()
	if err != nil {
		return c, step.Invalid(err)
	}
	if err := s.core.Dir.Space(); err != nil {
		return c, err
	}
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		k, err := step.Load(tx, at)
		if err != nil {
			return err
		}
		switch {
		case k.State != record.Prepared || k.Version != 0 || a.ContractID != k.ContractID:
			return step.Conflict()
		case !tx.Now.Wall.Before(k.ExpiresAt):
			return step.Refuse(errs.Expired, "c3_expired", "the contract has expired")
		case a.Digests != k.Digests() || !a.ExpiresAt.Equal(k.ExpiresAt) || a.OperationID != k.OperationID:
			return step.Refuse(errs.Denied, "c4_binding", "the confirmation is for something else")
		}
		if err := step.Fresh(tx, a.IssuedAt); err != nil {
			return err
		}
		k.Confirmation, k.ConfirmedAt, k.Version = digest, later(tx.Now.Wall, k.CreatedAt), 1
		if err := step.Spend(tx, record.Use{ID: "confirmation:" + a.Nonce, AuthorityID: a.AuthorityID, ContractID: k.ContractID, ExpiresAt: a.ExpiresAt},
			record.ReasonConfirmation, k, string(a.Role()), canon.Hash(file), file, by); err != nil {
			return err
		}
		if err := tx.Put(k); err != nil {
			return err
		}
		res, err := step.Result(tx, k.ContractID)
		if err != nil {
			return err
		}
		res.Version = k.Version
		if err := tx.Put(res); err != nil {
			return err
		}
		c = *k
		return tx.Audit(step.About(k, record.ContractConfirmed, record.Executord), k)
	})
	return c, err
}

// later returns the later of two times: within its tolerance a clock may run back.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// FailPrepared ends a prepared contract before anything was begun: the look before
// execution found another state, or an operator cancelled it.
func (s Attempts) FailPrepared(at record.At, why record.Reason, by record.Actor) (record.Contract, error) {
	return s.core.Settle(at, step.Move{To: record.Failed, By: by, Reason: why}, func(_ *rows.Tx, c *record.Contract) error {
		if c.State != record.Prepared {
			return errs.New(errs.Conflict, "the contract is past the point where it can be cancelled").WithClass("conflict").
				WithNext("see what becomes of it: mcpctl write list")
		}
		return nil
	})
}

package settling

import (
	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/moment"
	"pfsensemcp/pkg/executor/internal/store/internal/quota"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/internal/step"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// SignedRollback is one verified signature of an undo with its file.
type SignedRollback struct {
	File     []byte
	Artifact *artifact.Rollback
}

// Undoable refuses a verified contract that can no longer be rolled back: b_window
// after RollbackWithin or when it was settled by attestation alone, b_later when
// another contract for the target was attempted since.
func Undoable(tx *rows.Tx, l quota.Limits, c *record.Contract) error {
	res, err := step.Result(tx, c.ContractID)
	if err != nil {
		return err
	}
	d, err := step.Cooldown(tx, c.TargetIdentity)
	if err != nil {
		return err
	}
	switch {
	case res.AttestedOnly || res.VerifiedAt.IsZero() || !tx.Now.Wall.Before(res.VerifiedAt.Add(l.RollbackWithin)):
		return step.Refuse(errs.Denied, "b_window", "the change can no longer be rolled back")
	case d.Attempted != c.ContractID:
		return step.Refuse(errs.Denied, "b_later", "a later contract touched the target")
	}
	return nil
}

// BeginRollback is T4 on the way back: both signatures are consumed, the target is
// reserved again and the increment noted. Only within RollbackWithin of verified, never
// after another contract for the target was attempted, never for what was settled by
// attestation alone.
func (s Settling) BeginRollback(at record.At, confirmation, authorization SignedRollback, witness int64, by record.Actor) (c record.Contract, err error) {
	if err := s.core.Dir.Space(); err != nil {
		return c, err
	}
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		k, err := step.Load(tx, at)
		if err != nil {
			return err
		}
		if k.State != record.Verified {
			return step.Conflict()
		}
		if err := Undoable(tx, s.core.Limits, k); err != nil {
			return err
		}
		for _, one := range []struct {
			SignedRollback
			prefix string
			kind   record.Reason
		}{
			{confirmation, "rollback:", record.ReasonRollback},
			{authorization, "rollback-authorization:", record.ReasonRollbackAuth},
		} {
			u := one.Artifact.Undo
			if u.ContractID != k.ContractID || u.OperationID != k.OperationID || u.StateVersion != k.Version ||
				u.VerifiedFingerprint != k.VerifiedFingerprint || u.Snapshot != k.Snapshot {
				return step.Refuse(errs.Denied, "b_version", "the signature is for another undo")
			}
			if !tx.Now.Wall.Before(one.Artifact.ExpiresAt) {
				return step.Refuse(errs.Expired, "b_time", "a signature has expired")
			}
			if err := step.Fresh(tx, one.Artifact.IssuedAt); err != nil {
				return err
			}
			if err := step.Spend(tx, record.Use{
				ID: one.prefix + one.Artifact.Nonce, AuthorityID: one.Artifact.AuthorityID, ContractID: k.ContractID, ExpiresAt: one.Artifact.ExpiresAt,
			}, one.kind, k, string(one.Artifact.Role()), canon.Hash(one.File), one.File, by); err != nil {
				return err
			}
		}
		if err := tx.Audit(step.About(k, record.RollbackAuthorized, by), nil); err != nil {
			return err
		}
		if err := s.core.Begin(tx, k, step.Move{To: record.RollingBack, By: record.Executord}, record.Rollback, witness); err != nil {
			return err
		}
		c = *k
		return nil
	})
	return c, err
}

// keepSightings is how many observations of a contract evidence may choose from.
const keepSightings = 32

// Observed stores an observation that evidence may cite. Read is when its read was
// begun. The contract does not change.
func (s Settling) Observed(o *artifact.Observation, read moment.Reading, by record.Actor) error {
	digest, err := o.Digest()
	if err != nil {
		return step.Invalid(err)
	}
	return s.core.DB.Update(func(tx *rows.Tx) error {
		c, err := rows.Get(tx, &record.Contract{}, []byte(o.ContractID))
		if err != nil {
			return err
		}
		if c.Version != o.StateVersion || c.State != record.Reconciliation && c.State != record.RollbackFailed {
			return step.Conflict()
		}
		last := int64(0)
		if err := rows.Each(tx, []byte(c.ContractID+"/"), nil, func(r *record.Sighting) (bool, error) {
			last = r.N
			return true, nil
		}); err != nil {
			return err
		}
		if err := tx.Put(&record.Sighting{
			ContractID: c.ContractID, N: last + 1, Digest: digest, Version: c.Version, Match: o.Match, ObservedAt: o.ObservedAt,
			BootID: read.BootID, BootMS: read.BootMS,
		}); err != nil {
			return err
		}
		if last >= keepSightings {
			if err := tx.Delete(record.Observations, record.SightingKey(c.ContractID, last+1-keepSightings)); err != nil {
				return err
			}
		}
		return tx.Audit(step.About(c, record.ReconcileObserved, by), nil)
	})
}

// sighting finds the observation that evidence cites.
func sighting(tx *rows.Tx, contract, digest string) (found *record.Sighting, err error) {
	err = rows.Each(tx, []byte(contract+"/"), []byte(digest), func(r *record.Sighting) (bool, error) {
		if r.Digest == digest {
			found = r
		}
		return found == nil, nil
	})
	if err == nil && found == nil {
		err = step.Refuse(errs.Denied, "r_observation", "the observation that the evidence cites is not known")
	}
	return found, err
}

// Landed says whether, when an observation was made, an earlier write of the contract
// could no longer land. Start is when the store was opened.
func Landed(tx *rows.Tx, l quota.Limits, start moment.Reading, c *record.Contract, o *record.Sighting) (bool, error) {
	read := moment.Reading{Wall: o.ObservedAt, BootID: o.BootID, BootMS: o.BootMS}
	switch {
	case c.Boundary == record.BoundaryNone && c.State != record.Reconciliation:
		return true, nil // proven: nothing of this undo left
	case o.BootID != tx.Now.BootID:
		return l.LandingWindow <= 0, nil // how long ago is not known of a look from before a restart of the machine
	case c.Boundary == record.BoundaryNone:
		return l.Forgotten(read, start, c) <= 0, nil
	}
	sent, err := rows.Get(tx, &record.Send{}, []byte(c.ContractID))
	if err != nil {
		return false, err
	}
	return moment.Since(read, start, sent.SentAt, sent.BootID, sent.SentBootMS) >= l.LandingWindow, nil
}

func (s Settling) landed(tx *rows.Tx, c *record.Contract, o *record.Sighting) (bool, error) {
	return Landed(tx, s.core.Limits, s.core.Start, c, o)
}

// outcomes are what each outcome makes of a contract of which origin.
var outcomes = map[string]struct {
	origin, to record.State
	applied    bool
}{
	artifact.OutcomeApplied:            {record.Executing, record.Verified, true},
	artifact.OutcomeNotApplied:         {record.Executing, record.Failed, false},
	artifact.OutcomeRollbackApplied:    {record.RollingBack, record.RolledBack, true},
	artifact.OutcomeRollbackNotApplied: {record.RollingBack, record.RollbackFailed, false},
}

// evidence checks and consumes evidence over a contract.
func (s Settling) evidence(tx *rows.Tx, c *record.Contract, file []byte, a *artifact.Reconciliation, by record.Actor) (*record.Sighting, string, error) {
	digest, err := a.Digest()
	if err != nil {
		return nil, "", step.Invalid(err)
	}
	if a.ContractID != c.ContractID || a.OperationID != c.OperationID || a.StateVersion != c.Version {
		return nil, "", step.Refuse(errs.Denied, "r_version", "the evidence is for another contract or version")
	}
	o, err := sighting(tx, c.ContractID, a.ObservationDigest)
	if err != nil {
		return nil, "", err
	}
	if o.Version != c.Version {
		return nil, "", step.Refuse(errs.Denied, "r_observation", "the observation is of another version")
	}
	if err := step.Fresh(tx, a.IssuedAt); err != nil {
		return nil, "", err
	}
	return o, digest, step.Spend(tx, record.Use{ID: "reconciliation:" + digest, AuthorityID: a.AuthorityID, ContractID: c.ContractID},
		record.ReasonReconciliation, c, string(a.Role()), canon.Hash(file), file, by)
}

// Reconcile settles a contract by signed evidence. AttestedOnly says that the live
// state was neither of the two, so that the signature alone stands for the outcome.
func (s Settling) Reconcile(at record.At, file []byte, a *artifact.Reconciliation, attestedOnly bool, by record.Actor) (c record.Contract, err error) {
	err = s.core.DB.Update(func(tx *rows.Tx) error {
		k, err := step.Load(tx, at)
		if err != nil {
			return err
		}
		o, known := outcomes[a.Outcome]
		if k.State != record.Reconciliation || !known || o.origin != k.Origin {
			return step.Refuse(errs.Denied, "r_outcome", "the outcome is not one of this contract")
		}
		res, err := step.Result(tx, k.ContractID)
		if err != nil {
			return err
		}
		if a.IssuedAt.Before(res.At) {
			return step.Refuse(errs.Denied, "r_time", "the evidence is older than the question")
		}
		seen, digest, err := s.evidence(tx, k, file, a, by)
		if err != nil {
			return err
		}
		if !o.applied {
			ok, err := s.landed(tx, k, seen)
			if err != nil {
				return err
			}
			if !ok {
				return step.Refuse(errs.Denied, "r_landing", "when it was observed, the write could still land")
			}
		}
		if o.applied && (a.VerifiedLocator == nil || *a.VerifiedLocator != k.Locator) {
			return step.Refuse(errs.Denied, "r_locator", "the evidence names another position")
		}
		if o.to == record.Verified {
			in, err := step.Unseal(tx, k)
			if err != nil {
				return err
			}
			post, err := in.ExpectedPost()
			if err != nil || post != a.VerifiedFingerprint {
				return step.Refuse(errs.Denied, "r_fingerprint", "the evidence names another state")
			}
			k.VerifiedFingerprint = post
		}
		why := record.Reason("reconciled")
		if attestedOnly {
			why = record.ReasonAttested
		}
		if err := s.core.Move(tx, k, step.Move{
			To: o.to, By: by, Reason: why, Event: record.ReconcileResolved, Evidence: digest, Attested: attestedOnly, Sealed: true,
		}); err != nil {
			return err
		}
		c = *k
		return nil
	})
	return c, err
}

// Release lets the target of a failed rollback go, by signed evidence that names its
// version. The state does not change.
func (s Settling) Release(at record.At, file []byte, a *artifact.Reconciliation, by record.Actor) error {
	return s.core.DB.Update(func(tx *rows.Tx) error {
		c, err := step.Load(tx, at)
		if err != nil {
			return err
		}
		res, err := step.Result(tx, c.ContractID)
		if err != nil {
			return err
		}
		if c.State != record.RollbackFailed || res.Released || a.Outcome != artifact.OutcomeRollbackNotApplied {
			return step.Refuse(errs.Denied, "r_state", "there is nothing to release")
		}
		if a.IssuedAt.Before(res.At) {
			return step.Refuse(errs.Denied, "r_time", "the evidence is older than the question")
		}
		seen, digest, err := s.evidence(tx, c, file, a, by)
		if err != nil {
			return err
		}
		if ok, err := s.landed(tx, c, seen); err != nil || !ok {
			if err == nil {
				err = step.Refuse(errs.Denied, "r_landing", "when it was observed, the write could still land")
			}
			return err
		}
		res.Released, res.Evidence, res.Reason = true, digest, record.ReasonReleased
		if err := tx.Put(res); err != nil {
			return err
		}
		if err := tx.Delete(record.Reservations, []byte(c.TargetIdentity)); err != nil {
			return err
		}
		row := step.About(c, record.ReconcileResolved, by)
		row.Reason = record.ReasonReleased
		return tx.Audit(row, c)
	})
}

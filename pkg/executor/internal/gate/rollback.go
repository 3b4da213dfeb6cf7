package gate

import (
	"context"
	"slices"

	"pfsensemcp/pkg/executor/internal/gate/internal/rule"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Undo is a rollback whose two signatures passed.
type Undo struct {
	Contract                    *record.Contract // verified
	Intent                      *change.Intent   // sealed in it; its Target is what is restored
	Confirmation, Authorization store.SignedRollback
}

// Rollback decides over the two signatures of an undo: the confirmation owner's and the
// authorization owner's. A contract that is denied stays verified.
func Rollback(ctx context.Context, w rule.World, confirmation, authorization []byte) (*Undo, *rule.Denied) {
	u := &undoing{f: rule.NewFacts(ctx, w), confirmation: half{file: confirmation}, authorization: half{file: authorization}}
	if m := rule.Run(u.f, u, rollbackGates()); m != nil {
		switch {
		case u.c != nil:
			return nil, rule.Deny(m, u.c.RequestID, u.c.ContractID)
		case u.confirmation.a != nil:
			return nil, rule.Deny(m, "", u.confirmation.a.Undo.ContractID)
		}
		return nil, rule.Deny(m, "", "")
	}
	return &Undo{
		Contract: u.c, Intent: u.intent,
		Confirmation:  store.SignedRollback{File: u.confirmation.file, Artifact: u.confirmation.a},
		Authorization: store.SignedRollback{File: u.authorization.file, Artifact: u.authorization.a},
	}, nil
}

// half is one of the two signatures.
type half struct {
	file []byte
	a    *artifact.Rollback
}

// undoing is an undo on its way.
type undoing struct {
	f                           *rule.Facts
	confirmation, authorization half
	c                           *record.Contract
	verified                    *record.Result
	intent                      *change.Intent
}

// both runs a check over both signatures; the confirmation owner's comes first.
func (u *undoing) both(check func(*half) *rule.Miss) *rule.Miss {
	if m := check(&u.confirmation); m != nil {
		return m
	}
	return check(&u.authorization)
}

func rollbackGates() []rule.Row[*undoing] {
	return slices.Concat(
		[]rule.Row[*undoing]{
			rule.At("b1 form", 0, (*undoing).form),
			rule.At("b1 quarantine", rule.Process, func(u *undoing) *rule.Miss { return u.f.Awake("b") }),
			rule.At("b2 signatures", rule.Process, func(u *undoing) *rule.Miss {
				return u.both(func(h *half) *rule.Miss { return u.f.SignedBy("b", h.a) })
			}),
			rule.At("b2 two owners", rule.Process, (*undoing).distinct),
			rule.At("b3 contract", rule.Records, (*undoing).find),
			rule.At("b3 clock and floor", rule.Records, func(u *undoing) *rule.Miss {
				return u.both(func(h *half) *rule.Miss { return u.f.Fresh("b", h.a.IssuedAt) })
			}),
			rule.At("b3 currency", rule.Records, func(u *undoing) *rule.Miss { return u.both(u.current) }),
			rule.At("b4 binding", rule.Process, (*undoing).binding),
			rule.At("b5 window", rule.Records, (*undoing).window),
		},
		// Neither signature binds a plan: the plan has moved on with the counter.
		rule.Posture("b6", func(u *undoing) (*rule.Facts, string) { return u.f, "" }),
		rule.Target("b7", func(u *undoing) *rule.Expected {
			return &rule.Expected{
				Facts: u.f, RequestID: u.c.RequestID, Appliance: u.c.Provenance.Appliance, Name: u.intent.Target.Name,
				Fingerprint: u.c.VerifiedFingerprint, Locator: u.c.Locator, Undo: true,
			}
		}),
	)
}

func (u *undoing) form() *rule.Miss {
	for _, one := range []struct {
		h  *half
		by canon.Role
	}{{&u.confirmation, canon.RoleRollback}, {&u.authorization, canon.RoleRollbackAuthorization}} {
		a, err := artifact.ParseRollback(one.h.file, one.by)
		if err != nil {
			return rule.No("b", "form")
		}
		one.h.a = a
	}
	return nil
}

// distinct refuses two signatures of one owner, key or nonce.
func (u *undoing) distinct() *rule.Miss {
	set, err := u.f.Authorities()
	return rule.Unless(err == nil && u.confirmation.a.Nonce != u.authorization.a.Nonce &&
		set.Distinct(u.authorization.a, u.confirmation.a) == nil, "b", "distinct")
}

func (u *undoing) find() *rule.Miss {
	return u.f.View(func(v *store.View) (*rule.Miss, error) {
		c, res, err := v.Contract(u.confirmation.a.Undo.ContractID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return rule.No("b", "contract"), nil
		case err != nil:
			return nil, err
		}
		u.c, u.verified = c, res
		if c.State != record.Verified {
			return rule.No("b", "state"), nil
		}
		if v.Consumed("rollback:"+u.confirmation.a.Nonce) || v.Consumed("rollback-authorization:"+u.authorization.a.Nonce) {
			return rule.No("b", "consumed"), nil
		}
		u.intent, err = v.Intent(c)
		return nil, err
	})
}

func (u *undoing) current(h *half) *rule.Miss {
	t, m := u.f.Time()
	if m != nil {
		return m
	}
	return rule.Unless(!h.a.IssuedAt.After(t.Now.Add(rule.Ahead)) && !h.a.IssuedAt.Before(u.verified.VerifiedAt.Add(-rule.Ahead)) && t.Now.Before(h.a.ExpiresAt), "b", "time")
}

// binding holds both signatures against the contract as it is now.
func (u *undoing) binding() *rule.Miss {
	set, err := u.f.Authorities()
	if err != nil {
		return rule.Failed("b", "authority", err)
	}
	want := artifact.Undo{
		ContractID: u.c.ContractID, OperationID: u.c.OperationID, StateVersion: u.c.Version,
		VerifiedFingerprint: u.c.VerifiedFingerprint, Snapshot: u.c.Snapshot,
	}
	return rule.Unless(set.VerifyRollback(want, u.confirmation.a, u.authorization.a) == nil, "b", "version")
}

// window refuses what is too old, or was touched by a later contract, and bounds sends.
func (u *undoing) window() *rule.Miss {
	return u.f.View(func(v *store.View) (*rule.Miss, error) {
		err := v.MayUndo(u.c)
		switch r := rule.Reasoned(err, ""); r {
		case "b_window", "b_later":
			return &rule.Miss{Reason: r, Err: err}, nil
		case "rate_sends":
			return rule.Failed("b", "rate", err), nil
		}
		if err != nil {
			return nil, err
		}
		// The target must be free: a later contract may hold it without having
		// reached the appliance yet.
		_, err = v.Holder(u.c.TargetIdentity)
		if errs.CodeOf(err) == errs.NotFound {
			return nil, nil
		}
		if err == nil {
			return rule.No("b", "reserved"), nil
		}
		return nil, err
	})
}

package gate

import (
	"context"
	"slices"

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
func Rollback(ctx context.Context, w World, confirmation, authorization []byte) (*Undo, *Denied) {
	u := &undoing{f: &facts{ctx: ctx, world: w}, confirmation: half{file: confirmation}, authorization: half{file: authorization}}
	if m := run(u.f, u, rollbackGates()); m != nil {
		switch {
		case u.c != nil:
			return nil, deny(m, u.c.RequestID, u.c.ContractID)
		case u.confirmation.a != nil:
			return nil, deny(m, "", u.confirmation.a.Undo.ContractID)
		}
		return nil, deny(m, "", "")
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
	f                           *facts
	confirmation, authorization half
	c                           *record.Contract
	verified                    *record.Result
	intent                      *change.Intent
}

// both runs a check over both signatures; the confirmation owner's comes first.
func (u *undoing) both(check func(*half) *miss) *miss {
	if m := check(&u.confirmation); m != nil {
		return m
	}
	return check(&u.authorization)
}

func rollbackGates() []row[*undoing] {
	return slices.Concat(
		[]row[*undoing]{
			{"b1 form", 0, (*undoing).form},
			{"b1 quarantine", process, func(u *undoing) *miss { return u.f.awake("b") }},
			{"b2 signatures", process, func(u *undoing) *miss {
				return u.both(func(h *half) *miss { return u.f.signedBy("b", h.a) })
			}},
			{"b2 two owners", process, (*undoing).distinct},
			{"b3 contract", records, (*undoing).find},
			{"b3 clock and floor", records, func(u *undoing) *miss {
				return u.both(func(h *half) *miss { return u.f.fresh("b", h.a.IssuedAt) })
			}},
			{"b3 currency", records, func(u *undoing) *miss { return u.both(u.current) }},
			{"b4 binding", process, (*undoing).binding},
			{"b5 window", records, (*undoing).window},
		},
		// Neither signature binds a plan: the plan has moved on with the counter.
		postureGates("b6", func(u *undoing) (*facts, string) { return u.f, "" }),
		targetGates("b7", func(u *undoing) *expected {
			return &expected{
				f: u.f, requestID: u.c.RequestID, appliance: u.c.Provenance.Appliance, name: u.intent.Target.Name,
				fingerprint: u.c.VerifiedFingerprint, locator: u.c.Locator, undo: true,
			}
		}),
	)
}

func (u *undoing) form() *miss {
	for _, one := range []struct {
		h  *half
		by canon.Role
	}{{&u.confirmation, canon.RoleRollback}, {&u.authorization, canon.RoleRollbackAuthorization}} {
		a, err := artifact.ParseRollback(one.h.file, one.by)
		if err != nil {
			return no("b", "form")
		}
		one.h.a = a
	}
	return nil
}

// distinct refuses two signatures of one owner, key or nonce.
func (u *undoing) distinct() *miss {
	set, err := u.f.authorities()
	return unless(err == nil && u.confirmation.a.Nonce != u.authorization.a.Nonce &&
		set.Distinct(u.authorization.a, u.confirmation.a) == nil, "b", "distinct")
}

func (u *undoing) find() *miss {
	return u.f.view(func(v *store.View) (*miss, error) {
		c, res, err := v.Contract(u.confirmation.a.Undo.ContractID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return no("b", "contract"), nil
		case err != nil:
			return nil, err
		}
		u.c, u.verified = c, res
		if c.State != record.Verified {
			return no("b", "state"), nil
		}
		if v.Consumed("rollback:"+u.confirmation.a.Nonce) || v.Consumed("rollback-authorization:"+u.authorization.a.Nonce) {
			return no("b", "consumed"), nil
		}
		u.intent, err = v.Intent(c)
		return nil, err
	})
}

func (u *undoing) current(h *half) *miss {
	t, m := u.f.time()
	if m != nil {
		return m
	}
	return unless(!h.a.IssuedAt.After(t.now.Add(ahead)) && !h.a.IssuedAt.Before(u.verified.VerifiedAt.Add(-ahead)) && t.now.Before(h.a.ExpiresAt), "b", "time")
}

// binding holds both signatures against the contract as it is now.
func (u *undoing) binding() *miss {
	set, err := u.f.authorities()
	if err != nil {
		return failed("b", "authority", err)
	}
	want := artifact.Undo{
		ContractID: u.c.ContractID, OperationID: u.c.OperationID, StateVersion: u.c.Version,
		VerifiedFingerprint: u.c.VerifiedFingerprint, Snapshot: u.c.Snapshot,
	}
	return unless(set.VerifyRollback(want, u.confirmation.a, u.authorization.a) == nil, "b", "version")
}

// window refuses what is too old, or was touched by a later contract, and bounds sends.
func (u *undoing) window() *miss {
	return u.f.view(func(v *store.View) (*miss, error) {
		err := v.MayUndo(u.c)
		switch r := Reasoned(err, ""); r {
		case "b_window", "b_later":
			return &miss{r, err}, nil
		case "rate_sends":
			return failed("b", "rate", err), nil
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
			return no("b", "reserved"), nil
		}
		return nil, err
	})
}

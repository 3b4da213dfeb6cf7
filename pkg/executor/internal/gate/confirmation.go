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

// Confirmed is a confirmation that passed C1 to C7.
type Confirmed struct {
	File     []byte
	Artifact *artifact.Confirmation
	Contract *record.Contract // prepared, version 0
}

// Confirmation decides over a submitted confirmation.
func Confirmation(ctx context.Context, w rule.World, file []byte) (*Confirmed, *rule.Denied) {
	a := &approval{f: rule.NewFacts(ctx, w), file: file}
	table := slices.Concat(confirmationGates(), approvalGates(), standingGates(), preflightGates())
	if m := rule.Run(a.f, a, table); m != nil {
		return nil, a.deny(m)
	}
	return &Confirmed{File: file, Artifact: a.confirmation, Contract: a.c}, nil
}

// Late decides again over a confirmed contract, C5 to C7: nothing that held when it was
// confirmed is taken to hold still. Contract is what the caller is about to execute.
func Late(ctx context.Context, w rule.World, c *record.Contract) *rule.Denied {
	return again(ctx, w, c, preflightGates())
}

// Begin is Late without C7, for an attempt that reads the appliance itself before it
// sends.
func Begin(ctx context.Context, w rule.World, c *record.Contract) *rule.Denied {
	return again(ctx, w, c, nil)
}

func again(ctx context.Context, w rule.World, c *record.Contract, more []rule.Row[*approval]) *rule.Denied {
	a := &approval{f: rule.NewFacts(ctx, w), c: c}
	return a.deny(rule.Run(a.f, a, slices.Concat(confirmedGates(), approvalGates(), standingGates(), more)))
}

// approval is a contract on its way to execution.
type approval struct {
	f             *rule.Facts
	file          []byte
	confirmation  *artifact.Confirmation
	authorization *artifact.Authorization // stored with the contract
	c             *record.Contract
	intent        *change.Intent // sealed in the contract
}

func (a *approval) deny(m *rule.Miss) *rule.Denied {
	switch {
	case a.c != nil:
		return rule.Deny(m, a.c.RequestID, a.c.ContractID)
	case a.confirmation != nil:
		return rule.Deny(m, "", a.confirmation.ContractID)
	}
	return rule.Deny(m, "", "")
}

// confirmationGates are C1 to C4.
func confirmationGates() []rule.Row[*approval] {
	return []rule.Row[*approval]{
		rule.At("c1 size", 0, func(a *approval) *rule.Miss {
			return rule.Unless(len(a.file) > 0 && len(a.file) <= artifact.MaxSigned, "c1", "size")
		}),
		rule.At("c1 form", 0, func(a *approval) *rule.Miss {
			c, err := artifact.ParseConfirmation(a.file)
			a.confirmation = c
			return rule.Unless(err == nil, "c1", "form")
		}),
		rule.At("c2 signature", rule.Process, func(a *approval) *rule.Miss { return a.f.SignedBy("c2", a.confirmation) }),
		rule.At("c3 contract", rule.Records, (*approval).find),
		rule.At("c3 clock and floor", rule.Records, func(a *approval) *rule.Miss { return a.f.Fresh("c3", a.confirmation.IssuedAt) }),
		rule.At("c3 currency", rule.Records, (*approval).current),
		rule.At("c4 binding", 0, (*approval).binding),
	}
}

// find looks up the contract that the file names.
func (a *approval) find() *rule.Miss {
	return a.f.View(func(v *store.View) (*rule.Miss, error) {
		c, _, err := v.Contract(a.confirmation.ContractID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return rule.No("c3", "contract"), nil
		case err != nil:
			return nil, err
		}
		a.c = c
		if c.State != record.Prepared || c.Version != 0 || c.Confirmed() {
			return rule.No("c3", "state"), nil
		}
		return rule.Unless(!v.Consumed("confirmation:"+a.confirmation.Nonce), "c3", "consumed"), nil
	})
}

func (a *approval) current() *rule.Miss {
	t, m := a.f.Time()
	issued := a.confirmation.IssuedAt
	switch {
	case m != nil:
		return m
	case !t.Now.Before(a.c.ExpiresAt) || !t.Now.Before(a.confirmation.ExpiresAt):
		return rule.No("c3", "expired")
	case issued.After(t.Now.Add(rule.Ahead)):
		return rule.No("c3", "not_yet")
	case issued.Before(a.c.CreatedAt.Add(-rule.Ahead)):
		return rule.No("c3", "early")
	}
	return nil
}

// binding compares every member that the file and the contract share; it looks at all of
// them whatever the first ones are.
func (a *approval) binding() *rule.Miss {
	is, want := a.confirmation.Digests, a.c.Digests()
	ok := rule.Same(a.confirmation.ContractID, a.c.ContractID)
	for _, pair := range [][2]string{
		{a.confirmation.OperationID, a.c.OperationID},
		{is.TargetIdentity, want.TargetIdentity},
		{is.TargetFingerprint, want.TargetFingerprint},
		{is.Intent, want.Intent},
		{is.Snapshot, want.Snapshot},
		{is.ExecutionIntent, want.ExecutionIntent},
	} {
		ok = rule.Same(pair[0], pair[1]) && ok
	}
	return rule.Unless(ok && a.confirmation.ExpiresAt.Equal(a.c.ExpiresAt), "c4", "binding")
}

// confirmedGates find the contract and its confirmation again.
func confirmedGates() []rule.Row[*approval] {
	return []rule.Row[*approval]{
		rule.At("c3 contract", rule.Records, (*approval).confirmed),
		rule.At("c3 clock and floor", rule.Records, func(a *approval) *rule.Miss { return a.f.Fresh("c3", a.confirmation.IssuedAt) }),
		rule.At("c5 confirmation pinned", rule.Process, func(a *approval) *rule.Miss {
			return rule.Unless(a.f.SignedBy("c2", a.confirmation) == nil, "c5", "pinned")
		}),
		rule.At("c4 binding", 0, (*approval).binding),
	}
}

func (a *approval) confirmed() *rule.Miss {
	if a.c == nil {
		return rule.No("c3", "contract")
	}
	return a.f.View(func(v *store.View) (*rule.Miss, error) {
		c, _, err := v.Contract(a.c.ContractID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return rule.No("c3", "contract"), nil
		case err != nil:
			return nil, err
		case c.At() != a.c.At() || c.State != record.Prepared || !c.Confirmed():
			return rule.No("c3", "state"), nil
		}
		a.c = c
		file, err := one(v, c.ContractID, canon.RoleConfirmation)
		if err != nil {
			return nil, err
		}
		signed, err := artifact.ParseConfirmation(file)
		if err != nil {
			return rule.No("c5", "pinned"), nil
		}
		digest, err := signed.Digest()
		if err != nil || !rule.Same(digest, c.Confirmation) {
			return rule.No("c5", "pinned"), nil
		}
		a.confirmation = signed
		return nil, nil
	})
}

// one returns the single accepted file of a role for a contract, nil without one.
func one(v *store.View, contract string, role canon.Role) ([]byte, error) {
	all, err := v.Signed(contract, role)
	if err != nil || len(all) != 1 {
		return nil, err
	}
	return all[0], nil
}

// approvalGates are C5: the first approval is current, its key is still pinned, and the
// second one is somebody else's.
func approvalGates() []rule.Row[*approval] {
	return []rule.Row[*approval]{
		rule.At("c5 expired", rule.Records, func(a *approval) *rule.Miss {
			t, m := a.f.Time()
			if m != nil {
				return m
			}
			return rule.Unless(t.Now.Before(a.c.Provenance.ExpiresAt), "c5", "expired")
		}),
		rule.At("c5 authorization", rule.Records, (*approval).authorized),
		rule.At("c5 pinned", rule.Process, func(a *approval) *rule.Miss {
			return rule.Unless(a.f.SignedBy("c5", a.authorization) == nil, "c5", "pinned")
		}),
		rule.At("c5 floor", rule.Records, func(a *approval) *rule.Miss { return a.f.Above("c5", a.authorization.IssuedAt) }),
		rule.At("c5 distinct", rule.Process, func(a *approval) *rule.Miss {
			set, err := a.f.Authorities()
			return rule.Unless(err == nil && set.Distinct(a.authorization, a.confirmation) == nil, "c5", "distinct")
		}),
	}
}

// authorized looks up the authorization that the contract says it rests on. The file
// itself is read: a row of the store is not a signature.
func (a *approval) authorized() *rule.Miss {
	return a.f.View(func(v *store.View) (*rule.Miss, error) {
		file, err := one(v, a.c.ContractID, canon.RolePlanAuthorization)
		if err != nil {
			return nil, err
		}
		signed, err := artifact.ParseAuthorization(file)
		if err != nil {
			return rule.No("c5", "pinned"), nil
		}
		p := &a.c.Provenance
		a.authorization = signed
		return rule.Unless(rule.Same(signed.ID, p.AuthorizationID) && rule.Same(signed.AuthorityID, p.AuthorityID) && rule.Same(signed.RequestID, a.c.RequestID) &&
			rule.Same(signed.PlanDigest, p.Plan) && rule.Same(signed.ExecutionIntent, p.ExecutionIntent) &&
			signed.IssuedAt.Equal(p.IssuedAt) && signed.ExpiresAt.Equal(p.ExpiresAt), "c5", "pinned"), nil
	})
}

// standingGates are C6.
func standingGates() []rule.Row[*approval] {
	return append([]rule.Row[*approval]{
		rule.At("c6 quarantine", rule.Process, func(a *approval) *rule.Miss { return a.f.Awake("c6") }),
	}, rule.Posture("c6", func(a *approval) (*rule.Facts, string) { return a.f, a.c.Provenance.Plan })...)
}

// preflightGates are C7.
func preflightGates() []rule.Row[*approval] {
	return append([]rule.Row[*approval]{rule.At("c7 sealed change", rule.Records, func(a *approval) *rule.Miss {
		return a.f.View(func(v *store.View) (_ *rule.Miss, err error) {
			a.intent, err = v.Intent(a.c)
			return nil, err
		})
	})}, rule.Target("c7", func(a *approval) *rule.Expected {
		return &rule.Expected{
			Facts: a.f, RequestID: a.c.RequestID, Appliance: a.c.Provenance.Appliance, Name: a.intent.Target.Name, Text: a.intent.NewDescription,
			Fingerprint: a.c.TargetFingerprint, Execution: a.c.Provenance.ExecutionIntent, Locator: a.c.Locator,
		}
	})...)
}

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

// Confirmed is a confirmation that passed C1 to C7.
type Confirmed struct {
	File     []byte
	Artifact *artifact.Confirmation
	Contract *record.Contract // prepared, version 0
}

// Confirmation decides over a submitted confirmation.
func Confirmation(ctx context.Context, w World, file []byte) (*Confirmed, *Denied) {
	a := &approval{f: &facts{ctx: ctx, world: w}, file: file}
	table := slices.Concat(confirmationGates(), approvalGates(), standingGates(), preflightGates())
	if m := run(a.f, a, table); m != nil {
		return nil, a.deny(m)
	}
	return &Confirmed{File: file, Artifact: a.confirmation, Contract: a.c}, nil
}

// Late decides again over a confirmed contract, C5 to C7: nothing that held when it was
// confirmed is taken to hold still. Contract is what the caller is about to execute.
func Late(ctx context.Context, w World, c *record.Contract) *Denied {
	return again(ctx, w, c, preflightGates())
}

// Begin is Late without C7, for an attempt that reads the appliance itself before it
// sends.
func Begin(ctx context.Context, w World, c *record.Contract) *Denied {
	return again(ctx, w, c, nil)
}

func again(ctx context.Context, w World, c *record.Contract, more []row[*approval]) *Denied {
	a := &approval{f: &facts{ctx: ctx, world: w}, c: c}
	return a.deny(run(a.f, a, slices.Concat(confirmedGates(), approvalGates(), standingGates(), more)))
}

// approval is a contract on its way to execution.
type approval struct {
	f             *facts
	file          []byte
	confirmation  *artifact.Confirmation
	authorization *artifact.Authorization // stored with the contract
	c             *record.Contract
	intent        *change.Intent // sealed in the contract
}

func (a *approval) deny(m *miss) *Denied {
	switch {
	case a.c != nil:
		return deny(m, a.c.RequestID, a.c.ContractID)
	case a.confirmation != nil:
		return deny(m, "", a.confirmation.ContractID)
	}
	return deny(m, "", "")
}

// confirmationGates are C1 to C4.
func confirmationGates() []row[*approval] {
	return []row[*approval]{
		{"c1 size", 0, func(a *approval) *miss {
			return unless(len(a.file) > 0 && len(a.file) <= artifact.MaxSigned, "c1", "size")
		}},
		{"c1 form", 0, func(a *approval) *miss {
			c, err := artifact.ParseConfirmation(a.file)
			a.confirmation = c
			return unless(err == nil, "c1", "form")
		}},
		{"c2 signature", process, func(a *approval) *miss { return a.f.signedBy("c2", a.confirmation) }},
		{"c3 contract", records, (*approval).find},
		{"c3 clock and floor", records, func(a *approval) *miss { return a.f.fresh("c3", a.confirmation.IssuedAt) }},
		{"c3 currency", records, (*approval).current},
		{"c4 binding", 0, (*approval).binding},
	}
}

// find looks up the contract that the file names.
func (a *approval) find() *miss {
	return a.f.view(func(v *store.View) (*miss, error) {
		c, _, err := v.Contract(a.confirmation.ContractID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return no("c3", "contract"), nil
		case err != nil:
			return nil, err
		}
		a.c = c
		if c.State != record.Prepared || c.Version != 0 || c.Confirmed() {
			return no("c3", "state"), nil
		}
		return unless(!v.Consumed("confirmation:"+a.confirmation.Nonce), "c3", "consumed"), nil
	})
}

func (a *approval) current() *miss {
	t, m := a.f.time()
	issued := a.confirmation.IssuedAt
	switch {
	case m != nil:
		return m
	case !t.now.Before(a.c.ExpiresAt) || !t.now.Before(a.confirmation.ExpiresAt):
		return no("c3", "expired")
	case issued.After(t.now.Add(ahead)):
		return no("c3", "not_yet")
	case issued.Before(a.c.CreatedAt.Add(-ahead)):
		return no("c3", "early")
	}
	return nil
}

// binding compares every member that the file and the contract share; it looks at all of
// them whatever the first ones are.
func (a *approval) binding() *miss {
	is, want := a.confirmation.Digests, a.c.Digests()
	ok := same(a.confirmation.ContractID, a.c.ContractID)
	for _, pair := range [][2]string{
		{a.confirmation.OperationID, a.c.OperationID},
		{is.TargetIdentity, want.TargetIdentity},
		{is.TargetFingerprint, want.TargetFingerprint},
		{is.Intent, want.Intent},
		{is.Snapshot, want.Snapshot},
		{is.ExecutionIntent, want.ExecutionIntent},
	} {
		ok = same(pair[0], pair[1]) && ok
	}
	return unless(ok && a.confirmation.ExpiresAt.Equal(a.c.ExpiresAt), "c4", "binding")
}

// confirmedGates find the contract and its confirmation again.
func confirmedGates() []row[*approval] {
	return []row[*approval]{
		{"c3 contract", records, (*approval).confirmed},
		{"c3 clock and floor", records, func(a *approval) *miss { return a.f.fresh("c3", a.confirmation.IssuedAt) }},
		{"c5 confirmation pinned", process, func(a *approval) *miss {
			return unless(a.f.signedBy("c2", a.confirmation) == nil, "c5", "pinned")
		}},
		{"c4 binding", 0, (*approval).binding},
	}
}

func (a *approval) confirmed() *miss {
	if a.c == nil {
		return no("c3", "contract")
	}
	return a.f.view(func(v *store.View) (*miss, error) {
		c, _, err := v.Contract(a.c.ContractID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return no("c3", "contract"), nil
		case err != nil:
			return nil, err
		case c.At() != a.c.At() || c.State != record.Prepared || !c.Confirmed():
			return no("c3", "state"), nil
		}
		a.c = c
		file, err := one(v, c.ContractID, canon.RoleConfirmation)
		if err != nil {
			return nil, err
		}
		signed, err := artifact.ParseConfirmation(file)
		if err != nil {
			return no("c5", "pinned"), nil
		}
		digest, err := signed.Digest()
		if err != nil || !same(digest, c.Confirmation) {
			return no("c5", "pinned"), nil
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
func approvalGates() []row[*approval] {
	return []row[*approval]{
		{"c5 expired", records, func(a *approval) *miss {
			t, m := a.f.time()
			if m != nil {
				return m
			}
			return unless(t.now.Before(a.c.Provenance.ExpiresAt), "c5", "expired")
		}},
		{"c5 authorization", records, (*approval).authorized},
		{"c5 pinned", process, func(a *approval) *miss {
			return unless(a.f.signedBy("c5", a.authorization) == nil, "c5", "pinned")
		}},
		{"c5 floor", records, func(a *approval) *miss { return a.f.above("c5", a.authorization.IssuedAt) }},
		{"c5 distinct", process, func(a *approval) *miss {
			set, err := a.f.authorities()
			return unless(err == nil && set.Distinct(a.authorization, a.confirmation) == nil, "c5", "distinct")
		}},
	}
}

// authorized looks up the authorization that the contract says it rests on. The file
// itself is read: a row of the store is not a signature.
func (a *approval) authorized() *miss {
	return a.f.view(func(v *store.View) (*miss, error) {
		file, err := one(v, a.c.ContractID, canon.RolePlanAuthorization)
		if err != nil {
			return nil, err
		}
		signed, err := artifact.ParseAuthorization(file)
		if err != nil {
			return no("c5", "pinned"), nil
		}
		p := &a.c.Provenance
		a.authorization = signed
		return unless(same(signed.ID, p.AuthorizationID) && same(signed.AuthorityID, p.AuthorityID) && same(signed.RequestID, a.c.RequestID) &&
			same(signed.PlanDigest, p.Plan) && same(signed.ExecutionIntent, p.ExecutionIntent) &&
			signed.IssuedAt.Equal(p.IssuedAt) && signed.ExpiresAt.Equal(p.ExpiresAt), "c5", "pinned"), nil
	})
}

// standingGates are C6.
func standingGates() []row[*approval] {
	return append([]row[*approval]{
		{"c6 quarantine", process, func(a *approval) *miss { return a.f.awake("c6") }},
	}, postureGates("c6", func(a *approval) (*facts, string) { return a.f, a.c.Provenance.Plan })...)
}

// preflightGates are C7.
func preflightGates() []row[*approval] {
	return append([]row[*approval]{{"c7 sealed change", records, func(a *approval) *miss {
		return a.f.view(func(v *store.View) (_ *miss, err error) {
			a.intent, err = v.Intent(a.c)
			return nil, err
		})
	}}}, targetGates("c7", func(a *approval) *expected {
		return &expected{
			f: a.f, requestID: a.c.RequestID, appliance: a.c.Provenance.Appliance, name: a.intent.Target.Name, text: a.intent.NewDescription,
			fingerprint: a.c.TargetFingerprint, execution: a.c.Provenance.ExecutionIntent, locator: a.c.Locator,
		}
	})...)
}

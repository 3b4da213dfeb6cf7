package keeper

import (
	"context"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/posture"
	"pfsensemcp/pkg/executor/internal/store"
)

// Discover reports the evidence of both axes. It reads the store and the counter and
// changes nothing.
func (k *Keeper) Discover(ctx context.Context) Discovery {
	ev, facts, witness, unread := k.evidence(ctx)
	d := Discovery{
		Status: k.Status(), Evidence: ev, Facts: facts, Witness: witness, Unread: unread, Executor: k.Executor(), AttestationID: k.Attestation.KeyID, Account: k.Account,
		StoreExists: k.store.Load() != nil, Complete: k.complete.Load(), Endpoints: len(exchange.Allowed()),
	}
	d.Seeded = d.StoreExists
	_ = k.View(func(v *store.View) error { // without a store nothing is unfinished
		all, err := v.Active()
		d.Status.Unfinished = len(all)
		return err
	})
	return d
}

// Plan analyses the way to a posture. It is analysis, never permission.
func (k *Keeper) Plan(ctx context.Context, capability, assurance string) (change.Plan, []posture.Explained, posture.Transitions, error) {
	ev, _, _, _ := k.evidence(ctx)
	return posture.Analyse(ev, capability, assurance, k.Executor())
}

package keeper

import (
	"context"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// AnchorState derives from facts how far provisioning has come. It changes nothing.
func (k *Keeper) AnchorState(ctx context.Context) (AnchorState, error) {
	st := AnchorState{Discovery: k.Discover(ctx)}
	s := anchor.Situation{
		Handle: st.Discovery.Facts.Index, Secret: true, Defined: st.Discovery.Facts.Defined, Foreign: st.Discovery.Facts.Foreign,
		Written: st.Discovery.Facts.Written, Seeded: st.Discovery.Seeded, Complete: st.Discovery.Complete,
	}
	if s.Seeded && st.Discovery.Facts == (anchor.Facts{}) {
		// The TPM said nothing. A counter that cannot be asked is not one that is gone, and
		// who is told that it is would throw a good store away.
		s.Handle, s.Foreign, s.Defined, s.Written = 1, false, true, true
	}
	ev := st.Discovery.Evidence
	if ev.Baseline != nil {
		s.Stored = *ev.Baseline
	}
	s.Fresh = st.Discovery.Witness
	step, err := anchor.Step(s)
	st.Step = step
	return st, err
}

// planner is the side of a backend that can define an index; a witness host defines
// its own.
func (k *Keeper) planner() (anchor.Planner, error) {
	p, ok := k.Counter.(anchor.Planner)
	if !ok {
		return nil, errs.New(errs.Unavailable, "the counter is provisioned on the witness host").WithClass("anchor_unavailable").
			WithNext("take the steps there, then seed: mcpctl anchor seed")
	}
	return p, nil
}

// AnchorPlan says what handles there are and which step comes next.
func (k *Keeper) AnchorPlan(ctx context.Context) (p anchor.Plan, step anchor.State, err error) {
	planner, err := k.planner()
	if err != nil {
		return p, step, err
	}
	if p, err = planner.Plan(ctx); err != nil {
		return p, step, err
	}
	st, err := k.AnchorState(ctx)
	step = st.Step
	return p, step, err
}

// Provision takes one step of the ceremony at a handle: defining the index, or its
// first increment. Expected is the step that the person saw; any other now is a
// conflict.
func (k *Keeper) Provision(ctx context.Context, _ record.Actor, handle uint32, expected anchor.State) (st AnchorState, err error) {
	planner, err := k.planner()
	if err != nil {
		return st, err
	}
	if k.store.Load() != nil {
		return st, errs.New(errs.Conflict, "the store is founded on a counter already").WithClass("conflict").WithNext("see where it stands: mcpctl anchor status")
	}
	if k.Index != 0 && handle != k.Index {
		return st, errs.New(errs.Conflict, "anchor.nv_index names another handle").WithClass("conflict").WithNext("use that one, or change the setting")
	}
	if st, err = k.AnchorState(ctx); err != nil {
		return st, err
	}
	if st.Step != expected {
		return st, errs.New(errs.Conflict, "provisioning is at another step than the one that was shown").WithClass("conflict").WithNext("look again: mcpctl anchor status")
	}
	if err := k.choose(ctx, handle, false); err != nil {
		return st, err
	}
	if st, err = k.AnchorState(ctx); err != nil {
		return st, err
	}
	switch st.Step {
	case anchor.Sealed:
		err = planner.Define(ctx, handle)
	case anchor.Defined:
		_, err = planner.First(ctx, handle)
	default:
		return st, errs.New(errs.Conflict, "there is no such step now").WithClass("conflict").WithNext("see what comes next: mcpctl anchor status")
	}
	if err != nil {
		return st, err
	}
	st, err = k.AnchorState(ctx)
	return st, err
}

// Seed founds the store on the counter (S7), reads the counter again (S8), writes the
// provisioning record (S9) and takes the store into use (S10). With the same arguments
// it goes on where it was interrupted; once complete it refuses for ever.
func (k *Keeper) Seed(ctx context.Context, _ record.Actor, value int64, handle uint32) (st AnchorState, err error) {
	if k.complete.Load() {
		return st, errs.New(errs.Conflict, "provisioning is complete").WithClass("conflict").WithNext("nothing is to be done")
	}
	if k.store.Load() == nil {
		if err := k.seed(ctx, value, handle); err != nil {
			return st, err
		}
	}
	if err := k.finish(ctx, value, handle); err != nil {
		return st, err
	}
	st, err = k.AnchorState(ctx)
	return st, err
}

// suits refuses a counter that may not carry a store here.
func (k *Keeper) suits(ctx context.Context, handle uint32) (anchor.Facts, error) {
	f, err := k.Counter.Facts(ctx)
	switch {
	case err != nil:
		return f, err
	case f.Index != handle || !f.Defined || !f.Written || f.Name == "":
		return f, errs.New(errs.Conflict, "there is no counter of ours at this handle").WithClass("anchor_name").WithNext("see which one there is: mcpctl anchor status")
	case k.Store.Lab && f.Assurance != change.AssuranceHardware && f.Assurance != change.AssuranceSoftware,
		!k.Store.Lab && f.Assurance != change.AssuranceHardware:
		return f, errs.New(errs.Conflict, "the counter is not one that may carry a store").WithClass("anchor_unavailable").
			WithNext("use a hardware TPM or a witness host; lab = true is for laboratories")
	}
	return f, nil
}

// choose has the backend use a handle, which no store pins yet. It looks first: what is
// in use stays so until the process ends, and a person may have typed another handle.
func (k *Keeper) choose(ctx context.Context, handle uint32, counts bool) error {
	f, err := k.Counter.Facts(ctx)
	if err == nil && f.Index == 0 {
		var planner anchor.Planner
		if planner, err = k.planner(); err == nil {
			f, err = planner.At(ctx, handle)
		}
	}
	switch {
	case err != nil:
		return err
	case f.Index != handle:
		return errs.New(errs.Conflict, "the counter in use is at another handle").WithClass("conflict").WithNext("see which one: mcpctl anchor status")
	case f.Foreign || counts && (!f.Defined || !f.Written):
		return errs.New(errs.Conflict, "there is no counter of ours at this handle").WithClass("anchor_name").
			WithNext("see which handles there are: mcpctl anchor plan")
	}
	return k.Counter.Use(handle, "")
}

func (k *Keeper) seed(ctx context.Context, value int64, handle uint32) error {
	if err := k.choose(ctx, handle, true); err != nil {
		return err
	}
	f, err := k.suits(ctx, handle)
	if err != nil {
		return err
	}
	now, err := k.Counter.Read(ctx)
	if err != nil {
		return err
	}
	if now != value {
		return anchor.Conflict(value, now)
	}
	s, err := store.Create(k.Store, store.Seed{NVIndex: anchor.Hex(handle), NVName: f.Name, Value: value})
	if err != nil {
		return err
	}
	k.store.Store(s)
	return nil
}

func (k *Keeper) finish(ctx context.Context, value int64, handle uint32) error {
	s := k.store.Load()
	var row *record.Anchor
	if err := s.View(func(v *store.View) (err error) {
		row, err = v.Anchor()
		return err
	}); err != nil {
		return err
	}
	if row.NVIndex != anchor.Hex(handle) || row.Value != value {
		return errs.New(errs.Conflict, "the store was seeded with another handle or value").WithClass("conflict").WithNext("go on with those: mcpctl anchor status")
	}
	if err := k.Counter.Use(handle, row.NVName); err != nil {
		return err
	}
	f, err := k.suits(ctx, handle)
	if err != nil {
		return err
	}
	now, err := k.Counter.Read(ctx)
	if err != nil {
		return err
	}
	if now != row.Value {
		return anchor.Conflict(row.Value, now)
	}
	if err := s.CompleteProvisioning(record.Provisioning{
		Handle: row.NVIndex, VerifiedValue: now, NVName: row.NVName, Manufacturer: f.Manufacturer, EKDigest: f.EKDigest, Assurance: f.Assurance, Lab: k.Store.Lab,
	}); err != nil {
		return err
	}
	k.settled.Store(true) // nothing was before
	k.complete.Store(true)
	k.Check(ctx, s)
	return nil
}

package papers

import (
	"context"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/gate"
	"pfsensemcp/pkg/executor/internal/keeper"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Observation reads the target of a contract whose outcome is open, stores what was seen
// and returns the file that evidence is signed over. It changes no state, and is made
// under quarantine too.
func Observation(ctx context.Context, c *keeper.Keeper, by record.Actor, contractID string) ([]byte, error) {
	s, err := c.Current()
	if err != nil {
		return nil, err
	}
	var k *record.Contract
	var in *change.Intent
	o := &artifact.Observation{KeyID: c.Attestation.KeyID}
	if err := s.View(func(v *store.View) (err error) {
		var res *record.Result
		if k, res, err = v.Contract(contractID); err != nil {
			return err
		}
		if k.State != record.Reconciliation && (k.State != record.RollbackFailed || res.Released) {
			return errs.New(errs.Conflict, "the outcome of the contract is not open").WithClass("conflict").WithNext("see where it stands: mcpctl write list")
		}
		in, err = v.Intent(k)
		return err
	}); err != nil {
		return nil, err
	}
	read := c.Store.Clock.Read()
	l, err := c.Reader.List(ctx)
	if err != nil {
		return nil, err
	}
	if l.Target != k.Provenance.Appliance {
		return nil, errs.New(errs.Conflict, "another appliance answers than the one of the contract").WithClass("identity_changed").
			WithNext("find out what stands at the appliance's address before anything is signed")
	}
	o.ContractID, o.OperationID, o.StateVersion = k.ContractID, k.OperationID, k.Version
	o.UncertaintyOrigin, o.SendBoundary = string(k.Origin), string(k.Boundary)
	o.ApplianceTarget, o.ObservedAt = l.Target, read.Wall
	// The same reading of a list that evidence will be held against.
	if o.Match, err = gate.Match(in, k, l); err != nil {
		return nil, err
	}
	if f, err := l.Find(in.Target.Name); err == nil && o.Match != artifact.MatchAbsent {
		o.TargetPresent, o.TargetFingerprint, o.Locator = true, f.Fingerprint, &f.Locator
		o.OthersUnchanged = f.Collection == k.Collection
	}
	if err := s.View(func(v *store.View) error {
		sent, err := v.Send(contractID)
		if errs.CodeOf(err) == errs.NotFound || err == nil && k.Boundary != record.BoundaryIntent {
			return nil
		}
		if err != nil {
			return err
		}
		n := max(0, int64(v.SinceSend(sent)/time.Second)-(v.Now().BootMS-read.BootMS)/1000-1) // as of the read, and rather less
		o.SentAt, o.SecondsSinceSend = sent.SentAt, &n
		return nil
	}); err != nil {
		return nil, err
	}
	file, err := c.Sign(o)
	if err != nil {
		return nil, err
	}
	if err := s.Observed(o, read, by); err != nil {
		return nil, err
	}
	c.Note(keeper.Event{Kind: keeper.KindObserved, RequestID: k.RequestID, ContractID: contractID, State: k.State})
	return file, nil
}

// Undo returns the attested file that both owners sign over for an undo.
func Undo(ctx context.Context, c *keeper.Keeper, contractID string) (file []byte, err error) {
	s, err := c.Ready(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Meet(ctx); err != nil {
		return nil, err
	}
	r := &artifact.RollbackRequest{KeyID: c.Attestation.KeyID}
	if err := s.View(func(v *store.View) error {
		k, res, err := v.Contract(contractID)
		if err != nil {
			return err
		}
		in, err := v.Intent(k)
		if err != nil {
			return err
		}
		until := res.VerifiedAt.Add(c.Store.Limits.RollbackWithin)
		switch {
		case k.State != record.Verified:
			return errs.New(errs.Conflict, "only a verified change can be undone").WithClass("conflict").WithNext("see where it stands: mcpctl write list")
		case res.AttestedOnly:
			return errs.New(errs.Conflict, "a change that was settled by attestation alone cannot be undone here").WithClass("attested_only").
				WithNext("ask for the former text as a new change")
		case !v.Now().Wall.Before(until):
			return errs.New(errs.Expired, "the time to undo the change is over").WithClass("b_window").WithNext("ask for the former text as a new change")
		}
		r.ContractID, r.OperationID, r.RequestID, r.StateVersion = k.ContractID, k.OperationID, k.RequestID, k.Version
		r.Intent, r.Locator, r.VerifiedAt, r.GeneratedAt = *in, k.Locator, res.VerifiedAt, v.Now().Wall
		return nil
	}); err != nil {
		return nil, err
	}
	plan, err := c.ChangePlan(ctx)
	if err != nil {
		return nil, err
	}
	r.Plan = *plan
	return c.Sign(r)
}

// AnchorStatus returns the attested file that a rebaseline is signed over. It works
// under quarantine.
func AnchorStatus(ctx context.Context, c *keeper.Keeper) (file []byte, err error) {
	s, err := c.Current()
	if err != nil {
		return nil, err
	}
	witness, err := c.Counter.Read(ctx)
	if err != nil {
		return nil, err
	}
	a := &artifact.AnchorStatus{
		StoreID: c.Store.StoreID, WitnessValue: witness, Quarantine: c.Quarantine(), AuthoritySet: c.Owners(), BuildID: c.BuildID, KeyID: c.Attestation.KeyID,
	}
	if err := s.View(func(v *store.View) error {
		row, err := v.Anchor()
		if err == nil {
			a.NVIndexName, a.StoreValue, a.AuditHead, a.GeneratedAt = row.NVName, row.Value, row.AuditHead, v.Now().Wall
		}
		return err
	}); err != nil {
		return nil, err
	}
	return c.Sign(a)
}

// Pins returns the entry that off-host signers pin, for people to compare.
func Pins(ctx context.Context, c *keeper.Keeper) (file []byte, err error) {
	if _, err := c.Current(); err != nil {
		return nil, err
	}
	if err := c.Meet(ctx); err != nil {
		return nil, err
	}
	x := c.Executor()
	p := authority.Pins{Executors: []authority.Pin{{
		Name: c.Store.StoreID, StoreID: x.StoreID, NVIndexName: x.NVIndexName, ApplianceTarget: x.ApplianceTarget, BuildID: x.BuildID,
		Attestation: c.AttestingKey(), Authorities: *c.Authorities,
	}}}
	if file, err = p.Encode(); err != nil {
		return nil, errs.Wrap(err, errs.Internal, "the pins cannot be written").WithClass("configuration")
	}
	return file, nil
}

package papers

import (
	"context"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/keeper"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Preview reads the appliance, replaces the request's former preview and returns the
// file that the authorization owner signs over, with how the appliance names interfaces.
func Preview(ctx context.Context, c *keeper.Keeper, by record.Actor, requestID string) (file []byte, names string, err error) {
	s, err := c.Ready(ctx)
	if err != nil {
		return nil, "", err
	}
	var r *record.Request
	var aliasName, text, last string
	if err := s.View(func(v *store.View) (err error) {
		if r, err = v.Request(requestID); err != nil {
			return err
		}
		if r.Status != record.Open || !v.Now().Wall.Before(r.ExpiresAt) {
			return errs.New(errs.Conflict, "the request is not open").WithClass("conflict").WithNext("see where it stands: mcpctl write list")
		}
		if aliasName, text, err = v.Text(r); err != nil {
			return err
		}
		last, err = v.Ours()
		return err
	}); err != nil {
		return nil, "", err
	}
	survey, err := c.Reader.Survey(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := survey.Busy(last); err != nil {
		return nil, "", err
	}
	f, err := survey.Find(aliasName)
	if err != nil {
		return nil, "", err
	}
	if f.State.Descr == text {
		return nil, "", errs.New(errs.Conflict, "the alias has this description already").WithClass("no_op").
			WithNext("nothing is to be done: cancel the request, mcpctl write cancel")
	}
	c.Learn(survey.Target)
	plan, err := c.ChangePlan(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := plan.Executable(); err != nil {
		return nil, "", errs.Wrap(err, errs.Unavailable, "no change may be approved in this state").WithClass("g5a_evidence").
			WithNext("see what is wrong: mcpctl discover, mcpctl doctor write")
	}
	p := &artifact.Preview{
		RequestID: requestID, Origin: r.Origin, AskedBy: r.AskedBy, TestBuild: c.TestBuild,
		Intent: change.Intent{Target: f.State, NewDescription: text, Appliance: survey.Target}, Plan: *plan,
		GeneratedAt: c.Store.Clock.Read().Wall, KeyID: c.Attestation.KeyID,
	}
	file, err = c.Sign(p)
	if err != nil {
		return nil, "", err
	}
	if _, err := s.IssuePreview(p, file, f.Locator, r.PreviewSeq, by); err != nil {
		return nil, "", err
	}
	c.Note(keeper.Event{Kind: keeper.KindPreviewed, RequestID: requestID})
	return file, survey.InterfaceNames, nil
}

// Pending returns the attested file that the confirmation owner signs over. While the
// outcome of a contract is open it shows what was sent.
func Pending(c *keeper.Keeper, contractID string) ([]byte, error) {
	p := &artifact.Pending{GeneratedAt: c.Store.Clock.Read().Wall, KeyID: c.Attestation.KeyID}
	if err := c.View(func(v *store.View) error {
		k, _, err := v.Contract(contractID)
		if err != nil {
			return err
		}
		if k.State != record.Prepared && k.State != record.Reconciliation {
			return errs.New(errs.Conflict, "the contract waits for no signature over this file").WithClass("conflict").WithNext("see where it stands: mcpctl write show")
		}
		in, err := v.Intent(k)
		if err != nil {
			return err
		}
		preview, _, _, err := v.Preview(k.RequestID)
		if err != nil {
			return err
		}
		files, err := v.Signed(contractID, canon.RolePlanAuthorization)
		if err != nil || len(files) != 1 {
			return errs.Wrap(err, errs.Internal, "the contract's authorization is not there").WithClass("store_integrity")
		}
		auth, err := artifact.ParseAuthorization(files[0])
		if err != nil {
			return errs.Wrap(err, errs.Internal, "the contract's authorization breaks a rule").WithClass("store_integrity")
		}
		p.ContractID, p.OperationID, p.RequestID = k.ContractID, k.OperationID, k.RequestID
		p.Intent, p.Locator, p.Plan, p.ExpiresAt, p.Authorization = *in, k.Locator, preview.Plan, k.ExpiresAt, *auth
		p.ExpectedAuthority = c.Authorities.Of(authority.Confirmation)[0].ID
		return nil
	}); err != nil {
		return nil, err
	}
	return c.Sign(p)
}

package serve

import (
	"context"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/show"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	executorpb "pfsensemcp/proto/executor/v1"
)

type admin struct {
	executorpb.UnsafeAdminServer
	s *Service
}

// invalid is the answer to an argument that breaks a rule.
func invalid(rule string) *errs.Error {
	return errs.New(errs.Invalid, rule).WithClass("request_validation")
}

// named refuses an id of another form before it is looked for.
func named(id, prefix string) error {
	if !show.ID(id, prefix) {
		return invalid("the id must be " + prefix + " and 32 hex digits").WithNext("mcpctl write list shows the ids")
	}
	return nil
}

func (a admin) ListRequests(_ context.Context, r *executorpb.ListRequestsRequest) (*executorpb.ListRequestsResponse, error) {
	statuses, err := show.Statuses(r.GetStatuses())
	if err != nil {
		return nil, err
	}
	f := store.RequestFilter{Statuses: statuses}
	if len(statuses) == 0 {
		f.Statuses = []record.Status{record.Open, record.Authorized}
	}
	if r.Uid != nil {
		uid := int64(r.GetUid())
		f.UID = &uid
	}
	quarantine := a.s.y.Status().Quarantine != ""
	out := &executorpb.ListRequestsResponse{}
	return out, a.s.y.View(func(v *store.View) error {
		page, total, err := show.Requests(v, f, show.Page{Limit: r.GetLimit(), Offset: r.GetOffset()})
		if err != nil {
			return err
		}
		out.Total = uint64(total)
		for _, one := range page {
			m, err := show.Request(v, one, a.s.y.Project(v, one), quarantine)
			if err != nil {
				return err
			}
			out.Requests = append(out.Requests, m)
		}
		return nil
	})
}

func (a admin) ListContracts(_ context.Context, r *executorpb.ListContractsRequest) (*executorpb.ListContractsResponse, error) {
	states, err := show.States(r.GetStates())
	if err != nil {
		return nil, err
	}
	around := a.s.around()
	out := &executorpb.ListContractsResponse{}
	return out, a.s.y.View(func(v *store.View) error {
		page, total, err := show.Contracts(v, states, show.Page{Limit: r.GetLimit(), Offset: r.GetOffset()})
		if err != nil {
			return err
		}
		out.Total = uint64(total)
		for _, one := range page {
			m, err := show.Contract(v, one, around)
			if err != nil {
				return err
			}
			out.Contracts = append(out.Contracts, m)
		}
		return nil
	})
}

func (a admin) GetContract(_ context.Context, r *executorpb.GetContractRequest) (*executorpb.GetContractResponse, error) {
	if err := named(r.GetContractId(), change.PrefixContract); err != nil {
		return nil, err
	}
	around := a.s.around()
	out := &executorpb.GetContractResponse{}
	return out, a.s.y.View(func(v *store.View) error {
		c, _, err := v.Contract(r.GetContractId())
		if err != nil {
			return err
		}
		if out.Contract, err = show.Contract(v, c, around); err != nil {
			return err
		}
		out.Digests, err = show.Digests(c)
		return err
	})
}

// file hands out a file that the ceremony made, to the operator who asks.
func (a admin) file(ctx context.Context, id, prefix string, from func(context.Context, record.Actor, string) ([]byte, error)) (*executorpb.ArtifactResponse, error) {
	by, err := operator(ctx)
	if err == nil {
		err = named(id, prefix)
	}
	if err != nil {
		return nil, err
	}
	b, err := from(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return &executorpb.ArtifactResponse{Artifact: b}, nil
}

func (a admin) GetPreview(ctx context.Context, r *executorpb.GetPreviewRequest) (*executorpb.ArtifactResponse, error) {
	return a.file(ctx, r.GetRequestId(), change.PrefixRequest, a.s.y.Preview)
}

func (a admin) GetPending(ctx context.Context, r *executorpb.GetPendingRequest) (*executorpb.ArtifactResponse, error) {
	return a.file(ctx, r.GetContractId(), change.PrefixContract, a.s.y.Pending)
}

func (a admin) Observe(ctx context.Context, r *executorpb.ObserveRequest) (*executorpb.ArtifactResponse, error) {
	return a.file(ctx, r.GetContractId(), change.PrefixContract, a.s.y.Observe)
}

func (a admin) GetRollbackRequest(ctx context.Context, r *executorpb.GetRollbackRequestRequest) (*executorpb.ArtifactResponse, error) {
	return a.file(ctx, r.GetContractId(), change.PrefixContract, a.s.y.RollbackRequest)
}

// submit hands signed files to the ceremony. One that cannot be a file at all is not
// looked at here: the gates refuse it like any other and count it against the peer.
func submit(ctx context.Context, to func(record.Actor) (record.Contract, error)) (*executorpb.ContractState, error) {
	by, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	c, err := to(by)
	if err != nil {
		return nil, refusal(err)
	}
	return moved(c), nil
}

// moved says where a step has brought a contract.
func moved(c record.Contract) *executorpb.ContractState {
	return &executorpb.ContractState{ContractId: c.ContractID, State: show.State(c.State), StateVersion: uint32(c.Version)}
}

func (a admin) SubmitAuthorization(ctx context.Context, r *executorpb.SubmitAuthorizationRequest) (*executorpb.SubmitAuthorizationResponse, error) {
	out := &executorpb.SubmitAuthorizationResponse{}
	if _, err := submit(ctx, func(by record.Actor) (record.Contract, error) {
		c, err := a.s.y.Authorize(ctx, by, r.GetAuthorization())
		if err == nil {
			out.ContractId, out.ExpiresAt = c.ContractID, c.ExpiresAt.Unix()
		}
		return c, err
	}); err != nil {
		return nil, err
	}
	return out, nil
}

func (a admin) SubmitConfirmation(ctx context.Context, r *executorpb.SubmitConfirmationRequest) (*executorpb.ContractState, error) {
	return submit(ctx, func(by record.Actor) (record.Contract, error) {
		return a.s.y.Confirm(ctx, by, r.GetConfirmation())
	})
}

func (a admin) SubmitReconciliation(ctx context.Context, r *executorpb.SubmitReconciliationRequest) (*executorpb.ContractState, error) {
	return submit(ctx, func(by record.Actor) (record.Contract, error) {
		return a.s.y.Reconcile(ctx, by, r.GetEvidence())
	})
}

func (a admin) SubmitRelease(ctx context.Context, r *executorpb.SubmitReleaseRequest) (*executorpb.ContractState, error) {
	return submit(ctx, func(by record.Actor) (record.Contract, error) {
		return a.s.y.Release(ctx, by, r.GetRelease())
	})
}

func (a admin) SubmitRollback(ctx context.Context, r *executorpb.SubmitRollbackRequest) (*executorpb.ContractState, error) {
	return submit(ctx, func(by record.Actor) (record.Contract, error) {
		return a.s.y.Rollback(ctx, by, r.GetRollback(), r.GetRollbackAuthorization())
	})
}

func (a admin) ResumeExecution(ctx context.Context, r *executorpb.ResumeExecutionRequest) (*executorpb.ContractState, error) {
	by, err := operator(ctx)
	if err == nil {
		err = named(r.GetContractId(), change.PrefixContract)
	}
	if err != nil {
		return nil, err
	}
	c, err := a.s.y.Resume(ctx, by, r.GetContractId())
	if err != nil {
		return nil, err
	}
	return moved(c), nil
}

func (a admin) Cancel(ctx context.Context, r *executorpb.CancelRequest) (*executorpb.CancelResponse, error) {
	by, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	out := &executorpb.CancelResponse{}
	switch what := r.GetWhat().(type) {
	case *executorpb.CancelRequest_RequestId:
		if err = named(what.RequestId, change.PrefixRequest); err == nil {
			err = a.s.y.CancelRequest(ctx, by, what.RequestId)
			out.RequestIds = []string{what.RequestId}
		}
	case *executorpb.CancelRequest_ContractId:
		if err = named(what.ContractId, change.PrefixContract); err == nil {
			err = a.s.y.CancelContract(ctx, by, what.ContractId)
			out.ContractIds = []string{what.ContractId}
		}
	case *executorpb.CancelRequest_UnpreviewedOfUid:
		out.RequestIds, err = a.s.y.CancelUnpreviewed(ctx, by, int64(what.UnpreviewedOfUid))
	default:
		err = invalid("name a request, a contract or a uid")
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

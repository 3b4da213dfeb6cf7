package admin

import (
	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/openapi/contract"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/admin/v1"
	"pfsensemcp/proto/docs/v1"
)

// ApplianceContract implements admin.v1: the normalised contract of the appliance's
// own document, in pieces, never the document. Defaults in it that look like
// secrets are hashes: an appliance prints keys of its own as defaults.
func (a *Admin) ApplianceContract(_ *adminpb.ApplianceContractRequest, out grpc.ServerStreamingServer[docspb.ContractChunk]) error {
	peer, _ := rpc.PeerFrom(out.Context())
	ix, src, problem := a.doc.Get(out.Context(), pfrest.Caller{UID: peer.UID})
	if ix == nil {
		return errs.New(errs.Unavailable, "the appliance's document cannot be had: "+problem).WithClass(src.GetFreshness()).
			WithNext("mend that, or give a saved document: file:PATH")
	}
	b, err := contract.Of(ix).Encode()
	if err != nil {
		return err
	}
	return contract.Send(b, src, out.Send)
}

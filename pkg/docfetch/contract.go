package docfetch

import (
	"google.golang.org/grpc"

	"pfsensemcp/pkg/docfetch/internal/site"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/openapi/contract"
	docspb "pfsensemcp/proto/docs/v1"
)

// Contract implements docs.v1: the normalised contract of the published document,
// in pieces. Without a usable document there is an error that says why.
func (s *Service) Contract(_ *docspb.ContractRequest, out grpc.ServerStreamingServer[docspb.ContractChunk]) error {
	ix, src := s.index(out.Context())
	if ix == nil {
		return missing(src)
	}
	b, err := contract.Of(ix).Encode()
	if err != nil {
		return err
	}
	return contract.Send(b, src, out.Send)
}

// missing is the error for a document that cannot be had.
func missing(src *docspb.Source) error {
	why := "the published document is not there yet"
	if src.GetFailure() != "" {
		why = "the published document cannot be had: " + site.Failure(src.GetFailure()).Error()
	}
	return errs.New(errs.Unavailable, why).WithClass(src.GetFreshness()).
		WithNext("check that this host reaches https://" + site.Host + ", and try again in a minute")
}

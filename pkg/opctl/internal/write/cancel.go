package write

import (
	"context"
	"fmt"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/opctl/internal/cli"
	executorpb "pfsensemcp/proto/executor/v1"
)

// cancelled is `mcpctl write cancel --json`.
type cancelled struct {
	Requests  []string `json:"request_ids"`
	Contracts []string `json:"contract_ids"`
}

// cancel is `mcpctl write cancel`.
func cancel(ctx context.Context, c *call, args []string) error {
	yes := c.YesFlag()
	uid := c.FS.Int64("uid", -1, "with --all-unpreviewed: the uid `N` that asked, says mcpd")
	all := c.FS.Bool("all-unpreviewed", false, "with --uid: every open request of it without a preview")
	rest, err := cli.Parse(c.FS, args, 0, 1)
	if err != nil {
		return err
	}
	q := &executorpb.CancelRequest{}
	what := ""
	switch {
	case len(rest) == 0 && *all && *uid >= 0 && *uid < 1<<32:
		q.What = &executorpb.CancelRequest_UnpreviewedOfUid{UnpreviewedOfUid: uint32(*uid)}
		what = fmt.Sprintf("every open request of uid %d that has no preview", *uid)
	case *all || *uid != -1 || len(rest) == 0:
		return c.Misuse("name one request or contract, or use --uid and --all-unpreviewed together")
	case isContract(rest[0]):
		q.What = &executorpb.CancelRequest_ContractId{ContractId: rest[0]}
		what = rest[0] + " (what was signed for it is spent)"
	case isID(rest[0], change.PrefixRequest):
		q.What = &executorpb.CancelRequest_RequestId{RequestId: rest[0]}
		what = rest[0]
	default:
		return c.Misuse("an id is req- or wc- and 32 small hex digits: mcpctl write list shows them")
	}
	if err := c.Consent(ctx, "Cancel "+what+"?", *yes); err != nil {
		return err
	}
	out := cancelled{Requests: []string{}, Contracts: []string{}}
	err = c.submit(ctx, "mcpctl write list --all", func(ctx context.Context, x executorpb.AdminClient) error {
		r, err := x.Cancel(ctx, q)
		out.Requests, out.Contracts = append(out.Requests, r.GetRequestIds()...), append(out.Contracts, r.GetContractIds()...)
		return err
	})
	if err != nil {
		return err
	}
	if *c.JSON {
		return cli.WriteJSON(c.Out, out)
	}
	for _, id := range append(out.Requests, out.Contracts...) {
		fmt.Fprintln(c.Out, "cancelled: "+cli.Clean(id))
	}
	if len(out.Requests)+len(out.Contracts) == 0 {
		fmt.Fprintln(c.Out, "there was nothing to cancel")
	}
	cli.Next(c.Out, "mcpctl write list shows what is left")
	return nil
}

package write

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/standing"
	"pfsensemcp/pkg/opctl/internal/suite"
	executorpb "pfsensemcp/proto/executor/v1"
)

// listed is `mcpctl write list --json`.
type listed struct {
	Requests       []standing.Request  `json:"requests"`
	RequestsTotal  uint64              `json:"requests_total"`
	Contracts      []standing.Contract `json:"contracts"`
	ContractsTotal uint64              `json:"contracts_total"`
}

// list is `mcpctl write list`.
func list(ctx context.Context, c *call, args []string) error {
	uid := c.FS.Int64("uid", -1, "only what this uid asked for, says mcpd (`N`)")
	all := c.FS.Bool("all", false, "also what is settled")
	limit := c.FS.Uint("limit", 100, "at most `N` of each, 1..500")
	offset := c.FS.Uint("offset", 0, "leave out the newest `N` of each")
	if _, err := cli.Parse(c.FS, args, 0, 0); err != nil {
		return err
	}
	if *limit < 1 || *limit > 500 || *offset > 100_000 || *uid < -1 || *uid >= 1<<32 {
		return c.Misuse("--limit is 1..500, --offset 0..100000, --uid a user's number")
	}
	rq := &executorpb.ListRequestsRequest{Limit: uint32(*limit), Offset: uint32(*offset)}
	cq := &executorpb.ListContractsRequest{Limit: uint32(*limit), Offset: uint32(*offset)}
	if *uid >= 0 {
		n := uint32(*uid)
		rq.Uid = &n
	}
	if *all {
		for n := range executorpb.RequestStatus_name {
			if n != 0 {
				rq.Statuses = append(rq.Statuses, executorpb.RequestStatus(n))
			}
		}
		for n := range executorpb.State_name {
			if n != 0 {
				cq.States = append(cq.States, executorpb.State(n))
			}
		}
		slices.Sort(rq.Statuses)
		slices.Sort(cq.States)
	}
	out := listed{Requests: []standing.Request{}, Contracts: []standing.Contract{}}
	err := c.Ask(ctx, suite.Quick, func(ctx context.Context, x executorpb.AdminClient) error {
		r, err := x.ListRequests(ctx, rq)
		if err != nil {
			return err
		}
		k, err := x.ListContracts(ctx, cq)
		if err != nil {
			return err
		}
		out.RequestsTotal, out.ContractsTotal = r.GetTotal(), k.GetTotal()
		for _, one := range r.GetRequests() {
			out.Requests = append(out.Requests, standing.OfRequest(one))
		}
		for _, one := range k.GetContracts() {
			out.Contracts = append(out.Contracts, standing.OfContract(one, nil))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if *uid >= 0 {
		out.ofUID()
	}
	if *c.JSON {
		return cli.WriteJSON(c.Out, out)
	}
	out.print(c.Out, c.Time(), *offset)
	return nil
}

// ofUID leaves the contracts of the listed requests alone.
func (l *listed) ofUID() {
	l.Contracts = slices.DeleteFunc(l.Contracts, func(k standing.Contract) bool {
		return !slices.ContainsFunc(l.Requests, func(r standing.Request) bool { return r.Contract == k.ID })
	})
	l.ContractsTotal = uint64(len(l.Contracts))
}

// print shows the list by who asked, so that one client's flood stands in one place.
func (l *listed) print(w io.Writer, now time.Time, offset uint) {
	by := map[int64][]standing.Request{} // -1: an operator
	for _, r := range l.Requests {
		who := int64(-1)
		if r.UID != nil {
			who = int64(*r.UID)
		}
		by[who] = append(by[who], r)
	}
	var who []int64
	for n := range by {
		who = append(who, n)
	}
	slices.Sort(who)
	for _, n := range who {
		unseen := 0
		for _, r := range by[n] {
			if r.Status == "open" && r.Previews == 0 {
				unseen++
			}
		}
		title := "asked by an operator"
		if n >= 0 {
			title = fmt.Sprintf("asked by uid %d, says mcpd", n)
		}
		fmt.Fprintf(w, "== %s: %d\n", title, len(by[n]))
		for _, r := range by[n] {
			r.Print(w, now)
		}
		if unseen > 1 && n >= 0 {
			cli.Next(w, fmt.Sprintf("to end all %d without a preview: mcpctl write cancel --uid %d --all-unpreviewed", unseen, n))
		}
	}
	if len(l.Contracts) > 0 {
		fmt.Fprintf(w, "== contracts: %d\n", len(l.Contracts))
		for _, k := range l.Contracts {
			k.Print(w, now)
		}
	}
	if len(l.Requests)+len(l.Contracts) == 0 {
		fmt.Fprintln(w, "nothing is open")
		cli.Next(w, "nothing; to see what is settled: mcpctl write list --all")
	}
	if more := max(rest(l.RequestsTotal, offset, len(l.Requests)), rest(l.ContractsTotal, offset, len(l.Contracts))); more > 0 {
		cli.Next(w, fmt.Sprintf("%d more: mcpctl write list --offset %d", more, offset+uint(max(len(l.Requests), len(l.Contracts)))))
	}
}

// rest is how many of a list come after what is shown.
func rest(total uint64, offset uint, shown int) uint64 {
	if seen := uint64(offset) + uint64(shown); total > seen {
		return total - seen
	}
	return 0
}

// show is `mcpctl write show`.
func show(ctx context.Context, c *call, args []string) error {
	id, err := c.id(args, change.PrefixContract)
	if err != nil {
		return err
	}
	k, err := c.contract(ctx, id)
	if err != nil {
		return err
	}
	return c.shown(k)
}

// contract asks for one contract.
func (c *call) contract(ctx context.Context, id string) (k standing.Contract, err error) {
	err = c.Ask(ctx, suite.Quick, func(ctx context.Context, x executorpb.AdminClient) error {
		r, err := x.GetContract(ctx, &executorpb.GetContractRequest{ContractId: id})
		k = standing.OfContract(r.GetContract(), r.GetDigests())
		return err
	})
	return k, err
}

// shown prints a contract as the command's answer.
func (c *call) shown(k standing.Contract) error {
	if *c.JSON {
		return cli.WriteJSON(c.Out, k)
	}
	k.Print(c.Out, c.Time())
	return nil
}

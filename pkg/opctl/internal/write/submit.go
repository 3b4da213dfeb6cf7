package write

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/opctl/internal/carry"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/standing"
	"pfsensemcp/pkg/opctl/internal/suite"
	executorpb "pfsensemcp/proto/executor/v1"
)

// known is what a signed file says of itself. It is shown and decides nothing: the
// bytes are handed in as they are, and executord judges them.
type known struct {
	by, of           string // the owner's id; the request or contract
	issued, expires  time.Time
	detail, contract string
}

// say shows a person what is about to be handed in.
func (c *call) say(path, kind string, k known, err error) {
	if f, ok := errors.AsType[*artifact.Fault](err); ok {
		fmt.Fprintf(c.Err, "%s does not read as %s (%s): executord will deny it\n", cli.Clean(path), kind, cli.Clean(f.Error()))
		return
	}
	fmt.Fprintf(c.Err, "%s: %s of %s, by %s\n", cli.Clean(path), kind, k.of, k.by)
	if k.detail != "" {
		cli.Row(c.Err, "says", k.detail)
	}
	cli.Row(c.Err, "signed", cli.Around(k.issued.Unix(), c.Time()))
	if !k.expires.IsZero() {
		cli.Row(c.Err, "expires", cli.Around(k.expires.Unix(), c.Time()))
	}
}

// paper is a signed file of one kind.
type paper struct {
	kind, question string
	read           func([]byte) (known, error) // what it says; not of a file that is none
}

// paper reads the one file that a command names, shows what it says, and asks a person
// whether to hand it in.
func (c *call) paper(ctx context.Context, args []string, yes *bool, p paper) (b []byte, k known, err error) {
	path, err := c.One(args)
	if err != nil {
		return nil, known{}, err
	}
	if b, err = carry.Read(path, artifact.MaxSigned); err != nil {
		return nil, known{}, err
	}
	k, fault := p.read(b)
	c.say(path, p.kind, k, fault)
	return b, k, c.Consent(ctx, p.question, *yes)
}

// submit calls executord with something that may change its state, and says what an
// error of it means to a person. look is the command that shows what became of it.
func (c *call) submit(ctx context.Context, look string, f func(context.Context, executorpb.AdminClient) error) error {
	return suite.Told(c.Ask(ctx, suite.Slow, f), look)
}

// authorized is `mcpctl write authorize --json`.
type authorized struct {
	Contract  string `json:"contract_id"`
	State     string `json:"state"`
	ExpiresAt int64  `json:"expires_at"` // Unix time, seconds
	Next      string `json:"next"`
}

// authorize is `mcpctl write authorize`.
func authorize(ctx context.Context, c *call, args []string) error {
	b, _, err := c.paper(ctx, args, c.YesFlag(), paper{
		"an authorization", "Hand it in? It is used up when it is taken, and the contract is prepared; nothing is sent yet.",
		func(b []byte) (known, error) {
			a, err := artifact.ParseAuthorization(b)
			if err != nil {
				return known{}, err
			}
			return known{by: a.AuthorityID, of: a.RequestID, issued: a.IssuedAt, expires: a.ExpiresAt}, nil
		},
	})
	if err != nil {
		return err
	}
	var r *executorpb.SubmitAuthorizationResponse
	err = c.submit(ctx, "mcpctl write list", func(ctx context.Context, x executorpb.AdminClient) (err error) {
		r, err = x.SubmitAuthorization(ctx, &executorpb.SubmitAuthorizationRequest{Authorization: b})
		return err
	})
	if err != nil {
		return err
	}
	out := authorized{Contract: r.GetContractId(), State: "prepared", ExpiresAt: r.GetExpiresAt()}
	if isContract(out.Contract) {
		out.Next = "mcpctl write pending " + out.Contract + " -o pending.json"
	}
	if *c.JSON {
		return cli.WriteJSON(c.Out, out)
	}
	fmt.Fprintf(c.Out, "%s  prepared\n", cli.Clean(out.Contract))
	cli.Row(c.Out, "expires", cli.Around(out.ExpiresAt, c.Time()))
	cli.Next(c.Out, out.Next)
	return nil
}

// confirm is `mcpctl write confirm`.
func confirm(ctx context.Context, c *call, args []string) error {
	yes, noWait := c.YesFlag(), c.noWaitFlag()
	b, k, err := c.paper(ctx, args, yes, paper{
		"a confirmation", "Hand it in? The change is sent to the appliance when it is taken.",
		func(b []byte) (known, error) {
			a, err := artifact.ParseConfirmation(b)
			if err != nil {
				return known{}, err
			}
			return known{by: a.AuthorityID, of: a.ContractID, issued: a.IssuedAt, expires: a.ExpiresAt, contract: a.ContractID}, nil
		},
	})
	if err != nil {
		return err
	}
	return c.run(ctx, k.contract, *noWait, forward, func(ctx context.Context, x executorpb.AdminClient) (*executorpb.ContractState, error) {
		return x.SubmitConfirmation(ctx, &executorpb.SubmitConfirmationRequest{Confirmation: b})
	})
}

// resume is `mcpctl write resume`.
func resume(ctx context.Context, c *call, args []string) error {
	yes, noWait := c.YesFlag(), c.noWaitFlag()
	id, err := c.id(args, change.PrefixContract)
	if err != nil {
		return err
	}
	if err := c.Consent(ctx, "Start "+id+"? The change is sent to the appliance.", *yes); err != nil {
		return err
	}
	return c.run(ctx, id, *noWait, forward, func(ctx context.Context, x executorpb.AdminClient) (*executorpb.ContractState, error) {
		return x.ResumeExecution(ctx, &executorpb.ResumeExecutionRequest{ContractId: id})
	})
}

// rollback is `mcpctl write rollback`. The files do not say whose half they are, so
// the flags do.
func rollback(ctx context.Context, c *call, args []string) error {
	yes, noWait := c.YesFlag(), c.noWaitFlag()
	first := c.FS.String("confirmation", "", "the `FILE` that the confirmation owner signed")
	second := c.FS.String("authorization", "", "the `FILE` that the authorization owner signed")
	if _, err := cli.Parse(c.FS, args, 0, 0); err != nil {
		return err
	}
	if *first == "" || *second == "" {
		return c.Misuse("an undo needs two files: --confirmation and --authorization")
	}
	q := &executorpb.SubmitRollbackRequest{}
	id := ""
	for _, half := range []struct {
		path string
		role canon.Role
		to   *[]byte
	}{{*first, canon.RoleRollback, &q.Rollback}, {*second, canon.RoleRollbackAuthorization, &q.RollbackAuthorization}} {
		b, err := carry.Read(half.path, artifact.MaxSigned)
		if err != nil {
			return err
		}
		*half.to = b
		var k known
		r, err := artifact.ParseRollback(b, half.role)
		if err == nil {
			id = r.Undo.ContractID
			k = known{by: r.AuthorityID, of: id, issued: r.IssuedAt, expires: r.ExpiresAt}
		}
		c.say(half.path, "half of a rollback", k, err)
	}
	if err := c.Consent(ctx, "Hand both in? The old text is sent to the appliance when they are taken.", *yes); err != nil {
		return err
	}
	return c.run(ctx, id, *noWait, backward, func(ctx context.Context, x executorpb.AdminClient) (*executorpb.ContractState, error) {
		return x.SubmitRollback(ctx, q)
	})
}

// reconcile is `mcpctl write reconcile`.
func reconcile(ctx context.Context, c *call, args []string) error {
	return c.evidence(ctx, args, "Hand it in? The contract is settled by it, and its alias is free again.",
		func(ctx context.Context, x executorpb.AdminClient, b []byte) (*executorpb.ContractState, error) {
			return x.SubmitReconciliation(ctx, &executorpb.SubmitReconciliationRequest{Evidence: b})
		})
}

// release is `mcpctl write release`.
func release(ctx context.Context, c *call, args []string) error {
	return c.evidence(ctx, args, "Hand it in? The alias of the failed rollback is free again; the contract's state stays.",
		func(ctx context.Context, x executorpb.AdminClient, b []byte) (*executorpb.ContractState, error) {
			return x.SubmitRelease(ctx, &executorpb.SubmitReleaseRequest{Release: b})
		})
}

// evidence hands in what the reconciliation owner signed.
func (c *call) evidence(ctx context.Context, args []string, question string, f func(context.Context, executorpb.AdminClient, []byte) (*executorpb.ContractState, error)) error {
	b, k, err := c.paper(ctx, args, c.YesFlag(), paper{
		"evidence", question,
		func(b []byte) (known, error) {
			a, err := artifact.ParseReconciliation(b)
			if err != nil {
				return known{}, err
			}
			return known{by: a.AuthorityID, of: a.ContractID, issued: a.IssuedAt, detail: a.Outcome, contract: a.ContractID}, nil
		},
	})
	if err != nil {
		return err
	}
	var r *executorpb.ContractState
	err = c.submit(ctx, lookAt(k.contract), func(ctx context.Context, x executorpb.AdminClient) (err error) {
		r, err = f(ctx, x, b)
		return err
	})
	if err != nil {
		return err
	}
	return c.moved(r)
}

// taken is what a step that ends at once prints as JSON.
type taken struct {
	ID      string `json:"contract_id"`
	State   string `json:"state"`
	Version uint32 `json:"state_version"`
	Next    string `json:"next"`
}

// moved prints where a contract stands after a step that ends at once.
func (c *call) moved(r *executorpb.ContractState) error {
	k := taken{r.GetContractId(), standing.StateWord(r.GetState()), r.GetStateVersion(), lookAt(r.GetContractId())}
	if *c.JSON {
		return cli.WriteJSON(c.Out, k)
	}
	fmt.Fprintf(c.Out, "%s  %s, version %d\n", cli.Clean(k.ID), k.State, k.Version)
	cli.Next(c.Out, k.Next)
	return nil
}

// lookAt is the command that shows what became of a contract.
func lookAt(id string) string {
	if !isContract(id) {
		return "mcpctl write list --all"
	}
	return "mcpctl write show " + id
}

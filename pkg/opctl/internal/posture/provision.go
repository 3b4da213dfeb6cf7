package posture

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/carry"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/reason"
	"pfsensemcp/pkg/opctl/internal/suite"
	executorpb "pfsensemcp/proto/executor/v1"
)

// planned is `mcpctl anchor plan --json`.
type planned struct {
	Step         string   `json:"step"`
	Manufacturer string   `json:"manufacturer"`
	Assurance    string   `json:"assurance"`
	Taken        []string `json:"taken"`
	Free         []string `json:"free"`
	Note         string   `json:"note"`
	Next         string   `json:"next"`
	step         executorpb.AnchorStep
}

// askPlan asks for handles and step.
func askPlan(ctx context.Context, c *suite.Call) (p planned, err error) {
	err = c.Ask(ctx, suite.Slow, func(ctx context.Context, x executorpb.AdminClient) error {
		r, err := x.AnchorPlan(ctx, &executorpb.AnchorPlanRequest{})
		p = planned{
			Step: cli.Word(r.GetStep().String(), "ANCHOR_STEP_"), Manufacturer: r.GetManufacturer(), Assurance: r.GetAssurance(),
			Taken: handles(r.GetTaken()), Free: handles(r.GetFree()), Note: r.GetNext(), step: r.GetStep(),
		}
		return err
	})
	if provisioned(p.step) {
		p.Next = "mcpctl anchor status"
	} else if len(p.Free) > 0 {
		p.Next = "mcpctl anchor provision --handle " + p.Free[0]
	} else {
		p.Next = "free a counter index of the TPM first, or use another TPM; nothing here removes one"
	}
	return p, err
}

// provisioned says whether the index has been made and read, so that no more of
// provision is left.
func provisioned(s executorpb.AnchorStep) bool {
	return s >= executorpb.AnchorStep_ANCHOR_STEP_VALUE_READ && s <= executorpb.AnchorStep_ANCHOR_STEP_OPERATIONAL
}

func handles(list []uint32) []string {
	out := []string{}
	for _, h := range list {
		out = append(out, handleText(h))
	}
	return out
}

// anchorPlan is `mcpctl anchor plan`.
func anchorPlan(ctx context.Context, c *suite.Call, args []string) error {
	if err := c.None(args); err != nil {
		return err
	}
	p, err := askPlan(ctx, c)
	if err != nil {
		return err
	}
	if *c.JSON {
		return cli.WriteJSON(c.Out, p)
	}
	fmt.Fprintf(c.Out, "step %s\n", p.Step)
	cli.Row(c.Out, "TPM", cli.Clean(p.Manufacturer)+", assurance "+cli.Clean(p.Assurance))
	cli.Row(c.Out, "free", p.Free...)
	cli.Row(c.Out, "taken", p.Taken...)
	if p.Note != "" {
		cli.Row(c.Out, "note", cli.Clean(p.Note))
	}
	cli.Next(c.Out, p.Next)
	return nil
}

// provision is `mcpctl anchor provision`: one step, from the state that the person saw.
func provision(ctx context.Context, c *suite.Call, args []string) error {
	text := c.FS.String("handle", "", "the index, one of those that anchor plan shows as free (`H`)")
	if err := c.None(args); err != nil {
		return err
	}
	handle, ok := parseHandle(*text)
	if !ok {
		return c.Misuse("--handle takes an index from 0x01000000 to 0x01bfffff: mcpctl anchor plan shows the free ones")
	}
	if err := c.NeedTerminal(); err != nil {
		return err
	}
	p, err := askPlan(ctx, c)
	if err != nil {
		return err
	}
	switch {
	case provisioned(p.step):
		return errs.New(errs.Conflict, "the counter is provisioned already (step "+p.Step+")").WithNext("mcpctl anchor status")
	case p.step == executorpb.AnchorStep_ANCHOR_STEP_NOTHING && !slices.Contains(p.Free, handleText(handle)):
		return errs.New(errs.Invalid, "the handle "+handleText(handle)+" is not one of the free ones").WithNext(p.Next)
	}
	fmt.Fprintf(c.Err, "step %s; TPM %s, assurance %s\n", p.Step, cli.Clean(p.Manufacturer), cli.Clean(p.Assurance))
	if err := c.Insist(ctx, "Take the next step with index "+handleText(handle)+": "+stepText(p.step)+"?"); err != nil {
		return err
	}
	return act(ctx, c, func(ctx context.Context, x executorpb.AdminClient) (*executorpb.AnchorStatusResponse, error) {
		return x.AnchorProvision(ctx, &executorpb.AnchorProvisionRequest{Handle: handle, Confirm: true, Expected: p.step})
	})
}

// stepText says what the step after a state does.
func stepText(s executorpb.AnchorStep) string {
	switch s {
	case executorpb.AnchorStep_ANCHOR_STEP_NOTHING:
		return "choose it"
	case executorpb.AnchorStep_ANCHOR_STEP_HANDLE_SELECTED:
		return "make and seal its secret"
	case executorpb.AnchorStep_ANCHOR_STEP_SECRET_SEALED:
		return "define it in the TPM"
	case executorpb.AnchorStep_ANCHOR_STEP_DEFINED:
		return "increment it for the first time, which cannot be taken back"
	case executorpb.AnchorStep_ANCHOR_STEP_INCREMENT_ISSUED:
		return "read its value"
	}
	return "go on"
}

// act takes a step that changes the counter's state, and prints the state after it.
func act(ctx context.Context, c *suite.Call, f func(context.Context, executorpb.AdminClient) (*executorpb.AnchorStatusResponse, error)) error {
	var s state
	err := c.Ask(ctx, suite.Slow, func(ctx context.Context, x executorpb.AdminClient) error {
		r, err := f(ctx, x)
		if err == nil {
			s = ofState(r)
		}
		return err
	})
	if err != nil {
		return suite.Told(err, "mcpctl anchor status") // look before it is done again
	}
	return s.show(c)
}

// seed is `mcpctl anchor seed`. The person types value and handle, which must be what
// executord reads now.
func seed(ctx context.Context, c *suite.Call, args []string) error {
	text := c.FS.String("handle", "", "the index, as anchor status shows it (`H`)")
	value := c.FS.String("value", "", "the counter's value, as anchor status shows it (`V`)")
	if err := c.None(args); err != nil {
		return err
	}
	handle, ok := parseHandle(*text)
	n, err := strconv.ParseUint(*value, 10, 63)
	if !ok || err != nil {
		return c.Misuse("--handle takes an index from 0x01000000 to 0x01bfffff, --value a number: mcpctl anchor status shows both")
	}
	if err := c.NeedTerminal(); err != nil {
		return err
	}
	s, err := look(ctx, c)
	if err != nil {
		return err
	}
	if s.NVIndex != handleText(handle) || s.WitnessValue == nil || *s.WitnessValue != n {
		return errs.New(errs.Invalid, "the counter is not at that index and value: index "+cli.Clean(s.NVIndex)+", value "+number(s.WitnessValue)).WithNext("mcpctl anchor status")
	}
	if err := c.Insist(ctx, fmt.Sprintf("Seed the store with the value %d of index %s? It is done once and never changed.", n, handleText(handle))); err != nil {
		return err
	}
	return act(ctx, c, func(ctx context.Context, x executorpb.AdminClient) (*executorpb.AnchorStatusResponse, error) {
		return x.AnchorSeed(ctx, &executorpb.AnchorSeedRequest{Value: n, Handle: handle, Confirm: true})
	})
}

// rebaseline is `mcpctl anchor rebaseline`.
func rebaseline(ctx context.Context, c *suite.Call, args []string) error {
	path, err := c.One(args)
	if err != nil {
		return err
	}
	if err := c.NeedTerminal(); err != nil {
		return err
	}
	b, err := carry.Read(path, artifact.MaxSigned)
	if err != nil {
		return err
	}
	if a, err := artifact.ParseRebaseline(b); err != nil {
		fmt.Fprintf(c.Err, "%s does not read as a rebaseline: executord will deny it\n", cli.Clean(path))
	} else {
		fmt.Fprintf(c.Err, "%s: a rebaseline of %s, by %s\n", cli.Clean(path), a.StoreID, a.AuthorityID)
		cli.Row(c.Err, "counter", fmt.Sprintf("store %d, TPM %d", a.StoreValue, a.WitnessValue))
		cli.Row(c.Err, "reason", reason.Line(a.Reason))
		cli.Row(c.Err, "expires", cli.Around(a.ExpiresAt.Unix(), c.Time()))
	}
	if err := c.Insist(ctx, "Hand it in? Every approval signed before becomes void, and contracts on their way need reconciliation."); err != nil {
		return err
	}
	return act(ctx, c, func(ctx context.Context, x executorpb.AdminClient) (*executorpb.AnchorStatusResponse, error) {
		return x.SubmitRebaseline(ctx, &executorpb.SubmitRebaselineRequest{Rebaseline: b})
	})
}

package write

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/opctl/internal/carry"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/textsafe/spelling"
	executorpb "pfsensemcp/proto/executor/v1"
)

// fetched is what the commands that write a file print as JSON.
type fetched struct {
	File      string  `json:"file"`
	Kind      string  `json:"kind"`
	Bytes     int     `json:"bytes"`
	SHA256    string  `json:"sha256"`
	Request   string  `json:"request_id,omitempty"`
	Contract  string  `json:"contract_id,omitempty"`
	AskedBy   *int64  `json:"asked_by_uid,omitempty"` // as mcpd claims it
	Alias     string  `json:"alias_name,omitempty"`
	TextNow   *string `json:"text_now,omitempty"`
	TextThen  *string `json:"text_then,omitempty"`
	Match     string  `json:"match,omitempty"` // what an observation saw
	Lab       bool    `json:"lab,omitempty"`
	TestBuild bool    `json:"test_build,omitempty"`
	MadeAt    int64   `json:"made_at"`              // Unix time, seconds
	ExpiresAt int64   `json:"expires_at,omitempty"` // likewise
	Next      string  `json:"next"`
	rows      [][2]string
}

// source is one kind of file that executord attests and an operator carries.
type source struct {
	prefix string // of the id on the command line
	asks   string // the question before it; "" when it changes nothing
	get    func(ctx context.Context, x executorpb.AdminClient, id string) (*executorpb.ArtifactResponse, error)
	// read reads the file for the person; the signer reads it again and trusts none of
	// this. It returns the id that the file is for.
	read func(b []byte) (fetched, string, error)
	next func(file string) string
}

func preview(ctx context.Context, c *call, args []string) error {
	return c.fetch(ctx, args, source{
		prefix: change.PrefixRequest,
		asks:   "Make a preview of %s? It reads the appliance; an earlier preview and what was signed over it become void.",
		get: func(ctx context.Context, x executorpb.AdminClient, id string) (*executorpb.ArtifactResponse, error) {
			return x.GetPreview(ctx, &executorpb.GetPreviewRequest{RequestId: id})
		},
		read: func(b []byte) (fetched, string, error) {
			p, err := artifact.ParsePreview(b)
			if err != nil {
				return fetched{}, "", err
			}
			f := fetched{Kind: "preview", Request: p.RequestID, AskedBy: p.AskedBy, TestBuild: p.TestBuild}
			f.change(&p.Intent, &p.Plan, p.GeneratedAt, false)
			return f, p.RequestID, nil
		},
		next: func(file string) string {
			return "carry " + file + " to the authorization owner; there: mcpsign sign-authorization -i " + base(file) + " -o authorization.json; back here: mcpctl write authorize authorization.json"
		},
	})
}

func pending(ctx context.Context, c *call, args []string) error {
	var now *executorpb.Contract // nil: executord did not say how it stands
	return c.fetch(ctx, args, source{
		prefix: change.PrefixContract,
		get: func(ctx context.Context, x executorpb.AdminClient, id string) (*executorpb.ArtifactResponse, error) {
			file, err := x.GetPending(ctx, &executorpb.GetPendingRequest{ContractId: id})
			if err != nil {
				return nil, err
			}
			// The file is the same in each state; what it serves for is not.
			if r, err := x.GetContract(ctx, &executorpb.GetContractRequest{ContractId: id}); err == nil {
				now = r.GetContract()
			}
			return file, nil
		},
		read: func(b []byte) (fetched, string, error) {
			p, err := artifact.ParsePending(b)
			if err != nil {
				return fetched{}, "", err
			}
			f := fetched{Kind: "pending", Request: p.RequestID, Contract: p.ContractID, ExpiresAt: p.ExpiresAt.Unix()}
			f.change(&p.Intent, &p.Plan, p.GeneratedAt, false)
			f.rows = append(f.rows, [2]string{"authorized", "by " + p.Authorization.AuthorityID}, [2]string{"for", "confirmation owner " + p.ExpectedAuthority})
			return f, p.ContractID, nil
		},
		next: func(file string) string { return afterPending(now, file) },
	})
}

// afterPending says what a contract's pending file is for while the contract stands as
// it does.
func afterPending(k *executorpb.Contract, file string) string {
	confirm := "carry " + file + " to the confirmation owner, another person; there: mcpsign sign-confirmation -i " + base(file) + " -o confirmation.json; back here: mcpctl write confirm confirmation.json"
	switch k.GetState() {
	case executorpb.State_STATE_PREPARED:
		return confirm
	case executorpb.State_STATE_RECONCILIATION:
		return "it was sent, so nobody confirms it again: mcpctl write observe " + cli.Clean(k.GetContractId()) + " -o observation.json; carry both files to the reconciliation owner; there: mcpsign sign-reconciliation -i observation.json --pending " + base(file) + " --outcome OUTCOME -o evidence.json; back here: mcpctl write reconcile evidence.json"
	case executorpb.State_STATE_ROLLBACK_FAILED:
		return "its undoing failed: mcpctl write observe " + cli.Clean(k.GetContractId()) + " -o observation.json; carry both files to the reconciliation owner; there: mcpsign sign-reconciliation -i observation.json --pending " + base(file) + " --outcome OUTCOME -o evidence.json; back here: mcpctl write release evidence.json"
	case executorpb.State_STATE_UNSPECIFIED: // not known, or of a newer executord
		return confirm + "; of a contract in reconciliation: to the reconciliation owner, beside the observation, who names it with --pending"
	}
	return "it waits for no confirmation: mcpctl write show " + cli.Clean(k.GetContractId())
}

func observe(ctx context.Context, c *call, args []string) error {
	return c.fetch(ctx, args, source{
		prefix: change.PrefixContract,
		get: func(ctx context.Context, x executorpb.AdminClient, id string) (*executorpb.ArtifactResponse, error) {
			return x.Observe(ctx, &executorpb.ObserveRequest{ContractId: id})
		},
		read: func(b []byte) (fetched, string, error) {
			o, err := artifact.ParseObservation(b)
			if err != nil {
				return fetched{}, "", err
			}
			f := fetched{Kind: "observation", Contract: o.ContractID, Match: o.Match, MadeAt: o.ObservedAt.Unix()}
			f.rows = append(f.rows, [2]string{"saw", matchText(o.Match)})
			if !o.OthersUnchanged {
				f.rows = append(f.rows, [2]string{"others", "OTHER ALIASES CHANGED: look at all of them on the appliance"})
			}
			if o.SecondsSinceSend != nil {
				f.rows = append(f.rows, [2]string{"sent", fmt.Sprintf("%d s before; not applied can be signed from 900 s on", *o.SecondsSinceSend)})
			}
			return f, o.ContractID, nil
		},
		next: func(file string) string {
			return "establish on the appliance itself what happened; carry " + file + " to the reconciliation owner; there: mcpsign sign-reconciliation -i " + base(file) + " --pending FILE --outcome OUTCOME -o evidence.json (FILE: what mcpctl write pending wrote; without it the owner sees no texts); back here: mcpctl write reconcile evidence.json (after a failed rollback: mcpctl write release evidence.json)"
		},
	})
}

// base is the name of a file where it was carried to.
func base(file string) string { return filepath.Base(file) }

// matchText says what an observation saw, from the attempt's point of view.
func matchText(m string) string {
	switch m {
	case artifact.MatchExpectedPost:
		return "the state that the attempt would leave"
	case artifact.MatchPre:
		return "the state from before the attempt"
	case artifact.MatchAbsent:
		return "no such alias"
	}
	return "neither of both states"
}

func rollbackRequest(ctx context.Context, c *call, args []string) error {
	return c.fetch(ctx, args, source{
		prefix: change.PrefixContract,
		get: func(ctx context.Context, x executorpb.AdminClient, id string) (*executorpb.ArtifactResponse, error) {
			return x.GetRollbackRequest(ctx, &executorpb.GetRollbackRequestRequest{ContractId: id})
		},
		read: func(b []byte) (fetched, string, error) {
			r, err := artifact.ParseRollbackRequest(b)
			if err != nil {
				return fetched{}, "", err
			}
			f := fetched{Kind: "rollback-request", Request: r.RequestID, Contract: r.ContractID}
			f.change(&r.Intent, &r.Plan, r.GeneratedAt, true)
			return f, r.ContractID, nil
		},
		next: func(file string) string {
			return "carry " + file + " to the confirmation owner and to the authorization owner; at each: mcpsign sign-rollback -i " + base(file) + " -o HALF.json; back here: mcpctl write rollback --confirmation HALF1.json --authorization HALF2.json"
		},
	})
}

// change fills in a change and the plan that it is under; back says that it is to be
// undone.
func (f *fetched) change(in *change.Intent, plan *change.Plan, made time.Time, back bool) {
	now, then := in.Target.Descr, in.NewDescription
	if back {
		now, then = then, now
	}
	f.Alias, f.TextNow, f.TextThen, f.MadeAt, f.Lab = in.Target.Name, &now, &then, made.Unix(), plan.Executor.Lab()
	f.rows = append(f.rows, [2]string{"store", plan.Executor.StoreID})
	if plan.Evidence.Baseline != nil {
		f.rows = append(f.rows, [2]string{"counter", fmt.Sprintf("%d: the next send makes every other approval void", *plan.Evidence.Baseline)})
	}
}

// fetch is one of the commands that write a file. The name is taken before executord
// is asked, so that a bad one changes nothing there.
func (c *call) fetch(ctx context.Context, args []string, s source) error {
	path := c.OutFlag()
	given := new(bool)
	if s.asks != "" {
		given = c.YesFlag()
	}
	id, err := c.id(args, s.prefix)
	if err != nil {
		return err
	}
	if *path == "" {
		return c.Misuse("-o FILE is missing")
	}
	out, err := carry.New(*path)
	if err != nil {
		return err
	}
	defer out.Drop()
	if s.asks != "" {
		if err := c.Consent(ctx, fmt.Sprintf(s.asks, id), *given); err != nil {
			return err
		}
	}
	var f fetched
	file, err := c.Attested(ctx, out, "what was asked for", func(ctx context.Context, x executorpb.AdminClient) (*executorpb.ArtifactResponse, error) {
		return s.get(ctx, x, id)
	}, func(b []byte) (err error) {
		of := ""
		if f, of, err = s.read(b); err == nil && of != id {
			err = errors.New("it is of another change")
		}
		return err
	})
	if err != nil {
		return err
	}
	f.File, f.Bytes, f.SHA256, f.Next = *path, len(file), canon.Hash(file), s.next(cli.Clean(*path))
	if *c.JSON {
		return cli.WriteJSON(c.Out, f)
	}
	f.print(c.Out, c.Time())
	return nil
}

// print shows what the file holds.
func (f *fetched) print(w io.Writer, now time.Time) {
	if f.Lab {
		fmt.Fprintln(w, "*** LABORATORY: this store is not production's ***")
	}
	if f.TestBuild {
		fmt.Fprintln(w, "*** TEST BUILD: this executor has shortened waiting times ***")
	}
	of := f.Contract
	if of == "" {
		of = f.Request
	}
	fmt.Fprintf(w, "%s of %s\n", f.Kind, of)
	if f.AskedBy != nil {
		cli.Row(w, "asked", fmt.Sprintf("by uid %d, says mcpd", *f.AskedBy))
	} else if f.Kind == "preview" {
		cli.Row(w, "asked", "by an operator")
	}
	if f.TextNow != nil {
		cli.Row(w, "alias", spelling.Lines(f.Alias)...)
		cli.Row(w, "text now", spelling.Lines(*f.TextNow)...)
		cli.Row(w, "text then", spelling.Lines(*f.TextThen)...)
	}
	for _, r := range f.rows {
		cli.Row(w, r[0], cli.Clean(r[1]))
	}
	cli.Row(w, "made", cli.Around(f.MadeAt, now))
	if f.ExpiresAt != 0 {
		cli.Row(w, "expires", cli.Around(f.ExpiresAt, now))
	}
	cli.Row(w, "file", fmt.Sprintf("%s, %d bytes, confidential", cli.Clean(f.File), f.Bytes), "SHA-256 "+f.SHA256)
	cli.Next(w, f.Next)
}

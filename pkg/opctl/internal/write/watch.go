package write

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/standing"
	"pfsensemcp/pkg/opctl/internal/suite"
	executorpb "pfsensemcp/proto/executor/v1"
)

// pace is how a wait goes: how often executord is asked, how often a line says that
// it goes on, how long a contract may stand still before it begins, and how long
// executord may be away.
type pace struct{ every, beat, grace, lost time.Duration }

// way is which way a contract is going: the state it starts from, and the one that is
// what the person wanted.
type way struct{ from, to executorpb.State }

// forward is a change, backward an undo.
var (
	forward  = way{executorpb.State_STATE_PREPARED, executorpb.State_STATE_VERIFIED}
	backward = way{executorpb.State_STATE_VERIFIED, executorpb.State_STATE_ROLLED_BACK}
)

// noWaitFlag adds the flag that leaves out the wait.
func (c *call) noWaitFlag() *bool {
	return c.FS.Bool("no-wait", false, "do not wait until the outcome is known")
}

// run hands something in that makes a contract execute, then waits for the outcome.
// The exchange belongs to executord: nothing here can call it off.
func (c *call) run(ctx context.Context, id string, noWait bool, w way, f func(context.Context, executorpb.AdminClient) (*executorpb.ContractState, error)) error {
	var r *executorpb.ContractState
	err := c.submit(ctx, lookAt(id), func(ctx context.Context, x executorpb.AdminClient) (err error) {
		r, err = f(ctx, x)
		return err
	})
	if err != nil {
		return err
	}
	if !isContract(r.GetContractId()) {
		return errs.New(errs.Internal, "executord took it and names no contract").WithClass(cli.ClassIntegrity).WithNext(lookAt(id))
	}
	if noWait {
		return c.moved(r)
	}
	k, err := c.settle(ctx, r, w)
	if err != nil {
		return err
	}
	if err := c.shown(k); err != nil {
		return err
	}
	if k.At() != w.to {
		return cli.Exit(cli.ExitFail)
	}
	return nil
}

// settled says whether nothing more happens to a contract by itself.
func (w way) settled(s executorpb.State) bool {
	switch s {
	case w.from, executorpb.State_STATE_PREPARED, executorpb.State_STATE_EXECUTING, executorpb.State_STATE_ROLLING_BACK, executorpb.State_STATE_UNSPECIFIED:
		return false
	}
	return true
}

// settle asks for the contract until its outcome is known, and says how it goes on.
func (c *call) settle(ctx context.Context, r *executorpb.ContractState, w way) (standing.Contract, error) {
	id := r.GetContractId()
	begun := time.Now()
	answered, said, state := begun, begun, ""
	say := func(format string, args ...any) {
		said = time.Now()
		fmt.Fprintf(c.Err, "%s  %s\n", id, fmt.Sprintf(format, args...))
	}
	for {
		k, err := c.contract(ctx, id)
		now := time.Now()
		switch {
		case errors.Is(err, suite.ErrInterrupted) || err == nil && ctx.Err() != nil:
			return k, stopped(id)
		case err != nil && !passing(err):
			return k, suite.Told(err, lookAt(id))
		case err != nil && now.Sub(answered) > c.pace.lost:
			return k, errs.Wrap(err, errs.Unavailable, "executord has not answered for "+c.pace.lost.String()+"; what it was sending may still arrive").
				WithNext("see the log of executord; once it runs: " + lookAt(id))
		case err == nil && k.ID != id:
			return k, errs.New(errs.Internal, "executord answers about another contract").WithClass(cli.ClassIntegrity).WithNext(lookAt(id))
		case err == nil:
			answered = now
			// An answer of before the step is none.
			old := k.Version < r.GetStateVersion()
			if !old && w.settled(k.At()) {
				return k, nil
			}
			if k.At() == w.from && now.Sub(begun) > c.pace.grace {
				return k, idle(k, w)
			}
			if k.State != state {
				state = k.State
				say("%s, version %d", k.State, k.Version)
			}
		}
		if now.Sub(said) >= c.pace.beat {
			if err != nil {
				say("executord does not answer; asking again")
			} else {
				say("still %s after %s; ctrl-C stops looking, not the exchange", state, now.Sub(begun).Round(time.Second))
			}
		}
		t := time.NewTimer(c.pace.every)
		select {
		case <-ctx.Done():
			t.Stop()
			return k, stopped(id)
		case <-t.C:
		}
	}
}

// passing says whether an error may be gone at the next try: executord starting anew
// or busy. A question may be asked again; only what changes something must not.
func passing(err error) bool {
	c := errs.CodeOf(err)
	return c == errs.Unavailable || c == errs.Expired || c == errs.Exhausted
}

// stopped is what a person reads who ended the wait.
func stopped(id string) error {
	return errs.New(errs.UnknownOutcome, "stopped looking; "+id+" goes on by itself, its outcome is not known here").WithNext(lookAt(id))
}

// idle is what a person reads when a contract was taken and does not begin.
func idle(k standing.Contract, w way) error {
	e := errs.New(errs.Unavailable, k.ID+" was taken and has not begun; nothing was sent so far")
	if w == forward {
		return e.WithNext("mcpctl write resume " + k.ID)
	}
	return e.WithNext(lookAt(k.ID))
}

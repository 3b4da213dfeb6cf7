package executor

import (
	"context"

	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/pkg/witness/wire"
)

// CounterConfig says which counter of this host's TPM a witness serves.
type CounterConfig struct {
	TPM    string            // device:PATH or unix:PATH
	Index  uint32            // its handle
	Name   string            // its pinned Name; "" before the first increment
	Secret secretfile.Secret // the file of its secret, as keyfile reads it
}

// Counter is the TPM's counter for `executord witness`: the same code that counts
// for the store on a host with a TPM of its own.
type Counter struct{ tpm *anchor.TPM }

// CounterPlan is what is shown to whoever provisions a witness.
type CounterPlan struct {
	Step         string   // S1 to S5
	Handle       string   // the configured one
	Name         string   // what to pin, "" before the first increment
	Taken, Free  []string // handles in use, and some that are free
	Manufacturer string
	Assurance    string
	Lockout      bool
	OwnerSet     bool // the owner hierarchy has a secret: no index can be defined here
	Foreign      bool // something else stands at the handle
}

// OpenCounter checks the configuration and reads what the sandbox hides later. It
// does not touch the TPM.
func OpenCounter(c CounterConfig) (*Counter, error) {
	auth, err := keyfile.ParseCounterAuth(c.Secret.Bytes())
	if err != nil {
		return nil, err
	}
	defer clear(auth)
	t, err := anchor.OpenTPM(anchor.TPMConfig{Address: c.TPM, Index: c.Index, Name: c.Name, Auth: auth, Machine: anchor.ReadMachine()})
	if err != nil {
		return nil, err
	}
	return &Counter{t}, nil
}

// Read returns the value.
func (c *Counter) Read(ctx context.Context) (int64, error) { return c.tpm.Read(ctx) }

// Advance increments once, from expected.
func (c *Counter) Advance(ctx context.Context, expected int64) (int64, error) {
	return c.tpm.Advance(ctx, expected)
}

// Facts returns what a witness shows of it. The index must have a value.
func (c *Counter) Facts(ctx context.Context) (wire.Facts, error) {
	f, err := c.tpm.Facts(ctx)
	switch {
	case err != nil:
		return wire.Facts{}, err
	case !f.Written:
		return wire.Facts{}, anchor.WrongName("the counter's index is not there, not ours, or without a value")
	}
	return wire.Facts{Index: f.Index, Name: f.Name, Manufacturer: f.Manufacturer, EKDigest: f.EKDigest, Assurance: f.Assurance}, nil
}

// Plan looks and changes nothing.
func (c *Counter) Plan(ctx context.Context) (CounterPlan, error) {
	p, err := c.tpm.Plan(ctx)
	if err != nil {
		return CounterPlan{}, err
	}
	f := p.Facts
	out := CounterPlan{
		Handle: anchor.Hex(f.Index), Name: f.Name, Manufacturer: f.Manufacturer, Assurance: f.Assurance,
		Lockout: f.Lockout, OwnerSet: p.OwnerSet, Foreign: f.Foreign,
	}
	if !f.Foreign {
		step, err := anchor.Step(anchor.Situation{Handle: f.Index, Secret: true, Defined: f.Defined, Written: f.Written})
		if err != nil {
			return out, err
		}
		out.Step = step.String()
	}
	for _, h := range p.Taken {
		out.Taken = append(out.Taken, anchor.Hex(h))
	}
	for _, h := range p.Free {
		out.Free = append(out.Free, anchor.Hex(h))
	}
	return out, nil
}

// Define defines the index (S3).
func (c *Counter) Define(ctx context.Context, handle uint32) error { return c.tpm.Define(ctx, handle) }

// First issues the first increment and returns the value (S4, S5); an index that
// has a value is only read.
func (c *Counter) First(ctx context.Context, handle uint32) (int64, error) {
	return c.tpm.First(ctx, handle)
}

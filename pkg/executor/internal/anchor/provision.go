package anchor

import (
	"context"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pause"
)

// firstOffered is where free handles are offered from: installers and
// distributions take theirs from the beginning of the range.
const firstOffered = 0x01500000

// Plan lists the handles in use and some that are free.
func (t *TPM) Plan(ctx context.Context) (Plan, error) {
	if err := t.take(ctx); err != nil {
		return Plan{}, err
	}
	defer t.give()
	c, err := t.dial(ctx)
	if err != nil {
		return Plan{}, err
	}
	defer c.End()
	facts, self, err := t.facts(c, t.index)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Facts: facts, OwnerSet: self.OwnerSet}
	if p.Taken, err = c.Indices(FirstHandle, LastHandle); err != nil {
		return Plan{}, fault(err)
	}
	taken := make(map[uint32]bool, len(p.Taken))
	for _, h := range p.Taken {
		taken[h] = true
	}
	for h := uint32(firstOffered); h <= LastHandle && len(p.Free) < MaxFree; h++ {
		if !taken[h] {
			p.Free = append(p.Free, h)
		}
	}
	return p, nil
}

// choose takes the handle that a person typed. Once one is chosen, by the
// settings or by a person, both must mean the same.
func (t *TPM) choose(handle uint32) error {
	switch {
	case handle < FirstHandle || handle > LastHandle:
		return errs.Newf(errs.Invalid, "the handle must be %s to %s", Hex(FirstHandle), Hex(LastHandle)).
			WithNext("choose a free handle: mcpctl anchor plan")
	case t.index != 0 && t.index != handle:
		return errs.New(errs.Conflict, "another handle is chosen already").WithClass(ClassConflict).
			WithNext("mcpctl anchor status shows it; anchor.nv_index in the settings decides")
	}
	t.index = handle
	return nil
}

// Define defines the index. The secret crosses the bus encrypted, in a salted
// session of the owner hierarchy, whose own secret must be empty.
func (t *TPM) Define(ctx context.Context, handle uint32) error {
	if err := t.take(ctx); err != nil {
		return err
	}
	defer t.give()
	former := t.index
	if err := t.choose(handle); err != nil {
		return err
	}
	issued, err := t.define(ctx)
	if !issued {
		t.index = former
		return err
	}
	return t.defined(context.WithoutCancel(ctx), err)
}

// define issues the command when the handle is free.
func (t *TPM) define(ctx context.Context) (issued bool, err error) {
	c, err := t.dial(ctx)
	if err != nil {
		return false, err
	}
	defer c.End()
	set, err := c.OwnerSet()
	switch {
	case err != nil:
		return false, fault(err)
	case set:
		// An empty secret would be refused, and a refusal may be counted.
		return false, Refused(nil, "the TPM's owner hierarchy has a secret, so no index can be defined here").
			WithNext("let the TPM's owner define the index with the same attributes and secret: executord(8)")
	}
	i, err := c.Find(t.index)
	switch {
	case err != nil:
		return false, fault(err)
	case i != nil:
		return false, errs.New(errs.Conflict, "something stands at the handle already").WithClass(ClassConflict).
			WithNext("choose a free handle: mcpctl anchor plan")
	}
	if err := c.OwnerSession(); err != nil {
		return false, fault(err)
	}
	if late(ctx) {
		return false, Unavailable(context.DeadlineExceeded, "the time for defining the index has passed")
	}
	c.Detach()
	if err := c.Define(t.index, t.auth); err != nil {
		return true, fault(err)
	}
	return true, nil
}

// defined looks at what stands in the TPM now: that is the fact, what the command
// answered (cause, nil for success) is a hint.
func (t *TPM) defined(ctx context.Context, cause error) error {
	const unknown = "it is not known whether the index was defined"
	c, err := t.dial(ctx)
	if err != nil {
		return Unreachable(err, unknown)
	}
	defer c.End()
	i, err := c.Find(t.index)
	switch {
	case err != nil:
		return Unreachable(err, unknown)
	case i == nil && cause != nil:
		return cause
	case i == nil:
		return Unavailable(nil, "the TPM reported an index that is not there")
	case i.Differs != "":
		return WrongName("the index that was defined is not the one that was asked for: it has " + i.Differs)
	}
	return nil
}

// First issues the first increment.
func (t *TPM) First(ctx context.Context, handle uint32) (int64, error) {
	if err := t.take(ctx); err != nil {
		return 0, err
	}
	defer t.give()
	if err := t.choose(handle); err != nil {
		return 0, err
	}
	v, issued, err := t.first(ctx)
	switch {
	case err == nil || !issued:
		return v, err
	case refused(err):
		return 0, Unreachable(err, "the TPM refused the increment after it accepted the secret")
	}
	return t.settleFirst(context.WithoutCancel(ctx), err)
}

// first increments an index that has no value; one that has a value is only read.
func (t *TPM) first(ctx context.Context) (v int64, issued bool, err error) {
	if t.refusal != nil {
		return 0, false, t.refusal
	}
	c, err := t.dial(ctx)
	if err != nil {
		return 0, false, err
	}
	defer c.End()
	i, err := t.identify(c)
	if err != nil {
		return 0, false, err
	}
	if err := c.Authorize(t.auth); err != nil {
		return 0, false, t.shown(err)
	}
	if !i.Written {
		if err := c.Try(t.index, i); err != nil {
			return 0, false, t.shown(err)
		}
		if late(ctx) {
			return 0, false, Unavailable(context.DeadlineExceeded, "the time for the increment has passed")
		}
		c.Detach()
		issued = true
		if err := c.Increment(t.index, i); err != nil {
			return 0, true, fault(err)
		}
		// WRITTEN is part of the public area, so the index has another Name now.
		if i, err = t.identify(c); err != nil {
			return 0, true, err
		}
		if !i.Written {
			return 0, true, Unavailable(nil, "the TPM reported an increment that is not there")
		}
	}
	if v, err = c.Value(t.index, i); err != nil {
		return 0, issued, t.shown(err)
	}
	return v, issued, nil
}

// settleFirst finds out by looking whether the first increment has happened.
func (t *TPM) settleFirst(ctx context.Context, cause error) (int64, error) {
	const unknown = "it is not known whether the first increment happened"
	for looks := 0; ; {
		c, err := t.dial(ctx)
		if err != nil {
			return 0, Unreachable(err, unknown)
		}
		i, err := t.identify(c)
		c.End()
		switch {
		case classOf(err) == ClassName:
			return 0, err
		case err != nil:
			return 0, Unreachable(err, unknown)
		case i.Written:
			v, err := t.read(ctx)
			if err != nil {
				return 0, Unreachable(err, "the first increment happened and its value cannot be read")
			}
			return v, nil
		}
		if looks++; looks == 2 {
			return 0, Unavailable(cause, "the first increment did not happen")
		}
		if err := pause.For(ctx, t.settle); err != nil {
			return 0, Unreachable(err, unknown)
		}
	}
}

var (
	_ Backend = (*TPM)(nil)
	_ Planner = (*TPM)(nil)
)

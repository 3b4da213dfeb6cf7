package anchor

import (
	"context"
	"errors"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor/internal/chip"
	"pfsensemcp/pkg/pause"
)

// rereads bounds how often a value is asked for anew while an outcome is found
// out; the pause between is this part of Settle.
const rereads, rereadPart = 3, 20

// Read returns the value.
func (t *TPM) Read(ctx context.Context) (int64, error) {
	if err := t.take(ctx); err != nil {
		return 0, err
	}
	defer t.give()
	return t.read(ctx)
}

// read reads on a connection of its own.
func (t *TPM) read(ctx context.Context) (int64, error) {
	c, i, err := t.ready(ctx)
	if err != nil {
		return 0, err
	}
	defer c.End()
	v, err := c.Value(t.index, i)
	if err != nil {
		return 0, t.shown(err)
	}
	return v, nil
}

// ready connects, identifies the index and opens the session. The index must have
// a value.
func (t *TPM) ready(ctx context.Context) (*chip.Conn, *chip.Index, error) {
	if t.index == 0 {
		return nil, nil, WrongName("no index is chosen for the counter")
	}
	if t.refusal != nil {
		return nil, nil, t.refusal
	}
	c, err := t.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	i, err := t.identify(c)
	if err == nil && !i.Written {
		err = Unavailable(nil, "the counter has not been incremented yet and has no value")
	}
	if err == nil {
		if err = c.Authorize(t.auth); err != nil {
			err = t.shown(err)
		}
	}
	if err != nil {
		c.End()
		return nil, nil, err
	}
	return c, i, nil
}

// Advance increments once.
func (t *TPM) Advance(ctx context.Context, expected int64) (int64, error) {
	if err := t.take(ctx); err != nil {
		return 0, err
	}
	defer t.give()
	if err := t.resolve(ctx, t.read); err != nil {
		return 0, err
	}
	issued, err := t.attempt(ctx, expected)
	switch {
	case err == nil:
		return expected + 1, nil
	case !issued:
		return 0, err
	}
	if refused(err) {
		// The same secret had just been good. Finding out would be a second try
		// of a refused secret.
		t.doubt = &expected
		return 0, Unreachable(err, "the TPM refused the increment after it accepted the secret")
	}
	return t.outcome(ctx, expected, t.read)
}

// attempt reads, compares, issues the increment and reads again, all on one
// connection, and says whether the increment was issued.
func (t *TPM) attempt(ctx context.Context, expected int64) (issued bool, err error) {
	c, i, err := t.ready(ctx)
	if err != nil {
		return false, err
	}
	defer c.End()
	v, err := c.Value(t.index, i)
	switch {
	case err != nil:
		return false, t.shown(err)
	case v != expected:
		return false, Conflict(expected, v)
	case late(ctx):
		return false, Unavailable(context.DeadlineExceeded, "the time for the increment has passed")
	}
	c.Detach()
	if err := c.Increment(t.index, i); err != nil {
		return true, fault(err)
	}
	v, err = c.Value(t.index, i)
	switch {
	case err != nil:
		return true, fault(err)
	case v != expected+1:
		return true, Unavailable(nil, "the TPM reported an increment that is not there")
	}
	return true, nil
}

// late says whether ctx has ended, or would have if somebody had looked: a
// process that was stopped goes on before its timers do.
func late(ctx context.Context) bool {
	d, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(d) <= 0
}

// settle finds out by reading whether an increment from expected has happened:
// the increment is never given again. Its connection is closed by now, so expected
// counts as "not incremented" when read twice, apart by gap; once would not do,
// because an increment that timed out is applied when a stopped TPM goes on.
func settle(ctx context.Context, gap time.Duration, expected int64, read reading) (int64, error) {
	for reads := 0; ; {
		v, err := reread(ctx, gap/rereadPart, read)
		switch {
		case err != nil:
			return 0, err
		case v == expected+1:
			return v, nil
		case v != expected:
			return 0, Conflict(expected+1, v)
		}
		if reads++; reads == 2 {
			return 0, Unavailable(nil, "the counter was not incremented")
		}
		if err := pause.For(ctx, gap); err != nil {
			return 0, Unreachable(err, "the outcome of the increment could not be waited for")
		}
	}
}

// reread reads on a new connection. One that fails at once is tried again; one
// that does not answer, or that refuses the secret, is not.
func reread(ctx context.Context, gap time.Duration, read reading) (v int64, err error) {
	for try := 1; ; try++ {
		if v, err = read(ctx); err == nil {
			return v, nil
		}
		switch {
		case classOf(err) == ClassName:
			return 0, err
		case try == rereads, refused(err), chip.Late(err):
			return 0, Unreachable(err, "the counter cannot be read after an increment whose outcome is not known")
		}
		if werr := pause.For(ctx, gap); werr != nil {
			return 0, Unreachable(werr, "the outcome of the increment could not be waited for")
		}
	}
}

// refused says whether the secret must not be tried again.
func refused(err error) bool {
	c := classOf(err)
	return c == ClassRefused || c == ClassLockout
}

func classOf(err error) string {
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e.Class
	}
	return ""
}

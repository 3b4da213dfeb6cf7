package anchor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor/internal/chip"
)

const (
	// DefaultTimeout is how long one command may take: a chip needs a good part
	// of a second for a key, and more when others use it.
	DefaultTimeout = 10 * time.Second
	// DefaultSettle stands between the two reads that prove that an increment
	// did not happen.
	DefaultSettle = 10 * time.Second
	// minAuth and maxAuth bound the index's secret in bytes: not to be guessed,
	// and no longer than the digest of the index's name algorithm.
	minAuth, maxAuth = 16, 32
	// maxManufacturer bounds a manufacturer as records keep it.
	maxManufacturer = 16
)

// Machine says whether this is a virtual machine; ReadMachine tells, as long as
// the sandbox has not closed /proc. The zero value is not known, which allows no
// more than a virtual one.
type Machine = chip.Machine

// ReadMachine reads the processor's flags.
func ReadMachine() Machine { return chip.ReadMachine() }

// TPMConfig says which counter of which TPM.
type TPMConfig struct {
	Address string        // device:PATH or unix:PATH
	Index   uint32        // the counter's handle, FirstHandle to LastHandle; 0: Use tells it
	Name    string        // the pinned Name; "" until the first increment
	Auth    []byte        // the index's secret, 16 to 32 bytes; copied
	Machine Machine       // from ReadMachine
	Timeout time.Duration // of one command; 0: DefaultTimeout
	Settle  time.Duration // 0: DefaultSettle; shorter in tests alone
}

// TPM is a counter in a TPM that this process reaches itself. Operations run one
// after the other, each on a connection of its own, and so each checks anew what
// stands at the handle.
type TPM struct {
	*desk
	port    chip.Port
	auth    []byte
	machine Machine
	refusal error // why the secret is not shown to the TPM again; guarded by the turn
}

// OpenTPM checks the configuration. It does not touch the TPM: one that is away
// now may be back at the first operation.
func OpenTPM(cfg TPMConfig) (*TPM, error) {
	if err := chip.CheckAddress(cfg.Address); err != nil {
		return nil, err
	}
	switch {
	// A TPM drops zeros at the end of a secret, and go-tpm (0.9.8) everything from
	// the first zero on: the TPM would refuse what we then prove, and count it.
	case len(cfg.Auth) < minAuth || len(cfg.Auth) > maxAuth || bytes.IndexByte(cfg.Auth, 0) >= 0:
		return nil, errs.Newf(errs.Invalid, "the counter's secret must have %d to %d bytes, none of them zero", minAuth, maxAuth).WithClass("configuration").
			WithNext("make one with mcpctl setup --write")
	case cfg.Timeout < 0 || cfg.Settle < 0:
		return nil, errs.New(errs.Internal, "a duration of the counter is negative")
	}
	t := &TPM{
		desk: newDesk(cfg.Settle), port: chip.Port{Address: cfg.Address, Timeout: cfg.Timeout}, auth: slices.Clone(cfg.Auth), machine: cfg.Machine,
	}
	if t.port.Timeout == 0 {
		t.port.Timeout = DefaultTimeout
	}
	if cfg.Index == 0 && cfg.Name == "" {
		return t, nil
	}
	return t, t.Use(cfg.Index, cfg.Name)
}

// dial opens a connection. It refuses as long as a call on a former one has not
// returned: that call might still change something.
func (t *TPM) dial(ctx context.Context) (*chip.Conn, error) {
	if t.port.Busy() {
		return nil, Unavailable(nil, "an earlier call to the TPM has not returned")
	}
	c, err := t.port.Dial(ctx)
	if err != nil {
		return nil, fault(err)
	}
	return c, nil
}

// identify requires our index at the handle, with the pinned Name. It comes
// before every use of the secret: a secret shown to another index would be
// refused, and refusals lock the TPM.
func (t *TPM) identify(c *chip.Conn) (*chip.Index, error) {
	i, err := c.Find(t.index)
	switch {
	case err != nil:
		return nil, fault(err)
	case i == nil:
		return nil, WrongName("the counter's index is not in the TPM")
	case i.Differs != "":
		return nil, WrongName("the index at the counter's handle is not ours: it has " + i.Differs)
	case t.pinned != "" || i.Written:
		// An index without a value has the Name of one that was never written: with
		// a pinned Name it is another one.
		if err := t.pin(t.index, i.Name); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// Facts reads what the TPM shows without the index's secret.
func (t *TPM) Facts(ctx context.Context) (Facts, error) { return t.At(ctx, 0) }

// At looks at what stands at a handle, 0 for the one in use. It does not choose it.
func (t *TPM) At(ctx context.Context, handle uint32) (Facts, error) {
	if err := t.take(ctx); err != nil {
		return Facts{}, err
	}
	defer t.give()
	c, err := t.dial(ctx)
	if err != nil {
		return Facts{}, err
	}
	defer c.End()
	f, _, err := t.facts(c, cmp.Or(handle, t.index))
	return f, err
}

// facts looks at a handle, 0 for none.
func (t *TPM) facts(c *chip.Conn, index uint32) (Facts, chip.Self, error) {
	f := Facts{Backend: TPMLocal, Index: index, Assurance: Unknown}
	s, err := c.Self(t.machine)
	if err != nil {
		return f, s, fault(err)
	}
	f.Assurance, f.EKDigest, f.Lockout = s.Assurance, s.EKDigest, s.Lockout
	if change.Token(s.Manufacturer) && len(s.Manufacturer) <= maxManufacturer {
		f.Manufacturer = s.Manufacturer
	}
	if index == 0 {
		return f, s, nil
	}
	i, err := c.Find(index)
	switch {
	case err != nil:
		return f, s, fault(err)
	case i == nil:
	case i.Differs != "":
		f.Foreign = true
	default:
		f.Defined, f.Written = true, i.Written
		if i.Written {
			f.Name = i.Name
		}
	}
	return f, s, nil
}

// shown gives an error of the secret's use its class. A secret that was refused is not
// shown again as long as this process lives: whoever looks at the counter every few
// seconds would otherwise lock the TPM for everything on the host, within a minute.
func (t *TPM) shown(err error) error {
	err = fault(err)
	if classOf(err) == ClassRefused {
		t.refusal = err
	}
	return err
}

// fault gives an error of the chip its class. A refused secret ends everything;
// whatever else it was, by itself it changed nothing.
func fault(err error) error {
	switch {
	case chip.Refused(err):
		return Refused(err, "the TPM refused the counter's secret")
	case chip.Lockout(err):
		return Locked(err)
	case chip.Answered(err):
		return Unavailable(err, "the TPM refused a command")
	}
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e
	}
	msg, next := chip.Away(err)
	e := Unavailable(err, msg)
	if next != "" {
		e.Next = next
	}
	return e
}

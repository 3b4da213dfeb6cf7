// Package anchortest owns a counter in memory with scripted faults, for tests of
// whoever uses package anchor. Tests alone import it. It must never be linked into a program: it would
// be a counter that forgets.
package anchortest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
)

// Fault is what happens to one call.
type Fault int

// The faults. A call without a scripted one works.
const (
	Works       Fault = iota
	Unavailable       // nothing happened
	Refused           // the secret was refused; nothing happened
	WrongName         // the index is not the pinned one; nothing happened
	Lockout           // the TPM is in lockout; nothing happened
	Lost              // Advance: unknown outcome, the increment did not happen and will not
	Happened          // Advance: unknown outcome, the increment happened
	Pending           // Advance: unknown outcome, the increment happens at Land
	Twice             // Advance: somebody else increments too: conflict, the value is two higher
)

// The handle and the Name of a Fake's index.
const (
	Index = 0x01500020
	Name  = "000b5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
)

// Fake is a Backend and a Planner. The zero value is not usable; New is.
type Fake struct {
	mu       sync.Mutex
	value    int64
	facts    anchor.Facts
	taken    []uint32
	reads    []Fault
	advances []Fault
	broken   Fault // every call, until it is mended
	pending  int
	nReads   int
	nAdv     int
	ticks    int
	closed   bool
	pinned   string // the Name of Use
	onAdv    func(expected int64)
}

// New returns a provisioned hardware counter that holds value.
func New(value int64) *Fake {
	return &Fake{value: value, taken: []uint32{Index}, facts: anchor.Facts{
		Backend: anchor.TPMLocal, Index: Index, Name: Name, Manufacturer: "TEST", EKDigest: strings.Repeat("e4", 32),
		Assurance: anchor.HardwareWitness, Defined: true, Written: true,
	}}
}

// NewBlank returns a TPM in which nothing is defined.
func NewBlank() *Fake {
	f := New(0)
	f.taken = nil
	f.facts.Name, f.facts.Defined, f.facts.Written = "", false, false
	return f
}

// OnRead scripts the next reads, one fault a call.
func (f *Fake) OnRead(faults ...Fault) { f.locked(func() { f.reads = append(f.reads, faults...) }) }

// OnAdvance scripts the next advances, one fault a call.
func (f *Fake) OnAdvance(faults ...Fault) {
	f.locked(func() { f.advances = append(f.advances, faults...) })
}

// Break makes every call fail, until Break(Works). An Advance then does nothing
// and says so, apart from the faults of Advance alone.
func (f *Fake) Break(fault Fault) { f.locked(func() { f.broken = fault }) }

// Land applies the increments that are pending.
func (f *Fake) Land() {
	f.locked(func() {
		f.value += int64(f.pending)
		f.ticks += f.pending
		f.pending = 0
	})
}

// Before calls do at the start of each Advance, outside the Fake's lock.
func (f *Fake) Before(do func(expected int64)) { f.locked(func() { f.onAdv = do }) }

// Set makes the counter hold value, as somebody else's doing.
func (f *Fake) Set(value int64) { f.locked(func() { f.value = value }) }

// Change edits the facts.
func (f *Fake) Change(edit func(*anchor.Facts)) { f.locked(func() { edit(&f.facts) }) }

// Value returns what the counter holds, without a call.
func (f *Fake) Value() (v int64) { f.locked(func() { v = f.value }); return v }

// Ticks returns how often the counter was incremented through Advance and First.
func (f *Fake) Ticks() (n int) { f.locked(func() { n = f.ticks }); return n }

// Reads and Advances return how often each was called.
func (f *Fake) Reads() (n int) { f.locked(func() { n = f.nReads }); return n }

// Advances returns how often Advance was called.
func (f *Fake) Advances() (n int) { f.locked(func() { n = f.nAdv }); return n }

// Closed says whether Close was called.
func (f *Fake) Closed() (c bool) { f.locked(func() { c = f.closed }); return c }

func (f *Fake) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// next takes the next scripted fault.
func (f *Fake) next(script *[]Fault) Fault {
	if f.broken != Works {
		return f.broken
	}
	if len(*script) == 0 {
		return Works
	}
	x := (*script)[0]
	*script = (*script)[1:]
	return x
}

// err is the error of a fault that changes nothing, nil for the others.
func (x Fault) err() error {
	switch x {
	case Unavailable:
		return anchor.Unavailable(nil, "scripted: the counter cannot be reached")
	case Refused:
		return anchor.Refused(nil, "scripted: the secret was refused")
	case WrongName:
		return anchor.WrongName("scripted: another index stands at the handle")
	case Lockout:
		return anchor.Locked(nil)
	}
	return nil
}

// Read returns the value.
func (f *Fake) Read(ctx context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nReads++
	return f.read(ctx, f.next(&f.reads))
}

func (f *Fake) read(ctx context.Context, x Fault) (int64, error) {
	switch {
	case f.closed:
		return 0, anchor.Unavailable(nil, "scripted: closed")
	case ctx.Err() != nil:
		return 0, anchor.Unavailable(ctx.Err(), "scripted: the caller gave up")
	case x.err() != nil:
		return 0, x.err()
	case !f.facts.Defined:
		return 0, anchor.WrongName("scripted: the counter is gone")
	case f.pinned != "" && f.pinned != f.facts.Name:
		return 0, anchor.WrongName("scripted: another Name than the pinned one")
	case !f.facts.Written:
		return 0, anchor.Unavailable(nil, "scripted: the counter has no value yet")
	}
	f.pinned = f.facts.Name // the first that is seen
	return f.value, nil
}

// Advance increments, or does what is scripted.
func (f *Fake) Advance(ctx context.Context, expected int64) (int64, error) {
	f.mu.Lock()
	before := f.onAdv
	f.nAdv++
	f.mu.Unlock()
	if before != nil {
		before(expected)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.next(&f.advances)
	v, err := f.read(ctx, x)
	switch {
	case err != nil:
		return 0, err
	case v != expected:
		return 0, anchor.Conflict(expected, v)
	}
	switch x {
	case Lost:
	case Happened:
		f.value, f.ticks = f.value+1, f.ticks+1
	case Pending:
		f.pending++
	case Twice:
		f.value, f.ticks = f.value+2, f.ticks+1
		return 0, anchor.Conflict(expected+1, f.value)
	default:
		f.value, f.ticks = f.value+1, f.ticks+1
		return f.value, nil
	}
	return 0, anchor.Unreachable(nil, "scripted: the increment may have happened")
}

// Facts returns the facts.
func (f *Fake) Facts(ctx context.Context) (anchor.Facts, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || ctx.Err() != nil || f.broken == Unavailable {
		return anchor.Facts{}, anchor.Unavailable(ctx.Err(), "scripted: the counter cannot be reached")
	}
	return f.facts, nil
}

// Use pins what it is given, as a TPM does: what stands there is compared by the next
// read. The handle must be the Fake's.
func (f *Fake) Use(index uint32, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if index != f.facts.Index || f.pinned != "" && name != "" && name != f.pinned {
		return anchor.WrongName("scripted: another index or Name is in use")
	}
	if name != "" {
		f.pinned = name
	}
	return nil
}

// Close ends it.
func (f *Fake) Close() error { f.locked(func() { f.closed = true }); return nil }

// Plan lists the handles.
func (f *Fake) Plan(ctx context.Context) (anchor.Plan, error) {
	facts, err := f.Facts(ctx)
	if err != nil {
		return anchor.Plan{}, err
	}
	p := anchor.Plan{Facts: facts}
	f.locked(func() { p.Taken = slices.Clone(f.taken) })
	for h := uint32(Index); len(p.Free) < anchor.MaxFree; h++ {
		if !slices.Contains(p.Taken, h) {
			p.Free = append(p.Free, h)
		}
	}
	return p, nil
}

// At returns the facts of the Fake's own handle; at every other stands nothing.
func (f *Fake) At(ctx context.Context, handle uint32) (anchor.Facts, error) {
	facts, err := f.Facts(ctx)
	if err == nil && handle != facts.Index {
		facts.Index, facts.Name, facts.Defined, facts.Written = handle, "", false, false
	}
	return facts, err
}

// Define defines the index.
func (f *Fake) Define(_ context.Context, handle uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.broken.err(); err != nil {
		return err
	}
	if handle != f.facts.Index || slices.Contains(f.taken, handle) {
		return errs.New(errs.Conflict, "scripted: the handle is taken or not the configured one").WithClass(anchor.ClassConflict)
	}
	f.taken = append(f.taken, handle)
	f.facts.Defined = true
	return nil
}

// First makes the first increment, to 1 more than the value, or reads.
func (f *Fake) First(ctx context.Context, handle uint32) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.next(&f.advances)
	switch {
	case x.err() != nil:
		return 0, x.err()
	case !f.facts.Defined || handle != f.facts.Index:
		return 0, anchor.WrongName("scripted: nothing is defined at the handle")
	case f.facts.Written:
		return f.read(ctx, Works)
	case x == Lost:
		return 0, anchor.Unreachable(nil, "scripted: the increment may have happened")
	}
	f.value, f.ticks = f.value+1, f.ticks+1
	f.facts.Written, f.facts.Name = true, Name
	if x == Happened {
		return 0, anchor.Unreachable(nil, "scripted: the increment may have happened")
	}
	return f.value, nil
}

var (
	_ anchor.Backend = (*Fake)(nil)
	_ anchor.Planner = (*Fake)(nil)
)

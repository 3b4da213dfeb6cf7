package anchor

import (
	"context"
	"encoding/hex"
	"strings"
	"sync/atomic"
	"time"

	"pfsensemcp/pkg/errs"
)

// desk is what both backends share: one operation at a time, the index that is
// pinned, and the increment whose outcome is not known.
type desk struct {
	settle time.Duration
	closed atomic.Bool
	turn   chan struct{} // holds a token while no operation runs; guards what follows
	index  uint32        // 0 while none is chosen
	pinned string        // the Name that was given, or the first that was seen
	doubt  *int64        // what Advance expected when it ended without an outcome
}

func newDesk(settle time.Duration) *desk {
	if settle == 0 {
		settle = DefaultSettle
	}
	d := &desk{settle: settle, turn: make(chan struct{}, 1)}
	d.turn <- struct{}{}
	return d
}

// take waits for the turn of an operation; give hands it on.
func (d *desk) take(ctx context.Context) error {
	if d.closed.Load() {
		return Unavailable(nil, "the counter is closed")
	}
	select {
	case <-d.turn:
		return nil
	case <-ctx.Done():
		return Unavailable(ctx.Err(), "the counter is in use by another operation")
	}
}

func (d *desk) give() { d.turn <- struct{}{} }

// Close ends the counter's use. An operation that runs ends as it would have.
func (d *desk) Close() error {
	d.closed.Store(true)
	return nil
}

// Use chooses the index and pins its Name, "" for one that has no value yet. It
// waits for an operation that runs. Once an index is chosen another is refused,
// and so is another Name: what a store was founded on does not change while a
// process lives.
func (d *desk) Use(index uint32, name string) error {
	if index < FirstHandle || index > LastHandle {
		return errs.Newf(errs.Invalid, "the counter's handle must be %s to %s", Hex(FirstHandle), Hex(LastHandle)).WithClass("configuration").
			WithNext("choose a free handle: mcpctl anchor plan")
	}
	if b, err := hex.DecodeString(name); name != "" && (err != nil || len(b) != 34 || !strings.HasPrefix(name, "000b") || name != strings.ToLower(name)) {
		return errs.New(errs.Invalid, "the counter's pinned Name must be 000b and 64 small hex digits").WithClass("configuration")
	}
	<-d.turn
	defer d.give()
	return d.pin(index, name)
}

// pin takes over what is new and refuses what is other.
func (d *desk) pin(index uint32, name string) error {
	switch {
	case d.index != 0 && d.index != index:
		return WrongName("the counter is another index than the one in use")
	case d.pinned != "" && name != "" && d.pinned != name:
		return WrongName("the index at the counter's handle has another Name than the pinned one")
	}
	d.index = index
	if name != "" {
		d.pinned = name
	}
	return nil
}

// reading reads the value on a connection of its own.
type reading func(context.Context) (int64, error)

// resolve finds out what became of an increment that ended without an outcome,
// before the next is issued.
func (d *desk) resolve(ctx context.Context, read reading) error {
	if d.doubt == nil {
		return nil
	}
	if _, err := settle(ctx, d.settle, *d.doubt, read); classOf(err) == ClassUnreachable {
		return Unavailable(err, "the outcome of the last increment is not known yet")
	}
	d.doubt = nil // it is known now, whatever it is
	return nil
}

// outcome finds out what became of the increment that was just issued. Nobody can
// call it off.
func (d *desk) outcome(ctx context.Context, expected int64, read reading) (int64, error) {
	d.doubt = &expected
	v, err := settle(context.WithoutCancel(ctx), d.settle, expected, read)
	if classOf(err) != ClassUnreachable {
		d.doubt = nil
	}
	return v, err
}

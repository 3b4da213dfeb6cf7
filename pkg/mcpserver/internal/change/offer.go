package change

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/proto/executor/v1"
)

// lookWithin bounds what a look at executord may delay: the start of a session
// and tools/list. It answers from memory, on the same host; whoever says nothing
// for so long offers nothing. A busy host must not come to the end of it: the tool
// would vanish from a list, and every session be told so.
const lookWithin = 2 * time.Second

// Tool is the tool. It is no READ tool, by type: what runs those cannot run it,
// and the other way round. It is safe for concurrent use.
type Tool struct {
	entry   catalog.Write
	front   executorpb.FrontClient
	log     *slog.Logger
	changed func(offered bool)

	// Bounds are the shipped ones unless somebody sets others before anything else: a test
	// with an executord on a socket must not depend on how fast the host is.
	Bounds Bounds

	lanes lanes
	quiet logging.Quiet // calls that executord did not answer

	tickets atomic.Uint64 // looks that began

	mu      sync.Mutex
	running *look  // the one that others may wait for
	last    uint64 // ticket of the look that state is from
	state   string // see the states of an offer; "" before the first look
}

// The states of an offer, for the log.
const (
	offered     = "offered"
	unreachable = "executord does not answer"
	sealed      = "executord can make no change now"
	differs     = "executord reports another operation than the compiled one"
)

// look is a question to executord that more than one may wait for.
type look struct {
	done chan struct{}
	ok   bool // set before done is closed
}

// New returns the tool of an entry of the write table, not offered until a look
// at executord, behind conn, says so. changed is called with every change of
// that, one call at a time and in their order; it must not call the Tool.
func New(entry catalog.Write, conn grpc.ClientConnInterface, log *slog.Logger, changed func(offered bool)) *Tool {
	return &Tool{
		entry: entry, front: executorpb.NewFrontClient(conn), log: log, changed: changed,
		Bounds: Bounds{Look: lookWithin, Again: statusAgain, Ask: askWithin, Call: callWithin},
	}
}

// Bounds are how long things may take: a look, the look of a call, the question of a
// call, and a call in all.
type Bounds struct{ Look, Again, Ask, Call time.Duration }

// Name returns the tool's name.
func (t *Tool) Name() string { return t.entry.Tool }

// Capability returns the write capability that the tool stands for.
func (t *Tool) Capability() string { return t.entry.Capability }

// Offered reports what the latest look has found, without another one.
func (t *Tool) Offered() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state == offered
}

// Look asks executord whether the tool may be offered; it takes lookWithin at
// most and reports false when it is not known by then. Those who look at the
// same time share one question: executord may think otherwise the next moment
// anyway, so every call asks again.
func (t *Tool) Look(ctx context.Context) bool {
	t.mu.Lock()
	l := t.running
	if l == nil {
		l = &look{done: make(chan struct{})}
		t.running = l
		// Detached: a session that goes away must not spoil what others wait for.
		go t.share(context.WithoutCancel(ctx), l)
	}
	t.mu.Unlock()
	select {
	case <-l.done:
		return l.ok
	case <-ctx.Done():
		return false
	}
}

func (t *Tool) share(ctx context.Context, l *look) {
	l.ok = t.learn(ctx, t.Bounds.Look)
	t.mu.Lock()
	t.running = nil
	t.mu.Unlock()
	close(l.done)
}

// learn asks executord and keeps what it says, unless a later question was
// answered before. A caller who gave up meanwhile has learnt nothing.
func (t *Tool) learn(ctx context.Context, within time.Duration, opts ...grpc.CallOption) bool {
	ticket := t.tickets.Add(1)
	asking, cancel := context.WithTimeout(ctx, within)
	status, err := t.front.GetWriteStatus(asking, &executorpb.GetWriteStatusRequest{}, opts...)
	cancel()
	if ctx.Err() != nil {
		return false
	}
	now := t.judge(status, err)

	t.mu.Lock()
	defer t.mu.Unlock()
	if ticket < t.last {
		return now == offered
	}
	was := t.state
	t.last, t.state = ticket, now
	if was == now {
		return now == offered
	}
	t.log.LogAttrs(ctx, slog.LevelInfo, "the write tool's offer changed",
		slog.String(logging.KeyTool, t.entry.Tool), slog.String(logging.KeyDetail, now))
	if (was == offered) != (now == offered) {
		t.changed(now == offered)
	}
	return now == offered
}

// judge compares what executord reports with the compiled entry. Anything but
// equality in every part is a reason to offer nothing.
func (t *Tool) judge(r *executorpb.GetWriteStatusResponse, err error) string {
	switch {
	case err != nil:
		return unreachable
	case !r.GetConstructible():
		return sealed
	case r.GetUnit() != t.entry.Tool, r.GetEndpointSymbol() != t.entry.Symbol,
		r.GetHttpMethod() != t.entry.Method, r.GetSchema() != t.entry.Schema:
		return differs
	}
	return offered
}

package serve

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/posture"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/rpc/rpctest"
	executorpb "pfsensemcp/proto/executor/v1"
)

// double stands for the ceremony: a real store, played by hand, and for every step a
// note of what was asked and an answer that the test chooses.
type double struct {
	play *storetest.Play

	mu       sync.Mutex
	calls    []string
	err      error // of every step
	says     string
	answer   record.Contract
	file     []byte
	status   ceremony.Status
	found    ceremony.Discovery
	step     anchor.State
	plan     anchor.Plan
	report   store.Report
	exported []byte
	cut      error         // after exported was written
	block    chan struct{} // held by steps of the writer
}

// did notes a call.
func (d *double) did(ctx context.Context, what string, by record.Actor, more ...string) error {
	if _, bounded := ctx.Deadline(); !bounded {
		what += " without a deadline"
	}
	return d.noted(what, by, more...)
}

// noted is did for calls without a context.
func (d *double) noted(what string, by record.Actor, more ...string) error {
	for _, m := range append([]string{string(by)}, more...) {
		what += " " + m
	}
	d.mu.Lock()
	d.calls = append(d.calls, what)
	block, err := d.block, d.err
	d.mu.Unlock()
	if block != nil {
		<-block
	}
	return err
}

// last returns the newest call.
func (d *double) last() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.calls) == 0 {
		return ""
	}
	return d.calls[len(d.calls)-1]
}

func (d *double) Status() ceremony.Status { return d.status }

func (d *double) Ask(ctx context.Context, uid uint32, alias, description string) string {
	d.mu.Lock()
	block := d.block
	d.block = nil // Ask never waits for the writer
	d.mu.Unlock()
	_ = d.did(ctx, "ask", record.MCP(uid), alias, description)
	d.mu.Lock()
	d.block = block
	d.mu.Unlock()
	return d.says
}

func (d *double) Project(*store.View, *record.Request) string { return "requested" }

func (d *double) hand(ctx context.Context, what string, by record.Actor, id string) ([]byte, error) {
	if err := d.did(ctx, what, by, id); err != nil {
		return nil, err
	}
	return d.file, nil
}

func (d *double) move(ctx context.Context, what string, by record.Actor, files ...[]byte) (record.Contract, error) {
	if err := d.did(ctx, what, by, string(bytes.Join(files, []byte("+")))); err != nil {
		return record.Contract{}, err
	}
	return d.answer, nil
}

func (d *double) Preview(ctx context.Context, by record.Actor, id string) ([]byte, error) {
	return d.hand(ctx, "preview", by, id)
}

func (d *double) Authorize(ctx context.Context, by record.Actor, f []byte) (record.Contract, error) {
	return d.move(ctx, "authorize", by, f)
}

func (d *double) Pending(ctx context.Context, by record.Actor, id string) ([]byte, error) {
	return d.hand(ctx, "pending", by, id)
}

func (d *double) Confirm(ctx context.Context, by record.Actor, f []byte) (record.Contract, error) {
	return d.move(ctx, "confirm", by, f)
}

func (d *double) Resume(ctx context.Context, by record.Actor, id string) (record.Contract, error) {
	return d.move(ctx, "resume", by, []byte(id))
}

func (d *double) CancelRequest(ctx context.Context, by record.Actor, id string) error {
	return d.did(ctx, "cancel request", by, id)
}

func (d *double) CancelContract(ctx context.Context, by record.Actor, id string) error {
	return d.did(ctx, "cancel contract", by, id)
}

func (d *double) CancelUnpreviewed(ctx context.Context, by record.Actor, uid int64) ([]string, error) {
	if err := d.did(ctx, "cancel unpreviewed", by); err != nil {
		return nil, err
	}
	return d.play.S.CancelUnpreviewed(uid, by)
}

func (d *double) Observe(ctx context.Context, by record.Actor, id string) ([]byte, error) {
	return d.hand(ctx, "observe", by, id)
}

func (d *double) Reconcile(ctx context.Context, by record.Actor, f []byte) (record.Contract, error) {
	return d.move(ctx, "reconcile", by, f)
}

func (d *double) Release(ctx context.Context, by record.Actor, f []byte) (record.Contract, error) {
	return d.move(ctx, "release", by, f)
}

func (d *double) RollbackRequest(ctx context.Context, by record.Actor, id string) ([]byte, error) {
	return d.hand(ctx, "rollback request", by, id)
}

func (d *double) Rollback(ctx context.Context, by record.Actor, c, a []byte) (record.Contract, error) {
	return d.move(ctx, "rollback", by, c, a)
}

func (d *double) Rebaseline(ctx context.Context, by record.Actor, f []byte) error {
	return d.did(ctx, "rebaseline", by, string(f))
}

func (d *double) AnchorFile(ctx context.Context, by record.Actor) ([]byte, error) {
	return d.hand(ctx, "anchor file", by, "")
}

func (d *double) Pins(ctx context.Context) ([]byte, error) { return d.hand(ctx, "pins", "", "") }

func (d *double) Relay(kind string, file []byte) { _ = d.noted("relay", "", kind, string(file)) }

func (d *double) Discover(context.Context) ceremony.Discovery { return d.found }

func (d *double) Plan(_ context.Context, capability, assurance string) (change.Plan, []posture.Explained, posture.Transitions, error) {
	return posture.Analyse(d.found.Evidence, capability, assurance, d.found.Executor)
}

func (d *double) View(f func(*store.View) error) error { return d.play.S.View(f) }

func (d *double) Verify(ctx context.Context, pinned string) (store.Report, error) {
	if err := d.did(ctx, "verify", "", pinned); err != nil {
		return store.Report{}, err
	}
	if d.report.Finding != nil {
		return d.report, errs.New(errs.Unavailable, "damaged").WithClass(record.Class)
	}
	return d.play.S.Verify(pinned)
}

func (d *double) Export(w io.Writer, since int64) error {
	_ = d.noted("export", "")
	if _, err := w.Write(d.exported); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the export could not be written").WithClass("export")
	}
	return d.cut
}

func (d *double) Backup(w io.Writer) error { return d.play.S.Backup(w) }

func (d *double) Rotate(ctx context.Context, by record.Actor) (int64, string, int64, error) {
	return 2, "k2", 77, d.did(ctx, "rotate", by)
}

func (d *double) AnchorState(ctx context.Context) (ceremony.AnchorState, error) {
	return ceremony.AnchorState{Discovery: d.found, Step: d.step}, d.did(ctx, "anchor state", "")
}

func (d *double) AnchorPlan(ctx context.Context) (anchor.Plan, anchor.State, error) {
	return d.plan, d.step, d.did(ctx, "anchor plan", "")
}

func (d *double) Provision(ctx context.Context, by record.Actor, handle uint32, expected anchor.State) (ceremony.AnchorState, error) {
	if expected != d.step {
		return ceremony.AnchorState{}, errs.New(errs.Conflict, "provisioning is at another step").WithClass("conflict")
	}
	return ceremony.AnchorState{Discovery: d.found, Step: d.step + 1}, d.did(ctx, "provision", by, anchor.Hex(handle), expected.String())
}

func (d *double) Seed(ctx context.Context, by record.Actor, value int64, handle uint32) (ceremony.AnchorState, error) {
	return ceremony.AnchorState{Discovery: d.found, Step: anchor.Operational}, d.did(ctx, "seed", by, anchor.Hex(handle))
}

func (d *double) Challenge(c [32]byte) ([32]byte, error) {
	c[0] ^= 0xff
	return c, d.noted("challenge", "")
}

// lines keeps what is logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The people of the tests.
const (
	mcpdUID     = 991
	operatorUID = 1000
	strangerUID = 1001
)

// bench is executord's two sockets over a double.
type bench struct {
	*double
	log *lines
	reg *metrics.Registry
	s   *Service

	logger *slog.Logger

	front, admin *grpc.ClientConn
	Front        executorpb.FrontClient
	Admin        executorpb.AdminClient
}

func newBench(t *testing.T) *bench {
	t.Helper()
	clock := storetest.NewClock()
	c := storetest.Config(t, clock)
	c.Seam = storetest.Unsynced()
	s := storetest.Create(t, c)
	t.Cleanup(func() { _ = s.Close() })
	forty1 := int64(41)
	plan := artifacttest.Plan()
	b := &bench{log: &lines{}, reg: metrics.New(), double: &double{
		play:   &storetest.Play{T: t, S: s, Clock: clock, Witness: storetest.Seed().Value},
		status: ceremony.Status{Constructible: true},
		found: ceremony.Discovery{
			Status: ceremony.Status{Constructible: true}, Evidence: plan.Evidence, Executor: plan.Executor,
			Facts:         anchor.Facts{Backend: anchor.TPMLocal, Index: 0x01500000, Name: artifacttest.NVIndexName, Manufacturer: "IFX", Assurance: anchor.HardwareWitness, Defined: true, Written: true},
			AttestationID: artifacttest.ExecutorID, Account: "pfsense-mcp-write", StoreExists: true, Seeded: true, Complete: true, Endpoints: 1,
		},
		says: "requested", file: []byte(`{"a":1}`), step: anchor.Operational,
	}}
	b.found.Evidence.Baseline, b.found.Evidence.Witness, b.found.Witness = &forty1, &forty1, &forty1
	log := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.logger, b.s = log, over(b.double, Facts{Version: "test", Enabled: true, Relay: true, TLSMode: "strict", Limits: store.DefaultLimits(), Metrics: b.reg})
	b.front, b.admin = b.dial(t, "exec", mcpdUID), b.dial(t, "exec-admin", operatorUID)
	b.Front, b.Admin = executorpb.NewFrontClient(b.front), executorpb.NewAdminClient(b.admin)
	return b
}

// dial connects to one of the two sockets as somebody.
func (b *bench) dial(t *testing.T, socket string, uid uint32) *grpc.ClientConn {
	t.Helper()
	methods := FrontMethods()
	if socket == "exec-admin" {
		methods = AdminMethods()
	}
	srv, err := rpc.NewServer(rpc.Config{
		Name: socket, Node: rpctest.Node("executord"), Methods: methods, Strict: true,
		Callers: map[rpc.Role][]uint32{rpc.Mcpd: {mcpdUID}, rpc.Operators: {operatorUID}},
		Log:     slog.New(slog.NewTextHandler(b.log, nil)), Metrics: b.reg,
	})
	if err != nil {
		t.Fatal(err)
	}
	if socket == "exec" {
		executorpb.RegisterFrontServer(srv, b.s.Front())
	} else {
		executorpb.RegisterAdminServer(srv, b.s.Admin())
	}
	return rpctest.Pipe(t, srv, rpc.Peer{UID: uid, PID: 4711})
}

// soon is the context of a call.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// coded returns the parts of an error that a client sees.
func coded(err error) errs.Error {
	if err == nil {
		return errs.Error{}
	}
	e := *errs.Public(errs.FromStatus(err))
	e.Err = nil
	return e
}

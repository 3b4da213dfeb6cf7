package serve

import (
	"context"
	"io"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/doctor"
	"pfsensemcp/pkg/executor/internal/posture"
	"pfsensemcp/pkg/executor/internal/show"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/rpc"
	executorpb "pfsensemcp/proto/executor/v1"
)

// engine is the ceremony as the services use it. A step that has begun is not ended
// by the end of its context, so the calls hand theirs on as it is; Status, Project,
// View and Ask's polls wait for nobody.
type engine interface {
	Status() ceremony.Status
	Ask(ctx context.Context, uid uint32, alias, description string) string
	Project(v *store.View, r *record.Request) string
	Preview(ctx context.Context, by record.Actor, requestID string) ([]byte, error)
	Authorize(ctx context.Context, by record.Actor, file []byte) (record.Contract, error)
	Pending(ctx context.Context, by record.Actor, contractID string) ([]byte, error)
	Confirm(ctx context.Context, by record.Actor, file []byte) (record.Contract, error)
	Resume(ctx context.Context, by record.Actor, contractID string) (record.Contract, error)
	CancelRequest(ctx context.Context, by record.Actor, id string) error
	CancelContract(ctx context.Context, by record.Actor, id string) error
	CancelUnpreviewed(ctx context.Context, by record.Actor, uid int64) ([]string, error)
	Observe(ctx context.Context, by record.Actor, contractID string) ([]byte, error)
	Reconcile(ctx context.Context, by record.Actor, file []byte) (record.Contract, error)
	Release(ctx context.Context, by record.Actor, file []byte) (record.Contract, error)
	RollbackRequest(ctx context.Context, by record.Actor, contractID string) ([]byte, error)
	Rollback(ctx context.Context, by record.Actor, confirmation, authorization []byte) (record.Contract, error)
	Rebaseline(ctx context.Context, by record.Actor, file []byte) error
	AnchorFile(ctx context.Context, by record.Actor) ([]byte, error)
	Pins(ctx context.Context) ([]byte, error)
	Relay(kind string, file []byte)
	Discover(ctx context.Context) ceremony.Discovery
	Plan(ctx context.Context, capability, assurance string) (change.Plan, []posture.Explained, posture.Transitions, error)
	View(f func(*store.View) error) error
	Verify(ctx context.Context, pinned string) (store.Report, error)
	Export(w io.Writer, since int64) error
	Backup(w io.Writer) error
	Rotate(ctx context.Context, by record.Actor) (epoch int64, keyID string, rows int64, err error)
	AnchorState(ctx context.Context) (ceremony.AnchorState, error)
	AnchorPlan(ctx context.Context) (anchor.Plan, anchor.State, error)
	Provision(ctx context.Context, by record.Actor, handle uint32, expected anchor.State) (ceremony.AnchorState, error)
	Seed(ctx context.Context, by record.Actor, value int64, handle uint32) (ceremony.AnchorState, error)
	Challenge(challenge [32]byte) ([32]byte, error)
}

// Facts is what a started executord knows of itself.
type Facts struct {
	Version, BuildID string
	Lab, TestBuild   bool
	Enabled          bool   // write.enabled
	Relay            bool   // write.relay: mcpd may pass signed files on
	TLSMode          string // strict or auto
	Pinned           bool   // an SPKI pin is required besides
	Sealed           bool   // the keys came as credentials of the service manager

	Authorities *authority.Set
	Limits      store.Limits
	Permissions func() error // looks at the store's directory, all above it, and the room that is left
	Appliance   doctor.Surveyor
	Metrics     *metrics.Registry // nil: none are kept
}

// Service is executord with a write configuration. It is safe for concurrent use and
// holds nothing of its own: who waits, waits in the ceremony.
type Service struct {
	y engine
	f Facts
}

// New returns the services over a ceremony.
func New(y *ceremony.Ceremony, f Facts) *Service { return over(y, f) }

func over(y engine, f Facts) *Service {
	flag := func(name, help string, is func(ceremony.Status) bool) {
		f.Metrics.GaugeFunc(name, help, func() float64 {
			if is(y.Status()) {
				return 1
			}
			return 0
		})
	}
	flag("executor_quarantine", "1 while executord is in quarantine.", func(s ceremony.Status) bool { return s.Quarantine != "" })
	flag("executor_constructible", "1 while a change can be asked for.", func(s ceremony.Status) bool { return s.Constructible })
	f.Metrics.GaugeFunc("executor_open_contracts", "Contracts that hold a target.", func() (n float64) {
		_ = y.View(func(v *store.View) error { // without a store there is none
			all, err := v.Active()
			n = float64(len(all))
			return err
		})
		return n
	})
	return &Service{y, f}
}

// Front returns the service for mcpd.
func (s *Service) Front() executorpb.FrontServer { return front{s: s} }

// Admin returns the service for operators.
func (s *Service) Admin() executorpb.AdminServer { return admin{s: s} }

// operator returns the actor of the peer that called.
func operator(ctx context.Context) (record.Actor, error) {
	p, known := rpc.PeerFrom(ctx)
	if !known {
		return "", errs.New(errs.Denied, "nobody knows who calls")
	}
	return record.Operator(p.UID), nil
}

// around is what the pages about contracts need beside the store.
func (s *Service) around() show.Around {
	return show.Around{Limits: s.f.Limits, Lab: s.f.Lab, Quarantine: s.y.Status().Quarantine != ""}
}

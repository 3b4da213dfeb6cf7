package doctor

import (
	"context"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/proto/executor/v1"
)

// Facts is what a started executord knows of itself.
type Facts struct {
	Version string
	Enabled bool   // write.enabled
	TLSMode string // strict or auto
	Pinned  bool   // an SPKI pin is required besides
	Sealed  bool   // the keys came as credentials of the service manager

	Authorities *authority.Set
	Permissions func() error // looks at the store's directory, all above it, and the room that is left
	Appliance   Surveyor
}

// Surveyor reads what must hold before a change.
type Surveyor interface {
	Survey(ctx context.Context) (*alias.Survey, error)
}

// Ceremony is what is asked of the ceremony.
type Ceremony interface {
	Discover(ctx context.Context) ceremony.Discovery
	Verify(ctx context.Context, pinned string) (store.Report, error)
	View(f func(*store.View) error) error
}

// subject is what the checks look at. What costs something is read once.
type subject struct {
	Facts
	found     ceremony.Discovery
	report    store.Report
	verify    error
	survey    *alias.Survey
	surveyed  error
	view      func(func(*store.View) error) error
	haveStore bool
}

// finding is how a check ended.
type finding struct {
	status       executorpb.Check_Status
	detail, next string
}

func pass(detail string) finding { return finding{executorpb.Check_STATUS_PASS, detail, ""} }

func warn(detail, next string) finding { return finding{executorpb.Check_STATUS_WARN, detail, next} }

func fail(detail, next string) finding { return finding{executorpb.Check_STATUS_FAIL, detail, next} }

func unknown(detail, next string) finding {
	return finding{executorpb.Check_STATUS_UNKNOWN, detail, next}
}

func absent(detail, next string) finding {
	return finding{executorpb.Check_STATUS_NOT_CONFIGURED, detail, next}
}

// Run runs all checks in their order. One that cannot be made is unknown; none ends
// the others.
func Run(ctx context.Context, f Facts, c Ceremony) []*executorpb.Check {
	s := &subject{Facts: f, found: c.Discover(ctx), view: c.View}
	s.haveStore = s.found.StoreExists
	if s.haveStore {
		s.report, s.verify = c.Verify(ctx, "")
	}
	if f.Appliance != nil {
		s.survey, s.surveyed = f.Appliance.Survey(ctx)
	}
	out := make([]*executorpb.Check, 0, len(checks))
	for _, one := range checks {
		is := one.run(s)
		out = append(out, &executorpb.Check{CheckId: one.id, Description: one.holds, Status: is.status, Detail: is.detail, Next: is.next})
	}
	return out
}

// class returns the class of an error that is one of our own words.
func class(err error) string { return errs.Public(err).Class }

package ceremony

import (
	"context"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/gate"
	"pfsensemcp/pkg/executor/internal/keeper"
	"pfsensemcp/pkg/executor/internal/store"
)

// world is what gates look at, in one turn of the writer.
type world struct {
	c *Ceremony
	s *store.Store
}

func (c *Ceremony) world(s *store.Store) gate.World { return world{c, s} }

func (w world) View(f func(*store.View) error) error           { return w.s.View(f) }
func (w world) Authorities() *authority.Set                    { return w.c.Authorities }
func (w world) Counter(ctx context.Context) (int64, error)     { return w.c.Counter.Read(ctx) }
func (w world) InterfaceNames(request string) string           { return w.c.namesOf(request) }
func (w world) Plan(ctx context.Context) (*change.Plan, error) { return w.c.ChangePlan(ctx) }

// Quarantine stops what is not configured or not provisioned likewise.
func (w world) Quarantine() string {
	if word := w.c.Quarantine(); word != "" {
		return word
	}
	return w.c.Status().Why
}

// after is the world of what settles something that began: a site that has switched
// writing off since must be able to end what is open.
type after struct{ world }

func (w after) Quarantine() string {
	if word := w.world.Quarantine(); word != keeper.Disabled {
		return word
	}
	return ""
}

// back is the world of an undo. It may come before any preview of this process, so its
// plan may be the first to need the appliance's identity.
type back struct{ world }

func (w back) Plan(ctx context.Context) (*change.Plan, error) {
	if err := w.c.Meet(ctx); err != nil {
		return nil, err
	}
	return w.c.ChangePlan(ctx)
}

func (w world) Survey(ctx context.Context) (*alias.Survey, error) { return w.c.Reader.Survey(ctx) }

func (w world) Policy() gate.Policy {
	return gate.Policy{
		Enabled: w.c.Enabled, AuthorizationMax: w.c.AuthorizationMax, Charset: w.c.Charset, Settle: w.c.Windows.Settle,
	}
}

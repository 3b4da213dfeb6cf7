package executor

import (
	"log/slog"

	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/serve"
	"pfsensemcp/pkg/executor/internal/watch"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/rpc"
)

// Service is executord with a write configuration: Front and Admin return its
// services.
type Service = serve.Service

// Facts is what a started executord knows of itself.
type Facts = serve.Facts

// New returns the services over a ceremony.
func New(y *ceremony.Ceremony, f Facts) *Service { return serve.New(y, f) }

// NewWatch returns what turns the ceremony's events into lines and metrics: its Event
// is the ceremony's Observe. The registry may be nil.
func NewWatch(log *slog.Logger, r *metrics.Registry) *watch.Watch { return watch.New(log, r) }

// FrontMethods has a row for every call of the Front service: mcpd alone.
func FrontMethods() []rpc.Method { return serve.FrontMethods() }

// AdminMethods has a row for every call of the Admin service: operators alone.
func AdminMethods() []rpc.Method { return serve.AdminMethods() }

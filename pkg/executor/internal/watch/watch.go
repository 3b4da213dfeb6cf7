// Package watch owns what people see of the ceremony as it goes: one line of the
// journal for a step, and the metrics.
//
// Only the executor imports it. It must never log or count a word that did not come
// from a closed list: a refused file may have named anything. Why something was
// refused stands in the audit alone.
//
// The attack it stops: a journal or a metric that answers what the socket does not.
package watch

import (
	"context"
	"log/slog"
	"slices"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/show"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/metrics"
)

// Watch turns events into lines and counts. Lines hold ids, states and the number of
// the audit row.
type Watch struct {
	log                              *slog.Logger
	requests, denials, sends, states *metrics.Counter
	took                             *metrics.Histogram
}

// New returns a watch, whose Event is the ceremony's Observe. The registry may
// be nil.
func New(log *slog.Logger, r *metrics.Registry) *Watch {
	return &Watch{
		log:      log,
		requests: r.Counter("executor_requests", "Changes asked for that became a request."),
		denials:  r.Counter("executor_denials", "Refused signed files, by the kind of check that refused.", "kind"),
		sends:    r.Counter("executor_sends", "Requests that left for the appliance."),
		states:   r.Counter("executor_outcomes", "Settled attempts by the state that they led to.", "state"),
		took: r.Histogram("executor_exchange_seconds", "Duration of the one exchange with the appliance.",
			[]float64{0.05, 0.1, 0.2, 0.5, 1, 1.5, 3, 10, 30, 60, 100, 215}),
	}
}

// step is what is said of an event.
type step struct {
	msg   string
	level slog.Level
}

// steps has a row for every kind.
var steps = map[ceremony.Kind]step{
	ceremony.KindRequested:  {"change requested", slog.LevelInfo},
	ceremony.KindPreviewed:  {"preview made", slog.LevelInfo},
	ceremony.KindDenied:     {"signed file refused", slog.LevelWarn},
	ceremony.KindAuthorized: {"authorization accepted", slog.LevelInfo},
	ceremony.KindConfirmed:  {"confirmation accepted", slog.LevelInfo},
	ceremony.KindBegun:      {"attempt begun", slog.LevelInfo},
	ceremony.KindSent:       {"request sent to the appliance", slog.LevelInfo},
	ceremony.KindSettled:    {"contract settled", slog.LevelInfo},
	ceremony.KindObserved:   {"target observed", slog.LevelInfo},
	ceremony.KindLooked:     {"looked again at a verified change", slog.LevelInfo},
	ceremony.KindExpired:    {"expired unused", slog.LevelInfo},
	// The ceremony's own line says which quarantine it is.
	ceremony.KindQuarantined: {},
	ceremony.KindReleased:    {},
}

// letters are the kinds of checks: the gates, the checks of a confirmation, of
// reconciliation evidence and of a rollback.
var letters = map[byte]string{'g': "authorization", 'c': "confirmation", 'r': "reconciliation", 'b': "rollback"}

// Event takes note of an event. It is safe for concurrent use.
func (w *Watch) Event(e ceremony.Event) {
	s, known := steps[e.Kind]
	if !known {
		s = step{"step of another kind", slog.LevelWarn}
	}
	switch e.Kind {
	case ceremony.KindRequested:
		w.requests.Inc()
	case ceremony.KindDenied:
		kind := "other"
		if e.Gate != "" && letters[e.Gate[0]] != "" {
			kind = letters[e.Gate[0]]
		}
		w.denials.Inc(kind)
	case ceremony.KindSent:
		w.sends.Inc()
		w.took.Observe(e.Took.Seconds())
	case ceremony.KindSettled:
		if slices.Contains(record.States(), e.State) {
			w.states.Inc(string(e.State))
		}
		if e.State == record.Reconciliation || e.State == record.RollbackFailed {
			s.level = slog.LevelWarn // it waits for people
		}
	}
	if s.msg == "" {
		return
	}
	var attrs []slog.Attr
	// A refused file may have named anything: only what has the form of an id is one.
	request, contract := show.ID(e.RequestID, change.PrefixRequest), show.ID(e.ContractID, change.PrefixContract)
	switch {
	case request && contract:
		attrs = append(attrs, slog.String(logging.KeyDetail, e.ContractID+" of "+e.RequestID))
	case contract:
		attrs = append(attrs, slog.String(logging.KeyDetail, e.ContractID))
	case request:
		attrs = append(attrs, slog.String(logging.KeyDetail, e.RequestID))
	}
	if slices.Contains(record.States(), e.State) {
		attrs = append(attrs, slog.String(logging.KeyOutcome, string(e.State)))
	}
	if e.Seq > 0 {
		attrs = append(attrs, slog.Int64(logging.KeySeq, e.Seq))
	}
	if e.Took > 0 {
		attrs = append(attrs, slog.Int64(logging.KeyDurationMS, e.Took.Milliseconds()))
	}
	w.log.LogAttrs(context.Background(), s.level, s.msg, attrs...)
}

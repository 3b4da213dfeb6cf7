package mcpserver

import (
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/mcpserver/internal/session"
	"pfsensemcp/pkg/metrics"
)

// counters are the server's metrics. Labels are names of ours.
type counters struct {
	calls   *metrics.Counter
	seconds *metrics.Histogram
	drift   *metrics.Counter
	refused *metrics.Counter
}

func newCounters(r *metrics.Registry, p *session.Pool) counters {
	if r != nil {
		r.GaugeFunc("pfsense_mcp_sessions", "MCP sessions now.", func() float64 { return float64(p.Count()) })
	}
	return counters{
		calls:   r.Counter("pfsense_mcp_calls", "Tool calls that ended, by tool, outcome and error class.", "tool", "outcome", "class"),
		seconds: r.Histogram("pfsense_mcp_call_seconds", "Duration of tool calls.", []float64{.001, .005, .025, .1, .5, 2.5, 10, 45}),
		drift:   r.Counter("pfsense_mcp_drift", "Values of the appliance that did not fit their model.", "tool"),
		refused: r.Counter("pfsense_mcp_sessions_refused", "Sessions that were not taken."),
	}
}

// call counts a call that ended.
func (c counters) call(tool string, r logging.Record) {
	c.calls.Inc(tool, r.Outcome, r.Class)
	c.seconds.Observe(r.Duration.Seconds())
	if r.Drift > 0 {
		c.drift.Add(float64(r.Drift), tool)
	}
}

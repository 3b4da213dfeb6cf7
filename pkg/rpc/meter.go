package rpc

import (
	"time"

	"pfsensemcp/pkg/metrics"
)

// meter counts the calls of one server. Its labels come from the table.
type meter struct {
	socket string
	calls  *metrics.Counter
	took   *metrics.Histogram
}

// newMeter returns a meter in r, which may be nil.
func newMeter(r *metrics.Registry, socket string) *meter {
	// From a call inside the machine, 0.1 ms, to one that waits for an appliance.
	buckets := []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300}
	return &meter{
		socket: socket,
		calls:  r.Counter("rpc_calls", "calls by socket, method and outcome", "socket", "method", "outcome"),
		took:   r.Histogram("rpc_call_seconds", "duration of calls by socket", buckets, "socket"),
	}
}

func (m *meter) call(method, outcome string, took time.Duration) {
	m.calls.Inc(m.socket, method, outcome)
	m.took.Observe(took.Seconds(), m.socket)
}

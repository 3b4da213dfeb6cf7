package admin

import (
	"time"

	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/pfrest"
)

// Watch adds to a registry what the client knows of the appliance. Nothing is asked
// when the text is made: it is what the last requests left behind.
func Watch(r *metrics.Registry, a interface{ State() pfrest.State }) {
	yes := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	for _, m := range []struct {
		name, help string
		counter    bool
		read       func(pfrest.State) float64
	}{
		{"appliance_requests", "GETs that were sent to the appliance.", true, func(s pfrest.State) float64 { return float64(s.Requests) }},
		{"appliance_failures", "GETs that failed.", true, func(s pfrest.State) float64 { return float64(s.Failed) }},
		{"appliance_joined", "Calls that shared another's request.", true, func(s pfrest.State) float64 { return float64(s.Joined) }},
		{"appliance_in_flight", "Requests that hold a slot now.", false, func(s pfrest.State) float64 { return float64(s.InFlight) }},
		{"appliance_waiting", "Requests that wait for a slot now.", false, func(s pfrest.State) float64 { return float64(s.Waiting) }},
		{"appliance_key_refused", "1 while the key is not sent because it was refused.", false, func(s pfrest.State) float64 { return yes(s.KeyRefused) }},
		{"appliance_paused_endpoints", "Endpoints that are paused after time-outs.", false, paused},
		{"appliance_success_timestamp_seconds", "Unix time of the last answer; 0 before the first.", false, func(s pfrest.State) float64 { return unix(s.LastSuccess) }},
		{"appliance_certificate_end_seconds", "Unix time at which the appliance's certificate ends; 0 before the first connection.", false, func(s pfrest.State) float64 { return unix(s.NotAfter) }},
	} {
		read := func() float64 { return m.read(a.State()) }
		if m.counter {
			r.CounterFunc(m.name, m.help, read)
		} else {
			r.GaugeFunc(m.name, m.help, read)
		}
	}
}

func paused(s pfrest.State) (n float64) {
	for _, p := range s.Paths {
		if p.Open {
			n++
		}
	}
	return n
}

func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}

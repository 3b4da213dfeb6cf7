package admin

import (
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/pfrest"
)

func TestTheMetricsOfTheApplianceAreThoseOfTheClient(t *testing.T) {
	r := metrics.New()
	a := &answers{}
	Watch(r, a)
	if text := r.Text(); !strings.Contains(text, "appliance_requests_total 0\n") || !strings.Contains(text, "appliance_certificate_end_seconds 0\n") {
		t.Errorf("before the first request:\n%s", text)
	}
	at := time.Unix(1_700_000_000, 0)
	a.state = pfrest.State{
		Requests: 9, Failed: 2, Joined: 1, InFlight: 3, Waiting: 4, KeyRefused: true, LastSuccess: at, NotAfter: at,
		Paths: []pfrest.PathState{{Endpoint: "/api/v2/x", Open: true}, {Endpoint: "/api/v2/y"}},
	}
	text := r.Text()
	for _, want := range []string{
		"appliance_requests_total 9", "appliance_failures_total 2", "appliance_joined_total 1", "appliance_in_flight 3", "appliance_waiting 4",
		"appliance_key_refused 1", "appliance_paused_endpoints 1", "appliance_success_timestamp_seconds 1.7e+09", "appliance_certificate_end_seconds 1.7e+09",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	if _, problems := metrics.Merge([]metrics.Part{{Name: "mcpd", Text: text}}); len(problems) > 0 {
		t.Errorf("%v", problems)
	}
	if strings.Contains(text, "/api/v2") {
		t.Error("a path became a label")
	}
}

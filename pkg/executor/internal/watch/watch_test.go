package watch

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/metrics"
)

const (
	someRequest  = "req-0123456789abcdef0123456789abcdef"
	someContract = "wc-0123456789abcdef0123456789abcdef"
)

// lines keeps what is logged.
type lines struct{ bytes.Buffer }

func TestEveryEventIsOneLineWithKeysOfOursAndNoReason(t *testing.T) {
	out := &lines{}
	log, err := logging.New(logging.Options{Daemon: "executord", Level: "debug", Stderr: out, Unknown: func(k string) { t.Errorf("key %q", k) }})
	if err != nil {
		t.Fatal(err)
	}
	w := New(log.Logger, nil)
	for kind, s := range steps {
		if s.msg == "" {
			continue
		}
		before := strings.Count(out.String(), "\n")
		w.Event(ceremony.Event{Kind: kind, RequestID: someRequest, ContractID: someContract, State: record.Reconciliation, Gate: "g5a", Seq: 12, Took: 1500 * time.Millisecond})
		if n := strings.Count(out.String(), "\n") - before; n != 1 {
			t.Errorf("%s: %d lines", kind, n)
		}
	}
	text := out.String()
	for _, part := range []string{someContract + " of " + someRequest, `"seq":12`, `"duration_ms":1500`, `"outcome":"reconciliation"`, "signed file refused"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is in no line: %s", part, text)
		}
	}
	if strings.Contains(text, "g5a") {
		t.Error("the gate is in the journal: the audit alone has it")
	}
	w.Event(ceremony.Event{Kind: ceremony.KindDenied, RequestID: "req-evil", ContractID: someContract + "evil", State: "evil"})
	if strings.Contains(out.String(), "evil") {
		t.Error("words of a refused file are in the journal")
	}
	w.Event(ceremony.Event{Kind: "new"})
	if !strings.Contains(out.String(), "step of another kind") {
		t.Error("an event of a kind that is not known left no line")
	}
}

func TestMetricsCountByClosedWordsAlone(t *testing.T) {
	r := metrics.New()
	w := New(slog.New(slog.DiscardHandler), r)
	for _, gate := range []string{"g1", "g5a", "c7", "r", "b2", "", "x-evil", "é"} {
		w.Event(ceremony.Event{Kind: ceremony.KindDenied, Gate: gate})
	}
	for _, s := range append(record.States(), "evil") {
		w.Event(ceremony.Event{Kind: ceremony.KindSettled, State: s})
	}
	w.Event(ceremony.Event{Kind: ceremony.KindRequested})
	w.Event(ceremony.Event{Kind: ceremony.KindSent, Took: 1600 * time.Millisecond})
	text := r.Text()
	for _, line := range []string{
		`executor_denials_total{kind="authorization"} 2`, `executor_denials_total{kind="confirmation"} 1`, `executor_denials_total{kind="reconciliation"} 1`,
		`executor_denials_total{kind="rollback"} 1`, `executor_denials_total{kind="other"} 3`,
		`executor_outcomes_total{state="reconciliation"} 1`, `executor_requests_total 1`, `executor_sends_total 1`,
		`executor_exchange_seconds_bucket{le="1.5"} 0`, `executor_exchange_seconds_count 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	if strings.Contains(text, "evil") {
		t.Error("a word from elsewhere is a label")
	}
}

// Every kind that the ceremony has a name for has a row: what has none would only be
// seen when it happens.
func TestEveryKindHasARow(t *testing.T) {
	for _, k := range []ceremony.Kind{
		ceremony.KindRequested, ceremony.KindPreviewed, ceremony.KindDenied, ceremony.KindAuthorized, ceremony.KindConfirmed, ceremony.KindBegun,
		ceremony.KindSent, ceremony.KindSettled, ceremony.KindObserved, ceremony.KindLooked, ceremony.KindExpired, ceremony.KindQuarantined, ceremony.KindReleased,
	} {
		if _, ok := steps[k]; !ok {
			t.Errorf("%s has no row", k)
		}
	}
}

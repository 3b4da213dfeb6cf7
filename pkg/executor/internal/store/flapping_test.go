package store_test

import (
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// A witness host behind a bad line is away and back every few seconds, for days. Nobody
// may fill the disk, and the start's verification, by pulling at a cable.
func TestACounterThatComesAndGoesFillsNoChain(t *testing.T) {
	f := setup(t)
	rows := func() (n int64, last record.Reason) {
		f.view(func(v *store.View) error {
			for {
				row, _, err := v.AuditRow(n + 1)
				if err != nil {
					return nil
				}
				n, last = row.Seq, row.Reason
			}
		})
		return n, last
	}
	flap := func(times int) {
		t.Helper()
		for range times {
			for _, e := range []record.Event{record.QuarantineEntered, record.QuarantineLeft} {
				if err := f.S.Note(e, "anchor_unreachable"); err != nil {
					t.Fatal(err)
				}
				f.Clock.Pass(5 * time.Second)
			}
		}
	}
	before, _ := rows()
	flap(180) // half an hour
	n, last := rows()
	if n-before > 60 || n-before < 20 || last != "rows_capped" {
		t.Errorf("%d rows within half an hour, the last says %q", n-before, last)
	}
	written := f.generation()
	flap(10)
	if got := f.generation(); got != written {
		t.Error("what has no row is written all the same")
	}
	// What does not end by itself has its row whatever came before, and an hour later
	// these have theirs too.
	if err := f.S.Note(record.QuarantineEntered, "anchor_mismatch"); err != nil {
		t.Fatal(err)
	}
	if got, last := rows(); got != n+1 || last != "anchor_mismatch" {
		t.Errorf("a quarantine that lasts has no row: the last says %q", last)
	}
	f.Clock.Pass(time.Hour)
	flap(1)
	if got, last := rows(); got != n+3 || last != "anchor_unreachable" {
		t.Errorf("%d rows, the last says %q", got-n, last)
	}
	f.sound()
}

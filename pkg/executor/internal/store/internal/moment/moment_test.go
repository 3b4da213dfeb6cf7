package moment

import (
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/store/record"
)

var (
	boot  = strings.Repeat("a", 32)
	other = strings.Repeat("b", 32)
	noon  = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
)

func TestWhatTheClocksShow(t *testing.T) {
	stored := record.Clock{HighTime: noon, Wall: noon, BootID: boot, BootMS: 1000}
	for _, row := range []struct {
		what  string
		now   Reading
		shows Finding
	}{
		{"an hour passed", Reading{noon.Add(time.Hour), boot, 3_601_000}, Sound},
		{"a year passed without a restart", Reading{noon.AddDate(1, 0, 0), boot, 1000 + 365*86_400_000}, Sound},
		{"a minute ahead of the other clock", Reading{noon.Add(time.Minute), boot, 1000}, Sound},
		{"more than that", Reading{noon.Add(61 * time.Second), boot, 1000}, Jumped},
		{"set back by more than that", Reading{noon.Add(-61 * time.Second), boot, 1000}, Jumped},
		{"five seconds back", Reading{noon.Add(-5 * time.Second), boot, 1000}, Sound},
		{"six seconds back", Reading{noon.Add(-6 * time.Second), boot, 1000}, Behind},
		{"five minutes back, after a restart", Reading{noon.Add(-5 * time.Minute), other, 5}, Behind},
		{"more, after a restart", Reading{noon.Add(-301 * time.Second), other, 5}, Regressed},
		{"far ahead, after a restart", Reading{noon.AddDate(10, 0, 0), other, 5}, Sound},
	} {
		if got := Judge(row.now, stored); got != row.shows {
			t.Errorf("%s: %q, want %q", row.what, got, row.shows)
		}
		after := Advance(row.now, stored)
		if after.HighTime.Before(stored.HighTime) || (row.shows == Jumped || row.shows == Regressed) && after != stored {
			t.Errorf("%s: stored %+v", row.what, after)
		}
	}
}

func TestHowLongAgoIsCountedByTheClockThatCannotBeSet(t *testing.T) {
	start := Reading{noon.Add(-time.Hour), boot, 100_000}
	sent := Reading{noon, boot, 3_700_000}
	for _, row := range []struct {
		what string
		now  Reading
		want time.Duration
	}{
		{"ten minutes", Reading{noon.Add(10 * time.Minute), boot, 4_300_000}, 10 * time.Minute},
		{"within five seconds of one another", Reading{noon.Add(10*time.Minute + 5*time.Second), boot, 4_300_000}, 10 * time.Minute},
		{"the wall clock was set: since the start alone", Reading{noon.Add(3 * time.Hour), boot, 4_300_000}, 4_200_000 * time.Millisecond},
	} {
		if got := Since(row.now, start, sent.Wall, sent.BootID, sent.BootMS); got != row.want {
			t.Errorf("%s: %v, want %v", row.what, got, row.want)
		}
	}
	begun := Reading{noon.Add(time.Hour), other, 2000}
	if got := Since(Reading{noon.Add(2 * time.Hour), other, 62_000}, begun, sent.Wall, sent.BootID, sent.BootMS); got != time.Minute {
		t.Errorf("after a restart of the machine: %v", got)
	}
}

func TestTheMachineHasBothClocks(t *testing.T) {
	c, err := NewSystem()
	if err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	a := c.Read()
	if len(a.BootID) != 32 || a.BootMS <= 0 || a.Wall.Nanosecond() != 0 {
		t.Errorf("%+v", a)
	}
}

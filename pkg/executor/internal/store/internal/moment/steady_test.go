package moment

import (
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/store/record"
)

func TestReview22WhileAJumpLastsTimeIsCountedByTheClockThatCannotBeSet(t *testing.T) {
	stored := record.Clock{HighTime: noon, Wall: noon, BootID: boot, BootMS: 1000}
	for _, row := range []struct {
		what string
		now  Reading
		want time.Time
	}{
		{"no jump", Reading{noon.Add(3 * time.Second), boot, 4000}, noon.Add(3 * time.Second)},
		{"a minute that is tolerated", Reading{noon.Add(63 * time.Second), boot, 4000}, noon.Add(63 * time.Second)},
		{"ten years ahead", Reading{noon.AddDate(10, 0, 0), boot, 4999}, noon.Add(3 * time.Second)},
		{"ten years back", Reading{noon.AddDate(-10, 0, 0), boot, 4999}, noon.Add(3 * time.Second)},
		{"another start of the machine", Reading{noon.AddDate(10, 0, 0), other, 5}, noon.AddDate(10, 0, 0)},
	} {
		got := Steady(row.now, stored)
		if !got.Wall.Equal(row.want) || got.BootID != row.now.BootID || got.BootMS != row.now.BootMS {
			t.Errorf("%s: %v, want %v", row.what, got.Wall, row.want)
		}
	}
}

package store

import (
	"errors"
	"slices"
	"testing"
)

func TestProgressIsToldNowAndThenAndNotBehindTheEnd(t *testing.T) {
	var told []string
	step := steps(func(text string) error { told = append(told, text); return nil }, "pages", 256)
	for done := range int64(2000) {
		if err := step(done+1, 1000); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"verifying the store: 0 % of its 1000 pages", "verifying the store: 25 % of its 1000 pages",
		"verifying the store: 51 % of its 1000 pages", "verifying the store: 76 % of its 1000 pages",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if steps(nil, "pages", 1) != nil || counted(nil, 7) != nil {
		t.Error("without anybody to tell there is something to call")
	}
}

func TestRowsAreCountedAndTheErrorOfWhoIsToldIsTheirs(t *testing.T) {
	stop := errors.New("stop")
	n := 0
	saw := counted(func(string) error {
		if n++; n == 2 {
			return stop
		}
		return nil
	}, 3*rowsBetween)
	for i := range 2 * rowsBetween {
		err := saw()
		if last := i == rowsBetween; last != (err != nil) {
			t.Fatalf("row %d: %v", i, err)
		} else if last {
			return
		}
	}
}

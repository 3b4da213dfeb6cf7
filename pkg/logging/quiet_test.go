package logging

import (
	"testing"
	"time"
)

func TestOneLineASecondPassesAndTheOthersAreCounted(t *testing.T) {
	var q Quiet
	now := time.Unix(1000, 0)
	if n, say := q.Next(now); !say || n != 0 {
		t.Fatalf("the first line: %d, %v", n, say)
	}
	for range 5 {
		if _, say := q.Next(now.Add(999 * time.Millisecond)); say {
			t.Fatal("a second line within a second")
		}
	}
	if n, say := q.Next(now.Add(time.Second)); !say || n != 5 {
		t.Fatalf("after a second: %d left out, %v", n, say)
	}
	if n, _ := q.Next(now.Add(2 * time.Second)); n != 0 {
		t.Fatalf("%d counted twice", n)
	}
}

package logging

import (
	"strings"
	"testing"
)

func TestAPanicIsNamedByWhereItHappened(t *testing.T) {
	var where string
	func() {
		defer func() {
			if recover() != nil {
				where = Panicked()
			}
		}()
		var none []int
		_ = index(none)
	}()
	first, _, _ := strings.Cut(where, ", ")
	if !strings.HasPrefix(first, "pfsensemcp/pkg/logging.index stack_test.go:") {
		t.Errorf("the first frame is %q of %q", first, where)
	}
	if n := strings.Count(where, ", "); n > maxFrames || strings.Contains(where, "runtime.") {
		t.Errorf("%d frames: %s", n, where)
	}
}

//go:noinline
func index(list []int) int { return list[3] }

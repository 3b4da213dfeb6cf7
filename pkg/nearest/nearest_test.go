package nearest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTheNameWithTheFewestEditsIsFound(t *testing.T) {
	known := []string{"api_url", "api_key_file", "tls_mode", "tls_pin"}
	for _, row := range []struct {
		s, want string
		edits   int
	}{
		{"api_url", "api_url", 0},
		{"apiurl", "api_url", 1},
		{"tls_mod", "tls_mode", 1},
		{"tls_pni", "tls_pin", 2},
		{"", "api_url", 7},
		{strings.Repeat("x", 1<<20), "api_url", maxName},
	} {
		if got, edits := Of(row.s, known); edits != row.edits || row.edits < 5 && got != row.want {
			t.Errorf("%.20q: %s with %d edits, want %s with %d", row.s, got, edits, row.want, row.edits)
		}
	}
	if got, edits := Of("x", nil); got != "" || edits != 0 {
		t.Errorf("of no names: %q %d", got, edits)
	}
	if got, _ := Of("ab", []string{"ac", "ad"}); got != "ac" {
		t.Errorf("of equals: %s", got)
	}
}

func TestTheDistanceIsAMeasure(t *testing.T) {
	name := rapid.StringMatching(`[a-c_]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if d := distance(a, b); d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d > distance(a, c)+distance(c, b) {
			t.Fatalf("distance(%q, %q) = %d", a, b, d)
		}
	})
}

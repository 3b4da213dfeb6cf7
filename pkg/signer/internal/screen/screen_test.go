package screen

import "testing"

func TestAPageAlignsItsRows(t *testing.T) {
	var p Page
	p.Banner("LABORATORY")
	p.Row("Old text", `"a"`, "below")
	if got := p.String(); got != "*** LABORATORY ***\n  Old text      \"a\"\n                below\n" {
		t.Errorf("%q", got)
	}
}
